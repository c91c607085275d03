"""Hooks of other plugins: what they add holds in one process and in workers, and what they raise is told as theirs."""

import json
from types import SimpleNamespace
from typing import cast

import pytest

from pytest_agentbench.core.protocols import OfferedEnvironment
from pytest_agentbench.core.suite import EnvironmentSpec
from pytest_agentbench.core.tool import Toolset, ToolSpec
from pytest_agentbench.core.verdict import Blame, Verdict
from pytest_agentbench.environment.toolset import offered_tools
from pytest_agentbench.testing import ModelServer, text
from tests.plugin.project import Project
from tests.tables import each

BOT = """
class Bot:
    def chat(self, text):
        return "It is refunded."

def build():
    return Bot()
"""

AGENTS = """
def pytest_agentbench_agent(made):
    return made.chat if type(made).__name__ == "Bot" else None
"""


def test_a_conftest_turns_what_a_factory_gave_into_an_agent(anywhere: Project) -> None:
    """Without it the object is no agent, and the run says so."""
    anywhere.suite({"id": "hello", "says": ["Hi"]}, agent=BOT)
    without = anywhere.run()
    anywhere.write("bench/conftest.py", AGENTS)

    result = anywhere.run()

    without.assert_outcomes(failed=1)
    without.stdout.fnmatch_lines(["*Bot * is no agent*"])
    result.assert_outcomes(passed=1)


def test_a_conftest_holds_where_it_lies(project: Project) -> None:
    """Its hooks are asked for suites below it, not for those beside it."""
    project.suite({"id": "hello", "says": ["Hi"]}, agent=BOT)
    project.write("other/conftest.py", AGENTS)

    project.run("bench", "other").assert_outcomes(failed=1)


CHECKS = """
from pytest_agentbench import Finding

def loud(run):
    yield Finding(check="loud", kind="check", passed=False, message="it whispers")

def pytest_agentbench_checks(run):
    return [loud]

def pytest_agentbench_metrics(run):
    return {"letters": sum(len(text) for _, text in run.transcript.texts("assistant"))}

def pytest_agentbench_report(document):
    total = sum(result.metrics["letters"] for result in document.results)
    return ["letters", f"  {total:.0f} \\x1b[31m"]
"""


def test_checks_metrics_and_sections_are_added(anywhere: Project) -> None:
    """A check fails the run by name, a metric is in the results, a section at the end, its escapes made harmless."""
    anywhere.suite("W1")
    anywhere.write("conftest.py", CHECKS)

    result = anywhere.run()

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*failed: loud, it whispers*", "letters", "  15*"])
    assert "\x1b[31m" not in result.stdout.str()
    assert anywhere.document.results[0].metrics["letters"] == 15


@pytest.mark.parametrize(
    ("hook", "told"),
    [
        ("def pytest_agentbench_checks(run):\n    1 / 0", "the plugin conftest (pytest_agentbench_checks) raised Zero"),
        (
            "def pytest_agentbench_metrics(run):\n    return {'a': 'b'}",
            "gave 'b' for 'a'; a metric is a number or None",
        ),
        ("def pytest_agentbench_agent(made):\n    1 / 0", "ZeroDivisionError"),
    ],
)
def test_what_a_hook_raises_ends_no_session(project: Project, hook: str, told: str) -> None:
    """The run could not be judged or built; the message names the hook."""
    project.suite("W1")
    project.write("conftest.py", hook)

    result = project.run()

    result.assert_outcomes(failed=1)
    assert told in " ".join(result.stdout.str().split())


STATE = """
class Memory:
    isolation = "per_run"
    def open(self, initial, run):
        return {"orders": {"W1": {"status": "delivered"}}}
    def snapshot(self, handle):
        return handle
    def close(self, handle):
        pass

def pytest_agentbench_state(name, options):
    return Memory() if name == "memory" else None
"""


