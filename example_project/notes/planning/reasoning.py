"""The steps of a plan that need no tool, by rule: choose, answer, follow a link, sum up, compare."""

import posixpath
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from notes.answering import Source
from notes.drafts import Part
from notes.inline import Link
from notes.library import Library, Passage, Place, failed, items, missing, passage, places
from notes.markdown import parse
from notes.overview import outline_summary, passage_summary
from notes.planning.executor import Result
from notes.planning.plan import SubTask
from notes.planning.references import names_in
from notes.querying import POINTED_AT, Query, query
from notes.research import Research, better
from notes.text import stems
from notes.voice import Voice

Step = tuple[str, Any]

LOOKS, MOST_LOOKS = 2, 4
"""Further sections that are read as long as an answer is not certain, and as long as it is not even sound."""

MOST_LINKS = 4
"""Links of a note that are looked into when a question does not say which it means."""


class RuleReasoner:
    """Does steps of thought; its values are the parts of a draft."""

    def __init__(self, library: Library, research: Research, voice: Voice, _goal: str = "") -> None:
        self._library = library
        self._research = research
        self._voice = voice
        self._steps: dict[str, Callable[[SubTask, Mapping[int, Result], int], Step]] = {
            "choose": self._choose,
            "answer": self._answer,
            "link": self._link,
            "overview": self._overview,
            "paths": self._paths,
            "folder": self._folder,
            "compare": self._together,
            "combine": self._together,
        }

    def __call__(self, task: SubTask, needed: Mapping[int, Result], attempt: int) -> Step:
        """Do one step; what came to nothing gives an error text, and its value all the same."""
        step = str(task.parameters.get("step", ""))
        if step not in self._steps:
            return f"Error: there is no step {step!r}; the steps are {', '.join(self._steps)}", None
        return self._steps[step](task, needed, attempt)

    def _choose(self, task: SubTask, needed: Mapping[int, Result], attempt: int) -> Step:
        given = task.parameters
        found = {result.task.tool: result.text for result in needed.values()}
        after = needed.get(int(given.get("after", 0)))
        earlier = names_in(after.text) if after and not after.failed else ""
        searched = _query(task, earlier)
        headed, hits = found.get("search_in_headers", ""), found.get("grep_content", "")
        favour = tuple(map(str, given.get("favour", ())))
        part = self._research.translated(self._research.chosen(searched, headed, hits, favour=favour), favour=favour)
        if not part.candidates:
            return f"Error: nothing was found about {searched.keyword!r}", part
        lines = [f"{place.path}:{place.line}: [{place.title}] {place.text}" for place in part.candidates]
        return "\n".join([f"{len(lines)} sections, the most promising first:", *lines]), part

    def _answer(self, task: SubTask, needed: Mapping[int, Result], attempt: int) -> Step:
        part = _part(needed)
        if part is None or not part.candidates:
            return "Error: there is nothing to read", part
        part = replace(part, label=str(task.parameters.get("label", "")))
        ordinal = int(task.parameters.get("ordinal", 0))
        text = next((result.text for result in needed.values() if result.task.tool), "")
        place = part.candidates[0]
        read = passage(text) if not failed(text) else None
        if read and _holds(read, place):
            tried = part.tried | {(place.path, place.title)}
            part = replace(part, tried=tried, answer=better(part, self._research.extracted(read, part, ordinal)))
        else:
            part = self._research.read_on(part, ordinal=ordinal)
        for _ in range(attempt):
            if not part.found:
                part = self._research.read_on(part, ordinal=ordinal)
        for look in range(MOST_LOOKS):
            if part.answer is None or not (part.answer.certain or (look >= LOOKS and part.answer.sound)):
                part = self._research.read_on(part, ordinal=ordinal)
        if not part.found:
            return f"Error: it does not say anything about {part.query.keyword!r}", part
        return part.said, part

    def _link(self, task: SubTask, needed: Mapping[int, Result], attempt: int) -> Step:
        part = _part(needed)
        wanted = set(stems(f"{task.parameters.get('question', '')} {task.parameters.get('origin', '')}"))
        links = [
            (place, link)
            for result in needed.values()
            if result.task.tool
            for place in places(result.text)
            for link in parse(place.text).links
            if link.kind != "image" and "://" not in link.target and link.target
        ]
        if part is None or not links:
            return "Error: that note has no link to another", part
        ranked = sorted(links, key=lambda item: -_liking(item[0], item[1], wanted))
        leading = [(path, place, link) for place, link in ranked[:MOST_LINKS] if (path := self._listed(place, link))]
        if not leading:
            return f"Error: the links of {links[0][0].path} lead to no note", part
        searched = query(str(task.parameters.get("question", ""))).keyword
        path, place, link = max(leading, key=lambda item: self._held(item[0], searched)) if searched else leading[0]
        text = f"1 link of {place.path}, line {place.line}:\n{path}:1: [{link.part}] {link.text}"
        return text, replace(part, candidates=(Place(path=path, line=1, title=link.part),), answer=None)

    def _held(self, path: str, searched: str) -> int:
        """Count the words of a question that a linked note holds."""
        found = self._library.call("grep_content", keyword=searched, folder=path)
        return len(query(searched).strong) - len(missing(found)) if places(found) else 0

    def _listed(self, place: Place, link: Link) -> str:
        """Give the path of the note that a link leads to, as the vault lists it."""
        joined = posixpath.normpath(posixpath.join(posixpath.dirname(place.path), link.target))
        name = posixpath.basename(link.target).removesuffix(".md")
        listed = items(self._library.call("search_notes", keyword=name))
        for wanted in (joined, f"{joined}.md", link.target, f"{link.target}.md"):
            exact = [path for path in listed if path.lower() == wanted.lower()]
            if exact:
                return exact[0]
        named = [path for path in listed if posixpath.basename(path).lower().removesuffix(".md") == name.lower()]
        return named[0] if named else ""

    def _overview(self, task: SubTask, needed: Mapping[int, Result], attempt: int) -> Step:
        part = _part(needed)
        seen = next((result.text for result in needed.values() if result.task.tool and not result.failed), "")
        if part is None or not part.candidates or not seen:
            return "Error: there is nothing to sum up", part
        place = part.candidates[0]
        read = passage(seen)
        named = set(stems(place.path)) | set(stems(items(seen)[0] if items(seen) else ""))
        whole = bool(task.parameters.get("whole")) or set(part.query.strong) <= named
        if read:
            text, source = passage_summary(read)
        elif whole:
            text, source = outline_summary(place.path, seen)
        else:
            text, source = self._section_summary(place)
        if not text:
            return f"Error: {place.path} has nothing to sum up", part
        return text, replace(part, text=text, sources=(source,))

    def _section_summary(self, place: Place) -> tuple[str, Source]:
        read = passage(
            self._library.call("read_section", file_path=place.path, section_title=place.title, max_lines=60)
        )
        return passage_summary(read) if read else ("", Source(path=place.path))

    def _paths(self, task: SubTask, needed: Mapping[int, Result], attempt: int) -> Step:
        part = _part(needed)
        if part is None or not part.candidates:
            return "Error: no note was found", part
        strong = set(part.query.strong)
        held: dict[str, tuple[int, Place]] = {}
        for place in part.candidates:
            share = len(strong & set(stems(f"{place.path} {place.title} {place.text}")))
            if share > held.get(place.path, (0, place))[0]:
                held[place.path] = (share, place)
        most = max((share for share, _ in held.values()), default=0)
        best = [place for share, place in held.values() if share == most]
        if not best or 2 * most < len(strong):
            return f"Error: no note holds {part.query.keyword!r}", part
        text = "; ".join(f"{place.path} ({place.title})" if place.title else place.path for place in best)
        sources = tuple(Source(path=place.path, title=place.title, first=place.line, last=place.line) for place in best)
        said = self._voice.say("paths", count=len(best), paths=text)
        return said, replace(part, text=said, sources=sources)

    def _folder(self, task: SubTask, needed: Mapping[int, Result], attempt: int) -> Step:
        name = str(task.parameters.get("name", ""))
        listing = next(iter(needed.values())).text
        part = Part(query=query(name or str(task.parameters.get("question", ""))))
        if failed(listing):
            return listing, part
        inside = items(listing)
        notes = [item for item in inside if not item.endswith("/")]
        folders = [item for item in inside if item.endswith("/")]
        said = self._voice.say(
            "folder",
            folder=listing.partition(":")[0],
            notes=len(notes),
            folders=len(folders),
            names="; ".join([*notes, *folders]) or "–",
        )
        return said, replace(part, text=said)

    def _together(self, task: SubTask, needed: Mapping[int, Result], attempt: int) -> Step:
        parts = [result.value for result in needed.values() if isinstance(result.value, Part)]
        found = [part for part in parts if part.found]
        if not found:
            return "Error: none of the parts was found", tuple(parts)
        return "\n".join(part.said for part in found), tuple(parts)


def _query(task: SubTask, earlier: str) -> Query:
    """Make the search of a step; what an earlier answer named stands in for “that X”."""
    given = task.parameters
    text = str(given.get("question", ""))
    text = POINTED_AT.sub(lambda _: earlier, text) if earlier else text
    return query(text, context=str(given.get("context", "")), scope=str(given.get("scope", "")))


def _part(needed: Mapping[int, Result]) -> Part | None:
    return next((result.value for result in needed.values() if isinstance(result.value, Part)), None)


def _holds(read: Passage, place: Place) -> bool:
    return read.path == place.path and read.first <= place.line <= read.last


def _liking(place: Place, link: Link, wanted: set[str]) -> float:
    """Prefer the link that says, or stands in a line that says, what is asked for."""
    return 2 * len(wanted & set(stems(f"{link.text} {link.target}"))) + len(wanted & set(stems(place.text)))
