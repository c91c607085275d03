"""The folder of a recipe: scenarios wait for a reviewer, and what one decided is never written over."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.generation.recipe_folder import ScenarioFile, Store
from pytest_agentbench.spec.loading import read_yaml
from pytest_agentbench.suites.review_form import accepted, rejected, with_review
from pytest_agentbench.suites.scenario_files import load_scenarios

DAY = date(2026, 11, 24)


def scenarios(*names: str, line: str = "Refund W1") -> ScenarioFile:
    """Give the personas of one draft as a file."""
    forms = tuple(_form(name, line) for name in names)
    return ScenarioFile(name=names[0], forms=forms)


def _form(name: str, line: str) -> dict[str, Any]:
    return {"id": name, "title": "a refund", "says": [line], "provenance": {"generated": {}}}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A folder with four scenarios in three files, written once."""
    found = Store(tmp_path)
    found.save_scenarios([scenarios("a"), scenarios("b"), scenarios("c", "c-2")])
    return found


def file(store: Store, name: str) -> Path:
    """Give the file of a draft."""
    return store.path / "scenarios" / f"{name}.yaml"


def decide(store: Store, name: str, reason: str = "", index: int | None = None) -> None:
    """Accept a scenario, or reject it with a reason."""
    path = file(store, name)
    text = path.read_text(encoding="utf-8")
    written = read_yaml(text, path).value
    one = written if index is None else written[index]
    review = rejected(reason, "Ann", DAY) if reason else accepted(one, "Ann", DAY)
    path.write_text(with_review(text, path, index, review), encoding="utf-8")


def test_scenarios_are_written_as_pending(store: Store) -> None:
    """Each of them, unless the recipe says that nobody is asked."""
    read = load_scenarios(file(store, "c"), environ={})
    assert [one.review.state for one in read if one.review] == ["pending", "pending"]

    store.save_scenarios([scenarios("d")], review="off")

    read = load_scenarios(file(store, "d"), environ={})
    assert [one.review for one in read] == [None]
    assert not file(store, "a").exists()


def test_what_was_accepted_or_rejected_is_kept(store: Store) -> None:
    """Neither written over nor removed, and counted; all else is as the generator has it now."""
    decide(store, "a")
    decide(store, "b", "nobody says so")
    before = {name: file(store, name).read_bytes() for name in "ab"}

    saved = store.save_scenarios([scenarios("a", line="Refund W9"), scenarios("d")])

    assert {name: file(store, name).read_bytes() for name in "ab"} == before
    assert sorted(one.name for one in (store.path / "scenarios").iterdir()) == ["a.yaml", "b.yaml", "d.yaml"]
    assert {one.name for one in saved.kept} == {"a.yaml", "b.yaml"}


def test_an_acceptance_that_lapsed_is_kept_too(store: Store) -> None:
    """Somebody edited it: that is work, whatever has to be reviewed again."""
    decide(store, "a")
    file(store, "a").write_text(file(store, "a").read_text().replace("Refund W1", "Refund W1 now"))

    store.save_scenarios([scenarios("a")])

    assert load_scenarios(file(store, "a"), environ={})[0].lines == ("Refund W1 now",)


def test_a_file_is_kept_whole_where_one_persona_of_it_was_decided_about(store: Store) -> None:
    """The other one of the file waits as before."""
    decide(store, "c", index=1)

    store.save_scenarios([scenarios("c", "c-2", line="Refund W9")])

    read = load_scenarios(file(store, "c"), environ={})
    assert [one.lines for one in read] == [("Refund W1",)] * 2
    assert [one.review.state for one in read if one.review] == ["pending", "accepted"]


def test_a_file_that_a_person_wrote_is_left_alone(store: Store) -> None:
    """A scenario of the same name is not written over it, and it is counted as theirs."""
    own = "id: d\ntitle: my own\nsays: [Hello]\n"
    file(store, "d").write_text(own, encoding="utf-8")

    saved = store.save_scenarios([scenarios("a"), scenarios("d")])

    assert file(store, "d").read_text(encoding="utf-8") == own
    assert ([one.name for one in saved.foreign], saved.kept) == (["d.yaml"], ())


def test_only_a_file_that_another_stands_for_is_removed(store: Store) -> None:
    """Those who word some scenarios anew leave all others alone."""
    files = [scenarios("e").model_copy(update={"replaces": "b"})]

    saved = store.save_scenarios(files, whole=False)

    assert [one.name for one in saved.removed] == ["b.yaml"]
    assert sorted(one.stem for one in (store.path / "scenarios").iterdir()) == ["a", "c", "e"]


def test_a_file_that_a_person_broke_is_left_alone(store: Store) -> None:
    """Collecting says what is wrong with it."""
    file(store, "a").write_text(file(store, "a").read_text() + "says: [")

    store.save_scenarios([scenarios("b")])

    assert file(store, "a").exists()


def test_the_same_scenarios_again_are_the_same_bytes(store: Store) -> None:
    """Those that nobody decided about."""
    before = file(store, "a").read_bytes()

    store.save_scenarios([scenarios("a")])

    assert file(store, "a").read_bytes() == before
