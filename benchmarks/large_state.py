"""A large state: peak memory, time and outcome of runs that read one row and write one, rightly and wrongly.

    python -m benchmarks.large_state [--bytes 54000000] [--scenarios 10] [--cases json-right,…] [--code FOLDER]

Each case is a pytest session of its own, with the default concurrency. `json` holds one object of rows by id, `list`
the same rows as a list that tools go through, `sqlite` one table. `right` makes the expected write, `wrong` another,
so that the difference of the states is computed and shown. `--code` measures another checkout's package.
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
from pathlib import Path

STATES = ("json", "list", "sqlite")
AGENTS = ("right", "wrong")
CASES = tuple(f"{state}-{agent}" for state in STATES for agent in AGENTS)

TOOLS = {
    "json": '''
def get_order(state, order_id: str) -> dict:
    """Look an order up."""
    return state["orders"][order_id]

def set_status(state, order_id: str, status: str) -> str:
    """Give an order another status."""
    state["orders"][order_id]["status"] = status
    return "ok"
''',
    "list": '''
def get_order(state, order_id: str) -> dict:
    """Look an order up."""
    return next(order for order in state["orders"] if order["id"] == order_id)

def set_status(state, order_id: str, status: str) -> str:
    """Give an order another status."""
    next(order for order in state["orders"] if order["id"] == order_id)["status"] = status
    return "ok"
''',
    "sqlite": '''
def get_order(state, order_id: str) -> dict:
    """Look an order up."""
    return dict(state.execute("SELECT * FROM orders WHERE id = ?", (order_id,)).fetchone())

def set_status(state, order_id: str, status: str) -> str:
    """Give an order another status."""
    state.execute("UPDATE orders SET status = ? WHERE id = ?", (status, order_id))
    return "ok"
''',
}

AGENT = """
import re

def build(tools):
    call = {tool.__name__: tool for tool in tools}

    def reply(message):
        order = re.search(r"W[0-9]+", message)
        if order is None:
            return "You are welcome."
        call["get_order"](order_id=order[0])
        call["set_status"](order_id=order[0], status="STATUS")
        return f"Order {order[0]} is done."

    return reply
"""

SCHEMA = "CREATE TABLE orders (id TEXT PRIMARY KEY, status TEXT, customer TEXT, amount REAL, placed TEXT, note TEXT);\n"
_ROW = 175
"""Bytes that a row takes in a JSON file, about."""


def suite(folder: Path, state: str, agent: str, size: int, scenarios: int) -> int:
    """Write a suite whose state takes about `size` bytes as a file; give the bytes."""
    rows = [
        {
            "id": f"W{n:06}",
            "status": "sent",
            "customer": f"C{n % 9973:05}",
            "amount": n % 400 + 0.5,
            "placed": f"2026-0{n % 9 + 1}-{n % 28 + 1:02}",
            "note": f"parcel {n * 7919 % 1_000_003} to the back door please",
        }
        for n in range(size // _ROW)
    ]
    content = {"orders": rows if state != "json" else {row["id"]: row for row in rows}}
    (folder / "rows.json").write_text(json.dumps(content), encoding="utf-8")
    (folder / "schema.sql").write_text(SCHEMA, encoding="utf-8")
    (folder / "bench_tools.py").write_text(TOOLS[state], encoding="utf-8")
    status = "refunded" if agent == "right" else "lost"
    (folder / "bench_agent.py").write_text(AGENT.replace("STATUS", status), encoding="utf-8")
    provider = {"sqlite": {"schema": "schema.sql", "rows": "rows.json"}} if state == "sqlite" else {"json": "rows.json"}
    document = {
        "agent": "bench_agent:build",
        "environment": {
            "tools": "bench_tools",
            "state": provider,
            "reads": ["get_order"],
            "writes": ["set_status"],
        },
        "scenarios": [
            {
                "id": f"order-{n}",
                "says": [f"Please refund order W{n + 1:06}."],
                "expect": [
                    {"get_order": {"order_id": f"W{n + 1:06}"}},
                    {"set_status": {"order_id": f"W{n + 1:06}", "status": "refunded"}},
                ],
            }
            for n in range(scenarios)
        ],
    }
    (folder / "agentbench.yaml").write_text(json.dumps(document, indent=1), encoding="utf-8")
    return (folder / "rows.json").stat().st_size


def measured(folder: Path, code: Path | None, concurrency: int) -> tuple[str, float, float, float, str]:
    """Give what pytest counted, seconds, processor seconds, peak MB, and what it said of the size of states."""
    command = [sys.executable, "-m", "pytest", "--agentbench", "-q", "-p", "no:cacheprovider", "agentbench.yaml"]
    command.append(f"--agentbench-concurrency={concurrency}")
    env = {**os.environ, **({"PYTHONPATH": str(code.resolve(strict=True))} if code else {})}
    began = time.monotonic()
    process = subprocess.Popen(
        command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - began
    found = re.findall(r"^(?:=+ )?(\d+ (?:passed|failed|error).*) in ", output, re.MULTILINE)
    (folder / "output.txt").write_text(output, encoding="utf-8")
    bound = next((line for line in output.splitlines() if " runs at once" in line), "")
    counted = found[-1] if found else f"no summary, exit status {process.returncode}"
    if unscored := re.search(r"\d+ not scored", output):
        counted += f", {unscored[0]}"
    return counted, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000, bound


def main() -> None:
    """Print a row for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=int, default=54_000_000)
    parser.add_argument("--scenarios", type=int, default=10)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--code", type=Path)
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--output", type=Path, help="a folder to keep what each session printed")
    options = parser.parse_args()
    print(f"{'case':<14} {'MB':>5} {'peak MB':>8} {'seconds':>8} {'cpu':>6}  counted", flush=True)
    for case in options.cases.split(","):
        state, _, agent = case.partition("-")
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            size = suite(folder, state, agent, options.bytes, options.scenarios)
            counted, seconds, cpu, peak, bound = measured(folder, options.code, options.concurrency)
            if options.output:
                shutil.copy(folder / "output.txt", options.output / f"{case}.txt")
        print(f"{case:<14} {size / 1e6:>5.0f} {peak:>8.0f} {seconds:>8.1f} {cpu:>6.1f}  {counted}", flush=True)
        if bound:
            print(f"  {bound}", flush=True)


if __name__ == "__main__":
    main()
