"""A model plays the roles, well and badly: every file that is written is grounded, or nothing is, with the reason."""

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_agentbench.core.errors import KeyMissingError, SuiteFaultError, UnusableAnswerError
from pytest_agentbench.generation.recipe import Outcome
from pytest_agentbench.generation.running import Asked, generate
from pytest_agentbench.generation.tools.stage_files import CARDS, load
from pytest_agentbench.generation.tools.stories.critic import story_faults
from pytest_agentbench.generation.tools.stories.usage import OPENING
from pytest_agentbench.generation.tools.storing import STORIES, Finished, Folder
from pytest_agentbench.generation.tools.values import Cards
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.results.files import read_lines
from pytest_agentbench.testing import ModelServer
from pytest_agentbench.testing.request import ModelRequest
from tests.generation.tools.making import suite_in

ROLES = "[recruiter, narrator, critic, persona]"
SHORT = "seed: 7, nodes: {min: 5, max: 6}, complexity: {simple: 1}"
TEMPERATURES = {"recruiter": 0.7, "narrator": 0.7, "critic": 0.1, "persona": 0.8}
"""The paper's (Annex D)."""


class Player:
    """Answers as each role; `wrong` names one thing that it does badly, `sometimes` on every second time only."""

    def __init__(self, wrong: str = "", *, sometimes: bool = False) -> None:
        self.wrong = wrong
        self.sometimes = sometimes
        self.asked: Counter[str] = Counter()
        self.temperatures: dict[str, set[float]] = {}
        self.faults: list[str] = []

    def __call__(self, request: ModelRequest) -> str:
        system = request.system
        role = next(role for opening, role in OPENINGS.items() if opening in system)
        found = re.search(r"<data-(\w+)>\n(.*)\n</data-\1>", request.last, re.DOTALL)
        data = json.loads(found[2]) if found else {}
        self.asked[role.partition(" ")[0]] += 1
        self.temperatures.setdefault(role.partition(" ")[0], set()).add(request.body["temperature"])
        self.faults += data.get("your_answers_were_refused_because", []) + data.get("wrong_with_your_last_answer", [])
        bad = self.wrong if not self.sometimes or self.asked[role.partition(" ")[0]] % 2 else ""
        answer = getattr(self, role.replace(" ", "_"))(data, bad)
        return answer if isinstance(answer, str) else json.dumps(answer)

    def recruiter(self, data: dict[str, Any], bad: str) -> Any:
        candidates = [*data["values_of_other_results"], {"nonsense": 1}]
        if bad == "made up inputs":
            candidates = [{argument["name"]: "ZZ-0000" for argument in data["arguments"]}]
        accepted = [argument["accepted"] for argument in data["arguments"]]
        for row in zip(*accepted, strict=False):
            candidates.append({a["name"]: value for a, value in zip(data["arguments"], row, strict=True)})
        return {"candidates": [json.dumps(one) for one in candidates[-9:]] + ["no json"]}

    def narrator_select(self, data: dict[str, Any], bad: str) -> Any:
        return {"entry_index": 40 if bad == "index" else len(data["entries"]) - 1}

    def narrator_extract(self, data: dict[str, Any], bad: str) -> Any:
        arguments = dict(data["possible_arguments"][0])
        if bad == "argument":
            arguments = dict.fromkeys(arguments, "Z-12345")
        return {"arguments": "[]" if bad == "no object" else json.dumps(arguments), "sentence": "I look that up next."}

    def narrator_request(self, data: dict[str, Any], bad: str) -> Any:
        parts = []
        for one in data["requests"]:
            values = ", ".join(f"{name} {value}" for name, value in one["values_to_say"].items())
            of = f" from {one['takes_from_the_result_before']}" if "takes_from_the_result_before" in one else ""
            parts.append(f"{one['what_it_does'].rstrip('.').lower()}{of} {values}".strip())
        line = f"Please do this: {'; '.join(parts)}."
        line += f" What is its {data['wants_to_be_told']}?" if data["wants_to_be_told"] else ""
        extra = {"value": " My card is 5512-77.", "tool": " Call get_book for it.", "json": ' {"a": 1}'}
        return {"sentence": line.split("(")[0] + extra.get(bad, "")}

    def narrator_tell(self, data: dict[str, Any], bad: str) -> Any:
        told = ", ".join(f"{name}: {text}" for name, text in data["must_tell"].items())
        return {"sentence": "It costs 9,999 crowns." if bad == "answer" else f"Here it is. {told}".strip()}

    def narrator_close(self, data: dict[str, Any], bad: str) -> Any:
        return {"sentence": "Thanks, that is all."}

    def critic(self, data: dict[str, Any], bad: str) -> Any:
        calls = [step["call"] for step in data["story"] if step["call"]]
        value = next(iter(calls[0]["arguments"].values()))
        summary = "The agent is asked for several things in a row."
        situation = f"The user has a request for the assistant. It is about {value}."
        if bad == "hedged":
            situation = f"The user might want something. It is about {value}."
        if bad == "entity":
            summary = f"The agent looks up {value}."
        return {
            "is_coherent": bad != "rejects",
            "reason": "no user wants this" if bad == "rejects" else "plausible",
            "summary": summary,
            "initial_situation": situation,
        }

    def persona(self, data: dict[str, Any], bad: str) -> Any:
        known = f"Your name is {data['identity']['name']}."
        return {
            "task_instructions": data["identity"]["manner"],
            "reason_for_call": "You want help with your requests.",
            "known_info": f"{known} Your card is 88123." if bad == "identity" else known,
            "unknown_info": None,
        }


