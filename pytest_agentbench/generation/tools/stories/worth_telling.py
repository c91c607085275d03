"""What of a turn's last result a user asks to be told: values with a name that stay what they are."""

from collections.abc import Collection

from pytest_agentbench.generation.tools.probing.reading import parsed
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.recruiting.stock import Lost, Stock
from pytest_agentbench.generation.tools.stories.facts import Fact, facts_of, said_at
from pytest_agentbench.generation.tools.stories.lasting import TOLD
from pytest_agentbench.generation.tools.stories.propagation import Made
from pytest_agentbench.generation.tools.values import Step
from pytest_agentbench.generation.tools.wording.tongue import Tongue
from pytest_agentbench.generation.tools.world import Opened


async def worth_telling(
    made: list[Made],
    steps: list[Step],
    *,
    said: str,
    stock: Stock,
    opened: Opened,
    tongue: Tongue,
    lost: Collection[Lost] = (),
) -> list[Fact]:
    """Give what the last call's result says that was not said yet.

    Left out is what a read answers otherwise when it is asked again (the time, a counter, a drawn number), and what was
    `lost`, since another environment has another value there.
    """
    last = made[-1]
    values = [str(value) for one in made for value in read_slots(one.arguments).values()]
    values += [str(step.handle.value) for step in steps if step.handle is not None]
    spec = stock.world.toolset.get(last.card.tool)
    known = " ".join([said, *values])
    facts = list(facts_of(last.result, last.card, tongue, known, returns=spec.returns if spec else None))
    facts = [fact for fact in facts if (last.card.tool, TOLD, fact.path) not in lost]
    if not facts or last.card.writes is not False:
        return facts
    again = parsed((await opened.call(last.card.tool, last.arguments)).content)
    return [fact for fact in facts if said_at(again, fact.path) == fact.text]
