"""Our own transcripts: what a run of ours kept of its conversation."""

from pytest_agentbench.core.misfit import shown
from pytest_agentbench.core.names import listing
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.suites.record import MalformedError, Record, number_of, read_own, text_of

_USED = frozenset({"key", "messages", "termination", "stop_reason", "reward"})


def is_own_transcript(value: JsonValue) -> bool:
    """Whether a record is a transcript of ours: `{key, messages, termination, stop_reason}`."""
    return isinstance(value, dict) and {"key", "messages", "termination"} <= value.keys()


def read_own_transcript(record: dict[str, JsonValue]) -> Record:
    """Read a transcript whose key is a run's, or the id of a scenario."""
    key = record["key"] if isinstance(record["key"], dict) else {"scenario": record["key"]}
    found = record["termination"]
    if found not in list(Termination):
        message = f"found {shown(found)}, allowed: {listing(map(repr, map(str, Termination)))}"
        raise MalformedError(message, ("termination",))
    messages = read_own(record["messages"])
    return Record(
        scenario=text_of(key, "scenario"),
        label=text_of(key, "variant"),
        transcript=Transcript(messages=tuple(message for message in messages if message.role != "system")),
        termination=Termination(found),
        stop_reason=text_of(record, "stop_reason"),
        reward=number_of(record, "reward"),
        extra={name: value for name, value in record.items() if name not in _USED},
    )
