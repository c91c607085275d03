"""`agentbench generate SUITE --reword`: a model words what plain phrases worded; calls and values stay."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.core.errors import ProviderError, SuiteFaultError
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation import produce as produce_module
from pytest_agentbench.generation.draft import Draft
from pytest_agentbench.generation.recipe import Outcome
from pytest_agentbench.generation.recipe_folder import Store
from pytest_agentbench.generation.run import Asked, generate, reword
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller
from pytest_agentbench.testing import ModelServer, fault
from pytest_agentbench.testing.script import ModelRequest
from tests.generation.draft.test_produce import TODAY, produce, two
from tests.generation.drafting import suite_of

LINES = {
    1: [
        "Could you look at what I have at home? I am M21.",
        "Keep the second of those for me for 3 more weeks, please.",
    ],
    2: ["I am M21. Which branch am I with, and what is my balance?"],
}
"""What the model says, by the number of turns that it is asked for less one."""


BETTER = [LINES[1][0], "I'd like 3 more weeks with the second of those."]
"""The lines of the first draft without what is odd."""
ODD = {"line": 2, "why": "Nobody keeps a book for somebody else."}


def answer(request: ModelRequest, *, spoilt: bool = False, absurd: str = "", odd: Sequence[str] = ()) -> str:
    """Play writer and critic: word the two drafts well, or say a number from nowhere; find the writes.

    With `odd` the critic finds the second line of the first draft odd, and these are what the writer makes of it;
    `absurd` is what the writer says of the second one.
    """
    data = str(request.messages[-1]["content"])
    if "must_say" not in data:
        renews = "second of those" in data
        arguments = [{"name": "loan_id", "value": "L302"}, {"name": "weeks", "value": "3"}]
        writes = [{"tool": "renew_loan", "arguments": arguments}] if renews else []
        told: dict[str, Any] = {
            "purpose": "A member settles its loans.",
            "initial_situation": "M21 has loans. It asks about them.",
        }
        if odd and LINES[1][1] in data:
            told["odd"] = [ODD]
        return json.dumps({"plausible": True, "writes": writes, "refusal": "", "reason": "", "invented": [], **told})
    lines = LINES[1] if '"turn": 2' in data else LINES[2]
    if odd and str(ODD["why"]) in data:
        lines = list(odd)
    weeks = " The loan is for 3 weeks." if len(lines) == 2 else ""
    persona = {
        "task_instructions": "Be brief.",
        "reason_for_call": "You want help with the library.",
        "known_info": f"You are member M21.{weeks}",
        "unknown_info": "",
    }
    if spoilt:
        lines = [f"{line} It is about L777." for line in lines]
    return json.dumps(
        {
            "absurd": absurd if len(lines) == 1 else "",
            "person": "",
            "first": 1,
            "last": len(lines),
            "lines": lines,
            "personas": [persona],
        }
    )


async def reworded(suite: Suite, server: ModelServer) -> Outcome:
    """Reword a suite by the model of a server."""
    spec = ModelSpec(model="m", base_url=server.base_url, api_key="none")
    recipe = suite.generate.model_copy(update={"model": spec})
    models = Models(environ={})
    try:
        return await reword(
            suite.model_copy(update={"generate": recipe}),
            load_toolset(suite.environment, suite.root),
            chats=lambda role: models.chat(spec, Caller(role=role)),
            today=TODAY,
        )
    finally:
        await models.close()


def stored(suite: Suite) -> dict[str, Draft]:
    """Give the drafts of a recipe's files."""
    return {name: one.draft for name, one in Store(suite.generate.out).drafts.read().items() if one.draft}


def run(suite: Suite, **options: Any) -> Outcome:
    """Reword a suite by a model that answers as `answer` does."""
    with ModelServer(lambda request: answer(request, **options)) as server:
        return asyncio.run(reworded(suite, server))


