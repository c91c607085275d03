"""`--agentbench-generate`: recipes run first, workers read; stale files warn, missing ones are named."""

from pathlib import Path

import pytest

AGENT = '''
def build(tools):
    """Play nothing: what is tested is what is collected."""
    return lambda turn: "I cannot help with that."
'''
TOOLS = '''
NAMES = {"K1": "Ada Roy", "K2": "Ben Low", "K3": "Cleo Dee", "K4": "Dan Orr"}


def find_key(name: str) -> dict:
    """Find the key of a person.

    Args:
        name: Name of the person, for example Ada Roy
    """
    found = [key for key, known in NAMES.items() if known == name]
    if not found:
        raise ValueError(f"nobody is called {name}")
    return {"key": found[0]}


def owner_of(key: str) -> dict:
    """Look up who owns a key.

    Args:
        key: Number of the key, for example K1
    """
    if key not in NAMES:
        raise ValueError(f"no key {key}")
    return {"owner": NAMES[key]}
'''
SUITE = """
agent: keys_agent:build
environment: {tools: keys_tools, reads: [find_key, owner_of]}
scenarios: [generated/scenarios/*.yaml]
generate:
  {from: tools, count: 3, seed: 1, review: off,
   values: {key: [K1, K2, K3, K4], name: [Ada Roy, Ben Low, Cleo Dee, Dan Orr]}}
"""


@pytest.fixture
def keys(pytester: pytest.Pytester) -> Path:
    """A project with a recipe and nothing generated; its suite file."""
    # a plugin of others warns where its scope is not set
    pytester.makeini("[pytest]\naddopts = -p no:cacheprovider\nasyncio_default_fixture_loop_scope = function\n")
    pytester.makepyfile(keys_agent=AGENT, keys_tools=TOOLS)
    suite = pytester.path / "agentbench.yaml"
    suite.write_text(SUITE)
    return suite


def test_missing_scenarios_are_a_collection_error_that_says_what_to_do(pytester: pytest.Pytester, keys: Path) -> None:
    """Collection only reads: it names the command that writes what is missing."""
    result = pytester.runpytest("--agentbench", "--collect-only")

    result.stdout.fnmatch_lines(["*no file matches 'generated/scenarios/*.yaml'*agentbench generate agentbench.yaml*"])
    assert not (pytester.path / "generated").exists()


def test_a_pattern_beside_what_is_written_is_told_where_that_is(pytester: pytest.Pytester, keys: Path) -> None:
    """Whoever names another folder than the recipe's learns its name."""
    keys.write_text(SUITE.replace("[generated/", "[written/"))

    result = pytester.runpytest("--agentbench", "--collect-only")

    result.stdout.fnmatch_lines(["*no file matches 'written/*what `generate` writes is generated/scenarios/[*].yaml*"])


def test_recipes_run_before_collection(pytester: pytest.Pytester, keys: Path) -> None:
    """What the recipe wrote is collected in the same session."""
    result = pytester.runpytest("--agentbench", "--agentbench-generate", "--collect-only", "-q")

    result.stdout.fnmatch_lines(["*3 of 3 scenarios*"])
    assert sum("agentbench.yaml::" in line for line in result.outlines) == 3
    assert not any("PytestCollectionWarning" in line for line in result.outlines)


ORACLE = '''
from pathlib import Path

import yaml


def segments(form):
    """Cut the expected calls into turns; a lookup on the way need not be expected."""
    calls = iter(form["expect"])
    names = [call["name"] for call in form["expect"]]
    path = form["provenance"]["path"].replace("Run_Conversation > ", "", 1)
    for part in path.split(" > Run_Conversation"):
        count = sum(node in names for node in part.split(" > "))
        yield [next(calls) for _ in range(count)]


def words(line):
    return line if isinstance(line, str) else next(iter(line.values()))


def build(tools):
    """Do what the scenario with these lines expects, turn by turn."""
    by_name = {tool.__name__: tool for tool in tools}
    forms = [yaml.safe_load(file.read_text(encoding="utf-8")) for file in Path("generated/scenarios").glob("*.yaml")]
    lines = []

    def reply(turn):
        lines.append(turn.message)
        fitting = [form for form in forms if [words(line) for line in form["says"]][: len(lines)] == lines]
        made = list(segments(fitting[0]))[len(lines) - 1] if fitting else []
        answers = [by_name[call["name"]](**call["arguments"]) for call in made]
        return "; ".join(str(value) for answer in answers for value in answer.values()) or "Goodbye."

    return reply
'''


def test_the_scripted_user_plays_what_was_generated(pytester: pytest.Pytester, keys: Path) -> None:
    """An agent that does what each line asks for passes every scenario with the scripted user."""
    pytester.makepyfile(keys_agent=ORACLE)
    keys.write_text(SUITE.replace("count: 3", "count: 8"))

    result = pytester.runpytest("--agentbench", "--agentbench-generate")

    result.assert_outcomes(passed=8)


def test_workers_read_what_the_controller_wrote(
    pytester: pytest.Pytester, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a worker the recipe runs once, in the controller, before it starts."""
    pytest.importorskip("xdist")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    result = pytester.runpytest("-p", "agentbench", "-p", "xdist", "--agentbench", "--agentbench-generate", "-n", "1")

    assert sum("3 of 3 scenarios" in line for line in result.outlines) == 1
    result.assert_outcomes(failed=3)


def test_a_recipe_that_changed_is_a_warning(pytester: pytest.Pytester, keys: Path) -> None:
    """Scenarios of an older recipe are run all the same, and the session says that they are old."""
    pytester.runpytest("--agentbench", "--agentbench-generate", "--collect-only", "-q")
    keys.write_text(SUITE.replace("seed: 1", "seed: 2"))

    result = pytester.runpytest("--agentbench", "--collect-only", "-q", "-W", "default")

    result.stdout.fnmatch_lines(["*3 generated scenarios do not match the suite any more: recipe changed since*"])
    assert sum("agentbench.yaml::" in line for line in result.outlines) == 3


def test_a_recipe_that_fails_ends_the_session(pytester: pytest.Pytester, keys: Path) -> None:
    """What stops the pipeline is told as a usage error, without a traceback."""
    keys.write_text(SUITE.replace("environment: {tools: keys_tools, reads: [find_key, owner_of]}\n", ""))

    result = pytester.runpytest("--agentbench", "--agentbench-generate")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--agentbench-generate: *the suite names no tools to make scenarios from*"])
