"""What a language model made of wording and criticising: it saw the requests alone, and is played again here."""

import asyncio
from pathlib import Path

import pytest

from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.accept import Acceptance, LostError
from pytest_agentbench.generation.assemble import scenario_forms
from pytest_agentbench.generation.draft import Draft
from pytest_agentbench.generation.language.critic import Opinion
from pytest_agentbench.generation.recipe import hashes_of
from pytest_agentbench.generation.report import COST, Report
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.validation.scenario import Shared
from tests.generation.draft.spoiling import SPOILT
from tests.generation.record_words import TODAY, all_of

Recorded = tuple[list[Report], dict[str, tuple[Draft, Opinion]]]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """All that was asked, answered from the cassette."""
    return asyncio.run(all_of(Mode.REPLAY, tmp_path_factory.mktemp("recorded")))


def test_right_drafts_are_worded_and_accepted_in_two_calls_each(recorded: Recorded) -> None:
    reports, _ = recorded

    assert [str(loss) for report in reports for loss in report.losses] == []
    drafts = [draft for report in reports for draft in report.accepted]
    assert len(drafts) == 7
    lines = {draft.id: [turn.line for turn in draft.turns] for draft in drafts}
    assert lines["renew"] == [
        (
            "Hi, I'm a slow reader and have lost track of what I still have out from the library. "
            "My card says member M21 - which books do I have on loan at the moment?"
        ),
        "The second of those is the one I haven't finished. Could you extend it by one week, please?",
    ]
    for report in reports:
        calls = sum(one.calls + one.replayed for one in report.usage.values())
        tokens = sum(one.input_tokens + one.output_tokens for one in report.usage.values())
        assert calls <= COST["walks"][0] * len(report.accepted)
        assert tokens <= COST["walks"][1] * len(report.accepted)
        assert (report.critic["verdicts"], report.critic["rejected"]) == (len(report.accepted), 0)


def test_policies_are_decided_by_worded_drafts_as_by_plain_ones(recorded: Recorded) -> None:
    reports, _ = recorded
    handled = {draft.id: {one.policy: one.handling for one in draft.policies} for draft in reports[0].accepted}

    assert handled["reserve"] == {"look-up-first": "decided", "ask-first": "decided", "kind": "judge_only"}
    assert handled["refuse"] == {"one-week": "decided"}


def test_spoilt_drafts_are_refused_by_the_critic_or_by_what_stands_in_them(recorded: Recorded, tmp_path: Path) -> None:
    """The critic alone cannot see a fault that changes no write; acceptance sees those."""
    _, spoilt = recorded
    passed = [name for name, (_, opinion) in spoilt.items() if not opinion.why]
    left: list[str] = []
    for number, (suite_in, kinds) in enumerate(SPOILT.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        suite = suite_in(folder)
        shared = Shared(isolation=IsolationGate(folder), now=lambda: 0.0, mutate=False)
        tools = load_toolset(suite.environment, suite.root)
        acceptance = Acceptance(suite=suite, toolset=tools, shared=shared, today=TODAY)
        for name in passed:
            if name.split()[0] in {kind.__name__ for kind in kinds}:
                draft = spoilt[name][0]
                try:
                    forms = scenario_forms(draft, hashes=hashes_of(suite, tools), seed=1)
                    asyncio.run(acceptance.accept(draft, forms, solved=True))
                except LostError:
                    continue
                left.append(name)

    assert len(spoilt) == 57
    assert len(passed) == 14
    assert len(left) <= 2, left
