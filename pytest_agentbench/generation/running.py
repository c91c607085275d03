"""A recipe run from a file: the suite read, its models reached and recorded, the pipeline of its source started."""

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from importlib import import_module
from pathlib import Path

from pytest_agentbench.core.errors import AgentBenchError, Problem, SuiteError, SuiteFaultError
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.suite import GenerateSpec, Suite
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.recipe import Outcome, Told, recipe_of
from pytest_agentbench.llm.caller import Caller
from pytest_agentbench.llm.cassette.merge import merge
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.cassette.recorder import CassetteRecorder
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.seams import Chat
from pytest_agentbench.results.redact import Redactor
from pytest_agentbench.suites.call_check import check_calls
from pytest_agentbench.suites.suite_file import load_suite

CASSETTE = "cassette.jsonl"
"""The file in the recipe's folder in which model calls of generation are recorded."""

GRAPH = "graph.json"
"""The file of both sources; that of tools names its schema."""

Chats = Callable[[str], Chat]
"""Gives the model of a role."""


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What the command line puts in the place of what the recipe says; None leaves it."""

    source: str | None = None
    count: int | None = None
    seed: int | None = None


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is to be run: which suite, how far, whether anew, or only its words, and what becomes of model calls."""

    suite: Path
    until: str = ""
    force: bool = False
    changes: Changes = Changes()
    reword: bool = False
    cassette: Mode = Mode.OFF


def generate(asked: Asked, *, environ: Mapping[str, str], told: Told) -> Outcome:
    """Run the recipe of a suite.

    Raise `SuiteError` where suite or recipe cannot be used, `AgentBenchError` for whatever stops the pipeline.
    """
    suite, toolset = read(asked, environ=environ)
    recipe = recipe_of(suite)
    redactor = Redactor(suite.secrets)
    with _recorded(recipe, asked.cassette, redactor) as recorder:
        models = Models(environ=environ, recorder_of=lambda _: recorder)

        async def run() -> Outcome:
            try:
                return await _pipeline(suite, toolset, asked, models, told)
            finally:
                await models.close()

        return asyncio.run(run())


def read(asked: Asked, *, environ: Mapping[str, str]) -> tuple[Suite, Toolset]:
    """Give the suite with the changed recipe, and its tools; raise `SuiteError` where either cannot be read."""
    suite = load_suite(asked.suite, environ=environ, generating=True)
    # what earlier sessions saw of the tools is not read: the same seed writes the same, whatever ran before
    suite = suite.model_copy(update={"environment": suite.environment.model_copy(update={"seen": ()})})
    recipe = recipe_of(suite)
    changes = asked.changes
    given = {"source": changes.source, "count": changes.count, "seed": changes.seed}
    recipe = recipe.model_copy(update={name: value for name, value in given.items() if value is not None})
    suite = suite.model_copy(update={"generate": recipe})
    try:
        toolset = load_toolset(suite.environment, suite.root)
    except AgentBenchError as error:
        raise SuiteError([Problem(file=suite.path, key="environment", message=str(error))]) from error
    if problems := check_calls(suite.model_copy(update={"scenarios": ()}), toolset):
        raise SuiteError(problems)
    return suite, toolset


def _check_folder(recipe: GenerateSpec) -> None:
    """Raise `SuiteFaultError` where the recipe's folder holds what was made from the other source."""
    file = recipe.out / GRAPH
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return
    written = "tools" if isinstance(found, dict) and "schema" in found else "policies"
    if written != recipe.source:
        raise SuiteFaultError(
            f"{recipe.out} holds scenarios that were made from {written} ({GRAPH}), and those from {recipe.source} "
            f"would take their place: name another folder (`generate: {{out: …}}`), or make all anew with --force"
        )


async def _pipeline(suite: Suite, toolset: Toolset, asked: Asked, models: Models, told: Told) -> Outcome:
    recipe = recipe_of(suite)

    def chat(role: str) -> Chat:
        spec: ModelSpec = recipe.model or ModelSpec(model="")
        return models.chat(spec, Caller(role=role))

    if asked.reword:
        return await _reworded(suite, toolset, chat if recipe.model else None, told)
    if not asked.force:
        _check_folder(recipe)
    if recipe.source == "policies":
        try:
            policies = import_module("pytest_agentbench.generation.policies.pipeline")
        except ModuleNotFoundError as error:
            raise SuiteFaultError(f"generate.from: scenarios cannot be made from policies here: {error}") from error
        outcome: Outcome = await policies.run(
            suite, toolset, chats=chat if recipe.model else None, until=asked.until, force=asked.force, told=told
        )
        return outcome
    from pytest_agentbench.generation.tools.pipeline import Pipeline  # noqa: PLC0415 - one of the two

    pipeline = Pipeline(
        suite=suite, toolset=toolset, chats=chat if recipe.model else None, told=told, force=asked.force
    )
    return await pipeline.run(asked.until)  # type: ignore[arg-type]  # the command admits no other


async def _reworded(suite: Suite, toolset: Toolset, chats: Chats | None, told: Told) -> Outcome:
    """Word what stands in the folder anew, with the tools and the state of the suite as they are now."""
    from pytest_agentbench.generation.rewording import reword  # noqa: PLC0415 - one of the ways
    from pytest_agentbench.generation.tools.probing.seeding import state_of  # noqa: PLC0415 - same
    from pytest_agentbench.generation.tools.world import world_of  # noqa: PLC0415 - same

    world = world_of(suite, toolset=toolset)
    tools, state = await world.described(), await state_of(world)
    return await reword(suite, tools, chats=chats, today=date.today(), state=state, told=told)


@contextlib.contextmanager
def _recorded(recipe: GenerateSpec, mode: Mode, redactor: Redactor) -> Iterator[CassetteRecorder | None]:
    """Open the cassette of the recipe, and bring what was recorded into it at the end."""
    if mode is Mode.OFF or recipe.model is None:
        yield None
        return
    cassette = recipe.out / CASSETTE
    if not mode.writes:
        yield CassetteRecorder(mode, cassette, shard=None, redact=redactor.json)
        return
    shard = recipe.out / f".{CASSETTE}.jsonl"
    shard.parent.mkdir(parents=True, exist_ok=True)
    merge(cassette, [shard])  # what a session that was killed left behind
    recorder = CassetteRecorder(mode, cassette, shard=shard, redact=redactor.json)
    try:
        yield recorder
        if mode is Mode.REFRESH:
            recorder.finished(None)
    finally:
        recorder.close()
        merge(cassette, [shard])
        shard.unlink(missing_ok=True)
