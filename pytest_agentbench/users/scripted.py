"""The scripted user: says its lines, gives what it knows when asked by name, agrees to what it wants, and closes.

It reads no prose: it knows what it wants as values, and finds them in what the agent says. A statement, which is a
message without a question mark that names no value it knows, gets the next line, or the end. Where no line is left
but a goodbye, one that states a wanted value that was not written yet gets a plain yes, once.

A question that is only about facts which it names and states gets these alone: "Which plan: mini or maxi?". Any other
gets, in one turn, every fact of `knows` that it names, and the first that fits of:

1. the script's own answer for it: a confirm or decline line with that `about`, or the next line if it is one
2. a question or a missing fact that is the next line; a plain yes, once, to the `about` of the request just made
3. where a wanted value is contradicted the plain no, with the value if the user can know it; the value alone where the
   question states it, too
4. a request still to be made, where the user has not spoken yet of what is stated; a line that changes what is stated
5. the plain yes, if the question or the agent's two messages before it state a wanted value

If nothing fits it says the next line, and so it does where the same is asked a third time. If none is left it closes
where it has all that it wanted, says again what the question names and it had said, or agrees once more to what it
agreed to. Else it closes where nobody can see what was done, or where it waits for nothing more. Otherwise it says what
it knows and nobody said (also with an answer given once more, and before it leaves, as long as no call was made), then
that it has no answer; the third time the run is stalled.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from pytest_agentbench.core.acts import Act, ActKind, Line
from pytest_agentbench.core.approvals import ApprovalRequest
from pytest_agentbench.core.conversation import Stop, UserTurn, View
from pytest_agentbench.core.ids import Scalar, clipped, codes_in, shape
from pytest_agentbench.core.json_values import to_json
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.spoken import plain, states
from pytest_agentbench.core.text_similarity import similar
from pytest_agentbench.core.transcript import Message, agent_messages, awaiting, has_question_mark
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.suites.language import Language, language_of
from pytest_agentbench.suites.script_lines import call_of, labelled
from pytest_agentbench.users.approvals import TIMES, Approver, Insisting, joined, turn_of, unanswerable
from pytest_agentbench.users.knowledge import (
    Fact,
    Heard,
    Knowledge,
    Wanted,
    numbers_in,
    spoken,
    stated,
    telling,
    undone,
    wants_in,
)
from pytest_agentbench.users.script import ANSWERS, REQUESTS, Script

BEFORE = 2
"""Messages of the agent before a question that may state what it is about."""
_NO = frozenset({"decline", "withdraw"})
"""Lines by which the user takes back what it asked for: no plain yes is given to that any more."""


class ScriptedUser:
    """A simulated user without a model; one per run (implements `core.protocols.User`)."""

    def __init__(
        self,
        lines: Sequence[Line] = (),
        *,
        wants: Sequence[Wanted] = (),
        askable: Sequence[str] = (),
        is_open: bool = True,
        required: Sequence[str] = (),
        asks_for: Sequence[str] = (),
        expected: Sequence[ExpectedCall] = (),
        known: Sequence[tuple[Scalar, tuple[str, ...]]] = (),
        language: Language | None = None,
    ) -> None:
        """Say `lines` (none: those of the view, or its goal) to get what it `wants` done and be told `asks_for`.

        `expected` are the agent's calls that it approves, `known` values with their names where it `knows` none,
        `askable` the names of what calls take, of which its wishes leave some if `is_open`, `required` those they need.
        """
        self._language = language or language_of("en")
        self._locale = self._language.locale
        self._lines = tuple(line for line in lines if line.decision is None)
        decisions = [line for line in lines if line.decision is not None]
        self._wants = telling(wants)
        self._weak = tuple(one for one in wants if one not in self._wants)
        self._approver = Approver(lines=decisions, expected=expected, wants=self._wants, language=self._language)
        self._expected = expected
        self._asks_for = tuple(asks_for)
        self._knowledge = Knowledge([Fact(names[0], value, names) for value, names in known], expected, self._language)
        self._script = Script()
        self._ids, self._own = frozenset[str](), tuple[str, ...]()
        self._numbers: tuple[Wanted, ...] = ()
        self._confirmed, self._nodded = set[str](), set[str]()  # agreed to when asked, and unasked
        self._refused = set[str]()  # what a no of the script's is about
        self._meant: tuple[object, ...] = ()  # what the last line is about, until it was agreed to
        self._done: Counter[Scalar] = Counter()
        self._is_over = False  # all that the user wants was done and said
        self._before_line = (0, 0)
        self._unanswered: list[str] = []
        self._open = ""
        self._last = UserTurn()
        self._repeated = 0
        self._insisting = Insisting(askable, self._language, is_open=is_open, required=required)
        self._is_begun = self._has_insisted = False
        self._counts: UserTurn | None = None  # what of the last answer was one

    async def reply(self, view: View) -> UserTurn:
        """Say the next line or answer the agent's last message; see the module for the order of rules.

        Stops with reason `done`, with blame *scenario* without a line, or at the third question without answer.
        """
        messages = view.messages[view.begun :]
        if not self._is_begun:
            self._begin(view, messages)
        if not any(message.role == "user" for message in messages):
            if not self._script.left:
                return UserTurn(stop=Stop(reason="the scenario has neither `says` nor `goal`", blame=Blame.SCENARIO))
            self._last = self._next(view, "")
        elif messages[-1].role == "tool":  # what its own tool gave, where no line says it
            own = UserTurn(text=messages[-1].text.strip() or self._language.yes, acts=(Act(kind="inform"),))
            self._last = self._next(view, "") if self._script.left else own
        elif requests := awaiting(messages):
            self._last = self._decide(view, messages, requests)
        else:
            self._last = self._answer(view, messages)
        return self._last

    def _begin(self, view: View, messages: Sequence[Message]) -> None:
        """Take in what the view tells about the user: its lines, what it knows, and the values in all of it."""
        self._is_begun = True
        lines = self._lines or (() if self._approver.lines else tuple(Line(text=text) for text in view.says))
        said = [line for line in lines if line.text.strip()] or [Line(text=one) for one in [view.goal.strip()] if one]
        self._script = Script(labelled(said, self._language))
        self._script.resume(messages)
        own = [line.text for line in self._script.lines if line.act is None or line.act in REQUESTS]
        self._wants += wants_in(own, self._wants)
        self._numbers = numbers_in(own)
        if view.knows:
            known = [Fact(name, to_json(value), (name, *view.also.get(name, ()))) for name, value in view.knows.items()]
            self._knowledge = Knowledge(known, self._expected, self._language)
        values = (spoken(fact.value) for fact in self._knowledge.facts)
        texts = [*(line.text for line in self._script.lines), view.goal, *values]
        self._ids = frozenset(code for text in texts for code in codes_in(text))
        self._own = tuple(map(clipped, (*texts, view.persona or "", view.known_info, view.task_instructions)))

    def _decide(self, view: View, messages: Sequence[Message], requests: Sequence[ApprovalRequest]) -> UserTurn:
        """Answer approvals in one turn, questions without a line as any message; what nothing decides stays open."""
        texts = agent_messages(messages)
        answers = [
            (request, self._approver.answer(request, view, self._ids, lambda value: self._can_know(value, texts)))
            for request in requests
        ]
        turns = [turn for _, turn in answers if turn is not None]
        if questions := [request for request, turn in answers if turn is None and request.is_question]:
            other = self._answer(view, messages)
            if other.stop is not None or other.tool_calls:
                return other
            turns += [other, *(turn_of("respond", request, other.text) for request in questions)]
        for request, turn in answers:
            if turn is not None and turn.decisions[0].runs:
                self._confirm(stated(self._wants, request.call, self._locale))
        return joined(*turns)

    def _answer(self, view: View, messages: Sequence[Message]) -> UserTurn:
        texts = agent_messages(messages)
        text = texts[-1] if texts else ""
        fresh = {repr(value): plain(str(value)) for value in Counter(view.done) - self._done}
        self._confirmed -= fresh.keys()  # another write of the same thing needs another yes
        self._nodded -= fresh.keys()
        self._done = Counter(view.done)
        left = undone(self._wants, view.done)
        # "Order W2 is refunded.", said after a refund of W1, is no question about W2
        is_meant = not fresh or any(plain(str(one.value)) in fresh.values() for one in self._wants)
        heard = Heard(
            text,
            texts[-1 - BEFORE : -1],
            self._wants,
            left=left if is_meant else [],
            weak=self._spoken_of(view, messages),
            known=self._ids,
            locale=self._locale,
        )
        has_all = self._has_all(left, messages)
        self._is_over = has_all and self._is_said
        facts = self._knowledge.asked(messages, heard, is_over=self._is_over)
        is_waiting = not (has_all or view.calls)  # whoever looked something up knew how to ask
        unsaid = self._knowledge.unsaid(messages) if is_waiting else None
        if view.calls is None and unsaid is not None:  # what nobody sees may be done, but not with what nobody said
            unsaid = self._knowledge.needed(messages) or None
        self._last, self._counts = self._counts or self._last, None
        if not (heard.asks or facts or self._is_invited(view, heard, texts, is_report=bool(fresh))):
            if unsaid and self._is_said:
                return self._more(UserTurn(acts=()), heard, unsaid)
            return self._next(view, text) if self._script.left else self._leave(view, left, text)
        is_again = len(texts) > 1 and similar(text, texts[-2])
        self._last = self._last.model_copy(update={"decisions": ()})  # a request is decided about once
        wanted = [one.value for one in (*left, *undone(self._weak, view.done)) if one.name]
        if heard.asks and self._is_content(heard, messages):
            return UserTurn(stop=Stop(reason="done", unanswered=text))
        if is_again and (times := self._insisting.times(self._last, view, heard, wanted, self._knowledge.names)):
            if self._script.left and not self._comes(*ANSWERS, "close"):
                return self._next(view, text)
            if times >= TIMES:
                return UserTurn(stop=self._insisting.stalled())
            return self._more(self._again(heard), heard, unsaid)
        if is_again and self._stands(heard):
            self._repeated += 1
            if self._repeated == 1 or not self._script.left or (heard.contradicted and self._comes("confirm")):
                return self._more(self._again(heard), heard, unsaid)
            self._repeated = 0  # "Which way?" again after "Yes, please. My order is W1.": the next line may answer it
            return self._next(view, text)
        self._repeated = 0
        if chosen := self._knowledge.chosen(messages, heard):
            return self._inform(chosen)
        if (turn := self._answer_question(view, heard, facts, messages)) is not None:
            self._open = ""
            return turn
        return self._without_answer(view, heard, left, messages, is_again=is_again)

    def _more(self, turn: UserTurn, heard: Heard, unsaid: Sequence[Fact] | None) -> UserTurn:
        """Add to an answer that changed nothing what nobody said yet; None where the user waits for nothing.

        "Who is calling?" again after a yes did not ask for one. Nor did "What can I do for you?": where all was said
        and nothing done, that gets the request, once.
        """
        kinds = {act.kind for act in turn.acts or ()}
        if "decline" in kinds or unsaid is None:
            return turn
        more = self._inform(unsaid)
        is_lost = (kinds == {"confirm"} or self._repeated > 1) and not (unsaid or heard.matter or self._done)
        if is_lost and not self._has_insisted and (line := self._script.last_request):
            self._has_insisted = True
            about = line.about or self._known_values(line.text)  # takes back no yes in the same turn
            more = UserTurn(text=line.text, acts=(Act(kind="request", about=about),))
        if not more.text:
            return turn
        self._counts = turn
        text = "\n".join(filter(None, (turn.text, more.text)))  # words of the author's may end without a full stop
        return joined(turn, more).model_copy(update={"text": text})

    def _spoken_of(self, view: View, messages: Sequence[Message]) -> list[Wanted]:
        """Give the short values and numbers that the user itself spoke of and that are left to do.

        A number that is no argument of an expected write counts as done with any write since the user's last line.
        """
        said = "\n".join(clipped(message.text) for message in messages if message.role == "user")
        numbers = self._numbers if len(view.done) <= self._before_line[1] else ()
        return stated([*undone(self._weak, view.done), *numbers], said, self._locale)

    def _is_invited(self, view: View, heard: Heard, texts: Sequence[str], *, is_report: bool) -> bool:
        """Whether a statement is answered as a question would be.

        It is where it states what is wanted, nobody did that yet and the user has nothing else to say, and where the
        script's yes comes next and the user knows what the statement should be about instead.
        """
        left = self._script.left
        wrong = heard.contradicted if self._comes("confirm") and not left[0].about else []
        if wrong and all(self._can_know(one.value, texts) for one in wrong):
            return True
        is_due = any(one.name and repr(one.value) not in self._confirmed | self._nodded for one in heard.stated)
        is_last = self._comes(*ANSWERS) or self._is_said
        return is_due and is_last and view.calls is not None and not (is_report and left)

    def _comes(self, *kinds: ActKind | None) -> bool:
        """Whether the next line is of one of these kinds."""
        return bool(self._script.left) and self._script.left[0].act in kinds

    def _answer_question(
        self, view: View, heard: Heard, facts: list[Fact], messages: Sequence[Message]
    ) -> UserTurn | None:
        left = self._script.left
        if left and (held := [fact for fact in facts if fact.is_stated(left[0].text, self._locale)]):
            return joined(self._inform([fact for fact in facts if fact not in held]), self._next(view, heard.text))
        answer = self._consent(view, heard, messages, has_facts=bool(facts))
        if facts or answer is not None:
            return joined(self._inform(facts), answer or UserTurn(acts=()))
        if self._comes(*ANSWERS) and self._language.names(view.unknown, heard.text):
            return self._has_none()
        if needed := self._needed(heard, messages):
            return self._inform(needed)
        return self._next(view, heard.text) if left else None

    def _is_content(self, heard: Heard, messages: Sequence[Message]) -> bool:
        """Whether no write is wanted, all is said, and the user has given a goodbye or a yes of its own making.

        So it is after a no of the script's own, unless the question is about that once more.
        "Line L2 is blocked. Is there anything else?" gets the yes that "Line L2, shall I move it?" would get.
        """
        is_wanted = bool(self._script.left) or any(one.name for one in self._wants)
        kinds = {act.kind for act in self._last.acts or ()}
        is_over = kinds == {"close"} or (kinds == {"confirm"} and self._last.text == self._language.yes)
        is_over |= bool(self._refused) and kinds <= _NO and bool(kinds) and not heard.stated
        return is_over and not is_wanted and self._is_told(messages)

    def _needed(self, heard: Heard, messages: Sequence[Message]) -> list[Fact]:
        """Give the known values of expected calls that nobody stated yet, to a question that states and names nothing.

        "Who are you?" asks for them in words that nobody has to read: a yes would be no answer, and "Shall I?" is
        asked again. A line that comes next and is no answer to a question is its author's.
        """
        is_due = (self._is_said or self._comes(*ANSWERS)) and not self._is_over
        if not heard.asks or heard.stated or heard.contradicted or not is_due:
            return []
        return self._knowledge.needed(messages)

    @property
    def _is_said(self) -> bool:
        """Whether no line is left but a goodbye."""
        return all(line.act == "close" for line in self._script.left)

    def _consent(self, view: View, heard: Heard, messages: Sequence[Message], *, has_facts: bool) -> UserTurn | None:
        """Give the script's own answer, a no, the request that comes first, or the plain yes; None where none fits."""
        left = self._script.left
        if left and (left[0].act == "ask" or (left[0].act == "inform" and heard.is_told_by(left[0].text))):
            return self._next(view, heard.text)  # "By card." is what its author has the user say to "Card or transfer?"
        if line := self._script.take_answer(heard, alone=has_facts):
            turn = self._say(line, view, heard.text)
            if line.act == "confirm" and heard.asks:
                self._confirm(heard.matter)
            return turn
        if heard.contradicted and heard.asks and heard.is_about(self._meant, alone=True):
            act, self._meant = Act(kind="confirm", about=self._meant), ()
            return UserTurn(text=self._language.yes, acts=(act,))
        if heard.contradicted:  # a list is no question: the line that says which one comes next
            says_which = left and heard.lists_what(left[0].text)
            return self._next(view, heard.text) if says_which else self._correct(view, heard, messages)
        if heard.matter and left and left[0].act not in ANSWERS:
            is_offer = left[0].act == "request" and heard.is_new_to(messages, left[0])
            if is_offer or (heard.asks and heard.is_changed_by(left[0].text)):
                return self._next(view, heard.text)
        open_ones = [one for one in heard.matter if one.name or not left]
        is_due = heard.stated and (view.calls is not None or left or not self._is_told(messages))
        if not is_due:  # "To which card?" after a yes to "Refund W1?" is about something else
            open_ones = [one for one in open_ones if repr(one.value) not in self._confirmed]
        refused = [one for one in open_ones if not one.name and plain(str(one.value)) in self._refused]
        if refused and len(refused) == len(open_ones):
            about = tuple(one.value for one in refused)
            is_no = heard.asks and bool(heard.stated)  # "So I cancel R3, yes?" after a no
            return UserTurn(text=self._language.decline, acts=(Act(kind="decline", about=about),)) if is_no else None
        if not open_ones or (not heard.stated and self._lacks(view, heard.text)):
            return None
        if heard.asks:
            self._confirm(heard.matter)
        else:
            self._nodded |= {repr(one.value) for one in heard.matter}
        return self._yes(heard.matter)

    def _yes(self, matter: Iterable[Wanted], text: str = "") -> UserTurn:
        act = Act(kind="confirm", about=tuple(dict.fromkeys(one.value for one in matter)))
        return UserTurn(text=text or self._language.yes, acts=(act,))

    def _correct(self, view: View, heard: Heard, messages: Sequence[Message]) -> UserTurn:
        """Say what is wanted: of several choices that a message lists, or in place of what it says instead.

        Nobody names an id that it cannot know: then the next line is said, or the plain no without a value.
        """
        facts = {one.name: one.value for one in heard.contradicted if one.name}
        if heard.is_choice:
            return self._inform([Fact(name, value) for name, value in facts.items()])
        known = {name: value for name, value in facts.items() if self._can_know(value, agent_messages(messages))}
        if not known and self._script.left and not self._comes(*ANSWERS):
            return self._next(view, heard.text)
        wanted = ", ".join(dict.fromkeys(map(spoken, known.values())))
        text = self._language.no.format(value=wanted) if known else self._language.decline
        return UserTurn(text=text, acts=(Act(kind="decline", about=heard.others, facts=known),))

    def _can_know(self, value: object, heard: Iterable[str]) -> bool:
        """Whether a value is no id, or stands in what the user says and knows or in what it `heard`."""
        if not shape(plain(str(value))):
            return True
        return any(states(value, text, self._locale) for text in (*self._own, *map(clipped, heard)))

    def _stands(self, heard: Heard) -> bool:
        """Whether the last answer is given once more to the same question.

        A no is not where the question is all that is wanted: "No, I meant the blue one" answers "The blue one, shall
        I?" once. Nor is a no of the script's own before its last line: what comes next is up to its author. Nor is a
        second yes to a question that states nothing of what it is about.
        """
        kinds = {act.kind for act in self._last.acts or ()}
        if "decline" in kinds:
            is_own = any(line.text == self._last.text for line in self._script.lines)
            missing = {write for one in self._wants if one not in heard.stated for write in one.writes}
            is_all = not heard.contradicted and any(one.writes - missing for one in heard.stated)
            return not (is_all or (is_own and self._script.left))
        if "confirm" in kinds and heard.asks and not heard.stated:
            return not any(repr(one.value) in self._nodded for one in heard.matter)
        return not kinds.isdisjoint(("confirm", "inform"))

    def _again(self, heard: Heard) -> UserTurn:
        """Give the last answer once more: a yes with its values, and a wanted value with a yes.

        The one is no answer to "Card or transfer?", the other none to "Card, shall I?".
        """
        acts = self._last.acts or ()
        if acts and all(act.kind == "confirm" for act in acts):
            meant = self._inform([Fact(one.name, one.value) for one in heard.matter if one.name])
            is_own = self._last.text != self._language.yes  # words of the author's may end without a full stop
            return joined(meant, self._last) if is_own else joined(self._last, meant)
        told = [value for act in acts if act.kind == "inform" for value in act.facts.values()]
        wanted = [one for one in self._wants if one.name and one.value in told]
        has_told = all(act.kind == "inform" for act in acts) and not self._script.left
        if not wanted and has_told and not heard.contradicted:  # "Navy, please." to "I would take jacket-navy-m."
            wanted = [one for one in heard.stated if one.name]
        if not wanted or any(act.kind == "confirm" for act in acts):
            return self._last
        self._confirm(wanted)
        is_own = self._comes("confirm") and not self._script.left[0].about
        return joined(self._yes(wanted, self._script.take().text if is_own else ""), self._last)

    def _next(self, view: View, answered: str) -> UserTurn:
        return self._say(self._script.take(), view, answered)

    def _say(self, line: Line, view: View, answered: str) -> UserTurn:
        """Say a line of the script.

        Without `about` a yes or no concerns the known values of what it answers, a wish those of its own words.
        """
        self._before_line = (view.calls or 0, len(view.done))
        self._meant = self._script.meant(line, self._wants, self._locale)
        if call := call_of(line.text, view.tools):
            return UserTurn(tool_calls=(call,), acts=())
        about = line.about
        if about is None and (line.act in ANSWERS or line.act in REQUESTS):
            about = self._known_values(answered if line.act in ANSWERS else line.text)
            if line.act == "decline":  # "No, the other one" is about what the user does not know yet
                about = tuple({plain(str(one)): one for one in (*about, *codes_in(answered).values())}.values())
        if line.act is None or line.act in REQUESTS:
            self._confirmed, self._nodded = set(), set()  # what is asked for now needs a yes of its own
            self._refused = set()
        elif line.act == "confirm" and has_question_mark(answered):
            self._confirm(stated(self._wants, answered, self._locale))
        if line.act in _NO:
            self._refused |= {plain(str(one)) for one in (*(about or ()), *self._known_values(answered))}
        return UserTurn(text=line.text, acts=None if line.act is None else (Act(kind=line.act, about=about or ()),))

    def _inform(self, facts: Sequence[Fact]) -> UserTurn:
        self._knowledge.given |= {fact.name for fact in facts}
        act = Act(kind="inform", facts={fact.name: fact.value for fact in facts})
        text = " ".join(fact.sentence(self._language) for fact in facts)
        return UserTurn(text=text, acts=(act,) if facts else ())

    def _without_answer(
        self, view: View, heard: Heard, left: Sequence[Wanted], messages: Sequence[Message], *, is_again: bool
    ) -> UserTurn:
        """Answer a question that neither the script nor what is wanted and known answers."""
        if self._has_all(left, messages):
            return UserTurn(stop=Stop(reason="done"))
        waits, is_told = any(one.name for one in self._wants), self._is_told(messages)
        if said := self._knowledge.said_before(heard, messages, self._wants, loosely=bool(self._unanswered)):
            return self._inform(said)
        again = [one for one in heard.matter if one.name and repr(one.value) not in self._nodded]
        again = [] if heard.contradicted or is_again or self._lacks(view, heard.text) else again
        if again and view.calls is not None:  # "This is final. Are you sure?"
            self._nodded |= {repr(one.value) for one in again}
            return self._yes(again)
        if self._language.names(view.unknown, heard.text):
            return self._has_none()
        is_served = not (waits or self._asks_for) and (view.calls or 0) > self._before_line[0]
        if is_served or (view.calls is None and is_told):
            return UserTurn(stop=Stop(reason="done", unanswered=heard.text))
        if not view.calls and (unsaid := self._knowledge.unsaid(messages)):
            return self._more(UserTurn(acts=()), heard, unsaid)
        if waits or not self._asks_for:
            self._open = heard.text
        self._unanswered.append(heard.text)
        return self._has_none().model_copy(update={"stop": unanswerable(self._unanswered)})

    def _leave(self, view: View, left: Sequence[Wanted], text: str) -> UserTurn:
        """Close behind a message that asks for nothing known; what was asked stands open unless all wanted was done."""
        is_done = any(one.name for one in self._wants) and not any(one.name for one in left)
        is_lacking = not is_done and self._lacks(view, text)
        return UserTurn(stop=Stop(reason="done", unanswered="" if is_done else self._open or text * is_lacking))

    def _lacks(self, view: View, text: str) -> bool:
        """Whether a message asks for what the scenario does not hold, before any call was tried."""
        known = self._knowledge.known_names(lambda value: self._can_know(value, ()))
        return not view.tried and self._insisting.lacks(text, known, self._own)

    def _has_none(self) -> UserTurn:
        return UserTurn(text=self._language.unknown, acts=(Act(kind="other"),))

    def _has_all(self, left: Sequence[Wanted], messages: Sequence[Message]) -> bool:
        """Whether the user wants something, and all of it was done and said."""
        has_aims = bool(self._asks_for) or any(one.name for one in self._wants)
        return has_aims and self._is_told(messages) and not any(one.name for one in left)

    def _is_told(self, messages: Sequence[Message]) -> bool:
        """Whether the agent has said all that the user asks for."""
        told = agent_messages(messages)
        return all(any(states(one, text, self._locale) for text in told) for one in self._asks_for)

    def _confirm(self, wants: Iterable[Wanted]) -> None:
        self._confirmed |= {repr(one.value) for one in wants}

    def _known_values(self, text: str) -> tuple[object, ...]:
        return self._knowledge.values_in(text, self._wants, self._ids)
