"""What the world does not bear is not walked again, and scenarios are about different things."""

from collections import Counter

from pytest_agentbench.generation.tools.stories.natural import natural
from pytest_agentbench.generation.tools.stories.searching import Choice, Memory
from pytest_agentbench.generation.tools.stories.usage import Usage

from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.generation.tools.values import RUN_CONVERSATION, Card, PoolEntry, Provenance, Step, Story, Walk
from pytest_agentbench.generation.tools.walks.bars import Bars


def test_a_turn_does_not_begin_with_what_a_change_before_it_made_impossible() -> None:
    """A closed contract is not prolonged; before it is closed it is, and another tool's result may still lead there."""
    bars = Bars([("close", "prolong")])
    bars.add({"book": 2}, ("list", "book"))

    assert bars.forbid(Counter(["close"]), (RUN_CONVERSATION, "prolong"))
    assert not bars.forbid(Counter(), (RUN_CONVERSATION, "prolong"))
    assert not bars.forbid(Counter(["close"]), ("open", "prolong"))
    assert bars.forbid(Counter(["book", "book", "look"]), ("list", "book"))
    assert not bars.forbid(Counter(["book"]), ("list", "book"))


def test_a_call_that_failed_is_tried_again_after_other_changes() -> None:
    """It fails where it stood; the last change is to blame where nothing is left to try."""
    memory = Memory()
    closed = Choice(0, (), "close", "close A", writes=True)
    memory.failed(("close A",), "prolong A")

    assert not memory.may_try(1, ("close A",), "prolong A")
    assert memory.may_try(1, ("close B",), "prolong A")
    memory.stuck([closed], "prolong")
    assert not memory.may_try(0, (), "close A")
    assert not memory.is_over
    memory.stuck([], "prolong")
    assert memory.is_over


def entry(name: str, **arguments: str) -> PoolEntry:
    """A verified call."""
    return PoolEntry(id=f"find.{name}", tool="find", arguments=arguments, content="{}")


def test_values_that_nobody_would_say_are_left_out() -> None:
    """A bare digit beside words, and a code of another shape than the others."""
    words = [entry("1", text="blades jam"), entry("2", text="1"), entry("3", text="2")]
    codes = [entry("4", code="HB-CM120"), entry("5", code="HB-TB2"), entry("6", code="HC/870")]

    assert natural(words, Card(tool="find")) == words[:1]
    assert natural(codes, Card(tool="find")) == codes[:2]
    assert natural(words[1:2], Card(tool="find")) == words[1:2]


def test_what_earlier_scenarios_named_is_counted() -> None:
    """Paris was asked about, Nancy not yet."""
    step = Step(
        operation="select",
        source=RUN_CONVERSATION,
        target="find",
        call=ExpectedCall(name="find", arguments={"place": "Paris"}),
        provenance=(Provenance(argument="place", source="pool", entry="find.1"),),
    )
    usage = Usage()

    usage.note(Story(id="w0", walk=Walk(id="w0", nodes=(RUN_CONVERSATION, "find")), language="en", steps=(step,)))

    assert usage.of(entry("1", place="Paris"), None) == 1
    assert usage.of(entry("2", place="Nancy"), None) == 0
