"""Whether a conversation still gets anywhere: repeated or mirrored exchanges, a user talking like the agent, idling."""

from collections import deque
from dataclasses import dataclass, replace
from itertools import pairwise

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.termination import Thresholds
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.simulation.information import Known
from pytest_agentbench.simulation.likeness import SIMILARITY, ends, mirrors, normal, similar
from pytest_agentbench.simulation.register import speaks_as_agent
from pytest_agentbench.simulation.withholding import leaves_unanswered, withholds

__all__ = ["Progress", "Thresholds", "echo_rate", "similar"]


_USUAL = Thresholds()


@dataclass(frozen=True)
class _Said:
    """All that a party said in one turn, and whether it called a tool in it."""

    role: str
    text: str
    has_called: bool = False


class Progress:
    """Watches messages as they come (`see`) and says why the conversation is stalled (`stalled`), if it is."""

    def __init__(self, thresholds: Thresholds = _USUAL) -> None:
        self._thresholds = thresholds
        # one exchange more than must repeat, since what stands before tells who began
        self._turns: deque[_Said] = deque(maxlen=2 * (max(thresholds.repeats, thresholds.idle_turns) + 2))
        self._idle = {"user": 0, "assistant": 0}
        self._mirrored = {"user": 0, "assistant": 0}
        self._in_a_row = 0
        self._began_mirroring = ""
        self._register = 0
        self._known = Known()
        self._calls: dict[str, str | None] = {}
        self._waiting: list[tuple[str, str]] = []
        self._has_called = False
        self._user_has_tools = False

    def see(self, message: Message) -> None:
        """Take notice of the next message of the conversation, of whatever role."""
        fresh = self._new_result(message) if message.role == "tool" else self._new_calls(message)
        informs = self._known.adds(normal(message.text), words=self._thresholds.new_words)
        if fresh or informs:
            self._idle = {"user": 0, "assistant": 0}
        if fresh:
            self._forget(message.requestor if message.role == "tool" else message.role)
        if message.role in self._idle and message.text.strip():
            self._hear(message.role, message.text, is_idle=not (fresh or informs))

    def stalled(self) -> str | None:
        """Give the reason why nothing moves any more, or None."""
        reason, _ = self._stall()
        return reason

    @property
    def blame(self) -> Blame:
        """Whose fault a stall is.

        The user's, where it talks like the agent, gives the agent's words back, or does not answer what the agent asks
        for; every other stall is the agent's.
        """
        _, blame = self._stall()
        return blame

    def _stall(self) -> tuple[str | None, Blame]:
        limits = self._thresholds
        if self._register >= limits.agent_talk:
            return f"the user talked like the agent {self._register} times in a row", Blame.USER
        for role, party in (("user", Blame.USER), ("assistant", Blame.AGENT)):
            if self._mirrored[role] >= limits.mirrored_turns:
                return f"the {party} mirrored the other's words {self._mirrored[role]} times in a row", party
        if self._in_a_row >= limits.mirrors:
            blame = Blame.USER if self._began_mirroring == "user" else Blame.AGENT
            return f"the parties mirrored each other's words {self._in_a_row} times in a row", blame
        if self._repeated():
            blame = Blame.USER if self._user_withholds() else Blame.AGENT
            return f"the same exchange {limits.repeats + 1} times in a row", blame
        if min(self._idle.values()) >= limits.idle_turns:
            blame = Blame.USER if self._user_evades() else Blame.AGENT
            return f"no new call or information for {limits.idle_turns} turns of each party", blame
        return None, Blame.AGENT

    def _hear(self, role: str, text: str, *, is_idle: bool) -> None:
        last = self._turns[-1] if self._turns else None
        if last is not None and last.role == role:
            self._turns[-1] = replace(
                last, text=ends(f"{last.text}\n{text}"), has_called=last.has_called or self._has_called
            )
        else:
            self._turns.append(_Said(role, ends(text), has_called=self._has_called and role == "assistant"))
            self._compare(role, text, last)
            self._idle[role] += is_idle
            if role == "user":
                talks = speaks_as_agent(text, has_tools=self._user_has_tools, loose=True)
                self._register = self._register + 1 if talks else 0
        if role == "assistant":
            self._has_called = False

    def _compare(self, role: str, text: str, before: _Said | None) -> None:
        """Count how often in a row a text gives the one before it back, by party and of both."""
        if before is None or not mirrors(text, before.text, self._thresholds.similarity):
            self._mirrored[role] = self._in_a_row = 0
            return
        if not self._in_a_row:
            self._began_mirroring = role
        self._mirrored[role] += 1
        self._in_a_row += 1

    def _forget(self, actor: str) -> None:
        """Start anew behind a call, but keep what the other party said to bring it about."""
        kept = [said for said in list(self._turns)[-1:] if said.role != actor]
        self._turns.clear()
        self._turns.extend(kept)
        self._mirrored = {"user": 0, "assistant": 0}
        self._in_a_row = 0

    def _repeated(self) -> bool:
        """Tell whether each party's last texts, taken in turns, are the same `repeats` times over."""
        needed = 2 * (self._thresholds.repeats + 1)
        recent = list(self._turns)[-needed:]
        return len(recent) == needed and all(
            similar(earlier.text, later.text, self._thresholds.similarity)
            for earlier, later in zip(recent, recent[2:], strict=False)
        )

    def _user_withholds(self) -> bool:
        """Tell whether the user of a repeated exchange says nothing, or never gave what it is asked for."""
        needed = 2 * (self._thresholds.repeats + 1)
        turns = list(self._turns)
        recent, before = turns[-needed:], turns[:-needed]
        asking = next(said for said in recent if said.role == "assistant")
        answer = next(said for said in recent if said.role == "user")
        if any(said.has_called for said in recent):
            return False
        if leaves_unanswered(asking.text, answer.text):
            return True
        given = [answer.text, *(said.text for said in before if said.role == "user")]
        return all(withholds(asking.text, text) for text in given)

    def _user_evades(self) -> bool:
        """Tell whether in most idle turns the agent asked for something, and the user's answer was small talk."""
        texts = list(self._turns)[-2 * self._thresholds.idle_turns :]
        exchanges = [
            (one.text, other.text) for one, other in pairwise(texts) if (one.role, other.role) == ("assistant", "user")
        ]
        return 2 * sum(leaves_unanswered(asking, answer) for asking, answer in exchanges) > len(exchanges)

    def _new_calls(self, message: Message) -> bool:
        fresh = False
        for call in message.tool_calls:
            made = f"{call.requestor} {call.name} {digest(call.arguments)}"
            fresh = fresh or made not in self._calls
            self._calls.setdefault(made, None)
            self._waiting.append((call.id, made))
            self._has_called = self._has_called or call.requestor == "assistant"
            self._user_has_tools = self._user_has_tools or call.requestor == "user"
        return fresh

    def _new_result(self, message: Message) -> bool:
        """Tell whether a call made before now gives something else; its first result goes with the call."""
        named = (at for at, (id_, _) in enumerate(self._waiting) if id_ and id_ == message.tool_call_id)
        at = next(named, 0)
        if not self._waiting:
            return False
        _, made = self._waiting.pop(at)
        before, self._calls[made] = self._calls[made], message.text
        return before is not None and before != message.text


def echo_rate(transcript: Transcript, ratio: float = SIMILARITY) -> float | None:
    """Give the share of user texts after an agent's that repeat it or talk as it does; None without any."""
    spoken = [(message.role, message.text) for message in transcript.messages if message.text.strip()]
    talk = [(role, text) for role, text in spoken if role in {"user", "assistant"}]
    pairs = [
        (before, text) for (other, before), (role, text) in pairwise(talk) if role == "user" and other == "assistant"
    ]
    if not pairs:
        return None
    has_tools = any(call.requestor == "user" for message in transcript.messages for call in message.tool_calls)
    echoes = [speaks_as_agent(text, has_tools=has_tools) or similar(before, text, ratio) for before, text in pairs]
    return sum(echoes) / len(pairs)
