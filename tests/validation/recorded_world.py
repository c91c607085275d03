"""A τ² domain without its code: tools that answer as they did in recorded conversations, as a suite to validate."""

import json
from pathlib import Path
from typing import Any

from tests.shared_data import SHARED

TAU2 = SHARED / "data" / "tau2"

_TOOL = '''
def {name}({parameters}):
    """{name}."""
    return _answer({name!r}, {{{pairs}}}, {writes})
'''

_HEAD = """
import json
from pathlib import Path

_KNOWN = json.loads((Path(__file__).parent / "answers.json").read_text())


def _answer(name, arguments, writes):
    given = {key: value for key, value in arguments.items() if value is not None}
    known = _KNOWN.get(name + json.dumps(given, sort_keys=True))
    if known is None and not writes:
        raise LookupError("nothing was recorded for these arguments")
    return "done" if known is None else known
"""


def write_described(folder: Path, domain: str) -> Path:
    """Write a suite of the domain's tasks with tools that are only described; give its file."""
    suite = {
        "agent": "nowhere:build",
        "environment": {"tools": str(TAU2 / "domains" / domain / "tools.json")},
        "scenarios": [str(TAU2 / "domains" / domain / "tasks.json")],
    }
    return _written(folder, suite)


def write_recorded(folder: Path, domain: str) -> Path:
    """Write a suite of the domain's tasks with tools that answer what was recorded; give its file."""
    domain_folder = TAU2 / "domains" / domain
    described = json.loads((domain_folder / "tools.json").read_text())
    writes = [name for name, kind in described["kinds"].items() if kind.get("mutates_state")]
    source = [_HEAD]
    for tool in described["agent"]:
        function = tool["function"]
        names = list(function["parameters"].get("properties", {}))
        required = [name for name in names if name in function["parameters"].get("required", ())]
        parameters = [*required, *(f"{name}=None" for name in names if name not in required)]
        pairs = ", ".join(f"{name!r}: {name}" for name in names)
        if "state" in names:  # a tool's argument of that name is the state of the suite
            parameters, pairs = ["**arguments"], "**arguments"
        is_write = function["name"] in writes
        source.append(
            _TOOL.format(name=function["name"], parameters=", ".join(parameters), pairs=pairs, writes=is_write)
        )
    (folder / "tools.py").write_text("".join(source))
    (folder / "answers.json").write_text(json.dumps(_answers(domain)))
    names = [tool["function"]["name"] for tool in described["agent"]]
    suite = {
        "agent": "nowhere:build",
        "environment": {"tools": "tools", "writes": writes, "reads": [name for name in names if name not in writes]},
        "policies": [{"id": "all", "text": (domain_folder / "policy.md").read_text()}],
        "scenarios": [str(domain_folder / "tasks.json")],
    }
    return _written(folder, suite)


def _written(folder: Path, suite: dict[str, Any]) -> Path:
    file = folder / "agentbench.yaml"
    file.write_text(json.dumps(suite))
    return file


def _answers(domain: str) -> dict[str, str]:
    """Give what each call answered first, the agents' calls that did not fail, from all recordings of the domain."""
    answers: dict[str, str] = {}
    for folder in ("transcripts", "labelled"):
        file = TAU2 / folder / f"{domain}.jsonl"
        if not file.is_file():
            continue
        for line in file.read_text(encoding="utf-8").splitlines():
            calls: dict[str, str] = {}
            for message in json.loads(line).get("messages") or ():
                for call in message.get("tool_calls") or ():
                    calls[call["id"]] = call["name"] + json.dumps(call["arguments"], sort_keys=True)
                if message["role"] == "tool" and not message.get("error") and message["id"] in calls:
                    answers.setdefault(calls[message["id"]], message.get("content") or "")
    return answers
