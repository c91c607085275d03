"""What agents stated and had from nowhere: flags of code, which decide nothing (the auditor's: see `auditor`)."""

from collections.abc import Sequence

from pytest_agentbench.core.run import Result
from pytest_agentbench.core.verdict import Flag
from pytest_agentbench.report.glyphs import Glyphs, Line
from pytest_agentbench.report.table import wrap

TITLE = "stated, and found nowhere (flags: they decide nothing)"
_QUOTE = 200


def flags_text(results: Sequence[Result]) -> str:
    """Count the runs with flags: `2 with flags`, "" where there are none."""
    count = sum(1 for run in results if run.flags)
    return f"{count} with flags" if count else ""


def value_flags(run: Result) -> list[Flag]:
    """Give the flags of a run that code raised."""
    return [flag for flag in run.flags if flag.kind == "value"]


def flag_text(flag: Flag, marks: Glyphs) -> str:
    """Give the turn, the value and the words around it."""
    return f'turn {flag.turn}: {marks.plain(flag.value)}, in "{marks.cut(marks.plain(flag.quote), _QUOTE)}"'


def flags_lines(results: Sequence[Result], marks: Glyphs, width: int) -> list[Line]:
    """List the flags of all runs."""
    flags = [(run, flag) for run in results for flag in value_flags(run)]
    if not flags:
        return []
    texts = (f"{marks.plain(run.key.name)}  {flag_text(flag, marks)}" for run, flag in flags)
    return [
        Line(""),
        Line(TITLE, "head"),
        *(Line(f"  {part}") for one in texts for part in wrap(one, width - 2, "    ")),
    ]
