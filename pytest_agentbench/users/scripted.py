"""The scripted user: says its lines, gives what it knows when asked by name, agrees to what it wants, and closes.

It reads no prose: it knows what it wants as values, and finds them in what the agent says. It reacts to a question (a
question mark of any script, a value of an expected write that was not confirmed yet, or the name of a value that it
knows and has not given) with, in one turn, every fact of `knows` that is named, and the first that fits of:

1. the script's own confirm or decline line for it
2. the plain yes, if it or the agent's two messages before it state a wanted value, and none that contradicts one
3. the plain no with the wanted value, where one is contradicted

If nothing fits it says the next line, and so it does where the same is asked a third time. If none is left it closes
where it has all that it wanted, else it says that it has no answer; the third time the run is stalled. Whatever is no
question brings the next line, and when all are said the end. A value counts as wanted until the writes that it is
expected in were made: who sees that it was done neither takes "Refunded W1." for a question nor agrees to it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.core.acts import DECIDED, Act, ActKind, Line
from pytest_agentbench.core.alike import similar
from pytest_agentbench.core.approvals import ApprovalRequest, Decision, DecisionKind, ScriptedDecision, values_of
from pytest_agentbench.core.conversation import Stop, UserTurn, View
from pytest_agentbench.core.ids import Scalar, codes_in
from pytest_agentbench.core.matchers import holds_matcher
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.spoken import plain, states
from pytest_agentbench.core.talk import agent_messages, has_question_mark
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.text import shorten
from pytest_agentbench.core.transcript import Message, awaiting
from pytest_agentbench.core.values import same, to_json
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.suites.language import Language, language_of
from pytest_agentbench.suites.script_lines import call_of, labelled
from pytest_agentbench.users.values import Fact, Heard, Wanted, contradicted, spoken, stated, undone, wants_in

ANSWERS: frozenset[ActKind | None] = frozenset({"confirm", "decline"})
"""What answers a question for consent."""
REQUESTS: frozenset[ActKind | None] = frozenset({"request", "condition", "withdraw"})
"""What asks for something else, so that a yes is needed anew."""


class Script:
    """The lines of one conversation; each is said once, answers when they are asked for, the others in order."""

    def __init__(self, lines: Sequence[Line] = ()) -> None:
        self.lines = tuple(lines)
        self._left = list(range(len(self.lines)))

    @property
    def left(self) -> tuple[Line, ...]:
        """The lines that were not said yet."""
        return tuple(self.lines[at] for at in self._left)

    def take(self) -> Line:
        """Say the next line."""
        return self.lines[self._left.pop(0)]

    def take_answer(self, fits: Callable[[tuple[object, ...]], bool]) -> Line | None:
        """Say the first confirm or decline line whose values fit the question, or a condition that is next, if any.

        One with `about` may be asked for before lines that come first, unless they are labelled as another request,
        condition or withdrawal. One without belongs to the line before it, so it is said in its turn: its values are
        the ids of that line.
        """
        for place, at in enumerate(self._left):
            line = self.lines[at]
            # "Yes, if it is free." is the author's answer, too, in its turn
            is_answer = line.act in ANSWERS or (line.act == "condition" and not place)
            if is_answer and (line.about or not place) and fits(self._matter(at) if line.about is None else line.about):
                del self._left[place]
                return line
            if line.act in REQUESTS:
                return None
        return None

    def _matter(self, at: int) -> tuple[object, ...]:
        """Give the ids of the closest line before an answer that has any, back to the answer before it."""
        for line in reversed(self.lines[:at]):
            if line.act in ANSWERS or (codes := codes_in(line.text)):
                return () if line.act in ANSWERS else tuple(codes.values())
        return ()

    def resume(self, messages: Sequence[Message]) -> None:
        """Take the lines that were said in messages which this script did not make as said; the first counts as one."""
        for number, message in enumerate(message for message in messages if message.role == "user"):
            said = plain(message.text or ",".join(call.name for call in message.tool_calls))
            for place, at in enumerate(self._left):
                text = plain(self.lines[at].text)
                if text == said or text.partition("(")[0] == said or (number == 0 and at == 0):
                    del self._left[place]
                    break


@dataclass(kw_only=True)
class _Approver:
    """The approvals of one conversation; each of the `lines` that decide does so once, the first that fits."""

    lines: list[Line]
    expected: Sequence[ExpectedCall]
    wants: Sequence[Wanted]
    language: Language

    def answer(self, request: ApprovalRequest, view: View, known: frozenset[str]) -> UserTurn | None:
        """Decide about a request; None where nothing says how, and for a question that no line answers.

        Without a line the user says yes to a call that the scenario expects, or that states a value of an expected
        write and contradicts none, and no to one that contradicts it; `known` are the ids that it knows of.
        """
        for line in self.lines:
            if line.decision is not None and line.decision.fits(request):
                self.lines.remove(line)
                return self._by_line(request, line.text, line.decision)
        if request.is_question:
            return None
        if rivals := [call for call in self.expected if call.name == request.tool]:
            wrong = min((_differing(call, request.arguments) for call in rivals), key=len)
        else:
            wrong = {one.name: one.value for one in contradicted(self.wants, request.call, known, self.language.locale)}
        if wrong:
            text = self.language.no.format(value=", ".join(dict.fromkeys(map(spoken, wrong.values()))))
            about = values_of({name: value for name, value in request.arguments.items() if name in wrong})
            act = Act(kind="decline", about=about or values_of(request.arguments), facts=wrong)
            return _turn_of("reject", request, text, act)
        if rivals or stated(undone(self.wants, view.done), request.call, self.language.locale):
            return self._plain("approve", request)
        return None if view.approvals is None else self._plain(view.approvals, request)

    def _by_line(self, request: ApprovalRequest, text: str, decision: ScriptedDecision) -> UserTurn:
        if decision.kind == "respond":
            return _turn_of(decision.kind, request, text, Act(kind="inform"))
        if decision.kind != "edit":
            return self._plain(decision.kind, request, text)
        facts = [Fact(name, to_json(value)) for name, value in decision.arguments.items()]
        said = [self.language.yes, *(fact.sentence(self.language) for fact in facts)]
        edited = request.model_copy(update={"arguments": {**request.arguments, **decision.arguments}})
        acts = Act(kind="confirm", about=values_of(edited.arguments)), Act(kind="inform", facts=decision.arguments)
        return _turn_of(decision.kind, edited, text or " ".join(said), *acts)

    def _plain(self, kind: DecisionKind, request: ApprovalRequest, text: str = "") -> UserTurn:
        said = self.language.yes if kind == "approve" else self.language.decline
        return _turn_of(kind, request, text or said, Act(kind=DECIDED[kind], about=values_of(request.arguments)))


def _turn_of(kind: DecisionKind, request: ApprovalRequest, text: str, *acts: Act) -> UserTurn:
    """Give the turn that decides about a request in the user's words."""
    decision = Decision(kind=kind, id=request.id, tool=request.tool, arguments=request.arguments, text=text)
    return UserTurn(text=text, acts=acts, decisions=(decision,))


