"""`agentbench score`: what pytest says of recorded conversations, without a test for each."""

import json
from pathlib import Path

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.results.document import comparable, read
from tests.plugin.project import Project

SUITE = """
agent: {transcripts: logs.jsonl}
environment: {tools: tools.json}
scenarios:
  - {id: cancel, says: ["Cancel W1"], expect: [{cancel_order: {order_id: W1}}], communicate: [cancelled]}
  - {id: leave, says: ["Leave it"], expect: []}
"""
CALL = {"id": "c", "type": "function", "function": {"name": "cancel_order", "arguments": '{"order_id": "W1"}'}}


def log(scenario: str, *, calls: bool, said: str = "It is cancelled.", **more: str) -> dict[str, object]:
    """Give a log in the OpenAI format."""
    made = [{"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "tool_call_id": "c", "content": "ok"}]
    user, agent = {"role": "user", "content": "Please"}, {"role": "assistant", "content": said}
    return {"id": scenario, "messages": [user, *(made if calls else []), agent], **more}


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """A user's project."""
    return Project(pytester=pytester)


@pytest.fixture
def recorded(project: Project) -> Path:
    """A recorded suite: two scenarios, three trials of each, some of which failed."""
    logs = [log("cancel", calls=number != 1) for number in range(3)]
    logs += [log("leave", calls=number == 2, said="\x1b[31m<b>Fine</b>") for number in range(3)]
    tool = {"name": "cancel_order", "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}}}
    project.write("bench/tools.json", json.dumps([{"type": "function", "function": tool}]))
    project.write("bench/logs.jsonl", "".join(json.dumps(one) + "\n" for one in reversed(logs)))
    return project.write("bench/agentbench.yaml", SUITE)


def test_its_results_are_pytests(
    project: Project, recorded: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The results file is the same, whatever the order of the recordings, but for times and places."""
    project.run("bench", "--agentbench-json=pytest.json")
    capsys.readouterr()
    monkeypatch.chdir(project.pytester.path)

    status = main(["score", "bench/agentbench.yaml", "--json", "score.json"])

    assert status == 1
    assert " 67 %" in capsys.readouterr().out
    ours, pytests = (read(project.pytester.path / name) for name in ("score.json", "pytest.json"))
    assert comparable(ours) == comparable(pytests)


def test_the_page_shows_conversations(
    project: Project, recorded: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Conversations are read again for it, and hostile ones are escaped; where each was recorded is told."""
    monkeypatch.chdir(project.pytester.path)

    main(["score", "bench/agentbench.yaml", "--html", "out.html", "--markdown", "out.md"])

    page = (project.pytester.path / "out.html").read_text()
    assert "bench/logs.jsonl:1" in page
    assert "It is cancelled." in page
    assert "<b>Fine</b>" not in page
    assert "67 %" in (project.pytester.path / "out.md").read_text()


CONFIRMS = """
agent: {transcripts: FILE}
environment: {tools: tools.json, writes: [cancel_order]}
policies: [{id: ask, text: Ask first., rule: {confirm_before: {calls: [cancel_order]}}}]
scenarios: [{id: cancel, says: ["Cancel W1"], expect: [{cancel_order: {order_id: W1}}]}]
"""


@pytest.mark.parametrize(("acts", "kept"), [(["confirm"], True), (["decline"], False), (None, None)])
def test_consent_is_read_off_recorded_acts_through_import_and_score(
    acts: list[str] | None, kept: bool | None, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was recorded, what an import writes of it, and the transcript that scoring keeps are judged alike."""
    tool = {"name": "cancel_order", "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}}}
    asked = [{"role": "user", "content": "Cancel W1"}, {"role": "assistant", "content": "Cancel W1, really?"}]
    answer = {"role": "user", "content": "Nothing against it", **({} if acts is None else {"acts": acts})}
    made = log("cancel", calls=True)["messages"]
    assert isinstance(made, list)
    project.write("bench/tools.json", json.dumps([{"type": "function", "function": tool}]))
    recorded = {"id": "cancel", "messages": [*asked, answer, *made[1:]]}
    project.write("bench/logs.jsonl", json.dumps(recorded) + "\n")
    monkeypatch.chdir(project.pytester.path)
    main(["import", "bench/logs.jsonl", "--into", "bench/imported", "--keep-personal"])

    found = []
    for file in ("logs.jsonl", "imported/recordings.jsonl", "kept.json"):
        project.write("bench/agentbench.yaml", CONFIRMS.replace("FILE", file))
        if file == "logs.jsonl":
            project.run("bench/agentbench.yaml")
            (transcript,) = Path(".agentbench").rglob("transcripts/*.json")
            project.write("bench/kept.json", transcript.read_text())
        main(["score", "bench/agentbench.yaml", "--json", "score.json"])
        (result,) = read(Path("score.json")).results
        found.append(result.policies[0].kept)
    assert found == [kept, kept, kept]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("{transcripts: logs.jsonl}", "shop_agent:build"), "pytest --agentbench"),
        (("id: leave", "id: left"), "has no scenario 'leave'"),
        (("agent:", "rubric: [{id: kind, text: The agent is kind.}]\nagent:"), "'kind' needs a judge"),
        (
            ("agent:", "policies: [{id: kind, text: Be kind.}]\ngates: ['policy.kind >= 1']\nagent:"),
            "gates[0]: the gate",
        ),
    ],
)
def test_what_cannot_be_scored_says_what_to_do(
    project: Project, recorded: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, str], told: str
) -> None:
    """An agent that would have to be played, a recording without scenario, a judge: status 2 and a way out."""
    project.write("bench/shop_agent.py", "def build():\n    return print\n")
    recorded.write_text(recorded.read_text().replace(*change))

    status = main(["score", str(recorded)])

    assert status == 2
    assert told in capsys.readouterr().err


def test_without_a_key_of_the_judge_the_rest_is_scored(
    project: Project, recorded: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said once, in words, and what the judge would have told is not measured."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    judge = "judge: {llm: {model: m}}\nauditor: flags\nagent:"
    recorded.write_text(recorded.read_text().replace("agent:", judge))

    status = main(["score", str(recorded), "--json", "score.json"])

    results = read(Path("score.json")).results
    out = capsys.readouterr().out
    assert status == 1
    assert [result.not_run for result in results] == [None] * 6
    assert sum(result.passed for result in results) == 4
    assert out.count("no judge was asked, and what it would tell is not measured") == 1
    assert "OPENAI_API_KEY" in out


def test_variants_may_be_chosen(project: Project, recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only the conversations of the named variants count, and naming none that is there is an error."""
    logs = [log("cancel", calls=True, model="a"), log("cancel", calls=False, model="b")]
    project.write("bench/logs.jsonl", "".join(json.dumps(one) + "\n" for one in logs))

    assert main(["score", str(recorded), "--variant", "a"]) == 0
    assert main(["score", str(recorded), "--variant", "c"]) == 2
    assert "no conversation of the variants c" in capsys.readouterr().err
