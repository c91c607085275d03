"""What vcrpy does where cassettes of agents need more: `python -m tests.llm.cassette.compare_vcrpy` asks it.

It needs vcrpy and no network.
Each question is asked of a loopback server in a folder of its own, and its answer is one printed line.
"""

import asyncio
import contextlib
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from importlib.metadata import version
from pathlib import Path
from typing import Any

import vcr
from aiohttp import ClientSession, web

KEY = 'sk-planted"0123456789abcdef'
MATCH = ["method", "scheme", "host", "path", "query", "body"]


@contextlib.asynccontextmanager
async def server() -> AsyncIterator[tuple[str, list[dict[str, Any]]]]:
    """Serve answers that name the `x-run` header and count, so that no two are equal; slower where the header says."""
    seen: list[dict[str, Any]] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(await request.json())
        run = request.headers.get("x-run", "-")
        await asyncio.sleep(float(request.headers.get("x-wait", "0")))
        return web.json_response({"choices": [{"message": {"content": f"run {run} answer {len(seen)}"}}]})

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    try:
        yield f"http://{host}:{port}/v1", seen
    finally:
        await runner.cleanup()


async def ask(session: ClientSession, url: str, *texts: str, run: str = "-", wait: float = 0) -> str:
    """Post one conversation and give the answer's text."""
    body = {"model": "m", "messages": [{"role": "user", "content": text} for text in texts]}
    headers = {"authorization": f"Bearer {KEY}", "x-run": run, "x-wait": str(wait)}
    async with session.post(f"{url}/chat/completions", json=body, headers=headers) as response:
        return str((await response.json())["choices"][0]["message"]["content"])


def tape(path: Path, mode: str = "new_episodes", **options: Any) -> Any:
    """Open a cassette the way its documentation says for JSON bodies."""
    return vcr.VCR(match_on=MATCH, record_mode=mode, **options).use_cassette(str(path))


async def one_after_the_other(folder: Path) -> str:
    """Equal requests, different answers, sequential."""
    async with server() as (url, _), ClientSession() as session:
        with tape(folder / "a.yaml", "once"):
            recorded = [await ask(session, url, "hi") for _ in range(3)]
        with tape(folder / "a.yaml", "none"):
            replayed = [await ask(session, url, "hi") for _ in range(3)]
    return f"replayed in the order recorded: {recorded == replayed}"


async def equal_first_requests(folder: Path) -> str:
    """Two conversations that begin alike, in flight together, replayed in the other order."""
    async with server() as (url, _), ClientSession() as session:
        with tape(folder / "a.yaml", "once"):
            first, second = await asyncio.gather(
                ask(session, url, "hi", run="A", wait=0.05), ask(session, url, "hi", run="B")
            )
        with tape(folder / "a.yaml", "none"):
            again_first, again_second = await asyncio.gather(
                ask(session, url, "hi", run="A", wait=0.05), ask(session, url, "hi", run="B")
            )
    return f"A heard {first!r}, replay gave it {again_first!r}; B {second!r}, then {again_second!r}"


async def a_cassette_per_conversation(folder: Path) -> str:
    """Two tasks of one loop, each within a cassette of its own."""

    async def converse(session: ClientSession, url: str, run: str) -> None:
        with tape(folder / f"{run}.yaml", "once"):
            for turn in range(3):
                await ask(session, url, f"turn {turn}", run=run, wait=0.01)

    async with server() as (url, _), ClientSession() as session:
        await asyncio.gather(converse(session, url, "A"), converse(session, url, "B"))
    held = []
    for run in "AB":
        text = (folder / f"{run}.yaml").read_text() if (folder / f"{run}.yaml").exists() else ""
        held.append(f"{run}.yaml holds {text.count('run A answer')} of A, {text.count('run B answer')} of B")
    return "; ".join(held)


def _record_in_process(path: str, text: str, barrier: Any) -> None:
    async def record() -> None:
        async with server() as (url, _), ClientSession() as session:
            with tape(Path(path)):
                await ask(session, url, text)
                barrier.wait()

    asyncio.run(record())