def test_plain_scenarios_get_the_words_of_a_model(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, "library")
    produce(suite, two(suite))
    before = stored(suite)

    outcome = run(suite)

    after = stored(suite)
    assert [turn.line for turn in after["d1"].turns] == LINES[1]
    assert {draft.worded_by for draft in after.values()} == {"m"}
    assert [call.call for call in after["d1"].calls] == [call.call for call in before["d1"].calls]
    text = (suite.generate.out / "scenarios" / "get-member-d2.yaml").read_text(encoding="utf-8")
    assert LINES[2][0] in text
    assert "plain phrases" not in text
    assert "A member settles its loans." in text
    assert "2 reworded; 0 keep their plain words" in outcome.lines
    assert any(line.startswith("critic: 0 of 2 verdicts are rejections") for line in outcome.lines)


@pytest.mark.parametrize(
    ("anew", "kept"),
    [(BETTER, BETTER), ([LINES[1][0], "Loan L777, please, for 3 more weeks."], LINES[1])],
    ids=["better", "from-nowhere"],
)
def test_odd_lines_are_written_anew_once(anew: list[str], kept: list[str], tmp_path: Path) -> None:
    """What the critic finds odd goes back to the writer; words that a guard refuses leave the first ones, which do."""
    suite = suite_of(tmp_path, "library")
    produce(suite, two(suite))

    outcome = run(suite, odd=anew)

    assert [turn.line for turn in stored(suite)["d1"].turns] == kept
    assert "2 reworded; 0 keep their plain words" in outcome.lines
    assert any(line.startswith("critic: 0 of 2 verdicts are rejections") for line in outcome.lines)


def test_the_command_rewords_what_stands_in_the_folder(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, "library")
    produce(suite, two(suite))
    text = suite.path.read_text(encoding="utf-8")

    with ModelServer(answer) as server:
        llm = f"llm: {{model: m, base_url: {server.base_url}, api_key: none}}"
        suite.path.write_text(text.replace("seed: 7}", f"seed: 7, {llm}}}"), encoding="utf-8")
        outcome = generate(Asked(suite=suite.path, reword=True), environ={}, told=lambda _: None)

    assert "2 reworded; 0 keep their plain words" in outcome.lines
    assert outcome.is_complete


def test_what_the_model_cannot_word_keeps_its_plain_words(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, "library")
    produce(suite, two(suite))

    outcome = run(suite, spoilt=True)

    assert "0 reworded; 2 keep their plain words" in outcome.lines
    assert {draft.worded_by for draft in stored(suite).values()} == {"plain"}
    assert len(list((suite.generate.out / "scenarios").iterdir())) == 2


def test_what_nobody_would_ask_for_is_removed(tmp_path: Path) -> None:
    """A scenario that the writer calls absurd does not stay in plain words."""
    suite = suite_of(tmp_path, "library")
    produce(suite, two(suite))

    outcome = run(suite, absurd="Nobody asks a library for a balance.")

    assert "1 reworded; 0 keep their plain words; 1 removed: nobody would ask for this" in outcome.lines
    assert set(stored(suite)) == {"d1"}
    assert [file.stem for file in (suite.generate.out / "scenarios").iterdir()] == ["renew-loan-d1"]
    assert (outcome.accepted, outcome.wanted) == (1, 2)


def test_a_model_that_calls_all_absurd_removes_nothing(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, "library")
    produce(suite, two(suite)[1:])

    outcome = run(suite, absurd="Nobody asks a library for a balance.")

    assert "0 reworded; 1 keep their plain words" in outcome.lines
    assert set(stored(suite)) == {"d2"}
    assert len(list((suite.generate.out / "scenarios").iterdir())) == 1


def files_of(suite: Suite) -> dict[str, bytes]:
    """Give the drafts and the scenario files of a recipe."""
    folder = suite.generate.out
    return {file.name: file.read_bytes() for file in [folder / "drafts.jsonl", *(folder / "scenarios").iterdir()]}


