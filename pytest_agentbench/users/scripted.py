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

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from pytest_agentbench.core.acts import Act, Line
from pytest_agentbench.core.alike import alike
from pytest_agentbench.core.approvals import ApprovalRequest, Decision
from pytest_agentbench.core.conversation import Stop, UserTurn, View
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.spoken import plain, states
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.text import shorten
from pytest_agentbench.core.transcript import Message, awaiting
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.suites.language import Language, language_of
from pytest_agentbench.users.approvals import Approver
from pytest_agentbench.users.knowledge import Fact, Labels, facts_of, named, spoken
from pytest_agentbench.users.script import ANSWERS, Script, call_of, labelled
from pytest_agentbench.users.wants import (
    Wanted,
    clipped,
    codes_in,
    contradicted,
    stated,
    states_a_write,
    undone,
    wants_in,
)

_REQUESTS = frozenset({"request", "condition", "withdraw", None})
"""Acts, and lines that may be one, after which a yes is needed anew."""
UNANSWERED = 3
"""How often the user says that it has no answer until the run is stalled."""
BEFORE = 2
"""Messages of the agent before a question that may state what it is about."""
_ENDS = 1_000
"""Characters of either end of a message that are held against another's."""
_SAME = 0.9
"""Likeness from which a message asks the same again."""


