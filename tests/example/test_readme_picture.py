"""The picture of the report in the README is what the example prints."""

import re
from pathlib import Path

import pytest

from tests.plugin.project import Project

PROJECT = Path(__file__).resolve().parents[2]


def test_every_line_of_the_picture_is_printed(pytester: pytest.Pytester) -> None:
    """The shown lines come in this order; `…` stands for what is left out, and a line may end in it."""
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"^```\n(=+ agentbench: support =+\n.*?)^```", readme, re.DOTALL | re.MULTILINE)
    assert shown is not None
    wanted = [line.removesuffix("…").rstrip() for line in shown[1].splitlines() if line.strip() not in ("", "…")]
    suite = str(PROJECT / "example_project/support.agentbench.yaml")

    result = Project(pytester=pytester).run(
        "--rootdir", str(pytester.path), "--tb=no", "--agentbench-variant", "hasty", suite, process="forked"
    )

    printed = iter(result.outlines)
    assert [line for line in wanted if not any(found.startswith(line) for found in printed)] == []
