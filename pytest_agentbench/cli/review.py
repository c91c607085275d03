"""`agentbench review`: generated scenarios one after the other, and what a reviewer says of each, in its file."""

import argparse
import getpass
import os
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import AgentBenchError, SuiteError, SuiteFaultError, with_hint
from pytest_agentbench.core.files import write_atomic
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.names import count, suggestion
from pytest_agentbench.core.text import printable
from pytest_agentbench.generation.review import (
    Reviewed,
    Surroundings,
    read_again,
    read_file,
    scenario_files,
    surroundings_of,
)
from pytest_agentbench.report.scenario import review_page, screen, view_of
from pytest_agentbench.report.table import Glyphs, glyphs_shown, natural_width, table
from pytest_agentbench.suites.review_form import accepted, rejected, with_review

KEYS = {"a": "accept", "r": "reject", "e": "edit", "s": "skip", "q": "quit"}
"""What a key does; the words may be typed as well."""

REASON = "why is it rejected? (one line; nothing goes back) "

_WIDTH = 140
"""Wider terminals leave the rest empty: lines are read, not scanned."""


@dataclass(frozen=True, kw_only=True)
class Desk:
    """What reviewing takes: who decides and when, and how it is shown, answered and edited."""

    by: str
    on: date
    width: int
    marks: Glyphs
    say: Callable[[str], None]
    key: Callable[[], str | None]
    line: Callable[[], str | None]
    edit: Callable[[Path], str]


class Stopped(Exception):  # noqa: N818 - it is no error
    """Nobody wants to review further."""


