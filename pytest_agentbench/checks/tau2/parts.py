"""The parts of τ²'s reward that need no environment: ACTION, COMMUNICATE, and a stand-in for DB by the calls alone.

Sources: tau2-bench, evaluator_action.py, evaluator_communicate.py, data_model/tasks.py (`compare_with_tool_call`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from pytest_agentbench.checks.communicate import tau2_said
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.scenario import EvaluationCriteria, ExpectedCall
from pytest_agentbench.core.tool import ToolCall, Toolset
from pytest_agentbench.core.values import JsonValue


def action_matches(expected: ExpectedCall, call: ToolCall) -> bool:
    """Whether a call is the expected one as τ²'s ACTION sees it.

    The name is equal, and so are, of the arguments that count, those of the call and those of the expected call. What
    counts is `compare_args`, or, where that is null, the arguments *of the call*: a call that leaves arguments out
    matches, one without any matches always. Who called does not count, nor whether the call failed. Values are equal as
    in Python: 1 == 1.0, lists in order.
    """
    if expected.name != call.name:
        return False
    counted = call.arguments.keys() if expected.compare_args is None else expected.compare_args
    if not counted:
        return True
    return _only(call.arguments, counted) == _only(expected.arguments, counted)


def check_actions(run: Run) -> tuple[bool, ...]:
    """Say of each expected call whether any call of either party is it; one call may be several expected ones."""
    made = [call for message in run.transcript.messages for call in message.tool_calls]
    return tuple(any(action_matches(want, call) for call in made) for want in run.scenario.expected_calls)


def check_communicated(run: Run) -> tuple[bool, ...]:
    """Say of each info whether a single message of the agent holds it; see `tau2_said`."""
    texts = [text for _, text in run.transcript.texts("assistant")]
    return tuple(tau2_said(info, texts) for info in run.scenario.communicate_info)


def same_writes(run: Run) -> bool | None:
    """Whether the successful calls that change state are the expected ones, in any order: DB without a database.

    Equal calls nearly always lead to equal databases, and other calls may do so too: this stands in for τ²'s DB and is
    not it. None where it would mean nothing: calls are not visible, the kind of a tool is not known, or both parties
    write (τ² then synchronises two databases after a conversation's calls, and not after the expected ones). Where
    neither calls nor assertions are stated τ² compares nothing: True.
    """
    criteria = run.scenario.task.evaluation_criteria
    if criteria is None or compares_nothing(criteria):
        return True
    if not run.calls_visible or any(spec.requestor == "user" and spec.kind == "write" for spec in run.toolset):
        return None
    made = [record.call for record in run.transcript.trajectory if not record.failed]
    names = {call.name for call in made} | {want.name for want in run.scenario.expected_calls}
    kinds = {name: _writes(name, run.toolset) for name in names}
    if None in kinds.values():
        return None
    return _counted(made, kinds) == _counted(run.scenario.expected_calls, kinds)


def compares_nothing(criteria: EvaluationCriteria) -> bool:
    """Whether τ² looks at no environment at all: neither `actions` nor `env_assertions`, not even as empty lists."""
    return criteria.actions is None and criteria.env_assertions is None


def _counted(calls: Iterable[ToolCall | ExpectedCall], kinds: Mapping[str, bool | None]) -> Counter[str]:
    return Counter(_text(call.name, call.arguments) for call in calls if kinds[call.name])


def _writes(name: str, toolset: Toolset) -> bool | None:
    """Whether a tool writes, whoever calls it; None where that is not known."""
    kinds = {spec.kind for spec in toolset if spec.name == name} - {"unknown"}
    return "write" in kinds if kinds else None


def _only(arguments: Mapping[str, JsonValue], names: Iterable[str]) -> dict[str, JsonValue]:
    kept = set(names)
    return {name: value for name, value in arguments.items() if name in kept}


def _text(name: str, arguments: Mapping[str, JsonValue]) -> str:
    return dumps([name, sorted((key, _floats(value)) for key, value in arguments.items())])


def _floats(value: JsonValue) -> JsonValue:
    """Write whole numbers as floats, so that 1 is 1.0."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return float(value) if abs(value) < 2**53 else value
    if isinstance(value, dict):
        return {key: _floats(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_floats(item) for item in value]
    return value
