"""Several agents behind one suite: which of its tools other agents have, and which handoffs calls ask for.

The graph of another agent stands in the place of a tool (tool-to-scenario §6): a turn enters it by its agent, with what
the user or an earlier call gave, and leaves it only with the turn. The suite's environment has the tools of all agents,
since a run is played on it; the suite of an agent says which of them are its own.
"""

from collections.abc import Iterator, Mapping, Sequence

from pytest_agentbench.core.errors import AgentBenchError, Problem, SuiteError
from pytest_agentbench.core.events import ExpectedHandoff
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.generation.draft import Turn
from pytest_agentbench.generation.recipe import recipe_of
from pytest_agentbench.generation.tools.data_types import Walk
from pytest_agentbench.generation.tools.walks.walk_sampling import calls_of
from pytest_agentbench.generation.tools.world import world_of
from pytest_agentbench.suites.suite_file import load_suite


async def agents_of(suite: Suite, toolset: Toolset, environ: Mapping[str, str]) -> dict[str, str]:
    """Give the agent that has each of the suite's tools, by the tool; the suite's first agent has what is not there.

    A tool of several agents is the first one's, too: nobody can tell which of them is to call it. Raise `SuiteError`
    where the suite of an agent cannot be read, or has a tool that this suite's environment has not.
    """
    found: dict[str, str] = {}
    shared: set[str] = set()
    for agent, file in recipe_of(suite).agents.items():
        for tool in await _tools_of(suite, agent, toolset, environ):
            if found.setdefault(tool, agent) != agent:
                shared.add(tool)
        if agent not in found.values():
            raise _problem(suite, agent, f"no tool of {file.name} is its own: other agents have all of them")
    return {tool: agent for tool, agent in found.items() if tool not in shared}


async def _tools_of(suite: Suite, agent: str, toolset: Toolset, environ: Mapping[str, str]) -> list[str]:
    """Name the suite's tools that another agent has, whatever prefix they have here."""
    file = recipe_of(suite).agents[agent]
    try:
        inner = load_suite(file, environ=environ, generating=True)
        tools = await world_of(inner).described()
    except SuiteError:
        raise
    except AgentBenchError as error:
        raise _problem(suite, agent, f"the tools of {file.name} cannot be told: {error}") from error
    if not tools.of("assistant"):
        raise _problem(suite, agent, f"{file.name} names no tools", "add `environment: {tools: …}` there")
    prefixes = ["", *(part.prefix for part in suite.environment.tools if part.prefix)]
    known = {spec.name for spec in toolset.of("assistant")}
    names: list[str] = []
    for spec in tools.of("assistant"):
        here = next((prefix + spec.name for prefix in prefixes if prefix + spec.name in known), None)
        if here is None:
            message = f"the tool {spec.name!r} of {file.name} is not in this suite's environment"
            hint = "runs are played on this suite's environment: add the tools of each agent to `environment.tools`"
            raise _problem(suite, agent, message, hint)
        names.append(here)
    return names


def _problem(suite: Suite, agent: str, message: str, hint: str = "") -> SuiteError:
    return SuiteError([Problem(file=suite.path, key=f"generate.agents.{agent}", message=message, hint=hint)])


def handoffs_of(walk: Walk, turns: Sequence[Turn], agents: Mapping[str, str]) -> tuple[ExpectedHandoff, ...]:
    """Give the handoff to each agent whose tools a walk calls, before the first of them; `place` counts all calls.

    Lookups that the walk does not name ask for none: reads are free.
    """
    own = {tool: agents[tool] for tool in calls_of(walk) if tool in agents}
    places: dict[str, int] = {}
    for place, call in enumerate(call for turn in turns for call in turn.calls):
        if agent := own.get(call.call.name):
            places.setdefault(agent, place)
    return tuple(ExpectedHandoff(to=agent, place=place) for agent, place in places.items())


def path_of(walk: Walk, agents: Mapping[str, str]) -> str:
    """Write a walk, with the agent before those of its tools that are called in a row."""
    return " > ".join(_nodes(walk, agents))


def _nodes(walk: Walk, agents: Mapping[str, str]) -> Iterator[str]:
    before: str | None = None
    for node in walk.nodes:
        agent = agents.get(node)
        if agent is not None and agent != before:
            yield agent
        before = agent
        yield node
