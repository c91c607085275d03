"""The rule-based planner: for each kind of question the sub-tasks that answer it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from notes.choosing import READ_LINES
from notes.ellipsis import code_names
from notes.memory.referring import subject_of
from notes.planning.plan import Plan, SubTask
from notes.querying import POINTED_AT, query
from notes.question import Kind, Question
from notes.text import fold, key_words

MANY = 60
"""Lines that a search for all notes about something may show."""


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What else a plan depends on: words and note of what was said before, and how notes are read."""

    sections: bool = True
    context: str = ""
    favour: tuple[str, ...] = ()
    scope: str = ""
    recalled: str = ""
    """What memory recalls for a model to read; rules need no more than the words above."""


def make_plan(question: Question, situation: Situation) -> Plan:
    """Plan a question; the last sub-task holds the answer."""
    steps = _Steps(situation)
    _PLANNED[question.kind](steps, question)
    return Plan(goal=question.text, subtasks=tuple(steps.tasks))


@dataclass
class _Steps:
    situation: Situation
    tasks: list[SubTask] = field(default_factory=list)

    def tool(self, name: str, description: str, needs: Sequence[int] = (), outcome: str = "", **parameters: Any) -> int:
        """Add a step that calls a tool and give its number."""
        return self._add(name, description, needs, outcome, parameters)

    def think(self, step: str, description: str, needs: Sequence[int], **parameters: Any) -> int:
        """Add a step of thought and give its number."""
        return self._add(None, description, needs, "", {"step": step, **parameters})

    def _add(
        self, tool: str | None, description: str, needs: Sequence[int], outcome: str, parameters: dict[str, Any]
    ) -> int:
        number = len(self.tasks) + 1
        task = SubTask(
            id=number,
            description=description,
            tool=tool,
            parameters=parameters,
            dependencies=tuple(needs),
            expected_outcome=outcome,
        )
        self.tasks.append(task)
        return number

    def choice(
        self, text: str, *, context: str, scope: str = "", needs: Sequence[int] = (), after: int = 0, **more: Any
    ) -> int:
        """Add the searches for one question and the choice of a section among what they find.

        `after` is a step whose answer names what the question is about: its names are searched for as well.
        """
        situation = self.situation
        scope = scope or situation.scope
        searched = query(text, context=context)
        where = {"folder": scope} if scope else {}
        about = f"what is about {searched.keyword!r}"
        keyword = f"{searched.keyword} from_task_{after}" if after else searched.keyword
        needs = [*needs, after] if after else needs
        found = []
        if situation.sections:
            found.append(self.tool("search_in_headers", f"Find headings on {about}", needs, keyword=keyword, **where))
        found.append(self.tool("grep_content", f"Find lines on {about}", needs, keyword=keyword, **where, **more))
        asking = {"question": text, "context": context, "scope": scope, **({"after": after} if after else {})}
        found = [*found, after] if after else found
        return self.think("choose", "Choose the most promising section", found, favour=situation.favour, **asking)

    def reading(self, choice: int) -> int:
        """Add the reading of what was chosen."""
        place = f"from_task_{choice}"
        if self.situation.sections:
            return self.tool(
                "read_section",
                "Read that section",
                [choice],
                "the lines that answer",
                file_path=place,
                section_title=place,
                max_lines=READ_LINES,
            )
        return self.tool("read_note", "Read that note", [choice], "the lines that answer", file_path=place)

    def fact(self, text: str, *, context: str, ordinal: int = 0, label: str = "", **search: Any) -> int:
        """Add everything that one fact takes."""
        choice = self.choice(text, context=context, **search)
        read = self.reading(choice)
        return self.think(
            "answer", "Take the answer out of it", [choice, read], question=text, ordinal=ordinal, label=label
        )


def _fact(steps: _Steps, question: Question) -> None:
    steps.fact(question.parts[0], context=steps.situation.context, ordinal=question.ordinal)


def _compare(steps: _Steps, question: Question) -> None:
    labels = _labels(question.parts)
    sides = [
        steps.fact(part, context=steps.situation.context or _other_side(part, label, other), label=label)
        for part, label, other in zip(question.parts, labels, reversed(labels), strict=True)
    ]
    steps.think("compare", "Set the sides against each other", sides)


def _other_side(part: str, label: str, other: str) -> str:
    """Give the other side as context where only the difference is asked for: one section may tell of both."""
    searched = query(part)
    return other if not searched.asked.kind and set(searched.strong) <= set(query(label).strong) else ""


