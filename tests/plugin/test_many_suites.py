"""One repository of many suites whose agents, tools and helpers have equal module names."""

import json
from pathlib import Path

from tests.plugin.project import Project

SUITES = 30

AGENT = """
from shop_words import sorry

def build(tools, wrong=False):
    call = {tool.__name__: tool for tool in tools}

    def reply(message):
        import shop_words
        call["note"](text=shop_words.sorry if wrong else sorry)
        return sorry

    return reply
"""

TOOLS = """
from shop_words import sorry

def note(state: dict, text: str) -> str:
    \"\"\"Note something down.\"\"\"
    state["notes"].append(text + " in " + sorry)
    return "noted"
"""


def write_suites(project: Project) -> list[Path]:
    """Write thirty suites; of every second one the agent is wrong for a rule of its own."""
    suites = []
    for number in range(SUITES):
        folder = f"services/s{number:02d}"
        project.write(f"{folder}/agent.py", AGENT)
        project.write(f"{folder}/shop_tools.py", TOOLS)
        project.write(f"{folder}/shop_words.py", f"sorry = 'sorry {number}'")
        project.write(f"{folder}/state.json", '{"notes": []}')
        wanted = number if number % 2 == 0 else number + 100
        suite = {
            "name": f"s{number:02d}",
            "agent": "agent:build",
            "environment": {"tools": "shop_tools", "state": {"json": "state.json"}},
            "scenarios": [
                {
                    "id": "complaint",
                    "says": ["It is broken."],
                    "expect": [{"note": {"text": f"sorry {wanted}"}}],
                    "communicate": [f"sorry {wanted}"],
                }
            ],
        }
        suites.append(project.write(f"{folder}/agentbench.yaml", json.dumps(suite)))
    return suites


def test_thirty_suites_of_equal_module_names_each_test_their_own_agent(anywhere: Project) -> None:
    """Each run is one of the suite's own agent, tools and helpers, in one process and in two."""
    write_suites(anywhere)

    result = anywhere.run("services")

    result.assert_outcomes(passed=SUITES // 2, failed=SUITES // 2)
    passed = {one.key.suite for one in anywhere.document.results if one.verdict.value == "passed"}
    assert passed == {f"services/s{number:02d}/agentbench.yaml" for number in range(0, SUITES, 2)}


def test_suites_that_extend_a_base_are_collected_and_the_base_is_not(anywhere: Project) -> None:
    """The base has no scenarios of its own; each suite brings its agent, its tools and its scenarios."""
    for path in write_suites(anywhere)[:3]:
        suite = json.loads(path.read_text())
        inherited = {key: suite.pop(key) for key in ("agent", "environment")}
        path.write_text(json.dumps({"extends": "../../base.agentbench.yaml", **suite}))
    inherited["environment"]["state"] = {"json": "empty.json"}
    anywhere.write("empty.json", '{"notes": []}')
    anywhere.write("base.agentbench.yaml", json.dumps({**inherited, "gates": ["success >= 1.0"]}))

    result = anywhere.run("base.agentbench.yaml", *(f"services/s0{n}" for n in range(3)))

    result.stdout.fnmatch_lines(["*s00: success >= 1.0*ok*", "*s01: success >= 1.0*FAILED*"])
    assert [one.verdict.value for one in anywhere.document.results] == ["passed", "failed", "passed"]


def test_suites_stand_apart_also_where_they_have_one_name(project: Project) -> None:
    """No figure is over two suites, and a gate stands beside its own alone."""
    for name, says, gates in (("a", "bye", ["success >= 0.8"]), ("b", "Hello", [])):
        project.write(f"{name}/agent_{name}.py", "def reply(message):\n    return message\n")
        scenario = {"id": "greets", "says": ["Hello"], "communicate": [says]}
        suite = {"name": "desk", "agent": {"callable": f"agent_{name}:reply"}, "scenarios": [scenario], "gates": gates}
        project.write(f"{name}/agentbench.yaml", json.dumps(suite))

    result = project.run()

    result.stdout.fnmatch_lines(
        [
            "=* agentbench: a/agentbench.yaml, b/agentbench.yaml =*",
            "suite",
            "  a/agentbench.yaml * 1 * 0 * 0 % * 0.80 FAILED",
            "  b/agentbench.yaml * 1 * 1 * 100 %*",
            "suite a/agentbench.yaml *",
            "all * 1 * 0 * 0 % * 0.80 FAILED",
            "*1 passed, 1 missed, 1 gate failed in*",
        ]
    )
    result.stdout.no_fnmatch_line("all * 2 *")


def test_a_suite_alone_is_judged_as_among_the_others(project: Project) -> None:
    """What else is in the repository changes nothing."""
    write_suites(project)
    project.run("services/s07/agentbench.yaml", "services/s08/agentbench.yaml").assert_outcomes(passed=1, failed=1)


def test_a_base_beside_its_suites_is_no_suite(anywhere: Project) -> None:
    """Suites extend it from folders that are not below its own."""
    anywhere.write("bench/own.py", "def build():\n    return lambda message: 'Hello'\n")
    anywhere.write("shared/base.agentbench.yaml", '{"agent": "own:build"}')
    scenarios = [{"id": "hello", "says": ["Hello"], "communicate": ["Hello"]}]
    suite = {"extends": "../shared/base.agentbench.yaml", "scenarios": scenarios}
    anywhere.write("bench/agentbench.yaml", json.dumps(suite))

    anywhere.run("shared", "bench").assert_outcomes(passed=1)
