"""SCOPE and SPUR end to end against a scripted model on loopback; what a language model makes of them is not shown."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from pytest_agentbench.calibration.calibrate import baseline, calibrate, folds, seeded_splits
from pytest_agentbench.calibration.rubric_learning import Parts, Scope, Spur
from pytest_agentbench.cli.calibrate import rubric_text
from pytest_agentbench.core.file_models import read_form
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.rubric import Rubric, WrittenRubric
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller, Chat
from pytest_agentbench.llm.structured import AskedOnce
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.testing import ModelRequest, ModelServer
from tests.calibration.service import conversations

T = TypeVar("T")


def answer(request: ModelRequest) -> str:
    """Play a model: reads the prompt for what is wanted, and finds a conversation bad whose calls fail."""
    system, data = request.messages[0]["content"], request.messages[1]["content"]
    if "Name at most" in system:
        areas = [{"name": f"area {n}", "description": "what belongs to it."} for n in range(1, 8)]
        return json.dumps({"areas": areas})
    if "for this label, in these areas" in system:
        names = re.findall(r"^- ([^:]+):", system, re.MULTILINE)
        return json.dumps({"reasons": [{"area": name, "reason": f"reason about {name}"} for name in [*names, "none"]]})
    if "exactly 3 reasons" in system:
        return json.dumps({"reasons": ["one", "two", "three", "four"]})
    if "at most" in system and "criteria that describe" in system:
        found = re.search(r"at most (\d+)", system)
        assert found
        return json.dumps({"criteria": [f"name {n}: sentence." for n in range(int(found[1]) + 2)]})
    if "Give each criterion a whole weight" in system:
        numbers = range(1, len(data.splitlines()) - 1)
        return json.dumps({"weights": [{"number": n, "weight": 2 + n % 9, "make_or_break": n == 1} for n in numbers]})
    return judged(system, data)


def judged(system: str, data: str) -> str:
    """Score every criterion: bad ones fully where a call failed, good ones elsewhere."""
    named = re.findall(r"^- `((?:pos|neg)-\d+)`", system, re.MULTILINE)
    applying = [name for name in named if name.startswith("neg") == (" failed" in data)]
    return json.dumps({"reason": "seen", "scores": [{"criterion": name, "score": 10} for name in applying]})


def asked(scene: Callable[[Chat], Awaitable[T]]) -> tuple[T, list[ModelRequest]]:
    """Play a scene with the scripted model."""

    async def play(base_url: str) -> T:
        models = Models(environ={})
        try:
            return await scene(models.chat(ModelSpec(model="m", base_url=base_url, retries=0), Caller(role="judge")))
        finally:
            await models.close()

    with ModelServer(answer) as server:
        return asyncio.run(play(server.base_url)), server.requests


async def learn(chat: Chat, training: list[Any], *, parts: Parts) -> Rubric:
    """Have SCOPE learn a rubric."""
    scope = Scope(chat, parts=parts)
    await scope.fit(training)
    return scope.rubrics[-1]


def few() -> list[Any]:
    """Give some conversations, failing and not."""
    names = ("correct", "hallucinated-edit", "tool-unavailable", "bad-parse-silent")
    return [case for case in conversations().cases if case.situation in names][:12]


def test_scope_learns_a_rubric_that_a_suite_can_use() -> None:
    """Five areas at most, at most five criteria each, de-duplicated to twelve, weighed, one NEG make-or-break."""
    cases = few()

    rubric, requests = asked(lambda chat: learn(chat, cases, parts=Parts()))

    assert len(rubric.of("POS")) == 12
    assert len(rubric.of("NEG")) == 12
    assert [one.make_or_break for one in rubric.criteria].count(True) == 1
    assert rubric.of("NEG")[0].rated_weight == 100
    import yaml

    assert read_form(yaml.safe_load(rubric_text(rubric)), WrittenRubric) == (rubric, [])
    temperatures = {
        "Name at most": 0.7,
        "in these areas": 0.7,
        "criteria that describe": 0.0,
        "a whole weight": 0.0,
    }
    for request in requests:
        wanted = next(value for text, value in temperatures.items() if text in request.messages[0]["content"])
        assert request.body["temperature"] == wanted
    areas = [request for request in requests if "Name at most" in request.messages[0]["content"]]
    assert areas[0].messages[1]["content"].count("# The conversation") == 10


def test_a_learnt_rubric_loads_into_a_suite_under_either_formula(tmp_path: Path) -> None:
    """As written, or with the other formula's name; each keeps what decides, in its own way."""
    cases = few()
    learnt, _ = asked(lambda chat: learn(chat, cases, parts=Parts()))
    (tmp_path / "agentbench.yaml").write_text(
        "agent: a:build\nrubric: learnt.yaml\nscenarios: [{id: s, says: [hello]}]\n"
    )

    def loaded(text: str) -> Rubric:
        (tmp_path / "learnt.yaml").write_text(text)
        rubric = load_suite(tmp_path / "agentbench.yaml", environ={}).rubric
        assert rubric is not None
        return rubric

    scope = loaded(rubric_text(learnt))
    must = loaded(rubric_text(learnt).replace("formula: scope", "formula: must"))

    assert scope == learnt
    assert [one.id for one in must.musts] == [one.id for one in learnt.criteria if one.make_or_break] == ["neg-1"]
    assert [(one.id, one.weight) for one in must.criteria if not one.must] == [
        (one.id, one.weight) for one in learnt.criteria if not one.make_or_break
    ]


