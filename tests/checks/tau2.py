"""The recorded τ² conversations as closed runs, read directly so that these tests need no higher floor."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import Run, RunKey
from pytest_agentbench.core.scenario import Scenario, Task
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.tool import ToolCall, Toolset, ToolSpec
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.core.verdict import Blame
from tests.shared_data import SHARED

DOMAINS = ("airline", "retail", "telecom")
CLOSED = {"user_stop", "agent_stop"}


@dataclass(frozen=True)
class Recording:
    """A recorded conversation as a run, with what τ² recorded about it."""

    run: Run
    domain: str
    solo: bool
    database_matched: bool | None
    reward: float
    communicated: dict[str, bool]
    agent_model: str = ""


def recordings(domain: str, policies: tuple[Policy, ...] = ()) -> Iterator[Recording]:
    """Read every recording of a domain."""
    folder = SHARED / "data" / "tau2"
    tools = json.loads((folder / "domains" / domain / "tools.json").read_text())
    lines = (folder / "transcripts" / f"{domain}.tasks.jsonl").read_text().splitlines()
    tasks = {line["task_key"]: line["task"] for line in map(json.loads, lines)}
    for text in (folder / "transcripts" / f"{domain}.jsonl").read_text().splitlines():
        line = json.loads(text)
        yield _recording(line, tasks[line["task_key"]], tools, domain, policies)


def _recording(
    line: dict[str, Any], task: dict[str, Any], tools: dict[str, Any], domain: str, policies: tuple[Policy, ...]
) -> Recording:
    closed = line["termination_reason"] in CLOSED
    run = Run(
        key=RunKey(suite=domain, scenario=line["task_id"], trial=line["trial"]),
        scenario=Scenario(id=line["sim_id"], title=line["task_id"], task=Task.model_validate(task)),
        policies=policies,
        transcript=Transcript(messages=tuple(_message(message) for message in line["messages"])),
        termination=Termination.FINISHED if closed else Termination.SAFETY_TIMEOUT,
        stop_reason=line["termination_reason"],
        blame=None if closed else Blame.AGENT,
        toolset=_toolset(tools, solo=line["solo"]),
    )
    info = line["reward_info"]
    return Recording(
        run=run,
        domain=domain,
        solo=line["solo"],
        database_matched=(info.get("db_check") or {}).get("db_match"),
        reward=line["reward"],
        communicated={check["info"]: check["met"] for check in info.get("communicate_checks") or []},
        agent_model=line["agent_llm"],
    )


def _message(given: dict[str, Any]) -> Message:
    requestor = given.get("requestor") or "assistant"
    if given["role"] == "tool":
        return Message(
            role="tool",
            content=given["content"],
            tool_call_id=given["id"],
            requestor=requestor,
            error=bool(given.get("error")),
        )
    calls = tuple(
        ToolCall(name=call["name"], arguments=call["arguments"], id=call["id"], requestor=call["requestor"])
        for call in given.get("tool_calls") or ()
    )
    return Message(role=given["role"], content=given["content"], tool_calls=calls)


def _toolset(tools: dict[str, Any], *, solo: bool) -> Toolset:
    """A solo agent is given the user's tools too."""
    kinds = {name: kind["type"] for name, kind in tools["kinds"].items()}
    own = [(spec["function"]["name"], "assistant") for spec in tools["agent"]]
    users = [(spec["function"]["name"], "user") for spec in tools.get("user") or []]
    lent = [(name, "assistant") for name, _ in users] if solo else []
    specs = [
        ToolSpec.model_validate({"name": name, "requestor": party, "kind": kinds.get(name, "unknown")})
        for name, party in own + users + lent
    ]
    return Toolset(specs=tuple(specs))
