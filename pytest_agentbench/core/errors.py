"""Every exception a user can meet, as one tree.

AgentBenchError
├── SuiteError             a suite, scenario or policy file is wrong; carries every problem with its position
├── FormError              what files describe, such as a `Policy`, was made in Python of values that do not fit
├── ImportPathError        `package.module:name` does not lead to an object
├── SuiteFaultError        what a suite or a scenario states does not fit the code that it names
├── CallsSpentError        a tool call over `limits.tool_calls` was refused
├── AgentError             the agent under test raised, also while being built, or answered with something unusable
├── EnvironmentFaultError  state or tools could not be set up, read or torn down
│   └── NeverUpError         a service that the suite starts was not up once
├── ProviderError          a model could not be reached, or what it answered is no chat completion
│   ├── SendError          one request failed; says whether sending it again may help
│   ├── UnusableAnswerError  a model did not give the answer that was asked of it
│   │   └── TokenLimitError  … because it reached a limit of tokens
│   └── CassetteMissError  nothing was recorded for a request, and nothing may be asked live
├── NotRunError            a run could not take place for a reason outside of it
│   ├── BudgetSpentError   a budget does not hold the next call
│   └── KeyMissingError    no key for a model was given
├── CheckError             a check raised instead of deciding
│   └── PatternBoundError  a pattern of the suite's took too long on a text, so nobody knows whether it fits
├── NotMeasuredError       a test asks for what nobody found out about a conversation
├── ResultsError           a results file cannot be read, or does not fit what it is compared with
└── GateError              a gate cannot be parsed
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal


class AgentBenchError(Exception):
    """Base of every exception that pytest-agentbench raises on purpose."""


def with_hint(message: str, hint: str) -> str:
    """Put a hint, if there is one, behind a message."""
    return f"{message} ({hint})" if hint else message


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing that is wrong in a file: where, what was found, what is allowed, what to do.

    `line` and `column` are 1-based; 0 means that the position is not known.
    """

    file: Path
    line: int = 0
    column: int = 0
    key: str = ""
    message: str
    hint: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else str(self.file)
        key = f"{self.key}: " if self.key else ""
        return with_hint(f"{place}: {key}{self.message}", self.hint)


class SuiteError(AgentBenchError):
    """A suite, scenario or policy file is wrong; `problems` lists everything at once."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class FormError(AgentBenchError, ValueError):
    """What files describe, such as a `Policy`, was made in Python of values that do not fit."""


class ImportPathError(AgentBenchError):
    """An import path such as `package.module:name` does not lead to an object."""


class SuiteFaultError(AgentBenchError):
    """What a suite or a scenario states does not fit the code that it names, as only running it shows."""


class CallsSpentError(AgentBenchError):
    """A tool call over `limits.tool_calls` was refused; the run ends by it."""


class AgentError(AgentBenchError):
    """The agent under test raised, also while being built, or answered with something unusable."""


class EnvironmentFaultError(AgentBenchError):
    """State or tools could not be set up, read or torn down."""


class ServiceFaultError(EnvironmentFaultError):
    """A service behind the tools cannot be reached, is out of service, or refuses the key, whatever is asked."""


class NeverUpError(EnvironmentFaultError):
    """What the suite names was never there: a service was not up once in this process, or nothing takes the request
    that resets it; `at` is the way to it in the suite file.
    """

    def __init__(self, message: str, *, at: tuple[str | int, ...]) -> None:
        super().__init__(message)
        self.at = at


class ProviderError(AgentBenchError):
    """A model could not be reached, or what it answered is no chat completion."""


class SendError(ProviderError):
    """One request failed. `status` is the HTTP status (0: no answer), `retry_after` seconds where the server said so.

    `again` tells whether sending the same request again may help, `billed` whether the server may have worked on it.
    `param` is the field of the request that the server objects to, `code` its own word for why; "" where it named none.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        again: bool = False,
        retry_after: float | None = None,
        billed: bool = False,
        param: str = "",
        code: str = "",
    ) -> None:
        super().__init__(message)
        self.status = status
        self.param = param
        self.code = code
        self.again = again
        self.retry_after = retry_after
        self.billed = billed


class UnusableAnswerError(ProviderError):
    """A model did not give the answer that was asked of it, also after it was told what is wrong.

    `said` is what it wrote then, None where it was not told.
    """

    def __init__(self, message: str, *, said: str | None = None) -> None:
        super().__init__(message)
        self.said = said


class TokenLimitError(UnusableAnswerError):
    """An answer reached a limit of tokens before it could be used; the message names what to raise."""


class CassetteMissError(ProviderError):
    """Nothing was recorded for a request, and nothing may be asked live; the message names the nearest recording."""


class NotRunError(AgentBenchError):
    """A run could not take place for a reason outside of it; it is skipped and in no rate."""


class BudgetSpentError(NotRunError):
    """A budget does not hold the next call; `scope` tells whose: the run's own limits, or the session's.

    `later` tells that only calls in flight are in the way: it may hold the call once they are answered.
    """

    def __init__(self, message: str, *, scope: Literal["run", "session"], later: bool = False) -> None:
        super().__init__(message)
        self.scope = scope
        self.later = later


class KeyMissingError(NotRunError):
    """No key for a model was given; the message names the environment variable."""


class CheckError(AgentBenchError):
    """A check raised instead of deciding."""


class PatternBoundError(CheckError):
    """A pattern of the suite's took too long on a text, so nobody knows whether it fits."""


class NotMeasuredError(AgentBenchError):
    """What a test asks for was not measured; the message names the role that would measure it."""


class ResultsError(AgentBenchError):
    """A results file cannot be read, or does not fit what it is compared with."""


class GateError(AgentBenchError):
    """A gate cannot be parsed: `message` says what is wrong, `hint` what to write instead, where that is known."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return with_hint(self.message, self.hint)


def causes(error: BaseException) -> Iterator[BaseException]:
    """Give an exception and what it was raised from, outermost first; a group of one stands for what it holds."""
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        if isinstance(following, BaseExceptionGroup) and len(following.exceptions) == 1:
            following = following.exceptions[0]
        else:
            following = following.__cause__
