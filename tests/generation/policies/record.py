"""Has a language model play roles of the pipeline, and keeps what it said as a cassette.

    python -m tests.generation.policies.record http://127.0.0.1:8790/v1 [only ...]

What each role is given is kept beside the cassette, so that a replay asks alike whatever the stages before it make of a
suite later. Answered cases are not asked again. All are asked at once.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from pytest_agentbench.generation.policies.events.acts import Scene
from pytest_agentbench.generation.policies.events.performing import decide, perform
from pytest_agentbench.generation.policies.events.plans import OracleError
from pytest_agentbench.generation.policies.events.preparing import extraction_of
from pytest_agentbench.generation.policies.events.user import Told, told
from pytest_agentbench.generation.policies.events.writers import ModelNarrator, ModelRower

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.run import RunKey
from pytest_agentbench.generation.policies.events.events import EventMaker, state_of_rows
from pytest_agentbench.generation.policies.events.planning import plan
from pytest_agentbench.generation.policies.events.rows import Made
from pytest_agentbench.generation.policies.graph.graph import GraphInput, shared_graph
from pytest_agentbench.generation.policies.graph.graph_model import ModelWeights
from pytest_agentbench.generation.policies.sampling.sampling import sample
from pytest_agentbench.generation.policies.values import Entity, EventRow, Extraction, Relation
from pytest_agentbench.llm.caller import Caller
from pytest_agentbench.llm.cassette.file import read_cassette, write_cassette
from pytest_agentbench.llm.cassette.merge import merge
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.cassette.recorder import CassetteRecorder
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.seams import Chat
from pytest_agentbench.suites.suite_file import load_suite
from tests.generation.policies.airline import airline
from tests.generation.policies.kit import SUPPORT, maker_for

HERE = Path(__file__).parent
CASSETTE = HERE / "recorded" / "roles.jsonl"
INPUTS = HERE / "recorded" / "roles.json"

MADE = (
    "answers of a language model in the roles of the pipeline from policies, given over an OpenAI-compatible server on "
    "loopback by sessions that saw the requests alone, recorded by tests/generation/policies/record.py; token counts "
    "are estimates"
)

_COUNTS = {"support": 7, "airline": 4}


@dataclass(frozen=True, kw_only=True)
class Given:
    """What one case gives to a role."""

    name: str
    role: str
    suite: str
    language: str = "en"
    policies: tuple[str, ...] = ()
    made: Made | None = None
    told: Told | None = None


def spec(base_url: str = "http://127.0.0.1:9/v1") -> ModelSpec:
    """The model asked; how it is asked for JSON is fixed, so that a replay asks alike."""
    return ModelSpec(model="writer", base_url=base_url, structured="json_schema", seconds=2900, retries=0)


def player(models: Models, base_url: str, given: Given) -> Chat:
    """Give the model of one case."""
    return models.chat(spec(base_url), Caller(role=given.role, run=key_of(given)))


def key_of(given: Given) -> RunKey:
    """Give the key under which a case is recorded."""
    return RunKey(suite="policies", scenario=given.name)


def suite_file(name: str, folder: Path) -> Path:
    """Give the file of a suite; the airline is written into the folder."""
    if name == "support":
        return SUPPORT
    own = folder / name
    own.mkdir(exist_ok=True)
    return airline(own)


async def play(given: Given, maker: EventMaker, extraction: Extraction, chat: Chat) -> Any:
    """Have the model do what a case asks of its role."""
    random = Random(given.name)
    if given.role == "weigher":
        return await ModelWeights(chat, random=random)(GraphInput(extraction=extraction))
    if given.role == "rower":
        assert given.made is not None
        return await ModelRower(chat, maker.rows.samples, (), maker.rows.ground)(given.made, random)
    assert given.told is not None
    policies = [one for one in extraction.policies if one.id in given.policies]
    tools = [one.name for one in maker.oracle.tools]
    return await ModelNarrator(chat)(given.told, policies, tools, random, language=given.language)


async def cases(name: str, file: Path, maker: EventMaker) -> list[Given]:
    """Make what the roles are given: events of sampled sets, up to the role in question."""
    extraction = extraction_of(load_suite(file, environ={}, generating=True).policies)
    graph = shared_graph(GraphInput(extraction=extraction))
    found = [Given(name=f"{name}-weigher", role="weigher", suite=name)]
    for number, one in enumerate(sample(graph, _COUNTS[name], 2, 8, seed=11).sets):
        random = Random(f"{name}/{number}")
        language = "fr" if name == "support" and number % 3 == 2 else "en"
        try:
            planned = await plan(maker.oracle, one.policies, random)
            made = maker.rows.make(maker._cluster(planned), random)
            rows = {place: row.values for place, row in made.fresh.items()}
            focuses = tuple(act.focus for act in planned.acts if act.owner is None)
            scene = Scene(samples=maker.oracle.samples, rows=rows, root=planned.root, focuses=focuses)
            state = state_of_rows(made.rows, maker.oracle.samples.schema, maker.oracle.samples.rows)
            async with maker.oracle.world.open(state) as opened:
                seeds = {act.focus: "" for act in planned.acts}
                performed = await perform(maker.oracle, planned, scene, opened, seeds, policies=one.policies)
        except OracleError as error:
            print(f"{name} {one.id}: {error}", flush=True)
            continue
        policies = [policy for policy in extraction.policies if policy.id in one.policies]
        bindings = decide(maker.oracle, one.policies, performed)
        user = told(performed, policies, bindings, scene, random, language=language)
        common = {"suite": name, "language": language, "policies": tuple(one.policies)}
        found.append(Given(name=f"{name}-{number}-rower", role="rower", made=made, **common))
        found.append(Given(name=f"{name}-{number}-narrator", role="narrator", told=user, **common))
    return found


def as_json(given: Given) -> dict[str, Any]:
    """Give a case as it is kept."""
    kept: dict[str, Any] = {
        "name": given.name,
        "role": given.role,
        "suite": given.suite,
        "language": given.language,
        "policies": list(given.policies),
    }
    if given.made is not None:
        kept["entities"] = [one.model_dump() for one in given.made.entities]
        kept["relations"] = [one.model_dump() for one in given.made.relations]
        kept["rows"] = [[*place, row.model_dump()] for place, row in given.made.fresh.items()]
    if given.told is not None:
        kept["told"] = given.told.model_dump()
    return kept


def read_cases(path: Path = INPUTS) -> list[Given]:
    """Read the cases that were kept."""
    found = []
    for one in json.loads(path.read_text(encoding="utf-8")):
        made = None
        if "rows" in one:
            fresh = {(table, at): EventRow.model_validate(row) for table, at, row in one["rows"]}
            entities = tuple(Entity.model_validate(entity) for entity in one["entities"])
            relations = tuple(Relation.model_validate(relation) for relation in one["relations"])
            made = Made(rows=tuple(fresh.values()), entities=entities, relations=relations, fresh=fresh)
        user = Told.model_validate(one["told"]) if "told" in one else None
        plain = {name: one[name] for name in ("name", "role", "suite", "language")}
        found.append(Given(**plain, policies=tuple(one["policies"]), made=made, told=user))
    return found


async def record(base_url: str, only: Collection[str] = ()) -> None:
    """Ask what was not recorded yet; print what the model made of each case."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        makers = {suite: await maker_for(suite_file(suite, folder), seed=11) for suite in _COUNTS}
        extractions = {
            suite: extraction_of(load_suite(suite_file(suite, folder), environ={}, generating=True).policies)
            for suite in _COUNTS
        }
        if not INPUTS.exists():
            made = [one for suite in _COUNTS for one in await cases(suite, suite_file(suite, folder), makers[suite])]
            INPUTS.write_text(dumps([as_json(one) for one in made], indent=1) + "\n", encoding="utf-8")
        shard = folder / "shard.jsonl"
        recorder = CassetteRecorder(Mode.RECORD, CASSETTE, shard=shard, redact=lambda value: value)
        models = Models(environ={}, recorder_of=lambda _: recorder)

        async def ask(one: Given) -> None:
            try:
                outcome = await play(one, makers[one.suite], extractions[one.suite], player(models, base_url, one))
            except Exception as error:  # noqa: BLE001 - the others are still worth keeping
                print(f"{one.name}: {type(error).__name__}: {error}\n", flush=True)
                return
            recorder.finished(key_of(one))
            print(f"{one.name}: {outcome!r}\n", flush=True)

        try:
            await asyncio.gather(*(ask(one) for one in read_cases() if not only or one.name in only))
        finally:
            await models.close()
            recorder.close()
            print(merge(CASSETTE, [shard]))
            if CASSETTE.exists():
                kept = read_cassette(CASSETTE)
                kept.made = MADE
                write_cassette(CASSETTE, kept)


if __name__ == "__main__":
    asyncio.run(record(sys.argv[1], sys.argv[2:]))
