"""Suites that name models: what each role gets, and what needs no key."""

from pathlib import Path

import pytest

from pytest_agentbench.core.errors import SuiteError
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.suites.suite_file import load_suite

SCENARIO = "scenarios: [{id: a, goal: x}]"


def load(folder: Path, *lines: str, **environ: str) -> Suite:
    """Read a suite made of these lines."""
    file = folder / "agentbench.yaml"
    file.write_text("\n".join((*lines, SCENARIO)), encoding="utf-8")
    return load_suite(file, environ=environ)


def test_roles_take_from_the_common_part_what_they_do_not_say(tmp_path: Path) -> None:
    """`llm` holds what all roles share; what a role says itself wins."""
    suite = load(
        tmp_path,
        "llm: {model: small, base_url: 'http://localhost:1/v1', price: {input: 1, output: 2}}",
        "agent: {openai: {model: large, system: Be brief.}}",
        "user: {llm: {temperature: 0.5}}",
    )

    assert suite.agent.openai is not None
    assert (suite.agent.target, suite.agent.openai.model.model) == ("openai:large", "large")
    assert suite.user.model is not None
    assert (suite.user.model.model, suite.user.model.temperature) == ("small", 0.5)
    assert suite.user.model.base_url == suite.agent.openai.model.base_url == "http://localhost:1/v1"
    assert suite.user.model.price == suite.agent.openai.model.price


def test_user_llm_in_one_word(tmp_path: Path) -> None:
    """`user: llm` is the common model without further ado."""
    suite = load(tmp_path, "agent: a:b", "llm: {model: small}", "user: llm")

    assert suite.user.kind == "llm"
    assert suite.user.model is not None
    assert suite.user.model.model == "small"


def test_a_key_that_is_not_set_is_asked_for_only_when_it_is_needed(tmp_path: Path) -> None:
    """Whoever replays recorded answers needs no key, so an unset one is no error of the file, and changes no hash."""
    lines = ("agent: a:b", "user: {llm: {model: m, api_key: '${THE_KEY}'}}")

    without, given = load(tmp_path, *lines), load(tmp_path, *lines, THE_KEY="sk-12345")

    assert without.user.model is not None
    assert (without.user.model.api_key, without.user.model.api_key_env) == ("", "THE_KEY")
    assert given.user.model is not None
    assert given.user.model.api_key == "sk-12345"
    assert given.secrets == ("sk-12345",)
    assert without.content_hash == given.content_hash


@pytest.mark.parametrize(
    ("before", "after"),
    [("model: m", "model: n"), ("temperature: 0", "temperature: 1"), ("temperature: 0", "effort: low")],
)
def test_another_model_is_another_suite(tmp_path: Path, before: str, after: str) -> None:
    """Results of different models are not of the same suite."""
    line = "user: {llm: {model: m, temperature: 0}}"

    first, second = load(tmp_path, "agent: a:b", line), load(tmp_path, "agent: a:b", line.replace(before, after))

    assert first.content_hash != second.content_hash


def test_the_system_prompt_is_read_from_its_file(tmp_path: Path) -> None:
    """`system_file` holds the prompt, and its bytes count for the hash."""
    (tmp_path / "prompt.md").write_text("Be brief.", encoding="utf-8")
    line = "agent: {openai: {model: m, system_file: prompt.md}}"
    first = load(tmp_path, line)
    (tmp_path / "prompt.md").write_text("Be long.", encoding="utf-8")

    second = load(tmp_path, line)

    assert first.agent.openai is not None
    assert first.agent.openai.system == "Be brief."
    assert first.content_hash != second.content_hash


def test_a_key_that_came_later_changes_no_hash_of_suites_without_it() -> None:
    """Results and generated files of before stay comparable."""
    spec = ModelSpec(model="m")

    assert "effort" not in spec.model_dump()
    assert spec.model_copy(update={"effort": "low"}).model_dump()["effort"] == "low"
    assert ModelSpec.model_validate(spec.model_dump()) == spec


JUDGE = "judge: {llm: {model: m}}"


@pytest.mark.parametrize("written", ["off", "flags", "decide"])
def test_the_auditor_is_what_the_suite_says_it_is(tmp_path: Path, written: str) -> None:
    """Off needs no judge."""
    judge = [] if written == "off" else [JUDGE]

    suite, without = load(tmp_path, "agent: a:b", f"auditor: {written}", *judge), load(tmp_path, "agent: a:b", *judge)

    assert (suite.auditor, without.auditor) == (written, None)
    assert suite.content_hash != without.content_hash


@pytest.mark.parametrize(
    ("line", "place", "message"),
    [
        ("auditor: decide", "2:10: auditor", "'decide' needs a model to ask, and the suite has no judge"),
        ("auditor: yes", "2:10: auditor", "found 'yes', allowed: 'off', 'flags', 'decide'"),
        ("user: {llm: {model: m}, critique: 2}", "2:35: user.critique", "and the suite has no judge"),
        ("user: {llm: {model: m}, critique: 3}", "2:35: user.critique", "found 3, allowed: 1, 2"),
    ],
)
def test_what_a_judge_is_needed_for_is_refused_without_one(tmp_path: Path, line: str, place: str, message: str) -> None:
    """The file, line and column are named, and what to add."""
    with pytest.raises(SuiteError) as caught:
        load(tmp_path, "agent: a:b", line)

    assert f"agentbench.yaml:{place}" in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize("line", ["user: {modifiers: [impatient]}", "user: {scripted: {}, modifiers: [impatient]}"])
def test_a_scripted_user_has_no_modifiers(tmp_path: Path, line: str) -> None:
    """Whoever leaves the model out is told so."""
    with pytest.raises(SuiteError, match="a scripted user has no modifiers and no critique: write `user: scripted`"):
        load(tmp_path, "agent: a:b", line)


def test_how_often_a_conversation_that_is_not_over_goes_on(tmp_path: Path) -> None:
    """Never, unless the suite says so."""
    without, asked = (
        load(tmp_path, "agent: a:b", JUDGE, f"user: {{llm: {{model: m}}{critique}}}")
        for critique in ("", ", critique: 2")
    )

    assert (without.user.critique, asked.user.critique) == (0, 2)
