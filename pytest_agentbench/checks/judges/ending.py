"""The critique of an ending: did the conversation close for the reason given? If not, the user is told, and goes on.

It is asked while the conversation is played, of users that a model plays, where the suite says `critique`; never of
recordings. It changes who speaks next and nothing else: no verdict follows from it.
"""

from random import Random

from pydantic import Field

from pytest_agentbench.checks.judges.asking import Answer, Citation, ask, citation_faults, render
from pytest_agentbench.checks.judges.evidence import Evidence, of_ending
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.errors import ProviderError
from pytest_agentbench.core.state import State
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.llm.seams import Chat

TEMPLATE = "ending.v1"
"""The template in force; a changed prompt is a new file, since recorded answers belong to the old one."""

_LONGEST = 600
"""Characters of feedback beyond which it tells more than what is open."""


class EndCritique(Model):
    """Whether a conversation ended for the reason given, and if not, what its user is told."""

    ended: bool
    feedback: str = ""
    reason: str = ""


class EndVerdict(Answer):
    """The verdict on an ending."""

    evidence: list[Citation] = Field(description="the turns that the judgement rests on")
    reason: str = Field(description="one sentence")
    ended: bool = Field(description="whether the reason given is true")
    feedback: str = Field(description="what the person is told where the chat is not over, else empty")


class EndCritic:
    """Checks the endings of one conversation and lets it resume `most` times at most; one per run.

    `resumed` counts the times, `faults` says why an answer could not be used; the ending then stands.
    """

    def __init__(self, chat: Chat, *, random: Random, most: int, system: str = "") -> None:
        """Ask `chat`; `system` is the agent's system prompt where it is known."""
        self._chat = chat
        self._most = most
        self._random = random
        self._system = system
        self.resumed = 0
        self.faults: list[str] = []

    async def feedback(
        self, transcript: Transcript, reason: str, *, changes: tuple[State, State] | None = None
    ) -> str | None:
        """Give what the simulated user is told to go on with, None where the conversation is over.

        `changes` are the states before and now, where they can be read. A critic that cannot be reached, or gives no
        usable answer, objects to nothing. Raise `NotRunError` where it may not be asked.
        """
        if self.resumed >= self._most:
            return None
        try:
            critique = await critique_end(
                self._chat, transcript, reason=reason, system=self._system, random=self._random, changes=changes
            )
        except ProviderError as error:
            self.faults.append(str(error))
            return None
        if critique.ended:
            return None
        self.resumed += 1
        return critique.feedback


async def critique_end(
    chat: Chat,
    transcript: Transcript,
    *,
    reason: str,
    random: Random,
    system: str = "",
    changes: tuple[State, State] | None = None,
) -> EndCritique:
    """Ask whether a conversation that just closed did so for `reason`.

    Feedback that would tell the user what only tools or the agent's instructions know is refused, and where it still
    does when written again, replaced by one that tells nothing. Raise `UnusableAnswerError` where an answer is refused
    twice for another reason, and what `structured` raises.
    """
    evidence = of_ending(transcript, reason=reason, system=system, changes=changes)
    leaks: list[bool] = []

    def faults(given: EndVerdict) -> list[str]:
        found = _faults(given, evidence)
        # a second leak is no fault any more: it is mended below
        leaks.append(bool(not given.ended and evidence.not_heard(given.feedback)))
        return [*found, _LEAK] if leaks == [True] else found

    given = await ask(chat, EndVerdict, TEMPLATE, evidence=evidence, random=random, faults=faults)
    if given.ended:
        return EndCritique(ended=True, reason=given.reason)
    feedback = render("feedback.v1", {}) if leaks[-1] else given.feedback.strip()
    return EndCritique(ended=False, feedback=feedback, reason=given.reason)


_LEAK = "feedback: it holds what only tools, calls or the agent's instructions tell; use what the person knows"


def _faults(given: EndVerdict, evidence: Evidence) -> list[str]:
    faults = citation_faults(given.evidence, evidence)
    if not given.evidence:
        faults.append("evidence: no turn is quoted")
    if not given.ended and not given.feedback.strip():
        faults.append("feedback: it is empty; say what is open")
    if not given.ended and len(given.feedback) > _LONGEST:
        faults.append(f"feedback: it has {len(given.feedback)} characters, allowed: {_LONGEST}")
    return faults
