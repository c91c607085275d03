"""Redaction: given secrets, and what looks like a key, never reach a file."""

import base64
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from pytest_agentbench.core import acts, audit
from pytest_agentbench.core.acts import Act
from pytest_agentbench.core.approvals import ApprovalRequest, Decision
from pytest_agentbench.core.audit import Audit, Claim, PolicyObservation, Quoted
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.events import Event
from pytest_agentbench.core.json_values import JsonValue, to_json
from pytest_agentbench.core.run import Result
from pytest_agentbench.core.secret_keys import ENDINGS, names_secret
from pytest_agentbench.core.secret_keys import MASK as MARK
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.core.verdict import CallExplanation, Finding, Flag, OtherFault, Unmeasured

_Part = TypeVar("_Part", bound=Model)

_WRITTEN: dict[type[Model], tuple[str, ...]] = {
    Result: (
        "title", "stop_reason", "error", "not_run", "findings", "also", "flags", "audit", "disputed", "sole_answer",
        "unmeasured", "calls", "tags", "tools", "agents", "players",
    ),
    Finding: ("message", "cure", "tool", "expected", "actual"),
    OtherFault: ("reason",),
    Flag: ("value", "quote", "message"),
    Unmeasured: ("part", "why", "cure"),
    CallExplanation: ("tool", "by", "expected", "actual", "left_open", "note"),
    Message: (
        "content", "tool_calls", "tool_call_id", "acts", "goal_items", "shows", "thoughts", "approvals", "decisions",
        "by", "events", "output",
    ),
    ToolCall: ("name", "arguments", "id", "raw", "by"),
    Act: ("about", "facts"),
    acts.GoalItem: ("text",),
    ApprovalRequest: ("id", "tool", "text", "arguments"),
    Decision: ("id", "tool", "text", "arguments"),
    Event: ("source", "to", "name"),
    Audit: (
        "claims", "consents", "goal_items", "policies", "user_turns", "tool_use", "agent_appropriate",
        "user_satisfied",
    ),
    Claim: ("quote", "values"),
    audit.GoalItem: ("quote", "item"),
    PolicyObservation: ("quote", "reason"),
    Quoted: ("quote",),
}  # fmt: skip
"""What a person, agent, tool or model wrote, by kind of record; all else is keys, ids, hashes and choices."""


def _kept(one: _Part, redacted: Mapping[str, object]) -> _Part:
    """Give a copy without secrets, or the very one where it holds none: most do not, and all runs are kept."""
    return (
        one if all(getattr(one, name) == value for name, value in redacted.items()) else one.model_copy(update=redacted)
    )


SHORTEST = 4
"""Values with fewer characters are not secrets: hiding every `no` or `42` would make transcripts unreadable."""

_CUT = "…"
"""What stands at the end of a text that was shortened."""

_ORDINARY = frozenset({"true", "false", "none", "null"})

_KEYS = (
    r"(?:password|passwd|passphrase|pwd|api[_-]?key|secret(?:[_-]?key)?|client[_-]?secret"
    r"|(?:access|refresh|auth)[_-]?token|private[_-]?key|authorization)"
)

_NAMED = ("passw", "passphrase", "pwd", "key", "secret", "token", "authorization")

_QUOTE = r"\\{0,64}[\"']"
_HEAD = re.compile(
    rf"(?P<q>{_QUOTE})(?P<member>[A-Za-z][\w .-]{{0,63}}+)(?P=q)\s{{0,20}}[:=]\s{{0,20}}"
    r"|(?<![A-Za-z0-9])(?P<name>[A-Za-z][\w-]{0,63}+)="
)
"""What stands before a value: the name of a member in JSON or Python, at any depth of escaping, or `name=`."""

_TEXT = re.compile(rf"(?P<v>{_QUOTE})(?P<text>[\s\S]*?)(?P<end>(?<!\\)(?P=v)|\Z)")
"""All up to the same quotation mark, escaped as deep as the first one was."""