async def several_processes(folder: Path) -> str:
    """Four processes record one exchange each into one file."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(4)
    workers = [
        context.Process(target=_record_in_process, args=(str(folder / "a.yaml"), f"text {n}", barrier))
        for n in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return f"{(folder / 'a.yaml').read_text().count('- request:')} of 4 exchanges in the file"


async def secrets(folder: Path) -> str:
    """A key in the header, in a message, and in a message once more as JSON within JSON."""
    inner = json.dumps({"key": KEY})
    found = []
    for name, options in (
        ("as it is", {}),
        ("filter_headers", {"filter_headers": ["authorization"]}),
        ("both filters", {"filter_headers": ["authorization"], "filter_sensitive_data": {"***": KEY}}),
    ):
        async with server() as (url, _), ClientSession() as session:
            with tape(folder / f"{name}.yaml", **options):
                await ask(session, url, KEY, inner)
        text = (folder / f"{name}.yaml").read_text()
        found.append(f"{name}: the key's distinctive part is there {text.count('planted')} times")
    return "; ".join(found)


async def changed_prefix(folder: Path) -> str:
    """Five turns recorded; then the third message changes."""
    counts = []
    for options in ({}, {"drop_unused_requests": True}):
        path = folder / f"{len(options)}.yaml"
        async with server() as (url, seen), ClientSession() as session:
            for third in ("three", "changed"):
                before = len(seen)
                with tape(path, **options):
                    words = ["one", "two", third, "four", "five"]
                    for turn in range(1, 6):
                        await ask(session, url, *words[:turn])
                live = len(seen) - before
        counts.append(f"{options or 'as it is'}: {live} asked live, {path.read_text().count('- request:')} in the file")
    return "; ".join(counts)


def _killed(path: str) -> None:
    async def record() -> None:
        async with server() as (url, _), ClientSession() as session:
            with tape(Path(path)):
                for turn in range(20):
                    await ask(session, url, str(turn))
                os._exit(9)

    asyncio.run(record())


async def killed(folder: Path) -> str:
    """The process dies after 20 exchanges."""
    worker = multiprocessing.get_context("spawn").Process(target=_killed, args=(str(folder / "a.yaml"),))
    worker.start()
    worker.join()
    return f"the file exists: {(folder / 'a.yaml').exists()}"


async def another_server(folder: Path) -> str:
    """The same conversation, its base URL moved to another port."""
    async with server() as (url, _), ClientSession() as session:
        with vcr.VCR(match_on=["method", "uri", "body"], record_mode="once").use_cassette(str(folder / "a.yaml")):
            await ask(session, url, "hi")
    async with server() as (url, _), ClientSession() as session:
        with vcr.VCR(match_on=["method", "uri", "body"], record_mode="none").use_cassette(str(folder / "a.yaml")):
            try:
                await ask(session, url, "hi")
            except vcr.errors.CannotOverwriteExistingCassetteException:
                return "matched by uri (its default): a miss"
    return "replayed"


async def other_key_order(folder: Path) -> str:
    """The same body with its keys in another order, and 1.0 for 1."""
    outcomes = []
    async with server() as (url, _), ClientSession() as session:
        with tape(folder / "a.yaml", "once"):
            await session.post(f"{url}/chat/completions", json={"a": 1, "b": 2})
        for name, body in (("key order", {"b": 2, "a": 1}), ("1.0", {"a": 1.0, "b": 2})):
            with tape(folder / "a.yaml", "none"):
                try:
                    await session.post(f"{url}/chat/completions", json=body)
                except vcr.errors.CannotOverwriteExistingCassetteException:
                    outcomes.append(f"{name}: a miss")
                else:
                    outcomes.append(f"{name}: replayed")
    return "; ".join(outcomes)


async def other_call_ids(folder: Path) -> str:
    """The same conversation with a tool-call id that the agent makes anew each time."""

    def body(call: str) -> dict[str, Any]:
        calls = [{"id": call, "type": "function", "function": {"name": "look", "arguments": "{}"}}]
        return {"messages": [{"role": "assistant", "tool_calls": calls}, {"role": "tool", "tool_call_id": call}]}

    async with server() as (url, _), ClientSession() as session:
        with tape(folder / "a.yaml", "once"):
            await session.post(f"{url}/chat/completions", json=body("call_1"))
        with tape(folder / "a.yaml", "none"):
            try:
                await session.post(f"{url}/chat/completions", json=body("call_2"))
            except vcr.errors.CannotOverwriteExistingCassetteException as error:
                return f"a miss; its message has {len(str(error).splitlines())} lines"
    return "replayed"


async def many(folder: Path) -> str:
    """50 conversations of 16 calls with a growing prefix: the file, and the time to write, load and replay it."""
    words = [f"turn {turn} of a conversation that is about an order and its parts " * 2 for turn in range(16)]
    async with server() as (url, _), ClientSession() as session:
        started = time.perf_counter()
        with tape(folder / "a.yaml"):
            for run in range(50):
                for turn in range(1, 17):
                    await ask(session, url, f"run {run}", *words[:turn])
        recorded = time.perf_counter() - started
        size = (folder / "a.yaml").stat().st_size
        started = time.perf_counter()
        with tape(folder / "a.yaml", "none"):
            loaded = time.perf_counter() - started
            started = time.perf_counter()
            for turn in range(1, 17):
                await ask(session, url, "run 49", *words[:turn])
            one = time.perf_counter() - started
    written = f"{size / 1e6:.1f} MB, recorded in {recorded:.1f} s"
    return f"{written}, loaded in {loaded:.1f} s, the last conversation replayed in {one:.2f} s"


QUESTIONS: tuple[Callable[[Path], Coroutine[Any, Any, str]], ...] = (
    one_after_the_other,
    equal_first_requests,
    a_cassette_per_conversation,
    several_processes,
    secrets,
    changed_prefix,
    killed,
    another_server,
    other_key_order,
    other_call_ids,
    many,
)


def main() -> None:
    """Print an answer per question; names given as arguments choose among them."""
    print(f"vcrpy {version('vcrpy')}, aiohttp {version('aiohttp')}, Python {sys.version.split()[0]}")
    for question in QUESTIONS:
        if sys.argv[1:] and question.__name__ not in sys.argv[1:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            print(f"{question.__name__}: {asyncio.run(question(Path(folder)))}", flush=True)


if __name__ == "__main__":
    main()
