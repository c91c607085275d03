"""The cost log: one CSV row a model call, with the eleven columns of the paper (§1.6.1)."""

import csv
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from time import perf_counter

from notes.text import count_tokens

COLUMNS = (
    "timestamp", "scenario_id", "call_id", "model", "endpoint", "prompt_tokens", "completion_tokens", "total_tokens",
    "latency_ms", "status", "notes",
)  # fmt: skip
"""`scenario_id` holds the id of the conversation: an agent is never told which scenario it is in."""

RULES = "rules"
"""What stands for a model and its endpoint where rules played the role."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of a model, or what a rule was given and gave, in tokens."""

    role: str
    model: str
    endpoint: str
    prompt_tokens: int
    completion_tokens: int
    latency_ms: float
    status: str = "ok"
    notes: str = ""


@dataclass
class CostLog:
    """Collects the calls of a conversation, and appends each to `file` where there is one."""

    file: Path | None = None
    session: str = ""
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    clock: Callable[[], float] = perf_counter
    calls: list[Call] = field(default_factory=list)
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    _lock: Lock = field(default_factory=Lock)

    def rules(self, role: str, given: str, gave: str, *, since: float, notes: str = "") -> None:
        """Log a role that rules played: tokens are counted, not billed."""
        call = Call(
            role=role,
            model=RULES,
            endpoint=RULES,
            prompt_tokens=count_tokens(given),
            completion_tokens=count_tokens(gave),
            latency_ms=(self.clock() - since) * 1000,
            notes=notes,
        )
        self.add(call)

    def add(self, call: Call) -> None:
        """Log one call."""
        with self._lock:
            self.calls.append(call)
            if self.file is not None:
                self._append(self.file, call, next(self._numbers))

    def _append(self, file: Path, call: Call, number: int) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            if stream.tell() == 0:
                writer.writerow(COLUMNS)
            writer.writerow(
                (
                    self.now().isoformat(timespec="milliseconds"),
                    self.session,
                    f"{self.session}-{number}" if self.session else str(number),
                    call.model,
                    call.endpoint,
                    call.prompt_tokens,
                    call.completion_tokens,
                    call.prompt_tokens + call.completion_tokens,
                    f"{call.latency_ms:.1f}",
                    call.status,
                    " ".join(f"role={call.role} {call.notes}".split()),
                )
            )
