"""`agentbench init`: a suite, a first scenario and a CI job for an agent, and a first look at it."""

import argparse
import ast
import asyncio
import json
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from importlib.metadata import distribution, files, packages_distributions
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from pytest_agentbench.cli.doctor import observed
from pytest_agentbench.cli.init_search import parsed
from pytest_agentbench.cli.init_target import Target, find_target
from pytest_agentbench.cli.schema import schema
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.errors import SuiteError, SuiteFaultError
from pytest_agentbench.core.files import write_atomic
from pytest_agentbench.core.names import listing
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.report.table import glyphs_shown
from pytest_agentbench.users.scripted import ScriptedUser
from pytest_agentbench.validation.doctor import HELLO, Diagnosis, examine

SUITE = "agentbench.yaml"
SCHEMA = "agentbench.schema.json"
WORKFLOW = Path(".github", "workflows", "agentbench.yml")
ONLY_HERE = "This installs pytest-agentbench from a folder that a job does not have"


def suite_text(
    agent: str | dict[str, Any],
    *,
    says: Sequence[str],
    asked: str = "",
    calls: Sequence[ToolCall] = (),
    takes_tools: bool,
    environment: dict[str, Any] | None = None,
    states: Sequence[str] = (),
) -> str:
    """Write a suite; `environment` is what was found beside an agent that takes tools, `states` what may be its state.

    `calls` of the first turn are suggested, since only its owner knows whether they were right; so is an answer to what
    the agent `asked` back.
    """
    return (
        "\n".join([*_head(agent, environment, states, takes_tools=takes_tools), *_scenario(says, asked, calls)]) + "\n"
    )


def _head(
    agent: str | dict[str, Any],
    environment: dict[str, Any] | None,
    states: Sequence[str],
    *,
    takes_tools: bool,
) -> Iterator[str]:
    yield f"# yaml-language-server: $schema={SCHEMA}"
    yield f"agent: {agent if isinstance(agent, str) else _flow(agent)}"
    if not isinstance(agent, str) and "http" in agent:
        yield "# If the request is not {message, session_id}, or the answer not {reply}, write what is sent and read:"
        yield "# agent: {http: {url: ..., body: {text: $message}, reply: output.text, calls: trace.calls}}"
    if takes_tools and environment:
        yield f"environment: {_flow(environment)}"
    elif takes_tools:
        yield ""
        yield "# The agent takes `tools`: name the module whose functions they are, and what these work on."
        yield "# environment: {tools: my_tools, state: {json: state.json}}"
        if len(states) > 1:
            yield f"# Several files here could be the state: {listing(states)}."
    yield ""


def environment_beside(folder: Path, agent: Path | None) -> dict[str, Any] | None:
    """Find the module of tools in a folder, by its name or by the decorator that it imports, and the state of these.

    Nothing is executed. None where no module is one, or its functions take a `state` and not exactly one file is it.
    """
    likely = [file for file in sorted(folder.glob("*.py")) if file != agent and file.stem.isidentifier()]
    found = next(filter(None, (_tools_in(file) for file in likely)), None)
    if found is None:
        return None
    module, takes_state = found
    if not takes_state:
        return {"tools": module}
    states = states_beside(folder, folder / f"{module}.py")
    if len(states) != 1:
        return None
    if states[0].endswith(".json"):
        return {"tools": module, "state": {"json": states[0]}}
    rows = next((name for name in _ROWS if (folder / name).is_file()), None)
    return {"tools": module, "state": {"sqlite": {"schema": states[0], **({"rows": rows} if rows else {})}}}


_USUAL = ("schema.sql", "state.json")
_ROWS = ("rows.yaml", "seed.yaml", "rows.json")
_MOST_BYTES = 5_000_000


