"""From a suite to what events are made of: its policies, its schema and rows, its tools bound to both."""

import sqlite3
from collections.abc import Sequence
from typing import Any, cast

from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.environment.import_path import load_object
from pytest_agentbench.generation.policies.events.binding import bound_tools
from pytest_agentbench.generation.policies.events.checking import Validator
from pytest_agentbench.generation.policies.events.deeds import with_kinds
from pytest_agentbench.generation.policies.events.events import EventMaker
from pytest_agentbench.generation.policies.events.oracle import Oracle
from pytest_agentbench.generation.policies.events.rows import RowMaker
from pytest_agentbench.generation.policies.events.samples import Samples
from pytest_agentbench.generation.policies.events.tables import Schema, inferred_schema, rows_of, sqlite_schema
from pytest_agentbench.generation.policies.values import ExtractedPolicy, Extraction
from pytest_agentbench.generation.tools.world import World, how_to_reset, world_of


async def maker_of(
    suite: Suite,
    toolset: Toolset,
    extraction: Extraction,
    *,
    seed: int = 0,
    validators: Sequence[str] = (),
) -> EventMaker:
    """Give the maker of a suite's events; raise `SuiteFaultError` where tools or rows are missing."""
    world = world_of(suite, toolset=toolset)
    samples = await samples_of(suite, world)
    tools = await with_kinds(toolset.of("assistant"), samples, world)
    rules = {one.id: one for one in suite.policies}
    oracle = Oracle(
        world=world,
        samples=samples,
        tools=tools,
        policies=extraction.policies,
        rules=rules,
        bound=bound_tools(extraction.policies, rules, tools),
    )
    if not oracle.root:
        raise SuiteFaultError(
            f"{suite.path}: the state has no rows to make events like; give it some (environment.state)"
        )
    await oracle.learn()
    checks = [cast("Validator", load_object(path, suite.root)) for path in validators]
    return EventMaker(oracle=oracle, rows=RowMaker(samples=samples, validators=checks), seed=seed)


async def samples_of(suite: Suite, world: World) -> Samples:
    """Read the rows that every environment starts from, and their schema."""
    if suite.environment.state is None or not world.toolset:
        raise SuiteFaultError(
            f"{suite.path}: scenarios from policies need tools that can be called and a state with rows; "
            "add `environment: {tools: …, state: …}`"
        )
    if any(part.remote for part in suite.environment.tools) and not world.resettable:
        raise SuiteFaultError(
            f"{suite.path}: calls are made for real, and nothing here can be reset: {how_to_reset(suite.environment)}"
        )
    async with world.open() as opened:
        state = await opened.snapshot()
    if not state:
        raise SuiteFaultError(
            f"{suite.path}: the state cannot be read, or is empty; events are made of rows like its own"
        )
    schema = schema_of(suite, state)
    return Samples(schema=schema, rows=rows_of(state, with_keys=not schema.ddl))


def schema_of(suite: Suite, state: dict[str, Any]) -> Schema:
    """Read the schema of a suite's state: its DDL where it has one, else what its rows are like."""
    spec = suite.environment.state
    ddl = spec.options.get("schema") if spec is not None and spec.kind == "sqlite" else None
    if ddl is None:
        return inferred_schema(state)
    try:
        return sqlite_schema((suite.root / ddl).read_text(encoding="utf-8"))
    except (OSError, sqlite3.Error) as error:
        raise SuiteFaultError(f"{ddl}: {error}") from error


def extraction_of(policies: Sequence[Policy], name: str = "") -> Extraction:
    """Give a suite's own policies as if extracted; their category is the flow that they stand in."""
    return Extraction(document=name, by="suite", policies=tuple(_extracted(policy) for policy in policies))


def _extracted(policy: Policy) -> ExtractedPolicy:
    return ExtractedPolicy(
        id=policy.id,
        text=policy.text,
        category=policy.category,
        challenge=policy.challenge,
        rule=policy.rule,
        tools=policy.tools,
        source=policy.source,
        flows=(policy.category,) if policy.category else (),
    )