def test_a_plugin_gives_the_state_of_a_name(anywhere: Project) -> None:
    """A name that nobody offers is the environment's fault, with what to look for."""
    environment = {"tools": "shop_tools", "state": {"plugin": "memory"}}
    anywhere.suite("W1", environment=environment)
    anywhere.write("conftest.py", STATE)
    found = anywhere.run()
    anywhere.suite("W1", environment={**environment, "state": {"plugin": "memry"}})

    missing = anywhere.run()

    found.assert_outcomes(passed=1)
    missing.assert_outcomes(failed=1)
    missing.stdout.fnmatch_lines(["*no plugin offers a state named 'memry'; is it installed*"])


def test_a_price_of_a_plugins_is_used(project: Project) -> None:
    """A model that no table knows costs what the hook says."""
    project.write(
        "conftest.py", "def pytest_agentbench_price(model, base_url):\n    return {'input': 1e6, 'output': 0}"
    )
    with ModelServer(lambda _: text("Hello.")) as server:
        agent = {"openai": {"model": "in-house", "base_url": server.base_url, "api_key": "k"}}
        project.suite({"id": "hello", "says": ["Hi"]})
        file = project.pytester.path / "bench" / "agentbench.yaml"
        file.write_text(json.dumps({"agent": agent, "scenarios": [{"id": "hello", "says": ["Hi"]}]}))

        project.run().assert_outcomes(passed=1)

    usage = project.document.results[0].usage["agent"]
    assert usage.unpriced == 0
    assert usage.cost_usd == usage.input_tokens


def test_without_agentbench_no_hook_is_asked(project: Project) -> None:
    """A conftest with all of them costs an ordinary session nothing."""
    project.write("conftest.py", CHECKS + STATE + AGENTS)
    project.write("test_ordinary.py", "def test_it():\n    pass\n")

    result = project.pytest()

    result.assert_outcomes(passed=1)
    assert "letters" not in result.stdout.str()


NOTEBOOK = """
from pytest_agentbench import EnvironmentOffer, Toolset, ToolSpec, Written


class Form(Written):
    notebook: int


class Pages:
    isolation = "per_run"

    def open(self, initial, run):
        return {"notes": []}

    def snapshot(self, handle):
        return {"notes": list(handle["notes"])}

    def close(self, handle):
        pass


class Notebook:
    def __init__(self, size):
        self.size = size
        text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        self.toolset = Toolset(specs=(ToolSpec(name="note", kind="write", parameters=text),))
        self.state = Pages()

    def call(self, handle, call):
        if len(handle["notes"]) == self.size:
            raise ValueError("the notebook is full")
        handle["notes"].append(call.arguments["text"])
        return len(handle["notes"])

    def replayed(self, run, recording, *, whole):
        return run


def pytest_agentbench_environments():
    return {"notebook": EnvironmentOffer(form=Form, open=lambda form, folder: Notebook(form.notebook))}
"""


def test_a_plugin_offers_an_environment_by_a_name(anywhere: Project) -> None:
    """Its form says what may stand there, its tools act on its state, and what a tool raises is a refusal."""
    anywhere.write("bench/conftest.py", NOTEBOOK)
    anywhere.write("bench/desk.py", 'def build(tools):\n    return lambda text: f"Page {tools[0](text=text)}."\n')
    suite = "agent: desk:build\nscenarios: [{id: one, says: [Milk], expect: [{note: {text: Milk}}]}]\n"
    anywhere.write("bench/agentbench.yaml", suite + "environment: {notebook: 3}\n")

    anywhere.run().assert_outcomes(passed=1)

    anywhere.write("bench/agentbench.yaml", suite + "environment: {notebook: three, pages: 2}\n")
    wrong = anywhere.run()

    wrong.stdout.fnmatch_lines(["*:3:*environment.notebook: found 'three'*", "*:3:*unknown key 'pages'*"])


BROKEN = {
    "misfits=lambda form, folder: [1 / 0]": "`misfits`) raised ZeroDivisionError: division by zero",
    "misfits=lambda form, folder: None": "`misfits`) raised TypeError: 'NoneType' object is not iterable",
    "adapt=lambda form, folder, scenario: scenario.ids": "`adapt`) raised AttributeError: 'Scenario' object has no",
    "adapt=lambda form, folder, scenario: 'one'": "`adapt`) raised TypeError: 'one' was given, which is str",
}
"""Mistakes of a plugin in what it says of its environment, and how each is told."""