def states_beside(folder: Path, tools: Path) -> list[str]:
    """Give the files that may hold the state: the usual name, else those that the tools name, else all that could."""
    usual = [name for name in _USUAL if (folder / name).is_file()][:1]
    there = sorted(file.name for file in (*folder.glob("*.sql"), *folder.glob("*.json")) if _may_be_state(file))
    text = tools.read_text(encoding="utf-8", errors="replace") if tools.is_file() else ""
    named = [name for name in there if re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", text)]
    return usual or named or there


def _may_be_state(file: Path) -> bool:
    """Whether a file has the form of a state: statements of SQL, or a JSON mapping of tables."""
    if not file.is_file() or file.name in (SCHEMA, *_ROWS) or file.stat().st_size > _MOST_BYTES:
        return False
    if file.suffix == ".sql":
        return True
    try:
        held = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(held, dict) and bool(held) and all(map(_is_table, held.values()))


def _is_table(value: object) -> bool:
    """Whether something is a list of rows or a mapping of keys to rows; settings of a tool are neither."""
    if not isinstance(value, dict | list):
        return False
    return all(isinstance(row, dict) for row in (value.values() if isinstance(value, dict) else value))


def _tools_in(file: Path) -> tuple[str, bool] | None:
    """Give the module of a file of tools, and whether they take a `state`; None where it is none."""
    tree = parsed(file)
    public = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_")
    ]
    decorates = any(
        isinstance(node, ast.ImportFrom)
        and node.module == "pytest_agentbench"
        and "tool" in {a.name for a in node.names}
        for node in tree.body
    )
    if not public or not (decorates or "tools" in file.stem.split("_")):
        return None
    declared = [one for node in public for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    return file.stem, any(one.arg == "state" for one in declared)


def _scenario(says: Sequence[str], asked: str, calls: Sequence[ToolCall]) -> Iterator[str]:
    yield "scenarios:"
    yield "  - id: first"
    yield "    says:  # what the user says, one line for each answer"
    yield from (f"      - {_literal(line)}" for line in says)
    if asked:
        yield f"      # the agent then said: {_flow(shorten(asked, 200))}"
        yield '      # - "what the user answers"'
    if calls:
        yield "    # What a right conversation calls. These are the calls of the agent's first turn; were they right?"
        yield "    # expect:"
        yield from (f"    #   - {_literal({call.name: call.arguments})}" for call in calls)
    else:
        yield "    # What a right conversation calls, and what a right answer mentions:"
        yield "    # expect: [{look_up: {number: W1}}]"
        yield "    # communicate: [shipped]"


def workflow_text(suite: str, install: str, *, only_here: bool, branch: str = "main") -> str:
    """Write a job that runs the suite at `suite`, a path in the repository, after `install`; on pushes to `branch`.

    Where what it installs is `only_here`, on this machine, the job says that.
    """
    note = f"      # {ONLY_HERE}: name an index, a URL or a path in the repository.\n" if only_here else ""
    return f"""\
name: agentbench

on:
  push:
    branches: [{branch}]
  pull_request:

permissions:
  contents: read

jobs:
  scenarios:
    runs-on: ubuntu-latest
    timeout-minutes: 10
    # An agent that calls a model needs its key: add it to the repository's secrets, then
    # env: {{OPENAI_API_KEY: "${{{{ secrets.OPENAI_API_KEY }}}}"}}
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
{note}      - run: >-
          {install}
      # Exits 1 if a scenario fails; with gates in the suite, if a gate fails.
      - run: >-
          pytest --rootdir . --agentbench {suite} --agentbench-html report.html
          --agentbench-markdown "$GITHUB_STEP_SUMMARY" --junitxml junit.xml
      # Exits 1 if the session did not come to its end: a process that an agent leaves with os._exit(0) looks green.
      - run: agentbench report --complete
      - uses: actions/upload-artifact@v4
        if: ${{{{ !cancelled() }}}}
        with:
          name: agentbench
          path: |
            .agentbench/
            report.html
            junit.xml
          include-hidden-files: true
"""


def repository_of(folder: Path) -> Path:
    """Give the repository that a folder lies in, else the folder itself."""
    folder = folder.resolve()
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)


def branch_of(repository: Path) -> str:
    """Give the branch that a repository is on; `main` where that cannot be read."""
    head = repository / ".git" / "HEAD"
    text = head.read_text(encoding="utf-8", errors="replace") if head.is_file() else ""
    name = text.strip().removeprefix("ref: refs/heads/")
    return name if re.fullmatch(r"[\w./-]{1,100}", name) and name != text.strip() else "main"


def install_line(repository: Path, agent: Path | None) -> str:
    """Say how a job installs what the agent needs: by the files that are there, else by what the agent imports."""
    needs = ["-r requirements.txt"] if (repository / "requirements.txt").is_file() else []
    needs += ["-e ."] if (repository / "pyproject.toml").is_file() else []
    if not needs and agent is not None:
        needs = _imported(agent)
    return " ".join(["pip install", *needs, *_this_package(repository)])


