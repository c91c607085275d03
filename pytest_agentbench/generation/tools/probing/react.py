"""The prober that reasons and acts: a model reads what a tool did so far and proposes the next calls (§4.1)."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

from pydantic import Field

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.generation.tools.probing.audit import audit
from pytest_agentbench.generation.tools.probing.laboratory import Laboratory, Subject, Trial
from pytest_agentbench.generation.tools.probing.observed import seen_for
from pytest_agentbench.generation.tools.probing.replaying import Script
from pytest_agentbench.generation.tools.template import render
from pytest_agentbench.llm.seams import Chat
from pytest_agentbench.llm.structured import structured

_MOST = 6
_SHOWN = 40
_WORKED = 12
TEMPERATURE = 0.1
"""As the roles that judge rather than write (Annex D)."""


class ProposedCall(Model):
    """A call that a model proposes: the question first, the arguments as the text of a JSON object."""

    question: str
    arguments: str


class Proposal(Model):
    """The calls that a model would make next; none when nothing is open."""

    calls: list[ProposedCall] = Field(default_factory=list)


def _silent(_: str) -> None:
    """Tell nobody."""


async def propose(
    script: Script, subject: Subject, chat: Chat, random: Random, *, told: Callable[[str], None] = _silent
) -> list[Trial]:
    """Let a model propose calls of a tool, once, and make those that policy and budget admit; give what was made.

    It sees what was called so far, what itself proposed before included. Arguments that are no JSON object, or were
    tried before, are passed over. A model that gives no usable answer proposes nothing, and `told` hears of it. Raise
    what the model's access raises otherwise.
    """
    lab = script.lab
    if not lab.may_call(subject):
        return []
    try:
        proposal = await structured(chat, Proposal, _messages(lab, subject, random), temperature=TEMPERATURE)
    except UnusableAnswerError as error:
        told(f"{subject.name}: the model proposed nothing: {printable(shorten(str(error), 200))}")
        return []
    made: list[Trial] = []
    for call in proposal.calls[:_MOST]:
        arguments = _read(call.arguments)
        if arguments is None or any(dumps(trial.arguments) == dumps(arguments) for trial in subject.trials):
            continue
        trial = await lab.call(subject, arguments, "proposed")
        if trial is not None:
            made.append(trial)
            if trial.ok and subject.base is None:
                script.adopt(subject, trial)
                if not await script.spoils(trial):
                    script.keep(trial)
    return made


def _messages(lab: Laboratory, subject: Subject, random: Random) -> list[dict[str, Any]]:
    nonce = f"{random.getrandbits(64):016x}"
    seen = {
        slot.path: [one.value for one in seen_for(lab, subject, slot) if one.likeness >= 0.3][:8]
        for slot in subject.slots
    }
    record = {
        "declaration": subject.spec.openai()["function"],
        "open": [f"{one.parameter or 'the tool'}: {one.question}" for one in audit(subject.spec)],
        "observed": {path: values for path, values in seen.items() if values},
        "calls": [
            {
                "arguments": trial.arguments,
                "verdict": trial.verdict,
                "answer": shorten(trial.answer.content, 400),
            }
            for trial in shown(subject)
        ],
    }
    text = json.dumps(json.loads(dumps(record)), ensure_ascii=False, indent=1).replace(nonce, "")
    return [
        {"role": "system", "content": render("react.v1", {"nonce": nonce, "most": str(_MOST)})},
        {"role": "user", "content": f"BEGIN {nonce}\n{text}\nEND {nonce}"},
    ]


def shown(subject: Subject) -> list[Trial]:
    """Give the calls that a model is shown: those that worked, what it proposed itself, and one for each way to fail.

    The last ones alone would hide which calls worked, and it would propose them again.
    """
    kept: dict[str, Trial] = {}
    worked = 0
    for trial in subject.trials:
        key = dumps(trial.arguments) if trial.ok or trial.kind == "proposed" else trial.judged.reason[:80]
        if key in kept or (trial.ok and trial.kind != "proposed" and worked >= _WORKED):
            continue
        worked += trial.ok
        kept[key] = trial
    return list(kept.values())[-_SHOWN:]


def _read(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
