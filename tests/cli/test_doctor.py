"""`agentbench doctor`: what it sees of agents that work, break, hide, remember too much and ask models."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest

from pytest_agentbench.cli import main, progress
from pytest_agentbench.testing import ModelServer, text

MCP_SERVER = Path(__file__).parent.parent / "environment" / "mcp" / "server.py"
SUITE = """
agent: my_agent:build
scenarios:
  - id: greeting
    says: ["Hello there"]
  - id: question
    says: ["Where is W1?"]
"""

TOOLS = """
def get_order(state: dict, order_id: str) -> str:
    '''Look an order up.'''
    return state["orders"][order_id]

def touch(state: dict, order_id: str) -> str:
    '''Touch an order.'''
    state["orders"][order_id] = "touched"
    return "ok"
"""

TOOL_SUITE = """
agent: my_agent:build
environment: {tools: my_tools, state: {json: orders.json}}
scenarios:
  - id: question
    says: ["Where is W1?"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of its own module names, since modules of one name cannot be imported twice."""
    return tmp_path


def write(folder: Path, agent: str, suite: str = SUITE, name: str = "") -> Path:
    """Write a suite whose agent module has a name that no other test uses."""
    module = f"agent_{folder.name.replace('-', '_')}{name}"
    (folder / f"{module}.py").write_text(agent)
    path = folder / "agentbench.yaml"
    path.write_text(suite.replace("my_agent", module))
    return path


def doctor(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Run the command; give its exit status and what it printed, on one line."""
    status = main(["doctor", *arguments])
    return status, " ".join(capsys.readouterr().out.split())


def test_a_plain_agent_is_healthy(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It answers, nothing leaks, and what cannot be seen is said with what to do about it."""
    suite = write(folder, "def build():\n    return lambda message: f'You said {message}'\n")

    status, told = doctor(capsys, str(suite))

    assert status == 0
    assert "ok agent built, and answered one turn" in told
    assert "ok reply You said Hello there" in told
    assert "note calls none seen, and nothing tells whether any was made -> take `tools` in the factory" in told
    assert "ok leaks two sessions, interleaved: nothing that one was told showed up in the other" in told
    assert f"healthy; now: pytest --agentbench {suite}" in told


LEAKY = """
HEARD = []

def build():
    def reply(message):
        HEARD.append(message)
        return "You told me: " + " / ".join(HEARD)
    return reply
"""


def test_a_planted_word_that_travels_is_a_problem(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a module keeps, every session of it knows."""
    status, told = doctor(capsys, str(write(folder, LEAKY)))

    assert status == 1
    assert (
        "PROBLEM leaks two sessions, interleaved: what one was told (QUOKKA-7319) showed up in an answer of the other"
        in told
    )
    assert "2 problems" in told


class Forgetful(BaseHTTPRequestHandler):
    """A server that keeps one conversation per `key` of what is posted, and begins anew when it hears of another."""

    key = "session_id"
    kept: ClassVar[dict[str, list[str]]] = {}

    def do_POST(self) -> None:
        """Repeat what it has been told under this key."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        heard = self.kept.setdefault(str(asked.get(self.key)), [])
        heard.append(asked["message"])
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"reply": " / ".join(heard)}).encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Say nothing."""


class Nosy(Forgetful):
    """A server that knows its callers by what is the same in every conversation."""

    key = "user"
    kept: ClassVar[dict[str, list[str]]] = {}


@pytest.mark.parametrize(("server", "expected"), [(Forgetful, 0), (Nosy, 1)])
def test_a_server_that_remembers_by_another_key_than_the_session_leaks(
    folder: Path, capsys: pytest.CaptureFixture[str], server: type[Forgetful], expected: int
) -> None:
    """What the first session said is found in the second one, at the same server; by session id it is not."""
    with ThreadingHTTPServer(("127.0.0.1", 0), server) as serving:
        Thread(target=serving.serve_forever, daemon=True).start()
        agent = f"{{http: {{url: 'http://127.0.0.1:{serving.server_port}/chat'}}}}"
        status, told = doctor(capsys, str(write(folder, "", SUITE.replace("my_agent:build", agent))))
        serving.shutdown()

    assert status == expected
    leak = (
        "two sessions, one after the other: what one was told (WOMBAT-2846, 58213) showed up in an answer of the other"
    )
    assert (leak in told) == bool(expected)
    assert "note state cannot be read: verdicts rest on the calls alone -> it lies behind the endpoint" in told


class Resettable(Nosy):
    """The same server, whose memory a request empties."""

    kept: ClassVar[dict[str, list[str]]] = {}

    def do_POST(self) -> None:
        """Forget everything where it is asked to."""
        if self.path != "/reset":
            return super().do_POST()
        self.kept.clear()
        self.send_response(200)
        return self.end_headers()


@pytest.mark.parametrize(("key", "expected"), [("user", True), ("session_id", False)])
def test_a_leak_that_the_reset_hides_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, key: str, expected: bool
) -> None:
    """Runs are reset and are right; the service's users are not, so it is a note."""
    monkeypatch.setattr(Resettable, "key", key)
    with ThreadingHTTPServer(("127.0.0.1", 0), Resettable) as serving:
        Thread(target=serving.serve_forever, daemon=True).start()
        agent = f"{{http: {{url: 'http://127.0.0.1:{serving.server_port}/chat', reset: POST /reset}}}}"
        status, told = doctor(capsys, str(write(folder, "", SUITE.replace("my_agent:build", agent))))
        serving.shutdown()

    assert status == 0
    assert "ok leaks two sessions, one after the other" in told
    leak = "note leaks two sessions, interleaved, without the reset: what one was told (NUMBAT-5087) showed up in an"
    assert (leak in told) == expected


def test_an_agent_that_keeps_to_its_session_is_not_accused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It repeats everything, but only what this session told it."""
    kept = LEAKY.replace("HEARD = []\n", "").replace("def build():\n", "def build():\n    HEARD = []\n")

    status, told = doctor(capsys, str(write(folder, kept)))

    assert status == 0
    assert "ok leaks" in told


def test_an_agent_that_raises_is_shown_where(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first turn fails; what follows from it is not asked."""
    suite = write(folder, "def build():\n    def reply(message):\n        return {}[message]\n    return reply\n")

    status, told = doctor(capsys, str(suite))

    assert status == 1
    assert "PROBLEM agent the agent raised KeyError: 'Hello there'" in told
    assert "(blame agent) -> mend this first, then look again" in told
    assert "leaks" not in told


def test_a_factory_that_is_none_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the suite names does not fit: said as a run would say it."""
    status, told = doctor(capsys, str(write(folder, "build = 3\n")))

    assert status == 1
    assert "which cannot be called" in told


USES_TOOLS = """
def build(tools):
    call = {tool.__name__: tool for tool in tools}
    return lambda message: call["touch"](order_id="W1") if "W1" in message else "Hm."
"""


def test_tools_calls_and_state_are_seen(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tools whose kind nobody knows are named, calls shown as a scenario would expect them, state changes noticed."""
    (folder / "my_tools.py").write_text(TOOLS)
    (folder / "orders.json").write_text('{"orders": {"W1": "shipped"}}')

    status, told = doctor(capsys, str(write(folder, USES_TOOLS, TOOL_SUITE)))

    assert status == 0
    assert "note tools 2: get_order (" in told
    assert "ok calls visible; this turn made 1: touch" in told
    assert "ok state readable (1 part, 1 entry), changed by this turn" in told
    assert 'expect: - {"touch": {"order_id": "W1"}}' in told


def test_one_run_at_a_time_is_not_waited_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Sessions that cannot be open at once are tried one after the other."""
    suite = write(folder, LEAKY, SUITE.replace("my_agent:build", "{factory: my_agent:build, serial: true}"))

    status, told = doctor(capsys, str(suite))

    assert status == 1
    assert "two sessions, one after the other: what one was told (WOMBAT-2846, 58213) showed up" in told
    assert "interleaved" not in told


RESETTING = """
agent: my_agent:build
environment:
  tools: {openapi: api.json, base_url: "http://127.0.0.1:{port}", reset: POST /reset, serve: SERVICE}
generate: {from: tools}
scenarios: [generated/scenarios/*.yaml]
"""
API = {
    "openapi": "3.0.0",
    "info": {"title": "x", "version": "1"},
    "paths": {"/reset": {"post": {"operationId": "reset", "responses": {"200": {"description": "done"}}}}},
}
SERVICE = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Answers(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    do_POST = do_GET

HTTPServer(("127.0.0.1", int(sys.argv[1])), Answers).serve_forever()
"""


def test_a_service_that_is_reset_for_each_run_is_had_by_one_at_a_time(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody waits for it in vain; a suite of which only the recipe is there is looked at, too."""
    (folder / "api.json").write_text(json.dumps(API))
    (folder / "service.py").write_text(SERVICE)
    serve = '{command: ["{python}", service.py, "{port}"], ready: /, share: session}'
    suite = write(folder, "def build():\n    return lambda message: 'Hello.'\n", RESETTING.replace("SERVICE", serve))

    status, told = doctor(capsys, str(suite))

    assert status == 0, told
    assert "note isolation exclusive: one run at a time anywhere" in told
    assert "two sessions, one after the other: nothing that one was told" in told
    assert "interleaved" not in told
    assert "write scenarios: agentbench generate agentbench.yaml" in told


def test_an_agent_and_tools_that_are_both_reset_are_no_leak(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the agent's reset the tools' one still lets one session in at a time: nobody waits for it in vain."""
    (folder / "api.json").write_text(json.dumps(API))
    (folder / "service.py").write_text(SERVICE)
    serve = '{command: ["{python}", service.py, "{port}"], ready: /, share: session}'
    with ThreadingHTTPServer(("127.0.0.1", 0), Resettable) as serving:
        Thread(target=serving.serve_forever, daemon=True).start()
        agent = f"{{http: {{url: 'http://127.0.0.1:{serving.server_port}/chat', reset: POST /reset}}}}"
        suite = RESETTING.replace("SERVICE", serve).replace("my_agent:build", agent)
        status, told = doctor(capsys, str(write(folder, "", suite)))
        serving.shutdown()

    assert status == 0, told
    assert "interleaved" not in told


def test_a_models_calls_are_counted_and_bounded(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No more calls pass than were allowed, and the one that did not is named."""
    with ModelServer(lambda _: text("Hello.")) as server:
        agent = f"{{openai: {{model: m, base_url: '{server.base_url}', api_key: k}}}}"
        suite = write(folder, "", SUITE.replace("my_agent:build", agent))

        enough = doctor(capsys, str(suite))
        short = doctor(capsys, str(suite), "--max-calls", "2")

    assert enough[0] == 0
    assert "ok models 1 call in this turn" in enough[1]
    assert short[0] == 1
    assert "leaks two sessions, interleaved:" in short[1]
    assert len(server.requests) == 8 + 2


def test_each_role_says_where_its_model_is_and_whether_its_key_is_there(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Provider, server and variable, never the key; what is missing is named before a run is played."""
    monkeypatch.setenv("MISTRAL_API_KEY", "zq-planted")
    for name in ("ANTHROPIC_API_KEY", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    more = [
        "user: {llm: {model: 'mistral:small-1'}}",
        "judge: {llm: {model: 'anthropic:large-1'}}",
        "generate: {from: tools, count: 1, seed: 1, llm: {model: 'ollama:llama3.2:3b'}}",
    ]
    suite = write(folder, "def build():\n    return lambda message: 'Hello.'\n", "\n".join([*more, SUITE]))

    status, told = doctor(capsys, str(suite))

    assert status == 0
    assert "ok keys user: small-1 at https://api.mistral.ai/v1 (mistral), key in MISTRAL_API_KEY" in told
    assert "note keys judge: no key for model 'large-1' at https://api.anthropic.com/v1: the environment" in told
    assert "variable ANTHROPIC_API_KEY is not set (set it, or replay a cassette)" in told
    assert "ok keys generate: llama3.2:3b at http://127.0.0.1:11434/v1 (ollama), no key is set, and none" in told
    assert "planted" not in told


def test_the_line_the_scenario_and_the_format_can_be_chosen(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON holds what the text tells; a name that is not there is an error with the nearest one."""
    suite = write(folder, "def build():\n    return lambda message: f'You said {message}'\n")

    main(["doctor", str(suite), "--scenario", "question", "--json"])
    chosen = json.loads(capsys.readouterr().out)
    main(["doctor", str(suite), "--say", "Bonjour\x1b[31m", "--json"])
    said = json.loads(capsys.readouterr().out)
    status = main(["doctor", str(suite), "--scenario", "questin"])

    assert (chosen["scenario"], chosen["said"]) == ("question", "Where is W1?")
    assert said["answered"] == "You said Bonjour\x1b[31m"
    assert status == 2
    assert "there is no scenario 'questin'; there are greeting, question (did you mean 'question'?)" in (
        capsys.readouterr().err
    )


def test_recordings_have_no_agent_to_look_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A suite of recorded conversations is refused."""
    (tmp_path / "runs.jsonl").write_text("")
    (tmp_path / "agentbench.yaml").write_text("agent: {transcripts: runs.jsonl}\nscenarios: []\n")

    assert main(["doctor", str(tmp_path / "agentbench.yaml")]) == 2
    assert "agent" in capsys.readouterr().err


def test_a_factory_that_gets_no_tools_though_it_takes_some_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is missing is the suite's `environment`, not the parameter that the factory has."""
    path = write(folder, "def build(tools): return lambda message: 'Hello.'")

    status, shown = doctor(capsys, str(path))

    assert status == 1
    assert "the agent's factory takes `tools`, and the suite names none" in shown
    assert "def build(tools)" not in shown


def test_tools_of_a_server_are_told_of_what_can_read_them(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their state lies in another process, and the servers that are started take a while."""
    pytest.importorskip("mcp")
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    served = f"environment: {{tools: {{mcp: {{command: ['{{python}}', '{MCP_SERVER}']}}}}}}\n"
    suite = write(folder, "def build():\n    return lambda message: 'Yes.'\n", served + SUITE)

    main(["doctor", str(suite)])

    told = capsys.readouterr()
    assert "environment: {state: {tools: [get_notes]}}" in " ".join(told.out.split())
    assert "agentbench doctor: playing two sessions at once, each with a server of its own" in told.err
