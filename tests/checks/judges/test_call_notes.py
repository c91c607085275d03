"""What is noted of calls: where values come from by whole values, how calls went, and whether answers were of use."""

from pytest_agentbench.checks.judges.call_notes import call_notes
from pytest_agentbench.core.tool import ToolCall, Toolset, ToolSpec
from pytest_agentbench.core.transcript import Message, Transcript
from tests.tables import each

TOOLS = Toolset(
    specs=(
        ToolSpec(name="look", kind="read"),
        ToolSpec(name="change", kind="write"),
        ToolSpec(name="pick", parameters={"properties": {"why": {"enum": ["too_late", "other"]}}}),
    )
)


def call(name: str, result: str, *, error: bool = False, **arguments: object) -> list[Message]:
    """A call of the agent's with its answer."""
    return [
        Message(role="assistant", tool_calls=(ToolCall(name=name, arguments=arguments),)),
        Message(role="tool", content=result, error=error),
    ]


def noted(*parts: str | list[Message]) -> tuple[str, ...]:
    """Note a conversation; texts are the user's and the agent's in turn."""
    messages: list[Message] = []
    speakers = iter(("user", "assistant", "user", "assistant"))
    for part in parts:
        messages += part if isinstance(part, list) else [Message(role=next(speakers), content=part)]
    return call_notes(Transcript(messages=tuple(messages)), TOOLS)


@each(
    ("said", "value", "origin"),
    [
        ("I am priya.shah@example.com", "priya@shah.example", "stands in nothing"),
        ("I am priya.shah@example.com.", "priya.shah@example.com", "said by the user"),
        ("Order W1006, please", "W1006-W100699", "stands in nothing"),
        ("Order W1006-1, please", "W1006", "stands in nothing"),
        ("Order w1006!", "W1006", "said by the user"),
        ("At 44.84, -0.58 please", -0.58, "said by the user"),
        ("It costs 1,250.00 euros", 1250, "said by the user"),
        ("Il fait 17,5 degrés", 17.5, "said by the user"),
        ("Order W1234", 1, "stands in nothing"),
        ("Rain  in\nLE MANS?", "Le Mans", "said by the user"),
    ],
)
def test_values_are_compared_whole(said: str, value: object, origin: str) -> None:
    """Letters that happen to follow each other are no value; numbers are compared as numbers."""
    (note,) = noted(said, call("look", "{}", key=value))

    assert origin in note


def test_a_value_of_an_earlier_answer_names_the_call() -> None:
    """A negative number among JSON, say."""
    _, note = noted("Weather?", call("look", '{"longitude": -0.58}', q="x"), call("look", "[]", lon=-0.58))

    assert "lon '-0.58' was returned by call 1" in note


@each(("told", "is_idle"), [("At most 17.5 degrees.", False), ("It is Paris.", False), ("Done.", True)])
def test_an_answer_that_is_told_is_of_use(told: str, is_idle: bool) -> None:
    """A short figure as well as a name."""
    (note,) = noted("Weather?", call("look", '{"t": {"max": 17.5}, "name": "Paris", "flag": 1}', q="x"), told)

    assert ("nothing that it returned" in note) is is_idle


def test_how_calls_went() -> None:
    """Failed, empty, unknown, repeated, and listed values."""
    notes = noted(
        "Hello, too late",
        call("look", "no", error=True),
        call("look", "{}", q="a"),
        call("look", "{}", q="a"),
        call("change", "ok", q="a"),
        call("look", "{}", q="a"),
        call("guess", "1"),
        call("pick", "ok", why="too_late"),
    )

    assert "failed" in notes[0]
    assert "gave nothing" in notes[1]
    assert "the same as call 2, with no write in between" in notes[2]
    assert "a write, was answered" in notes[3]
    assert "the same as" not in notes[4]
    assert "no tool of the agent's" in notes[5]
    assert "why 'too_late' is one that the tool lists" in notes[6]
