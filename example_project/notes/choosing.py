"""Which sections to read first, judged by what the searches showed of them."""

import posixpath
import re
from collections.abc import Collection, Sequence

from notes.library import Library, Passage, Place, failed, passage
from notes.querying import Query
from notes.text import fold, named_by, stems
from notes.wording import answers

RANK, COVERED, HEADED, NAMED, CALLED, TYPED, FAVOURED = 0.6, 1.0, 0.4, 0.3, 0.4, 0.3, 0.8
"""What counts for a section: its rank in the text search, the share of the question's words seen in it, in its heading,
the share of the heading that the question says, being in a note whose name the question says, having what is asked
for, and being in the note that was talked about."""

BEGINS, ENTITLED = 0.5, 0.8
"""What a line counts for that begins with a name the question asks about, and a short title that has it."""

SHORT_TITLE = 3
"""Words of a title that names one thing."""

CONTINUED = 0.3
"""What being in the note of the last answer counts for, where a question does not point at it."""

AGAIN = 0.3
"""What being the very section that was talked about counts for."""

LISTED = 0.8
"""What counts for a section that is called like the things to be listed."""

READ_LINES = 60
"""Lines of a section that are read at first; answers stand near its top more often than not."""

_OPENING = re.compile(r"^\s*(?:(?:[-*+]|\d+[.)])\s+|\|)\s*(?P<mark>[\[(*_`'\"]*)(?P<word>[\w.$@/-]*\w)")

Key = tuple[str, str]


def ranked(hits: Sequence[Place], headed: Sequence[Place], query: Query, *, favour: Sequence[str] = ()) -> list[Place]:
    """Give one place for each section that a search showed, the most promising first.

    `favour` is the path of a note that was talked about, and maybe the title of its section.
    """
    groups: dict[Key, list[Place]] = {}
    for place in (*hits, *headed):
        groups.setdefault((place.path, place.title), []).append(place)
    order = {(place.path, place.title): number for number, place in reversed(list(enumerate(hits)))}
    scored = []
    for number, (key, seen) in enumerate(groups.items()):
        score = RANK / (1 + 0.3 * order[key]) if key in order else 0.0
        score += _judged(seen, query)
        likely = FAVOURED if len(favour) > 1 else CONTINUED
        score += likely * (key[:1] == tuple(favour[:1])) + AGAIN * (key == tuple(favour))
        scored.append((-score, number, seen[0]))
    return [place for _, _, place in sorted(scored, key=lambda item: item[:2])]


def _judged(seen: Sequence[Place], query: Query) -> float:
    strong = set(query.strong) or {""}
    title = query.heard(stems(seen[0].title))
    text = query.heard(stems(" ".join(place.text for place in seen)))
    path = query.heard(stems(seen[0].path.rpartition(".")[0]))
    share = len(strong & (title | text | path)) / len(strong)
    weak = len({*query.weak} & (title | text)) / max(len(query.weak), 1)
    name = set(stems(posixpath.basename(seen[0].path).rpartition(".")[0]))
    whole = query.heard(stems(fold(seen[0].title)))
    named = len(whole & strong) / max(len(whole), 1) if title != name else 0.0
    wanted = set(query.anchors)
    begins = any(
        (strong if marked else wanted).intersection(stems(fold(first)))
        for place in seen
        for first, marked in opening(place.text)
    )
    whole = query.heard(stems(fold(named_by(seen[0].title))))
    entitled = bool(wanted & whole) and len(whole) <= SHORT_TITLE and whole != name
    entitled = entitled and 2 * len(whole & {*query.strong, *query.weak}) > len(whole)
    called = bool(name) and name <= {*query.strong, *query.weak}
    recalled = len({*query.context} & (title | text | path)) / max(len(query.context), 1)
    headed = len({*query.strong, *query.weak} & title) / max(len({*query.strong, *query.weak}), 1)
    typed = bool(query.asked.kind) and any(answers(query.asked.kind, place.text) for place in seen)
    return (
        COVERED * share
        + 0.3 * weak
        + 0.5 * recalled
        + HEADED * headed
        + NAMED * named
        + max(BEGINS * begins, ENTITLED * entitled)
        + CALLED * bool(path.intersection(query.placed))
        + CALLED * called
        + TYPED * typed
        + LISTED * (bool(query.listed) and query.listed in title)
    )


def opening(line: str) -> list[tuple[str, bool]]:
    """Give the first word of an item or of a table's row, and whether it is marked as code; nothing of other lines."""
    found = _OPENING.match(line)
    return [(found["word"], "`" in found["mark"])] if found else []


def read_place(library: Library, place: Place) -> Passage | None:
    """Read the section of a place: the right one of several with its title, and far enough to hold its line."""
    if not place.title:
        return passage(library.call("read_note", file_path=place.path, max_lines=place.line + READ_LINES))
    read = _section(library, place, place.title, READ_LINES)
    if read is None:
        return None
    is_other = place.line < read.first or any(read.last < start <= place.line for start in read.also)
    if read.also and is_other:
        starts = sorted([read.first, *read.also])
        number = max(sum(start <= place.line for start in starts), 1)
        read = _section(library, place, f"{place.title}#{number}", READ_LINES) or read
    if place.line > read.last:
        read = _section(library, place, place.title, place.line - read.first + READ_LINES // 2) or read
    return read


def untried(places: Sequence[Place], tried: Collection[Key]) -> list[Place]:
    """Leave out the sections that were read already."""
    return [place for place in places if (place.path, place.title) not in tried]


def _section(library: Library, place: Place, title: str, lines: int) -> Passage | None:
    text = library.call("read_section", file_path=place.path, section_title=title, max_lines=lines)
    return None if failed(text) else passage(text)
