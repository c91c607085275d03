"""τ²-bench's tasks as the hand-made side: recordings of agents that leave out or spoil each change at a known rate.

The changes are a task's own expected ones. No world is at hand, so the expected writes decide, each matched strictly.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.seeded.label_agent import damaged

RATES = (0.0, 0.1, 0.2, 0.4, 0.7)
DOMAINS = ("airline", "retail")


def recorded(source: Path, domain: str, rate: float, folder: Path) -> Path:
    """Write the suite of a domain's tasks that have an expected change, played at a rate; give its file."""
    folder.mkdir(parents=True)
    tools = json.loads((source / domain / "tools.json").read_text(encoding="utf-8"))
    shutil.copy(source / domain / "tools.json", folder)
    writes = {name for name, kind in tools["kinds"].items() if kind["type"] == "write"}
    every = json.loads((source / domain / "tasks.json").read_text(encoding="utf-8"))
    tasks = [one for one in every if writes & {call["name"] for call in one["evaluation_criteria"]["actions"] or ()}]
    (folder / "tasks.json").write_text(json.dumps(tasks), encoding="utf-8")
    logs = [
        {"task_id": one["id"], "termination_reason": "user_stop", "messages": list(_messages(one, writes, rate))}
        for one in tasks
    ]
    (folder / "logs.jsonl").write_text("\n".join(map(json.dumps, logs)), encoding="utf-8")
    suite = folder / "tau2.agentbench.yaml"
    suite.write_text(
        f"name: {domain}\nagent: {{transcripts: logs.jsonl}}\nenvironment: {{tools: tools.json}}\n"
        'scenarios: [tasks.json]\ngates: ["success >= 0"]\n',
        encoding="utf-8",
    )
    return suite


def _messages(task: Mapping[str, Any], writes: set[str], rate: float) -> Iterator[dict[str, Any]]:
    criteria = task["evaluation_criteria"]
    yield {"role": "user", "content": str(task["user_scenario"]["instructions"])}
    for number, call in enumerate(criteria["actions"]):
        if call.get("requestor", "assistant") != "assistant":
            continue
        seed = f"{task['id']}/{number}"
        found = damaged(call["arguments"], rate, seed) if call["name"] in writes else call["arguments"]
        if found is not None:
            made = {"id": f"c{number}", "name": call["name"], "arguments": found, "requestor": "assistant"}
            yield {"role": "assistant", "tool_calls": [made]}
            yield {"role": "tool", "id": made["id"], "content": "done", "requestor": "assistant", "error": False}
    yield {"role": "assistant", "content": "; ".join([*(criteria.get("communicate_info") or ()), "That is all."])}
    yield {"role": "user", "content": "###STOP###"}
