"""The `scenarios:` of a suite: inline forms, files and patterns become scenarios with unique ids."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_agentbench.core.errors import Problem, SuiteError
from pytest_agentbench.core.extensions import scenario_of
from pytest_agentbench.core.file_models import form_misfits
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.misfit import Keys, Misfit, shown
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.spec.document import Document, read_json
from pytest_agentbench.spec.loading import YAML_SUFFIXES, read_document, read_lines
from pytest_agentbench.spec.scenario import ScenarioForm
from pytest_agentbench.suites.ids import is_reserved, scenario_slug
from pytest_agentbench.suites.review_form import KEY, review_of
from pytest_agentbench.suites.scenario_form import form_to_scenario
from pytest_agentbench.suites.substitution import Substitution
from pytest_agentbench.suites.task_fields import EXTRAS_KEY, with_schemas

SUFFIXES = frozenset({*YAML_SUFFIXES, ".json", ".jsonl"})

TASK_KEY = "task_key"
"""Where `provenance` holds the key under which recordings refer to exactly this version of a task."""

_OWN_KEYS = frozenset({"says", "expect", "goal", "knows", "never", "communicate"})


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A scenario as it stands in a file: the document, the path to it, its value, and a recording's key for it.

    `written` is the value before variables were put in, None where it is the same.
    """

    document: Document
    path: Keys
    value: JsonValue
    task_key: str | None = None
    written: JsonValue = None

    @property
    def is_own(self) -> bool:
        """Whether it is written in our form and not in one of others."""
        if self.document.file.suffix.lower() in YAML_SUFFIXES:
            return True
        return isinstance(self.value, dict) and "user_scenario" not in self.value and bool(_OWN_KEYS & set(self.value))

    @property
    def ours(self) -> Keys:
        """The path to the fields that are our own, which a task of others holds under a key."""
        return self.path if self.is_own else (*self.path, EXTRAS_KEY)


def read_scenario_file(file: Path, substitution: Substitution | None = None) -> Iterator[Entry]:
    """Give what a scenario file holds; raise `SuiteError` when it cannot be read at all."""
    if file.suffix.lower() == ".jsonl":
        yield from _read_task_lines(file)
        return
    raw = document = read_document(file)
    if substitution is not None and file.suffix.lower() in YAML_SUFFIXES:
        document = substitution.apply(raw)
    if not isinstance(document.value, list):
        yield Entry(document=document, path=(), value=document.value, written=raw.value)
        return
    if not document.value:
        raise SuiteError([document.problem((), "found an empty list, expected at least one scenario")])
    for index, value in enumerate(document.value):
        yield Entry(document=document, path=(index,), value=value, written=raw.value[index])


def read_scenario(entry: Entry, problems: list[Problem], *, checked: bool = False) -> Scenario | None:
    """Turn an entry into a scenario, or add what is wrong with it; `checked` means that its form fits the schema."""
    found: Scenario | list[Misfit]
    if entry.is_own:
        wrong = [] if checked else form_misfits(entry.value, ScenarioForm, entry.path)
        found = wrong or form_to_scenario(entry.value, entry.path)
    else:
        found = scenario_of(entry.value, entry.path)
    if isinstance(found, Scenario) and found.replies:
        replies = with_schemas(found.replies, entry.document.file_of(entry.ours).parent, entry.ours)
        found = replies if isinstance(replies, list) else found.model_copy(update={"replies": replies})
    if isinstance(found, list):
        problems += [entry.document.problem(one.path, one.message, one.hint, at_key=one.at_key) for one in found]
        return None
    place: dict[str, object] = {
        "file": str(entry.document.file_of(entry.path)),
        "line": entry.document.line(entry.path),
    }
    if entry.task_key is not None:
        place["provenance"] = {**found.provenance, TASK_KEY: entry.task_key}
    if entry.is_own and KEY in entry.value:
        place["review"] = review_of(entry.value, entry.value if entry.written is None else entry.written)
    return found.model_copy(update=place)


def entries_in(document: Document) -> Iterator[Entry]:
    """Give what stands under `scenarios` of a suite file itself: scenarios, and names of files."""
    forms = document.value.get("scenarios") if isinstance(document.value, dict) else None
    for index, value in enumerate(forms if isinstance(forms, list) else ()):
        yield Entry(document=document, path=("scenarios", index), value=value)


