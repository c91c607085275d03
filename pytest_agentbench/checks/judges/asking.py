"""One question to a judge: the record as data, a strict answer, and one round of repair where the answer is refused."""

from collections.abc import Callable
from random import Random
from typing import Any, TypeVar

from pytest_agentbench.checks.judges.citations import Answer
from pytest_agentbench.checks.judges.evidence import Evidence
from pytest_agentbench.checks.judges.template import render
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.llm.seams import Chat
from pytest_agentbench.llm.structured import structured

A = TypeVar("A", bound=Answer)

_SHOWN = 1_000
"""Characters of what is wrong with an answer that an error shows."""


async def ask(
    chat: Chat,
    answer: type[A],
    task: str,
    *,
    evidence: Evidence,
    random: Random,
    faults: Callable[[A], list[str]],
    values: dict[str, str] | None = None,
) -> A:
    """Ask for an `answer` by the template `task`, filled with `values`, at temperature 0.

    The record of `evidence` is sent in the user's role, between delimiters with a nonce of `random`. An answer with
    `faults` is refused with the reasons, once. Raise `UnusableAnswerError` where it still has some, and what
    `structured` raises.
    """
    nonce = evidence.new_nonce(random)
    safety = render("record.v1", {"nonce": nonce})
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": render(task, {"record": safety, **(values or {})})},
        {"role": "user", "content": evidence.record(nonce)},
    ]
    given = await structured(chat, answer, messages, temperature=0)
    wrong = faults(given)
    if not wrong:
        return given
    listed = "\n".join(f"- {printable(fault)}" for fault in wrong)
    again = [
        {"role": "assistant", "content": dumps(given)},
        {"role": "user", "content": render("again.v1", {"faults": listed})},
    ]
    given = await structured(chat, answer, [*messages, *again], temperature=0)
    wrong = faults(given)
    if wrong:
        listed = shorten(printable("; ".join(wrong)), _SHOWN)
        model = printable(repr(chat.spec.model))
        raise UnusableAnswerError(f"the {answer.__name__} of {model} was refused twice: {listed}")
    return given
