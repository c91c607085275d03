"""`agentbench score`: any number of recorded conversations judged and reported, without keeping them in memory.

The suite's judge is asked as pytest asks it, from and into the suite's cassette where that is wanted.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO, TypeVar

from pytest_agentbench.cli.progress import Progress
from pytest_agentbench.core.base import GivenFields, lean
from pytest_agentbench.core.codec import dumps, loads
from pytest_agentbench.core.errors import AgentBenchError, Problem, SuiteError, SuiteFaultError
from pytest_agentbench.core.files import write_atomic, writing_atomic
from pytest_agentbench.core.run import Result, RunKey
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.recipe import reviews_of
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.ledger import Ledger
from pytest_agentbench.report.html.page import MOST_RUNS, Reading, html_report, in_order
from pytest_agentbench.report.markdown import markdown_report
from pytest_agentbench.report.table import glyphs_shown
from pytest_agentbench.report.terminal import terminal_report
from pytest_agentbench.results.calibration import objections, standing_of
from pytest_agentbench.results.document import Document, SuiteRecord, entries_of, players_of, policy_record
from pytest_agentbench.results.gates import evaluate_gates
from pytest_agentbench.results.redact import Redactor
from pytest_agentbench.results.run_directory import read_transcript, transcript_name, write_transcript
from pytest_agentbench.runs.access import Budgets, SessionModels
from pytest_agentbench.runs.cassettes import Recordings, merge_all
from pytest_agentbench.runs.forecast import unmeasurable_gates
from pytest_agentbench.runs.transcript_runs import look_over, score
from pytest_agentbench.suites.call_check import check_calls
from pytest_agentbench.suites.suite_file import load_suite

_T = TypeVar("_T", bound=Hashable)


class Spool:
    """Keeps each result in full in `file`, and gives a lean one: equal in all that figures, gates and rows are made of.

    A lean result has no explanations of calls, of an audit only what is counted, and no findings where the run passed;
    equal parts of different results are one object.
    """

    def __init__(self, file: Path) -> None:
        self._file = file.open("w+b")
        self._offsets: dict[RunKey, int] = {}
        self._shared: dict[Hashable, Hashable] = {}
        self._mappings: dict[str, dict[str, Any]] = {}
        self._given: GivenFields = {}

    def add(self, result: Result) -> Result:
        """Keep a result; give the lean one."""
        kept = self._lean(result)
        self._offsets[kept.key] = self._file.seek(0, 2)
        self._file.write(dumps(result).encode("ascii") + b"\n")
        return kept

    def full(self, key: RunKey) -> Result:
        """Give a result as it was added."""
        return Result.model_validate(loads(self._line(key)))

    def write(self, document: Document, file: TextIO) -> None:
        """Write the results file of a document whose results are lean: the same bytes as of the full ones."""
        file.writelines(entries_of(document, results=(self._line(result.key) for result in document.results)))

    def close(self) -> None:
        """Close the file; the lean results stay usable."""
        self._file.close()

    def _line(self, key: RunKey) -> str:
        self._file.seek(self._offsets[key])
        return self._file.readline().decode("ascii").rstrip("\n")

    def _lean(self, result: Result) -> Result:
        fields: dict[str, Any] = {"calls": (), "findings": () if result.passed else result.findings}
        if result.audit is not None:
            fields["audit"] = result.audit.model_copy(update={"claims": (), "consents": (), "goal_items": ()})
        shared = {name: self._one(value) for name, value in result.key.__dict__.items()}
        fields["key"] = result.key.model_copy(update=shared)
        for name in (
            "policies", "listed_policies", "tags", "tools", "faults",
            "suite_hash", "scenario_hash", "title", "file", "stop_reason",
        ):  # fmt: skip
            fields[name] = self._one(getattr(result, name))
        for name in ("players", "usage", "metrics", "reported"):
            value = getattr(result, name)
            fields[name] = self._mappings.setdefault(dumps(value), value)
        return lean(result.model_copy(update=fields), self._given)

    def _one(self, value: _T) -> _T:
        return self._shared.setdefault(value, value)  # type: ignore[return-value]  # equal values are of one type


UNDECIDED = 1

Told = Callable[[int, int], None]


def score_recordings(options: argparse.Namespace, told: Told) -> tuple[str, int]:
    """Give the report and the exit status: 1 where a gate, or without gates a run, fails.

    Raise `SuiteError` where suite or recordings cannot be read, `SuiteFaultError` for a suite that is not recorded, or
    whose judge is missing or may not decide.
    """
    suite, toolset = _read(options.suite.resolve())
    if not options.no_judge:
        _check_judge(suite)
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="agentbench-score-")))
        spool = Spool(folder / "results.jsonl")
        held.callback(spool.close)
        models = held.enter_context(_models(suite, options, folder))
        missing: dict[str, None] = {}
        document = _document(suite, toolset, options, spool=spool, models=models, told=told, missing=missing)
        if options.json is not None:
            with writing_atomic(options.json) as file:
                spool.write(document, file)
        if options.html is not None:
            write_atomic(options.html, _page(suite, toolset, document, spool, folder))
    if options.markdown is not None:
        write_atomic(options.markdown, markdown_report(document))
    path = str(options.json) if options.json else ""
    lines = terminal_report(document, verbose=options.verbose, unicode=glyphs_shown().unicode, path=path)
    failed = any(verdict.failed for verdict in document.gates)
    unmet = not suite.gates and any(not result.passed for result in document.counted.results)
    asked_nobody = [f"no judge was asked, and what it would tell is not measured: {why}\n" for why in missing]
    return "\n".join([*asked_nobody, *(line.text for line in lines)]), UNDECIDED if failed or unmet else 0


def _read(path: Path) -> tuple[Suite, Toolset]:
    suite = load_suite(path, environ=os.environ)
    if suite.agent.kind != "transcripts":
        raise SuiteFaultError(
            f"{path}: its agent is not recorded, so that there is nothing to score; name recordings "
            f"(`agent: {{transcripts: logs.jsonl}}`), or play it: pytest --agentbench {path}"
        )
    try:
        toolset = load_toolset(suite.environment, suite.root, recorded=True)
    except AgentBenchError as error:
        raise SuiteError([Problem(file=path, key="environment", message=str(error))]) from None
    if problems := [*check_calls(suite, toolset), *unmeasurable_gates(suite, ())]:
        raise SuiteError(problems)
    return suite, toolset


def _check_judge(suite: Suite) -> None:
    """Refuse a rubric that nobody can judge, and a judge without the figures that the suite asks for."""
    rubrics = (suite.rubric, *(scenario.rubric for scenario in suite.scenarios))
    judged = [one.id for rubric in rubrics if rubric is not None for one in rubric.judged]
    if judged and suite.judge is None:
        raise SuiteFaultError(
            f"{suite.path}: the criterion {judged[0]!r} needs a judge; add `judge: {{llm: {{model: …}}}}`, or leave "
            "such criteria unmeasured with --no-judge"
        )
    if wrong := objections(suite):
        raise SuiteFaultError("\n".join(wrong))


@contextmanager
def _models(suite: Suite, options: argparse.Namespace, folder: Path) -> Iterator[Callable[[], SessionModels] | None]:
    """Give the way to the suite's judge, None where it is not asked; what was recorded is kept in the end."""
    if suite.judge is None or options.no_judge:
        yield None
        return
    recordings = Recordings(
        options.cassette, folder=lambda: folder / "cassettes", process="score", redact=_redactor(suite).json
    )
    ledger = Ledger(None)
    budgets = Budgets(lambda: ledger, session=False)
    try:
        yield lambda: SessionModels(environ=os.environ, recordings=recordings, budgets=budgets)
    finally:
        recordings.close()
        ledger.close()
        wrong = [
            f"{cassette}: {merged}" for cassette, merged in merge_all(folder / "cassettes") if isinstance(merged, str)
        ]
    if wrong:
        raise SuiteFaultError(f"what the judge answered could not be kept: {'; '.join(wrong)}")


