"""Whether the agent told and answered what it had to: `communicate`, its typed answer (`output`), `replies`.

Each `communicate_info` must be said by a single message of the agent, a number in figures or in words. A number counts
only as a whole; accents, spaces, quotes and separators may be others.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pytest_agentbench.checks.findings import cut, finding, not_measured, value_text
from pytest_agentbench.checks.matchers import Resolver, matches
from pytest_agentbench.core.json_schema import schema_misfit
from pytest_agentbench.core.names import count
from pytest_agentbench.core.patterns import pattern
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.scenario import ExpectedReply
from pytest_agentbench.core.spoken import is_moment, plain, says, says_in_figures, states
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.verdict import Finding

SHOW_OUTPUT = (
    "return the typed answer under the key `output`, or name its place in the answer (`output:` of an http agent)"
)
"""What makes a typed answer visible."""

_WIDTH = 200
_DIGITS = 3
"""Digits of the longest number that is looked for in words."""


def check_output(run: Run, resolve: Resolver | None = None) -> Iterable[Finding]:
    """Give a finding for each part of the typed answer that is wrong, or one passing; nothing where none is asked for.

    The last typed answer counts. Raise what `matchers.matches` raises.
    """
    wanted, found = run.scenario.output, run.transcript.output
    if wanted is None:
        return
    if found is None and "output" not in run.shows:
        yield not_measured("output", "output", "the agent shows no typed answer", cure=SHOW_OUTPUT)
        return
    pairs = zip(run.transcript.turns, run.transcript.messages, strict=True)
    more: dict[str, Any] = {"turn": next((turn for turn, message in pairs if message.output is found), None)}
    if not isinstance(found, Mapping):
        gave = "the agent gave no typed answer" if found is None else f"the typed answer is {value_text(found)}"
        text = value_text(wanted)
        yield finding("output", "output", False, f"{gave}, expected {text}", expected=text, **more)
        return
    wrong = [name for name, value in wanted.items() if name not in found or not matches(value, found[name], resolve)]
    for name in wrong:
        actual, text = value_text(found[name]) if name in found else None, value_text(wanted[name])
        is_so = "is missing" if actual is None else f"is {actual}"
        message = f"{printable(name)} {is_so}, expected {text}"
        yield finding("output", "output", False, message, expected=text, actual=actual, **more)
    if not wrong:
        yield finding("output", "output", True, "the typed answer is the expected one", **more)


def check_replies(run: Run) -> Iterable[Finding]:
    """Give a finding for each expected reply.

    Raise `PatternBoundError` where a pattern takes too long on a text.
    """
    heard = _heard(run)
    for number, wanted in enumerate(run.scenario.replies):
        which = {"any": "any reply", "last": "the last reply"}.get(str(wanted.turn))
        which = which or f"the reply of the agent's turn {wanted.turn}"
        asked = _chosen(heard, wanted)
        found = [(turn, text, list(_wrong(text, wanted))) for turn, text in asked]
        turn, text, wrong = next((one for one in found if not one[2]), found[-1] if found else (None, "", ["missing"]))
        if not found:
            count = f"it had {len(heard)}" if heard else "it never replied"
            message = f"there is no {which.removeprefix('the ')}: {count}"
        elif wrong:
            message = f"{'no reply fits; the last one' if wanted.turn == 'any' else which} {' and '.join(wrong)}"
        else:
            message = f"{which} is as expected"
        actual = value_text(shorten(text, _WIDTH)) if found and wrong else None
        yield finding(f"replies.{number}", "replies", not wrong, message, turn=turn, actual=actual)


def _heard(run: Run) -> list[tuple[int, str]]:
    """Give (turn, what the user read in it) of each of the agent's turns."""
    turns: dict[int, list[str]] = {}
    for turn, message in zip(run.transcript.turns, run.transcript.messages, strict=True):
        if message.role == "assistant":
            turns.setdefault(turn, []).extend([message.text] if message.text.strip() and not message.tool_calls else [])
    return [(turn, "\n".join(texts)) for turn, texts in turns.items()]


def _chosen(heard: list[tuple[int, str]], wanted: ExpectedReply) -> list[tuple[int, str]]:
    if wanted.turn == "any":
        return heard
    return heard[-1:] if wanted.turn == "last" else heard[wanted.turn - 1 : wanted.turn]


def _wrong(text: str, wanted: ExpectedReply) -> Iterator[str]:
    if wanted.contains is not None and wanted.contains.lower() not in text.lower():
        yield f"does not contain {value_text(wanted.contains)}"
    if wanted.matches is not None and not pattern(wanted.matches).search(text):
        yield f"does not match {value_text(wanted.matches)}"
    if wanted.max_words is not None and (words := len(text.split())) > wanted.max_words:
        yield f"has {count(words, 'word')}, allowed: {wanted.max_words}"
    if wanted.json_schema is not None and (misfit := _misfit(text, wanted.json_schema)):
        named = f" of {wanted.json_file}" if wanted.json_file else ""
        yield f"does not fit the JSON Schema{named}: {cut(misfit, _WIDTH)}"


def _misfit(text: str, schema: Mapping[str, Any]) -> str:
    try:
        return schema_misfit(json.loads(text), schema)
    except (ValueError, RecursionError) as error:
        return f"it is no JSON ({error})"


def check_communicate(run: Run) -> Iterable[Finding]:
    """Give a finding for each info that had to be communicated: of several sessions, in the last one."""
    texts, locale = run.transcript.texts("assistant"), run.scenario.language or "en"
    if last := len(run.scenario.sessions):
        texts = [(index, text) for index, text in texts if run.transcript.messages[index].session == last]
    for info in run.scenario.communicate_info:
        place = next((index for index, text in texts if is_said(info, text, locale)), None)
        turn, said = (None, "never said") if place is None else (run.transcript.turns[place], "said")
        message = f"the agent {said} {value_text(info)}"
        yield finding("communicate", "communicate", turn is not None, message, turn=turn, expected=value_text(info))


def is_said(info: str, text: str, locale: str) -> bool:
    """Whether a text of the agent says an info: a date or a time in any spelling, a short number in words too."""
    number = plain(info)
    if is_moment(info) and states(info.strip(), text, locale):
        return True
    if says(info, text) or (number.isdecimal() and len(number) <= _DIGITS and states(int(number), text, locale)):
        return True
    return says_in_figures(info, text, locale)
