"""`agentbench proxy`: the recording proxy by itself, for an agent in any language, until it is interrupted."""

import argparse
import asyncio
import contextlib
import os
import signal

from pytest_agentbench.cli.model_options import add_recording, mode_of, recording
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.model import Price, Usage
from pytest_agentbench.llm.apis.api import ANTHROPIC, OPENAI
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.ledger import Ledger
from pytest_agentbench.llm.protocols import Caller
from pytest_agentbench.llm.proxy.server import Proxy
from pytest_agentbench.llm.wire import where
from pytest_agentbench.report.table import Align, glyphs_shown, table

INCOMPLETE = 1
"""The exit status when a request was refused: not recorded, or over a budget."""

_HEAD = ("run", "calls", "replayed", "retries", "input", "output", "USD", "unpriced")
_ALIGN: tuple[Align, ...] = ("<", ">", ">", ">", ">", ">", ">", ">")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Serve until SIGINT or SIGTERM, then give the table of calls and the exit status.

    Raise `AgentBenchError` where the port, the upstream or the cassette cannot be used.
    """
    mode = mode_of(options.cassette, options.mode)
    price = Price(input=options.price[0], output=options.price[1]) if options.price else None
    ledger = Ledger(None)
    ledger.start(cost_usd=options.max_cost, calls=options.max_calls)
    with contextlib.closing(ledger), recording(options.cassette, mode, command="proxy") as recorder:
        serving = Proxy(
            budget=ledger,
            recorder=recorder,
            replaying=mode is Mode.REPLAY,
            upstream=options.upstream,
            price=price,
            port=options.port,
            open_runs=True,
        )
        with contextlib.suppress(KeyboardInterrupt):  # where signals cannot be handled otherwise
            asyncio.run(_serve(serving, options))
        callers = serving.callers()
        if recorder is not None and mode is Mode.REFRESH:
            for run in dict.fromkeys(caller.run for caller in callers):
                recorder.finished(run)
    refused = [str(fault) for caller in callers for fault in serving.faults(caller.run)]
    told = _counted(serving, callers, refused) if options.json else _told(serving, callers, refused)
    return told, INCOMPLETE if refused else 0


async def _serve(serving: Proxy, options: argparse.Namespace) -> None:
    port = await serving.start()
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError, RuntimeError):  # Windows; a thread that is not the main one
            loop.add_signal_handler(number, stopping.set)
    print(f"http://127.0.0.1:{port}/v1", flush=True)
    where_to = f"leads to {_servers(options.upstream)}{_use_of(options)}"
    print(f"{where_to}; a run of its own: http://127.0.0.1:{port}/run/NAME/v1; Ctrl-C ends", flush=True)
    try:
        await stopping.wait()
    finally:
        await serving.stop()


def _servers(upstream: str) -> str:
    """Name the servers that requests go on to: one, or OpenAI's and Anthropic's."""
    if upstream:
        return where(upstream)
    openai, anthropic = (where(home.base_url("", os.environ)) for home in (OPENAI, ANTHROPIC))
    return f"{openai}, and with Anthropic's API to {anthropic}"


def _use_of(options: argparse.Namespace) -> str:
    return f", cassette {options.cassette} ({options.mode or Mode.RECORD})" if options.cassette is not None else ""


def _told(serving: Proxy, callers: list[Caller], refused: list[str]) -> str:
    glyphs = glyphs_shown()
    rows: list[tuple[str, ...]] = [_HEAD]
    runs = list(dict.fromkeys(caller.run for caller in callers))
    rows += [_row(run.scenario if run else "(no run)", serving.usage(run)) for run in runs]
    rows.append(_row("all", sum((serving.usage(run) for run in runs), start=Usage())))
    lines = table(rows, _ALIGN, glyphs=glyphs)
    for run in runs:
        never = ", ".join(f"{count} {glyphs.times} {what}" for what, count in sorted(serving.unrecorded(run).items()))
        lines += [f"never recorded: {never}"] if never else []
    lines += [f"refused: {reason}" for reason in dict.fromkeys(refused)]
    return glyphs.plain("\n".join(lines), newlines=True)


def _counted(serving: Proxy, callers: list[Caller], refused: list[str]) -> str:
    """Give what `_told` shows, for programs."""
    runs = [
        {
            "run": run.scenario if run else "",
            "usage": serving.usage(run).model_dump(mode="json"),
            "never_recorded": dict(serving.unrecorded(run)),
        }
        for run in dict.fromkeys(caller.run for caller in callers)
    ]
    return dumps({"runs": runs, "refused": list(dict.fromkeys(refused))}, indent=2)


def _row(name: str, usage: Usage) -> tuple[str, ...]:
    tokens = (usage.calls, usage.replayed, usage.retries, usage.input_tokens, usage.output_tokens)
    known = usage.unpriced < usage.calls or not usage.calls
    return (name, *map(str, tokens), f"{usage.cost_usd:.4f}" if known else "unknown", str(usage.unpriced))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.description = (
        "Serves on loopback until Ctrl-C, then prints calls, tokens and cost of each run. Chat completions, Responses "
        "and "
        "Anthropic's Messages are recorded, whole and streamed. The exit status is 1 where a request was refused: "
        "not recorded, or over a budget."
    )
    parser.add_argument("--port", type=int, default=0, metavar="N", help="the port to listen at (default: a free one)")
    parser.add_argument(
        "--upstream",
        default="",
        metavar="URL",
        help="the model server (else OPENAI_BASE_URL, OpenAI; for Anthropic's API ANTHROPIC_BASE_URL, Anthropic)",
    )
    add_recording(parser)
    parser.add_argument(
        "--price", type=float, nargs=2, metavar=("INPUT", "OUTPUT"), help="USD per million tokens, where not known"
    )
    parser.add_argument(
        "--json", action="store_true", help="print calls, tokens and cost as JSON; the address to stderr"
    )
