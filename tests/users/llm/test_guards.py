"""The guard rails: they find the faults that simulators are known for, and leave sound replies alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.users.llm.draft import read_draft
from pytest_agentbench.users.llm.guards import RULES, alarms
from tests.users.llm.faults import POSITIVES, SOUND, Example
from tests.users.llm.french_talk import drafts

FAULTY = [(rule, example) for rule, examples in POSITIVES.items() for example in examples]


@pytest.mark.parametrize(("rule", "example"), FAULTY, ids=[f"{rule}-{e.language}" for rule, e in FAULTY])
def test_a_fault_is_found(rule: str, example: Example) -> None:
    """Each rule gives a reason for a fault of its kind, in English and French."""
    assert RULES[rule](example.view, example.draft)


@pytest.mark.parametrize("example", SOUND, ids=[example.reply[:40] for example in SOUND])
def test_a_sound_reply_is_left_alone(example: Example) -> None:
    """No rule finds fault with what a good user says."""
    assert alarms(example.view, example.draft) == ()


@pytest.mark.parametrize("language", ["en", "fr"])
def test_each_rule_is_shown_in_both_languages(language: str) -> None:
    """There are at least five faults of each kind in each language."""
    counts = {rule: sum(example.language == language for example in examples) for rule, examples in POSITIVES.items()}

    assert counts.keys() == RULES.keys()
    assert min(counts.values()) >= 5


@pytest.mark.parametrize(
    "said",
    [
        "It ends in 8902.",
        "Order w-1001, please.",
        "On May 20th, or the 22nd of May.",
        "On 20/05/2024.",
        "Call me at (555) 201-7788.",
        "I live at 42 Oak Street.",
    ],
)
def test_known_values_may_be_spelled_and_shortened(said: str) -> None:
    """A value is known in any spelling, in part, and as a day within a known span."""
    view = View(
        goal="You want order #W1001 delivered between May 20 and 22, 2024.",
        known_info="Your card is 4444-1234-8902, your phone 555-201-7788; you live at 42 Oak Street.",
    )

    assert RULES["invention"](view, read_draft(said)) is None


@pytest.mark.parametrize(
    "said",
    [
        "I paid about $1200.",
        "I waited for 45 minutes, 24/7.",
        "I bought 2 of the 512GB ones in 2023.",
        "At 10:30, for 10-15 days.",
    ],
)
def test_estimates_are_no_inventions(said: str) -> None:
    """Amounts, quantities, measures, years and times are not looked at."""
    assert RULES["invention"](View(goal="You want help."), read_draft(said)) is None


def test_what_a_tool_of_the_user_returned_is_known() -> None:
    """Results of the user's own tools are things that it may say."""
    result = Message(role="tool", content="PIN: 884412", requestor="user")
    view = View(goal="You have no network.", messages=(result,))

    assert RULES["invention"](view, read_draft("It says 884412.")) is None


def test_a_user_with_tools_checks_things_for_the_agent() -> None:
    """Looking something up for the other side is the agent's register only where the user cannot do it."""
    draft = read_draft("Sure, let me check that for you.")

    assert RULES["register"](View(), draft)
    assert RULES["register"](View(tools=(ToolSpec(name="check_status", requestor="user"),)), draft) is None


def test_the_user_may_repeat_itself_where_the_agent_does() -> None:
    """Who is asked the same again may answer the same again."""
    answer = "I do not have my order number, can you find it by my email address?"
    asked = Message(role="assistant", content="What is your order number? I need it to go on.")
    view = View(messages=(asked, Message(role="user", content=answer), asked))

    assert RULES["echo"](view, read_draft(answer)) is None


def test_a_request_may_be_said_again_to_who_did_not_take_it_up() -> None:
    """Once; the third time is an echo, and the same words about something else are another request."""
    request = "Any bigger car for my rental at the station will do."
    heard = [Message(role="assistant", content=text) for text in ("That did not work.", "Something is missing here.")]
    said = Message(role="user", content=request)
    once, twice = View(messages=(said, heard[0])), View(messages=(said, heard[0], said, heard[1]))

    assert RULES["echo"](once, read_draft(request)) is None
    assert RULES["echo"](twice, read_draft(request))
    assert RULES["echo"](twice, read_draft(request.replace("car", "van"))) is None


@pytest.mark.parametrize(
    ("heard", "said", "is_early"),
    [
        ("Le cours coûte 30 euros. Je vous inscris ?", "Oui, inscrivez-moi. Au revoir !", True),
        ("I have 3 pm. I book it for you?", "Sure, thanks, bye!", True),
        ("It is booked. Did I help you with that?", "Yes, thanks, bye!", False),
        ("Ordered! I'll send you the confirmation by email.", "Great, thank you, bye.", False),
        ("C'est réservé. Je vous envoie une confirmation ?", "Non merci. Au revoir.", False),
    ],
)
def test_a_yes_with_a_good_bye_leaves_work_undone(heard: str, said: str, is_early: bool) -> None:
    """A yes sets the agent to work that the user does not wait for; a no does not, nor does a notice to be sent."""
    view = View(messages=(Message(role="user", content="Hello"), Message(role="assistant", content=heard)))

    assert (RULES["early_stop"](view, read_draft(f"{said} ###STOP###")) is not None) is is_early


@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=300))
def test_no_text_breaks_a_rule(said: str, heard: str, goal: str) -> None:
    """Rules read what models write, whatever that is."""
    view = View(goal=goal, messages=(Message(role="user", content="x"), Message(role="assistant", content=heard)))

    assert alarms(view, read_draft(said)) is not None


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_reads_megabytes(rule: str) -> None:
    """A reply, an agent's message and instructions of a megabyte each are read to the end of what counts."""
    text = "I will check your order 12-34, please. " * 30_000
    view = View(
        goal="x",
        task_instructions=text,
        messages=(Message(role="user", content="x"), Message(role="assistant", content=text)),
    )

    reason = RULES[rule](view, read_draft(text + "###STOP###"))

    assert reason is None or len(reason) < 5_000


def test_french_users_are_left_alone() -> None:
    """No rule finds fault with a turn of French conversations that go as they should."""
    found = [(draft.text, alarm) for view, draft in drafts() for alarm in alarms(view, draft)]

    assert found == []
