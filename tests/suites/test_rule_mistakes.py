"""Rules that can never do what they say: found with their place, and no false alarm on any rule of this tree."""

from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.core.errors import SuiteError
from pytest_agentbench.core.tool import Toolset, ToolSpec
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.suites.call_check import check_calls
from pytest_agentbench.suites.suite_file import load_suite
from tests.tables import each

ROOT = Path(__file__).parents[2]
ORDER = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "status": {"enum": ["open", "shipped"]},
        "amount": {"type": "number"},
        "due": {"type": "string", "format": "date"},
        "items": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "more": {},
    },
    "additionalProperties": False,
}
ARGUMENTS = {
    "order_id": {"type": "string"},
    "amount": {"type": "number"},
    "when": {"type": "string", "format": "date"},
    "reason": {"enum": ["late", "broken"]},
    "parts": {"type": "array", "items": {"type": "string"}},
    "to": {"type": "object", "properties": {"city": {"type": "string"}}},
    "count": {"type": "integer"},
}
TOOLS = Toolset(
    specs=(
        ToolSpec(name="get_order", parameters={"type": "object", "properties": {"order_id": {}}}, returns=ORDER),
        ToolSpec(name="look", parameters={"type": "object", "properties": {"order_id": {}}}),
        ToolSpec(name="refund", parameters={"type": "object", "properties": ARGUMENTS}, kind="write"),
    )
)


def problems(folder: Path, rule: str, toolset: Toolset = TOOLS, more: str = "") -> list[str]:
    """Give what is wrong with a rule at collection."""
    path = folder / "agentbench.yaml"
    path.write_text(f"agent: a:b\npolicies:\n- {{id: p, text: x, rule: {rule}}}\nscenarios: [{{id: a}}]\n{more}")
    try:
        found = check_calls(load_suite(path, environ={}), toolset)
    except SuiteError as error:
        found = error.problems
    return [str(problem).replace(f"{folder}/", "") for problem in found]


@each(
    ("rule", "key", "said"),
    [
        (
            "{only_if: {calls: [refund], confirmed: ^yes}}",
            "only_if.confirmed",
            "having heard these arguments (YAML 1.2 reads yes as a text: write true)",
        ),
        (
            "{when: {calls: [refund], failed: ^on}, then: {must_say: x}}",
            "when.failed",
            "YAML 1.2 reads on as a text: write true",
        ),
        (
            "{at_most: {calls: [refund], times: ^0}}",
            "at_most.times",
            "found 0, expected a whole number from 1; write never to forbid such calls",
        ),
        (
            "{when: {calls: [look]}, then: {must_say: {$result: ^'*.name'}}}",
            "then.must_say.$result",
            "'*' has no meaning here: a reference leads to one value, such as items.0.name",
        ),
        (
            "{when: {calls: [get_order], result: {statsu: ^open}}, then: {must_say: x}}",
            "when.result.statsu",
            (
                "what 'get_order' gives has no 'statsu'; it has id, status, amount, due, items, note, more"
                " (did you mean 'status'?)"
            ),
        ),
        (
            "{when: {calls: [get_order]}, then: {must_say: {$result: ^items.0.nam}}}",
            "then.must_say.$result",
            "what 'get_order' gives has no 'nam' at items.0; it has name (did you mean 'name'?)",
        ),
        (
            "{when: {calls: [get_order], result: {due: {$lt: ^5}}}, then: {must_say: x}}",
            "when.result.due.$lt",
            "found 5, a number; what it is compared with is a string, so this is never true",
        ),
        (
            "{when: {calls: [get_order], result: {status: ^shiped}}, then: {must_say: x}}",
            "when.result.status",
            "found 'shiped', which it never is; it is 'open' or 'shipped' (did you mean 'shipped'?)",
        ),
        (
            "{never: {calls: [refund], where: {amount: {$gt: ^'2024-01-01'}}}}",
            "never.where.amount.$gt",
            "found '2024-01-01', a string; what it is compared with is a number, so this is never true",
        ),
        ("{never: {calls: [refund], where: {when: {$approx: ^5}}}}", "never.where.when.$approx", "found 5, a number"),
        (
            "{never: {calls: [refund], where: {amount: {$regex: ^x}}}}",
            "never.where.amount.$regex",
            "found 'x', a string",
        ),
        ("{never: {calls: [refund], where: {order_id: ^5}}}", "never.where.order_id", "found 5, a number"),
        (
            "{never: {calls: [refund], where: {reason: {$in: [late, ^lost]}}}}",
            "never.where.reason.$in[1]",
            "found 'lost', which it never is",
        ),
        ("{never: {calls: [refund], where: {parts: {$has: ^5}}}}", "never.where.parts.$has", "found 5, a number"),
        ("{never: {calls: [refund], where: {to: {city: ^5}}}}", "never.where.to.city", "found 5, a number"),
        (
            "{never: {calls: [refund], where: {amount: ^{$gt: 3, $lt: 2}}}}",
            "never.where.amount",
            "nothing is more than 3 and less than 2, so this never fits",
        ),
        (
            "{never: {calls: [refund], where: {count: ^{$gt: 3, $lt: 4}}}}",
            "never.where.count",
            "no whole number is more than 3 and less than 4, so this is never true",
        ),
        ("{only_if: {calls: [refund], arguments: {amount: ^'5'}}}", "only_if.arguments.amount", "found '5', a string"),
        (
            "{only_if: {calls: [refund], earlier: {calls: [get_order], result: {amont: ^5}}}}",
            "only_if.earlier.result.amont",
            "(did you mean 'amount'?)",
        ),
    ],
)
def test_a_rule_that_can_never_be_true_is_an_error(tmp_path: Path, rule: str, key: str, said: str) -> None:
    """A text for a boolean, a key that is never there, values that no schema allows: with place (^) and cure."""
    column = len("- {id: p, text: x, rule: ") + rule.index("^") + 1

    (found,) = problems(tmp_path, rule.replace("^", ""))

    assert found.startswith(f"agentbench.yaml:3:{column}: policies[0].rule.{key}: ")
    assert said in found


