"""The critique of an ending: did the conversation close for the reason given? If not, the user is told, and goes on.

It is asked while the conversation is played, of users that a model plays, where the suite says `critique`; never of
recordings. It changes who speaks next and nothing else: no verdict follows from it.
"""

from dataclasses import dataclass, field
from random import Random

from pydantic import Field

from pytest_agentbench.checks.judges.evidence import of_ending
from pytest_agentbench.checks.judges.rubric_judge import Answer, Citation, ask, citation_faults, render
from pytest_agentbench.core.errors import ProviderError
from pytest_agentbench.core.state import State
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.llm.protocols import Chat

TEMPLATE = "ending.v1"
"""The template in force; a changed prompt is a new file, since recorded answers belong to the old one."""

_LONGEST = 600
"""Characters of feedback beyond which it tells more than what is open."""

_LEAK = "feedback: it holds what only tools, calls or the agent's instructions tell; use what the person knows"


class EndVerdict(Answer):
    """The verdict on an ending."""

    evidence: list[Citation] = Field(description="the turns that the judgement rests on")
    reason: str = Field(description="one sentence")
    ended: bool = Field(description="whether the reason given is true")
    feedback: str = Field(description="what the person is told where the chat is not over, else empty")


@dataclass
class EndCritic:
    """Checks the endings of one conversation and lets it resume `most` times at most; one per run.

    `system` is the agent's system prompt where it is known. `resumed` counts the times, `faults` says why an answer
    could not be used; the ending then stands.
    """

    chat: Chat
    random: Random
    most: int
    system: str = ""
    resumed: int = 0
    faults: list[str] = field(default_factory=list)

    async def feedback(
        self, transcript: Transcript, reason: str, *, changes: tuple[State, State] | None = None
    ) -> str | None:
        """Give what the simulated user is told to go on with, None where the conversation is over.

        `changes` are the states before and now, where they can be read. A critic that cannot be reached, or gives no
        usable answer, objects to nothing. Raise `NotRunError` where it may not be asked.
        """
        if self.resumed >= self.most:
            return None
        try:
            verdict = await critique_end(
                self.chat, transcript, reason=reason, system=self.system, random=self.random, changes=changes
            )
        except ProviderError as error:
            self.faults.append(str(error))
            return None
        self.resumed += not verdict.ended
        return None if verdict.ended else verdict.feedback


async def critique_end(
    chat: Chat,
    transcript: Transcript,
    *,
    reason: str,
    random: Random,
    system: str = "",
    changes: tuple[State, State] | None = None,
) -> EndVerdict:
    """Ask whether a conversation that just closed did so for `reason`; feedback is empty where it did.

    Feedback that would tell the user what only tools or the agent's instructions know is refused, and where it still
    does when written again, replaced by one that tells nothing. Raise `UnusableAnswerError` where an answer is refused
    twice for another reason, and what `structured` raises.
    """
    evidence = of_ending(transcript, reason=reason, system=system, changes=changes)
    leaks: list[bool] = []

    def faults(given: EndVerdict) -> list[str]:
        found = citation_faults(given.evidence, evidence)
        if not given.evidence:
            found.append("evidence: no turn is quoted")
        if not given.ended and not given.feedback.strip():
            found.append("feedback: it is empty; say what is open")
        if not given.ended and len(given.feedback) > _LONGEST:
            found.append(f"feedback: it has {len(given.feedback)} characters, allowed: {_LONGEST}")
        # a second leak is no fault any more: it is mended below
        leaks.append(bool(not given.ended and evidence.not_heard(given.feedback)))
        return [*found, _LEAK] if leaks == [True] else found

    given = await ask(chat, EndVerdict, TEMPLATE, data=[evidence], random=random, faults=faults)
    feedback = "" if given.ended else render("feedback.v1", {}) if leaks[-1] else given.feedback.strip()
    return given.model_copy(update={"feedback": feedback})
