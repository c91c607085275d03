"""The HTML report of many runs in a real browser: how long it takes to write, to show, to filter and to search.

    python -m benchmarks.html_report [--runs 1000] [--keep FILE]

Made-up runs of two variants, with long answers of tools and with hostile texts in every place that an agent, a tool or
a model fills. *first-paint* and *first-contentful-paint* are the browser's own; *filter* is from a choice to the list
drawn anew, *search* the same for a typed text.
"""

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from benchmarks.browser import Browser, Page, find
from pytest_agentbench.core.run import PolicyOutcome, Result, RunKey
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.core.verdict import Blame, CallExplanation, Finding, Verdict
from pytest_agentbench.report.html.page import Reading, html_report
from pytest_agentbench.results.document import Document, SuiteRecord
from pytest_agentbench.results.gates import evaluate_gates

HOSTILE = (
    "<script>window.broken = 1</script>", "</script><script>window.broken = 2</script>", "<!--<script>", "]]><!--",
    "<img src=x onerror='window.broken = 3'>", "<svg/onload=window.broken=4>", "javascript:window.broken=5",
    '" onmouseover="window.broken = 6', "{{data}}", "${window.broken = 7}", "<style>*{display:none}</style>",
    "\x1b[31mred\x1b[0m\x1b]8;;http://evil.example\x07link\x1b]8;;\x07", "\u202edesrever\u2066", "\ud800 alone \udfff",
    "line\u2028separator\u2029", "\x00\x08\x7f", "<meta http-equiv=refresh content='0;url=http://evil.example'>",
    "<a href='http://evil.example' ping='http://evil.example'>x</a>", "&lt;b&gt;&amp;#60;", "__proto__", "constructor",
)  # fmt: skip
"""Texts that would do something if they were taken for more than text."""

_TOOLS = [f"{verb}_{noun}" for verb in ("find", "list", "change") for noun in ("order", "customer", "item", "address")]
_POLICIES = [f"policy-{name}" for name in ("confirm", "identify", "window", "one-change", "language", "refunds")]
_TEXT = "the order was paid with a card that is not mine and should go back before the end of next week please"
_WORDS = _TEXT.split()