@pytest.mark.parametrize(
    "rule",
    [
        "{only_if: {calls: [refund], confirmed: true}}",
        "{at_most: {calls: [refund], times: 1}}",
        "{when: {calls: [look]}, then: {must_say: {$result: anything.0.name}}}",
        "{when: {calls: [get_order]}, then: {must_say: {$result: items.0.name}}}",
        "{when: {calls: [get_order]}, then: {must_say: {$result: more.of.it}}}",
        "{when: {calls: [get_order], result: {due: {$lt: '2024-01-01'}}}, then: {must_say: x}}",
        "{when: {calls: [get_order], result: {amount: {$gte: 1, $lt: 5}}}, then: {must_say: x}}",
        "{when: {calls: [get_order], result: {note: null, items: {$has: {name: x}}}}, then: {must_say: x}}",
        "{when: {calls: [get_order], result: {items: {$size: 2}, status: {$not: open}}}, then: {must_say: x}}",
        "{when: {calls: [get_order, look], result: {statsu: open}}, then: {must_say: x}}",
        "{when: {calls: any, result: {statsu: open}}, then: {must_say: x}}",
        "{never: {calls: [refund], where: {amount: {$gt: 5}, reason: late, to: {city: x}, parts: {$each: a}}}}",
        "{when: {calls: [get_order]}, then: {never: {calls: [refund], where: {amount: {$gt: {$result: amount}}}}}}",
    ],
)
def test_a_rule_that_may_be_true_is_none(tmp_path: Path, rule: str) -> None:
    """What is not known is never wrong."""
    assert problems(tmp_path, rule) == []


def test_what_a_schema_leaves_open_is_only_told_where_it_looks_misspelt(tmp_path: Path) -> None:
    """Services give more than they declare, but hardly something that differs in a letter or two."""
    open_order = {key: value for key, value in ORDER.items() if key != "additionalProperties"}
    toolset = Toolset(specs=(ToolSpec(name="get_order", returns=open_order),))
    rule = "{{when: {{calls: [get_order], result: {{{key}: 1}}}}, then: {{must_say: x}}}}"

    assert problems(tmp_path, rule.format(key="undeclared"), toolset) == []
    assert "did you mean 'amount'" in problems(tmp_path, rule.format(key="amuont"), toolset)[0]


