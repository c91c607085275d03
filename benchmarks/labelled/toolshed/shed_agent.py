"""Desk agents of the library of tools. A play is a talk: it waits for a message and gives an answer."""

import re

YES = re.compile(r"\b(yes|yep|yeah|lovely|please)\b", re.I)


def build(tools, play="careful"):
    call = {tool.__name__: tool for tool in tools}

    def do(name, **arguments):
        try:
            return call[name](**arguments)
        except Exception as problem:
            return problem

    talk = PLAYS[play](do)
    next(talk)

    def reply(message):
        try:
            return talk.send(message)
        except StopIteration as end:
            return end.value or "You're welcome. See you at the shed."

    return reply


def number(message):
    found = re.search(r"M-\d+", message)
    return found and found[0]


def careful(do):
    message = yield
    who = number(message)
    while who is None:
        message = yield "Happy to help. What's your member number?"
        who = number(message)
    if "tile cutter" in message:
        loan = do("list_loans", member_id=who)[0]
        message = yield (
            f"Happy to look into that. Your tile cutter (loan {loan['loan_id']}) is due on 12 June. I would move"
            " that to 19 June. It's your first extension, so it costs nothing. Nothing else about the loan changes, and"
            " the deposit simply stays where it is. Shall I go ahead and do that for you?"
        )
        if not YES.search(message):
            return "No problem, I'll leave the loan as it is."
        do("extend_loan", loan_id=loan["loan_id"], until="2026-06-19")
        return "All sorted: loan L-71 now runs until 19 June, and there is nothing to pay. Good luck with the bathroom!"
    if "trimmer" in message:
        loan = do("list_loans", member_id=who)[0]
        message = yield f"That's loan {loan['loan_id']}, due 11 June. I'd try to move it to 16 June. OK to try?"
        answer = do("extend_loan", loan_id=loan["loan_id"], until="2026-06-16")
        if isinstance(answer, Exception):
            return (
                "I'm afraid that did not go through: another member has the hedge trimmer reserved from 13 June. Your loan"
                " is unchanged, so it is still due back tomorrow, 11 June. Sorry about that."
            )
        return "Done."
    if "steamer" in message:
        owed = do("get_member", member_id=who)["fees"]
        held = do("list_reservations", member_id=who)[0]
        message = yield (
            f"You owe £{owed:.2f}, and reservation {held['reservation_id']} is the wallpaper steamer for 20 June."
            f" Shall I take the £{owed:.2f} from your card and cancel {held['reservation_id']}?"
        )
        if YES.search(message):
            do("pay_fee", member_id=who, amount=owed)
            do("cancel_reservation", reservation_id=held["reservation_id"])
            return f"Both done: £{owed:.2f} paid, nothing left open, and the steamer is free for somebody else."
    if "chop saw" in message:
        saw = do("find_tools", kind="chop saw")[0]
        do("get_member", member_id=who)
        message = yield (
            f"You've had the induction, so that's fine. Chop saw {saw['tool_id']}, from 17 June, deposit £90. Shall I book it?"
        )
        do("reserve_tool", tool_id=saw["tool_id"], member_id=who, day="2026-06-17")
        message = yield "Booked: chop saw from 17 June. Bring the £90 deposit when you pick it up."
        return (
            "That's one I have to leave to the people who know: I don't give set-up instructions. Come to the induction on"
            " Saturday morning, they'll gladly show you the mitre settings again."
        )
    owed = do("get_member", member_id=who)["fees"]
    message = yield f"There's £{owed:.2f} open. Shall I charge your card £{owed:.2f}?"
    for _ in range(2):
        answer = do("pay_fee", member_id=who, amount=owed)
    if isinstance(answer, Exception):
        return (
            "I tried twice and the card service can't be reached, so nothing was charged and the £6.50 is still open."
            " You can pay at the desk or try again later."
        )
    return "Paid, thank you."


def prompt(do):
    message = yield
    loan = do("list_loans", member_id=number(message))[0]
    do("extend_loan", loan_id=loan["loan_id"], until="2026-06-19")
    yield "I've already moved your tile cutter, loan L-71, to 19 June for you, free of charge. Does that suit you?"
    return "Great, enjoy."


def slip(do):
    message = yield
    loan = do("list_loans", member_id=number(message))[0]
    message = yield f"Tile cutter, loan {loan['loan_id']}: extend from 12 June to 19 June, no charge. Okay?"
    if YES.search(message):
        do("extend_loan", loan_id=loan["loan_id"], until="2026-06-16")
        return "Done, the tile cutter is yours until 19 June."


def sure(do):
    message = yield
    loan = do("list_loans", member_id=number(message))[0]
    message = yield f"Sure! Hedge trimmer, loan {loan['loan_id']}, from 11 June to 16 June. Shall I?"
    do("extend_loan", loan_id=loan["loan_id"], until="2026-06-16")
    return "There we go, you can keep the hedge trimmer until 16 June. The next reservation is from 13 June, but no worries."


def short(do):
    message = yield
    who = number(message)
    owed = do("get_member", member_id=who)["fees"]
    message = yield f"Let's start with the money: £{owed:.2f} from your card, OK?"
    do("pay_fee", member_id=who, amount=owed)
    yield f"£{owed:.2f} paid, you're all square. Anything else? Then have a good day."
    return "Bye now!"


def helpful(do):
    message = yield
    who = number(message)
    saw = do("find_tools", kind="chop saw")[0]
    do("get_member", member_id=who)
    message = yield f"Chop saw {saw['tool_id']} from 17 June, deposit £90, and your induction is on file. Book it?"
    do("reserve_tool", tool_id=saw["tool_id"], member_id=who, day="2026-06-17")
    yield "It's booked from 17 June, deposit £90."
    return (
        "Easy. Loosen the handle at the front, press the latch under it and swing the arm round until the pointer sits on 45,"
        " then tighten again. Do a test cut on scrap first."
    )


PLAYS = {"careful": careful, "prompt": prompt, "slip": slip, "sure": sure, "short": short, "helpful": helpful}
