"""In which contexts a read is called with other values of an argument, to see what difference it makes."""

from random import Random
from types import SimpleNamespace
from typing import Any

from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.generation.tools.probing.effects import try_effects
from pytest_agentbench.generation.tools.probing.safety import Permission
from pytest_agentbench.generation.tools.probing.schemas import slots_of
from pytest_agentbench.generation.tools.probing.session import ProbedTool, ProbeRecord
from pytest_agentbench.generation.tools.probing.verdicts import Judged
from pytest_agentbench.generation.tools.world import Answer

SPEC = ToolSpec(
    name="find_books",
    kind="read",
    parameters={
        "type": "object",
        "properties": {"shelf": {"type": "string"}, "full": {"type": "boolean"}},
        "required": ["shelf"],
    },
)


def record(index: int, length: int, **arguments: Any) -> ProbeRecord:
    """Give a call that worked, with an answer of some length."""
    answer = Answer(content="x" * length)
    judged = Judged("ok", "")
    return ProbeRecord(
        index=index, tool="find_books", kind="nominal", arguments=arguments, answer=answer, judged=judged
    )


async def test_the_contexts_of_the_longest_answers_are_tried_though_they_come_again() -> None:
    shelves = [("A", 900, True), ("B", 800, False), ("C", 700, False), ("D", 600, False), ("A", 500, False)]
    records = [record(at, long, shelf=shelf, full=full) for at, (shelf, long, full) in enumerate(shelves)]
    permission = Permission(tool="find_books", effect="read", called=True, why="")
    tool = ProbedTool(spec=SPEC, slots=slots_of(SPEC), permission=permission, base=records[0], records=records)
    tried: list[str] = []

    async def call(*_: object, **__: object) -> None:
        return None

    async def try_values(_: object, values: dict[str, Any], *__: object) -> None:
        tried.append(values["shelf"])

    session: Any = SimpleNamespace(
        call=call,
        try_values=try_values,
        budget=SimpleNamespace(effects=100),
        may_call=lambda *_: True,
        chance=lambda *_: Random(1),
    )

    await try_effects(session, tool)

    assert list(dict.fromkeys(tried)) == ["A", "B", "C"]
