"""The command line and ini options, resolved once."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from math import ceil
from pathlib import Path
from typing import Literal, Self, TypeVar

import pytest

from pytest_agentbench.core.moments import span_of

N = TypeVar("N", int, float)

Mode = Literal["off", "replay", "record", "refresh"]

DEFAULT_CONCURRENCY = 8


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the user asked for. `concurrency_note` says why conversations run one after the other, or is empty.

    `concurrency` is this process's share of the session's: workers divide it among them.
    """

    variants: tuple[str, ...]
    concurrency: int
    concurrency_note: str
    gates: Literal["auto", "always", "never"]
    trials: int | None
    save_baseline: Path | None
    baseline: Path | None
    json: Path | None
    html: Path | None
    markdown: Path | None
    resume: bool
    cassette: Mode
    max_cost: float | None
    max_calls: int | None
    seed: int
    judge: bool
    workers: int
    directory: Path
    keep: timedelta | None
    transcripts: Literal["all", "failed", "none"]
    stops_early: bool
    collect_only: bool

    @property
    def is_first_baseline(self) -> bool:
        """Whether the results are to be a baseline, and there is none to compare them with."""
        return self.save_baseline is not None and self.baseline is None

    @classmethod
    def of(cls, config: pytest.Config) -> Self:
        """Read the options; raise `pytest.UsageError` for one that makes no sense."""
        asked = config.getoption("agentbench_concurrency")
        if asked is not None and asked < 1:
            raise pytest.UsageError(f"--agentbench-concurrency must be >= 1, got {asked}")
        note = _one_at_a_time(config)
        workers = worker_count(config)
        trials = config.getoption("agentbench_trials")
        if trials is not None and trials < 1:
            raise pytest.UsageError(f"--agentbench-trials must be >= 1, got {trials}")
        names = (config.getoption("agentbench_variant") or "").split(",")
        json = config.getoption("agentbench_json")
        if json and Path(config.invocation_params.dir, json).is_dir():
            raise pytest.UsageError(f"--agentbench-json: {json} is a folder; give the name of a file")
        return cls(
            variants=tuple(name.strip() for name in names if name.strip()),
            concurrency=1 if note else ceil((asked or DEFAULT_CONCURRENCY) / workers),
            workers=workers,
            concurrency_note=note,
            gates=config.getoption("agentbench_gates"),
            trials=trials,
            save_baseline=_file(config, "agentbench_save_baseline"),
            baseline=_file(config, "agentbench_baseline"),
            json=Path(config.invocation_params.dir, json) if json else None,
            html=_file(config, "agentbench_html"),
            markdown=_file(config, "agentbench_markdown"),
            resume=config.getoption("agentbench_resume"),
            cassette=config.getoption("agentbench_cassette"),
            max_cost=_budget(config, "agentbench_max_cost", float, 1e9, "US dollars, from 0 to less than a billion"),
            max_calls=_budget(config, "agentbench_max_calls", int, 2**62, "a whole number, from 0 to less than 2**62"),
            seed=config.getoption("agentbench_seed"),
            judge=_judges(config),
            directory=config.rootpath / config.getini("agentbench_dir"),
            keep=_keep(config),
            transcripts=config.getoption("agentbench_transcripts"),
            stops_early=bool(config.getoption("maxfail", 0)) or bool(config.getoption("stepwise", False)),
            collect_only=bool(config.getoption("collectonly", False)),
        )


def _budget(config: pytest.Config, name: str, kind: Callable[[str], N], bound: float, words: str) -> N | None:
    """Give a budget that the ini file states, None where it states none."""
    given = str(config.getini(name)).strip()
    if not given:
        return None
    with suppress(ValueError):
        if 0 <= (value := kind(given)) < bound:
            return value
    raise pytest.UsageError(f"{name}: found {given!r}, expected {words}")


def _judges(config: pytest.Config) -> bool:
    """Whether judges are asked."""
    try:
        return bool(config.getini("agentbench_judge"))
    except (ValueError, pytest.UsageError) as error:
        raise pytest.UsageError(f"agentbench_judge: {error}, expected true or false") from None


_LONGEST_KEPT = timedelta(weeks=520)
"""Names of sessions sort by time while years have four digits; a longer span would lead before them."""


def _keep(config: pytest.Config) -> timedelta | None:
    """Give how long sessions are kept, None where the ini file does not say."""
    given = str(config.getini("agentbench_keep")).strip()
    span = span_of(given)
    if given and (span is None or not timedelta() <= span <= _LONGEST_KEPT):
        raise pytest.UsageError(
            f"agentbench_keep: found {given!r}, expected a span such as 3d, 12h or 2w, of ten years at most"
        )
    return span if given else None


def worker_count(config: pytest.Config) -> int:
    """Give how many processes share the session's limits: xdist's workers, or this one alone."""
    told = getattr(config, "workerinput", {}).get("workercount")
    if told is not None:
        return int(told)
    if config.getoption("dist", "no") == "no":
        return 1
    return sum(times for times, _ in tx_specs(config)) or 1


def tx_specs(config: pytest.Config) -> list[tuple[int, str]]:
    """Give xdist's `--tx` specifications, each with how many workers it stands for."""
    found = []
    for spec in config.getoption("tx", None) or ():
        times, star, rest = str(spec).partition("*")
        found.append((int(times), rest) if star and times.isdigit() else (1, str(spec)))
    return found


def _file(config: pytest.Config, option: str) -> Path | None:
    """Give the file that an option names, seen from where pytest was started."""
    given = config.getoption(option)
    if not given:
        return None
    path = Path(config.invocation_params.dir, given)
    if path.is_dir():
        raise pytest.UsageError(f"--{option.replace('_', '-')}: {given} is a folder; give the name of a file")
    return path


def _one_at_a_time(config: pytest.Config) -> str:
    if config.getoption("usepdb", False):
        return "--pdb"
    if config.getoption("trace", False):
        return "--trace"
    return "-s" if config.getoption("capture", "fd") == "no" else ""
