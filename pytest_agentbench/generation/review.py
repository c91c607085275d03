"""Scenarios as a reviewer needs them: read from their folder, with the rows that they start from and their suite."""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.errors import AgentBenchError, Problem, SuiteError, SuiteFaultError
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.state import State
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.recipe import PROVENANCE
from pytest_agentbench.generation.tools.probing.seed_values import state_of
from pytest_agentbench.generation.tools.world import world_of
from pytest_agentbench.spec.loading import YAML_SUFFIXES
from pytest_agentbench.suites.call_check import check_calls
from pytest_agentbench.suites.scenario_files import Entry, is_suite_file, read_scenario, read_scenario_file
from pytest_agentbench.suites.substitution import Substitution
from pytest_agentbench.suites.suite_file import load_suite

SCENARIOS = "scenarios"
"""The folder that a recipe writes its scenarios into, below its own."""

MOST_ROWS = 8
"""Rows that are shown with their values; the others are named."""

MOST_EXPORTED = 200
"""Rows of the suite's state that an exported task names."""

_KEY = "\0key"
"""Stands for the name of a row's key: no column is called so."""

_SHORTEST = 3
"""A shorter text stands in rows by coincidence: `GB`, `L`."""

_READABLE = ("sqlite", "json", "own", "plugin")
"""States that can be read without another process."""

_PARENTS = 5


@dataclass(frozen=True, kw_only=True)
class Reviewed:
    """A scenario to review: where it stands (file with its ids, place in a list), as written, and as read."""

    file: Path
    index: int | None
    written: JsonValue
    scenario: Scenario
    ids: frozenset[str] = frozenset()

    @property
    def state(self) -> str:
        """pending, lapsed, accepted, rejected; `unreviewed` where nobody was asked to review it."""
        return self.scenario.review.state if self.scenario.review else "unreviewed"

    @property
    def is_open(self) -> bool:
        """Whether somebody should look at it."""
        return self.state in ("pending", "lapsed", "unreviewed")


class Row(Model):
    """A row that a scenario starts from."""

    table: str
    key: str = ""
    values: dict[str, Any] = {}


@dataclass(kw_only=True)
class Surroundings:
    """What a suite tells of its scenarios: its tools, the state; `told` says what is not known, and why."""

    suite: Suite | None = None
    toolset: Toolset = field(default_factory=Toolset)
    state: State = field(default_factory=dict)
    told: str = ""

    @property
    def writes(self) -> frozenset[str]:
        """The tools that write."""
        return frozenset(spec.name for spec in self.toolset.of("assistant") if spec.kind == "write")

    def call_problems(self, scenario: Scenario) -> list[Problem]:
        """Give each call of a scenario that its suite's tools do not take."""
        if self.suite is None:
            return []
        return check_calls(self.suite.model_copy(update={"scenarios": (scenario,), "policies": ()}), self.toolset)


def scenario_files(place: Path) -> list[Path]:
    """Give the scenario files of a folder, or of what a recipe wrote into it; raise `SuiteFaultError` without any."""
    if place.is_file() and not is_suite_file(place):
        return [place]
    if is_suite_file(place):
        raise SuiteFaultError(f"{place} is a suite; name the folder that its recipe writes, such as generated/")
    folder = place / SCENARIOS if (place / SCENARIOS).is_dir() else place
    files = [file for file in sorted(folder.glob("*")) if file.suffix in YAML_SUFFIXES and not is_suite_file(file)]
    if not files:
        raise SuiteFaultError(f"{place}: there is no scenario file (*.yaml) in it; name the folder of a recipe")
    return files


