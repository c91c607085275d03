"""Several agents behind one suite: scenarios that hand over are generated, and played by right and wrong agents."""

import json
import shutil
from pathlib import Path

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.suites.suite_file import load_suite

OFFICES = Path(__file__).parent / "services" / "offices"
AGENTS = '''"""Reception, helpdesk and billing: they look up in the scenarios what a conversation asks for."""
from pathlib import Path

import yaml

OWN = {"list_tickets": "helpdesk", "close_ticket": "helpdesk", "list_bills": "billing", "pay_bill": "billing"}


def build(tools, to="right"):
    found = [yaml.safe_load(file.read_text()) for file in sorted(Path("generated/scenarios").glob("*.yaml"))]
    heard, done = [], []
    call = {tool.__name__: tool for tool in tools}

    def sender(name):
        own = OWN.get(name, "reception")
        other = {"helpdesk": "billing", "billing": "helpdesk"}.get(own, own)
        return {"right": own, "nobody": "reception", "wrong": other}[to]

    def reply(message):
        heard.append(message)
        fitting = [one for one in found if [says["request"] for says in one["says"]][: len(heard)] == heard]
        said = [{"role": "assistant", "name": "reception", "content": "Let me see."}]
        for steps in zip(*([item for item in one["expect"] if "name" in item] for one in fitting)):
            if steps.count(steps[0]) != len(steps):
                break
            if len(said) > len(done):
                done.append(call[steps[0]["name"]](**steps[0]["arguments"]))
            said.append({"role": "assistant", "name": sender(steps[0]["name"]), "content": steps[0]["name"]})
        facts = "; ".join(fact for one in fitting for fact in one.get("communicate", ["done"]))
        return [*said, {"role": "assistant", "name": "reception", "content": facts}]

    return reply
'''


def offices(folder: Path, recipe: str = "") -> Path:
    """Write the suite of the offices, and those of two of its agents; give its file."""
    shutil.copytree(OFFICES, folder, dirs_exist_ok=True)
    (folder / "offices_agents.py").write_text(AGENTS, encoding="utf-8")
    for name in ("desk", "billing"):
        (folder / f"{name}.agentbench.yaml").write_text(
            f"agent: offices_agents:{name}\nenvironment: {{tools: {name}_tools, state: {{json: state.json}}}}\n"
            "scenarios: [{id: hello, says: [Hello]}]\n",
            encoding="utf-8",
        )
    recipe = recipe or "agents: {helpdesk: desk.agentbench.yaml, billing: billing.agentbench.yaml}"
    file = folder / "agentbench.yaml"
    file.write_text(
        "agent: offices_agents:build\nvariants: {right: {}, silent: {to: nobody}, lost: {to: wrong}}\n"
        "environment: {tools: [reception_tools, desk_tools, billing_tools], state: {json: state.json}}\n"
        "scenarios: [generated/scenarios/*.yaml]\n"
        f"generate: {{from: tools, count: 10, seed: 7, review: off, {recipe}}}\n",
        encoding="utf-8",
    )
    return file


@pytest.mark.slow
def test_scenarios_of_two_more_agents_are_made_and_played(pytester: pytest.Pytester) -> None:
    """The right agents pass all ten; those that never hand over, or to the wrong one, fail each that asks for it."""
    file = offices(pytester.path)

    assert main(["generate", str(file)]) == 0

    scenarios = load_suite(file, environ={}).scenarios
    handing = [one.id for one in scenarios if one.handoffs]
    assert len(scenarios) == 10
    assert len(handing) > 5
    for one in scenarios:
        made = {call.name.rpartition("_")[2].rstrip("s") for call in one.expected_calls}
        assert {want.to for want in one.handoffs} == {
            agent for thing, agent in (("ticket", "helpdesk"), ("bill", "billing")) if thing in made
        }
        nodes = one.provenance["path"].split(" > ")
        assert all(nodes.index(want.to) < len(nodes) for want in one.handoffs)
    graph = json.loads((pytester.path / "generated/graph.json").read_text(encoding="utf-8"))
    assert graph["agents"]["close_ticket"] == "helpdesk"

    options = ("--agentbench-variant", "all", "-p", "no:cacheprovider", "agentbench.yaml")
    result = pytester.runpytest_subprocess("--agentbench", *options)

    wrong = {f"{one}[{variant}]" for one in handing for variant in ("silent", "lost")}
    both = [one.id for one in scenarios if len(one.handoffs) == 2]  # the lost one hands over to both, too
    wrong -= {f"{one}[lost]" for one in both}
    result.assert_outcomes(failed=len(wrong), passed=30 - len(wrong))
    result.stdout.fnmatch_lines(["*a handoff to * did not take place*"])


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        ("agents: {helpdesk: none.agentbench.yaml}", ["agentbench.yaml:5:", "there is no file 'none.agentbench.yaml'"]),
        (
            "agents: {helpdesk: other.agentbench.yaml}",
            ["generate.agents.helpdesk", "'find_rooms'", "environment.tools"],
        ),
        ("agents: {a: desk.agentbench.yaml, b: desk.agentbench.yaml}", ["generate.agents.b", "other agents have all"]),
    ],
)
def test_an_agent_that_cannot_be_used_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], recipe: str, said: list[str]
) -> None:
    """Before anything is probed: no such file, a tool that runs would not have, no tool of its own."""
    file = offices(tmp_path, recipe)
    (tmp_path / "other.agentbench.yaml").write_text(
        "agent: other:build\nenvironment: {tools: other_tools}\nscenarios: [{id: hello, says: [Hello]}]\n",
        encoding="utf-8",
    )
    (tmp_path / "other_tools.py").write_text("def find_rooms(city: str) -> str:\n    return city\n", encoding="utf-8")

    assert main(["generate", str(file)])

    told = capsys.readouterr().err
    assert all(part in told for part in said), told
    assert not (tmp_path / "generated").exists()
