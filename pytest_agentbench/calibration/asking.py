"""Questions about labelled conversations: versioned templates, conversations as data, typed answers, asked once."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from random import Random
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from pytest_agentbench.calibration.labelled import Case, run_of
from pytest_agentbench.calibration.signals import signals
from pytest_agentbench.checks.judges.evidence import Evidence, Piece, of_run
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import AgentBenchError, CassetteMissError, ProviderError
from pytest_agentbench.core.rubric import Sees
from pytest_agentbench.llm.refusable import refusable
from pytest_agentbench.llm.seams import Chat
from pytest_agentbench.llm.templates import Templates

A = TypeVar("A", bound=BaseModel)
T = TypeVar("T")
U = TypeVar("U")

DIVERSE, CLEAR_CUT = 0.7, 0.0
"""The temperature of area discovery and supervised extraction, and that of all else (SCOPE, appendix C.2)."""

INVENTIVE = 1.0
"""The temperature of what writes conversations (TRACE, B.1, for Claude)."""

_PROMPTS = Templates("pytest_agentbench.calibration")


class Answer(BaseModel):
    """A typed answer of a model."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


async def ask(
    chat: Chat,
    answer: type[A],
    task: str,
    *,
    data: Sequence[str | Evidence],
    random: Random,
    temperature: float = CLEAR_CUT,
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


async def usable(
    asked: Awaitable[T],
    otherwise: Callable[[AgentBenchError], U],
    of: tuple[type[AgentBenchError], ...] = (ProviderError,),
) -> T | U:
    """Give what was asked for, else what `otherwise` makes of an error that is one `of` these.

    A recording that lacks the answer is an error of its own, and is raised.
    """
    try:
        return await asked
    except CassetteMissError:
        raise
    except of as error:
        return otherwise(error)


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
    run = run_of(case)
    if not with_evidence:
        run = run.model_copy(update={"initial_state": None, "final_state": None})
    return of_run(run, notes=with_evidence and notes, goal=case.goal if sees == "goal" else None)


def with_signals(case: Case) -> Evidence:
    """Give a conversation with all the evidence that code has: the state difference, notes on calls, and signals."""
    evidence = shown(case, with_evidence=True)
    found = [one.text for one in signals(case) if not one.is_noted]
    noted = (Piece(turn=evidence.last_turn, by="tool", head="noted", text=text, heard=False) for text in found)
    return replace(evidence, pieces=(*evidence.pieces, *noted))
