"""How long collection takes, and how much memory: 10,000 scenarios in one YAML suite and in one τ²-style JSON file.

    python benchmarks/collect.py [--scenarios 10000]

Runs `pytest --agentbench --collect-only` in a temporary folder and prints wall seconds and peak memory of each.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

AGENT = "def build(tools):\n    return lambda message: 'Hello.'\n"
TOOLS = "def refund(order_id: str, reason: str = '') -> str:\n    return 'ok'\n"
HEADER = "agent: many_agent:build\nenvironment: {tools: many_tools}\n"


def yaml_suite(count: int) -> str:
    """Give a suite whose scenarios stand in the file itself."""
    lines = [HEADER, "scenarios:"]
    for number in range(count):
        lines += [
            f"  - id: refund-{number}",
            f'    says: ["Refund order W{number}, please", "yes"]',
            f"    expect: [{{refund: {{order_id: W{number}, reason: late}}}}]",
        ]
    return "\n".join(lines) + "\n"


def task(number: int) -> dict[str, object]:
    """Give a τ² task."""
    return {
        "id": str(number),
        "user_scenario": {"instructions": {"domain": "shop", "reason_for_call": f"You want W{number} refunded."}},
        "evaluation_criteria": {
            "actions": [{"action_id": f"{number}_0", "name": "refund", "arguments": {"order_id": f"W{number}"}}],
            "communicate_info": [],
        },
    }


def measure(folder: Path) -> tuple[float, int, str]:
    """Collect in `folder`; give wall seconds, peak memory in MB so far, and pytest's last line."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "pytest", "--agentbench", "--collect-only", "-q", "-p", "no:cacheprovider"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    return seconds, peak, result.stdout.strip().splitlines()[-1]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenarios", type=int, default=10_000)
    count = parser.parse_args().scenarios
    for name in ("JSON", "YAML"):
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            (folder / "many_agent.py").write_text(AGENT)
            (folder / "many_tools.py").write_text(TOOLS)
            if name == "JSON":
                (folder / "tasks.json").write_text(json.dumps([task(number) for number in range(count)]))
                (folder / "agentbench.yaml").write_text(f"{HEADER}scenarios: [tasks.json]\n")
            else:
                (folder / "agentbench.yaml").write_text(yaml_suite(count))
            seconds, peak, last = measure(folder)
            print(f"{count} scenarios in {name}: {seconds:.1f} s, peak {peak} MB ({last})")


if __name__ == "__main__":
    main()
