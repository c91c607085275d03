"""What a scripted user decides where a framework stops before a call and asks for approval."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.core.acts import DECIDED, Act, Line
from pytest_agentbench.core.approvals import ApprovalRequest, Decision, DecisionKind, ScriptedDecision, values_of
from pytest_agentbench.core.conversation import UserTurn, View
from pytest_agentbench.core.matchers import holds_matcher
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.values import same, to_json
from pytest_agentbench.suites.language import Language
from pytest_agentbench.users.values import Fact, Wanted, contradicted, spoken, stated, undone


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


def turn_of(kind: DecisionKind, request: ApprovalRequest, text: str, *acts: Act) -> UserTurn:
    """Give the turn that decides about a request in the user's words."""
    decision = Decision(kind=kind, id=request.id, tool=request.tool, arguments=request.arguments, text=text)
    return UserTurn(text=text, acts=acts, decisions=(decision,))


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
