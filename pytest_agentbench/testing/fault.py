"""What goes wrong between a model and who asks it: `fault.status(429)`, `fault.hang()`, `fault.reset()` and others."""

from dataclasses import dataclass, field
from typing import Literal

from pytest_agentbench.testing.answers import Answer, Timed

Ending = Literal["done", "reset", "hang"]


@dataclass(frozen=True)
class ErrorText:
    """What an error says, in whichever API it is said; `kind` "" follows from the status, `code` "" is the kind."""

    message: str
    kind: str = ""
    param: str | None = None
    code: str = ""


@dataclass(frozen=True, kw_only=True)
class Fault(Timed):
    """A response that is no usable completion.

    Its body is `body`, else the `error` as the API that was asked writes it, else a good answer; of which the share
    `sent` is sent before the response ends in the way of `ending`.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    body: bytes | None = None
    error: ErrorText | None = None
    sent: float = 1.0
    ending: Ending = "done"


def status(code: int, message: str = "scripted fault", *, retry_after: float | str | None = None) -> Fault:
    """Answer with an error status; `retry_after` is the header's seconds, or its text such as an HTTP date."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return Fault(status=code, headers=headers, error=ErrorText(message))


def refused(param: str, *, code: str = "unsupported_parameter", message: str = "") -> Fault:
    """Answer 400 as servers do that do not take a parameter for a model; `param` names it in the error."""
    told = message or f"Unsupported parameter: {param!r} is not supported with this model."
    return Fault(status=400, error=ErrorText(told, "invalid_request_error", param, code))


def hang(*, sent: float = 0.0) -> Fault:
    """Never finish: send this share of a good response, then nothing until the client or the server gives up."""
    return Fault(sent=sent, ending="hang")


def reset(*, sent: float = 0.5) -> Fault:
    """Reset the connection after this share of a good response; 0 resets before the status line."""
    return Fault(sent=sent, ending="reset")


def malformed() -> Fault:
    """Answer 200 with the first half of an answer: no JSON."""
    return Fault(sent=0.5)


def raw(body: bytes | str, *, status: int = 200, content_type: str = "application/json") -> Fault:
    """Answer with exactly this body."""
    return Fault(status=status, body=body.encode() if isinstance(body, str) else body, content_type=content_type)


def no_choices() -> Answer:
    """Answer with a completion whose `choices` is empty, or with a response or a message that holds nothing."""
    return Answer(choices=0)


def big(megabytes: float = 10) -> Answer:
    """Answer with a text of that many million characters."""
    return Answer(content="x" * int(megabytes * 1_000_000))
