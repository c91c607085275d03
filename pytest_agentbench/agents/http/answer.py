"""What an endpoint's JSON answer says, read along the paths that the suite gives."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_agentbench.agents.replies import put
from pytest_agentbench.core.approvals import ApprovalRequest
from pytest_agentbench.core.errors import AgentError, with_hint
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.suite import HttpAgentSpec
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import ToolCall, read_arguments
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.messages.approvals import approvals_of
from pytest_agentbench.messages.content import UnreadableError, result_text, shown


@dataclass(kw_only=True)
class Heard:
    """An answer: text, calls, the results of calls that the endpoint made itself, and how things go on.

    `made` says that the endpoint made the calls. `session` is None where the answer names none, `unnamed` says so where
    there is not even its key. `notes` tell of paths that led nowhere and need not lead anywhere.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    approvals: tuple[ApprovalRequest, ...] = ()
    results: tuple[Message, ...] = ()
    made: bool = False
    session: JsonValue = None
    unnamed: str = ""
    stop: bool = False
    output: JsonValue = None
    notes: list[str] = field(default_factory=list)

    def messages(self) -> list[Message]:
        """Give calls with their results and then the text, or the text with calls that wait for results.

        Approvals stand in the text; an answer may have them in its place.
        """
        if self.approvals:
            asked = put(Message(role="assistant", content=self.text, approvals=self.approvals))
            calls = [Message(role="assistant", tool_calls=self.calls)] if self.calls else []
            return [*calls, *self.results, asked]
        spoken = self.text if self.text.strip() else None
        if not self.calls:
            return [Message(role="assistant", content=spoken)] if spoken else []
        if not self.made:
            return [Message(role="assistant", content=spoken, tool_calls=self.calls)]
        said = [Message(role="assistant", content=spoken)] if spoken else []
        return [Message(role="assistant", tool_calls=self.calls), *self.results, *said]


def read_answer(answer: JsonValue, spec: HttpAgentSpec) -> Heard:
    """Read an answer; raise `AgentError` where a path that must lead somewhere does not, or leads to a wrong type."""
    heard = Heard()
    calls = _optional(answer, "calls", spec.calls, heard) if spec.calls else None
    _read_calls(calls, spec, heard)
    if spec.approvals:
        heard.approvals = _read_approvals(_optional(answer, "approvals", spec.approvals, heard), spec.approvals)
    if spec.session:
        told = len(heard.notes)
        heard.session = _optional(answer, "session", spec.session, heard)
        heard.unnamed = "".join(heard.notes[told:])
    if spec.stop:
        heard.stop = _read_stop(_optional(answer, "stop", spec.stop, heard), spec.stop)
    if spec.output:
        heard.output = _optional(answer, "output", spec.output, heard)
    needed = not heard.stop and not heard.approvals and (heard.made or not heard.calls)
    heard.text = _read_text(answer, spec.reply, needed=needed)
    return heard


def _read_text(answer: JsonValue, path: str, *, needed: bool) -> str:
    """Read the reply; one that is not `needed`, beside calls to make or a stop, may be missing."""
    found = follow(answer, path)
    if isinstance(found, str):
        if found.strip() or not needed:
            return found
        raise AgentError(f"unusable reply: {_leads('reply', path)} to {shown(found)}, which says nothing")
    if isinstance(found, Nowhere):
        if not needed:
            return ""
        raise AgentError(f"unusable reply: {_leads('reply', path)} nowhere: {found}")
    if found is None and not needed:
        return ""
    raise AgentError(f"unusable reply: {_leads('reply', path)} to {_typed(found)}; it must lead to a text")


def _read_calls(found: JsonValue, spec: HttpAgentSpec, heard: Heard) -> None:
    if found is None:
        return
    if not isinstance(found, list):
        raise AgentError(f"unusable reply: {_leads('calls', spec.calls)} to {_typed(found)}; it must lead to a list")
    heard.made = "result" in spec.call
    heard.calls = tuple(_read_call(item, spec.call) for item in found)
    if heard.made:
        heard.results = tuple(
            _read_result(item, call, spec.call, heard) for item, call in zip(found, heard.calls, strict=True)
        )