def read_file(file: Path, environ: Mapping[str, str]) -> list[Reviewed]:
    """Give the generated scenarios of a file; raise `SuiteError` with all that is wrong in it."""
    substitution = Substitution(environ)
    problems: list[Problem] = []
    found: list[tuple[Entry, Scenario]] = []
    for entry in read_scenario_file(file, substitution):
        scenario = read_scenario(entry, problems)
        if scenario is not None and (scenario.review is not None or PROVENANCE in scenario.provenance):
            found.append((entry, scenario))
    if problems := [*substitution.problems, *problems]:
        raise SuiteError([substitution.mask_problem(problem) for problem in problems])
    ids = frozenset(scenario.id for _, scenario in found)
    return [
        Reviewed(file=file, index=_index(entry), written=entry.written, scenario=scenario, ids=ids)
        for entry, scenario in found
    ]


def _index(entry: Entry) -> int | None:
    return next((step for step in entry.path if isinstance(step, int)), None)


def read_again(one: Reviewed, environ: Mapping[str, str]) -> Reviewed | None:
    """Give a scenario as its file holds it now, None where it is gone; raise `SuiteError` for a file that is wrong.

    It may be called otherwise by now: then what stands in its place has a name that the file did not hold before. A
    neighbour, which takes that place where the scenario was deleted, has one that it held.
    """
    if not one.file.exists():
        return None
    found = read_file(one.file, environ)
    named = [other for other in found if other.scenario.id == one.scenario.id]
    if named:
        return next((other for other in named if other.index == one.index), named[0])  # a file may hold an id twice
    return next((other for other in found if other.index == one.index and other.scenario.id not in one.ids), None)


def surroundings_of(place: Path, suite_file: Path | None, environ: Mapping[str, str]) -> Surroundings:
    """Find the suite that lists the scenarios at `place`, and read the state that its runs start from."""
    broken: list[str] = []
    suite = load_suite(suite_file, environ=environ) if suite_file is not None else _suite_above(place, environ, broken)
    if suite is None:
        why = "".join(f"; {one}" for one in broken)
        return Surroundings(
            told=f"no suite lists these scenarios, so that rows of its state are not shown (--suite){why}"
        )
    return read_surroundings(suite)


def read_surroundings(suite: Suite) -> Surroundings:
    """Read the tools of a suite, and the state that its runs start from."""
    found = Surroundings(suite=suite)
    try:
        found.toolset = load_toolset(suite.environment, suite.root)
        if suite.environment.state is None or suite.environment.state.kind not in _READABLE:
            found.told = "the suite has no state that can be read"
            return found
        with tempfile.TemporaryDirectory(prefix="agentbench-") as directory:
            world = world_of(suite, toolset=found.toolset, directory=Path(directory))
            state = asyncio.run(state_of(world))
            found.state = state or {}
    except (AgentBenchError, OSError) as error:
        found.told = f"the suite's state cannot be read: {error}"
    return found


def _suite_above(place: Path, environ: Mapping[str, str], broken: list[str]) -> Suite | None:
    """Give the first suite in the folders above that lists a scenario of `place`; `broken` hears of unreadable ones."""
    here = place.resolve()
    for folder in [here, *here.parents][:_PARENTS]:
        for file in sorted(one for one in folder.glob("*agentbench.yaml") if is_suite_file(one)):
            try:
                suite = load_suite(file, environ=environ)
            except SuiteError as error:
                broken.append(f"not read: {str(error).splitlines()[0]}")
                continue
            recipe = suite.generate
            if recipe is not None and (here == recipe.out or here.is_relative_to(recipe.out)):
                return suite
            if any(Path(one.file).resolve().is_relative_to(here) for one in suite.scenarios if one.file):
                return suite
    return None


