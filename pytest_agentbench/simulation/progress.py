"""Whether a conversation still gets anywhere: repeated or mirrored exchanges, a user talking like the agent, idling."""

import re
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.simulation.register import offers_help

_READ = 1_000
"""Characters compared at each end of a text, so that time is bounded whatever an agent says."""

_BY_CHARACTER = 400
"""Characters up to which texts are compared by character, else by word: the matcher's time grows with the square."""

_WORD = re.compile(r"\w+")
_VALUE = re.compile(r"\w*\d\w*")
_CONTENT_LENGTH = 3


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """When a conversation counts as stalled.

    `similarity`: ratio (0 to 1, of `difflib.SequenceMatcher`) from which two texts are the same; texts with different
    numbers never are. `repeats`: how often in a row both parties must repeat themselves. `mirrors`: how many texts in a
    row must repeat the other party's. `register`: how many user texts in a row must offer help as an agent does.
    `idle_turns`: texts of each party without a new call or new information. `new_words`: unseen words that are
    information; one unseen value with a digit is, too.
    """

    similarity: float = 0.9
    repeats: int = 2
    mirrors: int = 2
    register: int = 2
    idle_turns: int = 6
    new_words: int = 2


class Progress:
    """Watches messages as they come (`see`) and says why the conversation is stalled (`stalled`), if it is."""

    def __init__(self, thresholds: Thresholds = Thresholds()) -> None:
        self._thresholds = thresholds
        kept = 2 * (max(thresholds.repeats, thresholds.mirrors) + 1)
        self._texts: deque[tuple[str, str]] = deque(maxlen=kept)
        self._idle = {"user": 0, "assistant": 0}
        self._seen: set[str] = set()
        self._calls: set[str] = set()
        self._mirrored = 0
        self._register = 0

    def see(self, message: Message) -> None:
        """Take notice of the next message of the conversation, of whatever role."""
        fresh = self._new_calls(message)
        informs = self._new_information(message.text)
        if fresh or informs:
            self._idle = {"user": 0, "assistant": 0}
        if fresh:
            self._texts.clear()
            self._mirrored = 0
        if message.role not in self._idle or not message.text.strip():
            return
        if not (fresh or informs):
            self._idle[message.role] += 1
        text = _normal(message.text)
        if self._texts and self._texts[-1][0] != message.role:
            self._mirrored = self._mirrored + 1 if self._same(self._texts[-1][1], text) else 0
        if message.role == "user":
            self._register = self._register + 1 if offers_help(message.text) else 0
        self._texts.append((message.role, text))

    def stalled(self) -> str | None:
        """Give the reason why nothing moves any more, or None."""
        limits = self._thresholds
        if self._repeated():
            return f"the same exchange {limits.repeats + 1} times in a row"
        if self._mirrored >= limits.mirrors:
            return f"the parties mirrored each other's words {self._mirrored} times in a row"
        if self._register >= limits.register:
            return f"the user offered help like the agent {self._register} times in a row"
        if min(self._idle.values()) >= limits.idle_turns:
            return f"no new call or information for {limits.idle_turns} turns of each party"
        return None

    @property
    def blame(self) -> Blame:
        """Whose fault a stall is: a user who talks like the agent is the simulator's, every other the agent's."""
        return Blame.USER if self._register >= self._thresholds.register else Blame.AGENT

    def _repeated(self) -> bool:
        """Tell whether each party's last texts, taken in turns, are the same `repeats` times over."""
        needed = 2 * (self._thresholds.repeats + 1)
        recent = list(self._texts)[-needed:]
        if len(recent) < needed:
            return False
        return all(
            earlier[0] == later[0] and self._same(earlier[1], later[1])
            for earlier, later in zip(recent, recent[2:], strict=False)
        ) and (recent[0][0] != recent[1][0])

    def _same(self, left: str, right: str) -> bool:
        return similar(left, right, self._thresholds.similarity)

    def _new_calls(self, message: Message) -> bool:
        made = {f"{call.requestor} {call.name} {digest(call.arguments)}" for call in message.tool_calls}
        fresh = made - self._calls
        self._calls |= made
        return bool(fresh)

    def _new_information(self, text: str) -> bool:
        unseen = set(_WORD.findall(_normal(text))) - self._seen
        fresh = {word for word in unseen if len(word) >= _CONTENT_LENGTH or word.isdigit()}
        self._seen |= fresh
        return len(fresh) >= self._thresholds.new_words or any(_VALUE.fullmatch(word) for word in fresh)


def similar(left: str, right: str, ratio: float = Thresholds.similarity) -> bool:
    """Tell whether two texts are the same but for a few characters; texts with different numbers never are."""
    left, right = _normal(left), _normal(right)
    if left == right:
        return True
    if set(_VALUE.findall(left)) != set(_VALUE.findall(right)):
        return False
    if max(len(left), len(right)) > _BY_CHARACTER:
        return _ratio_reached(left.split(), right.split(), ratio)
    return _ratio_reached(left, right, ratio)


def _ratio_reached(left: Sequence[str], right: Sequence[str], ratio: float) -> bool:
    # what both have in whatever order bounds what a matcher can find, and making one takes longer than counting
    most = 2 * (Counter(left) & Counter(right)).total() / max(len(left) + len(right), 1)
    return most >= ratio and SequenceMatcher(None, left, right, autojunk=False).ratio() >= ratio


def echo_rate(transcript: Transcript, ratio: float = Thresholds.similarity) -> float | None:
    """Give the share of user texts after an agent's that repeat it or offer help as it does; None without any."""
    spoken = [(message.role, message.text) for message in transcript.messages if message.text.strip()]
    talk = [(role, text) for role, text in spoken if role in {"user", "assistant"}]
    pairs = [
        (before, text) for (other, before), (role, text) in pairwise(talk) if role == "user" and other == "assistant"
    ]
    if not pairs:
        return None
    return sum(offers_help(text) or similar(before, text, ratio) for before, text in pairs) / len(pairs)


def _normal(text: str) -> str:
    if len(text) > 2 * _READ:
        text = text[:_READ] + text[-_READ:]
    return " ".join(text.lower().split())
