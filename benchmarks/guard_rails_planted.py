"""How many faults, planted into recorded conversations, the guard rails of the model-backed user find.

Run `python -m benchmarks.guard_rails_planted [FOLDER OF RECORDINGS]`. The words are those of recorded users and agents:

- `echo`: the agent's last message as the user's reply
- `register`: an agent's message that offers help or says what it did (by the words help, assist, "I have", "I will")
- `leak`: a sentence of ten words or more of the task instructions
- `invention`: the recorded reply with every digit of its longest number exchanged for the next one
- `early_stop`: a recorded reply in the middle of a conversation, closed with a marker
- `at_once`: the recorded first message with all of the known info behind it
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.guard_rails import RECORDINGS, Turn, turns
from pytest_agentbench.users.known_info import knowledge_of
from pytest_agentbench.users.llm.draft import Draft
from pytest_agentbench.users.llm.guards import RULES

_AGENTS = re.compile(
    r"\b(?:help you|assist you|I have (?:processed|updated|cancell?ed)|I(?:['’]ve| have) (?:now )?\w+ed your)",
    re.IGNORECASE,
)
_LONG_NUMBER = re.compile(r"\d{4,}")
_NEXT = str.maketrans("0123456789", "1234567890")
_LEAST = 3


def planted(turn: Turn, following: bool) -> Iterator[tuple[str, Draft]]:
    """Give (rule, draft) of the faults that can be planted at a turn; `following` tells whether the user speaks on."""
    heard = next((message.text for message in reversed(turn.view.messages) if message.role == "assistant"), "")
    if len(heard.split()) >= 10:
        yield "echo", Draft(text=heard)
    if _AGENTS.search(heard):
        yield "register", Draft(text=heard)
    for sentence in re.split(r"(?<=[.!?])\s+|\n+", turn.view.task_instructions)[:1]:
        if len(sentence.split()) >= 10:
            yield "leak", Draft(text=sentence)
    numbers = sorted(_LONG_NUMBER.findall(turn.draft.text), key=len)
    if numbers:
        yield "invention", Draft(text=turn.draft.text.replace(numbers[-1], numbers[-1].translate(_NEXT)))
    if following:
        yield "early_stop", Draft(text=turn.draft.text, closing="STOP")
    is_first = not any(message.role == "user" for message in turn.view.messages)
    if is_first and len(knowledge_of(turn.view).all()) >= _LEAST:
        yield "at_once", Draft(text=f"{turn.draft.text} {turn.view.known_info}")


def measure(found: list[Turn]) -> dict[str, tuple[int, int]]:
    """Give (found, planted) per rule."""
    counts = dict.fromkeys(RULES, (0, 0))
    for turn, after in zip(found, [*found[1:], None], strict=True):
        following = after is not None and len(after.view.messages) > len(turn.view.messages)
        for rule, draft in planted(turn, following):
            hits, all_of = counts[rule]
            counts[rule] = (hits + (RULES[rule](turn.view, draft) is not None), all_of + 1)
    return counts


def main() -> None:
    """Print the share found per rule, of development and held-out recordings."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else RECORDINGS
    for part in ("development", "held out"):
        listed = [turn for turn in turns(folder, (part,)) if turn.has_task]
        print(part)
        for rule, (hits, all_of) in measure(listed).items():
            print(f"  {rule:12}{hits:6} of {all_of:5} planted  {hits / max(all_of, 1):7.1%}")


if __name__ == "__main__":
    main()
