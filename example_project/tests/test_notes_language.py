"""What the rule-based agent makes of language: follow-ups, lists, the other language, and what is not asked about."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from notes.critique import apart
from notes.markdown import parse
from notes.searching import Wanted
from notes.wording import asked, counted, listed_noun
from notes_kit import talk

LAB = """# Lab

The ovarian model reached a Dice score of 0.83.

**Where and when**
The exam takes place on 6 May in hall Curie.
It lasts three hours.

**Decision 4.** The server is kept.

## Objections

- Silt settles
- Salmon cannot pass

## Why closed

The lab is closed because the roof leaks, since 3 March.
"""
BOOK = """# Green Lake

## Facts

"Green Lake" was written by Ada Brook and published in 2011.
It has 268 pages.

## Related

The author names [[Red Hill]] as her model.
"""
OTHER = BOOK.replace("Green Lake", "Red Hill").replace("Ada Brook", "Jon Vale").replace("268", "412").split("## Rel")[0]


@pytest.fixture
def vault(tmp_path):
    """Three short notes."""
    for name, text in (("Lab.md", LAB), ("Green Lake.md", BOOK), ("Red Hill.md", OTHER)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (["How many pages does Green Lake have?", "And Red Hill?"], "412 pages"),
        (["Who wrote Green Lake?", "How many pages does it have?", "And Red Hill?"], "412 pages"),
        (["What are the objections of the lab when it is closed?"], "Silt settles; Salmon cannot pass"),
        (["What are the objections of the lab?", "And the second one?"], "Salmon cannot pass"),
        (["When does the exam take place?"], "6 May"),
        (["Where is the exam?", "How long does it last?"], "three hours"),
        (["What is decision 4?"], "The server is kept"),
        (["Why is the lab closed?"], "because the roof leaks"),
        (["Why is the lab closed?", "Are you sure? Since when is it closed?"], "since 3 March"),
        (["Which book does the author of Green Lake name as her model, and who wrote that book?"], "Jon Vale"),
        (["Quel score de Dice a atteint le modèle ovarian ?"], "0.83"),
        (["Combien de pages a Red Hill ?"], "412"),
    ],
)
def test_what_is_meant_is_answered(vault, lines, wanted):
    """By the last answer of the conversation."""
    assert wanted in talk(*lines, vault=vault)[-1]


@pytest.mark.parametrize(
    "lines",
    [
        ["What Dice score did the liver model reach?"],
        ["What Dice score did the liver model reach?", "Look again, please."],
        ["How much does Green Lake cost?"],
        ["What do the notes say about quantum annealing?", "Search again."],
    ],
)
def test_nothing_near_is_given_for_what_no_note_holds(vault, lines):
    """Neither a neighbour of the same kind nor a figure of something else."""
    assert "found nothing" in talk(*lines, vault=vault)[-1]


def test_a_wrong_premise_is_answered_and_named(vault):
    """The note is the right one; the name in the question is not in it."""
    (reply,) = talk("In which year did Edda Marlowe publish Green Lake?", vault=vault)

    assert "published in 2011" in reply
    assert "(There it does not say “edda marlowe”.)" in reply


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What are the rules when it rains?", ""),
        ("When does it rain?", "time"),
        ("And in which year was it built?", "time"),
        ("Which version of Node does it need?", "version"),
        ("Qui a décidé quand partir ?", "person"),
    ],
)
def test_question_words_of_clauses_ask_nothing(question, kind):
    """The first one says what is asked."""
    assert asked(question).kind == kind


def test_nouns_that_are_counted_or_listed_are_read():
    """In both languages."""
    assert counted("How many pages has it?") == counted("Combien de pages a-t-il ?") == "pages"
    assert listed_noun("What are the objections?") == listed_noun("Quelles sont les objections ?") == "objections"


def test_a_doubt_and_a_question_are_taken_apart():
    """Only where both are there."""
    assert apart("Are you sure? Since when?") == ("Are you sure?", "Since when?")
    assert apart("Are you sure? Check again.") == ("Are you sure? Check again.", "")


@given(st.text(alphabet="ab #*=-_`\n&;[]()\\é", max_size=80))
def test_no_heading_is_lost_to_the_quick_look(text):
    """What tells quickly which notes cannot have a title with a word never leaves out one that has."""
    document = parse(text)

    for section, stems in document.heads:
        for wanted in map(Wanted.of, section.title.split()):
            assert not stems.intersection(wanted.stems) or wanted.may_be_in(document.folded_heads)
