"""`agentbench validate`: what is printed, what is written, and the exit status."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.validation.scenario import validate
from tests.tables import each
from tests.validation.worlds import CLOSE, scenario, write_suite

VACUOUS = scenario("idle", expect=[{"find_person": {"email": "ada@example.org"}}])


def test_a_right_suite_is_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The status is 0, and the last line says so with the mutation score."""
    status = main(["validate", str(write_suite(tmp_path, scenario()))])

    text = capsys.readouterr().out
    assert status == 0
    assert " · 1 scenario · seed 0" in text
    assert "1 of 1 scenario valid, mutation score 1.000 >= 0.95: ok" in text
    assert all(len(line) <= 100 for line in text.splitlines())


def test_a_vacuous_scenario_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The status is 1, and the agents that pass stand beside the scenario."""
    status = main(["validate", str(write_suite(tmp_path, scenario(), VACUOUS))])

    text = capsys.readouterr().out
    assert status == 1
    assert "scenarios that a weak agent passes (1): add `communicate`, a call that must be made, or" in text
    assert "  idle (does nothing, echoes the user, uses wrong arguments)" in text
    assert "1 of 2 scenarios valid" in text
    assert text.rstrip().endswith("FAILED, since 1 not valid and too many wrong runs pass")


def test_a_key_that_no_result_has_is_named_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is why right runs fail, or why a rule catches nothing; a key that some result has, or a list, is not told."""
    person = scenario(expect=[{"get_person": {"person_id": "P1"}}, CLOSE])
    rules = [
        {"only_if": {"calls": ["close_ticket"], "earlier": {"calls": ["get_person"], "result": {"name": "Ada"}}}},
        {"never": {"calls": ["get_person"], "result": {"$has": {"email": "x"}}}},
        {"never": {"calls": ["get_person"], "result": {"email": "bob@example.org"}}},
        {"never": {"calls": ["create_ticket"], "result": {"number": 1}}},
    ]
    policies = [{"id": f"p{number}", "text": "Do so.", "rule": rule} for number, rule in enumerate(rules)]

    status = main(["validate", "--no-mutants", str(write_suite(tmp_path, person, policies=policies))])

    text = " ".join(capsys.readouterr().out.split())
    assert status == 1
    assert "right runs that do not pass (1)" in text
    told = text.partition("keys that no result of a right run has; another result may (1) ")[2]
    column = (tmp_path / "agentbench.yaml").read_text().index('"Ada"') + 1
    place = f"agentbench.yaml:1:{column}: "
    assert told.startswith(f"{tmp_path}/{place}policies[0].rule.only_if.earlier.result.name: what")
    assert "'get_person' gives has no 'name'; it has person_id, email" in told


