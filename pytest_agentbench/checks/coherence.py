"""Whether an agent makes use of what has happened: calls that it need not have made, turns that begin anew."""

from collections.abc import Sequence

from pytest_agentbench.checks.effects import wrote
from pytest_agentbench.core.alike import SHORTEST, normal, similar
from pytest_agentbench.core.codec import digest, dumps
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.transcript import CallRecord, Transcript


def redundant_calls(records: Sequence[CallRecord], toolset: Toolset) -> tuple[CallRecord, ...]:
    """Give the agent's calls whose answer it had: same tool, same arguments, no failure and no write in between.

    A write by whoever made it, and a call of which nobody knows whether it wrote, may have changed the answer.
    """
    answered: set[str] = set()
    redundant = []
    for record in records:
        changed = wrote(record, toolset)
        if record.call.requestor == "assistant" and not record.failed and changed is False:
            made = f"{record.call.name} {digest(record.call.arguments)}"
            if made in answered:
                redundant.append(record)
            answered.add(made)
        elif changed is not False and not record.failed:
            answered.clear()
    return tuple(redundant)


def coherence(run: Run) -> float | None:
    """Give the share, 0 to 1, of the agent's turns after its first that go on from what was before.

    A turn does not when it makes a redundant call, says again what the agent said before (24 signs and more, see
    `core.alike.similar`), or has the user give the same fact a second time. None without a second turn. It tells of
    lost context, not of relevance: whether a turn is right, the checks say.
    """
    later = sorted(_agent_turns(run.transcript))[1:]
    if not later:
        return None
    said = _said(run.transcript)
    lost = {record.turn for record in redundant_calls(run.transcript.trajectory, run.toolset)}
    lost |= {turn for turn, text in said.items() if any(similar(text, said[one]) for one in said if one < turn)}
    lost |= _asked_again(run.transcript)
    return 1 - len(lost.intersection(later)) / len(later)


def _said(transcript: Transcript) -> dict[int, str]:
    """Give what the agent said in each of its turns; shorter texts (`You are welcome.`) are manners."""
    said: dict[int, str] = {}
    for index, text in transcript.texts("assistant"):
        turn = transcript.turns[index]
        said[turn] = f"{said[turn]}\n{text}" if turn in said else text
    return {turn: text for turn, text in said.items() if len(normal(text)) >= SHORTEST}


def _asked_again(transcript: Transcript) -> set[int]:
    """Give the agent's turns to which the user answered with a fact that it had given before."""
    given: set[str] = set()
    asked: set[int] = set()
    before = 0
    for turn, message in zip(transcript.turns, transcript.messages, strict=True):
        if message.role == "assistant":
            before = turn
        facts = {dumps([name, value]) for act in message.acts or () for name, value in act.facts.items()}
        if facts & given:
            asked.add(before)
        given |= facts
    return asked


def _agent_turns(transcript: Transcript) -> set[int]:
    pairs = zip(transcript.turns, transcript.messages, strict=True)
    return {turn for turn, message in pairs if message.role == "assistant"}
