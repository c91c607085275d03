"""Conversations with a model that never says the same twice, through a recorder, and the loop that chat access runs."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pytest_agentbench.core.run import RunKey
from pytest_agentbench.llm.cassette.file import shard_path
from pytest_agentbench.llm.cassette.merge import Merged, merge
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.cassette.record_replay import CassetteRecorder
from pytest_agentbench.llm.protocols import Caller
from pytest_agentbench.results.redact import Redactor

Model = Callable[[dict[str, Any]], dict[str, Any]]


def run(scenario: str = "refund", **members: Any) -> RunKey:
    """Name a run."""
    return RunKey(suite="bench/agentbench.yaml", scenario=scenario, **members)


def completion(content: str | None, **message: Any) -> dict[str, Any]:
    """Build an answer as servers send it."""
    return {
        "id": f"chatcmpl-{content}",
        "object": "chat.completion",
        "created": 1763600000,
        "model": "m-2026",
        "system_fingerprint": "fp_1",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, "refusal": None, "annotations": [], **message},
                "finish_reason": "tool_calls" if "tool_calls" in message else "stop",
                "logprobs": None,
            }
        ],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 0}},
    }


def counting(prefix: str = "answer") -> Model:
    """Make a model whose answers are numbered, and so are never equal."""
    numbers = itertools.count(1)
    return lambda _: completion(f"{prefix} {next(numbers)}")


def refusing(body: dict[str, Any]) -> dict[str, Any]:
    """Stand for a server that is down."""
    raise AssertionError(f"asked live: {body}")


def said(response: dict[str, Any]) -> str:
    """Give the text of an answer."""
    return str(response["choices"][0]["message"]["content"])


def ask(recorder: CassetteRecorder, caller: Caller, body: dict[str, Any], model: Model) -> dict[str, Any]:
    """Ask as chat access does: what is recorded, else the model, whose answer is kept."""
    if (found := recorder.find(caller, body)) is not None:
        return found.response
    response = model(body)
    recorder.keep(caller, body, response)
    return response


def body(messages: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    """Build a request."""
    return {"model": "m", "messages": list(messages), **fields}


def turns(
    recorder: CassetteRecorder, key: RunKey | None, model: Model, says: list[str], role: str = "agent"
) -> Iterator[str]:
    """Have a conversation, one request at each step, in which every request repeats all that was said before."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Help."}]
    for text in says:
        messages.append({"role": "user", "content": text})
        response = ask(recorder, Caller(role=role, run=key), body(messages), model)
        messages.append(response["choices"][0]["message"])
        yield said(response)


class Bench:
    """A suite's folder and run directory, in which sessions follow each other."""

    def __init__(self, folder: Path, secrets: tuple[str, ...] = ()) -> None:
        self.cassette = folder / "agentbench.cassette.jsonl"
        self.shards = folder / "shards"
        self.redact = Redactor(secrets).json
        self._opened: list[CassetteRecorder] = []

    def open(self, mode: Mode, process: str = "main", **options: Any) -> CassetteRecorder:
        """Open the recorder of a process."""
        shard = shard_path(self.shards, process) if mode.writes else None
        recorder = CassetteRecorder(mode, self.cassette, shard=shard, redact=self.redact, **options)
        self._opened.append(recorder)
        return recorder

    def merge(self) -> Merged:
        """End a session."""
        while self._opened:
            self._opened.pop().close()
        return merge(self.cassette, self.shards.glob("*.jsonl"))

    def play(
        self, mode: Mode, model: Model, *runs: RunKey, says: tuple[str, ...] = ("a", "b", "c"), finish: bool = True
    ) -> list[list[str]]:
        """Play runs one after the other in one process, and merge."""
        recorder = self.open(mode)
        heard = []
        for key in runs:
            heard.append(list(turns(recorder, key, model, list(says))))
            if finish:
                recorder.finished(key)
        self.merge()
        return heard

    @property
    def text(self) -> str:
        """What the cassette file says."""
        return self.cassette.read_text(encoding="ascii")

    @property
    def lines(self) -> list[str]:
        """The exchanges of the cassette file, a line each."""
        return self.text.splitlines()[1:]
