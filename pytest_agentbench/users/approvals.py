"""How a scripted user decides about an approval: by its script's own line, else by what it wants, else as a rule."""

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_agentbench.core.acts import DECIDED, Act, Line
from pytest_agentbench.core.approvals import ApprovalRequest, Decision, DecisionKind, ScriptedDecision, values_of
from pytest_agentbench.core.conversation import UserTurn, View
from pytest_agentbench.core.matchers import holds_matcher
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.values import same, to_json
from pytest_agentbench.suites.language import Language
from pytest_agentbench.users.knowledge import Fact, spoken
from pytest_agentbench.users.wants import Wanted, contradicted, stated, undone


class Approver:
    """The approvals of one conversation; each line of the script decides once, the first that fits."""

    def __init__(
        self, lines: Sequence[Line], *, expected: Sequence[ExpectedCall], wants: Sequence[Wanted], language: Language
    ) -> None:
        self._lines = [line for line in lines if line.decision is not None]
        self._expected = expected
        self._wants = wants
        self._language = language

    @property
    def has_lines(self) -> bool:
        """Whether some line decides that has not decided yet."""
        return bool(self._lines)

    def answer(self, request: ApprovalRequest, view: View, known: frozenset[str]) -> UserTurn | None:
        """Decide about a request; None where nothing says how, and for a question that no line answers.

        Without a line the user says yes to a call that the scenario expects, or that states a value of an expected
        write and contradicts none, and no to one that contradicts it; `known` are the ids that it knows of.
        """
        for line in self._lines:
            if line.decision is not None and line.decision.fits(request):
                self._lines.remove(line)
                return self._by_line(request, line, line.decision)
        if request.is_question:
            return None
        rivals = [call for call in self._expected if call.name == request.tool]
        if rivals:
            wrong = min((_differing(call, request.arguments) for call in rivals), key=len)
            return self._corrected(request, wrong) if wrong else self._plain("approve", request)
        locale = self._language.locale
        other = contradicted(self._wants, request.call, known, locale)
        if other:
            return self._corrected(request, {one.name: one.value for one in other})
        if stated(undone(self._wants, view.done), request.call, locale):
            return self._plain("approve", request)
        return None if view.approvals is None else self._plain(view.approvals, request)

    def _by_line(self, request: ApprovalRequest, line: Line, decision: ScriptedDecision) -> UserTurn:
        if decision.kind == "respond":
            return _turn("respond", request, line.text, (Act(kind="inform"),))
        if decision.kind != "edit":
            return self._plain(decision.kind, request, line.text)
        changed = decision.arguments
        edited = {**request.arguments, **changed}
        sentences = (Fact(name, to_json(value)).sentence(self._language) for name, value in changed.items())
        text = line.text or " ".join([self._language.yes, *sentences])
        acts = (Act(kind="confirm", about=values_of(edited)), Act(kind="inform", facts=changed))
        return _turn("edit", request, text, acts, edited)

    def _plain(self, kind: DecisionKind, request: ApprovalRequest, text: str = "") -> UserTurn:
        said = self._language.yes if kind == "approve" else self._language.decline
        about = values_of(request.arguments)
        return _turn(kind, request, text or said, (Act(kind=DECIDED[kind], about=about),))

    def _corrected(self, request: ApprovalRequest, wanted: Mapping[str, Any]) -> UserTurn:
        """Say no, and what is wanted."""
        values = ", ".join(dict.fromkeys(spoken(value) for value in wanted.values()))
        about = values_of({name: value for name, value in request.arguments.items() if name in wanted})
        act = Act(kind="decline", about=about or values_of(request.arguments), facts=dict(wanted))
        return _turn("reject", request, self._language.no.format(value=values), (act,))


def _turn(
    kind: DecisionKind,
    request: ApprovalRequest,
    text: str,
    acts: tuple[Act, ...],
    arguments: Mapping[str, Any] | None = None,
) -> UserTurn:
    made = dict(request.arguments if arguments is None else arguments)
    decision = Decision(kind=kind, id=request.id, tool=request.tool, arguments=made, text=text)
    return UserTurn(text=text, acts=acts, decisions=(decision,))


def _differing(call: ExpectedCall, given: Mapping[str, Any]) -> dict[str, Any]:
    """Give the expected values of arguments in whose place `given` has others; what either leaves open is none."""
    return {
        name: value
        for name, value in call.arguments.items()
        if name in given and not holds_matcher(value) and not _equal(value, given[name])
    }


def _equal(one: object, other: object) -> bool:
    return same(to_json(one), to_json(other)) or plain(str(one)) == plain(str(other))
