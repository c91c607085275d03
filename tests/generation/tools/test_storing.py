"""The folder of a recipe: what a reviewer decided about is never written over."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.generation.store import Saved, ScenarioFile, Store
from pytest_agentbench.suites.review_form import accepted, rejected, with_review
from pytest_agentbench.suites.scenario_files import load_scenarios
from pytest_agentbench.suites.yaml_reader import read_yaml

DAY = date(2026, 11, 24)


def form(name: str, line: str = "Refund W1") -> dict[str, Any]:
    """Give a scenario as a generator makes it."""
    return {"id": name, "title": "a refund", "says": [line], "provenance": {"generated": {}}}


def save(folder: Store, forms: list[list[dict[str, Any]]], **options: Any) -> Saved:
    """Write scenarios, a file each."""
    return folder.save_scenarios([ScenarioFile(name=one[0]["id"], forms=tuple(one)) for one in forms], **options)


@pytest.fixture
def folder(tmp_path: Path) -> Store:
    """A folder with three scenarios, written once."""
    found = Store(tmp_path)
    save(found, [[form("a")], [form("b")], [form("c"), form("c-2")]])
    return found


def file(folder: Store, name: str) -> Path:
    return folder.path / "scenarios" / f"{name}.yaml"


def decide(folder: Store, name: str, reason: str = "", index: int | None = None) -> None:
    """Accept a scenario, or reject it with a reason."""
    path = file(folder, name)
    text = path.read_text(encoding="utf-8")
    written = read_yaml(text, path).value
    one = written if index is None else written[index]
    review = rejected(reason, "Ann", DAY) if reason else accepted(one, "Ann", DAY)
    path.write_text(with_review(text, path, index, review), encoding="utf-8")


def test_scenarios_are_written_as_pending(folder: Store) -> None:
    """Each of them, unless the recipe says that nobody is asked."""
    save(folder, [[form("d")]], review="off")

    read = load_scenarios(file(folder, "d"), environ={})
    assert [one.review for one in read] == [None]
    assert not file(folder, "a").exists()


def test_what_was_accepted_or_rejected_is_kept(folder: Store) -> None:
    """Neither written over nor removed, and counted; all else is as the generator has it now."""
    decide(folder, "a")
    decide(folder, "b", "nobody says so")
    before = {name: file(folder, name).read_bytes() for name in "ab"}

    saved = save(folder, [[form("a", "Refund W9")], [form("d")]])

    assert {name: file(folder, name).read_bytes() for name in "ab"} == before
    assert sorted(one.name for one in (folder.path / "scenarios").iterdir()) == ["a.yaml", "b.yaml", "d.yaml"]
    assert [one.name for one in saved.kept] == ["a.yaml", "b.yaml"]


def test_an_acceptance_that_lapsed_is_kept_too(folder: Store) -> None:
    """Somebody edited it: that is work, whatever has to be reviewed again."""
    decide(folder, "a")
    file(folder, "a").write_text(file(folder, "a").read_text().replace("Refund W1", "Refund W1 now"))

    save(folder, [[form("a")]])

    assert load_scenarios(file(folder, "a"), environ={})[0].lines == ("Refund W1 now",)


def test_a_file_is_kept_whole_where_one_persona_of_it_was_decided_about(folder: Store) -> None:
    """The other one of the file waits as before."""
    decide(folder, "c", index=1)

    save(folder, [[form("c", "Refund W9"), form("c-2", "Refund W9")]])

    read = load_scenarios(file(folder, "c"), environ={})
    assert [one.lines for one in read] == [("Refund W1",)] * 2
    assert [one.review.state for one in read if one.review] == ["pending", "accepted"]


def test_a_file_that_a_person_broke_is_left_alone(folder: Store) -> None:
    """Collecting says what is wrong with it."""
    file(folder, "a").write_text(file(folder, "a").read_text() + "says: [")

    save(folder, [[form("b")]])

    assert file(folder, "a").exists()


def test_the_same_scenarios_again_are_the_same_bytes(folder: Store) -> None:
    """Those that nobody decided about."""
    before = file(folder, "a").read_bytes()

    save(folder, [[form("a")]])

    assert file(folder, "a").read_bytes() == before
