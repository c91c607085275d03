"""A scenario on one screen or static page: what its user says, its rows, what a right run calls, what must fail."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.json_values import JsonValue, to_json
from pytest_agentbench.core.names import count
from pytest_agentbench.core.scenario import ExpectedCall, Scenario
from pytest_agentbench.core.spoken import says
from pytest_agentbench.core.text import printable
from pytest_agentbench.generation.review import Reviewed, Row, Surroundings, rows_of
from pytest_agentbench.report.table import Glyphs, cells, wrap

MOST_WRONG = 6
"""Wrong runs that are shown."""

MOST_NAMED = 20
"""Rows that are named where there is no room for their values."""

_NARROW = 90
"""Cells from which lines and calls stand side by side."""

_WIDE = 130
"""Cells from which rows and wrong runs do: a row on one line is read at a glance."""


class Part(Model):
    """One of the four parts: its title and its lines."""

    title: str
    lines: tuple[str, ...]


class View(Model):
    """What a reviewer sees; `facts` are the lines about user and policies, `parts` the four of the screen."""

    id: str
    title: str
    place: str
    state: str
    facts: tuple[str, ...]
    parts: tuple[Part, ...]


def view_of(one: Reviewed, around: Surroundings) -> View:
    """Give all that there is to see of a scenario."""
    scenario = one.scenario
    return View(
        id=scenario.id,
        title=scenario.title if scenario.title != scenario.id else "",
        place=f"{one.file}:{scenario.line}",
        state=_state(one),
        facts=tuple(_facts(scenario, around)),
        parts=(
            Part(title="the user says", lines=tuple(_says(scenario))),
            Part(title="a right run", lines=tuple(_right(scenario, around))),
            Part(title="it starts from", lines=tuple(_starts(scenario, around))),
            Part(title="a wrong run that must fail", lines=tuple(_wrong(scenario))),
        ),
    )


def screen(view: View, which: str, marks: Glyphs, width: int) -> list[str]:
    """Lay a scenario out for a terminal: the parts side by side in pairs, where there is room for two."""
    dot = f" {marks.dot} "
    head = dot.join(marks.plain(part) for part in (which, view.id, view.state, view.place))
    lines = [*wrap(head, width, "  ")]
    lines += [part for text in (view.title, *view.facts) if text for part in wrap(marks.plain(text), width, "  ")]
    for (left, right), least in ((view.parts[:2], _NARROW), (view.parts[3:1:-1], _WIDE)):
        lines.append("")
        lines += _beside(left, right, marks, width) if width >= least else _below((left, right), marks, width)
    return lines


def _beside(left: Part, right: Part, marks: Glyphs, width: int) -> list[str]:
    room = (width - 3) // 2
    columns = [_wrapped(part, marks, room) for part in (left, right)]
    height = max(map(len, columns))
    one, other = ([*column, *[""] * (height - len(column))] for column in columns)
    bar = "│" if marks.unicode else "|"
    padded = (f"{text}{' ' * (room - cells(text))}" for text in one)
    return [f"{first} {bar} {second}".rstrip() for first, second in zip(padded, other, strict=True)]


def _below(parts: Sequence[Part], marks: Glyphs, width: int) -> list[str]:
    return [line for part in parts for line in (*_wrapped(part, marks, width), "")][:-1]


def _wrapped(part: Part, marks: Glyphs, room: int) -> list[str]:
    lines = [part.title.upper()]
    for text in part.lines:
        lines += [piece for line in wrap(marks.plain(text), room, "    ") for piece in _pieces(line, room)]
    return lines


def _pieces(line: str, room: int) -> Iterable[str]:
    """Break what has no blank to break at: nothing that a reviewer judges is cut away."""
    piece = ""
    for char in line:
        if cells(piece + char) > room:
            yield piece
            piece = ""
        piece += char
    yield piece


def _state(one: Reviewed) -> str:
    review = one.scenario.review
    if review is None:
        return "unreviewed"
    if review.state == "lapsed":
        return f"pending, changed since {review.by} accepted it on {review.on}"
    by = f" by {review.by} on {review.on}" if review.by else ""
    return f"{review.state}{by}" + (f": {review.reason}" if review.reason else "")


def _facts(scenario: Scenario, around: Surroundings) -> Iterable[str]:
    user = scenario.task.user_scenario
    persona = (user.persona if user is not None else None) or ""
    said = " ".join(line.words for line in scenario.says)
    if persona and not said:  # else its lines say what a reviewer judges
        yield f"persona: {persona}"
    if more := {name: value for name, value in scenario.knows.items() if not says(_plain(value), said or persona)}:
        held = [value for row in rows_of(scenario, around.state)[0] for value in (row.key, *row.values.values())]
        if rest := {name: value for name, value in more.items() if value not in held}:  # the rows stand below
            yield f"knows{' besides' if len(rest) < len(scenario.knows) else ''}: {_pairs(rest)}"
    if scenario.unknown and not said:
        yield f"does not know: {', '.join(scenario.unknown)}"
    owner = scenario.provenance.get("owner")
    if isinstance(owner, Mapping) and owner:
        yield f"about: {_pairs(owner)}"
    if scenario.policies:
        yield f"policies: {', '.join(scenario.policies)}"


def _says(scenario: Scenario) -> Iterable[str]:
    for number, line in enumerate(scenario.says, 1):
        yield f"{number}  {line.words}" + (f"  [{line.act}]" if line.act else "")
    if not scenario.says:
        yield "nothing is written: a model plays the user by its goal"


def _right(scenario: Scenario, around: Surroundings) -> Iterable[str]:
    for number, way in enumerate(scenario.ways):
        if number:
            yield "or, as right:"
        calls = way.expected_calls
        yield from (_call(call, around) for call in calls)
        if not calls:
            yield "no call" if scenario.states_calls else "the calls are not stated"
    if scenario.communicate_info:
        yield f"tells: {', '.join(scenario.communicate_info)}"
    yield from (f"never: {_call(call, around)}" for call in scenario.never)
    yield from (f"fault: {_value(fault.model_dump(exclude_defaults=True))}" for fault in scenario.faults)


def _call(call: ExpectedCall, around: Surroundings) -> str:
    given = ", ".join(f"{name}={_value(value)}" for name, value in call.arguments.items())
    return f"{call.name}({given})" + ("  [writes]" if call.name in around.writes else "")


def _starts(scenario: Scenario, around: Surroundings) -> Iterable[str]:
    rows, others = rows_of(scenario, around.state)
    yield from (_row(row) for row in rows)
    if others:
        named = ", ".join(f"{row.table} {row.key}".rstrip() for row in others[:MOST_NAMED])
        more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
        yield f"also: {named}{more}"
    if around.told:
        yield around.told
    elif not rows:
        yield "no row holds a value of its calls"


def _row(row: Row) -> str:
    given = {name: value for name, value in row.values.items() if value is not None and str(value) != row.key}
    shown = ", ".join(f"{name} {_plain(value)}".lstrip() for name, value in given.items())
    return f"{row.table}{f' {row.key}' if row.key else ''}: {shown}"


def _plain(value: JsonValue) -> str:
    return value if isinstance(value, str) else _value(value)


def _wrong(scenario: Scenario) -> Iterable[str]:
    """Give the wrong runs that generation proved to fail, then what it says of the policies that have none."""
    runs = scenario.provenance.get("wrong_runs")
    listed = [run for run in runs if isinstance(run, Mapping)] if isinstance(runs, list) else []
    for run in listed[:MOST_WRONG]:
        policy, change, finding = (_plain(run.get(key) or "") for key in ("policy", "change", "finding"))
        yield f"{policy}: {change}" if policy else change
        if finding:
            yield f"  fails by: {finding}"
    if len(listed) > MOST_WRONG:
        yield f"and {len(listed) - MOST_WRONG} more"
    if not listed:
        yield "nothing is done; what the user says is repeated"
    decided = scenario.provenance.get("decided_by")
    broken = {run.get("policy") for run in listed}
    if isinstance(decided, Mapping):
        yield from (f"{policy}, no wrong run: {_plain(how)}" for policy, how in decided.items() if policy not in broken)


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_value(value)}" if name else _value(value) for name, value in values.items())


def _value(value: JsonValue) -> str:
    shown = to_json(value)
    if isinstance(shown, str):
        return f'"{printable(shown)}"'
    if isinstance(shown, dict):
        return "{" + ", ".join(f"{key}: {_value(one)}" for key, one in shown.items()) + "}"
    if isinstance(shown, list):
        return "[" + ", ".join(map(_value, shown)) + "]"
    return "none" if shown is None else str(shown).lower() if isinstance(shown, bool) else str(shown)


_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: #1c2024;
  background: #fff; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 0; overflow-wrap: anywhere; }
nav { columns: 3 16rem; font-size: .85rem; margin-bottom: 2rem; } nav a { display: block; }
section { border: 1px solid #cfd6dd; border-radius: 6px; margin: 0 0 1.5rem; padding: 1rem; break-inside: avoid; }
.muted { color: #59636e; font-size: .85rem; overflow-wrap: anywhere; }
.parts { display: grid; grid-template-columns: repeat(auto-fit, minmax(24rem, 1fr)); gap: .8rem 1.6rem; }
h3 { font-size: .75rem; letter-spacing: .06em; margin: .8rem 0 .2rem; text-transform: uppercase; color: #59636e; }
ul { margin: 0; padding: 0; list-style: none; }
li { white-space: pre-wrap; overflow-wrap: anywhere; padding: .1rem 0 .1rem 1.2rem; text-indent: -1.2rem; }
code { overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) { body { background: #15181b; color: #e2e6ea; } section { border-color: #3a4148; }
  .muted, h3 { color: #9aa4ae; } a { color: #8ab8ff; } }
"""