def _redactor(suite: Suite) -> Redactor:
    """Give what takes out the suite's secrets, the key of its judge among them."""
    spec = suite.judge.model if suite.judge is not None else None
    keys = [spec.api_key, *(os.environ.get(name, "") for name in spec.key_variables)] if spec is not None else []
    return Redactor({*suite.secrets, *filter(None, keys)})


def _nothing(suite: Suite, asked: tuple[str, ...]) -> str:
    files = ", ".join(str(file) for file in suite.agent.files)
    return f"{files}: no conversation" + (f" of the variants {', '.join(asked)}" if asked else "")


def _document(
    suite: Suite,
    toolset: Toolset,
    options: argparse.Namespace,
    *,
    spool: Spool,
    models: Callable[[], SessionModels] | None,
    told: Told,
    missing: dict[str, None],
) -> Document:
    """Judge everything; the results of the document are lean, in the order of the suite's scenarios.

    `missing` gets the reason why no model could be asked, where a key is not there.
    """
    key, redactor = _key(suite.path), _redactor(suite)
    asked = tuple(name.strip() for name in options.variant.split(",") if name.strip())
    at_once = 1 if models is None else max(options.concurrency, 1)
    overview = look_over(suite, toolset, asked)
    if not overview.count:
        raise SuiteFaultError(_nothing(suite, asked))
    began, created = time.monotonic(), datetime.now(UTC)
    found: list[tuple[int, str, int, Result]] = []
    for done, one in enumerate(score(suite, key, toolset, overview, asked, models=models, at_once=at_once), 1):
        missing |= dict.fromkeys([one.no_key] if one.no_key else [])
        result = one.result.model_copy(update={"transcript": f"transcripts/{transcript_name(one.result.key)}"})
        lean = spool.add(redactor.result(result))
        found.append((one.place, lean.key.variant, lean.key.trial, lean))
        told(done, overview.count)
    found.sort(key=lambda entry: entry[:3])
    results = tuple(entry[3] for entry in found)
    record = SuiteRecord(
        path=key,
        name=suite.name,
        content_hash=suite.content_hash,
        gates=suite.gates,
        trials=overview.trials,
        variants=tuple(overview.variants),
        scenarios=len(suite.scenarios),
        total=len(results),
        selected=len(results),
        policies=tuple(map(policy_record, suite.policies)),
        auditor=standing_of(suite),
        review=reviews_of(suite),
    )
    return Document(
        created=created.isoformat(),
        root=str(Path.cwd()),
        seconds=time.monotonic() - began,
        complete=True,
        cassette=str(options.cassette),
        players=players_of(results),
        suites=(record.redacted(redactor.text),),
        gates=evaluate_gates(key, suite.gates, results) if suite.gates else (),
        results=results,
    )