class ScriptedUser:
    """A simulated user without a model; one per run (implements `core.seams.User`)."""

    def __init__(
        self,
        lines: Sequence[Line] = (),
        *,
        wants: Sequence[Wanted] = (),
        asks_for: Sequence[str] = (),
        expected: Sequence[ExpectedCall] = (),
        labels: Labels = (),
        language: Language | None = None,
    ) -> None:
        """Say `lines` (none: those of the view, or its goal) to get what it `wants` done and be told `asks_for`.

        `expected` are the agent's calls that it approves.
        """
        self._language = language or language_of("en")
        self._lines = tuple(line for line in lines if line.decision is None)
        self._approver = Approver(lines, expected=expected, wants=wants, language=self._language)
        self._wants = tuple(wants)
        self._labels = labels
        self._facts: tuple[Fact, ...] = ()
        self._asks_for = tuple(asks_for)
        self._script: Script | None = None
        self._confirmed: set[str] = set()
        self._given: set[str] = set()
        self._done: Counter[str | int | float] = Counter()
        self._unanswered: list[str] = []
        self._last = UserTurn()
        self._repeated = 0

    async def reply(self, view: View) -> UserTurn:
        """Say the next line or answer the agent's last message; see the module for the order of rules.

        Stops with reason `done`, with blame *scenario* where there is neither a line nor a goal, or where the agent
        asked three times for what the scenario does not say; that is the agent's where the user had said it before.
        """
        messages = view.messages[view.begun :]
        script = self._begun(view, messages)
        if not any(message.role == "user" for message in messages):
            if not script.left:
                return UserTurn(stop=Stop(reason="nothing to say", blame=Blame.SCENARIO))
            self._last = self._line(script.take(), view, "")
        elif messages[-1].role == "tool":
            self._last = self._after_a_call(script, view, messages[-1].text)
        elif requests := awaiting(messages):
            self._last = self._decide(script, view, messages, requests)
        else:
            self._last = self._answer(script, view, messages)
        return self._last

    def _begun(self, view: View, messages: Sequence[Message]) -> Script:
        if self._script is None:
            self._facts = facts_of(view, self._labels)
            lines = self._lines or (() if self._approver.has_lines else tuple(Line(text=text) for text in view.says))
            lines = tuple(line for line in lines if line.text.strip())
            if not lines and view.goal.strip():
                lines = (Line(text=view.goal.strip()),)
            self._script = Script(labelled(lines, self._language))
            asked = [line.text for line in self._script.lines if line.act in _REQUESTS]
            self._wants += wants_in(asked, self._wants)
            self._script.resume(messages)
        return self._script

    def _decide(
        self, script: Script, view: View, messages: Sequence[Message], requests: Sequence[ApprovalRequest]
    ) -> UserTurn:
        """Answer approvals in one turn; a question that no line answers is answered as any message is.

        What nothing decides stays open: whoever leads the conversation says what is missing.
        """
        known = self._known(script, view)
        answers = [self._approver.answer(request, view, known) for request in requests]
        pairs = list(zip(requests, answers, strict=True))
        turns = [turn for turn in answers if turn is not None]
        if any(request.is_question and turn is None for request, turn in pairs):
            other = self._answer(script, view, messages)
            if other.stop is not None or other.tool_calls:
                return other
            turns.append(other.model_copy(update={"decisions": tuple(_responses(pairs, other.text))}))
        for request, turn in pairs:
            if turn is not None and turn.decisions[0].runs:
                self._confirmed |= {repr(one.value) for one in stated(self._wants, request.call, self._language.locale)}
        said = " ".join(dict.fromkeys(turn.text for turn in turns if turn.text))
        meant = None if any(turn.acts is None for turn in turns) else [act for turn in turns for act in turn.acts or ()]
        return UserTurn(
            text=said,
            acts=None if meant is None else tuple(meant),
            decisions=tuple(decision for turn in turns for decision in turn.decisions),
        )

    def _after_a_call(self, script: Script, view: View, result: str) -> UserTurn:
        """Go on after a call of one's own tool; what it gave is told where no line says it."""
        if script.left:
            return self._line(script.take(), view, "")
        return UserTurn(text=result.strip() or self._language.yes, acts=(Act(kind="inform"),))

    def _answer(self, script: Script, view: View, messages: Sequence[Message]) -> UserTurn:
        texts = agent_messages(messages)
        text = texts[-1] if texts else ""
        fresh = self._see_done(view)
        # "Order W2 is refunded.", said after a refund of W1, is no question about W2
        is_as_wanted = not fresh or any(plain(str(one.value)) in fresh for one in self._wants)
        left = undone(self._wants, view.done)
        known = self._known(script, view)
        before = texts[-1 - BEFORE : -1]
        open_wants = left if is_as_wanted else []
        heard = _Heard(text, before, self._wants, left=open_wants, known=known, locale=self._language.locale)
        asks = has_question_mark(text)
        facts = self._asked_facts(view, messages, heard, asks=asks)
        is_open = any(one.name and repr(one.value) not in self._confirmed for one in heard.stated)
        is_report = bool(fresh and script.left)  # of what was just done: its author says how the user goes on
        if not (asks or facts or (is_open and not is_report)):
            return self._line(script.take(), view, text) if script.left else UserTurn(stop=Stop(reason="done"))
        if len(texts) > 1 and _same(text, texts[-2]) and self._stands(script, heard):
            self._repeated += 1
            if self._repeated == 1 or not script.left:
                return self._again(heard)
            self._repeated = 0  # "Which way?" again after "Yes, please. My order is W1.": the next line may answer it
            return self._line(script.take(), view, text)
        self._repeated = 0
        turn = self._answer_question(script, view, heard, facts)
        if turn is not None:
            return turn
        if self._has_all(left, texts):
            return UserTurn(stop=Stop(reason="done"))
        said = "\n".join(message.text for message in messages if message.role == "user")
        return self._no_answer(view, text, said)

    def _again(self, heard: "_Heard") -> UserTurn:
        """Give the last answer once more, a plain yes with its values: it is no answer to "Card or transfer?"."""
        meant = [Fact(one.name, one.value) for one in heard.matter if one.name]
        if self._last.text != self._language.yes or not meant:
            return self._last
        self._last = UserTurn(
            text=" ".join([self._language.yes, *(fact.sentence(self._language) for fact in meant)]),
            acts=(*(self._last.acts or ()), Act(kind="inform", facts={fact.name: fact.value for fact in meant})),
        )
        return self._last

    def _stands(self, script: Script, heard: "_Heard") -> bool:
        """Whether the last answer is given once more to the same question.

        A no is not where the question is all that is wanted: "No, I meant the blue one" answers "The blue one, shall
        I?" once. Nor is a no of the script's own before its last line: what comes next is up to its author.
        """
        kinds = {act.kind for act in self._last.acts or ()}
        if "decline" in kinds and script.left and any(line.text == self._last.text for line in script.lines):
            return False
        if "decline" in kinds and not heard.contradicted and states_a_write(heard.stated, self._wants):
            return False
        return not kinds.isdisjoint(("confirm", "decline", "inform"))

    def _see_done(self, view: View) -> set[str]:
        """Give what was written since, and take back the yes to it: another write of the same thing needs another."""
        done = Counter(view.done)
        fresh = done - self._done
        self._confirmed -= {repr(value) for value in fresh}
        self._done = done
        return {plain(str(value)) for value in fresh}

    def _has_all(self, left: Sequence[Wanted], texts: Sequence[str]) -> bool:
        """Whether all that was wanted was done and told; False where the scenario says neither."""
        named = [one for one in self._wants if one.name]
        told = (any(states(value, text, self._language.locale) for text in texts) for value in self._asks_for)
        return bool(named or self._asks_for) and not any(one.name for one in left) and all(told)

    def _answer_question(self, script: Script, view: View, heard: "_Heard", facts: list[Fact]) -> UserTurn | None:
        if facts and script.left and any(fact.is_stated(script.left[0].text, self._language.locale) for fact in facts):
            next_line = script.take()
            rest = [fact for fact in facts if not fact.is_stated(next_line.text, self._language.locale)]
            return self._with_facts(rest, self._line(next_line, view, heard.text))
        answer = self._consent(script, view, heard, has_facts=bool(facts))
        if facts or answer is not None:
            return self._with_facts(facts, answer or UserTurn(acts=()))
        return self._line(script.take(), view, heard.text) if script.left else None

    def _consent(self, script: Script, view: View, heard: "_Heard", *, has_facts: bool) -> UserTurn | None:
        """Give the script's own answer, the plain yes or the plain no; None where none of them fits."""
        if script.left and script.left[0].act == "inform":
            following = script.left[0].text  # "By card." is what its author has the user say to "Card or transfer?"
            if any(states(one.value, following, self._language.locale) for one in heard.stated):
                return self._line(script.take(), view, heard.text)
        line = script.take_answer(lambda about: heard.is_about(about, alone=has_facts))
        if line is not None:
            return self._line(line, view, heard.text)
        matter = heard.matter
        if heard.contradicted:
            return self._correct(heard)
        open_ones = [one for one in matter if one.name or not script.left]
        # "To which card?" after a yes to "Refund W1?" is about something else; "Refund W1, sure?" is not
        if not heard.stated:
            open_ones = [one for one in open_ones if repr(one.value) not in self._confirmed]
        if not open_ones:
            return None
        self._confirmed |= {repr(one.value) for one in matter}
        about = tuple(dict.fromkeys(one.value for one in matter))
        return UserTurn(text=self._language.yes, acts=(Act(kind="confirm", about=about),))

    def _correct(self, heard: "_Heard") -> UserTurn:
        """Say what is wanted: of several choices that a message lists, or in place of what it says instead."""
        facts = {one.name: one.value for one in heard.contradicted}
        if heard.is_choice:
            several = [Fact(name, value) for name, value in facts.items()]
            text = " ".join(fact.sentence(self._language) for fact in several)
            return UserTurn(text=text, acts=(Act(kind="inform", facts=facts),))
        wanted = ", ".join(dict.fromkeys(spoken(value) for value in facts.values()))
        act = Act(kind="decline", about=heard.others, facts=facts)
        return UserTurn(text=self._language.no.format(value=wanted), acts=(act,))

    def _line(self, line: Line, view: View, answered: str) -> UserTurn:
        """Say a line of the script.

        Without `about` a yes or no concerns the known values of what it answers, a wish those of its own words.
        """
        if call := call_of(line.text, view.tools):
            return UserTurn(tool_calls=(call,), acts=())
        about = line.about
        if about is None and line.act in ANSWERS:
            about = self._known_values(view, answered)
        elif about is None and line.act in _REQUESTS:
            about = self._known_values(view, line.text)
        if line.act in _REQUESTS:
            self._confirmed = set()  # what is asked for now needs a yes of its own
        if line.act is None:
            return UserTurn(text=line.text)
        if line.act == "confirm":
            self._confirmed |= {repr(one.value) for one in stated(self._wants, answered, self._language.locale)}
        return UserTurn(text=line.text, acts=(Act(kind=line.act, about=about or ()),))

    def _with_facts(self, facts: Sequence[Fact], turn: UserTurn) -> UserTurn:
        if not facts:
            return turn
        self._given |= {fact.name for fact in facts}
        text = " ".join([*(fact.sentence(self._language) for fact in facts), turn.text]).strip()
        inform = Act(kind="inform", facts={fact.name: fact.value for fact in facts})
        return turn.model_copy(update={"text": text, "acts": None if turn.acts is None else (inform, *turn.acts)})

    def _no_answer(self, view: View, text: str, said: str) -> UserTurn:
        """Say that there is no answer; the third time the run is stalled, unless the scenario said that it is so."""
        turn = UserTurn(text=self._language.unknown, acts=(Act(kind="other"),))
        if any(named([name], text, self._language.labels) for name in view.unknown if len(name) <= _LONGEST_NAME):
            return turn
        self._unanswered.append(text)
        if len(self._unanswered) < UNANSWERED:
            return turn
        asked = " / ".join(dict.fromkeys(repr(shorten(one, 80)) for one in self._unanswered))
        told = [
            one.name
            for one in self._wants
            if named([one.name], text, self._language.labels, loosely=True)
            and states(one.value, said, self._language.locale)
        ]
        if told:
            reason = f"the agent asked again for what the user had said ({', '.join(dict.fromkeys(told))}): {asked}"
            return turn.model_copy(update={"stop": _stalled(reason, Blame.AGENT)})
        reason = f"the agent asked for what the scenario does not say; add it to `knows` or `says`: {asked}"
        return turn.model_copy(update={"stop": _stalled(reason, Blame.SCENARIO)})

    def _asked_facts(self, view: View, messages: Sequence[Message], heard: "_Heard", *, asks: bool) -> list[Fact]:
        """Give the facts that a message names.

        One that was stated before is given again only to a question that is about nothing else, by all of its name.
        """
        language = self._language
        found = [fact for fact in self._facts if fact.is_asked(heard.text, language, loosely=asks)]
        if asks and not (heard.stated or heard.contradicted):
            strictly = [fact for fact in found if fact.is_asked(heard.text, language, loosely=False)]
            return [fact for fact in found if fact in strictly or not self._is_said(fact, messages)]
        return [fact for fact in found if not self._is_said(fact, messages)]

    def _is_said(self, fact: Fact, messages: Sequence[Message]) -> bool:
        return fact.name in self._given or any(
            fact.is_stated(message.text, self._language.locale) for message in messages
        )

    def _known(self, script: Script, view: View) -> frozenset[str]:
        """Give the ids that the user knows of: those of its lines, its goal and its facts."""
        texts = [line.text for line in script.lines] + [view.goal, *(fact.text for fact in self._facts)]
        return frozenset(code for text in texts for code in codes_in(text))

    def _known_values(self, view: View, text: str) -> tuple[object, ...]:
        """Give the known values that a message states: wanted ones, those of facts, and ids of the user's lines."""
        locale = self._language.locale
        found: list[object] = [one.value for one in stated(self._wants, text, locale)]
        found += [fact.value for fact in self._facts if fact.is_stated(text, locale)]
        known = self._known(self._script, view) if self._script else frozenset()
        plainly = {plain(str(one)) for one in found}
        found += [raw for code, raw in codes_in(text).items() if code in known and code not in plainly]
        return tuple(dict.fromkeys(one if isinstance(one, str | int | float) else str(one) for one in found))