_NUMBER = re.compile(r"-?\d[\d.eE+-]*")
_WORD = re.compile(r"[^\s\"'\\&,;()<>]{3,}")

# (what the text must hold in lower case, pattern, replacement); every repetition that a failing match could scan
# again and again is bounded, since tools answer with megabytes
_SHAPES: tuple[tuple[tuple[str, ...], re.Pattern[str], str], ...] = tuple(
    (hints, re.compile(pattern), replacement)
    for hints, pattern, replacement in (
        (
            ("private key",),
            r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:(?!-----END)[\s\S])*+(?:-----END [A-Z ]*PRIVATE KEY-----)?",
            MARK,
        ),
        (("eyj",), r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?", MARK),
        (("sk-",), r"(?<![A-Za-z0-9])sk-(?=[A-Za-z0-9_-]{0,60}\d)[A-Za-z0-9_-]{16,}", MARK),
        (("k_live_", "k_test_"), r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}", MARK),
        (("akia", "asia"), r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b", MARK),
        (("gh", "glpat-"), r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{22,}|glpat-[A-Za-z0-9_-]{20,})", MARK),
        (("xox",), r"\bxox[abeprs]-[A-Za-z0-9-]{10,}", MARK),
        (("aiza",), r"\bAIza[0-9A-Za-z_-]{35}", MARK),
        (("hf_",), r"\bhf_[A-Za-z0-9]{20,}", MARK),
        (
            ("authorization",),
            r"(?i)(\bauthorization(?:\\*[\"'])?\s*[:=]\s*(?:\\*[\"'])?(?:basic|bearer|token)\s+)[^\s\"'\\,;]{4,}",
            rf"\1{MARK}",
        ),
        (("bearer",), r"(?i)(\bbearer\s+)(?=[^\s\"'\\,;]{0,200}\d)[A-Za-z0-9._~+/=-]{8,}", rf"\1{MARK}"),
        (("://",), r"(\b[a-z][a-z0-9+.-]{0,20}://)[^\s/:@\"']{1,200}:[^\s/@\"']{1,200}(?=@)", rf"\1{MARK}"),
        # after a colon only with a digit or sign: prose!
        (
            _NAMED,
            rf"(?i)((?:\b|_){_KEYS}\s*:\s*)(?=[^\s\"']{{0,200}}[0-9!@#$%^])[^\s\"'\\&,;]{{6,}}",
            rf"\1{MARK}",
        ),
    )
)

_HINTS = tuple(dict.fromkeys([*(hint for hints, _, _ in _SHAPES for hint in hints), *ENDINGS]))

_SLASHES = r"\\{1,64}"
"""The backslashes before an escape: escaping doubles them, so this is six times."""

_ESCAPES = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}
_ENTITIES = {"&": "amp|#38", "<": "lt|#60", ">": "gt|#62", '"': "quot|#34", "'": "#39|#x27|apos"}


