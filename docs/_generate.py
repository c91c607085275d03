"""Write what the code knows into the documentation: options, commands, keys of files, public names, and `llms.txt`.

Run `python docs/_generate.py` after any of these changed; `tests/docs/test_generated.py` says when.
"""

import contextlib
import inspect
import io
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

import pytest_agentbench
from pytest_agentbench.cli import main
from pytest_agentbench.core.file_models import Written
from pytest_agentbench.core.rubric import Criterion, Rubric
from pytest_agentbench.core.termination import Thresholds
from pytest_agentbench.generation.draft import HELPS
from pytest_agentbench.spec.scenario import ScenarioForm
from pytest_agentbench.spec.suite import JudgeForm, ModelForm, RecipeForm, SuiteFile
from pytest_agentbench.suites.json_schemas import field_docstrings

DOCS = Path(__file__).resolve().parent
LLMS = DOCS / "llms.txt"
WIDE = {"COLUMNS": "1000", "NO_COLOR": "1"}
"""Variables under which no line of a help text is folded or coloured."""

SUITE = {
    "agent": "../how-to/agents.md",
    "scenarios": "#scenarios",
    "extends": "#one-suite-from-another",
    "owner": "../how-to/ci.md#quarantine",
    "variants": "../how-to/compare.md#variants",
    "environment": "../how-to/environment.md",
    "user": "../how-to/users.md",
    "language": "../how-to/users.md#languages",
    "approvals": "../how-to/users.md#approvals",
    "llm": "../how-to/models.md",
    "judge": "../how-to/judges.md",
    "auditor": "../how-to/judges.md#the-auditor",
    "rubric": "../how-to/judges.md#rubrics",
    "cassette": "../how-to/cassettes.md",
    "policies": "rules.md",
    "faults": "../how-to/faults.md",
    "generate": "../how-to/generate.md#the-recipe",
    "stall": "../understand/judged.md#stalled",
    "gates": "../how-to/ci.md#gates",
    "trials": "../how-to/compare.md#several-trials",
    "context": "../how-to/frameworks.md#context",
    "now": "../how-to/environment.md#the-clock",
}
"""Where more is said of keys of a suite."""

SCENARIO = {
    "says": "../how-to/users.md#lines-and-what-they-mean",
    "sessions": "../how-to/users.md#several-sessions",
    "knows": "../how-to/users.md#what-it-answers",
    "modifiers": "../how-to/users.md#modifiers",
    "expect": "#expected-calls",
    "match": "#expected-calls",
    "output": "#typed-answers-and-replies",
    "replies": "#typed-answers-and-replies",
    "checks": "hooks.md#checks-of-a-scenario",
    "faults": "../how-to/faults.md",
    "complexity": "../understand/judged.md#complexity",
    "quarantine": "../how-to/ci.md#quarantine",
    "review": "../how-to/generate.md#review",
}
"""Where more is said of keys of a scenario."""

RECIPE = {
    "review": "#review",
    "chains": "#goals-instead-of-walks",
    "personas": "users.md#modifiers",
    "allow_writes": "#what-is-called-and-what-never",
    "trust_annotations": "#what-is-called-and-what-never",
    "allow": "#what-is-called-and-what-never",
    "agents": "#several-agents",
    "document": "#policies-from-a-document",
}
"""Where more is said of keys of a recipe."""

MEMBERS = {"AgentBench": ("simulate", "simulate_async")}
"""Where a class has more than its users call, what they do call."""

JUDGE = {"llm": "models.md", "sees": "#what-a-judge-sees", "calibration": "#calibrate"}

_OPTION = re.compile(r"^  (?:-\w(?: \S+)?, )?(--[\w-]+)(?:[ =](\S.*?))?(?:  +(.*))?$")
_COMMAND = re.compile(r"^  +([a-z][\w-]*)  +(.*)$")


def write() -> None:
    """Write all files."""
    for name, tables in TABLES.items():
        page = DOCS / name
        page.write_text(with_tables(page.read_text(encoding="utf-8"), tables), encoding="utf-8")
    LLMS.write_text(llms(), encoding="utf-8")


def with_tables(page: str, tables: Mapping[str, Callable[[], list[str]]]) -> str:
    """Give a page with its tables as they should be."""
    for name, rows in tables.items():
        start, end = f"<!-- generated: {name} -->", "<!-- end -->"
        before, found, rest = page.partition(start)
        if not found:
            raise ValueError(f"no page has the line {start}")
        page = before + start + "\n" + "\n".join(rows()) + "\n" + end + rest.partition(end)[2]
    return page


def keys(model: type[Written], more: Mapping[str, str] | None = None, *, defaults: bool = True) -> list[str]:
    """Give a row for each key of a model, those of `more` with a link: what it is, and its default."""
    named, told, links = model.keys(), field_docstrings(model), more or {}
    if unknown := links.keys() - named.keys():
        raise ValueError(f"{model.__name__} has no keys {sorted(unknown)}")
    rows = ["| key | what it is | default |", "|---|---|---|"] if defaults else ["| key | what it is |", "|---|---|"]
    for key in named:
        link = links.get(key)
        text = told[named[key]].removesuffix(".").replace("|", "\\|")
        row = f"| {f'[`{key}`]({link})' if link else f'`{key}`'} | {text} |"
        rows.append(f"{row} {default(model, named[key])} |" if defaults else row)
    return rows


