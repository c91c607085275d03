"""Model access with real cassettes: record against a server, replay with none."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from pytest_agentbench.core.errors import CassetteMissError, TokenLimitError
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.run import RunKey
from pytest_agentbench.llm.cassette.file import read_cassette
from pytest_agentbench.llm.cassette.merge import merge
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.cassette.record_replay import CassetteRecorder
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller
from pytest_agentbench.llm.structured import structured
from pytest_agentbench.testing import ModelRequest, ModelServer, fault, truncated
from pytest_agentbench.testing.script import Given

RUNS = [RunKey(suite="bench", scenario=f"c{number}") for number in range(6)]


class Score(BaseModel):
    """A number."""

    points: int


def only_json_mode(request: ModelRequest) -> Given:
    """A server without schemas and without tools."""
    if (request.body.get("response_format") or {}).get("type") != "json_object":
        return fault.status(400, "response_format is not supported")
    return f'{{"points": {len(request.last) % 97}}}'


def play(recorder: CassetteRecorder, base_url: str, in_flight: int) -> list[int]:
    """Ask for a score twice in every run, so many runs at a time."""

    async def scene() -> list[int]:
        models = Models(environ={}, recorder_of=lambda _: recorder)
        gate = asyncio.Semaphore(in_flight)

        async def one(run: RunKey) -> list[int]:
            async with gate:
                chat = models.chat(ModelSpec(model="m", base_url=base_url), Caller(role="judge", run=run))
                said: list[dict[str, Any]] = [{"role": "user", "content": f"Judge {run.scenario}{'!' * 3}"}]
                found = [(await structured(chat, Score, said)).points for _ in range(2)]
                recorder.finished(run)
                return found

        try:
            return [points for several in await asyncio.gather(*map(one, RUNS)) for points in several]
        finally:
            await models.close()

    return asyncio.run(scene())


@pytest.mark.parametrize("in_flight", [1, 6])
def test_what_was_recorded_through_a_fallback_replays_at_any_concurrency(tmp_path: Path, in_flight: int) -> None:
    """Refused forms are in no cassette, and replay finds the answers all the same, with the server gone."""
    cassette, shard = tmp_path / "bench.jsonl", tmp_path / "shard.jsonl"
    with ModelServer(only_json_mode) as server:
        url = server.base_url
        recording = CassetteRecorder(Mode.RECORD, cassette, shard=shard, redact=lambda value: value)
        recorded = play(recording, url, in_flight)
        recording.close()
        merge(cassette, [shard])

    for again in (1, 6):
        replaying = CassetteRecorder(Mode.REPLAY, cassette, shard=None, redact=lambda value: value)
        assert play(replaying, url, again) == recorded
        with pytest.raises(CassetteMissError):
            play(CassetteRecorder(Mode.REPLAY, tmp_path / "none.jsonl", shard=None, redact=lambda value: value), url, 1)


def choosy(*refused: str) -> Callable[[ModelRequest], Given]:
    """A server that takes none of these parameters, and answers by what it is asked."""

    def react(request: ModelRequest) -> Given:
        found = next((name for name in refused if name in request.body), None)
        return f"You said {request.last}" if found is None else fault.refused(found)

    return react


def talk(recorder: CassetteRecorder, base_url: str, **spec: Any) -> list[str]:
    """Speak twice, as a role that prefers a temperature."""

    async def scene() -> list[str]:
        models = Models(environ={}, recorder_of=lambda _: recorder)
        chat = models.chat(ModelSpec(model="m", base_url=base_url, **spec), Caller(role="user", run=RUNS[0]))
        try:
            said = [[{"role": "user", "content": text}] for text in ("one", "two")]
            found = [(await chat.complete(messages, temperature=0.3)).text for messages in said]
        finally:
            await models.close()
        recorder.finished(RUNS[0])
        return found

    return asyncio.run(scene())


def record(folder: Path, react: Callable[[ModelRequest], Given], mode: Mode = Mode.RECORD, **spec: Any) -> Path:
    """Record the talk against a server."""
    cassette, shard = folder / "bench.jsonl", folder / "shard.jsonl"
    with ModelServer(react) as server:
        recorder = CassetteRecorder(mode, cassette, shard=shard, redact=lambda value: value)
        talk(recorder, server.base_url, **spec)
        recorder.close()
    merge(cassette, [shard])
    return cassette


def test_the_key_is_that_of_the_request_as_the_role_asked(tmp_path: Path) -> None:
    """What a server does not take, and the bound that we add, make no difference to what is recorded."""
    plain, adapted = tmp_path / "plain", tmp_path / "adapted"
    lines = record(plain, choosy(), max_tokens=40).read_text().splitlines()
    others = record(adapted, choosy("temperature", "max_tokens"), max_tokens=40).read_text().splitlines()

    assert lines[1:] == others[1:]
    assert '"max_tokens":40' in lines[1]

    unbounded = record(tmp_path / "unbounded", choosy("temperature")).read_text()
    assert "max_tokens" not in unbounded

    for cassette in (plain, adapted):
        replaying = CassetteRecorder(Mode.REPLAY, cassette / "bench.jsonl", shard=None, redact=lambda value: value)
        assert talk(replaying, "http://127.0.0.1:9/v1", max_tokens=40) == ["You said one", "You said two"]


def test_what_was_learnt_is_kept_in_the_header(tmp_path: Path) -> None:
    """Facts are sorted and name the model alone; where there are none, the header is what it was."""
    cassette = record(tmp_path, choosy("temperature", "max_tokens"), max_tokens=40)

    assert json.loads(cassette.read_text().splitlines()[0])["servers"] == [
        {"model": "m", "facts": ["max_tokens sent as max_completion_tokens", "temperature left out"]}
    ]
    again = cassette.read_bytes()
    record(tmp_path, choosy("temperature"), max_tokens=40)  # all is recorded: nobody is asked
    assert cassette.read_bytes() == again
    assert read_cassette(cassette).servers == {
        "m": ("max_tokens sent as max_completion_tokens", "temperature left out")
    }

    record(tmp_path, choosy(), Mode.REFRESH, max_tokens=40)

    assert list(json.loads(cassette.read_text().splitlines()[0])) == ["agentbench_cassette", "made"]


def test_effort_is_part_of_the_request_and_of_its_key(tmp_path: Path) -> None:
    """A recording with another effort answers another question."""
    cassette = record(tmp_path, choosy(), effort="low")
    assert '"reasoning_effort":"low"' in cassette.read_text()

    replaying = CassetteRecorder(Mode.REPLAY, cassette, shard=None, redact=lambda value: value)
    with pytest.raises(CassetteMissError, match="reasoning_effort"):
        talk(replaying, "http://127.0.0.1:9/v1", effort="high")


def test_an_answer_without_a_word_is_the_same_error_when_it_is_replayed(tmp_path: Path) -> None:
    """A report of a replay says which role it was, as the report of the recording did."""
    cassette, shard = tmp_path / "bench.jsonl", tmp_path / "shard.jsonl"
    recording = CassetteRecorder(Mode.RECORD, cassette, shard=shard, redact=lambda value: value)
    with ModelServer([truncated("")]) as server, pytest.raises(TokenLimitError) as live:
        talk(recording, url := server.base_url)
    recording.close()
    merge(cassette, [shard])

    with pytest.raises(TokenLimitError) as replayed:
        talk(CassetteRecorder(Mode.REPLAY, cassette, shard=None, redact=lambda value: value), url)

    assert str(replayed.value) == str(live.value)
    assert str(live.value).startswith("user, model 'm': ")
