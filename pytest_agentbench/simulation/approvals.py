"""What a user's turn decides about the approvals that it answers, as far as the turn itself says it."""

import json
from collections.abc import Iterable

from pytest_agentbench.core.approvals import ApprovalRequest, Decision, DecisionKind, Standing
from pytest_agentbench.core.conversation import Stop, UserTurn
from pytest_agentbench.core.names import listing
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.values import to_json
from pytest_agentbench.core.verdict import Blame


def decided(said: UserTurn, requests: Iterable[ApprovalRequest], standing: Standing | None) -> UserTurn:
    """Give the turn with a decision for each request: its own, else by its acts, else the `standing` one.

    A yes approves and a no rejects where the turn decides nothing itself; a question is answered by what was said. What
    nobody decides, and what the agent cannot take, closes the conversation, blame *scenario*. A turn that closes, or
    calls the user's tools, stays.
    """
    if said.stop is not None or said.tool_calls:
        return said
    taken = list(said.decisions)
    found: list[Decision] = []
    for request in requests:
        own = next((one for one in taken if (one.id, one.tool) == (request.id, request.tool)), None)
        if own is not None:
            taken.remove(own)
        decision = own or _by_acts(said, request, standing)
        if decision is None:
            return UserTurn(stop=_closed(undecided(request)))
        if decision.kind not in request.allowed:
            offered = listing(request.allowed)
            why = f"the user is to {decision.kind} {request.call}, and the agent takes only {offered}: change the line"
            return UserTurn(stop=_closed(why))
        found.append(decision)
    return said.model_copy(update={"decisions": tuple(found)})


def undecided(request: ApprovalRequest) -> str:
    """Say that nothing decides a request, and which line would."""
    given = json.dumps(to_json(request.arguments), ensure_ascii=False)
    about = f"{{{request.tool}: {given}}}" if request.arguments else request.tool
    if "approve" in request.allowed:
        cure = f"add `{{approve: {about}}}` or `{{reject: {request.tool}}}` to `says`, or the key `approvals: approve`"
    else:
        cure = f'add `{{respond: {request.tool}, say: "…"}}` to `says`'
    return f"the agent asks for approval of {request.call}, and nothing says what the user decides: {cure}"


def _by_acts(said: UserTurn, request: ApprovalRequest, standing: Standing | None) -> Decision | None:
    if request.is_question and said.text.strip():
        return _decision("respond", request, said)
    kinds = set() if said.decisions else {act.kind for act in said.acts or ()}
    if "confirm" in kinds and kinds.isdisjoint(("decline", "condition", "withdraw")):
        return _decision("approve", request, said)
    if not kinds.isdisjoint(("decline", "withdraw")) and "confirm" not in kinds:
        return _decision("reject", request, said)
    return None if standing is None or request.is_question else _decision(standing, request, said)


def _decision(kind: DecisionKind, request: ApprovalRequest, said: UserTurn) -> Decision:
    return Decision(kind=kind, id=request.id, tool=request.tool, arguments=request.arguments, text=said.text)


def _closed(reason: str) -> Stop:
    return Stop(reason=reason, blame=Blame.SCENARIO, termination=Termination.STALLED)