def test_without_areas_none_are_asked_for() -> None:
    """The first ablation."""
    cases = few()

    rubric, requests = asked(lambda chat: learn(chat, cases, parts=Parts(areas=False)))

    assert rubric.criteria
    assert not any("Name at most" in request.messages[0]["content"] for request in requests)


def test_without_weights_all_weigh_1() -> None:
    """The second ablation; make-or-break goes with the weights."""
    cases = few()

    rubric, _ = asked(lambda chat: learn(chat, cases, parts=Parts(weights=False)))

    assert {one.rated_weight for one in rubric.criteria} == {1}


def test_without_make_or_break_no_criterion_weighs_100() -> None:
    """The third ablation."""
    cases = few()

    rubric, _ = asked(lambda chat: learn(chat, cases, parts=Parts(make_or_break=False)))

    assert not any(one.make_or_break for one in rubric.criteria)


def test_reasons_are_summed_up_in_batches_of_twenty() -> None:
    """45 reasons are three questions, each with the criteria so far."""
    reasons = [f"reason {n}" for n in range(45)]

    async def scene(chat: Chat) -> list[str]:
        return await Spur(chat).summed_up(reasons, meaning="good", most=5, random=Random(1))

    found, requests = asked(scene)

    assert len(found) == 5
    assert [request.messages[1]["content"].count("observation: ") for request in requests] == [20, 20, 5]
    assert requests[1].messages[1]["content"].count("criterion so far: ") == 5


def test_judges_are_calibrated_side_by_side() -> None:
    """SPUR, SCOPE, SCOPE with evidence and the judge without a model, on the same divisions; evidence is shown."""
    cases = few()

    async def scene(chat: Chat) -> Any:
        contenders = [Spur(chat), Scope(chat), Scope(chat, parts=Parts(evidence=True)), baseline()]
        return await calibrate(contenders, cases, seeded_splits(cases, count=2))

    found, requests = asked(scene)

    assert [one.name for one in found.contenders] == ["spur", "scope", "scope+evidence", "signals"]
    assert len({one.mark for one in found.contenders}) == 4
    for one in found.contenders:
        assert one.slices["all"].n == 14
        assert one.slices["all"].figures["accuracy"].mean is not None
    texts = [request.messages[1]["content"] for request in requests]
    assert any("What changed in the stored data" in text for text in texts)
    assert any("was said by the user" in text for text in texts)
    assert any("What changed in the stored data" not in text for text in texts)


def test_no_prompt_tells_what_was_injected() -> None:
    """No fault, situation or label reaches the estimation of a test conversation."""
    cases = few()
    _, requests = asked(lambda chat: calibrate([Scope(chat)], cases, seeded_splits(cases, count=1)))

    judging = [request for request in requests if "`pos-1`" in request.messages[0]["content"]]

    assert judging
    for request in judging:
        text = request.messages[1]["content"]
        assert not re.search(r"timeout@|error@|no_op|hallucinated-edit|tool-unavailable|gold", text)


def test_folds_test_every_conversation_once() -> None:
    """And divisions of 40 to 60 are the same with the same seed."""
    cases = few()

    parts = folds(cases, 3)

    assert sorted(case.id for split in parts for case in split.test) == sorted(case.id for case in cases)
    assert seeded_splits(cases, seed=4) == seeded_splits(cases, seed=4)
    assert [len(split.training) for split in seeded_splits(cases)] == [round(0.4 * len(cases))] * 5


def test_ablations_are_computed_from_the_same_answers() -> None:
    """Weights, make-or-break and the veto change no question: what SCOPE asked is not asked again."""
    cases = few()
    parts = [Parts(), Parts(weights=False), Parts(make_or_break=False), Parts(veto=True)]

    async def scene(chat: Chat, *, of: list[Parts]) -> Any:
        once = AskedOnce(chat)
        return await calibrate([Scope(once, parts=one) for one in of], cases, seeded_splits(cases, count=1))

    found, requests = asked(lambda chat: scene(chat, of=parts))
    _, alone = asked(lambda chat: scene(chat, of=parts[:1]))

    assert [one.name for one in found.contenders] == ["scope", "scope-weights", "scope-make_or_break", "scope+veto"]
    assert len(requests) == len(alone)
