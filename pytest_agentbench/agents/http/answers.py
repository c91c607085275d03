"""What an endpoint's answer says, read by the paths that the suite gives."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from pytest_agentbench.agents.replies import put
from pytest_agentbench.core.approvals import ApprovalRequest
from pytest_agentbench.core.errors import AgentError, SuiteFaultError, with_hint
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.misfit import Keys, Misfit
from pytest_agentbench.core.names import letters_of, nearest, suggestion
from pytest_agentbench.core.suite import HttpAgentSpec
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import ToolCall, read_arguments
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.messages.approvals import approvals_of
from pytest_agentbench.messages.content import UnreadableError, result_text, shown

Fits = Callable[[JsonValue], bool]
"""Whether a value is of the kind that a path must lead to."""

_SHOWN_KEYS = 12
_SHOWN_KEY = 40
_DEEPEST = 6
"""Steps of a path that is looked for."""

_WIDEST = 50
"""Keys of a mapping that are looked through for a path."""

_MOST_PLACES = 2_000
"""Places of an answer that are looked through for a path, those of short paths first."""

_MOST_KEYS = 1_000
"""Keys of a mapping among which a misspelt one is looked for."""


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
                names = [shorten(printable(name), _SHOWN_KEY) for name in islice(value, _MOST_KEYS)]
                return Nowhere(f"{place} there {_keys(names, len(value))}", suggestion(step, names))
            value = value[step]
        elif isinstance(value, list):
            index = _index(step)
            if index is None or not -len(value) <= index < len(value):
                return Nowhere(f"{place} there is a list of {len(value)}")
            value = value[index]
        else:
            return Nowhere(f"{place} there is {shown(value)}")
    return value


def respelled(value: JsonValue, path: str, fits: Fits) -> str:
    """Give the path to a value that fits, with the steps of `path` spelled as the answer has them, "" without one."""
    return ".".join(_respelled(value, path.split("."), fits) or ()) if path else ""


def same_key_elsewhere(value: JsonValue, path: str, fits: Fits) -> str:
    """Give the shortest path to a value that fits and has the last key of `path`, in whatever case, "" without one."""
    last = path.rpartition(".")[2]
    letters = letters_of(last)
    found = (
        place for place, one in _places(value) if place[-1] == last or (letters and letters_of(place[-1]) == letters)
    )
    return first_that_fits(value, found, fits)


def fitting(value: JsonValue, fits: Fits) -> str:
    """Give the shortest path to a value that fits, whatever its keys are, "" without one."""
    return first_that_fits(value, (place for place, _ in _places(value)), fits)


def longest_text(value: JsonValue) -> str:
    """Give the path to the longest text of an answer, "" without one: what is said is longer than ids and flags."""
    texts = [(len(one), ".".join(place)) for place, one in _places(value) if isinstance(one, str) and one.strip()]
    return max(texts, key=lambda found: found[0], default=(0, ""))[1]


def first_that_fits(value: JsonValue, places: Iterator[tuple[str, ...]], fits: Fits) -> str:
    """Give the first of some paths, short ones first, that leads to a value that fits, "" without one."""
    paths = (".".join(place) for place in places)
    return next((path for path in paths if not isinstance(one := follow(value, path), Nowhere) and fits(one)), "")


def _respelled(value: JsonValue, steps: Sequence[str], fits: Fits) -> list[str] | None:
    if not steps:
        return [] if fits(value) else None
    step = steps[0]
    if isinstance(value, Mapping):
        key = step if step in value else nearest(step, [name for name in islice(value, _MOST_KEYS) if "." not in name])
        rest = None if key is None else _respelled(value[key], steps[1:], fits)
        return None if rest is None else [str(key), *rest]
    if not isinstance(value, list) or not value:
        return None
    index = _index(step)
    if index is None:  # who forgets that there is a list means what was said last
        rest = _respelled(value[-1], steps, fits)
        return None if rest is None else ["-1", *rest]
    rest = _respelled(value[index], steps[1:], fits) if -len(value) <= index < len(value) else None
    return None if rest is None else [step, *rest]


def _places(value: JsonValue) -> Iterator[tuple[tuple[str, ...], JsonValue]]:
    """Yield paths into an answer, short ones first, none deeper or wider than a person would write."""
    waiting: deque[tuple[tuple[str, ...], JsonValue]] = deque([((), value)])
    places = 0
    while waiting:
        before, one = waiting.popleft()
        if len(before) == _DEEPEST:
            continue
        parts: Iterable[tuple[str, JsonValue]] = ()
        if isinstance(one, Mapping):
            parts = ((name, part) for name, part in islice(one.items(), _WIDEST) if name and "." not in name)
        elif isinstance(one, list) and one:
            parts = [("-1", one[-1])]
        for name, part in parts:
            places += 1
            if places > _MOST_PLACES:
                return
            place = (*before, name)
            yield place, part
            waiting.append((place, part))


def _keys(names: list[str], number: int) -> str:
    if number == 1:
        return f"is only the key {names[0]!r}"
    if not names:
        return "are no keys"
    rest = number - min(len(names), _SHOWN_KEYS)
    return f"are the keys {', '.join(map(repr, names[:_SHOWN_KEYS]))}" + (f" and {rest} more" if rest else "")


def _index(step: str) -> int | None:
    digits = step.removeprefix("-")
    return int(step) if digits.isascii() and digits.isdigit() and len(digits) < 10 else None


Faulty = Callable[[Keys, str, str], SuiteFaultError]
"""Gives the fault of a key of the suite file: the way to it, what is wrong there, what to do."""


def unplaced(at: Keys, message: str, hint: str) -> SuiteFaultError:
    """Name a key of the suite file whose place nobody knows."""
    return SuiteFaultError(str(Misfit(path=at, message=message, hint=hint)))


_ERRORS = frozenset({"error", "errors"})
"""Keys below which an answer says what went wrong."""
_DECLARED = frozenset({"parameters", "input_schema", "inputSchema", "description"})
"""Keys of a tool's declaration."""


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


