"""What a model-backed simulated user did wrong, and which of its modifiers showed."""

from collections.abc import Iterable

from pytest_agentbench.core.run import Run
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.verdict import Finding

_SHOWED = {
    True: "showed",
    False: "did not show: this run says nothing about it",
    None: "is not measured: turns of the user do not say what it meant",
}


def check_simulated_user(run: Run) -> Iterable[Finding]:
    """Give a finding per fault, per modifier in force, and per modifier that does not fit the scenario.

    None of them is required of the agent: a fault makes the run *disputed*, see `decide`.
    """
    for fault in run.user_faults:
        message = printable(shorten(fault.message, 300))
        yield Finding(
            check=f"user {fault.rule}", kind="user", passed=False, message=message, turn=fault.turn, required=False
        )
    for name, showed in run.behaviours.items():
        message = f"the modifier {name!r} {_SHOWED[showed]}"
        yield Finding(check=f"modifier {name}", kind="user", passed=showed, message=message, required=False)
    for name, why in run.unfit.items():
        message = f"the modifier {name!r} was left out: {printable(shorten(why, 200))}"
        yield Finding(check=f"modifier {name}", kind="user", passed=None, message=message, required=False)