def _read_call(item: JsonValue, paths: Mapping[str, str]) -> ToolCall:
    name = _needed(item, "call.name", paths.get("name", "name"))
    if not isinstance(name, str) or not name:
        where = _leads("call.name", paths.get("name", "name"))
        raise AgentError(f"unusable reply: {where} to {_typed(name)}; it must lead to the name of a tool")
    arguments, raw = read_arguments(_needed(item, "call.arguments", paths.get("arguments", "arguments")))
    given = follow(item, paths.get("id", "id"))
    return ToolCall(name=name, arguments=arguments, raw=raw, id=given if isinstance(given, str) else "")


def _read_result(item: JsonValue, call: ToolCall, paths: Mapping[str, str], heard: Heard) -> Message:
    """Read what a call gave: its result, else its error as text; an empty path says that the endpoint never tells."""
    result = _optional(item, "call.result", paths["result"], heard) if paths["result"] else None
    error = follow(item, paths["error"]) if paths.get("error") else None
    failed = not isinstance(error, Nowhere) and bool(error)
    if result is None and failed and error is not True:
        result = error
    return Message(role="tool", content=result_text(result), error=failed, tool_call_id=call.id or None)


def _read_approvals(found: JsonValue, path: str) -> tuple[ApprovalRequest, ...]:
    try:
        return approvals_of(found, (path,))
    except UnreadableError as error:
        raise AgentError(f"unusable reply: {error}") from error


def _read_stop(found: JsonValue, path: str) -> bool:
    if found is None or isinstance(found, bool):
        return bool(found)
    raise AgentError(f"unusable reply: {_leads('stop', path)} to {_typed(found)}; it must lead to true or false")


def _needed(value: JsonValue, key: str, path: str) -> JsonValue:
    found = follow(value, path)
    if isinstance(found, Nowhere):
        raise AgentError(f"unusable reply: {_leads(key, path)} nowhere: {found}")
    return found


def _optional(value: JsonValue, key: str, path: str, heard: Heard) -> JsonValue:
    """Give what stands at a path that not every answer has; a key that is nearly the same was meant and is an error."""
    found = follow(value, path)
    if not isinstance(found, Nowhere):
        return found
    if found.hint:
        raise AgentError(f"unusable reply: {_leads(key, path)} nowhere: {found}")
    heard.notes.append(f"{_leads(key, path)} nowhere: {found}")
    return None


def _leads(key: str, path: str) -> str:
    return f"the agent's `{key}: {path}` leads" if path else f"the agent's `{key}` is the whole answer and leads"


def _typed(value: JsonValue) -> str:
    if value is None:
        return "null"
    kinds: dict[type, str] = {dict: "a mapping", list: "a list", str: "the text"}
    return f"{kinds.get(type(value), 'the value')} {shown(value)}"


_SHOWN_KEYS = 12
_SHOWN_KEY = 40


@dataclass(frozen=True)
class Nowhere:
    """What stands where a path cannot go on; `hint` names a key that may have been meant."""

    found: str
    hint: str = ""

    def __str__(self) -> str:
        return with_hint(self.found, self.hint)


def follow(value: JsonValue, path: str) -> JsonValue | Nowhere:
    """Give what stands at `path`, the whole value for the empty path, or what stands where the path ends early."""
    steps = path.split(".") if path else []
    for number, step in enumerate(steps):
        place = f"at {'.'.join(steps[:number])!r}" if number else "at the top"
        if isinstance(value, Mapping):
            if step not in value:
                names = [shorten(printable(name), _SHOWN_KEY) for name in value]
                return Nowhere(f"{place} there {_keys(names)}", suggestion(step, names))
            value = value[step]
        elif isinstance(value, list):
            index = _index(step)
            if index is None or not -len(value) <= index < len(value):
                return Nowhere(f"{place} there is a list of {len(value)}")
            value = value[index]
        else:
            return Nowhere(f"{place} there is {shown(value)}")
    return value


def _keys(names: list[str]) -> str:
    if len(names) == 1:
        return f"is only the key {names[0]!r}"
    return f"are the keys {listing(map(repr, names), _SHOWN_KEYS)}" if names else "are no keys"


def _index(step: str) -> int | None:
    digits = step.removeprefix("-")
    return int(step) if digits.isascii() and digits.isdigit() and len(digits) < 10 else None