class _Heard:
    """What a message of the agent is about: values `left` to do that it states, and wanted ones that it contradicts."""

    def __init__(
        self,
        text: str,
        before: Sequence[str],
        wants: Sequence[Wanted],
        *,
        left: Sequence[Wanted],
        known: frozenset[str],
        locale: str,
    ) -> None:
        self.text = text
        self._before = before
        self._locale = locale
        self.stated = stated(left, text, locale)
        contra = contradicted(wants, text, known, locale)
        self.matter = self.stated
        source = text
        if not (self.stated or contra):
            source = next((one for one in reversed(before) if stated(left, one, locale)), "")
            self.matter = stated(left, source, locale)
            contra = contradicted(wants, source, known, locale)
        self.contradicted = contra
        wanted = {plain(str(one.value)) for one in wants}
        self.is_choice = bool(contra) and all(one.others and one in self.stated for one in contra)
        self.others = tuple(raw for code, raw in codes_in(source).items() if code not in wanted | known)

    def is_about(self, values: Iterable[object], *, alone: bool) -> bool:
        """Whether the message, or one of those before it, states one of `values`; without any, a wanted value.

        `alone`: the message itself must, since it also asks for something else.
        """
        several = list(values)
        if not several:
            return bool(self.stated if alone else self.matter) and not self.contradicted
        texts = [self.text] if alone else [self.text, *self._before]
        return any(states(value, text, self._locale) for text in texts for value in several)


