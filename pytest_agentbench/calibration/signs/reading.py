"""One conversation as the signs read it: calls with decoded answers, who said what, and which values are known when."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from pytest_agentbench.calibration.labelled import Case
from pytest_agentbench.calibration.signs.knowledge import Knowledge, amounts_of, columns_of, pieces_of
from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.transcript import CallRecord
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.validation.values import scalars

_BEGINS = re.compile(r"\{\s*\"|\[\s*[{\[\"]")
_ORDINAL = re.compile(r"\d{1,2}(?:st|nd|rd|th|er|re|e|ème)", re.IGNORECASE)
_CODE = re.compile(r"[\w@.+#-]*\d[\w@.+#-]*|[\w.+-]+@[\w.-]+")


@dataclass(frozen=True)
class Made:
    """A call of the agent's with its answer; `value` is the answer decoded, `content` its text."""

    record: CallRecord
    content: str
    value: JsonValue

    @property
    def name(self) -> str:
        """The tool."""
        return self.record.call.name

    @property
    def failed(self) -> bool:
        """Whether it failed, gave nothing, or broke off."""
        return self.record.failed or self.is_empty or self.is_cut

    @property
    def is_cut(self) -> bool:
        """Whether the answer begins as JSON and does not end as such."""
        return isinstance(self.value, str) and _BEGINS.match(self.value) is not None

    @property
    def is_empty(self) -> bool:
        """Whether the answer holds nothing."""
        return self.record.result is not None and self.value in ("", None, {}, [])

    @property
    def mark(self) -> str:
        """What is equal for equal calls."""
        return json.dumps([self.name, self.record.call.arguments], sort_keys=True)


@dataclass(frozen=True)
class Reading:
    """What signs look at."""

    case: Case

    @cached_property
    def calls(self) -> Sequence[Made]:
        """The agent's calls in order."""
        return [_made(one) for one in self.case.transcript.trajectory if one.call.requestor == "assistant"]

    @cached_property
    def user(self) -> Sequence[tuple[int, str]]:
        """Message index and text of what the user said."""
        return self.case.transcript.texts("user")

    @cached_property
    def agent(self) -> Sequence[tuple[int, str]]:
        """Message index and text of what the agent said."""
        return self.case.transcript.texts("assistant")

    @property
    def closing(self) -> str:
        """What the agent said last."""
        return self.agent[-1][1] if self.agent else ""

    def known(self, index: int) -> str:
        """Give all that users and answers gave before a message, and what the tools' descriptions hold."""
        messages = self.case.transcript.messages[:index]
        said = [message.text for message in messages if message.role in ("user", "tool")]
        return "\n".join([*said, self.described, self.case.briefing])

    def knowledge(self, index: int, *, agreed: bool = False, told: bool = False) -> Knowledge:
        """Give the same to look figures up in; also what the agent said and the user heard, or all that it told."""
        messages = self.case.transcript.messages[:index]
        pieces = [plain(text) for text in (self.described, self.case.briefing) if text]
        columns: list[list[Decimal]] = []
        amounts: list[Decimal] = []
        for message in messages:
            if message.role == "user" or (told and message.role == "assistant" and message.text):
                pieces.append(plain(message.text))
            elif message.role == "tool":
                value = _decoded(message.text)
                pieces += pieces_of(value)
                columns += columns_of(value)
                amounts += amounts_of(value)
        if agreed:
            pieces.append(plain(self.agreed(index)))
        return Knowledge(pieces, columns, amounts)

    @cached_property
    def described(self) -> str:
        """The texts of the tools."""
        specs = self.case.toolset
        names = (f"{' '.join(words(spec.name))} {spec.name}" for spec in specs)
        texts = [*names, *(f"{spec.description} {json.dumps(spec.parameters)}" for spec in specs)]
        return "\n".join(texts)

    def acted(self, begin: int, end: int) -> bool:
        """Whether the user spoke or made a call between two messages, so that things may be otherwise."""
        between = self.case.transcript.messages[begin + 1 : end]
        return any(one.role == "user" for one in between)

    def agreed(self, index: int) -> str:
        """Give what the agent said before a message and the user had occasion to object to."""
        heard = [at for at, _ in self.user if at < index]
        return "\n".join(text for at, text in self.agent if heard and at < heard[-1])

    def after(self, place: int) -> str:
        """Give what the agent said and called after a call, to look its values up in."""
        message = self.calls[place].record.message
        said = [text for index, text in self.agent if index > message]
        called = [json.dumps(one.record.call.arguments, ensure_ascii=False) for one in self.calls[place + 1 :]]
        return "\n".join([*said, *called])

    def writes(self, one: Made) -> bool:
        """Whether a call may have changed something."""
        spec = self.case.toolset.get(one.name)
        return bool(one.record.result and one.record.result.wrote) or (spec is not None and spec.kind == "write")


def _made(record: CallRecord) -> Made:
    content = record.result.content if record.result else ""
    return Made(record, content, _decoded(content))


def _decoded(content: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(content)
    except (ValueError, RecursionError):
        return content.strip()
    return value


def flat(text: str) -> str:
    """Give letters and digits in lower case."""
    return re.sub(r"[\W_]+", "", text.casefold())


def codes(text: str) -> Iterator[str]:
    """Give the words of a text that hold a digit or are an address: what a call would take as it stands."""
    for found in _CODE.finditer(text):
        if _ORDINAL.fullmatch(word := found[0].strip(".-+#")) is None:
            yield word


def values(value: JsonValue) -> Iterator[str]:
    """Give the scalars of a JSON value as text."""
    for _, scalar in scalars(value):
        yield str(scalar)


def words(text: str) -> list[str]:
    """Give the words of a text or an identifier."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).replace("_", " ")
    return re.findall(r"[^\W\d]+", spaced.casefold())
