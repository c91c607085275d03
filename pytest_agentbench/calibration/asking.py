"""Questions about labelled conversations: versioned templates, conversations as data, typed answers."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from pydantic import BaseModel

from pytest_agentbench.calibration.labelled import Case
from pytest_agentbench.calibration.signs.reading import Reading, flat, values
from pytest_agentbench.checks.judges.evidence import Evidence, Piece, of_run
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.run import Run, RunKey
from pytest_agentbench.core.scenario import Scenario, Task
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.llm.seams import Chat
from pytest_agentbench.llm.structured import structured
from pytest_agentbench.llm.templates import Templates

A = TypeVar("A", bound=BaseModel)

DIVERSE = 0.7
"""The temperature of area discovery and supervised extraction (SCOPE, appendix C.2)."""

CLEAR_CUT = 0.0
"""The temperature of everything else (same)."""

_PROMPTS = Templates("pytest_agentbench.calibration")


async def ask(
    chat: Chat, answer: type[A], task: str, *, data: Sequence[str], random: Random, temperature: float, **values: str
) -> A:
    """Ask by the template `task`; `data` are texts of others, sent in the user's role between nonces.

    Raise `UnusableAnswerError` where no valid answer comes, and what `chat.complete` raises.
    """
    joined = "\n".join(data)
    while (nonce := f"{random.getrandbits(64):016x}") in joined:
        pass
    blocks = [f"BEGIN {nonce}\n{text}\nEND {nonce}" for text in data]
    messages = [
        {"role": "system", "content": _PROMPTS.render(task, {"nonce": nonce, **values})},
        {"role": "user", "content": "\n\n".join(blocks)},
    ]
    return await structured(chat, answer, messages, temperature=temperature)


def prompts_mark(*names: str) -> str:
    """Give a hash of templates."""
    return digest([_PROMPTS.text(name) for name in names])


def shown(case: Case, *, with_evidence: bool) -> Evidence:
    """Give what a model sees of a conversation: what was said and called, and with evidence what is known of it.

    Evidence is the state difference, which calls failed, and where each argument came from.
    """
    run = Run(
        key=RunKey(suite="", scenario="labelled"),
        scenario=Scenario(id="labelled", title="labelled", task=Task(id="labelled")),
        transcript=case.transcript,
        termination=Termination.FINISHED,
        toolset=case.toolset,
        initial_state=case.initial if with_evidence else None,
        final_state=case.final if with_evidence else None,
    )
    evidence = of_run(run)
    if not with_evidence:
        return evidence
    pieces = list(evidence.pieces)
    last = pieces[-1].turn if pieces else 0
    noted = [
        Piece(turn=last, by="tool", head=f"noted of call {number}", text=text, heard=False)
        for number, text in enumerate(_explained(Reading(case)), start=1)
    ]
    return Evidence(pieces=(*pieces, *noted), changes=evidence.changes, ending=evidence.ending)


def record(evidence: Evidence, random: Random) -> str:
    """Give a conversation as text."""
    return evidence.record(evidence.new_nonce(random))


def _explained(reading: Reading) -> list[str]:
    """Say of each call whether it was answered, and whether the user, an earlier answer or nobody gave its values."""
    user = flat("\n".join(text for _, text in reading.user))
    earlier = ""
    told = []
    for one in reading.calls:
        came = "gave nothing" if one.is_empty else "failed" if one.failed else "was answered"
        origins = []
        for leaf in values(one.record.call.arguments):
            place = "the user" if flat(leaf) in user else "an earlier answer" if flat(leaf) in earlier else "nobody"
            origins.append(f"{leaf}: from {place}")
        told.append("; ".join([f"{one.name} {came}", *origins]))
        earlier += flat(one.content)
    return told