def default(model: type[Written], name: str) -> str:
    """Say what holds where a key is left out; nothing where its text says so, or where there is nothing to say."""
    field = model.model_fields[name]
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        value = {key: one for key, one in value.model_dump().items() if one not in (None, "", (), {})}
    return "" if value is None or value in ("", (), {}) else f"`{plain(value)}`"


def plain(value: Any) -> str:
    """Give a value as a suite would write it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {plain(one)}" for key, one in value.items()) + "}"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def names() -> list[str]:
    """Give what makes mkdocstrings describe each public name: functions first, then what they take and give."""
    homes = {name: home for home, several in pytest_agentbench._HOMES.items() for name in several}
    kinds: dict[str, list[str]] = {"Functions": [], "Types": [], "Errors": []}
    for name in pytest_agentbench.__all__:
        one = getattr(pytest_agentbench, name)
        is_error = isinstance(one, type) and issubclass(one, Exception)
        kinds["Errors" if is_error else "Functions" if inspect.isfunction(one) else "Types"].append(name)
    lines = []
    for kind, listed in kinds.items():
        lines += ["", f"## {kind}"]
        for name in listed:
            lines += ["", f"::: pytest_agentbench.{homes[name]}.{name}"]
            if name in MEMBERS:
                lines += [f"    options: {{members: [{', '.join(MEMBERS[name])}]}}"]
    return [*lines, ""]


def pytest_options() -> list[str]:
    """Give a row for each option that the plugin adds to pytest."""
    rows = ["| option | |", "|---|---|"]
    for line in whole_lines(pytest_help()):
        found = _OPTION.match(line)
        if found and found[1].startswith("--agentbench"):
            value = f" {found[2].strip('{}')}" if found[2] else ""
            rows.append(f"| `{found[1]}{value}` | {found[3]} |".replace("NAME]|all", "NAME]\\|all"))
    return rows


def commands() -> list[str]:
    """Give a row for each command: what it does."""
    found = filter(None, map(_COMMAND.match, agentbench("--help")))
    return ["| command | |", "|---|---|", *(f"| `agentbench {one[1]}` | {one[2]} |" for one in found)]


def llms() -> str:
    """Give the list of pages, in the order of the site, with the first sentence of each."""
    site = yaml.safe_load((DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8"))
    lines = [f"# {site['site_name']}", "", f"> {site['site_description']}"]
    for entry in site["nav"]:
        [(section, inside)] = entry.items()
        lines += ["", f"## {section}", ""]
        for page in [inside] if isinstance(inside, str) else inside:
            title, sentence = opening((DOCS / page).read_text(encoding="utf-8"))
            address = page.removesuffix("index.md").replace(".md", "/") or "."
            lines.append(f"- [{title}]({address}): {sentence}")
    return "\n".join(lines) + "\n"


def opening(page: str) -> tuple[str, str]:
    """Give the title of a page, and the first sentence below it."""
    title, *paragraphs = page.split("\n\n")
    text = next(part for part in paragraphs if not part.startswith(("#", "|", "!", "`" * 3)))
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(text.split())).replace("**", "")
    return title.removeprefix("# "), re.split(r"(?<=[.?:]) (?=[A-Z`1])", plain)[0]


def agentbench(*arguments: str) -> list[str]:
    """Give the lines that the command prints."""
    printed = io.StringIO()
    before = {name: os.environ.get(name) for name in WIDE}
    os.environ.update(WIDE)
    try:
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            main(list(arguments))
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
    return whole_lines(printed.getvalue())


def pytest_help() -> str:
    """Give what `pytest --help` prints with our plugin and no other, nor this repository's `conftest.py`."""
    command = [sys.executable, "-m", "pytest", "-p", "agentbench", "--noconftest", "--help"]
    told = {**WIDE, "PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(  # noqa: S603 - our own program
        command, capture_output=True, text=True, check=True, env=os.environ | told, cwd=DOCS
    ).stdout


def whole_lines(text: str) -> list[str]:
    """Give the lines of a help text, none of them folded after a long name."""
    return re.sub(r"(?m)^(  +-?-?[\w-]+[^\n]{17,})\n {20,}", r"\1  ", text).splitlines()


def reasons() -> list[str]:
    """Say what helps against each reason for which a draft is lost."""
    rows = [f"| {', '.join(f'`{one}`' for one in several)} | {helps} |" for helps, several in HELPS.items()]
    return ["| a draft is lost because | what helps |", "|---|---|", *rows]


TABLES: dict[str, dict[str, Callable[[], list[str]]]] = {
    "reference/cli.md": {"options of pytest": pytest_options, "commands": commands},
    "reference/suite.md": {
        "keys of a suite": lambda: keys(SuiteFile, SUITE),
        "keys of a scenario": lambda: keys(ScenarioForm, SCENARIO, defaults=False),
    },
    "reference/python.md": {"public names": names},
    "how-to/judges.md": {
        "keys of a judge": lambda: keys(JudgeForm, JUDGE),
        "keys of a criterion": lambda: keys(Criterion),
        "keys of a rubric": lambda: keys(Rubric),
    },
    "how-to/models.md": {"keys of a model": lambda: keys(ModelForm)},
    "how-to/generate.md": {"keys of a recipe": lambda: keys(RecipeForm, RECIPE)},
    "research/generation.md": {"reasons of lost drafts": reasons},
    "understand/judged.md": {"keys of stall": lambda: keys(Thresholds)},
}
"""By page, the tables that are written into it."""


if __name__ == "__main__":
    write()
