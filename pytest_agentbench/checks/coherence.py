"""Whether an agent makes use of what has happened: calls that it need not have made, turns that begin anew."""

import re
from collections.abc import Sequence

from pytest_agentbench.checks.effects import wrote
from pytest_agentbench.core.alike import alike
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.spoken import says
from pytest_agentbench.core.talk import has_question_mark
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.transcript import CallRecord, Transcript
from pytest_agentbench.core.values import to_json
from pytest_agentbench.suites.language import language_of, shipped_languages

_FEWEST_WORDS = 5
"""Words from which a text that comes again says something again: shorter ones (`You are welcome.`) are manners."""

_ALIKE = 0.9
"""Ratio of `difflib.SequenceMatcher` over words from which two texts are the same, as in a stall."""

_MOST_WORDS = 300
_WORD = re.compile(r"\w+")


def redundant_calls(records: Sequence[CallRecord], toolset: Toolset) -> tuple[CallRecord, ...]:
    """Give the agent's calls whose answer it had: same tool, same arguments, no failure and no write in between.

    A write by whoever made it, and a call of which nobody knows whether it wrote, may have changed the answer.
    """
    answered: set[str] = set()
    redundant = []
    for record in records:
        changed = wrote(record, toolset)
        if record.call.requestor == "assistant" and not record.failed and changed is False:
            made = f"{record.call.name} {digest(record.call.arguments)}"
            if made in answered:
                redundant.append(record)
            answered.add(made)
        elif changed is not False and not record.failed:
            answered.clear()
    return tuple(redundant)


def coherence(run: Run) -> float | None:
    """Give the share, 0 to 1, of the agent's turns after its first that go on from what was before.

    A turn does not when it makes a redundant call, says again what the agent said before (five words and more, the same
    but for one in ten, and with the same numbers), or asks by name for a value of `knows` that the user has told. None without a second turn. It tells of lost context, not of relevance: whether a turn is right, the checks
    say.
    """
    said = _by_turn(run.transcript, "assistant")
    later = sorted(_agent_turns(run.transcript))[1:]
    if not later:
        return None
    repeated = {record.turn for record in redundant_calls(run.transcript.trajectory, run.toolset)}
    told = _by_turn(run.transcript, "user")
    words = {turn: _words(text) for turn, text in said.items()}
    lost = 0
    for turn in later:
        before = [earlier for other, earlier in words.items() if other < turn]
        heard = [text for other, text in told.items() if other < turn]
        again = _says_again(words.get(turn, []), before) or _asks_again(said.get(turn, ""), heard, run)
        lost += turn in repeated or again
    return 1 - lost / len(later)


def _says_again(words: Sequence[str], before: Sequence[Sequence[str]]) -> bool:
    return len(words) >= _FEWEST_WORDS and any(_same(words, earlier) for earlier in before)


def _same(left: Sequence[str], right: Sequence[str]) -> bool:
    return alike(left, right, _ALIKE) and _numbers(left) == _numbers(right)


def _numbers(words: Sequence[str]) -> list[str]:
    return [word for word in words if not word.isalpha()]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())[:_MOST_WORDS]


def _asks_again(text: str, heard: Sequence[str], run: Run) -> bool:
    if not has_question_mark(text):
        return False
    spoken = run.scenario.language
    language = language_of(spoken if spoken in shipped_languages() else "en")
    for name, known in run.scenario.knows.items():
        value, names = to_json(known), (name, *run.scenario.also.get(name, ()))
        is_told = isinstance(value, str | int | float) and any(says(str(value), one) for one in heard)
        if is_told and language.names(names, text) and not says(str(value), text):
            return True
    return False


def _agent_turns(transcript: Transcript) -> set[int]:
    pairs = zip(transcript.turns, transcript.messages, strict=True)
    return {turn for turn, message in pairs if message.role == "assistant"}


def _by_turn(transcript: Transcript, role: str) -> dict[int, str]:
    """Give what a party said in each of its turns."""
    said: dict[int, str] = {}
    for turn, message in zip(transcript.turns, transcript.messages, strict=True):
        if message.role == role and message.text.strip():
            said[turn] = f"{said[turn]}\n{message.text}" if turn in said else message.text
    return said
