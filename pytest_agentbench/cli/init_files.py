"""The texts of the files that `agentbench init` writes: a suite with one scenario, and a job that runs it."""

import ast
import json
import re
import shlex
from collections.abc import Iterator, Sequence
from importlib.metadata import distribution, files, packages_distributions
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from pytest_agentbench.core.text import shorten
from pytest_agentbench.core.tool import ToolCall

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
) -> str:
    """Write a suite; `environment` is what was found beside an agent that takes tools.

    `calls` of the first turn are suggested, since only its owner knows whether they were right; so is an answer to what
    the agent `asked` back.
    """
    return "\n".join([*_head(agent, environment, takes_tools=takes_tools), *_scenario(says, asked, calls)]) + "\n"


def _head(agent: str | dict[str, Any], environment: dict[str, Any] | None, *, takes_tools: bool) -> Iterator[str]:
    yield f"# yaml-language-server: $schema={SCHEMA}"
    yield f"agent: {agent if isinstance(agent, str) else _flow(agent)}"
    if not isinstance(agent, str) and "http" in agent:
        yield "# What is posted and where the answer stands, where it is not {message, session_id} and {reply}:"
        yield "# agent: {http: {url: ..., body: {text: $message}, reply: output.text, calls: trace.calls}}"
    if takes_tools and environment:
        yield f"environment: {_flow(environment)}"
    elif takes_tools:
        yield ""
        yield "# The agent takes `tools`: name the module whose functions they are, and what these work on."
        yield "# environment: {tools: my_tools, state: {json: state.json}}"
    yield ""


def environment_beside(folder: Path, agent: Path | None) -> dict[str, Any] | None:
    """Find the module of tools in a folder, by its name or by the decorator that it imports, and the state of these.

    Nothing is executed. None where no module is one, or its functions take a `state` and no file looks like it.
    """
    likely = [file for file in sorted(folder.glob("*.py")) if file != agent and file.stem.isidentifier()]
    found = next(filter(None, (_tools_in(file) for file in likely)), None)
    if found is None:
        return None
    module, takes_state = found
    if not takes_state:
        return {"tools": module}
    if (folder / "schema.sql").is_file():
        rows = next((name for name in ("rows.yaml", "seed.yaml", "rows.json") if (folder / name).is_file()), None)
        return {"tools": module, "state": {"sqlite": {"schema": "schema.sql", **({"rows": rows} if rows else {})}}}
    return {"tools": module, "state": {"json": "state.json"}} if (folder / "state.json").is_file() else None


def _tools_in(file: Path) -> tuple[str, bool] | None:
    """Give the module of a file of tools, and whether they take a `state`; None where it is none."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None
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