def _responses(pairs: Iterable[tuple[ApprovalRequest, UserTurn | None]], text: str) -> Iterator[Decision]:
    """Answer the questions that no line of the script answers."""
    for request, turn in pairs:
        if request.is_question and turn is None:
            yield Decision(kind="respond", id=request.id, tool=request.tool, arguments=request.arguments, text=text)


_LONGEST_NAME = 60
"""Characters up to which an entry of `unknown` is a name; τ² writes prose there."""


def agent_messages(messages: Sequence[Message]) -> list[str]:
    """Give what the agent said, one text for each of its turns."""
    found: list[str] = []
    is_new = True
    for message in messages:
        if message.role == "user":
            is_new = True
        elif message.role == "assistant" and message.text.strip():
            text = clipped(message.text)
            if is_new:
                found.append(text)
            else:
                found[-1] = f"{found[-1]}\n{text}"
            is_new = False
    return found


def has_question_mark(text: str) -> bool:
    """Whether a text has a question mark of any script; one inside a link is none."""
    return any(
        (char == "?" and not text[at + 1 : at + 2].isalnum())
        or (char > "\x7f" and "QUESTION MARK" in unicodedata.name(char, ""))
        for at, char in enumerate(text)
    )


def _same(one: str, other: str) -> bool:
    left, right = (
        plain(text if len(text) <= 2 * _ENDS else text[:_ENDS] + text[-_ENDS:]).split() for text in (one, other)
    )
    return alike(left, right, _SAME) and codes_in(one).keys() == codes_in(other).keys()


def _stalled(reason: str, blame: Blame) -> Stop:
    return Stop(reason=reason, blame=blame, termination=Termination.STALLED)