def _page(suite: Suite, toolset: Toolset, document: Document, spool: Spool, folder: Path) -> str:
    """Write the page: in full are only the runs that it lists, whose conversations are read once more."""
    listed = [run.key for run, _ in zip(in_order(document), range(MOST_RUNS), strict=False)]
    full = {key: spool.full(key) for key in listed}
    sources = dict(_conversations(suite, toolset, full, folder))

    def read(result: Result) -> Transcript | None:
        file = folder / result.transcript
        return read_transcript(file) if file.exists() else None

    reading = Reading(transcript=read, path=lambda result: sources.get(result.key, ""), root=Path.cwd())
    results = tuple(full.get(result.key, result) for result in document.results)
    return html_report(document.model_copy(update={"results": results}), reading)


def _conversations(
    suite: Suite, toolset: Toolset, wanted: dict[RunKey, Result], folder: Path
) -> Iterator[tuple[RunKey, str]]:
    """Write the conversations of some runs as transcripts; give where each was recorded."""
    from pytest_agentbench.suites.transcripts import ScenarioIndex, read_recordings  # noqa: PLC0415 - only pages need it

    index, redactor = ScenarioIndex(suite.scenarios), _redactor(suite)
    key = _key(suite.path)
    for one in read_recordings(suite.agent.files, tools=toolset.names()):
        scenario = index.find(one)
        if scenario is None:
            continue
        run = RunKey(suite=key, scenario=scenario.id, variant=one.variant, trial=one.trial + 1)
        if run in wanted:
            write_transcript(folder, wanted[run], redactor.transcript(one.transcript))
            yield run, f"{_key(one.source)}:{one.line}" if one.line else _key(one.source)


def _key(path: Path) -> str:
    """Name a file as pytest does when it is started here."""
    here = Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else path.as_posix()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.description = (
        "Gives the verdicts, figures and gates that `pytest --agentbench SUITE` gives, for as many recorded "
        "conversations as there are. The exit status is 1 where a gate fails, or without gates a run."
    )
    parser.add_argument("suite", type=Path, metavar="SUITE", help="a suite file whose agent is recorded")
    parser.add_argument("--variant", default="", metavar="NAME[,…]", help="score these variants alone")
    parser.add_argument("--no-judge", action="store_true", help="ask no judge: what needs one is not measured")
    parser.add_argument(
        "--cassette",
        type=Mode,
        choices=list(Mode),
        default=Mode.OFF,
        metavar="MODE",
        help="the judge's answers: off (asked live), replay, record or refresh",
    )
    parser.add_argument(
        "--concurrency", type=int, default=8, metavar="N", help="conversations judged at once (default: 8)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results file there")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page there")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write a short report for a CI summary there")
    parser.add_argument("-v", "--verbose", action="store_true", help="show every row and every failure")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Give the report and the exit status; tell on stderr how far it is."""
    with Progress("score") as progress:
        return score_recordings(options, progress.counted("conversation"))
