"""Questions about labelled conversations: versioned templates, conversations as data, typed answers."""

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from pydantic import BaseModel

from pytest_agentbench.calibration.labelled import Case
from pytest_agentbench.checks.judges.evidence import Evidence, of_run
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.rubric import Sees
from pytest_agentbench.core.run import Run, RunKey
from pytest_agentbench.core.scenario import Scenario, Task
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.llm.refusable import refusable
from pytest_agentbench.llm.seams import Chat
from pytest_agentbench.llm.templates import Templates

A = TypeVar("A", bound=BaseModel)

DIVERSE = 0.7
"""The temperature of area discovery and supervised extraction (SCOPE, appendix C.2)."""

CLEAR_CUT = 0.0
"""The temperature of everything else (same)."""

_PROMPTS = Templates("pytest_agentbench.calibration")


async def ask(
    chat: Chat,
    answer: type[A],
    task: str,
    *,
    data: Sequence[str | Evidence],
    random: Random,
    temperature: float,
    faults: Callable[[A], list[str]] = lambda _: [],
    **values: str,
) -> A:
    """Ask by the template `task`; `data` are texts of others, sent in the user's role between nonces.

    An answer with `faults` is refused with the reasons, once. Raise what `refusable` raises.
    """
    joined = "\n".join(_block(one, "") for one in data)
    while (nonce := f"{random.getrandbits(64):016x}") in joined:
        pass
    messages = [
        {"role": "system", "content": _PROMPTS.render(task, {"nonce": nonce, **values})},
        {"role": "user", "content": "\n\n".join(_block(one, nonce) for one in data)},
    ]
    return await refusable(
        chat,
        answer,
        messages,
        faults=faults,
        told=lambda listed: _PROMPTS.render("again.v1", {"faults": listed}),
        temperature=temperature,
    )


def _block(data: str | Evidence, nonce: str) -> str:
    return data.record(nonce) if isinstance(data, Evidence) else f"BEGIN {nonce}\n{data}\nEND {nonce}"


def seeded(seed: int, *parts: object) -> Random:
    """Give the randomness of one question: the same whatever else is asked, and in which order."""
    return Random("/".join(map(str, (seed, *parts))))  # noqa: S311 - draws conversations and nonces


def prompts_mark(*names: str) -> str:
    """Give a hash of templates."""
    return digest([_PROMPTS.text(name) for name in names])


def shown(case: Case, *, with_evidence: bool, notes: bool = True, sees: Sees = "conversation") -> Evidence:
    """Give what a model sees of a conversation: what was said and called, and with evidence what is known of it.

    Evidence is the state difference, and with `notes` of each call how it went, where its arguments came from, and its
    use. Raise `ValueError` where it is to see the goal and there is none.
    """
    if sees == "goal" and case.goal is None:
        raise ValueError("the conversation has no goal")
    run = Run(
        key=RunKey(suite="", scenario="labelled"),
        scenario=Scenario(id="labelled", title="labelled", task=Task(id="labelled")),
        transcript=case.transcript,
        termination=Termination.FINISHED,
        toolset=case.toolset,
        initial_state=case.initial if with_evidence else None,
        final_state=case.final if with_evidence else None,
    )
    return of_run(run, notes=with_evidence and notes, goal=case.goal if sees == "goal" else None)
