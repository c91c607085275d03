"""`agentbench validate`: what is wrong with a suite's scenarios, on one screen; `--fix` asks for missing labels."""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pytest_agentbench.cli.progress import Progress
from pytest_agentbench.core.acts import ACT_KINDS, ActKind
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.names import count, listing, suggestion
from pytest_agentbench.core.text import printable
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.report.table import Align, Glyphs, glyphs_shown, table, wrap
from pytest_agentbench.results.secrets import redactor_of
from pytest_agentbench.suites.relabel import ByHandError, write_act
from pytest_agentbench.suites.script_lines import CHOICES, YES_BEFORE, Unlabelled, unlabelled
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.validation.report import Kind, ScenarioReport, SuiteReport
from pytest_agentbench.validation.scenario import Told
from pytest_agentbench.validation.scenario import validate as validate_suite

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
    redact = redactor_of(read).text
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


PROBLEMS = 1
WIDTH = 100
MOST_SURVIVORS = 20
"""Surviving mutants that are listed; all of them are in the JSON."""
_ALIGN: tuple[Align, ...] = ("<", ">", ">", ">", "<")

_WEAK = "scenarios that a weak agent passes"

_ASKED: tuple[tuple[Kind, str, str], ...] = (
    ("static", "tools and arguments exist", "tools and arguments that do not exist"),
    ("id", "ids exist", "ids that do not exist"),
    ("replay", "expected calls replay", "expected calls that fail"),
    ("oracle", "a right run passes", "right runs that do not pass"),
    ("vacuous", "weak agents fail", _WEAK),
    ("unreachable", "values can be known", "values that nothing leads to, or that nobody asks for"),
)
"""The questions in the order in which they are asked, how the table puts them, and what stands over the problems."""

_REMEDIES = {_WEAK: ": add `communicate`, a call that must be made, or a call that must not (`never`)"}


def validate(options: argparse.Namespace, told: Told) -> tuple[str, int]:
    """Give the report and the exit status: 1 where something is wrong or the mutation score is below the threshold.

    Raise `SuiteError` where the suite cannot be read or has none of the scenarios asked for.
    """
    report = validate_suite(
        options.suite,
        environ=os.environ,
        only=options.only or (),
        seed=options.seed,
        mutate=not options.no_mutants,
        told=told,
    )
    redact = redactor_of(load_suite(options.suite, environ=os.environ))
    least = options.min_mutation
    if options.json is not None:
        options.json.write_text(dumps(redact.json(_document(report, least)), indent=2) + "\n", encoding="utf-8")
    glyphs = glyphs_shown()
    lines = _lines(report, least, glyphs)
    is_good = report.is_valid and not _is_low(report, least)
    return redact.text(glyphs.plain("\n".join(lines), newlines=True)), 0 if is_good else PROBLEMS


def _is_low(report: SuiteReport, least: float) -> bool:
    """Whether too few wrong runs fail."""
    return report.mutation_score is not None and report.mutation_score < least


def _document(report: SuiteReport, least: float) -> dict[str, object]:
    """Give the report as JSON, with what is summed up in it."""
    return {
        **report.model_dump(mode="json"),
        "mutation_score": report.mutation_score,
        "min_mutation": least,
        "mutants": report.mutants,
        "vacuous": list(report.vacuous),
        "valid": report.is_valid,
    }


