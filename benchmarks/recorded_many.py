"""Many recorded conversations, scored and reported: wall and CPU time, peak memory, and how large the files get.

    python -m benchmarks.recorded_many [--counts 1000,10000,100000] [--way pytest|score|both] [--seed 0] [--keep FOLDER]

Plays the example's support desk once, and varies what was said there: orders, customers and items get numbers of their
own, and in one conversation of ten a change was not made, though the agent says so. Ten conversations are of one
scenario. `pytest` makes each of them an item; `score` is `agentbench score`, which keeps no conversation in memory.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).parents[1]

_NUMBER = re.compile(r"\b([A-Za-z]{1,4}_?)(\d{3,6})\b")
_READS = ("find_", "get_", "list_", "calculate")
_PER_SCENARIO = 10
_BROKEN = 0.1

SUITE = """
name: many
agent: {transcripts: logs.jsonl}
environment: {tools: tools.json}
scenarios: [tasks.json]
gates: ["success >= 0.5"]
"""


def played() -> list[dict[str, Any]]:
    """Give the conversations of the example, in the OpenAI format, with the calls that change something."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "example"
        shutil.copytree(ROOT / "example_project", project, ignore=shutil.ignore_patterns(".agentbench"))
        command = [sys.executable, "-m", "pytest", "--agentbench", "-q", "-p", "no:cacheprovider"]
        subprocess.run([*command, "support.agentbench.yaml"], cwd=project, capture_output=True, check=True)
        files = sorted(project.glob(".agentbench/runs/*/transcripts/*.json"))
        return [openai_log(json.loads(file.read_text())) for file in files]


def openai_log(transcript: dict[str, Any]) -> dict[str, Any]:
    """Give a transcript of ours as a log in the OpenAI format."""
    messages = []
    for message in transcript["messages"]:
        calls = message.get("tool_calls", ())
        made = [
            {
                "id": call.get("id", ""),
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(call.get("arguments", {}))},
            }
            for call in calls
        ]
        kept = {key: message[key] for key in ("role", "content", "tool_call_id", "error") if key in message}
        messages.append({**kept, **({"tool_calls": made} if made else {})})
    return {"messages": messages}


def changes(log: dict[str, Any]) -> list[dict[str, Any]]:
    """Give the calls of a log that changed something, by the tools' names and results."""
    failed = {message.get("tool_call_id") for message in log["messages"] if message.get("error")}
    made = (call for message in log["messages"] for call in message.get("tool_calls", ()))
    calls = (call["function"] for call in made if call["id"] not in failed)
    return [call for call in calls if not call["name"].startswith(_READS)]


def varied(value: str, random: Random) -> str:
    """Give every number that names something a new one, the same for the same number."""
    numbers: dict[str, str] = {}

    def renamed(match: re.Match[str]) -> str:
        return numbers.setdefault(match[0], f"{match[1]}{random.randrange(10**5, 10**6)}")

    return _NUMBER.sub(renamed, value)


def without_a_change(log: dict[str, Any]) -> dict[str, Any]:
    """Leave the last call that changes something out, and its result."""
    last = changes(log)[-1:]
    dropped: set[str] = set()
    messages = []
    for message in log["messages"]:
        calls = message.get("tool_calls", [])
        gone = {call["id"] for call in calls if call["function"] in last}
        dropped |= gone
        if message.get("tool_call_id") in dropped or (gone and len(calls) == len(gone)):
            continue
        messages.append(message)
    return {**log, "messages": messages}