def session(count: int, *, seed: int = 0, hostile: bool = True) -> tuple[Document, dict[RunKey, Transcript]]:
    """Make up a session of `count` runs and their conversations; every tenth holds a hostile text in each field."""
    random = Random(seed)
    runs: list[Result] = []
    transcripts: dict[RunKey, Transcript] = {}
    for number in range(count):
        bad = HOSTILE[number // 10 % len(HOSTILE)] if hostile and number % 10 == 0 else ""
        run, transcript = _run(number, bad, random)
        runs.append(run)
        transcripts[run.key] = transcript
    gates = ("success >= 0.80", "crashed <= 0")
    suite = SuiteRecord(
        path="bench/agentbench.yaml",
        name="made up",
        gates=gates,
        variants=("careful", "hasty"),
        total=count,
        selected=count,
    )
    document = Document(
        created="2026-11-22T00:00:00+00:00", run="20261122", complete=True, seconds=42.0, suites=(suite,),
        command=("--agentbench", HOSTILE[1] if hostile else ""), gates=evaluate_gates(suite.path, gates, runs),
        results=tuple(runs),
    )  # fmt: skip
    return document, transcripts


def _run(number: int, bad: str, random: Random) -> tuple[Result, Transcript]:
    """Make one run: four in five pass, and some of the others are not the agent's fault."""
    fate = random.choices(("passed", "failed", "user", "crashed"), (80, 15, 3, 2))[0]
    calls = [random.choice(_TOOLS) for _ in range(random.randint(2, 7))]
    messages = list(_messages(calls, bad, random))
    verdict = {"passed": Verdict.PASSED, "user": Verdict.ERROR}.get(fate, Verdict.FAILED)
    blame = {"passed": None, "user": Blame.USER}.get(fate, Blame.AGENT)
    policy = random.choice(_POLICIES)
    broken = fate == "failed" and number % 2 == 0
    findings = [
        Finding(check=f"policy:{policy}", kind="policy", passed=not broken, policy=policy, turn=4,
                message=f"{calls[-1]} was called without a yes ({'no, not yet' + bad!r})", tool=calls[-1]),
        Finding(check="rubric:tone" + bad, kind="rubric", passed=True, required=False, turn=2,
                message=f"good 3/4: friendly throughout{bad} (turn 2: 'Which order do you mean?')"),
    ]  # fmt: skip
    explained = [
        CallExplanation(
            status="matched", tool=calls[0], expected={"id": "W1"}, actual={"id": "W1"}, turn=4, write=False
        )
    ]
    if fate == "failed" and not broken:
        findings.append(
            Finding(check="state", kind="state", passed=False, message=f"orders.W1{bad}: expected 'paid', is 'sent'",
                    expected="'paid'" + bad, actual="'sent'")
        )  # fmt: skip
        explained.append(
            CallExplanation(
                status="wrong_arguments", tool=calls[-1], expected={"id": "W1", "to": "card" + bad}, write=True, turn=4,
                actual={"id": "W1", "to": "cash"}, differing={"to": ("card" + bad, "cash")}, note=bad,
            )
        )  # fmt: skip
    key = RunKey(
        suite="bench/agentbench.yaml", scenario=f"case-{number // 2:04}{bad}", variant=("careful", "hasty")[number % 2]
    )
    result = Result(
        key=key, nodeid=f"{key.suite}::case-{number // 2:04}[{key.variant}]", file="bench/cases.yaml", line=number + 1,
        title=f"Case {number}{bad}", verdict=verdict, blame=blame, findings=tuple(findings), calls=tuple(explained),
        termination=Termination.CRASHED if fate == "crashed" else Termination.FINISHED, stop_reason=f"done{bad}",
        error=f"boom{bad}" if fate == "crashed" else None, complexity=1 + number % 9, complexity_scale="policies",
        policies=(PolicyOutcome(policy=policy, exercised=True, kept=not broken),), tags=("slow" + bad,) if bad else (),
        tools=tuple(dict.fromkeys(calls)), players={"agent": "agent:build" + bad},
        transcript=f"transcripts/{number}.json",
        metrics={"name_recall": 1.0, "strict_recall": 0.9, "agent_turns": 3.0, "tool_calls": float(len(calls))},
    )  # fmt: skip
    return result, Transcript(messages=tuple(messages))


def _messages(calls: list[str], bad: str, random: Random) -> Iterator[Message]:
    def said(words: int) -> str:
        return " ".join(random.choice(_WORDS) for _ in range(words)) + bad

    yield Message(role="user", content=said(18))
    yield Message(role="assistant", content=f"Which order do you mean?{bad}")
    yield Message(role="user", content=said(8))
    for place, name in enumerate(calls):
        arguments = {"id": f"W{random.randint(1, 99)}", "note" + bad: said(5)}
        yield Message(role="assistant", tool_calls=(ToolCall(name=name + bad, arguments=arguments, id=f"c{place}"),))
        answer = {"order": "W1", "items": [{"id": number, "name": said(3)} for number in range(random.randint(1, 20))]}
        yield Message(role="tool", tool_call_id=f"c{place}", content=json.dumps(answer) if place else said(9))
    yield Message(role="assistant", content=said(30))


FIRST_PAINT = """new Promise((tell) => {
  new PerformanceObserver((list) => {
    for (const one of list.getEntriesByName('first-contentful-paint')) tell(one.startTime);
  }).observe({type: 'paint', buffered: true});
})"""
"""When the first text was on the screen, in ms; a browser says so only after the frame was shown, which may be late."""


async def timed(page: Page, act: str) -> float:
    """Give the milliseconds from an act of the user's to the list laid out anew."""
    layout = "document.body.offsetHeight"
    script = f"const began = performance.now(); {act}; {layout}; return performance.now() - began"
    return float(await page.run(f"(() => {{ {script} }})()"))


async def measure(file: Path) -> dict[str, float]:
    """Open a page that lists runs, and time what its reader does; raise `AssertionError` where it complains or asks."""
    async with Browser() as browser:
        page = await browser.page()
        await page.open(file.as_uri())
        await page.drawn()
        figures: dict[str, float] = {"first-contentful-paint": await page.run(FIRST_PAINT)}
        figures["loaded"] = await page.run("performance.getEntriesByType('navigation')[0].loadEventEnd")
        await page.run("location.hash = '#runs'")
        await page.drawn()
        search = "const box = document.getElementById('search'); box.value = {}; box.dispatchEvent(new Event('input'))"
        figures["first search"] = await timed(page, search.format(json.dumps("which order refunds")))
        figures["search"] = await timed(page, search.format(json.dumps("card back week")))
        await timed(page, search.format("''"))
        choose = (
            "const select = document.querySelector('select[aria-label=verdict]'); select.value = {}; "
            "select.dispatchEvent(new Event('change'))"
        )
        figures["filter"] = await timed(page, choose.format("'failed'"))
        figures["filter off"] = await timed(page, choose.format("''"))
        figures["open a run"] = await timed(
            page,
            "document.querySelectorAll('.list a')[5].click(); window.dispatchEvent(new HashChangeEvent('hashchange'))",
        )
        assert not page.problems, page.problems
        assert page.requests == [file.as_uri()], page.requests
        assert await page.run("window.broken") is None
        return figures


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--keep", type=Path, help="keep the page here")
    options = parser.parse_args()
    document, transcripts = session(options.runs)
    began = time.perf_counter()
    text = html_report(document, Reading(transcript=lambda result: transcripts.get(result.key)))
    print(f"{options.runs} runs: written in {time.perf_counter() - began:.2f} s, {len(text) / 1e6:.1f} MB")
    if find() is None:
        print("no browser here")
        return
    with tempfile.TemporaryDirectory() as folder:
        file = (options.keep or Path(folder) / "report.html").resolve()
        file.write_text(text, encoding="ascii")
        for name, milliseconds in asyncio.run(measure(file)).items():
            print(f"{name:24} {milliseconds:7.1f} ms")


if __name__ == "__main__":
    main()
