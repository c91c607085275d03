"""An ASGI app in process beside a plain function that says the same: runs per second of whole sessions.

    python -m benchmarks.in_process [--runs 200] [--turns 4] [--repeats 5]

Each kind of agent is played by `pytest --agentbench` in a process of its own, the kinds in turn, `--repeats` times; the
least of each is shown, which a machine that does other work as well disturbs the least. What a session of one run takes
is left out: it starts and imports all the same. FastAPI is left out where it is not installed.
"""

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

FUNCTION = """
def build():
    return lambda message: f"You said {message}."
"""

ASGI = """
import json

async def app(scope, receive, send):
    if scope["type"] != "http":
        raise ValueError(scope["type"])
    asked = json.loads((await receive())["body"])
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps({"reply": f"You said {asked['message']}."}).encode()})
"""

FASTAPI = """
from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI()

class Asked(BaseModel):
    message: str
    session_id: str

@app.post("/")
async def chat(asked: Asked) -> dict[str, str]:
    return {"reply": f"You said {asked.message}."}
"""

AGENTS: dict[str, tuple[str, Any]] = {
    "plain function": (FUNCTION, "served:build"),
    "bare ASGI app": (ASGI, {"http": {"app": "served:app"}}),
    "FastAPI app": (FASTAPI, {"http": {"app": "served:app"}}),
}


def seconds_of(kind: str, runs: int, turns: int) -> tuple[float, float]:
    """Play `runs` runs of a kind of agent; give the wall and the CPU seconds of the whole process."""
    code, agent = AGENTS[kind]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "served.py").write_text(code)
        says = [f"line {number}" for number in range(turns)]
        scenarios = [{"id": f"run-{number}", "says": says, "communicate": ["line 0"]} for number in range(runs)]
        (root / "agentbench.yaml").write_text(json.dumps({"agent": agent, "scenarios": scenarios}))
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "CI"))}
        command = [sys.executable, "-m", "pytest", "--agentbench", "-q", "-p", "no:cacheprovider"]
        began, before = time.perf_counter(), _cpu()
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stdout + done.stderr)
        return time.perf_counter() - began, _cpu() - before


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Play all kinds and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    kinds = [kind for kind in AGENTS if kind != "FastAPI app" or importlib.util.find_spec("fastapi")]
    taken: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for _ in range(options.repeats):
        for kind in kinds:
            for runs in (1, options.runs):
                taken.setdefault((kind, runs), []).append(seconds_of(kind, runs, options.turns))
    print(f"{options.runs} runs of {options.turns} turns, best of {options.repeats}")
    print(f"{'agent':<16}{'runs a second':>15}{'of the function':>17}{'CPU ms a run':>14}")
    rates: dict[str, float] = {}
    for kind in kinds:
        wall, cpu = (
            min(column) - min(first)
            for column, first in zip(
                zip(*taken[kind, options.runs], strict=True), zip(*taken[kind, 1], strict=True), strict=True
            )
        )
        rates[kind] = (options.runs - 1) / wall
        share = rates[kind] / rates[kinds[0]]
        print(f"{kind:<16}{rates[kind]:>15.0f}{share:>17.2f}{1000 * cpu / (options.runs - 1):>14.1f}")


if __name__ == "__main__":
    main()
