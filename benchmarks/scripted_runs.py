"""Many scripted runs in one process: wall time, CPU time and the most memory of a session without any model.

    python benchmarks/scripted_runs.py [--runs 5000]

Each run has two turns of the user, one tool call and a state; every hundredth fails. CPU times of a machine that does
other work as well are up to twice as long.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOOLS = '''
def refund(state: dict, order_id: str) -> str:
    """Refund an order."""
    state["refunds"].append(order_id)
    return "refunded"
'''
AGENT = """
def build(tools):
    asked = []

    def reply(message):
        if not asked:
            asked.append(message.split()[1].rstrip(","))
            return f"Shall I refund {asked[0]}?"
        return tools[0](order_id=asked[0] if not asked[0].endswith("50") else "W0") + ". Done."

    return reply
"""


def write_project(folder: Path, runs: int) -> None:
    """Write a suite of so many scenarios."""
    suite = {
        "agent": "desk_agent:build",
        "environment": {"tools": "desk_tools", "state": {"json": "state.json"}, "writes": ["refund"]},
        "scenarios": [
            {
                "id": f"s{number:05d}",
                "says": [f"Refund W{number}, please", {"confirm": "Yes"}],
                "expect": [{"refund": {"order_id": f"W{number}"}}],
            }
            for number in range(1, runs + 1)
        ],
    }
    (folder / "agentbench.yaml").write_text(json.dumps(suite, indent=1))
    (folder / "desk_agent.py").write_text(AGENT)
    (folder / "desk_tools.py").write_text(TOOLS)
    (folder / "state.json").write_text('{"refunds": []}')


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_project(folder, asked.runs)
        began = time.monotonic()
        command = [sys.executable, "-m", "pytest", "--agentbench", "-q", "-p", "no:cacheprovider"]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
            last = process.stdout.read().splitlines()[-1] if process.stdout else ""
            _, _, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - began
    print(last)
    cpu = usage.ru_utime + usage.ru_stime
    print(f"{asked.runs} runs: {wall:.1f} s wall, {cpu:.1f} s CPU, {usage.ru_maxrss / 1000:.0f} MB at most")


if __name__ == "__main__":
    main()
