"""One question to a judge: the record as data, a strict answer, and one round of repair where the answer is refused."""

from collections.abc import Callable
from random import Random
from typing import Any, TypeVar

from pytest_agentbench.checks.judges.citations import Answer
from pytest_agentbench.checks.judges.evidence import Evidence
from pytest_agentbench.checks.judges.template import render
from pytest_agentbench.llm.refusable import refusable
from pytest_agentbench.llm.seams import Chat

A = TypeVar("A", bound=Answer)


def question(
    task: str, evidence: Evidence, random: Random, values: dict[str, str] | None = None
) -> list[dict[str, Any]]:
    """Give the messages of a question by the template `task`, filled with `values`.

    The record of `evidence` is sent in the user's role, between delimiters with a nonce of `random`.
    """
    nonce = evidence.new_nonce(random)
    safety = render("record.v1", {"nonce": nonce})
    return [
        {"role": "system", "content": render(task, {"record": safety, **(values or {})})},
        {"role": "user", "content": evidence.record(nonce)},
    ]


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
    """Ask for an `answer` as `question` words it, at temperature 0.

    An answer with `faults` is refused with the reasons, once. Raise what `refusable` raises.
    """
    messages = question(task, evidence, random, values)
    return await refusable(chat, answer, messages, faults=faults, told=refused, temperature=0)


def refused(listed: str) -> str:
    """Tell a judge what is wrong with its answer."""
    return render("again.v1", {"faults": listed})
