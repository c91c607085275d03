"""Agents whose sessions outlive pytest's: a server that stays up, a model that is told which session it is in."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from pytest_agentbench.testing import Answer, ModelRequest, ModelServer, call, text
from tests.plugin.project import Project

CALL = {"name": "name", "arguments": "arguments", "result": ""}
HEARD: dict[str, list[str]] = defaultdict(list)


class Desk(BaseHTTPRequestHandler):
    """Refunds an order once in a session, and knows each session for as long as it runs."""

    def do_POST(self) -> None:
        """Answer one message."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        heard = HEARD[asked["session_id"]]
        heard.append(asked["message"])
        order = re.search(r"W[0-9]+", asked["message"])
        answer: dict[str, Any] = {"reply": "You are welcome.", "calls": []}
        if len(heard) > 2:
            answer["reply"] = "You have had that refund already."
        elif order is not None:
            called = {"name": "refund", "arguments": {"order_id": order[0]}}
            answer = {"reply": "It is refunded.", "calls": [called]}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Say nothing."""


@pytest.fixture
def desk() -> Iterator[str]:
    """Serve the desk for the whole test."""
    HEARD.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Desk)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/chat"
    server.shutdown()
    server.server_close()


def test_an_agent_that_stays_up_gives_the_same_results_in_every_session(anywhere: Project, desk: str) -> None:
    """The third session finds the server as the first one did, since its runs have names of their own."""
    anywhere.suite(*(f"s{number}" for number in range(1, 7)), environment={})
    file = anywhere.pytester.path / "bench" / "agentbench.yaml"
    file.write_text(
        file.read_text().replace(
            '"shop_agent:build"', json.dumps({"http": {"url": desk, "calls": "calls", "call": CALL}})
        )
    )

    seen = []
    for _ in range(3):
        assert anywhere.run().ret == 0
        seen.append(anywhere.comparable)

    assert seen[0] == seen[1] == seen[2]
    assert len(HEARD) == 18


def test_the_session_is_kept_with_the_result_and_the_transcript(project: Project) -> None:
    """Whoever looks for the conversation on a server of theirs finds its name in either file."""
    agent = "def build(session_id):\n    return lambda message: f'This is {session_id}.'\n"
    project.suite({"id": "a", "says": ["Hello"]}, {"id": "b", "says": ["Hello"]}, agent=agent)

    project.run()

    names = [result.session_id for result in project.document.results]
    assert len(set(names)) == 2
    for result in project.document.results:
        (file,) = (project.pytester.path / ".agentbench" / "runs").glob(f"*/{result.transcript}")
        transcript = json.loads(file.read_text())
        assert transcript["session_id"] == result.session_id
        assert f"This is {result.session_id}." in json.dumps(transcript["messages"])


def test_a_resumed_session_takes_over_what_other_sessions_of_the_agent_did(project: Project) -> None:
    """What is stored is found by the run, not by the session that the agent saw."""
    project.suite("a", "b")
    project.run()
    before = [result.session_id for result in project.document.results]

    project.run("--agentbench-resume")

    assert [result.session_id for result in project.document.results] == before


def test_a_recording_holds_for_an_agent_that_tells_its_model_the_session(project: Project) -> None:
    """The model is told another id in every session and calls a tool with it; the replay gives back the one of now."""

    def answer(request: ModelRequest) -> Answer:
        session = re.search(r"session ([0-9a-f]+)", json.dumps(request.messages))
        assert session is not None
        return text("Done.") if request.messages[-1]["role"] == "tool" else call("note", session=session[1])

    agent = """
    import json
    from openai import AsyncOpenAI

    def build(tools, session_id, base_url):
        client, (note,) = AsyncOpenAI(base_url=base_url, api_key="k"), tools
        schema = {"name": "note", "parameters": {"type": "object", "properties": {"session": {"type": "string"}}}}

        async def reply(message):
            said = [{"role": "system", "content": f"You are in session {session_id}."}]
            said += [{"role": "user", "content": message}]
            while True:
                made = await client.chat.completions.create(
                    model="m", messages=said, tools=[{"type": "function", "function": schema}]
                )
                message = made.choices[0].message
                if not message.tool_calls:
                    return message.content
                given = json.loads(message.tool_calls[0].function.arguments)
                assert given == {"session": session_id}
                said += [message.model_dump(exclude_none=True)]
                said += [{"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": note(**given)}]
        return reply
    """
    tools = "def note(session: str) -> str:\n    return f'noted {session}'\n"
    scenario = {"id": "a", "says": ["Hello"], "communicate": ["Done"]}
    with ModelServer(answer) as server:
        base = {"factory": "shop_agent:build", "upstream": server.base_url}
        project.suite(
            scenario, tools=tools, environment={"tools": "shop_tools"}, agent=__import__("textwrap").dedent(agent)
        )
        file = project.pytester.path / "bench" / "agentbench.yaml"
        file.write_text(file.read_text().replace('"shop_agent:build"', json.dumps(base)))
        project.run("--agentbench-cassette=record", process="forked").assert_outcomes(passed=1)
    recorded = project.comparable
    cassette = (project.pytester.path / "bench" / "agentbench.cassette.jsonl").read_text()

    project.run("--agentbench-cassette=replay", process="forked").assert_outcomes(passed=1)

    assert project.comparable == recorded
    assert project.document.results[0].session_id not in cassette
