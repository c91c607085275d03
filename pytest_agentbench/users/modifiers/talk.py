"""A finished conversation as the detectors read it: what the user said, what it answered, how often the agent spoke."""

from dataclasses import dataclass
from functools import cached_property

from pytest_agentbench.core.transcript import CallRecord, Transcript
from pytest_agentbench.users.confirmation import content_words
from pytest_agentbench.users.modifiers.applying import agent_messages
from pytest_agentbench.users.segments import clip

_ENOUGH = 0.5
_LEAST = 2


@dataclass(frozen=True)
class Said:
    """One text of the user, long ones clipped: its place, the agent's words it answers, how many came before."""

    index: int
    text: str
    heard: str
    after: int


@dataclass(frozen=True)
class Talk:
    """The user's side of a transcript."""

    transcript: Transcript

    @cached_property
    def said(self) -> tuple[Said, ...]:
        """The user's texts in order."""
        found: list[Said] = []
        heard: list[str] = []
        for index, message in enumerate(self.transcript.messages):
            if message.role == "assistant" and message.text.strip():
                heard.append(clip(message.text))
            elif message.role == "user" and message.text.strip():
                count = agent_messages(self.transcript.messages[:index])
                found.append(Said(index, clip(message.text), "\n".join(heard), count))
                heard = []
        return tuple(found)

    def agent_said_before(self, index: int) -> str:
        """Give all that the agent had said before a message."""
        return "\n".join(text for at, text in self.transcript.texts("assistant") if at < index)

    def calls_between(self, start: int, end: int) -> tuple[CallRecord, ...]:
        """Give the agent's successful calls made after message `start` and before message `end`."""
        return tuple(
            record
            for record in self.transcript.trajectory
            if record.call.requestor == "assistant" and start < record.message < end and not record.failed
        )


def about(text: str, matter: str) -> bool:
    """Tell whether `text` says `matter` in its own words: at least half of its words of content, two or all of them."""
    words = content_words(matter)
    shared = words & content_words(text)
    return bool(words) and len(shared) >= max(min(_LEAST, len(words)), _ENOUGH * len(words))
