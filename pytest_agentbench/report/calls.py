"""Tool calls as text, with the argument that differs kept in sight."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from pytest_agentbench.core.json_values import to_json
from pytest_agentbench.core.verdict import CallExplanation
from pytest_agentbench.report.table import Glyphs, cells

_VALUE = 60

_ABSENT = object()


def value_text(value: object, glyphs: Glyphs, width: int = _VALUE) -> str:
    """Show a JSON value on one line, at most `width` cells."""
    if callable(value):
        return glyphs.cut(glyphs.plain(getattr(value, "__qualname__", type(value).__name__)), width)
    return glyphs.cut(glyphs.plain(json.dumps(to_json(value), ensure_ascii=not glyphs.unicode)), width)


def call_text(
    name: str,
    arguments: Mapping[str, Any],
    glyphs: Glyphs,
    *,
    width: int = 10_000,
    first: Collection[str] = (),
    value_width: int = _VALUE,
) -> str:
    """Show a call as `refund(order_id="W1")` in `width` cells: arguments that do not fit become one ellipsis.

    Those named in `first` are kept before others; the order stays.
    """
    shown = {
        str(key): f"{glyphs.plain(str(key))}={value_text(value, glyphs, value_width)}"
        for key, value in arguments.items()
    }
    kept = list(shown)
    droppable = [key for key in reversed(kept) if key not in first]
    head = glyphs.plain(name)

    def text() -> str:
        parts = [shown[key] for key in kept] + ([glyphs.ellipsis] if len(kept) < len(shown) else [])
        return f"{head}({', '.join(parts)})"

    while droppable and cells(text()) > width:
        kept.remove(droppable.pop(0))
    return text()


def explained(call: CallExplanation, glyphs: Glyphs, width: int = 10_000) -> str:
    """Say in one line what became of an expected call, or what another call was."""
    match call.status:
        case "wrong_arguments":
            expected = ", ".join(
                f"{glyphs.plain(name)}={value_text(sides[0], glyphs)}" for name, sides in call.differing.items()
            )
            tail = f"  expected {expected}"
            made = call_text(call.tool, call.actual or {}, glyphs, width=width - cells(tail), first=call.differing)
            return made + tail
        case "matched":
            shown = call.actual or call.expected or {}
            stated = {name: value for name, value in shown.items() if name not in call.left_open}
            tail = left_open(call, glyphs)
            return call_text(call.tool, stated, glyphs, width=max(width - cells(tail), 40)) + tail
        case "tool_failed":
            tail = f" attempted but {glyphs.plain(call.note) or 'failed'}"
            return call_text(call.tool, call.expected or {}, glyphs, width=max(width - cells(tail), 40)) + tail
        case "not_attempted" | "substituted":
            ending = " never called" if call.status == "not_attempted" else " not called"
            tail = ending + (f": {glyphs.plain(call.note)}" if call.note else "")
            return call_text(call.tool, call.expected or {}, glyphs, width=max(width - cells(tail), 40)) + tail
        case _:
            tail = _OTHER[call.status] + (f": {glyphs.plain(call.note)}" if call.note else "")
            return call_text(call.tool, call.actual or {}, glyphs, width=max(width - cells(tail), 40)) + tail


def left_open(call: CallExplanation, glyphs: Glyphs) -> str:
    """Say which values a matched call gave that the expected one leaves open; nothing where there are none."""
    given = ", ".join(f"{glyphs.plain(name)} = {value_text(value, glyphs)}" for name, value in call.left_open.items())
    return f"  left open: {given}" if given else ""


_OTHER = {
    "extra_read": " not needed",
    "extra_write": " not part of the goal",
    "repeated": " repeated",
    "unknown_tool": " is no tool",
}


def beside(call: CallExplanation, glyphs: Glyphs) -> list[str]:
    """Show expected above called, with a line of carets under each argument that differs.

    A call that was not made, or failed, has what became of it in the second line.
    """
    turn = f"   turn {call.turn}" if call.turn is not None else ""
    note = glyphs.plain(call.note)
    if call.expected is None:
        return [f"called    {explained(call, glyphs)}{turn}"]
    lines = [f"expected  {call_text(call.tool, call.expected, glyphs)}"]
    if call.status == "tool_failed":
        return [*lines, f"called    {note or 'failed'}{turn}"]
    if call.actual is None or call.status == "substituted":
        return [*lines, f"called    {glyphs.dash}{f'  {note}' if note else ''}{turn}"]
    names = [str(name) for name in call.actual]
    missing = [name for name in call.differing if name not in names]
    head = f"called    {glyphs.plain(call.tool)}("
    text, marks = head, " " * cells(head)
    shown = {**call.actual, **dict.fromkeys(missing, _ABSENT)}
    for index, (name, value) in enumerate(shown.items()):
        label = glyphs.plain(str(name))
        part = f"{label}=<left out>" if value is _ABSENT else f"{label}={value_text(value, glyphs)}"
        text += part
        is_wrong = name in call.differing or (bool(missing) and name not in call.expected)  # given in its place
        marks += ("^" if is_wrong else " ") * cells(part)
        if index < len(shown) - 1:
            text, marks = text + ", ", marks + "  "
    lines.append(f"{text}){turn}")
    if marks.strip():
        lines.append(marks.rstrip())
    if note:
        lines.append(f"          {note}")
    return lines
