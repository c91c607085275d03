"""Model access with real cassettes: record against a server, replay with none."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from pytest_agentbench.core.errors import CassetteMissError
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.run import RunKey
from pytest_agentbench.llm.caller import Caller
from pytest_agentbench.llm.cassette.merge import merge
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.cassette.recorder import CassetteRecorder
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.structured import structured
from pytest_agentbench.testing import ModelRequest, ModelServer, fault
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
