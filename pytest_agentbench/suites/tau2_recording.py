"""τ²-bench recordings: single simulations and results files."""

from collections.abc import Iterator

from pytest_agentbench.core.misfit import shown
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.suites.record import MalformedError, Record, number_of, read_foreign, text_of

_USED = frozenset({"task_id", "task_key", "trial", "messages", "termination_reason", "reward", "agent_llm"})

_CLOSED = frozenset({"user_stop", "agent_stop"})
_SPENT = frozenset({"max_steps", "timeout"})
"""Every other reason (too_many_errors, agent_error, …) means that the conversation could not go on."""


def is_tau2_recording(value: JsonValue) -> bool:
    """Whether a record is one τ² simulation."""
    return isinstance(value, dict) and "termination_reason" in value and "messages" in value


def is_tau2_results(value: JsonValue) -> bool:
    """Whether a file is a τ² results file."""
    return isinstance(value, dict) and "simulations" in value


def runs_of(results: dict[str, JsonValue]) -> Iterator[JsonValue]:
    """Give the simulations of a results file, each with the agent's name and its reward as recordings have them."""
    if not isinstance(results["simulations"], list):
        message = f"found {shown(results['simulations'])}, expected a list of simulations"
        raise MalformedError(message, ("simulations",))
    agent = _member(_member(results, "info"), "agent_info")
    solo = "solo" in str(agent.get("implementation", ""))
    for run in results["simulations"]:
        if isinstance(run, dict):
            reward = _member(run, "reward_info").get("reward")
            yield {"agent_llm": agent.get("llm"), "solo": solo, "reward": reward, **run}
        else:
            yield run


def read_tau2_recording(record: dict[str, JsonValue]) -> Record:
    """Read one simulation. An agent that plays without a user (`solo`) is another variant than with one."""
    reason = text_of(record, "termination_reason").rpartition(".")[2].lower()
    label = text_of(record, "agent_llm", "variant")
    return Record(
        scenario=text_of(record, "task_id"),
        scenario_key=text_of(record, "task_key") or None,
        label=f"{label}-solo" if label and record.get("solo") is True else label,
        transcript=Transcript(messages=tuple(read_foreign(record["messages"]))),
        termination=_termination(reason),
        stop_reason=reason,
        reward=number_of(record, "reward"),
        extra={key: value for key, value in record.items() if key not in _USED},
    )


def _termination(reason: str) -> Termination:
    if reason in _CLOSED:
        return Termination.FINISHED
    return Termination.SAFETY_TIMEOUT if reason in _SPENT else Termination.CRASHED


def _member(value: dict[str, JsonValue], key: str) -> dict[str, JsonValue]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}
