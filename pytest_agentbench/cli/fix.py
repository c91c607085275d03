"""`agentbench validate --fix`: asks on a terminal what each line without a label means, and writes it into its file."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from pytest_agentbench.core.acts import ACT_KINDS, ActKind
from pytest_agentbench.core.names import suggestion
from pytest_agentbench.core.text import printable
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.results.redact import Redactor
from pytest_agentbench.suites.relabel import ByHandError, write_act
from pytest_agentbench.suites.script_lines import CHOICES, Unlabelled, unlabelled
from pytest_agentbench.suites.suite_file import load_suite

QUESTION = "what does the user mean? (number or word, Enter skips, q stops) "
UNCHANGED = "--fix: nothing was changed"

_STOPS = ("q", "quit")


class Stopped(Exception):  # noqa: N818 - it is no error
    """Nobody wants to be asked further."""


def fix(suite: Path, *, only: Sequence[str] = ()) -> str:
    """Ask for the label of each line of a suite that has none, write the answers, and say what was done."""
    read = load_suite(suite, environ=os.environ)
    tools = load_toolset(read.environment, read.root, recorded=read.agent.kind == "transcripts")
    chosen = [one for one in read.scenarios if not only or one.id in only]
    lines = unlabelled(read, tools, chosen)
    if not lines:
        return f"{UNCHANGED}: every line has its label"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return f"{UNCHANGED}: {len(lines)} without a label, and no terminal to ask on"
    redact = Redactor(read.secrets).text
    return Asking(lambda text: _say(redact(text)), _answer).label(lines)


class Asking:
    """Shows lines one after the other with `say` and takes what they mean from `answer`, None at its end."""

    def __init__(self, say: Callable[[str], None], answer: Callable[[], str | None]) -> None:
        self._say = say
        self._answer = answer

    def label(self, lines: Sequence[Unlabelled]) -> str:
        """Ask for each line and write what is answered; say how many have a label now."""
        written = skipped = by_hand = 0
        try:
            for number, line in enumerate(lines, 1):
                act = self._asked(line, f"{number} of {len(lines)}")
                if act is None:
                    skipped += 1
                elif self._write(line, act):
                    written += 1
                else:
                    by_hand += 1
        except Stopped:
            skipped = len(lines) - written - by_hand
        parts = [f"{skipped} left as they are" if skipped else "", f"{by_hand} to be done by hand" if by_hand else ""]
        told = f"--fix: {written} labelled" if written else UNCHANGED
        return ", ".join(filter(None, [told, *parts]))

    def _asked(self, line: Unlabelled, which: str) -> ActKind | None:
        """Ask until the answer is an act or none."""
        lines = line.scenario.lines
        around = [("  ", line.at - 1), ("> ", line.at), ("  ", line.at + 1)]
        shown = [f"  {mark}{printable(lines[at])}" for mark, at in around if 0 <= at < len(lines)]
        acts = "  ".join(f"{number} {act}" for number, act in enumerate(ACT_KINDS, 1))
        self._say(f"\n{which} · {line.scenario.id} · {line.place(Path.cwd())}\n" + "\n".join(shown) + f"\n  {acts}\n")
        while True:
            self._say(QUESTION)
            given = self._answer()
            if given is None or given.strip().lower() in _STOPS:
                raise Stopped
            word = given.strip().lower()
            if not word:
                return None
            if word.isascii() and word.isdigit() and 0 < int(word) <= len(ACT_KINDS):
                return ACT_KINDS[int(word) - 1]
            act = next((one for one in ACT_KINDS if one == word), None)
            if act is not None:
                return act
            hint = suggestion(word, ACT_KINDS) or f"a number from 1 to {len(ACT_KINDS)}, or one of these words"
            self._say(f"{printable(given.strip())!r} is no act: {hint}\n")

    def _write(self, line: Unlabelled, act: ActKind) -> bool:
        try:
            found = line.found()
            if found is None:
                raise ByHandError("the file has changed since it was read")
            write_act(*found, act)
        except (ByHandError, OSError) as error:
            self._say(f"not changed, {error}; do it by hand: {CHOICES}\n")
            return False
        return True


def _say(text: str) -> None:
    print(text, end="", file=sys.stderr, flush=True)


def _answer() -> str | None:
    return sys.stdin.readline() or None
