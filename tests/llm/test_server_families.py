"""Suites over each family of model servers: the right verdict, or one line that says which key to set."""

from collections.abc import Mapping
from typing import Any

import pytest

from pytest_agentbench.core.run import Result
from tests.llm.family_model import CRITERION, POLICY, SHOP
from tests.llm.family_server import KEY, Family, FamilyServer
from tests.llm.server_families import FAMILIES
from tests.plugin.models_project import models_suite
from tests.plugin.project import Project

RUNS = 3
CALLS = 7
"""Two of the user and two of the agent; then the ending, the policy and the rubric are judged once each."""

FORMS = 4
"""Forms in which a typed answer is asked for, one after the other, until one is taken."""

BY_NAME = {family.name: family for family in FAMILIES}

OF_THE_SUITE: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("openai-reasoning", {"temperature": 0}, "temperature"),
    ("azure-v1", {"temperature": 0}, "temperature"),
    ("anthropic-no-temperature", {"temperature": 0}, "temperature"),
    ("gateway-no-param", {"temperature": 0}, "temperature"),
    ("mistral", {"seed": 7}, "seed"),
    ("mistral-reasoning", {"seed": 7}, "seed"),
    ("gemini", {"seed": 7}, "seed"),
)
"""Families, what a suite itself sets that they refuse, and the key that the report must name."""

FORMS_OF_THE_SUITE = (
    ("lm-studio", "json"),
    ("deepseek-thinking", "tool"),
    ("groq", "json_schema"),
    ("deepseek", "json_schema"),
    ("xai", "json"),
)
"""Families, and a form of structured answers that they refuse and a suite asks for."""


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """A user's project, run in one process."""
    return Project(pytester=pytester)


def play(project: Project, server: FamilyServer, **llm: Any) -> list[str]:
    """Run the suite over a family with these keys of `llm`; give the lines of the report."""
    reach = {"base_url": server.base_url, "model": "large-1", "api_key": KEY}
    models_suite(
        project,
        server.base_url,
        count=RUNS,
        llm={**reach, **server.family.llm, **llm},
        agent={"openai": {"system": SHOP}},
        user={"llm": {}},
        judge={"llm": {}},
        auditor="decide",
        rubric=[CRITERION],
        policies=[POLICY],
    )
    suite = project.pytester.path / "bench/agentbench.yaml"
    suite.write_text(suite.read_text().replace('"id": "s', f'"policies": ["{POLICY["id"]}"], "id": "s'))
    result = project.run()
    return [*result.outlines, *result.errlines]


def results(project: Project) -> tuple[Result, ...]:
    """Give what came of the runs; nothing, where the session did not start."""
    return project.document.results if (project.pytester.path / ".agentbench/results.json").exists() else ()


def played(project: Project) -> dict[str, str]:
    """Give the verdict of each run, the policies that it broke, and what of it nobody could measure."""
    return {one.key.scenario: _verdict(one) for one in results(project)}


def _verdict(result: Result) -> str:
    """Put into words what came of a run; of one that nobody could judge, whose fault that is."""
    if str(result.verdict) == "error":
        return f"error {result.blame} {result.termination}"
    broken = [f"broke {outcome.policy}" for outcome in result.policies if outcome.kept is False]
    return " ".join([str(result.verdict), *broken, *(f"without {part.part}" for part in result.unmeasured)])


def entries(lines: list[str]) -> list[str]:
    """Put the lines of the report together that are one entry in several, and leave out what was merely adapted."""
    whole: list[str] = []
    for line in lines:
        if whole and whole[-1].strip() and line.startswith("      "):
            whole[-1] += f" {line.strip()}"
        else:
            whole.append(line)
    return [entry for entry in whole if not entry.startswith("adapted")]


def named(lines: list[str], words: tuple[str, ...]) -> bool:
    """Tell whether one entry of the report holds all these words."""
    return any(all(word in entry for word in words) for entry in entries(lines))


def check(server: FamilyServer, *, more: int = 0) -> None:
    """Assert that no request was wasted, and that no thought was taken for words.

    Judges of several runs ask for the first time at once, and each may meet what the server refuses.
    """
    assert len(server.requests) <= RUNS * CALLS + server.facts + RUNS - 1 + more
    assert server.overheard == []


def by_name(family: Family) -> str:
    """Name a row of the table."""
    return family.name


@pytest.mark.parametrize("family", [family for family in FAMILIES if not family.line], ids=by_name)
def test_it_ends_with_the_right_verdict(project: Project, family: Family) -> None:
    """Nothing has to be set: user, agent, judge and a policy in words all play."""
    with FamilyServer(family) as server:
        lines = play(project, server)

    assert played(project) == family.verdicts, "\n".join(lines)
    check(server)


@pytest.mark.parametrize("family", [family for family in FAMILIES if family.line], ids=by_name)
def test_it_ends_rightly_or_says_what_to_set(project: Project, family: Family) -> None:
    """What cannot be played is nobody's fault but the provider's, and one line of the report says why."""
    with FamilyServer(family) as server:
        lines = play(project, server)

    assert results(project), "\n".join(lines)
    if played(project) != family.verdicts:
        assert named(lines, family.line), "\n".join(lines)
        assert {str(one.blame) for one in results(project) if one.blame} <= {"provider", "agent"}
    check(server)


@pytest.mark.parametrize("family", [family for family in FAMILIES if family.cure], ids=by_name)
def test_the_key_that_is_named_cures_it(project: Project, family: Family) -> None:
    """What the line says is true."""
    with FamilyServer(family) as server:
        lines = play(project, server, **family.cure)

    assert played(project) == family.verdicts, "\n".join(lines)
    check(server)


@pytest.mark.parametrize(("name", "keys", "word"), OF_THE_SUITE, ids=[f"{row[0]}-{row[2]}" for row in OF_THE_SUITE])
def test_what_the_suite_sets_is_never_left_out(project: Project, name: str, keys: Mapping[str, Any], word: str) -> None:
    """A server that refuses it is the provider's error, and the report names the key."""
    with FamilyServer(BY_NAME[name]) as server:
        lines = play(project, server, **keys)

    blamed = {(str(one.verdict), str(one.blame)) for one in results(project)}
    assert blamed == {("error", "provider")}, "\n".join(lines)
    assert named(lines, (word,)), "\n".join(lines)
    assert all(asked.body.get(key) == value for asked in server.requests for key, value in keys.items())
    check(server, more=RUNS * FORMS)  # no form is taken, which may have been what was refused


@pytest.mark.parametrize(("name", "form"), FORMS_OF_THE_SUITE)
def test_a_form_that_the_suite_sets_is_not_changed(project: Project, name: str, form: str) -> None:
    """The user cannot be played then: nobody's fault but the provider's, and the report names the key."""
    with FamilyServer(BY_NAME[name]) as server:
        lines = play(project, server, structured=form)

    assert played(project) == dict.fromkeys(("s1", "s2", "s3"), "error provider CRASHED"), "\n".join(lines)
    assert named(lines, ("structured",)), "\n".join(lines)
    assert {asked.shape for asked in server.requests if asked.role == "user"} == {form}
    check(server)


def test_a_bound_keeps_its_value_under_its_new_name(project: Project) -> None:
    """Renaming `max_tokens` is always allowed."""
    family = BY_NAME["openai-reasoning"]
    with FamilyServer(family) as server:
        lines = play(project, server, max_tokens=4000)

    assert played(project) == family.verdicts, "\n".join(lines)
    assert {asked.body["max_completion_tokens"] for asked in server.requests[1:]} == {4000}
    check(server)
