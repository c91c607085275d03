"""Tool calls that the agent wrote as text: nobody makes them, and the server of its model is the likely reason."""

from collections.abc import Iterable

from pytest_agentbench.core.run import Run
from pytest_agentbench.core.text import printable
from pytest_agentbench.core.verdict import Finding
from pytest_agentbench.llm.written_calls import PARSER, written_call

CHECK = "calls as text"


def check_written_calls(run: Run) -> Iterable[Finding]:
    """Give a finding for the first message of the agent that is a call of one of its tools in words.

    It is not required: the run is judged by what happened, and this says why it may have.
    """
    offered = [spec.name for spec in run.toolset.of("assistant")]
    if not offered:
        return
    for index, said in enumerate(run.transcript.messages):
        if said.role != "assistant" or said.tool_calls or not said.content:
            continue
        if name := written_call(said.content, offered):
            message = f"the agent wrote a call of {printable(name)!r} as text, and nobody made it; {PARSER}"
            turn = run.transcript.turns[index]
            yield Finding(
                check=CHECK, kind="calls", passed=False, message=message, tool=name, turn=turn, required=False
            )
            return
