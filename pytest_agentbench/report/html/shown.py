"""Text of agents, tools and models as the page may hold it: harmless to look at, and of bounded length."""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.text import printable
from pytest_agentbench.report.calls import value_text
from pytest_agentbench.report.table import UNICODE
from pytest_agentbench.results.intervals import Interval
from pytest_agentbench.results.table import Row

MOST_TEXT = 6_000
"""Characters of one text that the page holds; the transcript file has the rest."""

MOST_VALUE = 400
"""Characters of one argument of a call."""

# what `printable` would change: nearly no text holds any, and looking at each character takes long
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def shown(text: str, limit: int = MOST_TEXT) -> str:
    """Give `text` with escape sequences dropped and control, bidi and surrogate characters spelt out, cut at `limit`.

    Line ends stay; `\\r\\n` counts as one.
    """
    safe = text[: limit + 1].replace("\r\n", "\n")
    if _UNSAFE.search(safe):
        safe = printable(safe, newlines=True)
    return safe if len(safe) <= limit else safe[:limit] + "…"


def shown_arguments(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Give each argument of a call as JSON on one line."""
    return {shown(str(name), MOST_VALUE): value_text(value, UNICODE, MOST_VALUE) for name, value in arguments.items()}


def number(value: float | None) -> float | None:
    """Give a figure with at most four decimals, or None for one that no page can show."""
    return None if value is None or not math.isfinite(value) else round(value, 4)


def share(row: Row | None) -> JsonValue:
    """Give what passed of how many, the rate and the ends of its interval; None where nothing was scored."""
    if row is None or not row.n:
        return None
    return [row.passed, row.n, number(row.rate), number(row.low), number(row.high)]


def ends(interval: Interval | None) -> JsonValue:
    """Give an estimate with the ends of its interval."""
    return None if interval is None else [number(interval.value), number(interval.low), number(interval.high)]


def script_json(data: JsonValue) -> str:
    """Encode for a script element that nobody executes: ASCII, and without a character that could end the element."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
