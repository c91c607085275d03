"""What τ² tells its simulated user in prose, with names: from structure, and in no language in particular.

A value has the names under which calls, initial data and examples of tools hold the same value or one of the same form,
and the words before it that such names consist of.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pytest_agentbench.core.ids import Scalar, clipped, named_values, shape
from pytest_agentbench.core.names import IDENTIFIERS, words_of
from pytest_agentbench.core.scenario import Instructions, Scenario
from pytest_agentbench.core.spoken import plain, states
from pytest_agentbench.core.tool import Toolset

_WHOLE = r"(?:\w|[-./\\+&#‐‑–](?=\w)|(?<=\d)[:,](?=\d))"
"""One sign of a token: letters, digits, and the marks that join them."""
_VALUE = re.compile(
    r"(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.-]*\w"
    rf"|(?<!\w)(?<!\w[-./\\+&#‐‑–])(?<!\d[:,])[-+#]?(?={_WHOLE}*\d){_WHOLE}+"
    r"|(?<=\w )[A-Z]\w*(?: [A-Z]\w*)+"
)
"""E-mail addresses, whole tokens with a digit, and two or more words in a row with capitals, but at the beginning."""
_JOINED = re.compile(r"[/&]")
_LETTERS = re.compile(r"[^\W\d_]+")
_EXAMPLE = re.compile(r"['\"“‘`]([^\s'\"”’`]{2,40})['\"”’`]")
_BEFORE = 4
"""Words before a value that may be its name."""
_REACH = 200
"""Characters before a value in which these words stand."""
_SHORT = 2
"""Letters up to which a word is a value only as it is written."""
_DESCRIBED = 1_000
"""Characters of a description that are searched for examples."""

Named = tuple[str, Scalar]
"""A name and a value that it stands for, "" where none is known."""


def known_values(scenario: Scenario, toolset: Toolset) -> tuple[tuple[Scalar, tuple[str, ...]], ...]:
    """Give the values that a scenario's known info states, each with the names by which it may be asked for."""
    told = scenario.task.user_scenario.instructions if scenario.task.user_scenario else None
    text = clipped(told.known_info or "") if isinstance(told, Instructions) else ""
    if not text:
        return ()
    labels = _labels(scenario, toolset)
    text = _told_apart(text, labels)
    stated = [(value, [name]) for name, value in labels if value != "" and _is_told(value, text)]
    values: dict[str, tuple[Scalar, list[str]]] = {}
    for value, names in [*stated, *_in_prose(text, labels, [value for value, _ in stated])]:
        values.setdefault(plain(str(value)), (value, []))[1].extend(names)
    return tuple((value, tuple(dict.fromkeys(names))) for value, names in values.values())


def _labels(scenario: Scenario, toolset: Toolset) -> tuple[Named, ...]:
    """Give the names of values in the calls that a scenario expects, in what it starts from and in its tools."""
    initial = scenario.task.initial_state
    sources: list[Any] = [call.arguments for way in scenario.ways for call in way.expected_calls]
    if initial is not None:
        sources += [action.get("arguments") for action in initial.initialization_actions or ()]
        sources.append(initial.initialization_data)
    found = [(name, value) for source in sources for name, value, _ in named_values(source) if name]
    for name, schema in (pair for spec in toolset for pair in (spec.parameters.get("properties") or {}).items()):
        described = schema.get("description") if isinstance(schema, dict) else None
        examples = _EXAMPLE.findall(described[:_DESCRIBED]) if isinstance(described, str) else []
        found += [(name, example) for example in examples or [""]]
    return tuple(dict.fromkeys(found))


def _told_apart(text: str, labels: Sequence[Named]) -> str:
    """Give the text with ids of known forms apart that a slash or an ampersand joins, unless all of it has such a form.

    A date has no letters, and the parts of a path are no such ids.
    """
    forms = {form for _, value in labels if (form := _id_form(str(value)))}

    def apart(match: re.Match[str]) -> str:
        parts = _JOINED.split(match[0])
        are_ids = len(set(parts)) == len(parts) and all(_id_form(part) in forms for part in parts)
        return " & ".join(parts) if are_ids and _id_form(match[0]) not in forms else match[0]

    return _VALUE.sub(apart, text)


def _id_form(text: str) -> str:
    """Give the form of what has letters and digits, "" for anything else."""
    word = plain(text).lstrip("#")
    return shape(word) if _LETTERS.search(word) else ""


def _is_told(value: Scalar, text: str) -> bool:
    """Whether prose states a value; a short word counts as it is written alone (the name *Li*, not *no*).

    What is only a part of a longer token is none: neither 11 nor *B* is told by `B-11`.
    """
    word, wanted = str(value), plain(str(value)).lstrip("#")

    def kept(match: re.Match[str]) -> str:
        token = plain(match[0]).lstrip("#")
        return " " if " " not in token and wanted in token and wanted != token else match[0]

    is_word = len(word) > _SHORT or (not word.islower() and word in text)
    return is_word and states(value, text) and states(value, _VALUE.sub(kept, text))


def _in_prose(text: str, labels: Sequence[Named], told: Iterable[Scalar]) -> Iterator[tuple[str, list[str]]]:
    """Give each e-mail address, id, number and proper name of a text that its form or the words before it name.

    What stands inside a value of several words that is `told` is a part of that.
    """
    forms = [(name, form) for name, value in labels if (form := shape(plain(str(value))))]
    vocabulary = IDENTIFIERS.union(*(words_of(name) for name, _ in labels))
    for whole in {str(value) for value in told if " " in str(value).strip()}:
        text = text.replace(whole, " " * len(whole))
    for line in re.split(r"[\n;]|\.\s", text):
        for match in _VALUE.finditer(line):
            form = shape(plain(match[0]))
            names = [name for name, other in forms if other == form] + (["email"] if form == "@" else [])
            names += _words_before(line[max(match.start() - _REACH, 0) : match.start()], vocabulary)
            if names:
                yield match[0], names


def _words_before(text: str, vocabulary: frozenset[str]) -> list[str]:
    """Give the closest words of the vocabulary before a value, with the word before where they say just *number*."""
    words = _LETTERS.findall(text)[-_BEFORE:]
    ends = [at + 1 for at, word in enumerate(words) if plain(word) in vocabulary]
    if not ends:
        return []
    start = ends[-1] - 1
    while start and plain(words[start - 1]) in vocabulary:
        start -= 1
    if start and all(plain(word) in IDENTIFIERS for word in words[start : ends[-1]]):
        start -= 1
    return [" ".join(words[start : ends[-1]])]
