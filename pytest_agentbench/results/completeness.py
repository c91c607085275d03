"""Whether the last session came to its end: a process that was killed, or left by `os._exit`, could not say."""

from pathlib import Path

from pytest_agentbench.core.errors import ResultsError
from pytest_agentbench.core.names import count, listing
from pytest_agentbench.results.document import read
from pytest_agentbench.results.run_directory import RunDirectory

_SHOWN = 5


def incomplete(folder: Path) -> str:
    """Say why the last session kept in `folder` has no complete results; "" where it has."""
    directory = RunDirectory.latest(folder)
    if directory is None:
        return f"{folder} holds no session: nothing was run, or the process ended before the first run"
    if directory.was_cut_off:
        return cut_off(directory)
    file = directory.path / "results.json"
    try:
        document = read(file)
    except ResultsError as error:
        return f"session {directory.path.name} has no results: {error}"
    missing = sum(result.not_run is not None for result in document.results)
    if missing:
        return f"session {directory.path.name}: {missing} of {count(len(document.results), 'run')} did not take place"
    return "" if document.complete else f"session {directory.path.name} was stopped before it ended"


def cut_off(directory: RunDirectory) -> str:
    """Say what a session had come to when its process ended without a word, and what was in flight."""
    finished = len(directory.results())
    open_runs = [key.scenario + (f"[{key.label}]" if key.label else "") for key in directory.in_flight()]
    shown = listing(open_runs[:_SHOWN]) + (f" and {len(open_runs) - _SHOWN} more" if len(open_runs) > _SHOWN else "")
    beside = f" while {shown} {'was' if len(open_runs) == 1 else 'were'} in flight" if open_runs else ""
    return (
        f"session {directory.path.name} was cut off{beside}, after {finished} "
        f"{'run' if finished == 1 else 'runs'}: its process was killed, or an agent or a tool left it "
        "(`os._exit`); with `-n 1` that costs its own run alone, and names it"
    )
