"""One recorded conversation as a format's reader gives it, and what readers share."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from pydantic import ValidationError

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.misfit import Keys, shown
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.messages.assembly import TellsError
from pytest_agentbench.messages.content import UnreadableError
from pytest_agentbench.messages.reader import TOP, read


class MalformedError(ValueError):
    """A record that is not what its format says; `path` leads to the fault."""

    def __init__(self, message: str, path: Keys = ()) -> None:
        super().__init__(message)
        self.path = path


class Record(Model):
    """A recorded conversation without its place.

    `scenario` is the task id as written, empty where the log names none; `scenario_key` names one version of a task.
    `label` is the agent's name as written. `extra` holds all other keys of the record.
    """

    scenario: str = ""
    scenario_key: str | None = None
    label: str = ""
    transcript: Transcript
    termination: Termination | None = None
    stop_reason: str = ""
    reward: float | None = None
    extra: dict[str, Any] = {}


class RecordingFormat(Protocol):
    """A format of recordings that a plugin reads; whatever it raises but `MalformedError` is the plugin's fault."""

    def parts(self, value: JsonValue) -> Iterable[tuple[Keys, JsonValue]] | None:
        """Give the conversations in a file's value, with their places; None where it is not of this format."""

    def reads(self, value: JsonValue) -> bool:
        """Whether a value is one conversation in this format."""

    def read(self, value: Any) -> Record:
        """Read one conversation; raise `MalformedError` where it is not what it should be."""


def read_foreign(value: JsonValue, *, at: Keys = TOP, tells_error: TellsError | None = None) -> list[Message]:
    """Read a list of messages of whichever shape, system messages left out; raise `MalformedError`."""
    try:
        return [
            message for message in read(_listed(value, at), at=at, tells_error=tells_error) if message.role != "system"
        ]
    except UnreadableError as error:
        raise MalformedError(error.message, error.path) from None
    except ValidationError as error:
        raise MalformedError(*_first(error, at)) from None


def read_own(value: JsonValue) -> list[Message]:
    """Read a list of messages as we write them; raise `MalformedError`."""
    messages: list[Message] = []
    for index, item in enumerate(_listed(value, TOP)):
        try:
            messages.append(Message.model_validate(item))
        except ValidationError as error:
            raise MalformedError(*_first(error, (*TOP, index))) from None
    return messages


def _listed(value: JsonValue, at: Keys) -> list[JsonValue]:
    if not isinstance(value, list):
        raise MalformedError(f"found {shown(value)}, expected a list of messages", at)
    return value


def text_of(record: Mapping[str, JsonValue], *names: str) -> str:
    """Give the first of several keys that is there as text; numbers become text, anything else is `MalformedError`."""
    for name in names:
        value = record.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, str | int):
            message = f"found {shown(value)}, expected text"
            raise MalformedError(message, (name,))
        return str(value)
    return ""


def number_of(record: Mapping[str, JsonValue], name: str) -> float | None:
    """Give a number, None where there is none; anything else is `MalformedError`."""
    value = record.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        message = f"found {shown(value)}, expected a number"
        raise MalformedError(message, (name,))
    return float(value)


def _first(error: ValidationError, at: Keys) -> tuple[str, Keys]:
    one = error.errors(include_url=False, include_context=False)[0]
    message = f"found {shown(one['input'])}, {one['msg'].replace('Input should be', 'expected')}"
    return message, (*at, *one["loc"])
