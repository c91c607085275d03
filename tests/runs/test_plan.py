"""What a run is planned and judged by."""

from pathlib import Path

from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.runs.plan import plans
from pytest_agentbench.suites.suite_file import load_suite


def test_a_run_is_judged_with_the_suites_context_beneath_the_scenarios(tmp_path: Path) -> None:
    """What the context fixes needs nobody's yes, wherever it is written; each way that is right is judged so."""
    text = "agent: a:b\ncontext: {customer: u1, shop: s1}\nscenarios: [{id: x, says: [Hi], context: {shop: s2}}]\n"
    (tmp_path / "agentbench.yaml").write_text(text, encoding="utf-8")

    (plan,) = plans(load_suite(tmp_path / "agentbench.yaml", environ={}), "s", ("",), Toolset())

    assert [way.scenario.context for way in plan.ways] == [{"customer": "u1", "shop": "s2"}]
