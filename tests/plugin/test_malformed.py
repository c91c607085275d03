"""Hundreds of broken suites in one session: each a readable collection error, and never a traceback of ours."""

import json
import random
import re
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.plugin.project import AGENT, TOOLS, Project

WHOLE: dict[str, Any] = {
    "name": "shop",
    "agent": "shop_agent:build",
    "environment": {"tools": "shop_tools", "state": {"json": "state.json"}},
    "variants": {"careful": {}, "hasty": {"wrong": True}},
    "policies": [{"id": "ask", "text": "Ask.", "challenge": 2, "rule": {"confirm_before": {"calls": ["refund"]}}}],
    "limits": {"turns": 10, "tool_calls": 5, "seconds": 3},
    "gates": ["success >= 0.8", "policy.ask >= 0.5"],
    "trials": 2,
    "scenarios": [
        {"id": "a", "says": ["Refund W1"], "expect": [{"refund": {"order_id": "W1"}}], "policies": ["ask"]},
        {"id": "b", "says": ["Refund W2"], "never": ["refund"], "communicate": ["no"], "match": {"order": "exact"}},
    ],
}
JUNK: list[Any] = [
    None,
    True,
    -1,
    0.5,
    float("inf"),
    "",
    "x" * 300,
    "\ud83d",
    "a:b:c",
    [],
    [[]],
    {},
    {"": 1},
    {"$regex": "("},
]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Give the path to everything inside a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


def broken(seed: int) -> str:
    """Give the text of a suite that a seeded mutation broke, or may have."""
    rng = random.Random(seed)
    suite = yaml.safe_load(yaml.safe_dump(WHOLE))
    for _ in range(rng.randint(1, 3)):
        *path, last = rng.choice([place for place in places(suite) if place])
        target = suite
        for key in path:
            target = target[key]
        action = rng.randrange(4)
        if action == 0:
            del target[last]
        elif action == 1 and isinstance(target, dict):
            target[f"{last}x"] = target.pop(last)
        else:
            target[last] = rng.choice(JUNK)
    text: str = yaml.safe_dump(suite, allow_unicode=False)
    if rng.random() < 0.15:
        cut = rng.randrange(len(text))
        text = text[:cut] + rng.choice(["\t", "]", "{", ": :", "&a *a", "\x07", '"', "- -"]) + text[cut:]
    return text


@pytest.mark.parametrize("count", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_broken_suites_are_as_many_readable_errors(project: Project, count: int) -> None:
    """Whatever is wrong, pytest shows file and problem, and nothing of our code."""
    for seed in range(count):
        project.write(f"bench/s{seed:04d}.agentbench.yaml", broken(seed))
    project.write("bench/shop_agent.py", AGENT)
    project.write("bench/shop_tools.py", TOOLS)
    project.write("bench/state.json", '{"orders": {}}')

    result = project.run("--collect-only", "-q", "--continue-on-collection-errors", timeout=300)

    text = result.stdout.str()
    errors = len(re.findall(r"^ERROR bench/s\d{4}\.agentbench\.yaml", text, re.MULTILINE))
    assert errors > 0.6 * count
    assert "Traceback" not in text
    assert "INTERNALERROR" not in text
    assert "pytest_agentbench" not in text
    assert len(re.findall(r"^\S*s\d{4}\.agentbench\.yaml(:\d+:\d+)?: ", text, re.MULTILINE)) >= errors


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    content=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")))
)
def test_any_bytes_are_a_readable_error(project: Project, content: bytes) -> None:
    """A suite file of arbitrary bytes is an error of the file."""
    (project.pytester.path / "agentbench.yaml").write_bytes(content)

    # a session that goes on has nothing to interrupt: pytest words the interrupt from its whole stack, in half a second
    result = project.run("--collect-only", "-q", "--continue-on-collection-errors")

    assert "pytest_agentbench" not in result.stdout.str()
    assert "INTERNALERROR" not in result.stdout.str()
    result.stdout.fnmatch_lines(["*agentbench.yaml*: *"])


TABLES = {"tools": "shop_tools", "state": {"sqlite": {"schema": "tables.sql", "rows": "rows.yaml"}}}


@pytest.mark.parametrize(
    ("keys", "files", "told"),
    [
        pytest.param(
            {"variants": {"plain": {}, "curt": {"tols": None}}},
            {},
            "*agentbench.yaml:*: variants.curt.tols: *no parameter 'tols'; *(did you mean 'tools'?)",
            id="a keyword of a variant that is not played",
        ),
        pytest.param(
            {}, {"state.json": '{"orders": {},}'}, "*state.json:1:15: this is not JSON: *", id="a state that is no JSON"
        ),
        pytest.param(
            {"environment": TABLES},
            {
                "tables.sql": "CREATE TABLE orders (id, status)",
                "rows.yaml": "orders:\n  - {id: W1, status: open}\n  - {id: W2, stat: open}\n",
            },
            "*rows.yaml:3:14: orders[[]1[]].stat: there is no column 'stat'; *",
            id="a column that the table has not",
        ),
        pytest.param(
            {"environment": TABLES},
            {"tables.sql": "CREATE TABEL orders (id)", "rows.yaml": ""},
            "*tables.sql: near *TABEL*",
            id="a schema that is no SQL",
        ),
    ],
)
def test_what_every_run_would_meet_is_one_error(
    project: Project, keys: dict[str, object], files: dict[str, str], told: str
) -> None:
    """It is told once, with its place, before anything is played."""
    project.suite("a", "b", **keys)
    for name, text in files.items():
        project.write(f"bench/{name}", text)

    result = project.run()

    result.stdout.fnmatch_lines([told])
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.assert_outcomes(errors=1)


def test_variants_of_an_extended_suite_may_fit_another_agent(project: Project) -> None:
    """A suite that names an agent of its own takes over variants, and is not wrong for those that it does not play."""
    project.suite("a", variants={"plain": {}, "curt": {"tools": []}})
    project.write("bench/other.py", "def build():\n    return lambda message: 'Hello.'\n")
    own = {"extends": "agentbench.yaml", "agent": "other:build", "scenarios": [{"id": "b", "says": ["Hi"]}]}
    project.write("bench/other.agentbench.yaml", json.dumps(own))

    project.run("bench/other.agentbench.yaml")

    assert set(project.verdicts().values()) == {"passed"}