OPENINGS = {
    "You scout inputs": "recruiter",
    "Choose the one of `entries`": "narrator select",
    "It has received `previous_result`": "narrator extract",
    "You write the next line of a user": "narrator request",
    "You write what an assistant tells": "narrator tell",
    "You write the last line": "narrator close",
    "You decide whether a made-up conversation": "critic",
    "You write the four fields": "persona",
}


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first stages of the library, which are not what is tested here; they are taken up from their files."""
    folder = tmp_path_factory.mktemp("staged")
    generate(Asked(suite=suite_in(folder, "library"), until="graph"), environ={}, told=lambda _: None)
    return folder / "generated"


@pytest.fixture
def folder(tmp_path: Path, staged: Path) -> Path:
    """A folder with the first stages done."""
    shutil.copytree(staged, tmp_path / "generated", dirs_exist_ok=True)
    return tmp_path


def played(folder: Path, player: Player, *, count: int = 3, roles: str = ROLES, cassette: Mode = Mode.OFF) -> Outcome:
    """Generate with a model that plays the roles."""
    with ModelServer(player) as server:
        recipe = f"count: {count}, {SHORT}, roles: {roles}, llm: {{model: scripted, base_url: '{server.base_url}'}}"
        suite = suite_in(folder, "library", recipe)
        return generate(Asked(suite=suite, cassette=cassette), environ={}, told=lambda _: None)


def written(folder: Path) -> list[dict[str, Any]]:
    """The scenarios that were written."""
    files = sorted((folder / "generated/scenarios").glob("*.yaml"))
    return [yaml.safe_load(file.read_text(encoding="utf-8")) for file in files]


def check_grounded(folder: Path) -> None:
    """Every story behind a file is traced from end to end, whoever told it."""
    out = folder / "generated"
    cards = load(out / CARDS, Cards)
    assert cards is not None
    records = list(read_lines(out / STORIES))
    finished = [Finished.model_validate(one) for one in records[1:]]
    head = next(iter(read_lines(out / "pool.jsonl")))
    found = Folder(out).pool(head["made_from"])
    assert found is not None
    for one in finished:
        if one.story is not None:
            assert story_faults(one.story, found[0], cards) == []
    kept = {form["id"] for one in finished for form in one.forms}
    assert {scenario["id"] for scenario in written(folder)} == kept


def test_a_model_that_plays_well_gives_scenarios(folder: Path) -> None:
    """All roles but the first are played by the model, at the paper's temperatures; calls are counted."""
    player = Player()

    outcome = played(folder, player)

    assert outcome.accepted == 3
    assert player.temperatures == {role: {value} for role, value in TEMPERATURES.items()}
    assert all(form["says"][0].startswith("Please do this") for form in written(folder))
    assert f"model calls: {sum(player.asked.values())}" in "\n".join(outcome.lines)
    check_grounded(folder)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("index", "hydration: index out of range"),
        ("value", "hydration: invented value"),
        ("tool", "hydration: names a tool"),
        ("json", "hydration: holds code"),
        ("answer", "hydration: invented value"),
        ("hedged", "critic: hedged"),
        ("entity", "critic: no entities allowed"),
        ("rejects", "critic: implausible"),
        ("identity", "persona: invented value"),
    ],
)
def test_what_a_model_does_badly_is_refused_and_counted(folder: Path, wrong: str, reason: str) -> None:
    """Nothing is written of it, and the report says how often it was refused and why."""
    outcome = played(folder, Player(wrong), count=1)

    assert outcome.accepted == 0
    assert not outcome.is_complete
    assert reason in "\n".join(outcome.lines)
    assert written(folder) == []


