"""The cost log: one CSV row a model call, with the columns of the paper (§1.6.1)."""

import csv
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

COLUMNS = (
    "timestamp", "scenario_id", "call_id", "model", "endpoint", "prompt_tokens", "completion_tokens", "total_tokens",
    "latency_ms", "status", "notes",
)  # fmt: skip
"""`scenario_id` holds the id of the conversation: an agent is never told which scenario it is in."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of a model; `notes` says which role asked."""

    model: str
    endpoint: str
    prompt_tokens: int
    completion_tokens: int
    latency_ms: float
    status: str
    notes: str


@dataclass
class CostLog:
    """The calls of one conversation; each is also appended to `file`, where there is one."""

    file: Path | None = None
    session: str = ""
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    clock: Callable[[], float] = perf_counter
    calls: list[Call] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        """All tokens so far, given and got."""
        return sum(call.prompt_tokens + call.completion_tokens for call in self.calls)

    def add(self, call: Call) -> None:
        """Log one call."""
        self.calls.append(call)
        if self.file is None:
            return
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, COLUMNS)
            if stream.tell() == 0:
                writer.writeheader()
            row = asdict(call) | {
                "timestamp": self.now().isoformat(timespec="milliseconds"),
                "scenario_id": self.session,
                "call_id": "-".join(part for part in (self.session, str(len(self.calls))) if part),
                "total_tokens": call.prompt_tokens + call.completion_tokens,
                "latency_ms": f"{call.latency_ms:.1f}",
            }
            writer.writerow(row)
