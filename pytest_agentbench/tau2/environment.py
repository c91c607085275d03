"""A τ² domain as tools and state of a run, for suites that say `environment: {tau2: DOMAIN}`."""

from collections.abc import Mapping
from functools import cached_property
from threading import Lock
from typing import Any

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.protocols import Isolation, StateProvider
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.scenario import InitialState
from pytest_agentbench.core.state import State
from pytest_agentbench.core.tool import ToolCall, Toolset
from pytest_agentbench.tau2.checkout import Source
from pytest_agentbench.tau2.replay import Replayed, Replayer, calls_of_history
from pytest_agentbench.tau2.world import World, fingerprint


class Tau2State:
    """State of a τ² domain: each run has a world of its own (`core.protocols.StateProvider`)."""

    isolation: Isolation = "per_run"
    snapshots_are_json = True

    def __init__(self, source: Source, *, solo: bool) -> None:
        self._source = source
        self._solo = solo

    @cached_property
    def _start(self) -> State:
        """The state of a fresh world, of which those of runs share what they did not touch."""
        return self._source.world().dumped()

    def open(self, initial: dict[str, Any], run: str) -> World:
        """Give a fresh world. `initial` is a task's whole `initial_state`, its initial calls and history included.

        Those may be of methods that are no tools, so they cannot be made as calls. Raise `EnvironmentFaultError` where
        the initial state cannot be set up.
        """
        given = InitialState.model_validate(initial)
        world = self._source.world(solo=self._solo)
        world.begin(given)
        for call in calls_of_history(given.message_history):
            if self._source.knows(call.name) and self._source.mutates(call.name):
                world.respond(call.name, call.requestor, call.arguments)
        return world

    def snapshot(self, handle: World) -> State:
        """Give the database as {table: {key: record}}; with two parties, `agent` and `user` stand above."""
        return handle.dumped(self._start)

    def version(self, handle: World) -> str:
        """Give a text that changes whenever the state does, by tools that the domain says may change it."""
        if handle.version is None or handle.version[0] != handle.writes:
            user = handle.user.db if handle.user is not None and handle.user.db is not handle.agent.db else None
            handle.version = (handle.writes, f"{fingerprint(handle.agent.db)}\n\n{fingerprint(user)}")
        return handle.version[1]

    def close(self, handle: World) -> None:
        """Nothing is held."""


class Tau2Environment:
    """Tools and state of a domain (`core.protocols.OfferedEnvironment`)."""

    def __init__(self, source: Source, *, solo: bool = False) -> None:
        """`solo`: the agent works alone, and has the user's tools, too."""
        self.source = source
        self.toolset: Toolset = _lent(source.toolset) if solo else source.toolset
        self.state: StateProvider = Tau2State(source, solo=solo)
        self._solo = solo
        self._replayer = Replayer(source, solo=solo)
        self._replaying = Lock()  # runs are judged in threads of their own, and share the expected worlds

    def call(self, handle: World, call: ToolCall) -> object:
        """Make a call as in a conversation, and give what its caller sees."""
        mutates = self.source.mutates(call.name)
        handle.writes += mutates
        return handle.answer(call.name, call.requestor, call.arguments, looks=self.source.declares and not mutates)

    def replayed(self, run: Run, recording: Mapping[str, Any] | None, *, whole: bool) -> Run:
        """Replay a run's calls: what that showed, or why it could not be done, is the run's `replay`."""
        task = run.scenario.task
        if task.evaluation_criteria is None or not (run.finished or recording is not None):
            return run.model_copy(update={"replay": ""})
        records = run.transcript.trajectory
        try:
            with self._replaying:
                found = self._replayer.replay(
                    task,
                    [record.call for record in records],
                    solo=self._solo if recording is None else recording.get("solo") is True,
                    answers=None if recording is None else [record.result for record in records],
                    whole=whole,
                )
        except EnvironmentFaultError as error:
            return run.model_copy(update={"replay": str(error)})
        run = run.model_copy(update={"replay": found})
        return run if recording is None or not run.calls_visible else _in_its_world(run, found)


def _lent(toolset: Toolset) -> Toolset:
    """Give the agent the tools of both parties; of two with one name, its own."""
    names = {spec.name for spec in toolset.of("assistant")}
    lent = [spec.model_copy(update={"requestor": "assistant"}) for spec in toolset.of("user") if spec.name not in names]
    return Toolset(specs=(*toolset.of("assistant"), *lent))


def _in_its_world(run: Run, replayed: Replayed) -> Run:
    """Give a recording the states of its replay; where that answered something else they stay unknown."""
    if run.final_state is not None:
        return run
    if replayed.difference:
        return run.model_copy(update={"replay_differs": replayed.difference})
    # τ² passes over expected calls that fail in the task's own world, and so does whoever plays such a task
    failed = {} if run.scenario.states_whole_calls else replayed.failed
    states = {"final_state": replayed.final, "expected_state": replayed.expected, "unreplayed": failed}
    return run.model_copy(update=states)