class Redactor:
    """Replaces secrets by `***`: each of `secrets` in whatever encoding, and what has the shape of a key.

    A secret is found raw, in JSON or Python escapes at any depth, percent-encoded, in HTML entities, composed or
    decomposed, split into surrogates, backwards, in base64 and in hexadecimal digits. What stands under a key that
    names a secret goes too, but for `public` values: those that the suite's own files spell. Ids and names that checks
    and keys rely on are left as they are.
    """

    def __init__(self, secrets: Iterable[str] = (), public: Iterable[str] = ()) -> None:
        forms = {
            form
            for secret in secrets
            for form in _forms(secret)
            if len(form) >= SHORTEST and form.lower() not in _ORDINARY
        }
        self._forms = sorted(forms, key=lambda form: (-len(form), form))
        # of a secret that was cut, quotation marks and the like may have been escaped before
        self._cut_forms = sorted(
            {text for form in self._forms for text in (form, json.dumps(form)[1:-1], repr(form)[1:-1])}
        )
        self._public = frozenset(public)
        spelled = {text for form in self._forms for text in (form, form[::-1])}
        self._patterns = [
            *(
                re.compile("".join(map(_spellings, text)))
                for text in sorted(spelled, key=lambda text: (-len(text), text))
            ),
            *(pattern for form in self._forms for pattern in encoded(form)),
        ]

    def text(self, text: str, *, replayed: bool = False) -> str:
        """Give `text` without secrets; doing it twice changes nothing more.

        `replayed` says that an agent must be able to go on with it: a `token` stays, a `password` does not.
        """
        before = None
        text = self._without_cut(text) if _CUT in text else text
        # a mark beside other text may spell a secret anew; a secret is longer than the mark, so this ends
        while before != text:
            before = text
            for pattern in self._patterns:
                text = pattern.sub(MARK, text)
            lowered = text.lower()
            if not any(map(lowered.__contains__, _HINTS)):  # most texts, and every run has many
                continue
            for hints, shape, replacement in _SHAPES:
                if any(hint in lowered for hint in hints):
                    text = shape.sub(replacement, text)
            if any(map(lowered.__contains__, ENDINGS)):
                text = self._without_named(text, replayed=replayed)
        return text

    def _without_cut(self, text: str) -> str:
        """Give a text without the beginnings of secrets that were cut off by whoever shortened it."""
        parts = text.split(_CUT)
        for at, part in enumerate(parts[:-1]):
            starts = [
                start
                for form in self._cut_forms
                for start in range(max(0, len(part) - len(form) + 1), len(part) - SHORTEST + 1)
                if form.startswith(part[start : start + SHORTEST]) and form.startswith(part[start:])
            ]
            parts[at] = f"{part[: min(starts)]}{MARK}" if starts else part
        return _CUT.join(parts)

    def _without_named(self, text: str, *, replayed: bool) -> str:
        """Give a text without what stands in it under names of secrets."""
        parts: list[str] = []
        at = 0
        for head in _HEAD.finditer(text):
            if head.start() < at or not names_secret(head["member"] or head["name"], loosely=replayed):
                continue
            value = _TEXT.match(text, head.end())
            if value is not None:
                hidden = f"{value['v']}{MARK}{value['end']}"
                shown = value["text"]
            elif value := (_NUMBER if head["q"] else _WORD).match(text, head.end()):
                # a text where a number stood in an object, so that JSON stays JSON
                hidden = f"{head['q']}{MARK}{head['q']}" if head["q"] else MARK
                shown = value[0]
            if value is None or shown in ("", MARK) or shown in self._public:
                continue
            parts += [text[at : head.end()], hidden]
            at = value.end()
        return "".join([*parts, text[at:]])

    def json(self, value: object) -> JsonValue:
        """Give `value` as JSON without secrets in strings, keys and numbers, nor under keys such as `password`."""
        return self._json(to_json(value))

    def transcript(self, transcript: Transcript) -> Transcript:
        """Give the transcript without secrets; call ids still join calls with results."""
        return Transcript(messages=tuple(map(self._part, transcript.messages)))

    def result(self, result: Result) -> Result:
        """Give the result without secrets in anything that a person, agent or tool wrote; keys, ids, hashes stay."""
        return self._part(result)

    def _part(self, one: _Part) -> _Part:
        names = next(_WRITTEN[kind] for kind in type(one).__mro__ if kind in _WRITTEN)
        redacted = {name: self._written(getattr(one, name)) for name in names}
        if isinstance(one, CallExplanation):
            redacted["differing"] = {
                self.text(name): tuple(self.json({name: side})[self.text(name)] for side in sides)
                for name, sides in one.differing.items()
            }
        return _kept(one, redacted)

    def _written(self, value: object) -> object:
        """Give what stands in a field of a record without secrets: a text, a record, several of these, or JSON."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Model):
            return self._part(value)
        if isinstance(value, tuple):
            return tuple(map(self._written, value))
        return self.json(value)

    def _json(self, value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self._member(key, item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._json(item) for item in value]
        if isinstance(value, int | float) and not isinstance(value, bool) and self._forms:
            text = json.dumps(value)
            return value if self.text(text) == text else MARK
        return value

    def _member(self, key: str, value: JsonValue) -> JsonValue:
        if names_secret(key) and value not in (None, "", []) and not isinstance(value, bool | dict):
            if isinstance(value, list):
                return [self._member(key, item) for item in value]
            return MARK if str(value) not in self._public else self._json(value)
        if key == "arguments" and isinstance(value, str):  # what a model asks a tool for, which is played again
            return self.text(value, replayed=True)
        return self._json(value)


def _forms(secret: str) -> set[str]:
    """Give a secret as files and shells hand it on: as it is, without blanks around it, composed, decomposed."""
    return {unicodedata.normalize(form, text) for text in (secret, secret.strip()) for form in ("NFC", "NFD")} | {
        secret
    }


def _spellings(char: str) -> str:
    """Give a pattern for one character of a secret as encoders spell it; plain letters and digits are never encoded."""
    if char.isascii() and char.isalnum():
        return char
    code = ord(char)
    spellings = [_SLASHES.replace("1", "0") + re.escape(char) if char in "\\\"'/" else re.escape(char)]
    units = char.encode("utf-16-be", "surrogatepass")
    pairs = [f"{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2)]
    spellings.append("".join(rf"{_SLASHES}u(?i:{pair})" for pair in pairs))
    spellings.append(rf"{_SLASHES}U(?i:{code:08x})")
    if code > 0xFFFF:
        spellings.append("".join(re.escape(chr(int(pair, 16))) for pair in pairs))
    if code < 0x100:
        spellings.append(rf"{_SLASHES}x(?i:{code:02x})")
    if char in _ESCAPES:
        spellings.append(_SLASHES + _ESCAPES[char])
    if char in _ENTITIES:
        spellings.append(f"&(?:{_ENTITIES[char]});")
    spellings.append("".join(f"%(?i:{byte:02x})" for byte in char.encode("utf-8", "surrogatepass")))
    if char == " ":
        spellings.append(r"\+")
    if char == "\\":
        spellings[0] = _SLASHES
    return f"(?:{'|'.join(spellings)})"


SHORTEST = 4
"""Characters that a part must have to be looked for: fewer stand in any text."""

_ANY = r"[A-Za-z0-9+/_-]"
_SIGNS = {"+": r"(?:\+|-|%2[Bb]|\\{1,64}u002[bB])", "/": r"(?:\\{0,64}/|_|%2[Ff])"}
_PADDING = r"(?:=|%3[Dd]|\\{1,64}u003[dD]){0,2}"


def encoded(secret: str) -> Iterator[re.Pattern[str]]:
    """Give patterns of a secret in base64 (both alphabets, any padding, each place in a longer text), and in hex."""
    plain = secret.encode("utf-8", "surrogatepass")
    once = base64.b64encode(plain)
    for content in (plain, once, once.rstrip(b"=")):  # what is encoded twice is found as well
        for shift in range(3):
            if (part := _stable(content, shift)) and len(part) >= SHORTEST:
                signs = "".join(_SIGNS.get(char, char) for char in part)
                # a neighbour on either side holds the rest of the first and of the last byte
                yield re.compile(f"{_ANY if shift else ''}{signs}{_ANY}?{_PADDING}")
    yield re.compile(f"(?i:{'[: -]?'.join(f'{byte:02x}' for byte in plain)})")


def _stable(content: bytes, shift: int) -> str:
    """Give the digits of `content` that no byte around it changes, where `shift` bytes of its group precede."""
    length = shift + len(content)
    text = base64.b64encode(bytes(shift) + content).decode("ascii").rstrip("=")
    return text[(0, 2, 3)[shift] : len(text) if length % 3 == 0 else -1]
