"""The command line and ini options, resolved once."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

import pytest

DEFAULT_CONCURRENCY = 8


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the user asked for. `concurrency_note` says why conversations run one after the other, or is empty."""

    variants: tuple[str, ...]
    concurrency: int
    concurrency_note: str
    gates: Literal["auto", "always", "never"]
    json: Path | None
    resume: bool
    directory: Path
    stops_early: bool
    collect_only: bool

    @classmethod
    def of(cls, config: pytest.Config) -> Self:
        """Read the options; raise `pytest.UsageError` for one that makes no sense."""
        asked = config.getoption("agentbench_concurrency")
        if asked is not None and asked < 1:
            raise pytest.UsageError(f"--agentbench-concurrency must be >= 1, got {asked}")
        note = _one_at_a_time(config)
        names = (config.getoption("agentbench_variant") or "").split(",")
        json = config.getoption("agentbench_json")
        if json and Path(config.invocation_params.dir, json).is_dir():
            raise pytest.UsageError(f"--agentbench-json: {json} is a folder; give the name of a file")
        return cls(
            variants=tuple(name.strip() for name in names if name.strip()),
            concurrency=1 if note else asked or DEFAULT_CONCURRENCY,
            concurrency_note=note,
            gates=config.getoption("agentbench_gates"),
            json=Path(config.invocation_params.dir, json) if json else None,
            resume=config.getoption("agentbench_resume"),
            directory=config.rootpath / config.getini("agentbench_dir"),
            stops_early=bool(config.getoption("maxfail", 0)) or bool(config.getoption("stepwise", False)),
            collect_only=bool(config.getoption("collectonly", False)),
        )


def _one_at_a_time(config: pytest.Config) -> str:
    if config.getoption("usepdb", False):
        return "--pdb"
    if config.getoption("trace", False):
        return "--trace"
    return "-s" if config.getoption("capture", "fd") == "no" else ""
