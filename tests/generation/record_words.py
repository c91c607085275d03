"""Has a language model word right drafts, and as the blind critic read them and spoilt ones; keeps what it said.

    python -m tests.generation.record_words URL

The critic never sees calls: a draft whose calls alone are spoilt is the same question as the right one, asked once.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Callable
from datetime import date
from pathlib import Path

from pytest_agentbench.cli.model_options import recording
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.decidable import rows_of
from pytest_agentbench.generation.draft import Draft
from pytest_agentbench.generation.language.critic import Critic, Opinion
from pytest_agentbench.generation.language.wording import ConversationBrief, PlainWording
from pytest_agentbench.generation.produce import Production
from pytest_agentbench.generation.recipe_folder import Store
from pytest_agentbench.generation.report import Report
from pytest_agentbench.generation.roles import RoleModels
from pytest_agentbench.llm.cassette.file import read_cassette, write_cassette
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller, Chat
from pytest_agentbench.llm.structured import AskedOnce
from tests.generation.draft import right
from tests.generation.draft.spoiling import SPOILT
from tests.generation.drafting import Listed

CASSETTE = Path(__file__).parent / "recorded" / "words" / "cassette.jsonl"
SPOILT_LINES = CASSETTE.with_name("spoilt_lines.json")
"""The plain lines of spoilt drafts that the critic was asked about, by what is spoilt: phrases change."""
MADE = "a language model answered through a loopback endpoint; it saw the requests alone; token counts are estimates"
TODAY = date(2026, 1, 15)
NOWHERE = "http://127.0.0.1:9/v1"

SUITES: dict[str, tuple[Callable[[Path], Suite], tuple[Callable[[Suite], Draft], ...]]] = {
    "library": (
        right.library,
        (right.renewing, right.refusing, right.reserving, right.declining, right.reading),
    ),
    "hotel": (right.hotel, (right.booking,)),
    "colis": (right.colis, (right.reporting,)),
}
"""Suites, and the right drafts that are worded in them."""


async def worded(name: str, folder: Path, chats: Callable[[str], Chat], spec: ModelSpec) -> Report:
    """Have the drafts of a suite worded and criticised by a model, and accepted."""
    suite_in, kinds = SUITES[name]
    suite = await asyncio.to_thread(suite_in, folder)
    drafts = [await asyncio.to_thread(kind, suite) for kind in kinds]
    recipe = suite.generate.model_copy(update={"model": spec})
    suite = suite.model_copy(update={"generate": recipe})
    production = Production(
        suite=suite,
        toolset=load_toolset(suite.environment, suite.root),
        source=Listed(drafts),
        store=Store(recipe.out),
        made_from="h",
        today=TODAY,
        roles=RoleModels(recipe, chats),
        wanted=len(drafts),
    )
    return await production.run()


async def criticised(folder: Path, chat: Chat) -> dict[str, tuple[Draft, Opinion]]:
    """Have the critic read spoilt drafts in the plain lines it was asked about; give its opinion by what is spoilt."""
    found: dict[str, tuple[Draft, Opinion]] = {}
    once, asked = AskedOnce(chat), json.loads(SPOILT_LINES.read_text(encoding="utf-8"))

    async def read(name: str, draft: Draft, critic: Critic) -> None:
        said = await PlainWording().lines(ConversationBrief(draft=draft))
        lines = zip(draft.turns, asked.get(name, said.lines), strict=True)
        turns = [turn.model_copy(update={"line": line}) for turn, line in lines]
        draft = draft.model_copy(update={"turns": tuple(turns), "personas": said.personas})
        found[name] = draft, await critic.review(draft, rows_of(draft, None))

    for number, (suite_in, kinds) in enumerate(SPOILT.items()):
        inside = folder / f"spoilt{number}"
        inside.mkdir()
        suite = await asyncio.to_thread(suite_in, inside)
        critic = Critic(once, load_toolset(suite.environment, suite.root), suite.policies)
        spoilt = await asyncio.to_thread(lambda made=suite, of=kinds: [
            (f"{kind.__name__} {name}", draft) for kind in of for name, draft in kind(made)
        ])  # fmt: skip
        await asyncio.gather(*(read(name, draft, critic) for name, draft in spoilt))
    return found


async def all_of(mode: Mode, folder: Path, url: str = NOWHERE) -> tuple[list[Report], dict[str, tuple[Draft, Opinion]]]:
    """Ask all that is recorded, or is to be."""
    with recording(CASSETTE, mode, command="record_words") as recorder:
        models = Models(environ={}, recorder_of=lambda _: recorder)
        spec = ModelSpec(model="language-model", base_url=url, api_key="none", seconds=2900, retries=0)
        try:
            reports = []
            for name in SUITES:
                (folder / name).mkdir()
                reports.append(
                    await worded(name, folder / name, lambda role: models.chat(spec, Caller(role=role)), spec)
                )
            return reports, await criticised(folder, models.chat(spec, Caller(role="critic")))
        finally:
            await models.close()


async def record(url: str) -> None:
    """Ask what was not recorded yet, and print what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        reports, spoilt = await all_of(Mode.RECORD, Path(folder), url)
    for report in reports:
        for draft in report.accepted:
            print(draft.id, *(f"\n    {turn.act}: {turn.line}" for turn in draft.turns), "\n   ", draft.purpose)
        for loss in report.losses:
            print("LOST", loss)
        print({role: (one.calls, one.input_tokens + one.output_tokens) for role, one in report.usage.items()})
    for name, (_, opinion) in spoilt.items():
        print("refused" if opinion.why else "PASSED", name, opinion.why, opinion.detail)
    kept = read_cassette(CASSETTE)
    kept.made = MADE
    write_cassette(CASSETTE, kept)


if __name__ == "__main__":
    asyncio.run(record(sys.argv[1]))
