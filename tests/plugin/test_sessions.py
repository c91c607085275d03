"""Scenarios of several sessions: one world and one user, and conversations of which only a memory knows."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.tau2.tasks import scenario_to_task, task_to_scenario
from tests.plugin.project import Project

TOOLS = '''
from datetime import datetime

def keep_note(state: dict, text: str) -> str:
    """Keep a note."""
    state["notes"].append(text)
    return "ok"

def book(state: dict, now: datetime, room: str) -> str:
    """Book a room for today."""
    state["bookings"].append({"room": room, "on": now.date().isoformat()})
    return "ok"
'''

AGENT = """
def build(tools, state, session_id, now, memory=True):
    call = {tool.__name__: tool for tool in tools}
    heard = []

    def reply(message):
        heard.append(message)
        if message.startswith("Remember"):
            call["keep_note"](text=message.partition(": ")[2])
            return "Noted."
        call["book"](room=state["notes"][-1] if memory else "room 1")
        return f"Booked, after {len(heard)} message."

    return reply
"""


def write(project: Project, **keys: Any) -> Path:
    """Write a suite with one scenario of two sessions."""
    project.write("bench/state.json", json.dumps({"notes": [], "bookings": []}))
    sessions = [
        {"says": ["Remember: room 7"], "expect": [{"keep_note": {"text": "room 7"}}]},
        {"says": ["Book my room, please"], "after": "2d", "expect": [{"book": {"room": "room 7"}}]},
    ]
    suite = {
        "agent": "desk:build",
        "now": "2026-11-22T10:00Z",
        "environment": {"tools": "desk_tools", "state": {"json": "state.json"}},
        "variants": {"good": {}, "forgetful": {"memory": False}},
        "scenarios": [{"id": "remembers", "sessions": sessions} | keys],
    }
    project.write("bench/desk.py", AGENT)
    project.write("bench/desk_tools.py", TOOLS)
    return project.write("bench/agentbench.yaml", json.dumps(suite, indent=1))


def test_a_world_and_a_clock_go_on_and_the_conversation_does_not(anywhere: Project) -> None:
    """The booking is right two days later alone; an agent without memory of its own fails, and is shown where."""
    write(anywhere)

    result = anywhere.run("--agentbench-variant", "all", "-vv")

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["*state, turn 4: book(room=*room 1*)*expected room=*room 7*", "*  session 2", "*3 user   Book my room, please"]
    )
    transcripts = [json.loads(path.read_text()) for path in anywhere.pytester.path.rglob("transcripts/*.json")]
    for transcript in transcripts:
        assert transcript["messages"][-1]["content"] == "Booked, after 1 message."
        assert [message.get("session", 1) for message in transcript["messages"]] == [1] * 4 + [2] * 4
    assert len(transcripts) == 2


def test_validate_plays_the_sessions(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """A right run passes at its own times, and wrong ones are caught."""
    file = write(project)

    assert main(["validate", str(file)]) == 0
    assert "1 of 1 scenario valid, mutation score 1.000" in capsys.readouterr().out


def test_an_exported_task_reads_back_as_the_same_sessions(project: Project) -> None:
    """τ² has no sessions: its user is told where each begins, and our own fields keep them."""
    scenario = load_suite(write(project), environ={}).scenarios[0]

    task = scenario_to_task(scenario)

    told = task["user_scenario"]["instructions"]["task_instructions"]
    assert told.endswith("(conversation 1)\n1. Remember: room 7\n(conversation 2, 2d later)\n2. Book my room, please")
    back = task_to_scenario(task)
    assert not isinstance(back, list)
    assert (back.says, back.sessions, back.expected_calls) == (
        scenario.says,
        scenario.sessions,
        scenario.expected_calls,
    )


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"says": ["Hello"]}, "'says' is both here and in sessions (leave it in the sessions)"),
        ({"expect": []}, "'expect' is both here and in sessions (write all of it here, or each part in its session)"),
        ({"sessions": [{"says": ["Hello"]}]}, "sessions: found a list of 1, expected a list of two or more sessions*"),
        ({"sessions": [{"after": "1d"}, {}]}, "sessions[[]0[]].after: nothing comes before the first session*"),
        ({"sessions": [{}, {"after": "tomorrow"}]}, "after: found 'tomorrow', expected the time since the session*"),
        (
            {"sessions": [{"says": ["Hi"]}, {"says": ["Hi"], "after": "999999w"}]},
            "after: there is no such date (make it shorter)",
        ),
        ({"sessions": [{"says": ["Hi"]}, {}]}, "the user has nothing to say in this session (write its `says`)"),
        (
            {
                "sessions": [{"says": ["Hi"]}, {"says": ["Hi"], "after": "1d"}],
                "context": {"today": {"$today": "0d"}},
            },
            "after: the context counts dates from the first session*",
        ),
        (
            {"sessions": [{}, {"sais": []}]},
            "unknown key 'sais' (did you mean 'says'?), allowed: says, goal, expect, after",
        ),
    ],
)
def test_sessions_that_cannot_be_meant_are_errors(project: Project, keys: dict[str, Any], message: str) -> None:
    """Each with its place and what to do."""
    write(project, **keys)

    project.run().stdout.fnmatch_lines([f"*agentbench.yaml:*:* scenarios[[]0[]]*{message}*"])


def test_what_belongs_to_a_session_is_looked_for_in_it(project: Project) -> None:
    """Calls under the wrong session, words of another one, and a yes of another one are not there; stalls end there."""
    project.write("bench/desk_tools.py", "def book(room: str) -> str:\n    return 'ok'\n")
    project.write(
        "bench/desk.py",
        """
        def build(tools):
            call = {tool.__name__: tool for tool in tools}

            def reply(message):
                if "book" in message:
                    call["book"](room="room 7")
                return {"What?": "I do not know."}.get(message, "Noted: room 7.")

            return reply
        """,
    )
    booked = [{"book": {"room": "room 7"}}]
    agreed = {"id": "confirm", "text": "Ask first.", "rule": {"confirm_before": {"calls": ["book"]}}}
    scenarios = [
        {"id": "early", "sessions": [{"says": ["Please book."]}, {"says": ["What?"], "expect": booked}]},
        {"id": "late", "sessions": [{"says": ["What?"], "expect": booked}, {"says": ["Please book."]}]},
        {"id": "right", "sessions": [{"says": ["What?"]}, {"says": ["Please book."], "after": "2d"}], "expect": booked},
        {"id": "forgot", "sessions": [{"says": ["I like room 7."]}, {"says": ["What?"]}], "communicate": ["room 7"]},
        {"id": "again", "sessions": [{"says": ["Hello"]}] * 4, "communicate": ["room 7"]},
        {
            "id": "old-yes",
            "sessions": [{"says": ["Room 7", {"confirm": "Yes, room 7."}]}, {"says": [{"other": "Please book."}]}],
            "policies": ["confirm"],
        },
    ]
    suite = {
        "agent": "desk:build",
        "now": "2026-11-22T10:00Z",
        "environment": {"tools": "desk_tools", "writes": ["book"]},
        "scenarios": scenarios,
    }
    for name, policies, chosen in (("plain", [], scenarios[:5]), ("asked", [agreed], scenarios[5:])):
        suite |= {"policies": policies, "scenarios": chosen}
        project.write(f"bench/{name}.agentbench.yaml", json.dumps(suite))

    project.run()

    assert project.verdicts() == {
        "early": "failed",
        "late": "failed",
        "right": "passed",
        "forgot": "failed",
        "again": "passed",
        "old-yes": "failed",
    }


def test_dates_of_rules_count_from_the_session_of_the_call(project: Project) -> None:
    """A booking for a day after the second session's is late by that session's clock alone."""
    write(project)
    file = project.pytester.path / "bench" / "agentbench.yaml"
    suite = json.loads(file.read_text())
    # the tool books for its own day, which the agent does not name: what it is called with counts
    tools = TOOLS.replace(
        "def book(state: dict, now: datetime, room: str)", "def book(state: dict, room: str, on: str)"
    )
    project.write("bench/desk_tools.py", tools.replace("now.date().isoformat()", "on"))
    project.write(
        "bench/desk.py",
        AGENT.replace('memory else "room 1")', 'memory else "room 1", on=now.date().isoformat())'),
    )
    rule = {"never": {"calls": ["book"], "where": {"on": {"$gt": {"$today": "1d"}}}}}
    suite["policies"] = [{"id": "soon", "text": "Book for tomorrow at the latest.", "rule": rule}]
    suite["scenarios"][0]["sessions"][1] = {
        "says": ["Book my room, please"],
        "after": "30d",
        "expect": [{"book": {"on": "2026-12-22"}}],
    }
    file.write_text(json.dumps(suite))

    project.run().assert_outcomes(passed=1)


class Desk(BaseHTTPRequestHandler):
    """Says what the suite's clock shows, as its header and its body tell it."""

    def do_POST(self) -> None:
        """Answer one message."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = f"{self.headers['X-Agentbench-Now']} {asked['today']} {asked['id'][:0]}"
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"reply": reply}).encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Say nothing."""


def test_the_clock_reaches_agents_behind_http(project: Project) -> None:
    """In a header of every request, and in the body where it asks for it; it moves on between sessions."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Desk)
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/chat"
    body = {"message": "$message", "today": "$now", "id": "$session_id"}
    suite = {
        "agent": {"http": {"url": url, "body": body}},
        "now": "2026-11-22T10:00Z",
        "scenarios": [
            {
                "id": "days",
                "sessions": [{"says": ["Which day?"]}, {"says": ["Which day?"], "after": "36h"}],
                "communicate": ["2026-11-23T22:00:00+00:00 2026-11-23T22"],
            }
        ],
    }
    project.write("bench/agentbench.yaml", json.dumps(suite))

    try:
        project.run().assert_outcomes(passed=1)
        (transcript,) = project.pytester.path.rglob("transcripts/*.json")
        assert "2026-11-22T10:00:00+00:00 2026-11-22T10" in transcript.read_text()
    finally:
        server.shutdown()
        server.server_close()