def _several(steps: _Steps, question: Question) -> None:
    """Later parts may leave the subject to the first, “What is X, who made it?”, or ask about its answer: “that X”."""
    first = question.parts[0]
    answers = [steps.fact(first, context=steps.situation.context)]
    for part in question.parts[1:]:
        if POINTED_AT.search(part):
            answers.append(steps.fact(part, context="", after=answers[0]))
        else:
            named = subject_of(first) if code_names(first) else first
            answers.append(steps.fact(part, context="" if query(part).anchors else named))
    steps.think("combine", "Put the answers together", answers)


def _follow(steps: _Steps, question: Question) -> None:
    origin, wanted = question.parts
    choice = steps.choice(origin, context=steps.situation.context)
    note = f"from_task_{choice}"
    wiki = steps.tool("grep_content", "Find its wiki links", [choice], keyword="[[", folder=note)
    plain = steps.tool("grep_content", "Find its Markdown links", [choice], keyword="](", folder=note)
    link = steps.think("link", "Choose the link", [choice, wiki, plain], question=wanted, origin=origin)
    target = f"from_task_{link}"
    if not key_words(query(wanted).keyword) or _only_says(wanted):
        outline = steps.tool("get_headers_with_preview", "See what the linked note holds", [link], file_path=target)
        steps.think("overview", "Sum it up", [link, outline], question=wanted, whole=True)
        return
    steps.fact(wanted, context="", scope=target, needs=[link])


def _overview(steps: _Steps, question: Question) -> None:
    text = question.parts[0]
    choice = steps.choice(text, context=steps.situation.context)
    chosen = f"from_task_{choice}"
    if steps.situation.sections:
        seen = steps.tool("get_headers_with_preview", "See what the note holds", [choice], file_path=chosen)
    else:
        seen = steps.tool("read_note", "Read the note", [choice], file_path=chosen)
    steps.think("overview", "Sum it up", [choice, seen], question=text, whole=False)


def _where(steps: _Steps, question: Question) -> None:
    text = question.parts[0]
    choice = steps.choice(text, context=steps.situation.context, max_results=MANY)
    steps.think("paths", "Name the notes", [choice], question=text)


def _folder(steps: _Steps, question: Question) -> None:
    name = folder_named(question.text)
    listing = steps.tool("list_folder", "List the folder", folder=name)
    steps.think("folder", "Say what it holds", [listing], question=question.text, name=name)


_PLANNED: dict[Kind, Callable[[_Steps, Question], None]] = {
    Kind.FACT: _fact,
    Kind.COMPARE: _compare,
    Kind.SEVERAL: _several,
    Kind.FOLLOW: _follow,
    Kind.OVERVIEW: _overview,
    Kind.WHERE: _where,
    Kind.FOLDER: _folder,
}

_FOLDER_WORDS = {"folder", "folders", "directory", "dossier", "dossiers", "repertoire"}
_NOT_NAMES = {
    "many",
    "subfolders",
    "contain",
    "contains",
    "contient",
    "liste",
    "list",
    "contenu",
    "content",
    "contents",
}


def folder_named(text: str) -> str:
    """Give the folder that a question names: what is quoted, follows “folder” or stands before it; "" for none."""
    quoted = [part for mark in "\"'`" for part in text.split(mark)[1:2]]
    if quoted and text.count("'") != 1:
        return quoted[0].strip()
    pieces = text.replace("?", " ").replace(",", " ").split()
    names = {fold(piece).strip(".!:") for piece in pieces}
    for number, piece in enumerate(pieces):
        if fold(piece).strip(".!:") not in _FOLDER_WORDS:
            continue
        for near in (pieces[number + 1 : number + 2], pieces[max(number - 1, 0) : number]):
            if near and key_words(near[0]) and not set(key_words(near[0])) & (_NOT_NAMES | _FOLDER_WORDS):
                return near[0].strip(".!:")
    found = [piece for piece in pieces[1:] if piece[:1].isupper()] if not names & _FOLDER_WORDS else []
    return found[-1].strip(".!:") if found else ""


def _labels(parts: Sequence[str]) -> list[str]:
    """Name the sides of a comparison by what the other does not say."""
    pieces = [part.split() for part in parts]
    common = 0
    while all(len(words) > common for words in pieces) and len({words[common] for words in pieces}) == 1:
        common += 1
    return [" ".join(words[common:]).strip("?.! ") or part for words, part in zip(pieces, parts, strict=True)]


def _only_says(text: str) -> bool:
    return not [word for word in key_words(text) if word not in {"contain", "contains", "contient", "note", "linked"}]