@dataclass(frozen=True)
class _Misspelt:
    """A path that led nowhere in an answer: the suite's fault if it never led anywhere, else what the answer lacks."""

    key: str
    path: str
    fault: SuiteFaultError
    lacks: AgentError | None


class AnswerReader:
    """Reads answers by the paths of an agent's `http`.

    A path that leads nowhere in all answers of a run, where another spelling of it would lead to what it is for, is the
    suite's fault, and so is one to calls where calls stand elsewhere: `check` tells, whatever the order of the answers.
    What one answer lacks where another has it is the agent's affair. `names` are tools that the suite names; where
    nobody describes any, whatever is written as the suite says is a call.
    """

    def __init__(self, spec: HttpAgentSpec, *, names: Sequence[str] = (), faulty: Faulty = unplaced) -> None:
        self._spec = spec
        self._names = frozenset(names)
        self._tools: frozenset[str] = frozenset()
        self._faulty = faulty
        self._led: set[str] = set()
        self._misspelt: dict[str, _Misspelt] = {}

    def check(self) -> None:
        """Raise what all answers together show to be wrong.

        `SuiteFaultError` where no answer had anything at a path, and `AgentError` where one had it and another had not
        what must be there.
        """
        for one in self._misspelt.values():
            if f"{one.key} {one.path}" not in self._led:
                raise one.fault
            if one.lacks is not None:
                raise one.lacks

    def read(self, answer: JsonValue, tools: Sequence[str] = ()) -> Heard:
        """Read an answer to a turn in which the agent was offered `tools`.

        Raise `AgentError` where a path that must lead somewhere does not, or leads to a wrong type.
        """
        self._tools = frozenset(tools)
        spec, heard = self._spec, Heard()
        calls = self._optional(answer, "calls", spec.calls, heard, _is(list)) if spec.calls else None
        if calls is None and spec.calls:
            self._check_for_calls(answer)
        self._read_calls(calls, heard)
        if spec.approvals:
            asked = self._optional(answer, "approvals", spec.approvals, heard, _is(list))
            heard.approvals = _read_approvals(asked, spec.approvals)
        if spec.session:
            told = len(heard.notes)
            heard.session = self._optional(answer, "session", spec.session, heard, _is_anything)
            heard.unnamed = "".join(heard.notes[told:])
        if spec.stop:
            stop = self._optional(answer, "stop", spec.stop, heard, _is(bool))
            if stop is not None and not isinstance(stop, bool):
                raise _misled("stop", spec.stop, stop, "true or false")
            heard.stop = bool(stop)
        if spec.output:
            heard.output = self._optional(answer, "output", spec.output, heard, _is_anything)
        needed = not heard.stop and not heard.approvals and (heard.made or not heard.calls)
        heard.text = self._read_text(answer, needed=needed)
        return heard

    def _read_text(self, answer: JsonValue, *, needed: bool) -> str:
        """Read the reply; one that is not `needed`, beside calls to make or a stop, may be missing."""
        path = self._spec.reply
        found = self._needed(answer, "reply", path, _is(str)) if needed else self._at(answer, "reply", path)
        if not needed and (found is None or isinstance(found, Nowhere)):
            return ""
        if not isinstance(found, str):
            raise _misled("reply", path, found, "a text")
        if needed and not found.strip():
            raise AgentError(f"unusable reply: {_leads('reply', path)} to {shown(found)}, which says nothing")
        return found

    def _read_calls(self, found: JsonValue, heard: Heard) -> None:
        spec = self._spec
        if found is None:
            return
        if not isinstance(found, list):
            raise _misled("calls", spec.calls, found, "a list")
        heard.made = "result" in spec.call
        heard.calls = tuple(map(self._read_call, found))
        if heard.made:
            heard.results = tuple(
                self._read_result(item, call, heard) for item, call in zip(found, heard.calls, strict=True)
            )

    def _read_call(self, item: JsonValue) -> ToolCall:
        paths = self._spec.call
        name = self._needed(item, "call.name", paths.get("name", "name"), self._is_tool)
        if not isinstance(name, str) or not name:
            raise _misled("call.name", paths.get("name", "name"), name, "the name of a tool")
        given = self._needed(item, "call.arguments", paths.get("arguments", "arguments"), _are_arguments)
        arguments, raw = read_arguments(given)
        made = follow(item, paths.get("id", "id"))
        return ToolCall(name=name, arguments=arguments, raw=raw, id=made if isinstance(made, str) else "")

    def _read_result(self, item: JsonValue, call: ToolCall, heard: Heard) -> Message:
        """Read what a call gave: its result, else its error as text; an empty path says that it is never told."""
        paths = self._spec.call
        path = paths["result"]
        result = self._optional(item, "call.result", path, heard, _is_anything) if path else None
        error = follow(item, paths["error"]) if paths.get("error") else None
        failed = not isinstance(error, Nowhere) and bool(error)
        if result is None and failed and error is not True:
            result = error
        return Message(role="tool", content=result_text(result), error=failed, tool_call_id=call.id or None)

    def _at(self, value: JsonValue, key: str, path: str) -> JsonValue | Nowhere:
        """Give what stands at a path, and note that it led somewhere."""
        found = follow(value, path)
        if not isinstance(found, Nowhere):
            self._led.add(f"{key} {path}")
        return found

    def _needed(self, value: JsonValue, key: str, path: str, fits: Fits) -> JsonValue:
        found = self._at(value, key, path)
        return self._nowhere(value, key, path, found, fits) if isinstance(found, Nowhere) else found

    def _optional(self, value: JsonValue, key: str, path: str, heard: Heard, fits: Fits) -> JsonValue:
        """Give what stands at a path that not every answer has."""
        found = self._at(value, key, path)
        if not isinstance(found, Nowhere):
            return found
        if other := respelled(value, path, fits):
            self._note(key, path, found, other)
        heard.notes.append(f"{_leads(key, path)} nowhere: {found}")
        return None

    def _nowhere(self, value: JsonValue, key: str, path: str, found: Nowhere, fits: Fits) -> JsonValue:
        """Give what was probably meant by a path that leads nowhere and must lead somewhere; `check` says whose fault.

        Raise `AgentError` where there is no such thing.
        """
        other = respelled(value, path, fits) or same_key_elsewhere(value, path, fits)
        other = other or (fitting(value, fits) if key.startswith("call.") else "")
        if not other and (key, path) == ("reply", "reply"):  # the suite may have said nothing
            other = longest_text(value)
        # {"error": {"message": …}} is no reply at another path, and what `call` maps already is something else
        if _ERRORS.intersection(other.split(".")) or (key.startswith("call.") and other in self._spec.call.values()):
            other = ""
        hint = f"`{key}` in the suite says where it stands"
        lacks = AgentError(with_hint(f"unusable reply: {_leads(key, path)} nowhere: {found.found}", found.hint or hint))
        meant = follow(value, other) if other else found
        if not other or f"{key} {path}" in self._led or isinstance(meant, Nowhere):
            raise lacks
        self._note(key, path, found, other, lacks=lacks)
        return meant

    def _check_for_calls(self, answer: JsonValue) -> None:
        """Note where an answer that has no calls at their path has some elsewhere."""
        spec = self._spec
        asked = follow(answer, spec.approvals) if spec.approvals else None
        other = fitting(answer, lambda one: one is not asked and self._are_calls(one))
        found = follow(answer, spec.calls)
        if other and isinstance(found, Nowhere):
            otherwise = f"an answer without calls has an empty list at {spec.calls!r}"
            self._note("calls", spec.calls, found, other, f"; where these are none of its calls: {otherwise}")

    def _are_calls(self, value: JsonValue) -> bool:
        return isinstance(value, list) and bool(value) and all(map(self._is_call, value))

    def _is_call(self, item: JsonValue) -> bool:
        """Whether something is a call of a tool that is known here, by the paths of the suite or whatever its keys."""
        if not isinstance(item, dict):
            return False
        paths = {"name": "name", "arguments": "arguments", **self._spec.call}
        name, arguments = (follow(item, paths[part]) for part in ("name", "arguments"))
        if not isinstance(name, Nowhere) and not isinstance(arguments, Nowhere):
            result = follow(item, paths.get("result", ""))
            may_be_named = not self._tools and isinstance(name, str) and name.replace("-", "_").isidentifier()
            is_named = self._is_tool(name) or may_be_named
            return is_named and _are_arguments(arguments) and not isinstance(result, Nowhere)
        if _DECLARED.intersection(item):
            return False  # a tool that is offered, and not called
        return any(map(self._is_tool, item.values())) and any(isinstance(one, dict) for one in item.values())

    def _is_tool(self, value: JsonValue) -> bool:
        return isinstance(value, str) and (value in self._tools or value in self._names)

    def _note(
        self,
        key: str,
        path: str,
        found: Nowhere,
        other: str,
        otherwise: str = "",
        *,
        lacks: AgentError | None = None,
    ) -> None:
        """Note the first answer in which a path led nowhere, and another one to what it is for."""
        last = key.rpartition(".")[2]
        message = f"{path!r} leads nowhere in the agent's answer: {found.found}"
        if key.startswith("call."):
            message = f"{path!r} leads nowhere in a call of the agent's answer: {found.found}"
        at = ("agent", "http", *key.split("."))
        fault = self._faulty(at, message, f"write `{last}: {other}`{otherwise}")
        self._misspelt.setdefault(key, _Misspelt(key, path, fault, lacks))


def _read_approvals(found: JsonValue, path: str) -> tuple[ApprovalRequest, ...]:
    try:
        return approvals_of(found, (path,))
    except UnreadableError as error:
        raise AgentError(f"unusable reply: {error}") from error


def _is(kind: type) -> Fits:
    return lambda value: isinstance(value, kind)


def _is_anything(_: JsonValue) -> bool:
    return True


def _are_arguments(value: JsonValue) -> bool:
    return isinstance(value, dict) or (isinstance(value, str) and read_arguments(value)[1] is None and bool(value))


def _leads(key: str, path: str) -> str:
    return f"the agent's `{key}: {path}` leads" if path else f"the agent's `{key}` is the whole answer and leads"


def _misled(key: str, path: str, found: JsonValue, wanted: str) -> AgentError:
    return AgentError(f"unusable reply: {_leads(key, path)} to {_typed(found)}; it must lead to {wanted}")


def _typed(value: JsonValue) -> str:
    if value is None:
        return "null"
    kinds: dict[type, str] = {dict: "a mapping", list: "a list", str: "the text"}
    return f"{kinds.get(type(value), 'the value')} {shown(value)}"
