"""What a scripted user decides where it is asked for approval, or asked the same again and again."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.core.acts import DECIDED, Act, Line
from pytest_agentbench.core.approvals import ApprovalRequest, Decision, DecisionKind, ScriptedDecision, values_of
from pytest_agentbench.core.conversation import Stop, UserTurn, View
from pytest_agentbench.core.ids import clipped
from pytest_agentbench.core.json_values import same, to_json
from pytest_agentbench.core.matchers import holds_matcher
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.spoken import plain, states
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.text import shorten
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.suites.language import Language
from pytest_agentbench.users.knowledge import Fact, Heard, Wanted, contradicted, spoken, stated, undone

TIMES = 3
"""How often an agent asks the same, or what has no answer, until the run is stalled by it."""


class Insisting:
    """Counts how often a question is asked that can be for nothing but the yes that the user gave.

    It asks for nothing else where it states no value and names nothing that a call could take or that has a name in the
    user's language, where every value that is wanted was said, and where no call was tried since: whatever the answer
    was, the agent lacks nothing. `askable` are the names of what calls take, and wanted calls leave none `is_open`;
    `required` those of what the agent cannot do without.
    """

    def __init__(
        self, askable: Sequence[str], language: Language, *, is_open: bool, required: Sequence[str] = ()
    ) -> None:
        self._askable, self._required = askable, required
        self._is_open = is_open
        self._language = language
        self._times = 1
        self._tried = 0  # calls

    def times(self, last: UserTurn, view: View, heard: Heard, wanted: Sequence[object], names: Sequence[str]) -> int:
        """Take notice of a question that is the one before again; 0 where it may be for something else.

        `last` is what the user answered before, `wanted` are the values that are left to be done, `names` those of what
        the user knows.
        """
        is_same = self._lacks_nothing(last, view, heard, wanted, names)
        before = self._times if self._tried == view.tried else 1
        self._times, self._tried = before + 1 if is_same else 1, view.tried
        return self._times if is_same else 0

    def lacks(self, text: str, known: Iterable[str], own: Sequence[str]) -> bool:
        """Whether a message without a value names what the agent needs, and what the user neither knows nor speaks of.

        "Please tell me your PIN." is a question without its mark.
        """
        said = {plain(name) for name in known}
        unknown = [name for name in self._required if plain(name) not in said and self._language.names([name], text)]
        is_said = any(self._language.names(unknown, one) for one in own)
        return bool(unknown) and not is_said and not any(map(str.isdigit, text))

    @staticmethod
    def stalled() -> Stop:
        """Say that the agent goes on with nothing."""
        reason = f"the agent asked the same {TIMES} times, had its yes and every value, and made no call"
        return Stop(reason=reason, blame=Blame.AGENT, termination=Termination.STALLED)

    def _lacks_nothing(
        self, last: UserTurn, view: View, heard: Heard, wanted: Sequence[object], names: Sequence[str]
    ) -> bool:
        if self._is_open or view.calls is None or not wanted:
            return False
        if {act.kind for act in last.acts or ()} != {"confirm"} or heard.stated or heard.contradicted:
            return False
        named = (*self._askable, *self._language.labels, *names, *view.unknown)
        if any(map(str.isdigit, heard.text)) or self._language.names(named, heard.text, loosely=True):
            return False
        said = [clipped(message.text) for message in view.messages]
        return all(any(states(one, text, self._language.locale) for text in said) for one in wanted)


@dataclass(kw_only=True)
class Approver:
    """The approvals of one conversation; each of the `lines` that decide does so once, the first that fits."""

    lines: list[Line]
    expected: Sequence[ExpectedCall]
    wants: Sequence[Wanted]
    language: Language

    def answer(
        self, request: ApprovalRequest, view: View, known: frozenset[str], may_say: Callable[[object], bool]
    ) -> UserTurn | None:
        """Decide about a request; None where nothing says how, and for a question that no line answers.

        Without a line the user says yes to a call that the scenario expects, or that states a value of an expected
        write and contradicts none, and no to one that contradicts it, with the right values that it `may_say`; `known`
        are the ids that it knows of.
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
            right = {name: value for name, value in wrong.items() if may_say(value)}
            said = ", ".join(dict.fromkeys(map(spoken, right.values())))
            text = self.language.no.format(value=said) if right else self.language.decline
            about = values_of({name: value for name, value in request.arguments.items() if name in wrong})
            act = Act(kind="decline", about=about or values_of(request.arguments), facts=right)
            return turn_of("reject", request, text, act)
        if rivals or stated(undone(self.wants, view.done), request.call, self.language.locale):
            return self._plain("approve", request)
        return None if view.approvals is None else self._plain(view.approvals, request)

    def _by_line(self, request: ApprovalRequest, text: str, decision: ScriptedDecision) -> UserTurn:
        if decision.kind == "respond":
            return turn_of(decision.kind, request, text, Act(kind="inform"))
        if decision.kind != "edit":
            return self._plain(decision.kind, request, text)
        facts = [Fact(name, to_json(value)) for name, value in decision.arguments.items()]
        said = [self.language.yes, *(fact.sentence(self.language) for fact in facts)]
        edited = request.model_copy(update={"arguments": {**request.arguments, **decision.arguments}})
        acts = Act(kind="confirm", about=values_of(edited.arguments)), Act(kind="inform", facts=decision.arguments)
        return turn_of(decision.kind, edited, text or " ".join(said), *acts)

    def _plain(self, kind: DecisionKind, request: ApprovalRequest, text: str = "") -> UserTurn:
        said = self.language.yes if kind == "approve" else self.language.decline
        return turn_of(kind, request, text or said, Act(kind=DECIDED[kind], about=values_of(request.arguments)))