def review_page(views: Sequence[View], folder: str) -> str:
    """Give the page: a list of contents, then a card a scenario with its four parts side by side."""
    names = "".join(f'<a href="#{_shown(view.id)}">{_shown(view.id)}</a>' for view in views)
    cards = "\n".join(_card(view, folder) for view in views)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Review of {_shown(folder)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{count(len(views), 'scenario')} to review in {_shown(folder)}</h1>\n"
        f"<p>Decide with <code>agentbench review {_shown(folder)}</code>: one key accepts, rejects or edits.</p>\n"
        f"<nav>{names}</nav>\n{cards}\n</body>\n</html>\n"
    )


def _card(view: View, folder: str) -> str:
    facts = "".join(f'<p class="muted">{_shown(text)}</p>' for text in view.facts)
    parts = "".join(
        f"<div><h3>{_shown(part.title)}</h3><ul>{''.join(f'<li>{_shown(line)}</li>' for line in part.lines)}</ul></div>"
        for part in view.parts
    )
    title = f"<p>{_shown(view.title)}</p>" if view.title else ""
    return (
        f'<section id="{_shown(view.id)}"><h2>{_shown(view.id)}</h2>'
        f'<p class="muted">{_shown(view.state)}, {_shown(view.place)}</p>{title}{facts}<div class="parts">{parts}</div>'
        f'<p class="muted"><code>agentbench review {_shown(folder)} --only {_shown(view.id)}</code></p></section>'
    )


def _shown(text: str) -> str:
    return escape(printable(text), quote=True)
