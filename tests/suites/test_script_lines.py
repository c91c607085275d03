"""Lines of a script with what they mean, other names of what a user knows, and the language of the lines."""

import json
from pathlib import Path

import pytest

from pytest_agentbench.core.acts import Line
from pytest_agentbench.core.errors import SuiteError
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.suites.language import language_of, shipped_languages
from pytest_agentbench.suites.scenario_files import load_scenarios
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.tau2.tasks import export_tasks
from tests.tables import each

SCENARIO = """\
id: a
language: de
says:
  - Refund W1
  - {confirm: "Not a problem, do that", about: W1}
  - {decline: Leave it, about: [W2, 12.5]}
  - {close: Bye}
knows: {order_id: {value: W1, also: [Bestellnummer]}, zip: "75001"}
"""


def read(folder: Path, text: str, name: str = "s.yaml") -> Scenario:
    """Read one scenario file."""
    (folder / name).write_text(text, encoding="utf-8")
    (scenario,) = load_scenarios(folder / name, environ={})
    return scenario


def test_a_line_may_say_what_it_means(tmp_path: Path) -> None:
    """The words stand under the act; `about` is a value or several."""
    scenario = read(tmp_path, SCENARIO)

    assert scenario.says == (
        Line(text="Refund W1"),
        Line(text="Not a problem, do that", act="confirm", about=("W1",)),
        Line(text="Leave it", act="decline", about=("W2", 12.5)),
        Line(text="Bye", act="close"),
    )
    assert scenario.lines == ("Refund W1", "Not a problem, do that", "Leave it", "Bye")
    assert (scenario.language, scenario.knows, scenario.also) == (
        "de", {"order_id": "W1", "zip": "75001"}, {"order_id": ("Bestellnummer",)},
    )  # fmt: skip


def test_labels_survive_tau2_s_form(tmp_path: Path) -> None:
    """What τ² does not know stands under our key, in the form that a file has; τ²'s user is told the words."""
    first = read(tmp_path, SCENARIO)

    (task,) = export_tasks([first])
    again = read(tmp_path, json.dumps([task]), "t.json")

    assert task["agentbench"]["says"][1] == {"confirm": "Not a problem, do that", "about": ["W1"]}
    assert task["user_scenario"]["instructions"]["known_info"] == "order id: W1\nzip: 75001"
    assert (again.says, again.knows, again.also, again.language) == (first.says, first.knows, first.also, "de")


@pytest.mark.parametrize(
    ("says", "message"),
    [
        ("[{confrim: yes}]", "s.yaml:2:9: says[0].confrim: unknown key 'confrim' (did you mean 'confirm'?), allowed: "),
        ("[{refuse: yes}]", "about (request: asks for something to be done; inform: gives facts; confirm: a"),
        ("[{confirm: Yes, please}]", "about (it has no value: in braces a comma begins a new key, so put a text that"),
        ("[{confirm: Yes, go ahead.}]", "about (it has no value: in braces a comma begins a new key, so put a text"),
        ("[{confirm: a, decline: b}]", "s.yaml:2:8: says[0]: found 'confirm' and 'decline', expected the words under"),
        ("[{about: W1}]", "s.yaml:2:8: says[0]: found no act, expected the words under one act (acts are request"),
        ("[{confirm: {a: b}}]", "s.yaml:2:18: says[0].confirm: found a mapping with 'a', expected what the user says"),
        ("[5]", "s.yaml:2:8: says[0]: found 5, expected a line: text, text under what it means"),
    ],
)
def test_a_wrong_line_is_told_with_its_place(tmp_path: Path, says: str, message: str) -> None:
    """File, line, column, what was found and what is allowed."""
    with pytest.raises(SuiteError) as caught:
        read(tmp_path, f"id: a\nsays: {says}\n")

    assert message in str(caught.value)


@each("name", shipped_languages())
def test_every_language_file_holds_what_a_user_needs(name: str) -> None:
    """At most 12 phrases that are a yes and 12 that are a no; a `no` gives the wanted value."""
    language = language_of(name, Path())

    assert "{value}" in language.no
    assert all(language.answer(line.upper() + "!") is True for line in language.yes_lines)
    assert all(language.answer(f"« {line}. »") is False for line in language.no_lines)
    assert (language.answer(language.yes), language.answer(language.decline)) == (True, False)
    assert language.answer("W1") is None


def test_a_phrase_that_is_yes_and_no_alike_is_neither() -> None:
    """What 大丈夫です means (*that is fine*, *I need none*) hangs on the question; はい before it settles it."""
    language = language_of("ja", Path())

    assert language.answer("大丈夫です。") is None
    assert language.answer("はい、大丈夫です。") is True


def test_a_language_without_a_file_is_told_where_it_is_asked_for(tmp_path: Path) -> None:
    """The suite and each scenario are told with their place and what there is."""
    path = tmp_path / "agentbench.yaml"
    path.write_text("agent: a:b\nlanguage: eng\nscenarios:\n- {id: a, says: [x], language: tlh}\n", encoding="utf-8")

    with pytest.raises(SuiteError) as caught:
        load_suite(path, environ={})

    assert "agentbench.yaml:2:11: language: the language 'eng' has no file; there are: ar, de, en" in str(caught.value)
    assert "agentbench.yaml:4:32: scenarios[0].language: the language 'tlh' has no file" in str(caught.value)


def test_a_file_beside_the_suite_is_a_language_of_one_s_own(tmp_path: Path) -> None:
    """Any language works by adding a file with a few phrases."""
    own = 'locale = "nl"\nyes = "Ja."\nno = "Nee, {value}."\ndecline = "Nee."\nunknown = "Dat heb ik niet."\n'
    (tmp_path / "nl.toml").write_text(own + 'yes_lines = ["ja"]\nno_lines = ["nee"]\n', encoding="utf-8")
    path = tmp_path / "agentbench.yaml"
    path.write_text("agent: a:b\nlanguage: nl.toml\nscenarios:\n- {id: a, says: [x]}\n", encoding="utf-8")

    assert load_suite(path, environ={}).language == "nl.toml"
    assert language_of("nl.toml", tmp_path).answer("Ja!") is True

    (tmp_path / "nl.toml").write_text(own, encoding="utf-8")
    with pytest.raises(SuiteError, match="is wrong at 'yes_lines': Field required"):
        load_suite(path, environ={})
