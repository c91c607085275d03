"""Whether a conversation still gets anywhere: repeated or mirrored exchanges, and turns without anything new.

New is a call or another result of one, a value, a fact, something done about the goal, or text that was not there yet.

Everything here is structure, so that it holds in any language. So is whose fault a stall is: the agent's where it gives
the user's words back, or goes on as before although the user gave what it asked for, which is no value that the
question does not name and the agent spoke of itself; the user's where it gives the
agent's words back, or does not say what it meant; the scenario's where it has no answer. Else nobody can tell.
"""

from collections import deque
from dataclasses import dataclass, replace
from itertools import pairwise

from pytest_agentbench.core.acts import Act
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.names import count, words_of
from pytest_agentbench.core.spoken import states
from pytest_agentbench.core.termination import Thresholds
from pytest_agentbench.core.text import shorten
from pytest_agentbench.core.text_similarity import echoes, ends, normal, pieces, similar, values_in
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.core.verdict import Blame

_USUAL = Thresholds()


@dataclass(frozen=True)
class _Said:
    """All that a party said in one turn; `acts` are what the user meant, None where it did not say."""

    role: str
    text: str
    acts: tuple[Act, ...] | None = None


class Progress:
    """Watches messages as they come (`see`) and says why the conversation is stalled (`stalled`), if it is."""

    def __init__(self, thresholds: Thresholds = _USUAL) -> None:
        self._thresholds = thresholds
        # one exchange more than must repeat, since what stands before tells who began
        self._turns: deque[_Said] = deque(maxlen=2 * (max(thresholds.repeats, thresholds.idle_turns) + 2))
        self._idle = {"user": 0, "assistant": 0}
        self._mirrored = {"user": 0, "assistant": 0}
        self._in_a_row = 0
        self._known: set[str] = set()
        self._said: dict[str, list[str]] = {"user": [], "assistant": []}
        self._calls: dict[str, str | None] = {}
        self._waiting: list[tuple[str, str]] = []

    def see(self, message: Message) -> None:
        """Take notice of the next message of the conversation, of whatever role."""
        fresh = self._new_result(message) if message.role == "tool" else self._new_calls(message)
        informs = self._is_new(message)
        if fresh or informs:
            self._idle = {"user": 0, "assistant": 0}
        if fresh:
            self._forget(message.requestor if message.role == "tool" else message.role)
        if message.role in self._idle and message.text.strip():
            self._hear(message, is_idle=not (fresh or informs))

    def _is_new(self, message: Message) -> bool:
        """Take notice of what a message tells; tell whether it holds an unseen value, fact or step, or new text."""
        text = normal(message.text)
        said = pieces(text)
        told = {f"value {value}" for value in values_in(text)}
        told |= {f"fact {name}: {value!r}" for act in message.acts or () for name, value in act.facts.items()}
        told |= {f"goal {item.text}: {item.done}" for item in message.goal_items}
        unseen, new = said - self._known, told - self._known
        self._known |= unseen | new
        return bool(new) or (bool(said) and len(unseen) >= self._thresholds.new_text * len(said))

    def stalled(self) -> str | None:
        """Give the reason why nothing moves any more, or None."""
        reason, _ = self._stall()
        return reason

    @property
    def is_farewell(self) -> bool:
        """Whether nothing moves any more since the user does nothing but close: the conversation is over."""
        said = [one for one in self._turns if one.role == "user"][-self._thresholds.repeats :]
        closes = [bool(one.acts) and all(act.kind == "close" for act in one.acts or ()) for one in said]
        return bool(closes) and all(closes) and self.stalled() is not None

    @property
    def blame(self) -> Blame:
        """Whose fault a stall is; *unclear* where that cannot be told."""
        _, blame = self._stall()
        return blame

    def _stall(self) -> tuple[str | None, Blame]:
        limits = self._thresholds
        if self._mirrored["assistant"] >= limits.mirrored_turns and not self._mirrored["user"]:
            times = self._mirrored["assistant"]
            return f"the agent mirrored the user's words {times} times in a row", Blame.AGENT
        if self._mirrored["user"] >= limits.mirrored_turns:
            return f"the user mirrored the agent's words {self._mirrored['user']} times in a row", Blame.USER
        if self._in_a_row >= limits.mirrors and self._mirrored["user"] and self._mirrored["assistant"]:
            return f"the parties mirrored each other's words {self._in_a_row} times in a row", Blame.USER
        if self._repeated():
            return self._explained(f"the same exchange {limits.repeats + 1} times in a row", limits.repeats + 1)
        if min(self._idle.values()) >= limits.idle_turns:
            reason = f"no new call or information for {count(limits.idle_turns, 'turn')} of each party"
            return self._explained(reason, limits.idle_turns)
        return None, Blame.AGENT

    def _explained(self, reason: str, turns: int) -> tuple[str, Blame]:
        """Add to the reason whose fault it is, by what the user meant with its last turns."""
        answers = [pair for pair in pairwise(self._turns) if pair[1].role == "user"][-turns:]
        if any(said.acts is None for _, said in answers):
            return f"{reason}; the user did not say what it meant by its turns (no acts)", Blame.USER
        if answers and all(self._gives(said.acts or (), asked.text) for asked, said in answers):
            return f"{reason}, although the user gave what it was asked for each time", Blame.AGENT
        if answers and all(said.acts and all(act.kind == "other" for act in said.acts) for _, said in answers):
            return f"{reason}, and the scenario gives the user no answer", Blame.SCENARIO
        asked = f"; the agent asked last: {shorten(answers[-1][0].text, 80)!r}" if answers else ""
        return f"{reason}; whose fault it is cannot be told{asked}", Blame.UNCLEAR

    def _gives(self, acts: tuple[Act, ...], asked: str) -> bool:
        """Whether a turn holds what was asked for: a yes to what the question states, or facts, also with a no.

        So does a no to what the question states and the user itself had spoken of: it takes that back. A fact that the
        question does not name is none where the agent spoke of its value itself, and the user does not agree to it:
        "How many guests?" is not answered by the slot that the agent offered.
        """
        agreed = [one for act in acts if act.kind == "confirm" for one in act.about]
        refused = [one for act in acts if act.kind in ("decline", "withdraw") for one in act.about]
        own = [one for one in refused if any(states(one, text) for text in self._said["user"])]
        words = set(words_of(asked))
        facts = [fact for act in acts if act.kind in ("inform", "decline") for fact in act.facts.items()]
        return any(states(one, asked) for one in (*agreed, *own)) or any(
            value in agreed
            or not words.isdisjoint(words_of(name))
            or not any(states(value, text) for text in self._said["assistant"])
            for name, value in facts
        )

    def _hear(self, message: Message, *, is_idle: bool) -> None:
        role, text = message.role, message.text
        self._said[role].append(text)
        last = self._turns[-1] if self._turns else None
        if last is not None and last.role == role:
            both = None if last.acts is None or message.acts is None else (*last.acts, *message.acts)
            self._turns[-1] = replace(last, text=ends(f"{last.text}\n{text}"), acts=both)
        else:
            self._turns.append(_Said(role, ends(text), message.acts))
            self._compare(role, text, last)
            self._idle[role] += is_idle

    def _compare(self, role: str, text: str, before: _Said | None) -> None:
        """Count how often in a row a text gives the one before it back, by party and of both.

        An agent that takes up the user's words confirms them; it gives them back where it says nothing else.
        """
        gives_back = echoes if role == "user" else similar
        if before is None or not gives_back(text, before.text, self._thresholds.similarity):
            self._mirrored[role] = self._in_a_row = 0
            return
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

    def _new_calls(self, message: Message) -> bool:
        fresh = False
        for call in message.tool_calls:
            made = f"{call.requestor} {call.name} {digest(call.arguments)}"
            fresh = fresh or made not in self._calls
            self._calls.setdefault(made, None)
            self._waiting.append((call.id, made))
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
