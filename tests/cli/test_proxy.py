"""`agentbench proxy`: a process that serves until it is interrupted."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai
import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.testing.answers import text
from pytest_agentbench.testing.script import ModelRequest
from pytest_agentbench.testing.server import ModelServer
from tests.forking import Command
from tests.testing import http

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be sent SIGINT there")

KEY = "sk-planted-1234567890abcdef"


class Running:
    """A proxy that runs: its base URL, and how it ended."""

    def __init__(self, process: Command) -> None:
        self._process = process
        self.base_url = process.stdout.readline().strip()
        self.told = process.stdout.readline().strip()
        self.printed = ""
        self.status = -1

    def ask(self, said: str, *, run: str = "") -> Any:
        """Ask once, in a run of its own or in none."""
        url = self.base_url.replace("/v1", f"/run/{run}/v1") if run else self.base_url
        with openai.OpenAI(base_url=url, api_key=KEY, max_retries=0) as client:
            return client.chat.completions.create(model="m", messages=[{"role": "user", "content": said}])

    def end(self) -> None:
        """Interrupt it, as Ctrl-C does."""
        self._process.interrupt()
        self.status, self.printed, errors = self._process.end()
        assert "Traceback" not in errors


@contextmanager
def proxy(*arguments: object) -> Iterator[Running]:
    """Start the command, and interrupt it at the end."""
    running = Running(Command(main, ["proxy", *map(str, arguments)]))
    try:
        yield running
    finally:
        running.end()


def echo(request: ModelRequest) -> Any:
    """Answer with what was said."""
    return text(f"You said: {request.last}").using(input=1000, output=100)


def row(printed: str, name: str) -> list[str]:
    """The cells of a line of the table."""
    return next(line.split() for line in printed.splitlines() if line.startswith(name))[name.count(" ") + 1 :]


def test_calls_are_metered_by_run() -> None:
    """The table tells runs apart, and what belongs to none."""
    with ModelServer(echo) as server, proxy("--upstream", server.base_url, "--price", 1, 2) as running:
        running.ask("Hello", run="first")
        running.ask("Hello", run="first")
        assert running.ask("Hello").choices[0].message.content == "You said: Hello"

    assert running.base_url.startswith("http://127.0.0.1:")
    assert server_name(running.told)
    assert running.status == 0
    assert row(running.printed, "first") == ["2", "0", "0", "2000", "200", "0.0024", "0"]
    assert row(running.printed, "(no run)") == ["1", "0", "0", "1000", "100", "0.0012", "0"]
    assert row(running.printed, "all") == ["3", "0", "0", "3000", "300", "0.0036", "0"]


def server_name(told: str) -> bool:
    """Whether a line says where calls go and how to end."""
    return "leads to http://127.0.0.1:" in told and "Ctrl-C" in told


def test_it_says_where_each_api_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an upstream OpenAI's clients and Anthropic's go on to where their variables lead them."""
    with ModelServer(echo) as openais, ModelServer(echo) as other:
        monkeypatch.setenv("OPENAI_BASE_URL", openais.base_url)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", other.base_url.removesuffix("/v1"))
        with proxy("--max-calls", 5) as running:
            asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello"}]}
            # what Anthropic's clients append to the base URL
            answer = http.send(running.base_url, json.dumps(asked), path="/v1/messages")
        assert f"leads to {openais.base_url}, and with Anthropic's API to {other.base_url};" in running.told

    assert answer.json()["content"] == [{"type": "text", "text": "You said: Hello"}]
    assert row(running.printed, "all")[0] == "1"


def test_an_unknown_price_is_not_nothing() -> None:
    """Cost is unknown where no call has a price."""
    with ModelServer(echo) as server, proxy("--upstream", server.base_url) as running:
        running.ask("Hello")

    assert row(running.printed, "all")[-2:] == ["unknown", "1"]


def test_what_was_recorded_replays_with_the_server_gone(tmp_path: Path) -> None:
    """Record, replay, and a request that nobody recorded; no key is in the cassette, and nothing is left beside it."""
    cassette = tmp_path / "calls.jsonl"
    with ModelServer(echo) as server:
        for said in ("Hello", f"my key is {KEY}"):
            with proxy("--upstream", server.base_url, "--cassette", cassette) as running:
                running.ask(said, run="first")
            assert running.status == 0
        assert len(server.requests) == 2
    with proxy("--upstream", "http://127.0.0.1:9/v1", "--cassette", cassette, "--mode", "replay") as running:
        assert running.ask("Hello", run="first").choices[0].message.content == "You said: Hello"
        with pytest.raises(openai.UnprocessableEntityError):
            running.ask("Good evening", run="first")

    assert running.status == 1
    assert row(running.printed, "all")[:2] == ["0", "1"]
    assert "refused: " in running.printed
    assert KEY not in cassette.read_text()
    assert list(tmp_path.iterdir()) == [cassette]


def test_a_refresh_records_anew(tmp_path: Path) -> None:
    """What was recorded of a run that is played again is replaced."""
    cassette = tmp_path / "calls.jsonl"
    for mode in ("record", "refresh"):
        recording = ("--cassette", cassette, "--mode", mode)
        with ModelServer([text(mode)]) as server, proxy("--upstream", server.base_url, *recording) as running:
            assert running.ask("Hello", run="first").choices[0].message.content == mode
    with proxy("--upstream", "http://127.0.0.1:9/v1", "--cassette", cassette, "--mode", "replay") as running:
        assert running.ask("Hello", run="first").choices[0].message.content == "refresh"


def test_a_budget_stops_calls() -> None:
    """The call after the last one that the budget holds is refused, and the exit status says so."""
    with ModelServer(echo) as server, proxy("--upstream", server.base_url, "--max-calls", 1) as running:
        running.ask("Hello")
        with pytest.raises(openai.APIStatusError, match="budget of 1 model call is spent"):
            running.ask("Hello")

    assert running.status == 1
    assert "refused: the session's budget of 1 model call is spent" in running.printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--mode", "replay"], "--cassette FILE"),
        (["--upstream", "nowhere"], "no URL"),
        (["--cassette", "broken.jsonl", "--mode", "replay"], "broken.jsonl"),
    ],
)
def test_what_cannot_be_served_is_status_2(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Wrong input is explained without a traceback."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.jsonl").write_text("[")

    assert main(["proxy", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_programs_get_the_calls_as_json() -> None:
    """The address goes to stderr, so that what is printed is one document."""
    code = "import sys; from pytest_agentbench.cli import main; sys.exit(main())"
    command = [sys.executable, "-X", "utf8", "-c", code, "proxy", "--json"]
    with (
        ModelServer(echo) as server,
        subprocess.Popen(
            [*command, "--upstream", server.base_url], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        assert process.stderr is not None
        url = process.stderr.readline().strip()
        with openai.OpenAI(base_url=url, api_key=KEY, max_retries=0) as client:
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hello"}])
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=20)

    (run,) = json.loads(printed)["runs"]
    assert (run["run"], run["usage"]["calls"], json.loads(printed)["refused"]) == ("", 1, [])