def rows_of(scenario: Scenario, state: State) -> tuple[list[Row], list[Row]]:
    """Give the rows that a scenario starts from, and those that there is no room for.

    Those are its own and what the state holds of its expected calls, of what is to be told and of its user; what
    holds most of these values is first. What many rows share with the user, such as a town, tells nothing; what only
    names a row that is shown, as all bookings of a person do, is named.
    """
    initial = scenario.task.initial_state
    data = (initial.initialization_data or {}) if initial else {}
    values = _values(_arguments(scenario))
    known = _values([*scenario.knows.items(), *(("", one) for one in scenario.communicate_info)])
    own = list(_rows(data.get("agent_data") or {}))
    places = {(row.table, row.key) for row in own}
    rows = [*own, *(row for row in _rows(state) if (row.table, row.key) not in places)]
    alone = {
        value for value, count in Counter(value for row in rows for value in _held(row, known)).items() if count == 1
    }
    held = [_held(row, values) | (_held(row, known) & alone) for row in rows]
    holders = Counter(value for one in held for value in one)
    # a value that one row holds, an address, says more of whom it is about than one that stands everywhere
    scores = [sum(1 / holders[value] for value in one) for one in held]
    ranked = sorted(range(len(rows)), key=lambda at: -scores[at])
    # rows of others hold the same number of hours: where a text tells whose it is, a number tells nothing
    telling = [any(isinstance(value, str) for value in one) for one in held]
    counts = [told or not any(telling) for told in telling]
    shown = [at for at in ranked if (scores[at] and counts[at]) or at < len(own)]
    keys = {rows[at].key for at in shown}
    full = [at for at in shown if at < len(own) or rows[at].key in held[at] or not held[at] <= keys]
    given, kept = [rows[at] for at in full], set(full)
    return given[:MOST_ROWS], [*given[MOST_ROWS:], *(rows[at] for at in shown if at not in kept)]


def rows_with_owners(scenario: Scenario, state: State) -> State:
    """Give the rows of a suite's state that a scenario is about, and the rows that those name: their owners."""
    values = _values([*_arguments(scenario), *scenario.knows.items()])
    rows = {(row.table, row.key): row for row in _rows(state)}
    about = {place: row for place, row in rows.items() if _held(row, values)}
    named = {value for row in about.values() for value in row.values.values() if isinstance(value, str)}
    about |= {place: row for place, row in rows.items() if row.key in named and place not in about}
    found: State = {}
    for (table, key), row in list(about.items())[:MOST_EXPORTED]:
        found.setdefault(table, {})[key] = row.values
    return found


def _rows(state: Mapping[str, Any]) -> Iterator[Row]:
    """Give the rows of a state: tables hold rows by key, or list them; anything else is a row of one value."""
    for table, content in state.items():
        if isinstance(content, Mapping) and all(isinstance(row, Mapping) for row in content.values()):
            yield from (Row(table=table, key=str(key), values=dict(row)) for key, row in content.items())
        elif isinstance(content, list) and all(isinstance(row, Mapping) for row in content):
            # a listed row is called by its first column, as tables are written
            yield from (Row(table=table, key=str(next(iter(row.values()), "")), values=dict(row)) for row in content)
        else:
            yield Row(table=table, values={"": content})


def _arguments(scenario: Scenario) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) of all arguments of a scenario's calls."""
    calls = [*(call for way in scenario.ways for call in way.expected_calls), *scenario.never]
    return (pair for call in calls for pair in call.arguments.items())


def _values(pairs: Iterable[tuple[str, Any]]) -> set[tuple[str, Any]]:
    """Give (name, value) of what calls and users name; a text counts wherever it stands, without a name.

    A short one counts where it is a row's key, under the name `_KEY`.
    """
    found: set[tuple[str, Any]] = set()
    for name, value in pairs:
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, str):
                found |= {(_KEY, one), *([("", one)] if len(one) >= _SHORTEST else [])}
            elif isinstance(one, int | float) and not isinstance(one, bool):
                found.add((name, one))
    return found


def _held(row: Row, values: set[tuple[str, Any]]) -> set[Any]:
    """Give the values that a row holds, numbers under their own name alone."""
    pairs = [(_KEY, row.key), *(("" if isinstance(value, str) else name, value) for name, value in row.values.items())]
    return {value for name, value in pairs if isinstance(value, str | int | float) and (name, value) in values}