def _this_package(repository: Path) -> list[str]:
    """Say how this package was installed: from an index, a repository, an address, or a path here."""
    text = distribution("pytest-agentbench").read_text("direct_url.json")
    origin = json.loads(text) if text else {}
    url = re.sub("//(?!git@)[^/@]+@", "//", origin.get("url", ""))  # a token is for no file
    if not url:
        return ["pytest-agentbench"]
    if url.startswith("file:"):
        path = Path(url2pathname(urlsplit(url).path))
        inside = path.is_relative_to(repository)
        named = f"./{path.relative_to(repository).as_posix()}" if inside else str(path)
        return [*(["-e"] if origin.get("dir_info", {}).get("editable") else []), shlex.quote(named)]
    version = origin.get("vcs_info", {})
    if version:
        url = f"{version['vcs']}+{url}@{version['commit_id']}"
    return [shlex.quote(f"pytest-agentbench @ {url}{_part_of(origin)}")]


def _part_of(origin: dict[str, Any]) -> str:
    folder = origin.get("subdirectory")
    return f"#subdirectory={folder}" if folder else ""


def is_only_here(repository: Path, install: str) -> bool:
    """Whether a line installs a path outside the repository, which is on this machine alone."""
    paths = [Path(word) for word in shlex.split(install) if Path(word).is_absolute()]
    return not all(path.is_relative_to(repository) for path in paths)


def _imported(file: Path) -> list[str]:
    """Name the installed distributions that a file imports."""
    homes = packages_distributions()
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module)
    found = {one for name in names for one in _home(name, sorted(set(homes.get(name.partition(".")[0], ()))))}
    return sorted(found - {"pytest-agentbench"}, key=str.lower)


def _home(module: str, candidates: Sequence[str]) -> list[str]:
    """Choose the distribution that a module is of: of several with the same package, the one that holds its file."""
    if len(candidates) < 2:
        return list(candidates)
    path = module.replace(".", "/")
    places = {f"{path}.py", f"{path}/__init__.py"}
    holding = [one for one in candidates if any(file.as_posix() in places for file in files(one) or ())]
    named = [one for one in candidates if one.replace("-", "_") == module.partition(".")[0]]
    return sorted({*holding[:1], *named})


def _flow(value: object) -> str:
    """Write a value on one line; JSON is YAML."""
    return json.dumps(value, ensure_ascii=True)


def _literal(value: object) -> str:
    """Write a value in which `${` names no variable."""
    return _flow(value).replace("${", "$${")


SKILL = Path(__file__).parent / "skill" / "SKILL.md"
"""How a coding agent works with this package."""

SKILLS = Path(".claude", "skills")
"""Where coding agents look for skills of a repository, unless another folder is named."""

_PROBLEMS = 1
_TOLD = frozenset({"agent", "reply", "calls"})
"""What is said in any case; of the rest only what would make runs fail."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.description = (
        "Writes agentbench.yaml with a first scenario, and a GitHub workflow, for the agent at TARGET; then plays a "
        "first turn, and two short sessions at once, as `agentbench doctor` does. The exit status is 1 if the agent "
        "did not answer, or if something would make runs mislead."
    )
    parser.add_argument(
        "target",
        nargs="?",
        metavar="TARGET",
        help="package.module:name, my_agent.py[:name] or an http(s) address; without it the current folder is searched",
    )
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="write the suite to FOLDER, not beside the agent")
    parser.add_argument(
        "--say",
        action="append",
        metavar="TEXT",
        help="what the user says first (default: a greeting); repeat it for the next lines",
    )
    parser.add_argument(
        "--skill",
        type=Path,
        nargs="?",
        const=SKILLS,
        metavar="FOLDER",
        help=f"write only instructions for coding agents, into FOLDER ({SKILLS.as_posix()})",
    )
    parser.add_argument("--force", action="store_true", help="replace files that are there")
    parser.add_argument("--json", action="store_true", help="print what was found, written and seen as JSON")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Give what was written and seen, and the exit status.

    Raise `ImportPathError` or `SuiteFaultError` where there is no agent, or a suite that is not to be replaced.
    """
    here = Path.cwd()
    if options.skill is not None:
        told = _write_skill(here / options.skill, here, force=options.force)
        return dumps({"written": [told.removeprefix("wrote ")]}) if options.json else told, 0
    into = None if options.into is None else options.into.resolve()
    target = find_target(options.target, here, into)
    suite = target.root / SUITE
    if suite.exists() and not options.force:
        raise SuiteFaultError(f"{_shown(suite, here)} is there already; --force replaces it, --into writes elsewhere")
    says = options.say or [HELLO]
    beside = environment_beside(target.root, target.file) if target.takes_tools else None
    states = states_beside(target.root, target.root / "") if target.takes_tools and beside is None else []
    how: dict[str, Any] = {"takes_tools": target.takes_tools, "environment": beside, "states": states}
    write_atomic(suite, suite_text(target.agent, says=says, **how))
    written = [suite, *_beside(suite, target.file, force=options.force)]
    try:
        diagnosis = examine(suite, environ=os.environ)
    except SuiteError:
        if beside is None:
            raise
        how["environment"] = None  # what lay beside the agent is not what it looked like
        write_atomic(suite, suite_text(target.agent, says=says, **how))
        diagnosis = examine(suite, environ=os.environ)
    asked = diagnosis.answered if len(says) == 1 and asyncio.run(_asks_back(says[0], diagnosis.answered)) else ""
    if diagnosis.calls or asked:
        seen = suite_text(target.agent, says=says, asked=asked, calls=diagnosis.calls, **how)
        write_atomic(suite, seen)
    status = 0 if diagnosis.is_healthy else _PROBLEMS
    if options.json:
        found = {"agent": target.agent, "what": target.what, "others": list(target.others), "asked": asked}
        found |= {"written": [_shown(file, here) for file in written], "doctor": diagnosis.model_dump(mode="json")}
        return dumps(found, indent=2), status
    drawn = glyphs_shown()
    lines = "\n".join(_lines(target, written, diagnosis, asked, here=here, environment=how["environment"]))
    return printable(drawn.plain(lines, newlines=True), newlines=True), status