@pytest.mark.parametrize("wrong", ["value", "tool", "hedged", "entity", "identity", "answer"])
def test_what_a_model_does_badly_now_and_then_is_mended(folder: Path, wrong: str) -> None:
    """It is told what was wrong, does better the next time, and what is written is grounded."""
    player = Player(wrong, sometimes=True)

    outcome = played(folder, player, count=2)

    assert outcome.accepted == 2
    assert player.faults
    check_grounded(folder)


class Fond(Player):
    """Begins with what comes first in the alphabet wherever that is offered, as models do with what is known best."""

    def __init__(self) -> None:
        super().__init__()
        self.offered: list[int] = []
        self.begun: list[str] = []

    def narrator_select(self, data: dict[str, Any], bad: str) -> Any:
        named = [json.dumps(entry["values"]) for entry in data["entries"]]
        if not data["conversation"]:
            self.offered.append(len(named))
            self.begun.append(min(named))
        return {"entry_index": named.index(min(named))}


def test_conversations_begin_with_something_else_each_time(folder: Path) -> None:
    """A model that always likes the same best is offered few, and nothing that earlier conversations were about."""
    player = Fond()

    outcome = played(folder, player, count=4, roles="[narrator]")

    assert outcome.accepted == 4
    assert len(player.begun) > 1
    assert len(set(player.begun)) == len(player.begun)
    assert max(player.offered) <= OPENING


class Hasty(Player):
    """Says of each next call what nobody knows, until it is told."""

    def narrator_extract(self, data: dict[str, Any], bad: str) -> Any:
        said = super().narrator_extract(data, bad)
        is_told = "your_answers_were_refused_because" in data
        return said if is_told else {**said, "sentence": "I look up 5512 next."}


def test_what_is_wrong_with_a_sentence_about_the_next_call_costs_one_question(folder: Path) -> None:
    """It goes back alone; the conversation is not told anew from its beginning."""
    well, hasty = Player(), Hasty()

    played(folder, well, count=2, roles="[narrator]")
    (folder / "generated" / STORIES).unlink()
    outcome = played(folder, hasty, count=2, roles="[narrator]")

    assert outcome.accepted == 2
    assert set(hasty.faults) == {"invented value: 5512"}
    assert hasty.asked["narrator"] == well.asked["narrator"] + len(hasty.faults)
    check_grounded(folder)


def test_inputs_that_a_scout_makes_up_never_reach_the_pool(folder: Path) -> None:
    """What the tool does not answer is no verified call."""
    played(folder, Player("made up inputs"), count=1)

    assert "ZZ-0000" not in (folder / "generated/pool.jsonl").read_text()


def test_an_answer_without_form_stops_the_pipeline_and_keeps_what_is_done(folder: Path) -> None:
    """Nothing stands in for a model that gives no usable answer; going on later takes up where it stopped."""
    with pytest.raises(UnusableAnswerError, match="narrator"):
        played(folder, Player("no object"), count=12, roles="[narrator]")
    before = len(list(read_lines(folder / "generated" / STORIES)))

    outcome = played(folder, Player(), count=12, roles="[narrator]")

    assert before >= 1
    assert outcome.accepted == 12


def test_recorded_answers_are_played_again_without_a_server(folder: Path) -> None:
    """A cassette beside the scenarios gives the same files with no model."""
    played(folder, Player(), cassette=Mode.RECORD)
    first = {file.name: file.read_bytes() for file in (folder / "generated/scenarios").glob("*.yaml")}
    suite = folder / "agentbench.yaml"
    for name in ("pool.jsonl", STORIES):
        (folder / "generated" / name).unlink()

    generate(Asked(suite=suite, cassette=Mode.REPLAY), environ={}, told=lambda _: None)

    assert {file.name: file.read_bytes() for file in (folder / "generated/scenarios").glob("*.yaml")} == first


def test_a_role_that_no_model_plays_is_refused(folder: Path) -> None:
    """Unknown roles, roles without a model, and a model without a key are told apart."""
    with pytest.raises(SuiteFaultError, match=r"no role 'narator'.*did you mean 'narrator'"):
        played(folder, Player(), roles="[narator]")
    suite = suite_in(folder, "library", "count: 1, roles: [narrator]")
    with pytest.raises(SuiteFaultError, match=r"generate\.llm names none"):
        generate(Asked(suite=suite), environ={}, told=lambda _: None)
    suite = suite_in(folder, "library", "count: 1, roles: [narrator], llm: {model: gpt-x}")
    with pytest.raises(KeyMissingError, match="OPENAI_API_KEY"):
        generate(Asked(suite=suite), environ={}, told=lambda _: None)