def test_what_kept_its_plain_words_is_asked_about_again(tmp_path: Path) -> None:
    """By the next rewording, with a better model."""
    suite = suite_of(tmp_path, "library")
    produce(suite, two(suite))
    is_spoilt = True
    with ModelServer(lambda request: answer(request, spoilt=is_spoilt)) as server:
        asyncio.run(reworded(suite, server))
        is_spoilt = False

        asyncio.run(reworded(suite, server))

    assert {draft.worded_by for draft in stored(suite).values()} == {"m"}


def test_a_rewording_that_no_model_answers_changes_nothing(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, "library")
    produce(suite, two(suite))
    before = files_of(suite)

    with ModelServer(lambda _: fault.status(401)) as server, pytest.raises(ProviderError):
        asyncio.run(reworded(suite, server))

    assert files_of(suite) == before
    run(suite)
    assert {draft.worded_by for draft in stored(suite).values()} == {"m"}


def test_a_rewording_that_is_broken_off_goes_on_where_it_stood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No scenario is lost, and no answer is asked for twice."""
    monkeypatch.setattr(produce_module, "CONCURRENT", 1)
    suite = suite_of(tmp_path, "library")
    produce(suite, two(suite))
    before = files_of(suite)

    def half(request: ModelRequest) -> Any:
        data = str(request.messages[-1]["content"])
        is_first = "second of those" in data or '"turn": 2' in data
        return answer(request) if is_first or is_back else fault.status(401)

    is_back = False
    with ModelServer(half) as server:
        with pytest.raises(ProviderError):
            asyncio.run(reworded(suite, server))
        assert files_of(suite) == before
        is_back, asked = True, len(server.requests)

        outcome = asyncio.run(reworded(suite, server))

        assert len(server.requests) - asked == 2  # writer and critic of the second draft
    assert "2 reworded; 0 keep their plain words" in outcome.lines
    assert set(files_of(suite)) == set(before)


def test_only_what_is_reworded_is_written(tmp_path: Path) -> None:
    """What keeps its words keeps its file with the hashes in it, so that collection says what changed since."""
    suite = suite_of(tmp_path, "library")
    produce(suite, two(suite))
    before = files_of(suite)
    changed = suite.model_copy(update={"policies": (Policy(id="new", text="Be kind."),)})

    run(changed, spoilt=True)

    assert files_of(suite) == before


def test_what_a_person_decided_removed_or_wrote_is_not_asked_about(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, "library")
    renewing, reading = two(suite)
    produce(suite, [renewing, reading, *(reading.model_copy(update={"id": f"d{at}"}) for at in (3, 4))])
    folder = suite.generate.out / "scenarios"
    accepted, own, removed = (folder / f"get-member-d{at}.yaml" for at in (2, 3, 4))
    decision = "review: {accepted: {by: Ann, on: 2026-01-15, hash: '0123456789abcdef'}}"
    accepted.write_text(accepted.read_text(encoding="utf-8").replace("review: pending", decision), encoding="utf-8")
    own.write_text(own.read_text(encoding="utf-8").split("\n", 1)[1], encoding="utf-8")
    removed.unlink()
    before = files_of(suite)

    with ModelServer(answer) as server:
        outcome = asyncio.run(reworded(suite, server))
        asked = len(server.requests)

    assert asked == 2
    assert "1 reworded; 0 keep their plain words" in outcome.lines
    after = files_of(suite)
    assert {name for name in before if after[name] != before[name]} == {"drafts.jsonl", "renew-loan-d1.yaml"}


def test_without_a_model_or_scenarios_it_says_what_is_missing(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, "library")
    tools = load_toolset(suite.environment, suite.root)

    with pytest.raises(SuiteFaultError, match=r"generate\.llm: names no model"):
        asyncio.run(reword(suite, tools, chats=None, today=TODAY))
    with pytest.raises(SuiteFaultError, match="no scenarios are stored; run `agentbench generate` first"):
        run(suite)