def _lines(report: SuiteReport, least: float, glyphs: Glyphs) -> Iterator[str]:
    scenarios = report.scenarios
    dot = f" {glyphs.dot} "
    yield dot.join([f"agentbench validate: {report.name}", count(len(scenarios), "scenario"), f"seed {report.seed}"])
    yield ""
    yield from table([("", "n", "ok", "%", ""), *_rows(report)], _ALIGN, width=WIDTH, glyphs=glyphs)
    for skipped in report.skipped:
        yield ""
        yield from wrap(f"not asked: {skipped.what}; {skipped.why}", WIDTH, "  ")
    yield from _section("suite", [("", problem) for problem in report.problems])
    yield from _section("lines that do not say what they mean; --fix asks", [("", one) for one in report.unlabelled])
    yield from wrap(f"{YES_BEFORE}: {CHOICES}", WIDTH, "  ") if report.unlabelled else ()
    for kind, _, title in _ASKED:
        yield from _section(title, _issues(scenarios, kind))
        if kind == "oracle":
            yield from _section(
                "conditions of rules that no result or state of a right run fits", [("", one) for one in report.unfit]
            )
            yield from _section(
                "keys that no result of a right run has; another result may", [("", one) for one in report.unseen]
            )
    undecided = [(one.id, text) for one in scenarios for text in one.undecided]
    yield from _section("undecided: only a tool that cannot be called here could give it", undecided)
    added = [(one.id, text) for one in scenarios for text in one.added]
    yield from _section("calls that rules ask for, and no scenario expects", added)
    left_open = [(one.id, text) for one in scenarios for text in one.left_open]
    yield from _section("left open: any value that the tool takes is right", left_open)
    warnings = [(one.id, text) for one in scenarios for text in one.warnings]
    yield from _section("warnings", warnings)
    survivors = [(one.id, f"{mutant.operator}: {mutant.change}") for one in scenarios for mutant in one.survivors]
    more = len(survivors) - MOST_SURVIVORS
    yield from _section("wrong runs that pass", survivors[:MOST_SURVIVORS])
    if survivors:
        rest = f"{glyphs.ellipsis} and {more} more; " if more > 0 else ""
        yield f"  {rest}--json FILE holds the conversation of each"
    yield from _section("questions that were not asked", _skipped(scenarios))
    yield ""
    yield _verdict(report, least)


def _rows(report: SuiteReport) -> Iterator[tuple[str, str, str, str, str]]:
    scenarios = report.scenarios
    asked = [one for one in scenarios if one.was_asked]
    for kind, name, _ in _ASKED:
        played = [one for one in asked if one.mode == "played"]
        of = scenarios if kind == "static" else played if kind in ("id", "replay") else asked
        of = [one for one in of if one.oracle is not None] if kind == "oracle" else of
        if kind == "unreachable":
            wrong = sum(issue.kind == kind for one in of for issue in one.issues)
            undecided = sum(len(one.undecided) for one in of)
            values = sum(one.values for one in of)
            derived = sum(one.derived for one in of)
            notes = [f"{derived} by a rule" if derived else "", f"{undecided} undecided" if undecided else ""]
            yield _row(name, values - undecided, wrong, ", ".join(filter(None, notes)))
            continue
        refusals = sum(one.is_refusal for one in of) if kind == "vacuous" else 0
        bad = sum(any(issue.kind == kind for issue in one.issues) for one in of)
        added = sum(len(one.added) for one in of) if kind == "oracle" else 0
        note = f"{count(added, 'call')} added that rules ask for" if added else ""
        note = f"{refusals} left out: doing nothing is right there" if refusals else note
        yield _row(name, len(of) - refusals, bad, note)
    if report.mutants:
        equivalent = sum(one.equivalent for one in scenarios)
        survivors = sum(len(one.survivors) for one in scenarios)
        yield _row(
            "wrong runs are caught", report.mutants, survivors, f"{count(equivalent, 'equivalent one')} left out"
        )
        total: Counter[str] = Counter()
        caught: Counter[str] = Counter()
        for one in scenarios:
            for operator, (good, judged) in one.operators.items():
                total[operator] += judged
                caught[operator] += good
        for operator in total:
            yield _row(f"  {operator}", total[operator], total[operator] - caught[operator], "")


def _row(name: str, total: int, bad: int, note: str) -> tuple[str, str, str, str, str]:
    share = f"{100 * (total - bad) / total:.1f}" if total else "-"
    return (name, str(total), str(total - bad), share, note)