def test_a_rule_that_can_catch_nothing_fails_the_suite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Right runs pass, but a key of a result is misspelt; of one scenario alone nobody knows what others get."""
    person = scenario("person", expect=[{"get_person": {"person_id": "P1"}}, CLOSE])
    rule = {"never": {"calls": ["get_person"], "result": {"mail": "bob@example.org"}}}
    suite = write_suite(tmp_path, person, policies=[{"id": "p", "text": "Do so.", "rule": rule}])

    assert main(["validate", "--no-mutants", str(suite)]) == 1
    assert "1 of 1 scenario valid: FAILED, since a rule fits no result" in capsys.readouterr().out
    assert main(["validate", "--no-mutants", "--only", "person", str(suite)]) == 0
    assert "of a right run fits" not in capsys.readouterr().out
    rule["never"]["result"] = {"refused_because": "unknown"}  # what only a refusal gives
    suite = write_suite(tmp_path, person, policies=[{"id": "p", "text": "Do so.", "rule": rule}])
    assert main(["validate", "--no-mutants", str(suite)]) == 0
    assert "keys that no result of a right run has; another result may (1)" in capsys.readouterr().out


TICKET = ["tickets", {"$argument": "ticket_id"}]


@each(
    ("at", "value", "told"),
    [
        (TICKET, {"status": "open"}, None),
        ([*TICKET, "status"], "open", None),
        (
            ["ticket", TICKET[1]],
            {"status": "open"},
            "at[0]: the state of right runs has no 'ticket'; it has people",
        ),
        (["person", "P1"], {"email": "x"}, "at[0]: the state of right runs has no 'person'; it has people, tickets"),
        ([*TICKET, "state"], "open", "at[2]: the state at tickets.<ticket_id> of right runs has no 'state'; it has"),
        (TICKET, {"stats": "open"}, "value.stats: the state at tickets.<ticket_id> of right runs has no 'stats'; it h"),
        (["tickets"], {"$has": {"id": "T1"}}, None),
        (["tickets", "T9"], {"status": "open"}, None),
        (["tickets", "T9", "status"], "open", None),
        (["tickets", "T9", "stats"], "open", "at[2]: the state at tickets.T9 of right runs has no 'stats'; it has"),
        (TICKET, {"note": ""}, None),
        (TICKET, {"notes": ""}, "value.notes: the state at tickets.<ticket_id> of right runs has no 'notes'; it has"),
        (TICKET, {"locked": True}, None),
    ],
)
def test_a_way_into_the_state_that_no_right_run_has_is_told(at: list[object], value: object, told: str | None) -> None:
    """A table or a column; a row may be absent, and a key may be where rows differ in their keys."""
    rule = {"only_if": {"calls": ["close_ticket"], "state": {"at": at, "value": value}}}
    with TemporaryDirectory() as folder:
        suite = write_suite(Path(folder), scenario(), policies=[{"id": "p", "text": "Do so.", "rule": rule}])
        report = validate(suite, environ={}, now=lambda: 0.0, mutate=False)

    found = [text.partition("policies[0].rule.only_if.state.")[2] for text in report.unfit]
    assert [text[: len(told or "")] for text in found] == ([told] if told else [])
    assert not (told and "agentbench.yaml:1:" not in report.unfit[0])


def test_a_misspelt_table_fails_the_suite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a key that no result has does; the suggestion is told."""
    rule = {"only_if": {"calls": ["close_ticket"], "state": {"at": ["ticket", "T1"], "value": {"status": "open"}}}}
    suite = write_suite(tmp_path, scenario(), policies=[{"id": "p", "text": "Do so.", "rule": rule}])

    assert main(["validate", "--no-mutants", str(suite)]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert "did you mean 'tickets'?" in text
    assert text.endswith("FAILED, since a rule fits no result or state")


def test_doing_nothing_is_right_where_something_is_forbidden(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No weak agent is held against a scenario that wants nothing changed and says what must not be called."""
    refusal = scenario("refusal", expect=[], never=["close_ticket"])

    status = main(["validate", "--no-mutants", str(write_suite(tmp_path, scenario(), refusal))])

    text = capsys.readouterr().out
    assert status == 0
    assert "weak agents fail           1   1  100.0  1 left out: doing nothing is right there" in text
    assert "scenarios that a weak agent passes" not in text


def test_the_threshold_decides_over_survivors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the note left out of the comparison mutants survive: shown, and over or under the threshold asked for."""
    noted = scenario(
        says=["Close T1, note: no leak"], expect=[{"close_ticket": {"ticket_id": "T1", "note": "no leak"}}]
    )
    ignoring = {"tools": "tools", "state": {"json": "state.json", "ignore": ["tickets.*.note"]}}
    file = str(write_suite(tmp_path, noted, environment=ignoring))

    assert main(["validate", file]) == 1
    assert "wrong runs that pass (2)" in capsys.readouterr().out
    assert main(["validate", file, "--min-mutation", "0.5"]) == 0


def test_the_json_holds_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Scores, scenarios and survivors are in the file."""
    out = tmp_path / "out.json"

    main(["validate", str(write_suite(tmp_path, scenario(), VACUOUS)), "--json", str(out)])

    document = json.loads(out.read_text())
    assert document["vacuous"] == ["idle"]
    assert document["valid"] is False
    assert 0 < document["mutation_score"] < 1
    assert [one["id"] for one in document["scenarios"]] == ["close", "idle"]
    survivor = document["scenarios"][1]["survivors"][0]
    assert survivor["operator"] == "false claim"
    assert survivor["conversation"][-1].startswith("assistant: Your request was carried out")


@pytest.mark.parametrize(("info", "is_known"), [("12 sockets", True), ("4711 sockets", False)])
def test_a_figure_among_words_is_known_as_a_figure_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], info: str, is_known: bool
) -> None:
    main(["validate", str(write_suite(tmp_path, scenario(communicate=[info]))), "--no-mutants"])

    assert (f"nothing leads to '{info}'" not in capsys.readouterr().out) is is_known


def test_one_scenario_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--only` leaves the others out; an unknown name is a usage error with a suggestion."""
    file = str(write_suite(tmp_path, scenario(), VACUOUS))

    assert main(["validate", file, "--only", "close", "--no-mutants"]) == 0
    assert "1 of 1 scenario valid: ok" in capsys.readouterr().out
    assert main(["validate", file, "--only", "clos"]) == 2
    assert "did you mean 'close'?" in capsys.readouterr().err


def test_a_suite_that_cannot_be_read_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The place of the fault is told, and the status is 2."""
    file = write_suite(tmp_path, scenario())
    file.write_text("agent: nowhere:build\n")

    assert main(["validate", str(file)]) == 2
    assert "agentbench.yaml" in capsys.readouterr().err


def test_described_tools_are_judged_by_calls_and_it_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without functions nothing is called: the report says what was not asked."""
    tools = [{"name": "close_ticket", "parameters": {"type": "object", "properties": {"ticket_id": {}}}}]
    (tmp_path / "tools.json").write_text(json.dumps(tools))
    file = write_suite(tmp_path, scenario(expect=[CLOSE]), environment={"tools": "tools.json"})

    assert main(["validate", str(file)]) == 0
    text = capsys.readouterr().out
    assert "not asked: ids, replay, results of tools" in text
    assert "only described" in text


def test_recordings_are_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a suite that scores recordings the scenarios are validated by calls alone."""
    (tmp_path / "runs.jsonl").write_text("")
    file = write_suite(tmp_path, scenario(), agent={"transcripts": "runs.jsonl"})

    assert main(["validate", str(file)]) == 0
    assert "recorded conversations are judged without an environment" in capsys.readouterr().out.replace("\n", " ")


def test_a_question_that_only_the_agent_answers_is_told_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The scenarios that it is about stand before it, the first ones by name."""
    asked = {"expect": [CLOSE], "replies": [{"contains": "closed"}]}

    main(["validate", str(write_suite(tmp_path, *(scenario(f"s{number}", **asked) for number in range(7))))])

    text = " ".join(capsys.readouterr().out.split())
    assert "not asked (1) s0, s1, s2, s3, s4 and 2 more: what the agent replies, puts out and hands over: only" in text