@each("mistake", BROKEN)
def test_what_a_plugin_raises_about_a_suite_is_told_once_where_it_is_named(anywhere: Project, mistake: str) -> None:
    """The problem names plugin, hook and error, and nothing of our own code is shown."""
    anywhere.write("bench/conftest.py", NOTEBOOK.replace("form=Form,", f"form=Form, {mistake},"))
    scenarios = "[{id: one, says: [Milk]}, {id: two, says: [Milk]}]"
    suite = f"agent: desk:build\nscenarios: {scenarios}\nenvironment: {{notebook: 3}}\n"
    anywhere.write("bench/agentbench.yaml", suite)

    said = [line for line in anywhere.run().outlines if "agentbench.yaml:" in line]

    assert len(said) == 1
    assert ":3:25: environment.notebook: the plugin conftest (pytest_agentbench_environments, " in said[0]
    assert BROKEN[mistake] in said[0]
    assert said[0].endswith("(a mistake of the plugin, not of this file)")


def test_a_fault_strikes_a_tool_that_a_plugin_offers(anywhere: Project) -> None:
    """Also one with an argument whose name Python has no room for."""
    odd = '"text": {"type": "string"}, "from": {"type": "string"}, "page-no": True'
    anywhere.write("bench/conftest.py", NOTEBOOK.replace('"text": {"type": "string"}', odd))
    desk = """
    def build(tools):
        def reply(text):
            try:
                return f"Page {tools[0](**{'text': text, 'page-no': 1})}."
            except Exception as error:
                return f"It is down: {error}"

        return reply
    """
    anywhere.write("bench/desk.py", desk)
    scenarios = "[{id: one, says: [Milk], expect: [], faults: [error@note], communicate: [down]}]"
    anywhere.write(
        "bench/agentbench.yaml", f"agent: desk:build\nscenarios: {scenarios}\nenvironment: {{notebook: 3}}\n"
    )

    result = anywhere.run()

    result.assert_outcomes(passed=1)
    assert any(line.split()[:3] == ["error@note", "1", "1"] for line in result.outlines)


@pytest.mark.parametrize(
    ("keys", "kind"),
    [({}, "unknown"), ({"reads": ("note",)}, "read"), ({"writes": ("note",)}, "write"), ({"seen": ("note",)}, "write")],
)
def test_the_suite_says_what_tools_that_a_plugin_offers_do(keys: dict[str, tuple[str, ...]], kind: str) -> None:
    """`reads` and `writes` hold beside an environment of somebody else's, and so does what was seen."""
    environment = SimpleNamespace(toolset=Toolset(specs=(ToolSpec(name="note"),)))

    loaded = offered_tools(cast("OfferedEnvironment", environment), EnvironmentSpec.model_validate(keys))

    assert [tool.kind for tool in loaded.toolset] == [kind]


def test_an_environment_of_a_plugin_that_breaks_is_not_the_agents_fault(project: Project) -> None:
    """A call may say that it is no refusal; a hook that raises is named, in the file whose reading asked it."""
    broken = NOTEBOOK.replace('ValueError("the notebook is full")', 'EnvironmentFaultError("the notebook burns")')
    project.write("bench/conftest.py", f"from pytest_agentbench.core.errors import EnvironmentFaultError\n{broken}")
    project.write("bench/desk.py", 'def build(tools):\n    return lambda text: f"Page {tools[0](text=text)}."\n')
    suite = "agent: desk:build\nscenarios: [{id: one, says: [Milk], expect: []}]\nenvironment: {notebook: 0}\n"
    project.write("bench/agentbench.yaml", suite)

    project.run()

    (result,) = project.document.results
    assert (result.verdict, result.blame) == (Verdict.ERROR, Blame.ENVIRONMENT)

    project.write("bench/conftest.py", "def pytest_agentbench_environments():\n    raise ValueError('boom')\n")
    wrong = project.run()

    wrong.stdout.fnmatch_lines(["the plugin conftest (pytest_agentbench_environments) raised ValueError: boom*"])