def _write_skill(folder: Path, here: Path, *, force: bool) -> str:
    """Write how a coding agent works with this package; raise `SuiteFaultError` where other text stands there."""
    file, text = folder / "pytest-agentbench" / "SKILL.md", SKILL.read_text(encoding="utf-8")
    if file.exists() and file.read_text(encoding="utf-8") != text and not force:
        raise SuiteFaultError(f"{_shown(file, here)} is there already and differs; --force replaces it")
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(file, text)
    return f"wrote {_shown(file, here)}"


def _beside(suite: Path, agent: Path | None, *, force: bool) -> Iterator[Path]:
    """Write what a suite has beside it, and give what was written: the rest was there."""
    repository = repository_of(suite.parent)
    path = suite.relative_to(repository).as_posix()
    install = install_line(repository, agent)
    job = workflow_text(
        shlex.quote(path), install, only_here=is_only_here(repository, install), branch=branch_of(repository)
    )
    texts = {
        suite.with_name(SCHEMA): schema("suite") + "\n",
        repository / WORKFLOW: job,
    }
    for file, text in texts.items():
        if force or not file.exists():
            write_atomic(file, text)
            yield file


async def _asks_back(line: str, answer: str) -> bool:
    """Whether the agent asked what a user who says nothing else cannot answer."""
    user = ScriptedUser()
    opening = await user.reply(View(says=(line,)))
    if opening.message is None or not answer:
        return False
    heard = (opening.message, Message(role="assistant", content=answer))
    closing = await user.reply(View(says=(line,), messages=heard))
    return any(act.kind == "other" for act in closing.acts or ())  # it had no answer


def _lines(
    target: Target,
    written: list[Path],
    diagnosis: Diagnosis,
    asked: str,
    *,
    here: Path,
    environment: dict[str, Any] | None,
) -> Iterator[str]:
    yield f"{target.name} is {target.what}"
    if target.others:
        yield f"  also there: {listing(target.others)}; name one of them to use it instead"
    if environment is not None:
        yield f"  its tools and what these work on: {_flow(environment)}"
    yield from (f"  wrote {_shown(file, here)}" for file in written)
    if target.root / SUITE in written and not any(file.name == WORKFLOW.name for file in written):
        yield f"  left {_shown(repository_of(target.root) / WORKFLOW, here)} as it is"
    yield ""
    yield f"said: {diagnosis.said}"
    told = [one for one in diagnosis.observations if one.question in _TOLD or one.mark == "problem"]
    yield from observed(told)
    yield ""
    suite = shlex.quote(_shown(target.root / SUITE, here))
    if asked:
        yield f"The agent asks back. Say in {suite} what the user answers, else the run is not scored. Then:"
    elif diagnosis.is_healthy:
        yield f"Say in {suite} what a right conversation calls and mentions, then:"
    else:
        yield "Mend what is marked PROBLEM, then:"
    yield f"  agentbench doctor {suite}"
    yield f"  pytest --agentbench {suite}"


def _shown(path: Path, here: Path) -> str:
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
