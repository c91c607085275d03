"""The recorded τ² conversations: recall, the state decision without state, communication."""

from collections import Counter
from functools import cache

import pytest

from pytest_agentbench.checks.verdict import judge
from pytest_agentbench.core.run import Judgement
from pytest_agentbench.core.spoken import says
from pytest_agentbench.core.verdict import Verdict
from pytest_agentbench.tau2.reward import tau2_said
from tests.checks.tau2 import DOMAINS, Recording, recordings
from tests.shared_data import needs_shared
from tests.tables import each

pytestmark = needs_shared


@cache
def judged(domain: str) -> tuple[tuple[Recording, Judgement], ...]:
    """Every recording of a domain with its judgement."""
    return tuple((recording, judge(recording.run)) for recording in recordings(domain))


def state_of(judgement: Judgement) -> bool:
    """What the state check decided."""
    return all(finding.passed for finding in judgement.findings if finding.check == "state")


def groups() -> dict[str, list[tuple[Recording, Judgement]]]:
    """The recordings by domain, telecom's solo runs apart."""
    found: dict[str, list[tuple[Recording, Judgement]]] = {}
    for domain in DOMAINS:
        for recording, judgement in judged(domain):
            found.setdefault(f"{domain} solo" if recording.solo else domain, []).append((recording, judgement))
    return found


@pytest.mark.slow
def test_all_351_are_judged_without_an_error() -> None:
    """Each has a verdict about the agent, but one of a right agent that a tool refused the expected call.

    Recalls, verdicts and rewards are printed.
    """
    total = 0
    unscored = []
    for name, pairs in groups().items():
        total += len(pairs)
        recalls = [
            [value for _, judgement in pairs if (value := judgement.metrics[metric]) is not None]
            for metric in ("name_recall", "strict_recall")
        ]
        means = " ".join(f"{sum(values) / len(values):.3f}" for values in recalls)
        verdicts = Counter((recording.reward, judgement.verdict.value) for recording, judgement in pairs)
        line = f"{name}: n={len(pairs)} R_name, R_strict = {means} (n={len(recalls[0])})"
        print(f"{line}; (reward, verdict) {dict(verdicts)}")
        unscored += [found for found, judgement in pairs if judgement.verdict is Verdict.ERROR]
    assert total == 351
    assert [(found.run.key.scenario, found.reward) for found in unscored] == [("12", 1.0)]


@pytest.mark.slow
@each(("domain", "least"), [("airline", 0.98), ("retail", 0.92)])
def test_deciding_on_state_by_the_calls_agrees_with_the_database(domain: str, least: float) -> None:
    """The calls decide nearly as τ²'s database check did, and never pass what it failed.

    Telecom is left out: τ²'s own expected database there misses what its live one synchronises.
    """
    pairs = [(found.database_matched, state_of(judgement)) for found, judgement in judged(domain)]
    known = [(recorded, ours) for recorded, ours in pairs if recorded is not None]
    agreed = sum(recorded == ours for recorded, ours in known)
    print(f"{domain}: {agreed}/{len(known)} agree")
    assert agreed / len(known) >= least
    assert not [pair for pair in known if pair == (False, True)]


@each("domain", ["airline", "retail"])
def test_no_verdict_is_kinder_than_tau2s(domain: str) -> None:
    """What τ² gave no reward fails here as well."""
    assert not [
        found.run.key for found, judgement in judged(domain) if judgement.verdict is Verdict.PASSED and found.reward < 1
    ]


def test_communication_agrees_with_tau2() -> None:
    """τ²'s rule reproduces every recorded check, and ours agrees on all of them."""
    checked = 0
    for domain in DOMAINS:
        for found, _ in judged(domain):
            texts = [text for _, text in found.run.transcript.texts("assistant")]
            for info, met in found.communicated.items():
                checked += 1
                assert tau2_said(info, texts) == met
                assert any(says(info, text) for text in texts) == met
    assert checked >= 40