def find_scenario_files(root: Path, pattern: str) -> list[Path] | str:
    """Give the files that a pattern or path names, sorted, or say why there are none."""
    literal = root / pattern
    try:
        if literal.is_file():
            return _readable([literal]) or _bad_suffix(literal)
        if literal.is_dir():
            return f"{pattern!r} is a folder"
        if Path(pattern).is_absolute():
            return f"no file {pattern!r}"
        matches = sorted(match for match in root.glob(pattern) if match.is_file())
    except (OSError, ValueError, NotImplementedError, IndexError) as error:
        return f"{shown(pattern)} is not a path or a pattern: {error}"
    files = _readable([match for match in matches if not is_suite_file(match)])
    if files:
        return files
    return _bad_suffix(matches[0]) if matches else f"no file matches {pattern!r} in {root}"


def is_suite_file(path: Path) -> bool:
    """Whether pytest would collect a file of this name as a suite."""
    return path.name == "agentbench.yaml" or path.name.endswith(".agentbench.yaml")


def id_problems(entries: list[Entry]) -> list[Problem]:
    """Give every id that is reserved, or equal to another one but for case or characters that ids cannot show."""
    first: dict[str, Entry] = {}
    problems: list[Problem] = []
    for entry in entries:
        own = _id(entry)
        if own is None:
            continue
        slug = scenario_slug(own)
        if is_reserved(slug):
            message = f"the id {own!r} is a reserved file name on some systems"
            problems.append(entry.document.problem((*entry.path, "id"), message, "give it another name"))
        other = first.setdefault((slug if entry.task_key is None else f"{slug}-{entry.task_key}").lower(), entry)
        if other is not entry:
            theirs = _id(other) or ""
            same = own.lower() == theirs.lower()
            message = f"the id {own!r} is " + ("taken" if same else f"the same as {theirs!r} when shown")
            message += f", first at {other.document.file_of(other.path)}:{other.document.line((*other.path, 'id'))}"
            hint = "ids must differ in more than case and punctuation"
            problems.append(entry.document.problem((*entry.path, "id"), message, hint))
    return problems


def keyed_apart(scenarios: list[tuple[Scenario, Entry]]) -> list[Scenario]:
    """Give the scenarios; where several versions of a task bear keys, each id ends in its key."""
    keys: dict[str, set[str | None]] = {}
    for scenario, entry in scenarios:
        keys.setdefault(scenario.id.lower(), set()).add(entry.task_key)
    return [
        scenario
        if entry.task_key is None or len(keys[scenario.id.lower()]) == 1
        else scenario.model_copy(update={"id": scenario_slug(f"{scenario.task.id}-{entry.task_key}")})
        for scenario, entry in scenarios
    ]


def _id(entry: Entry) -> str | None:
    found = entry.value.get("id") if isinstance(entry.value, dict) else None
    return str(found) if isinstance(found, str | int) and str(found).strip() else None


def _read_task_lines(file: Path) -> Iterator[Entry]:
    """Give the tasks of a file with one task, or `{task_key, task}`, per line."""
    problems: list[Problem] = []
    lines = 0
    for number, text in read_lines(file):
        lines += 1
        try:
            document = read_json(text, file, first_line=number)
        except SuiteError as error:
            problems += error.problems
            continue
        value = document.value
        if isinstance(value, dict) and "task" in value and "user_scenario" not in value:
            key = value.get(TASK_KEY)
            yield Entry(
                document=document, path=("task",), value=value["task"], task_key=None if key is None else str(key)
            )
        else:
            yield Entry(document=document, path=(), value=value)
    if not lines:
        problems.append(Problem(file=file, message="the file is empty"))
    if problems:
        raise SuiteError(problems)


def _readable(files: list[Path]) -> list[Path]:
    return [file for file in files if file.suffix.lower() in SUFFIXES]


def _bad_suffix(file: Path) -> str:
    return f"{file.name!r} is none of {', '.join(sorted(SUFFIXES))}"


def load_scenarios(file: Path, *, environ: Mapping[str, str]) -> list[Scenario]:
    """Read one scenario file by itself; raise `SuiteError` with every problem. Policies are not looked up."""
    substitution = Substitution(environ)
    problems: list[Problem] = []
    if file.suffix.lower() not in SUFFIXES:
        raise SuiteError([Problem(file=file, message=_bad_suffix(file))])
    entries = list(read_scenario_file(file, substitution))
    found = [(read_scenario(entry, problems), entry) for entry in entries]
    problems += [*substitution.problems, *id_problems(entries)]
    if problems:
        ordered = sorted(problems, key=lambda one: (one.line, one.column))
        raise SuiteError([substitution.mask_problem(problem) for problem in ordered])
    return keyed_apart([(scenario, entry) for scenario, entry in found if scenario is not None])
