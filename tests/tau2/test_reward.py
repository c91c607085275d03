"""How parts become τ²'s reward."""

from typing import Any

from pytest_agentbench.tau2.replay import Replayed
from pytest_agentbench.tau2.reward import tau2_reward
from tests.tables import each
from tests.tau2.builders import call, made, run, said

EQUAL, OTHER = Replayed(db_match=True), Replayed(db_match=False)


def test_a_run_that_nobody_closed_has_no_reward_and_no_parts() -> None:
    """Whatever was done in it."""
    found = tau2_reward(run(said("7"), criteria={"communicate_info": ["7"]}, closed=False), EQUAL)

    assert (found.reward, found.parts, found.checks) == (0.0, {}, {})
    assert found.reasons == ("no party closed the conversation (max_steps)",)
    assert found.metrics()["tau2_communicate"] is None


def test_a_task_without_criteria_is_rewarded() -> None:
    """As τ² does it."""
    assert tau2_reward(run()).reward == 1.0


@each(
    ("basis", "reward"),
    [
        (["DB"], 1.0),
        (["COMMUNICATE"], 0.0),
        (["ACTION"], 1.0),
        (["DB", "ACTION", "ENV_ASSERTION"], 1.0),
        (["DB", "ACTION", "COMMUNICATE"], 0.0),
        ([], 1.0),
        (None, 0.0),  # DB and COMMUNICATE
        (["SOMETHING"], None),
    ],
)
def test_the_reward_is_the_product_of_its_basis(basis: list[str] | None, reward: float | None) -> None:
    """The other parts are measured, and change nothing."""
    criteria: dict[str, Any] = {"actions": [{"name": "look"}], "communicate_info": ["never said"]}
    if basis is not None:
        criteria["reward_basis"] = basis

    found = tau2_reward(run(*made(call("look")), criteria=criteria), EQUAL)

    assert found.reward == reward
    assert found.parts == {"DB": 1.0, "ENV_ASSERTION": 1.0, "ACTION": 1.0, "COMMUNICATE": 0.0, "NL_ASSERTION": 1.0}


def test_what_is_not_measured_is_said() -> None:
    """Without a world the reward is unknown, unless another part is 0 already."""
    held = tau2_reward(run(said("7"), criteria={"actions": [], "communicate_info": ["7"]}))
    broken = tau2_reward(run(said("8"), criteria={"actions": [], "communicate_info": ["7"]}))

    assert (held.reward, held.parts["DB"], broken.reward) == (None, None, 0.0)
    assert held.reasons == ("DB needs the domain's own tools (τ²-bench or inspect_evals)",)
    assert held.metrics() == {
        "tau2_reward": None,
        "tau2_db": None,
        "tau2_env_assertion": 1.0,
        "tau2_action": 1.0,
        "tau2_communicate": 1.0,
        "tau2_nl_assertion": 1.0,
    }


def test_null_and_empty_actions_differ() -> None:
    """Null: τ² compares nothing, so nothing needs a world; an empty list: nothing may have changed."""
    assert tau2_reward(run(criteria={"actions": None})).reward == 1.0
    assert tau2_reward(run(criteria={"actions": []})).reward is None
    assert tau2_reward(run(criteria={"actions": []}), OTHER).reward == 0.0


def test_assertions_on_the_environment() -> None:
    """All must hold; one that raised is not measured, and the reason is told."""
    criteria = {"env_assertions": [{"func_name": "f"}, {"func_name": "g"}], "reward_basis": ["ENV_ASSERTION"]}

    def reward(*held: bool | None, notes: tuple[str, ...] = ()) -> float | None:
        return tau2_reward(run(criteria=criteria), Replayed(db_match=False, assertions=held, notes=notes)).reward

    assert reward(True, True) == 1.0
    assert reward(True, False) == 0.0
    assert reward(True, None) is None
    told = tau2_reward(run(criteria=criteria), Replayed(db_match=True, assertions=(True, None), notes=("g raised",)))
    assert told.reasons == ("g raised",)


def test_assertions_in_words_need_a_judge() -> None:
    """They are not measured unless a judge's answers are given; all of those must be yes, however many there are."""
    criteria = {"nl_assertions": ["polite"], "reward_basis": ["NL_ASSERTION"]}

    assert tau2_reward(run(criteria=criteria)).reward is None
    assert tau2_reward(run(criteria=criteria)).reasons == ("NL_ASSERTION needs a judge model",)
    assert tau2_reward(run(criteria=criteria), nl=[True, False]).reward == 0.0
    assert tau2_reward(run(criteria=criteria), nl=[]).reward == 1.0


def test_calls_that_cannot_be_seen_are_not_measured() -> None:
    """ACTION is unknown where the agent's calls are invisible."""
    hidden = run(criteria={"actions": [{"name": "look"}], "reward_basis": ["ACTION"]}).model_copy(
        update={"calls_visible": False}
    )

    assert tau2_reward(hidden, EQUAL).reward is None
