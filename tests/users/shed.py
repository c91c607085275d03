"""A shed that lends tools, for the tests of talk: its tools, its state, and agents that talk in their own ways."""

TOOLS = '''
def find_member(state: dict, email: str) -> str:
    """Find the number of a member."""
    return next(number for number, mail in state["members"].items() if mail == email)


def list_loans(state: dict, member_id: str) -> list[str]:
    """List the loans of a member."""
    return [number for number, loan in state["loans"].items() if loan["member_id"] == member_id]


def lend(state: dict, member_id: str, item_id: str, days: int = 7) -> str:
    """Lend an item."""
    if state["items"][item_id] != "free":
        raise ValueError(f"{item_id} is out")
    state["items"][item_id] = "out"
    state["loans"]["L08"] = {"member_id": member_id, "item_id": item_id, "days": days}
    return "L08"


def close_loan(state: dict, loan_id: str) -> str:
    """End a loan; it cannot be ended twice."""
    state["items"][state["loans"].pop(loan_id)["item_id"]] = "free"
    return "closed"


def log_hours(state: dict, member_id: str, hours: int) -> int:
    """Add hours of work to a member."""
    state["hours"][member_id] = state["hours"].get(member_id, 0) + hours
    return state["hours"][member_id]
'''
STATE = """
{"members": {"M1": "ann@example.org", "M2": "ben@example.org"}, "items": {"T3": "out", "T5": "free", "T6": "free"},
 "loans": {"L07": {"member_id": "M1", "item_id": "T3", "days": 7}}, "hours": {}}
"""
AGENT = """
import re

YES = ("yes", "ja", "はい", "نعم")


def agrees(said):
    return said.lower().startswith(YES)


def ask_then(question, deed, after, sure=None):
    said = yield question
    if agrees(said) and sure:
        said = yield sure
    if not agrees(said):
        yield "All right, I leave it."
    else:
        deed()
        yield after
    while True:
        yield "I can lend items and end loans. What do you need?"


def at_once(call, said):
    loan = call["list_loans"](member_id=call["find_member"](email=re.findall(r"[\\w.]+@[\\w.]+\\w", said)[0]))[0]
    yield from ask_then(f"Shall I end loan {loan}?", lambda: call["close_loan"](loan_id=loan), f"Loan {loan} is ended.")


def states_first(call, said):
    loan = call["list_loans"](member_id="M1")[0]
    said = yield f"I see your loan {loan} of item T3."
    if "end it" in said:
        yield from ask_then("Shall I end it?", lambda: call["close_loan"](loan_id=loan), "It is ended.")
    yield from ask_then(f"Shall I end loan {loan}?", lambda: call["close_loan"](loan_id=loan), "It is ended.")


def echoes(call, said):
    deed = lambda: call["lend"](member_id="M2", item_id="T5", days=3)
    yield from ask_then("T5 to M2 for 3 days: shall I?", deed, "T5 is lent to M2 for 3 days. Anything else?")


def one_by_one(call, said):
    member = call["find_member"](email=(yield "What is your e-mail address?").split()[-1].rstrip("."))
    item = (yield "Which item?").split()[-1].rstrip(".")
    days = int(re.findall(r"\\d+", (yield "For how many days?"))[0])
    deed = lambda: call["lend"](member_id=member, item_id=item, days=days)
    yield from ask_then("Shall I?", deed, "Done.")


def terse(call, said):
    yield from ask_then("OK?", lambda: call["lend"](member_id="M2", item_id="T5", days=3), "Done.")


def german(call, said):
    deed = lambda: call["close_loan"](loan_id="L07")
    yield from ask_then("Soll ich die Ausleihe L07 beenden?", deed, "Erledigt. Kann ich sonst etwas für Sie tun?")


def japanese(call, said):
    deed = lambda: call["lend"](member_id="M2", item_id="T5", days=3)
    yield from ask_then("T5を3日間お貸しします。よろしいですか。", deed, "T5をお貸ししました。")


def arabic(call, said):
    yield from ask_then("هل أنهي الإعارة L07؟", lambda: call["close_loan"](loan_id="L07"), "تم. هل من شيء آخر؟")


def twice(call, said):
    deed = lambda: call["close_loan"](loan_id="L07")
    yield from ask_then("Shall I end loan L07?", deed, "Ended.", sure="That is final. Are you sure?")


def instead(call, said):
    deed = lambda: call["lend"](member_id="M2", item_id="T6")
    yield from ask_then("T3 is out. Shall I lend you T6 instead?", deed, "You have T6 now.")


def other_one(call, said):
    if "other" not in (yield "Shall I lend you T5?"):
        yield "All right, I leave it."
    yield from ask_then("Shall I lend you T6?", lambda: call["lend"](member_id="M2", item_id="T6"), "You have T6 now.")


def offers(call, said):
    deed = lambda: call["lend"](member_id="M2", item_id="T6")
    if "T6" not in (yield "There are T5 and T6. Which one?"):
        yield "All right, I leave it."
    yield from ask_then("Shall I lend you T6?", deed, "You have T6. Would you like our newsletter?")


def small_number(call, said):
    deed = lambda: call["log_hours"](member_id="M2", hours=4)
    yield from ask_then("Log 4 hours for Ben. Shall I?", deed, "Done. Anything else?")


def reads(call, said):
    call["list_loans"](member_id="M1")
    while True:
        yield "You have loan L07. Anything else?"


def asks_mail_again(call, said):
    loan = call["list_loans"](member_id=call["find_member"](email="ann@example.org"))[0]
    if agrees((yield f"Shall I end {loan}?")):
        call["close_loan"](loan_id=loan)
    said = yield f"I have ended {loan}."
    while True:
        said = yield "I need your e-mail address once more: what is it?" if "@" not in said else "Thank you, Ann."


def asks_who(call, said):
    if "M2" not in (yield "Who are you?"):
        yield "I need to know that."
    deed = lambda: call["lend"](member_id="M2", item_id="T5", days=3)
    yield from ask_then("Shall I lend T5 to M2 for 3 days?", deed, "Done.")


def refuses(call, said):
    while agrees((yield "T3 is out, so I cannot lend it. Is there anything else?")):
        yield "What would you like?"
    while True:
        yield "All right. Is there anything else about T3?"


def refuses_late(call, said):
    yield "Shall I lend T3 to M2?"
    yield from refuses(call, said)


def choice(call, said):
    days = int(re.findall(r"\\d+", (yield "How many days would you like: 3, 7 or 14?"))[0])
    deed = lambda: call["lend"](member_id="M2", item_id="T5", days=days)
    yield from ask_then(f"Shall I lend T5 to M2 for {days} days?", deed, "Done.")


def numbered(call, said):
    yield "T5 for 3 days. Shall I?"
    call["lend"](member_id="M2", item_id="T5", days=3)
    raise RuntimeError((yield "T5 is lent. The loan has the number L08."))


def looks_twice(call, said):
    call["loans_of"](member_id="M1")
    if not agrees((yield "I see that M1 has loan L07. Is it this one?")):
        yield "All right, I leave it."
    call["loans_of"](member_id="M1")
    deed = lambda: call["lend"](member_id="M1", item_id="T5")
    yield from ask_then("Shall I lend it to M1 instead?", deed, "Done.")


def reports(call, said):
    deed = lambda: call["lend"](member_id="M2", item_id="T5", days=3)
    yield from ask_then("T5 to M2 for 3 days. Shall I?", deed, "T5 is lent to M2 for 3 days.")


def goes_on(call, said):
    yield "I would end loan L07. Shall I?"
    while True:
        yield "Shall I go on?"


def only_asks(call, said):
    while True:
        yield "Shall I go on?"


def authenticates(call, said):
    yield "I would end loan L07. Shall I?"
    while True:
        yield "What is your e-mail address?"


def is_refused(call, said):
    try:
        call["lend"](member_id="M2", item_id="T3")
    except ValueError as error:
        yield f"I am sorry: {error}."
    while True:
        yield "Goodbye."


def idle(call, said):
    while True:
        yield "Done. Anything else?"


def stubborn(call, said):
    deed = lambda: call["lend"](member_id="M2", item_id="T5")
    for _ in range(8):
        if agrees((yield "Shall I lend you T5?")):
            deed()


def forgets(call, said):
    while True:
        yield "Which item?"


def identifies(call, said):
    while "OB-41" not in said:
        said = yield call["words"]
    deed = lambda: call["lend"](member_id="M2", item_id="T5", days=3)
    yield from ask_then("Shall I lend T5 to M2 for 3 days?", deed, "Done.")


def asks_how_long(call, said):
    while not (days := re.findall(r"days is (\\d+)", said)):
        said = yield "How long do you need the item?"
    deed = lambda: call["lend"](member_id="M2", item_id="T5", days=int(days[0]))
    yield from ask_then(f"Shall I lend T5 to M2 for {days[0]} days?", deed, "Done.")


def asks_what_for(call, said):
    said = yield "Who are you?"
    while "T5" not in said:
        said = yield "What can I do for you?"
    deed = lambda: call["lend"](member_id="M2", item_id="T5", days=3)
    yield from ask_then("Shall I lend T5 to M2 for 3 days?", deed, "Done.")


def offers_more(call, said):
    hours = int(re.findall(r"\\d+", (yield "How many hours?"))[0])
    deed = lambda: call["log_hours"](member_id="M2", hours=hours)
    talk = ask_then(f"{hours} hours for M2. Shall I?", deed, f"{hours} hours are logged. Want to log other hours?")
    next_said = yield next(talk)
    raise RuntimeError((yield talk.send(next_said)))


def lends_all(call, said):
    while True:
        item = (re.findall(r"T\\d", said) or ["T5"])[0]
        said = yield f"Shall I lend {item} to M2 for 3 days?"
        if agrees(said):
            call["lend"](member_id="M2", item_id=item, days=3)
            said = yield f"{item} is yours."


def build(tools, context):
    call = {tool.__name__: tool for tool in tools} | context
    talk = []

    def reply(message):
        if talk:
            return talk[0].send(message)
        talk.append(globals()[context["talk"]](call, message))
        return next(talk[0])

    return reply


def parrots(call, said):
    yield "4 hours for M2. Shall I?"
    call["log_hours"](member_id="M2", hours=4)
    said = yield "They are logged."
    while True:
        said = yield said


def waits(message):
    return "Please say more."


def taken(message):
    found = re.findall(r"T\\d", message)
    return f"{found[0]} is yours." if found else "Which item?"


def done(message):
    return "Done. Anything else?" if agrees(message) else "I would lend T5 to M2. Shall I?"
"""
