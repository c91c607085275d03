"""What an answer means, whatever its error flag says: real servers report failures as successes, and empty ones too."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.generation.tools.probing.reading import inner, parsed
from pytest_agentbench.generation.tools.values import Verdict
from pytest_agentbench.generation.tools.world import Answer

_SHORT = 600
"""Characters beyond which a text that was not flagged as an error is an answer, whatever it says."""

_AUTH = re.compile(
    r"\b(?:HTTP|status(?: code)?|error)\W{0,4}(?:401|403|407|429|502|503|504)\b|\b(?:401 unauthori[sz]ed|403 forbidden"
    r"|unauthori[sz]ed|not authenticated|authentication (?:failed|required)|(?:invalid|expired|missing) (?:api[ _-]?key"
    r"|(?:access |auth )?token|credentials?)|token (?:has )?expired|too many requests|rate limit(?:ed| exceeded)"
    r"|connection (?:refused|reset|error|aborted)|cannot connect|could not connect|name resolution|network is"
    r" unreachable|service unavailable|bad gateway|gateway time-?out)\b",
    re.I,
)
_BROKEN = re.compile(
    r"\b(?:HTTP|status(?: code)?|error)\W{0,4}5\d\d\b|\b5\d\d (?:internal|server)|internal (?:server )?error|"
    r"unexpected error|Traceback \(most recent call last\)|unhandled exception|"
    r"\b(?:KeyError|AttributeError|IndexError|TypeError|ZeroDivisionError|NameError|UnboundLocalError|RecursionError"
    r"|AssertionError|UnicodeDecodeError|NullPointerException|segmentation fault|panic:)",
    re.I,
)
_STARTS = re.compile(
    r"\s*(?:<[\w ]+>\s*)?(?:\W{0,3}(?:error|errors|erreur|failed|failure|fatal|exception|traceback|invalid|mcp error"
    r"|input validation error|validation error|bad request|unknown tool|usage:)\b)",
    re.I,
)
_ABSENT = re.compile(
    r"\b(?:not found|does ?n[o']t exist|do not exist|no such|unknown|is not (?:a )?valid|not (?:a )?valid|invalid"
    r"|must be|is required|missing required|required (?:parameter|key|field|argument)|not allowed|not permitted"
    r"|not supported|unsupported|out of range|cannot|can't|could not|unable to|introuvable|inconnue?|already exists"
    r"|permission denied|illegal operation|E(?:NOENT|ISDIR|NOTDIR|ACCES|PERM|EXIST|NOTEMPTY))\b",
    re.I,
)
_NONE = re.compile(
    r"\W*(?:no (?:[\w' -]+ )?(?:found|match(?:es|ed)?|results?|available|data|entries|items|records)"
    r"|nothing (?:found|to show|here)|none"
    r"|(?:(?:i|we) (?:have )?found no|(?:je n'ai|nous n'avons|on n'a) (?:pas )?trouvé (?:aucun|de|rien)"
    r"|no he encontrado ning|non ho trovato nessun|não encontrei nenhum)\w*[\w' -]*"
    r"|empty|0 (?:[\w-]+ )?(?:found|results?|match(?:es)?)|0 [a-z]+s|aucun\w* [\w' -]+|not available)\b.{0,80}",
    re.I,
)
_FAILURE_KEYS = ("error", "errors", "exception", "fault", "detail", "isError", "is_error")
_SAYS_SO = ("success", "ok", "succeeded", "is_success")
_STATUS = ("status", "code", "status_code", "statusCode")
_ASIDE = frozenset({
    "message", "code", "status", "errno", "detail", "details", "error", "errors", "title", "type", "instance",
    "success", "ok", "hint", "path", "timestamp", "request_id", "status_code", "reason", "msg", "exception", "info",
    "data", "result",
})  # fmt: skip


@dataclass(frozen=True)
class Judged:
    """A verdict and why."""

    verdict: Verdict
    reason: str


def judge(answer: Answer) -> Judged:
    """Decide what an answer means.

    A failure about credentials, limits or the network is the environment's. What the tool's own code did wrong (HTTP
    5xx, a traceback) is broken; what it did not accept is refused; `{}`, `null` and lists of nothing are empty.
    """
    if answer.hung:
        return Judged("broken", answer.content)
    if answer.unreachable:
        return Judged("environment", answer.content[:300])
    if answer.crashed:
        return Judged("broken", "the tool ended, or cannot be called")
    value = inner(parsed(answer.content))
    if answer.error:
        return _failure(_message(value) or answer.content)
    said = failure_in(value)
    if said:
        return _failure(said, unflagged=True)
    if is_empty(value):
        return Judged("empty", "an answer without content")
    text = _only_text(value)
    if text is not None and len(text) <= _SHORT and _NONE.fullmatch(_below_headings(text).rstrip(".!")):
        return Judged("empty", "it says that there is nothing")
    return Judged("ok", "")


def _below_headings(text: str) -> str:
    """Give a text without the headings above it: `# Open tasks`, `Results:`."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    while len(lines) > 1 and (lines[0].startswith(("#", "=", "-")) or lines[0].endswith(":")):
        lines = lines[1:]
    return "\n".join(lines)