def _issues(scenarios: Sequence[ScenarioReport], kind: Kind) -> list[tuple[str, str]]:
    if kind == "vacuous":
        found = [one for one in scenarios if one.vacuous and not one.is_refusal]
        names = [f"{one.id} ({', '.join(one.vacuous)})" for one in found]
        return [("", name) for name in names]
    return [(one.id, issue.message) for one in scenarios for issue in one.issues if issue.kind == kind]


def _skipped(scenarios: Sequence[ScenarioReport]) -> list[tuple[str, str]]:
    """Give each question that could not be asked, once, with the scenarios that it is about."""
    found: dict[str, list[str]] = {}
    for one in scenarios:
        for skipped in one.skipped:
            if skipped.why != "not asked for":
                found.setdefault(f"{skipped.what}: {skipped.why}", []).append(one.id)
    return [(listing(names, 5), text) for text, names in found.items()]


def _section(title: str, entries: Sequence[tuple[str, str]]) -> Iterator[str]:
    if not entries:
        return
    yield ""
    yield f"{title} ({len(entries)}){_REMEDIES.get(title, '')}"
    for name, text in entries:
        first, *rest = wrap(f"{name}: {text}" if name else text, WIDTH - 4)
        yield f"  {first}"
        yield from (f"    {line}" for line in rest)


def _verdict(report: SuiteReport, least: float) -> str:
    score, low = report.mutation_score, _is_low(report, least)
    wrong = [one.id for one in report.scenarios if not one.is_valid]
    parts = [f"{len(report.scenarios) - len(wrong)} of {count(len(report.scenarios), 'scenario')} valid"]
    if score is not None:
        parts.append(f"mutation score {score:.3f} {'<' if low else '>='} {least:g}")
    if report.problems:
        parts.append(f"{count(len(report.problems), 'problem')} of the suite")
    text = ", ".join(parts)
    reasons = [f"{len(wrong)} not valid" if wrong else "", "too many wrong runs pass" if low else ""]
    reasons += ["the suite has problems" if report.problems else ""]
    reasons += ["a rule fits no result or state" if report.unfit else ""]
    why = " and ".join(filter(None, reasons))
    return f"{text}: FAILED, since {why}" if why else f"{text}: ok"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.description = (
        "Checks that a right run passes, that weak agents and wrong runs fail, and that the user or "
        "the tools give each value. The exit status is 1 if a scenario or a rule is not valid, or too few wrong runs "
        "fail."
    )
    parser.add_argument("suite", type=Path, metavar="SUITE", help="a suite file")
    parser.add_argument("--only", action="append", metavar="ID", help="validate this scenario alone; may be repeated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all findings to FILE as JSON")
    parser.add_argument(
        "--min-mutation",
        type=float,
        default=0.95,
        metavar="SHARE",
        help="the least share of wrong runs that must fail (default: 0.95)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="chooses the values of wrong runs (default: 0)"
    )
    parser.add_argument("--no-mutants", action="store_true", help="play no wrong runs; they take longest")
    first = parser.add_mutually_exclusive_group()
    first.add_argument(
        "--fix",
        action="store_true",
        help="ask first, on a terminal, what each line without a label means, and write the answer into its file",
    )
    first.add_argument(
        "--refresh", action="store_true", help="make the calls of generated scenarios again and name stale values"
    )


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Give the report and the exit status; tell on stderr how far it is."""
    if options.refresh:
        from pytest_agentbench.cli.refresh import refresh  # noqa: PLC0415 - the pipeline is large

        return refresh(options.suite, only=tuple(options.only or ()))
    fixed = ""
    if options.fix:
        fixed = fix(options.suite, only=tuple(options.only or ())) + "\n\n"
    with Progress("validate") as progress:
        text, status = validate(options, progress.counted("scenario"))
    return fixed + text, status
