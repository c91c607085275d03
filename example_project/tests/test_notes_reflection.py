"""The critic's marks lead to something: drafts are searched anew, cited better, or marked as unverified."""

import pytest
from notes.answering import Answer, Source
from notes.drafts import Draft, Part
from notes.querying import query
from notes.question import Kind
from notes.reflection.critic import judge
from notes.reflection.evaluation import CRITERIA, Candidate, heuristic
from notes.statements import Statement
from notes_kit import agent, talk


def draft(text, *, coverage=1.0, typed=True, question="How long does a cold heap take?", cite_lines=True):
    """Give a draft of one sentence."""
    one = Statement(text=text, line=35, end=35, kind="sentence", group=0)
    source = Source(path="Garden/Composting.md", title="Duration", first=35, last=35)
    answer = Answer(pieces=(one,), source=source, coverage=coverage, typed=typed)
    part = Part(query=query(question), answer=answer)
    return Draft(kind=Kind.FACT, parts=(part,), french=False, cite_lines=cite_lines)


SAID = "A cold heap takes 12 months."


def test_a_sound_draft_gets_full_marks():
    """Five criteria, and their mean."""
    evaluation = judge(draft(SAID), SAID)

    assert set(type(evaluation.scores).model_fields) == set(CRITERIA)
    assert evaluation.score == pytest.approx(1.0)
    assert evaluation.issues == ()


@pytest.mark.parametrize(
    ("weak", "criterion", "issue"),
    [
        ((draft("A cold heap takes 99 months."), SAID), "accuracy", "the cited lines do not say 99"),
        ((draft(SAID, typed=False), SAID), "completeness", ""),
        ((draft(SAID, coverage=0.5), SAID), "completeness", ""),
        ((draft(SAID, cite_lines=False), SAID), "citation", "the lines are not cited"),
        ((draft("12."), "12."), "clarity", ""),
    ],
)
def test_each_weakness_costs_marks(weak, criterion, issue):
    """And is named."""
    evaluation = judge(*weak)

    assert getattr(evaluation.scores, criterion) < getattr(judge(draft(SAID), SAID).scores, criterion)
    assert evaluation.score < 1
    assert issue in "; ".join(evaluation.issues)


def test_a_question_without_an_answer_scores_nothing():
    """Not even for clarity."""
    empty = Draft(kind=Kind.FACT, parts=(Part(query=query("What?")),), french=False, cite_lines=True)

    assert judge(empty, "").score == 0


def test_the_heuristic_looks_at_length_evasion_and_citation():
    """Same interface, in case a model's judgement is none."""
    good = heuristic(
        Candidate(question="q", answer=f"{SAID} According to Garden/Composting.md it depends. " * 2, sources="")
    )
    evasive = heuristic(Candidate(question="q", answer="I found nothing about that in the notes, sorry.", sources=""))
    short = heuristic(Candidate(question="q", answer="12", sources=""))

    assert good.score > 0.7 > evasive.score > short.score
    assert "no source is cited" in short.issues


def test_reflection_cites_lines_that_a_single_search_leaves_out():
    """The paper's 24 %: most rejected drafts lacked citations."""
    settings = {"planner": False, "memory": False}
    with_it, without = agent(**settings), agent(**settings, reflection=False)

    assert "[Garden/Composting.md]" in without.reply("How long does a cold heap take?")
    assert "[Garden/Composting.md:35]" in with_it.reply("How long does a cold heap take?")
    history = with_it.turns[-1].history
    assert [entry.accepted for entry in history] == [False, True]
    assert history[0].evaluation.score < history[1].evaluation.score == with_it.turns[-1].self_score


def test_a_refinement_searches_and_reads_again(tmp_path):
    """Where the first section does not answer, the next one is read; the number of rounds is bounded."""
    (tmp_path / "a.md").write_text(
        "# Kettle\n\n## Kettle warranty\n\nThe kettle warranty is handled by the shop; see the warranty card.\n\n"
        "## Papers\n\nFor the kettle, the shop's warranty lasts 3 years.\n",
        encoding="utf-8",
    )
    settings = {"planner": False, "memory": False}
    without, with_it = agent(tmp_path, **settings, reflection=False), agent(tmp_path, **settings)

    first, second = (one.reply("How long is the kettle warranty?") for one in (without, with_it))

    assert "3 years" not in first
    assert "3 years" in second
    assert len(with_it.library.calls) > len(without.library.calls)
    assert len(with_it.turns[-1].history) <= 3


def test_what_stays_weak_is_marked_with_its_reasons():
    """The answer is given all the same."""
    (reply,) = talk("How long does a cold heap take?", threshold=1.0, planner=False, rounds=1)

    assert "12 months" in reply
    assert "(unverified: " in reply


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        (["How long does a cold heap take?", "Are you sure?"], "Yes, I read it again"),
        (["How long does a cold heap take?", "I thought it was 3 months."], "do not say “3 months”"),
        (["How long does a cold heap take?", "Where does it say so?"], "section “Duration”: “A cold heap takes"),
        (["How long does a cold heap take?", "Cite your source, please."], "Garden/Composting.md:35"),
        (["Combien de temps se garde le pain ?", "Tu es sûr ? Je croyais que c'était deux jours."], "« deux jours »"),
        (["Combien de temps se garde le pain ?", "Quelle est ta source ?"], "Ma source : [Cuisine/Pain.md:20]"),
        (["What is the capital of Mongolia?", "Really?"], "still found nothing"),
        (["Who described late blight?", "Can you give me more details?"], "wet weather"),
    ],
)
def test_a_critique_is_about_the_last_answer(lines, answer):
    """Doubt, another belief, a request for the source or for more; memory is not needed."""
    for settings in ({}, {"memory": False}):
        assert answer in talk(*lines, **settings)[-1]


def test_doubt_reads_the_note_again():
    """A confirmation is not a repetition."""
    one = agent()
    one.reply("How long does a cold heap take?")
    before = len(one.library.calls)

    one.reply("Are you sure?")

    assert ("read_section", "Duration") in [
        (name, arguments.get("section_title")) for name, arguments in one.library.calls[before:]
    ]


def test_with_memory_alone_the_last_answer_is_repeated():
    """And with neither there is nothing that the question is about."""
    lines = ("How long does a cold heap take?", "Are you sure?")

    assert "That is what the note says: A cold heap takes 12 months." in talk(*lines, reflection=False)[-1]
    assert "12 months" not in talk(*lines, reflection=False, memory=False)[-1]
