"""τ²-bench's reward of a run, exactly as τ² computes it (tau2-bench, evaluator.py); our own verdict stands beside it.

A run that no party closed has reward 0 and no parts. A task without criteria has reward 1. Otherwise the reward is the
product of the parts that its `reward_basis` names, each 0 or 1; the other parts are measured all the same and change
nothing. The basis is read from the task: domains mix several.
"""

import math
from collections.abc import Sequence
from typing import Literal, get_args

from pytest_agentbench.checks.tau2.parts import check_actions, check_communicated, compares_nothing
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.scenario import EvaluationCriteria
from pytest_agentbench.environment.tau2_bridge.replay import Replayed

Part = Literal["DB", "ENV_ASSERTION", "ACTION", "COMMUNICATE", "NL_ASSERTION"]
"""What a reward may be made of (τ²: RewardType)."""

PARTS: tuple[Part, ...] = get_args(Part)
DEFAULT_BASIS: tuple[Part, ...] = ("DB", "COMMUNICATE")
"""The basis of a task that states none."""

NO_WORLD = "needs the domain's own tools (τ²-bench or inspect_evals)"
NO_JUDGE = "needs a judge model"


class Tau2Reward(Model):
    """τ²'s reward: 0 or 1, or None where a part that its basis names is not measured; `reasons` then says why.

    `parts` has every part; `checks` what each is the conjunction of, in the task's order (None: not measured). Both
    are empty where τ² itself measures nothing: the run was not closed, or the task has no criteria.
    """

    reward: float | None
    basis: tuple[str, ...] | None = None
    parts: dict[str, float | None] = {}
    checks: dict[str, tuple[bool | None, ...]] = {}
    reasons: tuple[str, ...] = ()

    def metrics(self) -> dict[str, float | None]:
        """Give reward and parts as metrics of a result: `tau2_reward`, `tau2_db`, `tau2_communicate`, …"""
        return {"tau2_reward": self.reward} | {f"tau2_{part.lower()}": self.parts.get(part) for part in PARTS}


def tau2_reward(run: Run, replayed: Replayed | None = None, nl: Sequence[bool] | None = None) -> Tau2Reward:
    """Give τ²'s reward of a closed run.

    `replayed` is what replaying its calls showed (`tau2_bridge.replay.Replayer`); without it DB and ENV_ASSERTION are
    not measured, unless the task gives τ² nothing to compare. `nl` are a judge's answers on the `nl_assertions`, as
    many as it gave; without it NL_ASSERTION is not measured.
    """
    if not run.finished:
        return Tau2Reward(reward=0.0, reasons=(f"no party closed the conversation ({run.stop_reason})",))
    criteria = run.scenario.task.evaluation_criteria
    if criteria is None:
        return Tau2Reward(reward=1.0, reasons=("the task states no criteria",))
    checks: dict[str, tuple[bool | None, ...]] = {
        **_of_the_world(criteria, replayed),
        "ACTION": check_actions(run),
        "COMMUNICATE": check_communicated(run),
        "NL_ASSERTION": tuple(nl) if nl is not None else (None,) * max(1, len(criteria.nl_assertions or ())),
    }
    if not run.calls_visible:
        checks["ACTION"] = (None,) * len(checks["ACTION"])
    if nl is None and not criteria.nl_assertions:
        checks["NL_ASSERTION"] = ()  # τ² asks no model where there is nothing to ask
    parts: dict[str, float | None] = {part: _conjunction(checks[part]) for part in PARTS}
    basis = tuple(DEFAULT_BASIS if criteria.reward_basis is None else criteria.reward_basis)
    unknown = sorted(set(basis) - set(PARTS))
    missing = [part for part in PARTS if part in basis and parts[part] is None]
    reasons = [f"{part} {NO_JUDGE if part == 'NL_ASSERTION' else NO_WORLD}" for part in missing]
    if replayed is not None:
        reasons = [reason for reason in reasons if NO_WORLD not in reason] + list(replayed.notes)
    reasons += [f"{part!r} in reward_basis is no part of τ²'s reward" for part in unknown]
    return Tau2Reward(
        reward=_product([parts[part] for part in PARTS if part in basis], undecided=bool(unknown)),
        basis=basis,
        parts=parts,
        checks=checks,
        reasons=tuple(reasons),
    )


def _of_the_world(criteria: EvaluationCriteria, replayed: Replayed | None) -> dict[str, tuple[bool | None, ...]]:
    if compares_nothing(criteria):
        return {"DB": (True,), "ENV_ASSERTION": ()}
    asserted = criteria.env_assertions or []
    if replayed is None:
        return {"DB": (None,), "ENV_ASSERTION": (None,) * len(asserted)}
    return {"DB": (replayed.db_match,), "ENV_ASSERTION": replayed.assertions}


def _conjunction(checks: Sequence[bool | None]) -> float | None:
    """1 where all hold, none included; 0 where one fails, whatever the unknown ones are; else None."""
    if any(check is False for check in checks):
        return 0.0
    return None if any(check is None for check in checks) else 1.0


def _product(parts: Sequence[float | None], *, undecided: bool) -> float | None:
    known = [part for part in parts if part is not None]
    if undecided:
        return None
    if 0.0 in known:
        return 0.0  # whatever the others are
    return math.prod(known) if len(known) == len(parts) else None