def failure_in(value: Any) -> str:
    """Give the failure that an answer without an error flag reports, "" where it reports none."""
    text = _only_text(value)
    if text is not None:
        stripped = text.strip()
        if len(stripped) > _SHORT and ("\n" in stripped or not _STARTS.match(stripped)):
            return ""
        if _STARTS.match(stripped):
            return stripped
        lines = [line for line in stripped.splitlines() if line.strip()]
        is_sentence = len(lines) == 1 and len(stripped) <= 200 and " " in stripped
        return (
            stripped if is_sentence and _ABSENT.search(stripped) and not _NONE.fullmatch(stripped.rstrip(".!")) else ""
        )
    if not isinstance(value, Mapping):
        return ""
    return _failure_of(value)


def _failure_of(value: Mapping[str, Any]) -> str:
    """Give the failure that an object reports by one of the keys that say so."""
    for key in _SAYS_SO:
        if value.get(key) is False:
            return _message(value) or f"{key} is false"
    for key in ("isError", "is_error"):
        if value.get(key) is True:
            return _message(value) or f"{key} is true"
    if not set(map(str, value)) <= _ASIDE:
        return ""
    for key in _FAILURE_KEYS:
        found = value.get(key)
        if found in (None, "", [], {}, False, 0):
            continue
        if isinstance(found, str | dict | list) or found is True:
            return _message(value) or str(found)
    return _status_of(value)


def _status_of(value: Mapping[str, Any]) -> str:
    """Give the failure that an object of a few such keys reports by a status, or by its message alone."""
    for key in _STATUS:
        found = value.get(key)
        if not isinstance(found, bool) and isinstance(found, int) and 400 <= found < 600:
            return f"status {found}: {_message(value)}"
        if isinstance(found, str) and found.lower() in ("error", "failed", "failure", "fail"):
            return _message(value) or found
    if set(map(str, value)) <= {"message", "msg", "code"}:
        message = _message(value)
        return message if _ABSENT.search(message) or _STARTS.match(message) else ""
    return ""


def is_empty(value: Any) -> bool:
    """Whether an answer holds nothing: `{}`, `null`, blank text, or only empty lists and zero counts."""
    if isinstance(value, str):
        return not value.strip()
    if value is None:
        return True
    if isinstance(value, Mapping):
        containers = [item for item in value.values() if isinstance(item, list | dict) or item is None]
        others = [item for item in value.values() if not isinstance(item, list | dict) and item is not None]
        if not value:
            return True
        idle = all(isinstance(item, int | float | bool) and not item for item in others)
        return bool(containers) and idle and all(is_empty(item) for item in containers)
    return isinstance(value, list) and all(isinstance(item, list | dict) and is_empty(item) for item in value)


def is_silent(content: str) -> bool:
    """Whether an empty answer does not even say that nothing was found: `{}`, `null`, blank; an empty list says so."""
    value = inner(parsed(content))
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, Mapping) and not value)


def _failure(message: str, *, unflagged: bool = False) -> Judged:
    short = message.strip()[:300]
    said = f"{'reported as a success: ' if unflagged else ''}{short}"
    if _AUTH.search(short):
        return Judged("environment", said)
    return Judged("broken" if _BROKEN.search(short) else "refused", said)


def _message(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "; ".join(filter(None, map(_message, value[:5])))
    if isinstance(value, Mapping):
        parts = [
            _message(value[key])
            for key in (
                "error",
                "errors",
                "message",
                "msg",
                "detail",
                "details",
                "title",
                "reason",
                "exception",
                "result",
            )
            if value.get(key) not in (None, "", True, False)
        ]
        if not parts:
            parts = [_message(item) for item in list(value.values())[:5] if isinstance(item, str)]
        return ": ".join(filter(None, parts))
    return "" if value is None or isinstance(value, bool) else str(value)


def _only_text(value: Any) -> str | None:
    """Give the text that an answer consists of, also within one wrapper such as `{"result": "…"}`."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and len(value) == 1:
        only = next(iter(value.values()))
        only = inner(only)
        return only if isinstance(only, str) and next(iter(value)) in ("result", "content", "text", "output") else None
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        return value[0]
    return None
