"""The files of the stages: read where they still hold, made anew where not."""

import asyncio
from pathlib import Path

import pytest

from pytest_agentbench.core.errors import ResultsError
from pytest_agentbench.generation.tools.artifacts import CARDS, load, resumed, save
from pytest_agentbench.generation.tools.data_types import Cards
from tests.generation.tools.probed import cards_of


def test_what_is_saved_is_read_as_it_was(tmp_path: Path) -> None:
    """Cards survive their file, and the same cards are the same bytes."""
    cards = cards_of("sensors")

    save(tmp_path / CARDS, cards, "abc")
    first = (tmp_path / CARDS).read_bytes()
    save(tmp_path / CARDS, cards, "abc")

    assert load(tmp_path / CARDS, Cards, "abc") == cards
    assert (tmp_path / CARDS).read_bytes() == first
    assert first.isascii()


def test_a_stage_is_made_again_only_when_something_changed(tmp_path: Path) -> None:
    """The same hash resumes, another one or force does not."""
    made: list[str] = []

    async def make() -> Cards:
        made.append("made")
        return Cards()

    async def stages() -> None:
        for made_from, force in (("a", False), ("a", False), ("b", False), ("b", True)):
            await resumed(tmp_path / CARDS, Cards, made_from, make, force=force)

    asyncio.run(stages())

    assert len(made) == 3


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"schema": "other/1"}', '{"schema": "agentbench-generation/1", "cards": 5}']
)
def test_a_file_that_is_none_says_what_to_do(tmp_path: Path, text: str) -> None:
    """A broken file is an error that names it and the way out."""
    (tmp_path / CARDS).write_text(text)

    with pytest.raises(ResultsError, match=r"cards\.json.*remove it to have it made anew"):
        load(tmp_path / CARDS, Cards)