def unanswerable(questions: Sequence[str]) -> Stop | None:
    """Say that the scenario has no answer to what the agent asks, where it asked often enough."""
    if len(questions) < TIMES:
        return None
    asked = " / ".join(dict.fromkeys(repr(shorten(one, 80)) for one in questions))
    cure = "add it to `knows` or `says`, a yes as `{confirm: …}`, or let the agent do without"
    reason = f"the agent asked for what the scenario does not say; {cure}: {asked}"
    return Stop(reason=reason, blame=Blame.SCENARIO, termination=Termination.STALLED)


def turn_of(kind: DecisionKind, request: ApprovalRequest, text: str, *acts: Act) -> UserTurn:
    """Give the turn that decides about a request in the user's words."""
    decision = Decision(kind=kind, id=request.id, tool=request.tool, arguments=request.arguments, text=text)
    return UserTurn(text=text, acts=acts, decisions=(decision,))


def joined(*turns: UserTurn) -> UserTurn:
    """Make one turn of several; the last says how it goes on."""
    acts = None if any(turn.acts is None for turn in turns) else tuple(act for turn in turns for act in turn.acts or ())
    text = " ".join(dict.fromkeys(turn.text for turn in turns if turn.text))
    decisions = tuple(decision for turn in turns for decision in turn.decisions)
    last = turns[-1] if turns else UserTurn()
    return last.model_copy(update={"text": text, "acts": acts, "decisions": decisions})


def _differing(call: ExpectedCall, given: Mapping[str, Any]) -> dict[str, Any]:
    """Give the expected values of arguments in whose place `given` has others; what either leaves open is none.

    Who reads a request sees no difference between 12.5 and "12.5"; whether there is one, the verdict says.
    """
    found: dict[str, Any] = {}
    for name in call.compared:
        one = call.arguments[name]
        if name in given and not holds_matcher(one):
            is_same = same(to_json(one), to_json(given[name])) or plain(str(one)) == plain(str(given[name]))
            found |= {} if is_same else {name: one}
    return found
