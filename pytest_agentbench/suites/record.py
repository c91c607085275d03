"""One recorded conversation as a format's reader gives it, and what readers share."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from pytest_agentbench.core.acts import ACT_KINDS, Act
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.misfit import dotted, shown
from pytest_agentbench.core.names import listing
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.core.values import JsonValue


class MalformedError(ValueError):
    """A record that is not what its format says; `key` is the path to the fault."""

    def __init__(self, message: str, key: str = "") -> None:
        super().__init__(message)
        self.key = key


class Record(Model):
    """A recorded conversation without its place; see `Recording` for the fields."""

    scenario: str = ""
    scenario_key: str | None = None
    label: str = ""
    transcript: Transcript
    termination: Termination | None = None
    stop_reason: str = ""
    reward: float | None = None
    extra: dict[str, Any] = {}


def read_messages(value: JsonValue, read: Callable[[dict[str, JsonValue]], Message | None]) -> list[Message]:
    """Read a list of messages one by one, those that `read` gives None for left out; raise `MalformedError`."""
    if not isinstance(value, list):
        message = f"found {shown(value)}, expected a list of messages"
        raise MalformedError(message, "messages")
    messages: list[Message] = []
    for index, item in enumerate(value):
        key = f"messages[{index}]"
        if not isinstance(item, dict):
            message = f"found {shown(item)}, expected a message: a mapping with a role"
            raise MalformedError(message, key)
        try:
            found = read(item)
        except ValidationError as error:
            raise MalformedError(*_first(error, key)) from None
        except MalformedError as error:
            raise MalformedError(str(error), f"{key}.{error.key}" if error.key else key) from None
        if found is not None:
            messages.append(found)
    return messages


def acts_of(item: Mapping[str, JsonValue]) -> tuple[Act, ...] | None:
    """Give what a user meant with a message: `acts`, a list of kinds or `{kind, about, facts}`; None where unsaid."""
    given = item.get("acts")
    if given is None:
        return None
    if not isinstance(given, list):
        message = f"found {shown(given)}, expected a list of acts"
        raise MalformedError(message, "acts")
    return tuple(_act(one, f"acts[{index}]") for index, one in enumerate(given))


def approvals_of(item: Mapping[str, JsonValue]) -> dict[str, Any]:
    """Give the approvals that a message asks for, and the decisions that it holds, as our own logs write them."""
    return {name: item[name] for name in ("approvals", "decisions") if item.get(name)}


def _act(given: JsonValue, key: str) -> Act:
    form = given if isinstance(given, dict) else {"kind": given}
    if form.get("kind") not in ACT_KINDS:
        message = f"found {shown(form.get('kind'))}, allowed: {listing(map(repr, ACT_KINDS))}"
        raise MalformedError(message, key)
    try:
        return Act.model_validate(form)
    except ValidationError as error:
        raise MalformedError(*_first(error, key)) from None


def text_of(record: Mapping[str, JsonValue], *names: str) -> str:
    """Give the first of several keys that is there as text; numbers become text, anything else is `MalformedError`."""
    for name in names:
        value = record.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, str | int):
            message = f"found {shown(value)}, expected text"
            raise MalformedError(message, name)
        return str(value)
    return ""


def number_of(record: Mapping[str, JsonValue], name: str) -> float | None:
    """Give a number, None where there is none; anything else is `MalformedError`."""
    value = record.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        message = f"found {shown(value)}, expected a number"
        raise MalformedError(message, name)
    return float(value)


def _first(error: ValidationError, key: str) -> tuple[str, str]:
    one = error.errors(include_url=False, include_context=False)[0]
    where = dotted(one["loc"])
    message = f"found {shown(one['input'])}, {one['msg'].replace('Input should be', 'expected')}"
    return message, f"{key}.{where}" if where else key