def written(folder: Path, count: int, base: list[dict[str, Any]], seed: int) -> None:
    """Write a suite of `count` conversations."""
    random = Random(seed)
    tasks: list[dict[str, Any]] = []
    (folder / "tools.json").write_text(json.dumps(tools_of(base)))
    (folder / "agentbench.yaml").write_text(SUITE)
    with (folder / "logs.jsonl").open("w") as logs:
        for number in range(count // _PER_SCENARIO):
            text = varied(json.dumps(random.choice(base)), random)
            log, name = json.loads(text), f"task-{number}"
            tasks.append(task(name, changes(log)))
            for _ in range(_PER_SCENARIO):
                one = without_a_change(log) if random.random() < _BROKEN else log
                logs.write(json.dumps({"id": name, **one}) + "\n")
    (folder / "tasks.json").write_text(json.dumps(tasks))


def tools_of(base: list[dict[str, Any]]) -> dict[str, Any]:
    """Describe the tools by how they were called."""
    properties: dict[str, dict[str, Any]] = {}
    for call in (call["function"] for log in base for m in log["messages"] for call in m.get("tool_calls", ())):
        properties.setdefault(call["name"], {}).update({key: {} for key in json.loads(call["arguments"])})
    tools = [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": known}}}
        for name, known in sorted(properties.items())
    ]
    changing = {name: "read" if name.startswith(_READS) else "write" for name in properties}
    return {"agent": tools, "kinds": changing}


def task(name: str, calls: list[dict[str, Any]]) -> dict[str, Any]:
    """Give a scenario, as τ²-bench writes it, in which these calls are expected."""
    actions = [
        {"action_id": f"{name}_{place}", "name": call["name"], "arguments": json.loads(call["arguments"])}
        for place, call in enumerate(calls)
    ]
    user = {"instructions": {"domain": "shop", "reason_for_call": "see the conversation"}}
    return {"id": name, "user_scenario": user, "evaluation_criteria": {"actions": actions, "communicate_info": []}}


COMMANDS = {
    "collect": ["-m", "pytest", "--agentbench", "--collect-only", "-q", "-q", "-p", "no:cacheprovider"],
    "pytest": [
        "-m", "pytest", "--agentbench", "-q", "-q", "-p", "no:cacheprovider",
        "--agentbench-json=out.json", "--agentbench-html=out.html", "--agentbench-markdown=out.md",
    ],
    "score": [
        "-c", "from pytest_agentbench.cli import main; raise SystemExit(main())", "score", "agentbench.yaml",
        "--json", "out.json", "--html", "out.html", "--markdown", "out.md",
    ],
}  # fmt: skip


def measure(way: str, folder: Path) -> Iterator[str]:
    """Run one way in a folder; give what to print."""
    began = time.perf_counter()
    code, cpu, peak = alone([sys.executable, *COMMANDS[way]], folder)
    seconds = time.perf_counter() - began
    count = sum(1 for _ in (folder / "logs.jsonl").open())
    sizes = " ".join(
        f"{file.suffix[1:]} {file.stat().st_size / 1e6:.1f} MB"
        for file in sorted(folder.glob("out.*"))
        if file.exists()
    )
    rate = count / cpu
    yield f"{way:8} {count:8,} {seconds:9.1f} s {cpu:9.1f} s {rate:9.0f}/s {peak:9.0f} MB   status {code}   {sizes}"


def alone(command: list[str], folder: Path) -> tuple[int, float, float]:
    """Run a command; give its exit status, the seconds of CPU that it took, and its peak memory in MB."""
    child = os.posix_spawn(
        "/bin/sh",
        ["sh", "-c", 'cd "$0" && exec "$@" > printed.txt 2>&1', str(folder), *command],
        {**os.environ, "COLUMNS": "100"},
    )
    _, status, used = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counts", default="1000,10000,100000")
    parser.add_argument("--way", choices=("collect", "pytest", "score", "both"), default="both")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    base = played()
    print(f"{len(base)} conversations of the example, varied; rate is per second of CPU")
    print(f"{'way':8} {'runs':>8} {'wall':>11} {'CPU':>11} {'rate':>11} {'peak':>12}")
    for count in map(int, options.counts.split(",")):
        with tempfile.TemporaryDirectory() as temporary:
            folder = (options.keep or Path(temporary)) / str(count)
            folder.mkdir(parents=True, exist_ok=True)
            written(folder, count, base, options.seed)
            for way in ("score", "pytest") if options.way == "both" else (options.way,):
                for line in measure(way, folder):
                    print(line, flush=True)


if __name__ == "__main__":
    main()
