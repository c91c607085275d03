"""`agentbench init`: a suite, a first scenario and a CI job for an agent, and a first look at it."""

import argparse
import asyncio
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_agentbench.cli.doctor import observed
from pytest_agentbench.cli.init_files import (
    SCHEMA,
    SUITE,
    WORKFLOW,
    branch_of,
    environment_beside,
    install_line,
    is_only_here,
    repository_of,
    suite_text,
    workflow_text,
)
from pytest_agentbench.cli.init_target import Target, find_target
from pytest_agentbench.cli.schema import schema
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.errors import SuiteError, SuiteFaultError
from pytest_agentbench.core.files import write_atomic
from pytest_agentbench.core.names import listing
from pytest_agentbench.core.text import printable
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.report.glyphs import glyphs
from pytest_agentbench.users.scripted import ScriptedUser
from pytest_agentbench.validation.doctor import HELLO, Diagnosis, examine

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
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="write the suite there, not beside the agent")
    parser.add_argument(
        "--say", action="append", metavar="TEXT", help="what the user says (a greeting); given again, what it says next"
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
    how: dict[str, Any] = {"takes_tools": target.takes_tools, "environment": beside}
    write_atomic(suite, suite_text(target.agent, says=says, **how), encoding="utf-8")
    written = [suite, *_beside(suite, target.file, force=options.force)]
    try:
        diagnosis = examine(suite, environ=os.environ)
    except SuiteError:
        if beside is None:
            raise
        how["environment"] = None  # what lay beside the agent is not what it looked like
        write_atomic(suite, suite_text(target.agent, says=says, **how), encoding="utf-8")
        diagnosis = examine(suite, environ=os.environ)
    asked = diagnosis.answered if len(says) == 1 and asyncio.run(_asks_back(says[0], diagnosis.answered)) else ""
    if diagnosis.calls or asked:
        seen = suite_text(target.agent, says=says, asked=asked, calls=diagnosis.calls, **how)
        write_atomic(suite, seen, encoding="utf-8")
    status = 0 if diagnosis.is_healthy else _PROBLEMS
    if options.json:
        found = {"agent": target.agent, "what": target.what, "others": list(target.others), "asked": asked}
        found |= {"written": [_shown(file, here) for file in written], "doctor": diagnosis.model_dump(mode="json")}
        return dumps(found, indent=2), status
    drawn = glyphs(unicode=(sys.stdout.encoding or "").lower().startswith("utf"))
    lines = "\n".join(_lines(target, written, diagnosis, asked, here))
    return printable(drawn.plain(lines, newlines=True), newlines=True), status


def _write_skill(folder: Path, here: Path, *, force: bool) -> str:
    """Write how a coding agent works with this package; raise `SuiteFaultError` where other text stands there."""
    file, text = folder / "pytest-agentbench" / "SKILL.md", SKILL.read_text(encoding="utf-8")
    if file.exists() and file.read_text(encoding="utf-8") != text and not force:
        raise SuiteFaultError(f"{_shown(file, here)} is there already and differs; --force replaces it")
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(file, text, encoding="utf-8")
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
            write_atomic(file, text, encoding="utf-8")
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


def _lines(target: Target, written: list[Path], diagnosis: Diagnosis, asked: str, here: Path) -> Iterator[str]:
    yield f"{target.name} is {target.what}"
    if target.others:
        yield f"  also there: {listing(target.others)}; name one of them to use it instead"
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