def test_python_tools_declare_what_they_give(tmp_path: Path) -> None:
    """A dataclass, a model or a list of these as what a function returns is its declaration; a plain dict is none."""
    (tmp_path / "shop.py").write_text(
        "from dataclasses import dataclass\n"
        "@dataclass\nclass Order:\n    status: str\n"
        "def get_order(order_id: str) -> list[Order]: ...\n"
        "def look(order_id: str) -> dict: ...\n"
    )
    (tmp_path / "agentbench.yaml").write_text("agent: a:b\nenvironment: {tools: shop}\nscenarios: [{id: a}]\n")
    suite = load_suite(tmp_path / "agentbench.yaml", environ={})
    toolset = load_toolset(suite.environment, suite.root)
    rule = "{{when: {{calls: [{tool}]}}, then: {{must_say: {{$result: 0.statsu}}}}}}"

    assert "did you mean 'status'" in problems(tmp_path, rule.format(tool="get_order"), toolset)[0]
    assert problems(tmp_path, rule.format(tool="look"), toolset) == []


SUITES = sorted(
    path
    for folder in ("example_project", "benchmarks", "tests")
    for pattern in ("*agentbench.yaml",)
    for path in (ROOT / folder).rglob(pattern)
    if "rule:" in path.read_text(errors="replace") or "policies:" in path.read_text(errors="replace")
)


