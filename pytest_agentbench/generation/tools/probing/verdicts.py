"""What an answer means, whatever its error flag says: real servers report failures as successes, and empty ones too.

Only structure decides: flags, HTTP codes, names of exceptions, fields that report errors, a text that begins as errors
do. Sentences are not read: that an answer says *nothing was found* shows when a made-up value gets the same one
(`session.ProbeSession.is_nothing`).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.generation.tools.data_types import Verdict
from pytest_agentbench.generation.tools.probing.result_parser import inner, parsed
from pytest_agentbench.generation.tools.world import Answer

_ENVIRONMENT = re.compile(
    r"\b(?:HTTP|status(?:[ _]code)?|error|code)\W{0,4}(?:401|403|407|429|502|503|504)\b|\b(?:401|403|429) [A-Z][a-z]+"
    r"|\b(?:Connection(?:Refused|Reset|Aborted)?Error|ConnectError|ConnectTimeout|ReadTimeout|TimeoutError"
    r"|gaierror|SSLError|AuthenticationError|RateLimitError|ECONNREFUSED|ECONNRESET|ENOTFOUND|ETIMEDOUT)\b",
    re.I,
)
_BROKEN = re.compile(
    r"\b(?:HTTP|status(?:[ _]code)?|error|code)\W{0,4}5\d\d\b|Traceback \(most recent call last\)|"
    r"\b(?:KeyError|AttributeError|IndexError|TypeError|ZeroDivisionError|NameError|UnboundLocalError|RecursionError"
    r"|AssertionError|UnicodeDecodeError|NullPointerException|ReferenceError|RangeError|panic:)",
    re.I,
)
_STARTS = re.compile(
    r"\s*(?:<[\w ]+>\s*)?\W{0,3}(?:[\w ]{0,20}?error|errors|fatal|failed|failure|[a-z]*exception|traceback"
    r"|HTTP [45]\d\d)\b",
    re.I,
)
"""How a text begins that reports an error: `Error:`, `Input validation error:`, `HTTP 404`."""
_SHORT = 600
"""Characters beyond which a text of many lines that was not flagged as an error is an answer."""
_FAILURE_KEYS = ("error", "errors", "exception", "fault", "detail", "isError", "is_error")
_SAYS_SO = ("success", "ok", "succeeded", "is_success")
_STATUS = ("status", "code", "status_code", "statusCode")
_ASIDE = frozenset({
    "message", "code", "status", "errno", "detail", "details", "error", "errors", "title", "type", "instance",
    "success", "ok", "hint", "path", "timestamp", "request_id", "status_code", "reason", "msg", "exception", "info",
    "data", "result",
})  # fmt: skip
"""Fields of an answer that does nothing but report (RFC 9457 and what servers send without it)."""
_MESSAGES = ("error", "errors", "message", "msg", "detail", "details", "title", "reason", "exception", "result")


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
    if said := failure_in(value):
        return _failure(said, unflagged=True)
    if is_empty(value):
        return Judged("empty", "an answer without content")
    return Judged("ok", "")


def failure_in(value: Any) -> str:
    """Give the failure that an answer without an error flag reports, "" where it reports none."""
    text = _only_text(value)
    if text is not None:
        stripped = text.strip()
        is_report = _STARTS.match(stripped) and (len(stripped) <= _SHORT or "\n" not in stripped)
        return stripped if is_report else ""
    if not isinstance(value, Mapping):
        return ""
    is_flagged = any(value.get(key) is True for key in ("isError", "is_error"))
    if is_flagged or any(value.get(key) is False for key in _SAYS_SO):
        return _message(value) or "it says that it failed"
    if not set(map(str, value)) <= _ASIDE:
        return ""
    for key in _FAILURE_KEYS:
        found = value.get(key)
        if found is True or (found and isinstance(found, str | dict | list)):
            return _message(value) or str(found)
    for found in map(value.get, _STATUS):
        if isinstance(found, int) and not isinstance(found, bool) and 400 <= found < 600:
            return f"status {found}: {_message(value)}"
        if isinstance(found, str) and found.lower() in ("error", "failed", "failure", "fail"):
            return _message(value) or found
    return ""


def is_empty(value: Any) -> bool:
    """Whether an answer holds nothing: `{}`, `null`, blank text, or only empty lists and zero counts."""
    if isinstance(value, str):
        return not value.strip()
    if isinstance(value, Mapping):
        parts = [item for item in value.values() if isinstance(item, list | dict) or item is None]
        others = [item for item in value.values() if not isinstance(item, list | dict) and item is not None]
        idle = all(isinstance(item, int | float) and not item for item in others)
        return not value or (bool(parts) and idle and all(map(is_empty, parts)))
    if isinstance(value, list):
        return all(isinstance(item, list | dict) and is_empty(item) for item in value)
    return value is None


def is_silent(content: str) -> bool:
    """Whether an empty answer does not even say that nothing was found: `{}`, `null`, blank; an empty list says so."""
    value = inner(parsed(content))
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, Mapping) and not value)


def _failure(message: str, *, unflagged: bool = False) -> Judged:
    short = message.strip()[:300]
    said = f"{'reported as a success: ' if unflagged else ''}{short}"
    if _ENVIRONMENT.search(short):
        return Judged("environment", said)
    return Judged("broken" if _BROKEN.search(short) else "refused", said)


def _message(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "; ".join(filter(None, map(_message, value[:5])))
    if isinstance(value, Mapping):
        parts = [_message(value[key]) for key in _MESSAGES if value.get(key) not in (None, "", True, False)]
        if not parts:
            parts = [_message(item) for item in list(value.values())[:5] if isinstance(item, str)]
        return ": ".join(filter(None, parts))
    return "" if value is None or isinstance(value, bool) else str(value)


def _only_text(value: Any) -> str | None:
    """Give the text that an answer consists of, also within one wrapper such as `{"result": "…"}`."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and len(value) == 1:
        only = inner(next(iter(value.values())))
        return only if isinstance(only, str) and next(iter(value)) in ("result", "content", "text", "output") else None
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        return value[0]
    return None
