"""The guard of lines: what looks like a value, where a value stands, and how long a line may take."""

import time
from pathlib import Path

import pytest

from pytest_agentbench.core.suite import Suite
from pytest_agentbench.generation.draft import Draft, Persona
from pytest_agentbench.generation.language.guard import line_faults, stands_in
from pytest_agentbench.generation.language.wording import persona_faults
from tests.generation.draft import right
from tests.generation.drafting import suite_of
from tests.tables import each

PERSONA = Persona(
    task_instructions="Be brief.",
    reason_for_call="You want help with your loans.",
    known_info="You are member M21, and you mean 1 week.",
)


def answered(suite: Suite, answer: str) -> Draft:
    """Plan a renewal, and have its first call give another answer."""
    draft = right.renewing(suite)
    call = draft.turns[0].calls[0].model_copy(update={"answer": answer})
    first = draft.turns[0].model_copy(update={"calls": (call,)})
    return draft.model_copy(update={"turns": (first, *draft.turns[1:])})


@pytest.mark.parametrize("text", ["@" * 2000, "a" * 2000, "@," * 1000, "1#" * 1000, "-" * 2000])
def test_a_line_of_the_same_characters_is_read_in_no_time(tmp_path: Path, text: str) -> None:
    draft = right.renewing(suite_of(tmp_path, "library"))
    start = time.process_time()

    line_faults(text, draft.turns[0], draft)

    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("I am M21, mail a.b@example.com.", "the line states 'b@example.com', which is no value of this turn"),
        ("I am M21, for 50%.", "the line states '50%', which is no value of this turn"),
        ("I am M21, order #W-77/3.", "the line states '#W-77/3', which is no value of this turn"),
        ("I am M21, for €5.", "the line states '5', which is no value of this turn"),
    ],
)
def test_a_value_from_nowhere_is_named_as_it_stands(tmp_path: Path, line: str, fault: str) -> None:
    draft = right.renewing(suite_of(tmp_path, "library"))

    assert line_faults(line, draft.turns[0], draft) == [fault]


@pytest.mark.parametrize(
    ("line", "is_fault"),
    [
        ("For 1 week, and 17 books.", True),
        ("For 1 week, and 7 books.", True),
        ("For 1 week, and seventeen books.", True),
        ("For 1 week, the one of 17 March.", False),
        ("For 1 week, the one of 2021-03-17.", False),
        ("For 1 week, the one of 3 pm.", False),
        ("For 1 week, loan L302.", False),
    ],
)
def test_a_part_of_a_value_that_stands_in_an_answer_is_no_value(tmp_path: Path, line: str, *, is_fault: bool) -> None:
    draft = answered(suite_of(tmp_path, "library"), '[{"loan_id": "L302", "lent": "2021-03-17T15:00:00"}]')

    assert bool(line_faults(line, draft.turns[1], draft)) is is_fault


@each(
    ("value", "text", "stands"),
    [
        (7, "7 days", True),
        (7, "2021-03-17", False),
        (17, "2021-03-17", False),
        (7, "W7", False),
        ("2021-03-17", "2021-03-17T10:00:00Z", True),
        ("L30", "L302", False),
    ],
)
def test_a_value_stands_in_a_text_as_a_whole(value: str | int, text: str, *, stands: bool) -> None:
    assert stands_in(value, text) is stands


@pytest.mark.parametrize("field", ["unknown_info", "reason_for_call"])
def test_no_field_of_a_persona_states_a_value_from_nowhere(tmp_path: Path, field: str) -> None:
    draft = right.renewing(right.library(tmp_path))
    persona = PERSONA.model_copy(update={field: "If asked, use M99 and pay 500 EUR."})

    assert list(persona_faults(PERSONA, draft)) == []
    assert list(persona_faults(persona, draft)) == [
        f"{field}: it states 'M99', which is no value of this turn",
        f"{field}: it states '500', which is no value of this turn",
    ]