class Reviewing:
    """Shows scenarios one by one, each on a screen of its own, and writes into its file what is said of it."""

    def __init__(self, desk: Desk, around: Surroundings, environ: dict[str, str]) -> None:
        self._desk = desk
        self._around = around
        self._environ = environ
        self.done: Counter[str] = Counter()

    def go(self, scenarios: Sequence[Reviewed]) -> str:
        """Ask about each; give what became of them."""
        try:
            for number, one in enumerate(scenarios, 1):
                self.done[self._one(one, f"{number} of {len(scenarios)}")] += 1
        except Stopped:
            pass
        left = len(scenarios) - self.done.total()
        words = ("accepted", "rejected", "skipped", "gone")
        parts = [f"{self.done[word]} {word}" for word in words if self.done[word]]
        return ", ".join([*parts, *([f"{left} left"] if left or not parts else [])])

    def _one(self, one: Reviewed, which: str) -> str:
        """Show a scenario until something was decided about it; give what."""
        desk = self._desk
        now: Reviewed | None = self._again(one)  # an earlier screen may have changed the file
        while True:
            if now is None:
                desk.say(f"{one.file}: no generated scenario {printable(one.scenario.id)!r} is left in it\n")
                return "gone"
            one = now
            desk.say("\n" + "\n".join(screen(view_of(one, self._around), which, desk.marks, desk.width)) + "\n")
            chosen = self._choice()
            try:
                if chosen == "skip":
                    return "skipped"
                if chosen == "accept":
                    if problems := self._around.call_problems(one.scenario):
                        raise SuiteError(problems)
                    self._write(one, accepted(one.written, desk.by, desk.on))
                    return "accepted"
                if chosen == "reject":
                    desk.say(REASON)
                    reason = desk.line()
                    if reason is None:
                        raise Stopped
                    if reason.strip():
                        self._write(one, rejected(reason.strip(), desk.by, desk.on))
                        return "rejected"
                    continue
                now = self._edited(one)
            except (AgentBenchError, OSError) as error:
                said = "the edit is in the file; press e to correct it" if chosen == "edit" else "not changed"
                desk.say(f"{said}: {printable(str(error), newlines=True)}\n")
                now = self._again(one)

    def _choice(self) -> str:
        desk = self._desk
        while True:
            desk.say("  ".join(f"[{key}]{word[1:]}" for key, word in KEYS.items()) + "  ")
            given = desk.key()
            if given is None:
                raise Stopped
            word = given.strip().lower()
            chosen = KEYS.get(word, word if word in KEYS.values() else "")
            if chosen == "quit":
                raise Stopped
            if chosen:
                return chosen
            desk.say(f"{printable(given.strip())!r} is none of the keys: {', '.join(KEYS)}\n")

    def _write(self, one: Reviewed, review: JsonValue) -> None:
        """Write a review, unless the scenario is not what was shown any more."""
        now = next((other for other in read_file(one.file, self._environ) if other.index == one.index), None)
        if now is None or now.written != one.written:
            raise SuiteFaultError(f"{one.file} has changed since it was shown")
        text = one.file.read_bytes().decode("utf-8")
        write_atomic(one.file, with_review(text, one.file, one.index, review))

    def _edited(self, one: Reviewed) -> Reviewed | None:
        wrong = self._desk.edit(one.file)
        if wrong:
            self._desk.say(f"{printable(wrong)}\n")
        return read_again(one, self._environ)

    def _again(self, one: Reviewed) -> Reviewed | None:
        try:
            return read_again(one, self._environ)
        except (AgentBenchError, OSError):
            return replace(one, written=None)  # what cannot be read is never accepted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.description = (
        "Shows each scenario that waits for a reviewer: what its user says, the rows it starts from, the expected "
        "calls, and the wrong run that must fail. One key accepts, rejects with a reason, edits in $EDITOR, skips or "
        "quits; without a terminal, keys are read line by line. The decision is written into the scenario's file."
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the folder of a recipe, such as generated/")
    parser.add_argument("--list", action="store_true", help="print a table of all scenarios, and change nothing")
    parser.add_argument("--json", action="store_true", help="print the table as JSON, and change nothing")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write one static page, and change nothing")
    parser.add_argument(
        "--only", action="append", default=[], metavar="ID", help="only this scenario, reviewed or not; may be repeated"
    )
    parser.add_argument("--all", action="store_true", help="also those that were accepted or rejected")
    parser.add_argument("--suite", type=Path, metavar="FILE", help="the suite of the scenarios, if it is not found")
    parser.add_argument(
        "--by", type=_name, metavar="NAME", help="who reviews (default: $AGENTBENCH_REVIEWER, or the login)"
    )
    parser.add_argument("--on", type=_day, metavar="DATE", help="the date of the decision (default: today)")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Give what became of the scenarios, and the exit status 0; raise `SuiteError` for files that are wrong."""
    environ = dict(os.environ)
    scenarios = [one for file in scenario_files(options.folder) for one in read_file(file, environ)]
    marks = glyphs_shown()
    if options.json:
        return dumps([_facts(one) for one in scenarios], indent=2), 0
    if options.list:
        return "\n".join(_listed(scenarios, marks)), 0
    chosen = _chosen(scenarios, options.only, everything=options.all)
    if not chosen:
        return f"nothing to review in {options.folder}: {_counts(scenarios)}", 0
    around = surroundings_of(options.folder, options.suite, environ)
    if options.html is not None:
        page = review_page([view_of(one, around) for one in chosen], str(options.folder))
        write_atomic(options.html, page)
        written = f"{count(len(chosen), 'scenario')} written to {options.html}"
        return f"{written}; decide with: agentbench review {options.folder}", 0
    desk = Desk(
        by=options.by or _reviewer(environ),
        on=options.on or date.today(),
        width=min(shutil.get_terminal_size((100, 24)).columns, _WIDTH),
        marks=marks,
        say=_say,
        key=_key if sys.stdin.isatty() else _line,
        line=_line,
        edit=_edit,
    )
    return f"agentbench review: {Reviewing(desk, around, environ).go(chosen)}", 0


def _chosen(scenarios: Sequence[Reviewed], only: Sequence[str], *, everything: bool) -> list[Reviewed]:
    names = [one.scenario.id for one in scenarios]
    for name in only:
        if name not in names:
            raise SuiteFaultError(with_hint(f"there is no generated scenario {name!r}", suggestion(name, names)))
    if only:
        return [one for one in scenarios if one.scenario.id in only]
    return [one for one in scenarios if everything or one.is_open]


def _facts(one: Reviewed) -> dict[str, str | tuple[str, ...]]:
    review = one.scenario.review
    return {
        "scenario": one.scenario.id,
        "review": one.state,
        "by": review.by if review else "",
        "on": review.on if review else "",
        "policies": one.scenario.policies,
        "reason": review.reason if review else "",
    }


def _listed(scenarios: Sequence[Reviewed], marks: Glyphs) -> list[str]:
    rows = [["scenario", "review", "by", "on", "policies", "reason"]]
    for one in scenarios:
        facts = _facts(one)
        rows.append([marks.plain(cell if isinstance(cell, str) else ", ".join(cell)) for cell in facts.values()])
    return [*table(rows, ["<"] * 6, width=natural_width(rows), glyphs=marks), "", _counts(scenarios)]


def _counts(scenarios: Sequence[Reviewed]) -> str:
    counts = Counter(one.state for one in scenarios)
    words = ("pending", "lapsed", "unreviewed", "accepted", "rejected")
    return ", ".join(f"{counts[word]} {word}" for word in words if counts[word]) or "no generated scenarios"


def _say(text: str) -> None:
    print(text, end="", flush=True)


def _line() -> str | None:
    """Read a line; where no terminal shows what is typed, the next one still begins on its own."""
    given = sys.stdin.readline() or None
    if not sys.stdin.isatty():
        _say("\n")
    return given


def _key() -> str | None:
    """Read one key from a terminal, where it tells keys apart; Ctrl-C and Ctrl-D are what they are elsewhere."""
    try:
        import termios  # noqa: PLC0415 - there is none on Windows
        import tty  # noqa: PLC0415 - same
    except ImportError:
        return _line()
    stream = sys.stdin.fileno()
    before = termios.tcgetattr(stream)
    try:
        tty.setcbreak(stream, termios.TCSADRAIN)  # what was typed already is kept
        key = os.read(stream, 16).decode("utf-8", "replace")
    finally:
        termios.tcsetattr(stream, termios.TCSADRAIN, before)
    _say("\n")
    return None if key in ("", "\x04") else key


def _edit(file: Path) -> str:
    """Open a file in the editor; say what went wrong, if anything did."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        done = subprocess.run([*shlex.split(editor), str(file)], check=False)  # noqa: S603 - the user's own editor
    except (OSError, ValueError) as error:
        return f"the editor {editor!r} did not start: {error}; set EDITOR"
    return f"the editor {editor!r} ended with status {done.returncode}" if done.returncode else ""


def _reviewer(environ: Mapping[str, str]) -> str:
    """Name who reviews where `--by` does not: the environment, else the login; raise `SuiteFaultError` for neither."""
    named = environ.get("AGENTBENCH_REVIEWER", "").strip()
    with suppress(OSError, KeyError, ImportError):
        named = named or getpass.getuser().strip()
    if not named or not named.isprintable():
        raise SuiteFaultError(f"nobody is named as the reviewer, found {named!r}; say who with --by NAME")
    return named


def _name(text: str) -> str:
    """Read the name of a reviewer; it stands in a file, on one line."""
    if not text.strip() or not text.isprintable():
        raise argparse.ArgumentTypeError(f"a name on one line, not {text!r}")
    return text.strip()


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"a date such as 2026-11-24, not {text!r}") from None
