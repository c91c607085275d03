"""τ²-bench recordings: single simulations and results files."""

from collections.abc import Iterable

from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.misfit import Keys, shown
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.suites.record import MalformedError, Record, number_of, read_foreign, text_of

_USED = frozenset({"task_id", "task_key", "trial", "messages", "termination_reason", "reward", "agent_llm"})

_CLOSED = frozenset({"user_stop", "agent_stop"})
_SPENT = frozenset({"max_steps", "timeout"})
"""Every other reason (too_many_errors, agent_error, …) means that the conversation could not go on."""


class Tau2Recordings:
    """Single simulations and results files (`suites.record.RecordingFormat`)."""

    def parts(self, value: JsonValue) -> Iterable[tuple[Keys, JsonValue]] | None:
        """Give the simulations of a results file, each with the agent's name and its reward as recordings have them."""
        if not (isinstance(value, dict) and "simulations" in value):
            return None
        if not isinstance(value["simulations"], list):
            message = f"found {shown(value['simulations'])}, expected a list of simulations"
            raise MalformedError(message, ("simulations",))
        agent = _member(_member(value, "info"), "agent_info")
        more = {"agent_llm": agent.get("llm"), "solo": "solo" in str(agent.get("implementation", ""))}
        return [
            (
                ("simulations", index),
                {**more, "reward": _member(run, "reward_info").get("reward"), **run} if isinstance(run, dict) else run,
            )
            for index, run in enumerate(value["simulations"])
        ]

    def reads(self, value: JsonValue) -> bool:
        """Whether a record is one simulation."""
        return isinstance(value, dict) and "termination_reason" in value and "messages" in value

    def read(self, value: dict[str, JsonValue]) -> Record:
        """Read one simulation. An agent that plays without a user (`solo`) is another variant than with one."""
        if value.get("mode") == "full_duplex" or value.get("ticks"):
            message = "found a voice simulation (full duplex), which is not supported: text conversations are"
            raise MalformedError(message, ("mode",) if "mode" in value else ("ticks",))
        reason = text_of(value, "termination_reason").rpartition(".")[2].lower()
        label = text_of(value, "agent_llm", "variant")
        return Record(
            scenario=text_of(value, "task_id"),
            scenario_key=text_of(value, "task_key") or None,
            label=f"{label}-solo" if label and value.get("solo") is True else label,
            transcript=Transcript(messages=tuple(read_foreign(value["messages"]))),
            termination=_termination(reason),
            stop_reason=reason,
            reward=number_of(value, "reward"),
            extra={key: one for key, one in value.items() if key not in _USED},
        )


def _termination(reason: str) -> Termination:
    if reason in _CLOSED:
        return Termination.FINISHED
    return Termination.SAFETY_TIMEOUT if reason in _SPENT else Termination.CRASHED


def _member(value: dict[str, JsonValue], key: str) -> dict[str, JsonValue]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}