def _differing(call: ExpectedCall, given: Mapping[str, Any]) -> dict[str, Any]:
    """Give the expected values of arguments in whose place `given` has others; what either leaves open is none."""
    found: dict[str, Any] = {}
    for name, one in call.arguments.items():
        if name in given and not holds_matcher(one):
            is_same = same(to_json(one), to_json(given[name])) or plain(str(one)) == plain(str(given[name]))
            found |= {} if is_same else {name: one}
    return found


UNANSWERED = 3
"""How often the user says that it has no answer until the run is stalled."""
BEFORE = 2
"""Messages of the agent before a question that may state what it is about."""


class ScriptedUser:
    """A simulated user without a model; one per run (implements `core.seams.User`)."""

    def __init__(
        self,
        lines: Sequence[Line] = (),
        *,
        wants: Sequence[Wanted] = (),
        asks_for: Sequence[str] = (),
        expected: Sequence[ExpectedCall] = (),
        known: Sequence[tuple[Scalar, tuple[str, ...]]] = (),
        language: Language | None = None,
    ) -> None:
        """Say `lines` (none: those of the view, or its goal) to get what it `wants` done and be told `asks_for`.

        `expected` are the agent's calls that it approves, `known` values with their names where it `knows` none.
        """
        self._language = language or language_of("en")
        self._locale = self._language.locale
        self._lines = tuple(line for line in lines if line.decision is None)
        decisions = [line for line in lines if line.decision is not None]
        self._approver = _Approver(lines=decisions, expected=expected, wants=wants, language=self._language)
        self._wants = tuple(wants)
        self._asks_for = tuple(asks_for)
        self._facts = [Fact(names[0], value, names) for value, names in known]
        self._script = Script()
        self._is_begun = False
        self._ids: frozenset[str] = frozenset()
        self._confirmed: set[str] = set()
        self._given: set[str] = set()
        self._done: Counter[Scalar] = Counter()
        self._unanswered: list[str] = []
        self._last = UserTurn()
        self._repeated = 0

    async def reply(self, view: View) -> UserTurn:
        """Say the next line or answer the agent's last message; see the module for the order of rules.

        Stops with reason `done`, with blame *scenario* where there is neither a line nor a goal, or where the agent
        asked three times for what the scenario does not say; that is the agent's where the user had said it before.
        """
        messages = view.messages[view.begun :]
        if not self._is_begun:
            self._begin(view, messages)
        if not any(message.role == "user" for message in messages):
            if not self._script.left:
                return UserTurn(stop=Stop(reason="nothing to say", blame=Blame.SCENARIO))
            self._last = self._next(view, "")
        elif messages[-1].role == "tool":
            told = messages[-1].text.strip() or self._language.yes  # what its own tool gave, where no line says it
            own = UserTurn(text=told, acts=(Act(kind="inform"),))
            self._last = self._next(view, "") if self._script.left else own
        elif requests := awaiting(messages):
            self._last = self._decide(view, messages, requests)
        else:
            self._last = self._answer(view, messages)
        return self._last

    def _begin(self, view: View, messages: Sequence[Message]) -> None:
        """Take in what the view tells about the user: its lines, what it knows, and the ids in all of it."""
        self._is_begun = True
        lines = self._lines or (() if self._approver.lines else tuple(Line(text=text) for text in view.says))
        said = [line for line in lines if line.text.strip()] or [Line(text=one) for one in [view.goal.strip()] if one]
        self._script = Script(labelled(said, self._language))
        self._script.resume(messages)
        own = (line.text for line in self._script.lines if line.act is None or line.act in REQUESTS)
        self._wants += wants_in(own, self._wants)
        if view.knows:
            facts = ((name, to_json(value), view.also.get(name, ())) for name, value in view.knows.items())
            self._facts = [Fact(name, value, (name, *also)) for name, value, also in facts]
        texts = [line.text for line in self._script.lines] + [view.goal, *(spoken(fact.value) for fact in self._facts)]
        self._ids = frozenset(code for text in texts for code in codes_in(text))

    def _decide(self, view: View, messages: Sequence[Message], requests: Sequence[ApprovalRequest]) -> UserTurn:
        """Answer approvals in one turn; a question that no line answers is answered as any message is.

        What nothing decides stays open: whoever leads the conversation says what is missing.
        """
        answers = [(request, self._approver.answer(request, view, self._ids)) for request in requests]
        turns = [turn for _, turn in answers if turn is not None]
        if questions := [request for request, turn in answers if turn is None and request.is_question]:
            other = self._answer(view, messages)
            if other.stop is not None or other.tool_calls:
                return other
            turns += [other, *(_turn_of("respond", request, other.text) for request in questions)]
        for request, turn in answers:
            if turn is not None and turn.decisions[0].runs:
                self._confirm(stated(self._wants, request.call, self._locale))
        return _joined(*turns)

    def _answer(self, view: View, messages: Sequence[Message]) -> UserTurn:
        texts = agent_messages(messages)
        text = texts[-1] if texts else ""
        fresh = {repr(value): plain(str(value)) for value in Counter(view.done) - self._done}
        self._confirmed -= fresh.keys()  # another write of the same thing needs another yes
        self._done = Counter(view.done)
        left = undone(self._wants, view.done)
        # "Order W2 is refunded.", said after a refund of W1, is no question about W2
        is_meant = not fresh or any(plain(str(one.value)) in fresh.values() for one in self._wants)
        before = texts[-1 - BEFORE : -1]
        heard = Heard(text, before, self._wants, left=left if is_meant else [], known=self._ids, locale=self._locale)
        asks = has_question_mark(text)
        facts = self._asked_facts(messages, heard, asks=asks)
        is_open = any(one.name and repr(one.value) not in self._confirmed for one in heard.stated)
        is_report = bool(fresh and self._script.left)  # of what was just done: its author says how the user goes on
        if not (asks or facts or (is_open and not is_report)):
            return self._next(view, text) if self._script.left else UserTurn(stop=Stop(reason="done"))
        if len(texts) > 1 and similar(text, texts[-2]) and self._stands(heard):
            self._repeated += 1
            if self._repeated == 1 or not self._script.left:
                return self._again(heard)
            self._repeated = 0  # "Which way?" again after "Yes, please. My order is W1.": the next line may answer it
            return self._next(view, text)
        self._repeated = 0
        if (turn := self._answer_question(view, heard, facts)) is not None:
            return turn
        told = (any(states(value, one, self._locale) for one in texts) for value in self._asks_for)
        wants = any(one.name for one in self._wants) or self._asks_for
        if wants and not any(one.name for one in left) and all(told):
            return UserTurn(stop=Stop(reason="done"))
        return self._no_answer(view, text, messages)

    def _answer_question(self, view: View, heard: Heard, facts: list[Fact]) -> UserTurn | None:
        left = self._script.left
        if left and (held := [fact for fact in facts if fact.is_stated(left[0].text, self._locale)]):
            return _joined(self._inform([fact for fact in facts if fact not in held]), self._next(view, heard.text))
        answer = self._consent(view, heard, has_facts=bool(facts))
        if facts or answer is not None:
            return _joined(self._inform(facts), answer or UserTurn(acts=()))
        return self._next(view, heard.text) if left else None

    def _consent(self, view: View, heard: Heard, *, has_facts: bool) -> UserTurn | None:
        """Give the script's own answer, the plain yes or the plain no; None where none of them fits."""
        left = self._script.left
        if left and left[0].act == "inform" and stated(heard.stated, left[0].text, self._locale):
            return self._next(view, heard.text)  # "By card." is what its author has the user say to "Card or transfer?"
        if line := self._script.take_answer(lambda about: heard.is_about(about, alone=has_facts)):
            return self._say(line, view, heard.text)
        if heard.contradicted:  # a list is no question: the line that says which one comes next
            says_which = left and heard.lists_what(left[0].text)
            return self._next(view, heard.text) if says_which else self._correct(heard)
        open_ones = [one for one in heard.matter if one.name or not left]
        if not heard.stated:  # "To which card?" after a yes to "Refund W1?" is about something else
            open_ones = [one for one in open_ones if repr(one.value) not in self._confirmed]
        if not open_ones:
            return None
        self._confirm(heard.matter)
        about = tuple(dict.fromkeys(one.value for one in heard.matter))
        return UserTurn(text=self._language.yes, acts=(Act(kind="confirm", about=about),))

    def _correct(self, heard: Heard) -> UserTurn:
        """Say what is wanted: of several choices that a message lists, or in place of what it says instead."""
        facts = {one.name: one.value for one in heard.contradicted}
        if heard.is_choice:
            return self._inform([Fact(name, value) for name, value in facts.items()])
        wanted = ", ".join(dict.fromkeys(map(spoken, facts.values())))
        act = Act(kind="decline", about=heard.others, facts=facts)
        return UserTurn(text=self._language.no.format(value=wanted), acts=(act,))

    def _stands(self, heard: Heard) -> bool:
        """Whether the last answer is given once more to the same question.

        A no is not where the question is all that is wanted: "No, I meant the blue one" answers "The blue one, shall
        I?" once. Nor is a no of the script's own before its last line: what comes next is up to its author.
        """
        kinds = {act.kind for act in self._last.acts or ()}
        if "decline" in kinds:
            is_own = any(line.text == self._last.text for line in self._script.lines)
            missing = {write for one in self._wants if one not in heard.stated for write in one.writes}
            is_all = not heard.contradicted and any(one.writes - missing for one in heard.stated)
            return not (is_all or (is_own and self._script.left))
        return not kinds.isdisjoint(("confirm", "inform"))

    def _again(self, heard: Heard) -> UserTurn:
        """Give the last answer once more, a plain yes with its values: it is no answer to "Card or transfer?"."""
        meant = [Fact(one.name, one.value) for one in heard.matter if one.name]
        return _joined(self._last, self._inform(meant)) if self._last.text == self._language.yes else self._last

    def _next(self, view: View, answered: str) -> UserTurn:
        return self._say(self._script.take(), view, answered)

    def _say(self, line: Line, view: View, answered: str) -> UserTurn:
        """Say a line of the script.

        Without `about` a yes or no concerns the known values of what it answers, a wish those of its own words.
        """
        if call := call_of(line.text, view.tools):
            return UserTurn(tool_calls=(call,), acts=())
        about = line.about
        if about is None and (line.act in ANSWERS or line.act in REQUESTS):
            about = self._known_values(answered if line.act in ANSWERS else line.text)
        if line.act is None or line.act in REQUESTS:
            self._confirmed = set()  # what is asked for now needs a yes of its own
        elif line.act == "confirm":
            self._confirm(stated(self._wants, answered, self._locale))
        return UserTurn(text=line.text, acts=None if line.act is None else (Act(kind=line.act, about=about or ()),))

    def _inform(self, facts: Sequence[Fact]) -> UserTurn:
        self._given |= {fact.name for fact in facts}
        act = Act(kind="inform", facts={fact.name: fact.value for fact in facts})
        text = " ".join(fact.sentence(self._language) for fact in facts)
        return UserTurn(text=text, acts=(act,) if facts else ())

    def _no_answer(self, view: View, text: str, messages: Sequence[Message]) -> UserTurn:
        """Say that there is no answer; the third time the run is stalled, unless the scenario said that it is so."""
        turn = UserTurn(text=self._language.unknown, acts=(Act(kind="other"),))
        if self._language.names(view.unknown, text):
            return turn
        self._unanswered.append(text)
        if len(self._unanswered) < UNANSWERED:
            return turn
        said = "\n".join(message.text for message in messages if message.role == "user")
        names = dict.fromkeys(one.name for one in stated(self._wants, said, self._locale))
        were_said = [name for name in names if self._language.names([name], text, loosely=True)]
        why = "the agent asked for what the scenario does not say; add it to `knows` or `says`"
        if were_said:
            why = f"the agent asked again for what the user had said ({', '.join(were_said)})"
        asked = " / ".join(dict.fromkeys(repr(shorten(one, 80)) for one in self._unanswered))
        blame = Blame.AGENT if were_said else Blame.SCENARIO
        stop = Stop(reason=f"{why}: {asked}", blame=blame, termination=Termination.STALLED)
        return turn.model_copy(update={"stop": stop})

    def _asked_facts(self, messages: Sequence[Message], heard: Heard, *, asks: bool) -> list[Fact]:
        """Give the facts that a message names.

        One that was stated before is given again only to a question that is about nothing else, by all of its name.
        """
        found = [fact for fact in self._facts if fact.is_asked(heard.text, self._language, loosely=asks)]
        said = [message.text for message in messages]
        is_alone = asks and not (heard.stated or heard.contradicted)

        def is_due(fact: Fact) -> bool:
            is_old = fact.name in self._given or any(fact.is_stated(one, self._locale) for one in said)
            return not is_old or (is_alone and fact.is_asked(heard.text, self._language, loosely=False))

        return [fact for fact in found if is_due(fact)]

    def _confirm(self, wants: Iterable[Wanted]) -> None:
        self._confirmed |= {repr(one.value) for one in wants}

    def _known_values(self, text: str) -> tuple[object, ...]:
        """Give the known values that a message states: wanted ones, those of facts, and ids of the user's lines."""
        found: list[object] = [one.value for one in stated(self._wants, text, self._locale)]
        found += [fact.value for fact in self._facts if fact.is_stated(text, self._locale)]
        plainly = {plain(str(one)) for one in found}
        found += [raw for code, raw in codes_in(text).items() if code in self._ids - plainly]
        return tuple(dict.fromkeys(one if isinstance(one, str | int | float) else str(one) for one in found))


def _joined(*turns: UserTurn) -> UserTurn:
    """Make one turn of several; the last says how it goes on."""
    acts = None if any(turn.acts is None for turn in turns) else tuple(act for turn in turns for act in turn.acts or ())
    text = " ".join(dict.fromkeys(turn.text for turn in turns if turn.text))
    decisions = tuple(decision for turn in turns for decision in turn.decisions)
    last = turns[-1] if turns else UserTurn()
    return last.model_copy(update={"text": text, "acts": acts, "decisions": decisions})
