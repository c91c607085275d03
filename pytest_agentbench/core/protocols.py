"""The seams between the floors; third parties implement them too."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Literal, Protocol, Self, TypeVar, runtime_checkable

from pytest_agentbench.core.conversation import Reply, Turn, UserTurn, View
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.state import State
from pytest_agentbench.core.tool import ToolCall, ToolResult, Toolset
from pytest_agentbench.core.verdict import Finding

T = TypeVar("T")


class RunSync(Protocol):
    """Executes sync code in the run's own thread; what `work` returns or raises reaches the one who awaits."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]:
        """Start `work` and give its result."""


In_contra = TypeVar("In_contra", contravariant=True)
Out_co = TypeVar("Out_co", covariant=True)

Isolation = Literal["per_run", "per_worker", "exclusive"]
"""per_run: runs overlap freely. per_worker: one run at a time in a process. exclusive: one at a time anywhere."""


@runtime_checkable
class Agent(Protocol):
    """The agent under test; one per run."""

    async def reply(self, turn: Turn) -> Reply:
        """Answer the user, or go on after the results of the last reply's calls."""


class User(Protocol):
    """A simulated user; one per run. Its view holds only what it may know."""

    async def reply(self, view: View) -> UserTurn:
        """Say the next line, call one of its own tools, or close."""


class Environment(Protocol):
    """The tools and the state of one run; an async context manager."""

    tools: Toolset

    async def __aenter__(self) -> Self:
        """Set the state up."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Tear the state down."""

    async def call(self, call: ToolCall) -> ToolResult:
        """Run a tool; a failing or unknown tool is a result, not an exception."""

    async def snapshot(self) -> State | None:
        """Read the whole state, or None where it cannot be read."""


class StateProvider(Protocol):
    """Opens a state for one run. `initial` is the scenario's own part of it, `run` a name unique to the run."""

    isolation: Isolation

    def open(self, initial: dict[str, Any], run: str) -> Any:
        """Give the handle that tools get as `state`."""

    def snapshot(self, handle: Any) -> State:
        """Read the whole state behind `handle` as nested JSON."""

    def close(self, handle: Any) -> None:
        """Release `handle`."""


class OfferedEnvironment(Protocol):
    """Tools and state in one, which a plugin offers by a name.

    `state` opens a world for a run; as `initial` it gets a scenario's whole `initial_state`, and makes initial calls.
    """

    toolset: Toolset
    state: StateProvider

    def call(self, handle: Any, call: ToolCall) -> object:
        """Make a call in the world behind `handle`; what is raised is the tool's refusal, in its own words.

        Raise `EnvironmentFaultError` where it is no refusal: the environment broke, and no agent is to blame.
        """

    def replayed(self, run: Run, recording: Mapping[str, Any] | None, *, whole: bool) -> Run:
        """Give a closed run with what making its calls again shows, as it is where that shows nothing.

        That goes into `run.replay`, for checks and metrics of the same plugin. A recording (its keys besides the
        conversation; None: the run was played) also gets the states of its replay, or `replay_differs`; where checks
        of users look at them, they must be `whole`.
        """


class Check(Protocol):
    """Decides something about a closed run."""

    def __call__(self, run: Run) -> Iterable[Finding]:
        """Yield what was found; raising is an error, never a pass."""


class Role(Protocol[In_contra, Out_co]):
    """A judge, narrator, critic…: deterministic or model-backed, same types."""

    async def __call__(self, given: In_contra, /) -> Out_co:
        """Play the role once."""
