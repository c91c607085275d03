"""A recipe run from a file: the suite read, its models reached and recorded, the pipeline of its source started.

`--reword` has the recipe's model word what plain phrases worded: calls, values and rows stay, each scenario is
guarded, criticised and accepted anew. One that the model cannot word, or that its critic refuses, keeps its file as
it is; one that it calls absurd goes, where it words others. What a person wrote or reviewed stays. A rewording that
is broken off changes nothing, and goes on from its own log.
"""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import AgentBenchError, Problem, SuiteError, SuiteFaultError
from pytest_agentbench.core.names import count
from pytest_agentbench.core.state import State
from pytest_agentbench.core.suite import GenerateSpec, Suite
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.environment.mcp_server import end_servers_after
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.assemble import scenario_id
from pytest_agentbench.generation.draft import Draft, Loss
from pytest_agentbench.generation.language.plain import PLAIN
from pytest_agentbench.generation.produce import Production
from pytest_agentbench.generation.recipe import Outcome, Told, hashes_of, recipe_of
from pytest_agentbench.generation.recipe_folder import Store
from pytest_agentbench.generation.report import document_of, lines_of
from pytest_agentbench.generation.roles import CRITIC, WRITER, Chats, RoleModels
from pytest_agentbench.llm.cassette.merge import merge
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.cassette.record_replay import CassetteRecorder
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller
from pytest_agentbench.results.redact import Redactor
from pytest_agentbench.suites.call_check import check_calls
from pytest_agentbench.suites.suite_file import load_suite

CASSETTE = "cassette.jsonl"
"""The file in the recipe's folder in which model calls of generation are recorded."""

GRAPH = "graph.json"
"""The file of both sources; that of tools names its schema."""


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
    with _recorded(recipe, asked.cassette, Redactor(suite.secrets)) as recorder:
        models = Models(environ=environ, recorder_of=lambda _: recorder)

        async def run() -> Outcome:
            spec = recipe.model
            chats = None if spec is None else lambda role: models.chat(spec, Caller(role=role))
            try:
                return await _pipeline(suite, toolset, asked, chats, told=told, environ=environ)
            finally:
                await models.close()

        return asyncio.run(end_servers_after(run()))


def read(asked: Asked, *, environ: Mapping[str, str]) -> tuple[Suite, Toolset]:
    """Give the suite with the changed recipe, and its tools; raise `SuiteError` where either cannot be read."""
    suite = load_suite(asked.suite, environ=environ, generating=True, without_agent=True)
    changes = {name: value for name, value in vars(asked.changes).items() if value is not None}
    # what earlier sessions saw of the tools is not read: the same seed writes the same, whatever ran before
    environment = suite.environment.model_copy(update={"seen": ()})
    recipe = recipe_of(suite).model_copy(update=changes)
    suite = suite.model_copy(update={"environment": environment, "generate": recipe})
    try:
        toolset = load_toolset(suite.environment, suite.root)
    except AgentBenchError as error:
        raise SuiteError([Problem(file=suite.path, key="environment", message=str(error))]) from error
    if problems := check_calls(suite.model_copy(update={"scenarios": ()}), toolset):
        raise SuiteError(problems)
    return suite, toolset


