"""τ² verdicts held against recorded ones, sub-check by sub-check."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from pytest_agentbench.checks.tau2.reward import NO_JUDGE, NO_WORLD, Tau2Reward
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.values import same

CALLS_ONLY = "DB (calls only)"
"""The row of the stand-in for DB that looks at calls alone; it claims no agreement."""

ROWS = ("reward", "DB", CALLS_ONLY, "ENV_ASSERTION", "ACTION", "COMMUNICATE", "NL_ASSERTION")

Agreement = Literal["agree", "differ", "skipped"]


class Compared(Model):
    """One recorded sub-check beside ours; `name` says which of several, `why` why it was skipped."""

    run: str
    row: str
    name: str = ""
    recorded: float | bool
    ours: float | bool | None
    why: str = ""

    @property
    def agreement(self) -> Agreement:
        """Whether both say the same; what we did not measure is skipped."""
        if self.ours is None:
            return "skipped"
        return "agree" if float(self.ours) == float(self.recorded) else "differ"


class Tally(Model):
    """How often a row agreed, differed and was skipped in one domain."""

    domain: str
    row: str
    agree: int = 0
    differ: int = 0
    skipped: int = 0

    @property
    def n(self) -> int:
        """The number of recorded sub-checks."""
        return self.agree + self.differ + self.skipped


def compare(run: str, info: Mapping[str, Any], ours: Tau2Reward, calls_only: bool | None) -> Iterator[Compared]:
    """Hold a recorded `reward_info` against our reward, all that τ² recorded and nothing else.

    `calls_only` is what `parts.same_writes` says. A recorded sub-check that we do not have, or another one than ours,
    differs.
    """
    yield Compared(
        run=run, row="reward", recorded=info["reward"], ours=ours.reward, why="a part that its basis names was skipped"
    )
    database = info.get("db_check")
    if database is not None:
        recorded = bool(database["db_match"])
        yield Compared(run=run, row="DB", recorded=recorded, ours=_nth(ours, "DB", 0), why=NO_WORLD)
        yield Compared(
            run=run,
            row=CALLS_ONLY,
            recorded=recorded,
            ours=calls_only,
            why="both parties write, or the kind of a tool is not known",
        )
    for row, key, name, met in (
        ("ENV_ASSERTION", "env_assertions", "env_assertion", "met"),
        ("ACTION", "action_checks", "action", "action_match"),
        ("COMMUNICATE", "communicate_checks", "info", "met"),
        ("NL_ASSERTION", "nl_assertions", "nl_assertion", "met"),
    ):
        for index, check in enumerate(info.get(key) or ()):
            ours_here = _nth(ours, row, index)
            why = NO_JUDGE if row == "NL_ASSERTION" else NO_WORLD if _unreplayed(ours) else "; ".join(ours.reasons)
            yield Compared(
                run=run, row=row, name=_name(check[name]), recorded=bool(check[met]), ours=ours_here, why=why
            )
        extra = len(ours.checks.get(row, ())) - len(info.get(key) or ())
        if extra > 0 and row != "NL_ASSERTION" and info.get("reward_basis") is not None:
            yield Compared(run=run, row=row, name=f"{extra} more than recorded", recorded=0.0, ours=-1.0)


def tally(found: Iterable[tuple[str, Compared]]) -> list[Tally]:
    """Count agreements per domain and row, domains in the order met, rows in the order of `ROWS`."""
    counts: dict[tuple[str, str], dict[str, int]] = {}
    domains: dict[str, None] = {}
    for domain, one in found:
        domains[domain] = None
        row = counts.setdefault((domain, one.row), {"agree": 0, "differ": 0, "skipped": 0})
        row[one.agreement] += 1
    return [
        Tally(domain=domain, row=row, **counts[domain, row])
        for domain in domains
        for row in ROWS
        if (domain, row) in counts
    ]


def is_the_task(expected: Sequence[Mapping[str, Any]], info: Mapping[str, Any]) -> bool:
    """Whether a recording was graded with these expected calls: its recorded actions are theirs, one by one.

    A recording is only reproducible with the task it was graded with, and task files change.
    """
    recorded = [check["action"] for check in info.get("action_checks") or ()]
    if not recorded:
        return True
    return len(recorded) == len(expected) and all(
        one["name"] == other["name"] and same(one["arguments"], other["arguments"])
        for one, other in zip(recorded, expected, strict=True)
    )


def _unreplayed(ours: Tau2Reward) -> bool:
    return _nth(ours, "DB", 0) is None


def _nth(ours: Tau2Reward, row: str, index: int) -> bool | None:
    checks = ours.checks.get(row, ())
    return checks[index] if index < len(checks) else None


def _name(check: object) -> str:
    if isinstance(check, Mapping):
        return str(check.get("action_id") or check.get("func_name") or check.get("name"))
    return str(check)
