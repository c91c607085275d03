"""Conversations put into a model's words: one question each, with calls, results and labels left as they are.

Code guards that every line is there, that the values which its label rests on stay in it, and that none comes in which
nobody could know. What is not worded stays plain and says so.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import zip_longest

from pytest_agentbench.calibration.asking import ask, seeded
from pytest_agentbench.calibration.criteria import Answer
from pytest_agentbench.calibration.labelled import Labelled
from pytest_agentbench.calibration.situations import situations
from pytest_agentbench.calibration.wording import Line, flat
from pytest_agentbench.calibration.written import INVENTIVE, described
from pytest_agentbench.checks.known_values import KnownValues, tokens
from pytest_agentbench.core.errors import CassetteMissError, ProviderError
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.llm.seams import Chat

_LONGEST = 1_200
"""Characters of a worded line."""

_SHOWN = 4_000
"""Characters of a result that the model is shown."""

_MANNERS = (
    "writes short messages from a phone, in a hurry",
    "is polite and explains a little more than is needed",
    "writes without capitals and with a typo here and there",
    "is careful, and not at home with technical words",
    "comes to the point at once, in full sentences",
    "is friendly and chatty",
)


class WordedLine(Answer):
    """One line, said anew."""

    number: int
    text: str


class WordedLines(Answer):
    """All lines."""

    lines: list[WordedLine]


def spread_out(cases: Sequence[Labelled], count: int) -> list[Labelled]:
    """Give `count` conversations, of each situation one before of any two."""
    of_each: dict[str, list[Labelled]] = {}
    for case in cases:
        of_each.setdefault(case.situation, []).append(case)
    return [case for round_ in zip_longest(*of_each.values()) for case in round_ if case is not None][:count]


async def worded(
    cases: Sequence[Labelled], lines: Mapping[str, Sequence[Line]], chat: Chat, *, seed: int = 0
) -> tuple[list[Labelled], Counter[str]]:
    """Give the conversations in the model's words, and why some stayed plain; `lines` are what is said, by id."""
    lost: Counter[str] = Counter()

    async def one(case: Labelled) -> Labelled:
        try:
            return await _worded(case, lines[case.id], chat, seed)
        except CassetteMissError:
            raise
        except ProviderError as error:
            lost[str(error)] += 1
            return case

    return list(await asyncio.gather(*map(one, cases))), lost


async def _worded(case: Labelled, lines: Sequence[Line], chat: Chat, seed: int) -> Labelled:
    random = seeded(seed, "worded", case.id)
    given = await ask(
        chat,
        WordedLines,
        "worded.v1",
        data=[_rough(case, lines)],
        random=random,
        temperature=INVENTIVE,
        faults=lambda answer: _faults(answer, case, lines),
        situation=described(situations()[case.situation]),
        language=_english_name(case.language),
        manner=random.choice(_MANNERS),
    )
    said = {one.number: one.text.strip() for one in given.lines}
    texts = iter([line.text if line.is_fixed else said[number] for number, line in enumerate(lines, start=1)])
    messages = [one.model_copy(update={"content": next(texts)}) if _is_line(one) else one for one in _messages(case)]
    transcript = Transcript(messages=tuple(messages))
    return case.model_copy(update={"case": case.case.model_copy(update={"transcript": transcript}), "wording": "model"})


def _english_name(language: str) -> str:
    from babel import Locale, UnknownLocaleError  # noqa: PLC0415 - only what is worded needs it

    try:
        return Locale.parse(language.replace("-", "_")).english_name or language
    except (ValueError, UnknownLocaleError):
        return language


def _messages(case: Labelled) -> Sequence[Message]:
    return case.case.transcript.messages


def _is_line(message: Message) -> bool:
    return message.role in ("user", "assistant") and not message.tool_calls


def _rough(case: Labelled, lines: Sequence[Line]) -> str:
    """Give the conversation as the model is shown it: numbered lines with the values that stay, and calls between."""
    shown = []
    left = list(enumerate(lines, start=1))
    for message in _messages(case):
        if _is_line(message):
            number, line = left.pop(0)
            if line.is_fixed:
                shown.append(f"(the {line.by} shows this as it is, and it is no line of yours) {line.text[:_SHOWN]}")
                continue
            stays = f"\n   values: {json.dumps(line.values, ensure_ascii=False)}" if line.values else ""
            shown.append(f"{number}. {line.by}: {line.text}{stays}")
        shown += [
            f"   (the agent calls {call.name} {json.dumps(call.arguments, ensure_ascii=False)})"
            for call in message.tool_calls
        ]
        if message.role == "tool":
            shown.append(f"   ({'it failed' if message.error else 'it returned'}: {shorten(message.text, _SHOWN)})")
    return "\n".join(shown)


def _faults(given: WordedLines, case: Labelled, lines: Sequence[Line]) -> list[str]:
    """Say what is wrong with a wording: lines missing, values lost, values from nowhere."""
    wanted = [number for number, line in enumerate(lines, start=1) if not line.is_fixed]
    if [one.number for one in given.lines] != wanted:
        return [f"lines {wanted} are wanted, in this order, and {[one.number for one in given.lines]} were given"]
    said = {one.number: one.text for one in given.lines}
    heard, known = KnownValues(case.language), KnownValues(case.language)
    known.learn(case.case.briefing)
    faults: list[str] = []
    left = list(enumerate(lines, start=1))
    for message in _messages(case):
        if not _is_line(message):
            for text in (message.text, *(json.dumps(call.arguments) for call in message.tool_calls)):
                known.learn(text)
            continue
        number, line = left.pop(0)
        text = line.text if line.is_fixed else said[number]
        if not text.strip() or (len(text) > _LONGEST and not line.is_fixed):
            faults.append(f"line {number} has {len(text)} characters, allowed: 1 to {_LONGEST}")
        for values in (heard, known):
            values.learn(line.text)
        faults += [
            f"line {number} lacks {printable(value)!r}" for value in line.values if not _stands(value, text, line)
        ]
        may = heard if line.by == "user" else known
        unknown = [one.text for row in text.splitlines() for one in tokens(row) if one.is_value and not may.holds(one)]
        faults += [f"line {number} states {printable(one)!r}, which stands in nothing before it" for one in unknown]
        for values in (heard, known):
            values.learn(text)
    return faults


def _stands(value: str, text: str, line: Line) -> bool:
    """Whether a value stands in a text in some spelling; words without a digit may be told in other words."""
    parts = list(tokens(value))
    if not parts:
        return line.by == "agent" or flat(value) in flat(text)
    said = KnownValues()
    said.learn(text)
    return flat(value) in flat(text) or all(map(said.holds, parts))