def _check_folder(recipe: GenerateSpec) -> None:
    """Raise `SuiteFaultError` where the recipe's folder holds what was made from the other source."""
    try:
        found = json.loads((recipe.out / GRAPH).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return
    written = "tools" if isinstance(found, dict) and "schema" in found else "policies"
    if written != recipe.source:
        raise SuiteFaultError(
            f"{recipe.out} holds scenarios that were made from {written} ({GRAPH}), and those from {recipe.source} "
            f"would take their place: name another folder (`generate: {{out: …}}`), or make all anew with --force"
        )


async def _pipeline(
    suite: Suite,
    toolset: Toolset,
    asked: Asked,
    chats: Chats | None,
    *,
    told: Told,
    environ: Mapping[str, str],
) -> Outcome:
    recipe = recipe_of(suite)
    if asked.reword:
        from pytest_agentbench.generation.tools.probing.seed_values import state_of  # noqa: PLC0415 - one way is loaded
        from pytest_agentbench.generation.tools.world import world_of  # noqa: PLC0415 - the same

        world = world_of(suite, toolset=toolset)
        tools, state = await world.described(), await state_of(world)
        return await reword(suite, tools, chats=chats, today=date.today(), state=state, told=told)
    if not asked.force:
        _check_folder(recipe)
    if recipe.source == "policies":
        from pytest_agentbench.generation.policies import pipeline as policies  # noqa: PLC0415 - the same

        return await policies.run(suite, toolset, chats=chats, until=asked.until, force=asked.force, told=told)
    from pytest_agentbench.generation.tools.pipeline import Pipeline  # noqa: PLC0415 - the same

    pipeline = Pipeline(suite=suite, toolset=toolset, chats=chats, told=told, force=asked.force, environ=environ)
    return await pipeline.run(asked.until)  # type: ignore[arg-type]  # the command admits no other


@contextlib.contextmanager
def _recorded(recipe: GenerateSpec, mode: Mode, redactor: Redactor) -> Iterator[CassetteRecorder | None]:
    """Open the cassette of the recipe, and bring what was recorded into it at the end."""
    cassette, shard = recipe.out / CASSETTE, recipe.out / f".{CASSETTE}.jsonl"
    if mode is Mode.OFF or recipe.model is None:
        yield None
    elif not mode.writes:
        yield CassetteRecorder(mode, cassette, shard=None, redact=redactor.json)
    else:
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


@dataclass
class _Stored:
    """A source of drafts that were accepted before, as they were planned: without lines, personas and summaries."""

    stored: Sequence[Draft]

    async def drafts(self) -> AsyncIterator[Draft | Loss]:
        """Give them in order."""
        for draft in self.stored:
            turns = tuple(turn.model_copy(update={"line": ""}) for turn in draft.turns)
            update = {"turns": turns, "personas": (), "purpose": "", "situation": "", "worded_by": ""}
            yield draft.model_copy(update=update)

    def accepted(self, draft: Draft) -> None:
        """Nothing is drawn anew."""

    def lost(self, loss: Loss) -> None:
        """Nothing is drawn anew."""


async def reword(
    suite: Suite,
    toolset: Toolset,
    *,
    chats: Chats | None,
    today: date,
    state: State | None = None,
    told: Told = lambda _: None,
    now: Callable[[], float] = time.monotonic,
) -> Outcome:
    """Word the stored scenarios of a recipe anew; raise `SuiteFaultError` where there is no model, or none stored."""
    recipe = recipe_of(suite)
    if recipe.model is None or chats is None:
        raise SuiteFaultError(f"{suite.path}: generate.llm: names no model; `--reword` has one word the scenarios")
    store = Store(recipe.out)
    records = store.drafts.read()
    states = {one.id: store.state_of(scenario_id(one.draft)) for one in records.values() if one.draft}
    stored = [name for name, state in states.items() if state != "absent"]
    if not stored:
        raise SuiteFaultError(f"{store.drafts.path}: no scenarios are stored; run `agentbench generate` first")
    pending = [draft for name in stored if states[name] == "open" and (draft := records[name].draft)]
    plain = [draft for draft in pending if draft.worded_by == PLAIN]
    left = len(stored) - len(pending)
    told(
        f"{count(len(plain), 'scenario')} to reword, {len(pending) - len(plain)} have the words of a model"
        + (f", {left} are left alone: reviewed, or written by somebody else" if left else "")
    )
    made_from = digest([hashes_of(suite, toolset).model_dump(), "reword"])
    store.reworded.begin(made_from)
    # where the recipe names none of the two roles of wording, its model plays both
    roles = tuple(role for role in recipe.roles if role in RoleModels.known) or (WRITER, CRITIC)
    production = Production(
        suite=suite,
        toolset=toolset,
        source=_Stored(plain),
        store=store,
        made_from=made_from,
        today=today,
        state=state,
        wanted=len(plain),
        told=told,
        now=now,
        roles=RoleModels(recipe.model_copy(update={"roles": roles}), chats),
        replaces={draft.id: scenario_id(draft) for draft in plain},
        log=store.reworded,
    )
    report = await production.run()
    for draft in report.accepted:
        records[draft.id] = records[draft.id].model_copy(update={"draft": draft})
    gone = {draft.id for draft in plain if store.state_of(scenario_id(draft)) == "absent"}
    unwanted = [loss for loss in report.losses if loss.draft in gone]
    for loss in unwanted:
        records[loss.draft] = records[loss.draft].model_copy(update={"draft": None, "loss": loss})
    store.drafts.write(store.drafts.made_from, records.values())
    store.reworded.path.unlink(missing_ok=True)
    worded, left = len(report.accepted), len(stored) - len(unwanted)
    line = f"{worded} reworded; {len(plain) - worded - len(unwanted)} keep their plain words"
    if unwanted:
        line += f"; {len(unwanted)} removed: nobody would ask for this"
    report = replace(report, lines=(line,))
    store.save_report(document_of(report))
    return Outcome(lines=tuple(lines_of(report)), accepted=left, wanted=len(stored))
