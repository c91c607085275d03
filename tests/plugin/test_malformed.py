"""Hundreds of broken suites in one session: each a readable collection error, and never a traceback of ours."""

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


@pytest.mark.parametrize("count", [200, pytest.param(1000, marks=pytest.mark.slow)])
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
