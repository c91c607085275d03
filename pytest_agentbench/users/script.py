"""The script of a user: which of its lines were said, and how it decides about approvals."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.core.acts import DECIDED, Act, ActKind, Line
from pytest_agentbench.core.approvals import ApprovalRequest, Decision, DecisionKind, ScriptedDecision, values_of
from pytest_agentbench.core.conversation import UserTurn, View
from pytest_agentbench.core.ids import codes_in
from pytest_agentbench.core.matchers import holds_matcher
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.core.values import same, to_json
from pytest_agentbench.suites.language import Language
from pytest_agentbench.users.values import Fact, Wanted, contradicted, spoken, stated, undone

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
        """Say the first confirm or decline line whose values fit the question, or a condition that is next.

        None where there is none.

        One with `about` may be asked for before lines that come first, unless they are labelled as another request,
        condition or withdrawal. One without belongs to the line before it, so it is said in its turn: its values are
        the ids of that line.
        """
        for place, at in enumerate(self._left):
            line = self.lines[at]
            about = line.about if line.about is not None else self._matter(at)
            # "Yes, if it is free." is the author's answer, too, in its turn
            is_answer = line.act in ANSWERS or (line.act == "condition" and not place)
            if is_answer and (line.about or not place) and fits(about):
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
class Approver:
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
    """Give the expected values of arguments in whose place `given` has others; what either leaves open is none."""
    compared = {name: one for name, one in call.arguments.items() if name in given and not holds_matcher(one)}
    return {
        name: one
        for name, one in compared.items()
        if not (same(to_json(one), to_json(given[name])) or plain(str(one)) == plain(str(given[name])))
    }