@each("path", SUITES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_rules_of_this_tree_are_right(path: Path) -> None:
    """No suite that ships is alarmed about."""
    suite = load_suite(path, environ=_Any(), generating=True)
    toolset = load_toolset(suite.environment, suite.root)
    assert [str(problem) for problem in check_calls(suite, toolset)] == []


class _Any(dict[str, str]):
    """Any variable is set."""

    def __missing__(self, _: Any) -> str:
        return "set"

    def get(self, key: str, default: Any = None) -> Any:
        return "set"

    def __contains__(self, _: object) -> bool:
        return True


@each(
    ("rule", "key", "said"),
    [
        (
            "{confirm_before: {calls: [refund], stating: [^{$result: amount}]}}",
            "confirm_before.stating[0]",
            "there is no call that this could be about",
        ),
        (
            "{when: {calls: [get_order]}, then: {confirm_before: {calls: [refund], stating: [{$result: ^amont}]}}}",
            "then.confirm_before.stating[0].$result",
            "(did you mean 'amount'?)",
        ),
        ("{only_if: {calls: [refund], confirmed: {stating: [^amont]}}}", "only_if.confirmed.stating[0]", "'amount'?"),
        (
            "{only_if: {calls: [refund], confirmed: ^{stated: [amount]}}}",
            "only_if.confirmed",
            "expected true: the user confirmed it; or {stating: […]}",
        ),
        ("{only: {calls: [^refnd]}}", "only.calls[0]", "(did you mean 'refund'?)"),
        ("{only: {calls: ^any}}", "only.calls", "expected a list of names of tools"),
        ("{only: {calls: [refund], where: {amont: ^5}}}", "only.where.amont", "(did you mean 'amount'?)"),
        (
            "{never: {handoff: ^[a]}}",
            "never.handoff",
            "expected the agent that it goes to, or {from: agent, to: agent}",
        ),
        ("{never: {handoff: {^form: a}}}", "never.handoff.form", "(did you mean 'from'?)"),
        ("{never: {^handoff: a, calls: [refund]}}", "never.handoff", "unknown key 'handoff'"),
        ("{only_if: ^{handoff: a}}", "only_if", "nothing says what such a call needs"),
        (
            "{only_if: {handoff: a, ^confirmed: true}}",
            "only_if.confirmed",
            "there is no call that this could be about: write it in an only_if or below a when with calls",
        ),
        ("{when: {handoff: a, ^times: 2}, then: {must_say: x}}", "when.times", "unknown key 'times'"),
        (
            "{when: {handoff: a}, then: {must_say: ^{$result: x}}}",
            "then.must_say",
            "there is no call that this could be about",
        ),
        ("{at_most: ^{calls: [refund]}}", "at_most", "the key 'times' is missing"),
        ("{at_most: ^{calls: [refund], sum: amount}}", "at_most", "the key 'lte' is missing"),
        ("{at_most: {calls: [refund], sum: ^amont, lte: 5}}", "at_most.sum", "(did you mean 'amount'?)"),
        (
            "{at_most: {calls: [refund], sum: ^order_id, lte: 5}}",
            "at_most.sum",
            "order_id of 'refund' is a string, and sum adds up numbers",
        ),
        (
            "{at_most: {calls: [get_order], sum: ^{$result: due}, lte: 5}}",
            "at_most.sum",
            "due of 'get_order' is a string, and sum adds up numbers",
        ),
        (
            "{at_most: {calls: [get_order], sum: {$result: ^amont}, lte: 5}}",
            "at_most.sum.$result",
            "has no 'amont'",
        ),
        ("{at_most: {calls: [refund], sum: amount, lte: ^many}}", "at_most.lte", "expected a number"),
        (
            "{at_most: {calls: [refund], sum: amount, lte: ^{$result: total}}}",
            "at_most.lte",
            "there is no call that this could be about",
        ),
        ("{at_most: {calls: [refund], sum: amount, lte: 5, ^times: 2}}", "at_most.times", "unknown key 'times'"),
        ("{when: {calls: [refund], times: ^0}, then: {must_say: x}}", "when.times", "expected a whole number from 1"),
        ("{when: {calls: [refund], times: 2, per: [^ordr_id]}, then: {must_say: x}}", "when.per[0]", "'order_id'?"),
        (
            "{when: {calls: [refund], ^per: [order_id]}, then: {must_say: x}}",
            "when.per",
            "nothing is counted here (write times, such as times: 2, or leave per out)",
        ),
        ("{when: {user_says: x, times: ^1.5}, then: {must_say: x}}", "when.times", "expected a whole number from 1"),
        (
            "{when: {user_says: x}, then: {later: {calls: [refund], within: ^0}}}",
            "then.later.within",
            "expected a whole number from 1",
        ),
        (
            "{only_if: {calls: [refund], earlier: {calls: [look], ^within: 2}}}",
            "only_if.earlier.within",
            "unknown key 'within'",
        ),
    ],
)
def test_counts_and_sums_that_cannot_be_meant(tmp_path: Path, rule: str, key: str, said: str) -> None:
    """Each with the place (^) where it stands."""
    column = len("- {id: p, text: x, rule: ") + rule.index("^") + 1

    found = problems(tmp_path, rule.replace("^", ""))

    assert len({one.partition(": policies")[0] for one in found}) == 1
    assert found[0].startswith(f"agentbench.yaml:3:{column}: policies[0].rule.{key}: ")
    assert said in found[0]


@pytest.mark.parametrize(
    ("rule", "key", "said"),
    [
        (
            "{never: {calls: [refund], where: {when: {$lt: {$today: ^-30}}}}}",
            "never.where.when.$lt.$today",
            "found -30, expected a span such as 0d, -30d, 2w, +1h or 15min",
        ),
        (
            "{never: {calls: [refund], where: {when: {$lt: {$today: ^+1h}}}}}",
            "never.where.when.$lt.$today",
            "found '+1h': $today is a day, and moves by whole days (write {$now: +1h})",
        ),
        (
            "{never: {calls: [refund], where: {when: {$lt: ^{$today: 1d, plus: 1d}}}}}",
            "never.where.when.$lt",
            "$today has another key beside it: a moment is a mapping with one key",
        ),
        (
            "{never: {calls: [refund], where: {when: {$lt: {$today: ^-999999w}}}}}",
            "never.where.when.$lt.$today",
            "there is no such date",
        ),
        (
            "{never: {calls: [refund], where: {amount: {$lt: ^{$today: -30d}}}}}",
            "never.where.amount.$lt",
            "this is a date; what it is compared with is a number, so this is never true",
        ),
        (
            "{never: {calls: [refund], where: {amount: ^{$now: 0d}}}}",
            "never.where.amount",
            "this is a date; what it is compared with is a number",
        ),
        (
            "{never: {calls: [refund], where: {when: {$approx: ^{$today: 0d}}}}}",
            "never.where.when.$approx",
            "expected a number",
        ),
        (
            "{when: {calls: [look]}, then: {never: {calls: [refund], where: {when: ^{$result: all, times: 2}}}}}",
            "then.never.where.when",
            "this is a number; what it is compared with is a string",
        ),
        (
            "{when: {calls: [get_order]}, then: {must_say: {$result: ^due, times: 2}}}",
            "then.must_say.$result",
            "what 'get_order' gives is a string here, and this takes a number",
        ),
        (
            "{when: {calls: [get_order]}, then: {must_say: {$result: amount, times: ^half}}}",
            "then.must_say.times",
            "found 'half', expected a number",
        ),
        (
            "{when: {calls: [get_order]}, then: {must_say: {$result: due, plus: ^30 days}}}",
            "then.must_say.plus",
            "found '30 days', expected a number, or a span such as 30d, -2w, 1h or 15min",
        ),
        (
            "{when: {calls: [get_order]}, then: {must_say: ^{$result: due, plus: 30d, times: 2}}}",
            "then.must_say",
            "times makes a number, and plus moves a date: only one of them can be meant",
        ),
        (
            "{when: {calls: [get_order]}, then: {must_say: [{$result: amount, ^minus: 2}]}}",
            "then.must_say[0].minus",
            "unknown key 'minus', allowed: $result, times, plus",
        ),
        (
            "{when: {calls: [look]}, then: {never: {calls: any, where: {amount: {$lt: ^{$result: a, minus: 2}}}}}}",
            "then.never.where.amount.$lt",
            "$result has 'minus' beside it: a reference takes only times, plus",
        ),
    ],
)
def test_dates_and_reckoned_values_that_cannot_be_meant(tmp_path: Path, rule: str, key: str, said: str) -> None:
    """Each with the place (^) where it stands, and what to write instead."""
    column = len("- {id: p, text: x, rule: ") + rule.index("^") + 1

    found = problems(tmp_path, rule.replace("^", ""), more="now: 2026-11-22\n")

    assert [one for one in found if one.startswith(f"agentbench.yaml:3:{column}: policies[0].rule.") and key in one]
    assert any(said in one for one in found), found


def test_a_rule_about_today_needs_the_clock(tmp_path: Path) -> None:
    """The key to add is named; with it the rule is right."""
    rule = "{never: {calls: [refund], where: {when: {$lt: {$today: -30d}}}}}"

    (found,) = problems(tmp_path, rule)

    assert "policies[0].rule.never.where.when.$lt.$today: $today is counted from the suite's `now`" in found
    assert "(add `now: 2026-11-22T10:00Z` to the suite)" in found
    assert problems(tmp_path, rule, more="now: 2026-11-22\n") == []


@pytest.mark.parametrize(
    ("now", "said"),
    [
        ("2026-11-22T10:00", "expected a date and time with its zone, such as 2026-11-22T10:00Z, or a date"),
        ("2026-11-31", "now: 2026-11-31: there is no such date"),
        ("2026-11-22T25:00Z", "now: 2026-11-22T25:00Z: there is no such date"),
        ("today", "found 'today', expected a date and time"),
        ("20261122", "or a date, which is midnight UTC\n"),
        ("2026-11-22T10:00", "or a date, which is midnight UTC\n"),
    ],
)
def test_a_clock_that_shows_no_time_is_the_one_problem(tmp_path: Path, now: str, said: str) -> None:
    """The rules that count from it are not said to lack it as well."""
    rule = "{never: {calls: [refund], where: {when: {$lt: {$today: -30d}}}}}"

    (found,) = problems(tmp_path, rule, more=f"now: {now}\n")

    assert found.startswith("agentbench.yaml:5:")
    assert said in f"{found}\n"


def test_dates_in_a_context_need_the_clock_too(tmp_path: Path) -> None:
    """Those of the suite and of a scenario, with their places."""
    path = tmp_path / "agentbench.yaml"
    path.write_text(
        "agent: a:b\ncontext: {day: {$today: 0d}}\nscenarios:\n- {id: a, context: {at: [{$now: 5}, {$now: 5h}]}}\n"
    )

    with pytest.raises(SuiteError) as raised:
        load_suite(path, environ={})

    first, second, third = map(str, raised.value.problems)
    assert ":2:25: context.day.$today: $today is counted from the suite's `now`" in first
    assert ":4:33: scenarios[0].context.at[0].$now: found 5, expected a span" in second
    assert "scenarios[0].context.at[1].$now: $now is counted from" in third
