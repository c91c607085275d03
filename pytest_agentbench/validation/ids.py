"""Whether the ids in expected calls exist: each stands in the initial state or in what a call before it gave."""

import re
from collections.abc import Iterator

from pytest_agentbench.checks.matching import compared_arguments
from pytest_agentbench.checks.wording import value_text
from pytest_agentbench.core.matchers import holds_matcher
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.validation.known import Known
from pytest_agentbench.validation.oracle import Heard, result_of
from pytest_agentbench.validation.values import Columns, scalars

_ID = re.compile(r"(?:.*[_-])?ids?|.*[a-z](?:Id|ID)s?")
"""Names of arguments that hold ids: `id`, `order_id`, `item_ids`, `orderId`."""


def unknown_ids(scenario: Scenario, heard: list[Heard], columns: Columns) -> Iterator[str]:
    """Say which values of arguments named as ids no row of the initial state and no earlier result holds."""
    produced = Known()
    for position, want in enumerate(scenario.expected_calls):
        for one in heard:
            if one.position == position - 1 or (one.position == position and one.is_needed):
                produced.add(result_of(one.call.name), one.result.content)
        verified = _verified(scenario, position)
        for name in compared_arguments(want):
            if holds_matcher(want.arguments[name]) or name in verified:
                continue
            for key, value in scalars(want.arguments[name], name):
                if _ID.fullmatch(key) and not columns.holds(value) and not produced.says(value):
                    shown = value_text(value)
                    yield f"{want.name}: {key} {shown} is in no row of the initial state and no earlier result"


def _verified(scenario: Scenario, position: int) -> frozenset[str]:
    """Give the arguments of a generated call that a real call was made with: their ids may be outside of the state."""
    calls = scenario.provenance.get("calls")
    one = calls[position] if isinstance(calls, list) and position < len(calls) else None
    origins = one.get("arguments") if isinstance(one, dict) else None
    if not isinstance(origins, dict):
        return frozenset()
    return frozenset(path.split(".")[0] for path, origin in origins.items() if str(origin).startswith("pool "))
