"""Invention: the reply holds a value that neither the scenario nor the conversation ever gave the user."""

import re
from collections.abc import Iterable, Iterator
from datetime import date, timedelta

from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.values import JsonValue, to_json
from pytest_agentbench.users.llm.draft import Draft
from pytest_agentbench.users.llm.guards.values import date_form, flat, number_form, values_of
from pytest_agentbench.users.shapes import dates

_NUMERIC_DATE = re.compile(r"(?<!\d)(\d{1,2})[/.-](\d{1,2})(?!\d)")
_DAY = re.compile(r"(?<![\w$€£])(\d{1,2})(?:st|nd|rd|th|er)?(?!\w)")
_LEAP_YEAR = 2024
_DERIVED = 7
"""Days around a known date that are derived from it."""

_NUMBER = re.compile(r"(?<![\w])\d+[a-zA-Z]?(?!\w)")


def invention(view: View, draft: Draft) -> str | None:
    """Find an identifier, number, code, e-mail address, date, street number or own name that the user cannot know.

    Known is what persona, goal, lines, values, unknown info and instructions hold, what its tools returned or take,
    and all that either party said before, in any spelling, in part ("ending in 8902") and, of dates, up to a week
    around. Amounts of money, quantities, measures, years and times are not looked at: people estimate them.
    """
    found = list(values_of(draft.text))
    if not found:
        return None
    texts = list(_texts(view))
    whole = flat("\n".join(texts))
    needs_forms = any(form.startswith("\0") for value in found for form in value.forms)
    forms = _forms(texts) if needs_forms else frozenset[str]()
    for value in found:
        if not any(form in forms if form.startswith("\0") else form in whole for form in value.forms):
            return f"{value.text!r} is neither in your notes nor in the conversation; say that you do not know it"
    return None


def _forms(texts: Iterable[str]) -> frozenset[str]:
    """Collect the dates and the numbers that stand alone."""
    forms: set[str] = set()
    for text in texts:
        named = dates(text)
        days = {int(day) for day in _DAY.findall(text)} if named else set()  # "between May 16 and 20" holds May 20
        for month, day in named:
            forms.update(date_form(month, other) for other in days)
            forms.update(_around(month, day))
        forms.update(date_form(int(first), int(second)) for first, second in _NUMERIC_DATE.findall(text))
        forms.update(number_form(number) for number in _NUMBER.findall(text))
    return frozenset(forms)


def _around(month: int, day: int) -> Iterator[str]:
    """Give the dates that a person derives from a known one: the next day, a week later."""
    try:
        known = date(_LEAP_YEAR, month, day)
    except ValueError:  # the 31st of June stands in a text, too
        return
    for days in range(-_DERIVED, _DERIVED + 1):
        other = known + timedelta(days=days)
        yield date_form(other.month, other.day)


def _texts(view: View) -> Iterator[str]:
    yield from (view.persona or "", view.goal, *view.says, view.known_info, *view.unknown, view.task_instructions)
    yield from _leaves(to_json(view.knows))
    for message in view.messages:
        yield message.text
        for call in message.tool_calls:
            yield from _leaves(to_json(call.arguments))
    for tool in view.tools:
        yield tool.description
        yield from _leaves(to_json(tool.parameters))


def _leaves(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    else:
        yield str(value)
