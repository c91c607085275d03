"""What a user says of a call's arguments: a name instead of an identifier, coordinates at once, languages by name."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_agentbench.core.values import JsonValue, is_number
from pytest_agentbench.generation._reading.kinds import humanize
from pytest_agentbench.generation.tools.values import Card, Handle
from pytest_agentbench.generation.tools.wording.agreeing import is_several, singular
from pytest_agentbench.generation.tools.wording.calendar import is_date
from pytest_agentbench.generation.tools.wording.phrasing import is_prose, label_of, name_of, value_text
from pytest_agentbench.generation.tools.wording.tongue import Tongue

_NOUN = 3
"""Words that the name of a thing has at most."""


@dataclass(frozen=True, kw_only=True)
class Said:
    """One thing that is said: the arguments it is for, their name in words, the value in words.

    `noun` is what an identifier is of (`number of a room`: room), `others` are further words for it, from the
    argument's own name and from its label. A noun that is joined to its identifier (`room number`) may stand for
    something else where a text speaks of `the room`: it `is_joined`. `is_one` marks the only entry of a list, `joint`
    is the preposition that an argument is named by (`from`). `by` is what an identifier is of where another thing goes
    by it (`numéro de dossier de la famille`). A handle stands for an identifier (`is_handle`), a pair for two languages
    (`is_pair`). `forms` are further spellings of the value that say the same. `text` is "" for arguments that are taken
    from a result.
    """

    paths: tuple[str, ...]
    label: str
    text: str = ""
    noun: str = ""
    others: tuple[str, ...] = ()
    article: str = ""
    is_position: bool = False
    is_amount: bool = False
    is_more: bool = False
    is_language: bool = False
    is_pair: bool = False
    is_handle: bool = False
    is_identity: bool = False
    is_joined: bool = False
    is_name: bool = False
    is_date: bool = False
    is_truth: bool = False
    is_one: bool = False
    joint: str = ""
    by: str = ""
    forms: tuple[str, ...] = ()


def said_of(card: Card, given: Mapping[str, JsonValue], handle: Handle | None, tongue: Tongue) -> list[Said]:
    """Give what a user says for the arguments `given`, and for those that a handle stands for."""
    left = {path: value for path, value in given.items() if handle is None or path not in handle.replaces}
    found: list[Said] = []
    if handle is not None:
        label = name_of(handle.path, handle.described, tongue)
        replaced = named(card, handle.replaces, tongue)[0]
        text = value_text(handle.value, tongue)
        thing = _found_by(handle.tool)
        nouns = (thing, *(noun for noun in (replaced.noun, *replaced.others) if noun != thing))
        replaced = _with(replaced, label=label, text=text, is_name=True, is_handle=True, paths=handle.replaces)
        found.append(
            _with(replaced, noun=nouns[0], others=nouns[1:]) if thing and not replaced.is_position else replaced
        )
    for one in named(card, tuple(left), tongue):
        texts = [_text(card, path, left[path], tongue) for path in one.paths]
        forms = tuple(value_text(left[path], tongue).strip('"') for path in one.paths)
        if one.is_position and len(texts) > 1:
            labels = [label_of(card, path, tongue) for path in one.paths]
            text = ", ".join(f"{label} {said}" for label, said in zip(labels, texts, strict=True))
        else:
            text = tongue.joined.join(texts)
        first = left[one.paths[0]]
        one = _with(one, label=_chosen(one.label, first))  # noqa: PLW2901 - the same one, told better
        if _is_single(one.paths[0], first) and tongue.code == "en":
            one = _as_one(one)  # noqa: PLW2901 - same
        if one.label in tongue.units and is_number(first):
            one = _with(one, noun=one.label, is_amount=True)  # noqa: PLW2901 - `days: 3` is three days
        elif is_number(first) and tongue.code == "en" and _counts(one, tongue):
            few = singular(one.label) if first == 1 else one.label
            one, text = _with(one, joint="with"), f"{text} {few}"  # noqa: PLW2901 - `guests: 2` is with two guests
        found.append(
            _with(
                one,
                text=text,
                forms=forms,
                is_name=_is_words(first),
                is_date=is_date(first),
                is_truth=isinstance(first, bool),
            )
        )
    return found


def named(card: Card, paths: Sequence[str], tongue: Tongue) -> list[Said]:
    """Name arguments, two coordinates as one thing."""
    position = [path for path in paths if _last(path) in tongue.position_words]
    if len(position) < 2:
        position = []
    found = list(_each(card, [path for path in paths if path not in position], tongue))
    if tongue.code == "en":
        found = [_as_one(one) if one.paths[0].endswith(".*") else one for one in found]
    if position:
        label = tongue.joined.join(label_of(card, path, tongue) for path in position)
        found.append(Said(paths=tuple(position), label=label, is_position=True))
    return found


def mentioned(said: Said) -> str:
    """Say a value apart from a request: names and dates alone, anything else behind what it is of."""
    is_quoted = said.text.startswith('"')
    if (
        (said.is_name and not (is_quoted and is_prose(said.text)))
        or said.is_date
        or said.is_position
        or said.is_language
    ):
        return said.text
    if said.is_amount:
        return f"{said.text} {counted(said)}"
    noun = said.label if said.is_joined else said.noun
    return f"{noun} {said.text}" if 0 < len(noun.split()) <= _NOUN and not is_quoted else ""


def counted(said: Said) -> str:
    """Give what is counted, in the singular where it is one."""
    return said.noun[:-1] if said.text == "1" and said.noun.endswith("s") else said.noun


def _is_single(path: str, value: JsonValue) -> bool:
    """Whether a value is the only one of a list."""
    return (isinstance(value, list) and len(value) == 1) or path.endswith(".*")


def _counts(said: Said, tongue: Tongue) -> bool:
    """Whether an argument is named by what is counted: `guests`, `context lines`."""
    words = said.label.split()
    is_plain = len(words) <= _NOUN and not tongue.questions & set(words) and not said.is_identity
    return is_plain and is_several(said.label) and not said.is_amount


def _as_one(said: Said) -> Said:
    """Name the only entry of a list in the singular."""
    return _with(said, label=singular(said.label), noun=singular(said.noun), is_one=True)


def _found_by(tool: str) -> str:
    """Name what a look-up finds by its own name: `find_owner`, `trouver_lecteur`."""
    spelt = humanize(tool).split()
    thing = spelt[-1] if len(spelt) == 2 else ""
    return thing[:-1] if thing.endswith("s") and not thing.endswith("ss") else thing


def _chosen(label: str, value: JsonValue) -> str:
    """Take the half of `surname or email` that a value is."""
    halves = re.split(r" or | ou ", label)
    if len(halves) != 2 or not isinstance(value, str) or any(len(half.split()) > 2 for half in halves):
        return label
    kinds = ("mail", "courriel") if "@" in value else ("phone", "number", "code", "numéro", "téléphone", "id")
    if "@" in value or any(char.isdigit() for char in value):
        return next((half for half in halves if any(kind in half for kind in kinds)), label)
    return next((half for half in halves if not any(kind in half for kind in (*kinds, "mail", "courriel"))), label)


def _each(card: Card, paths: Sequence[str], tongue: Tongue) -> Iterator[Said]:
    for path in paths:
        label = label_of(card, path, tongue)
        core = tongue.relative.sub("", label)
        plain = Said(paths=(path,), label=label, others=_others(path, core, tongue))
        words = core.split()
        own = humanize(path.rsplit(".", 1)[-1]).lower()
        if is_language(card, path, label, tongue):
            yield _with(plain, is_language=True)
        elif own in tongue.prepositions and _is_day(card, path, label, tongue):
            yield _with(plain, joint=own, noun="day")
        elif label in tongue.prepositions:
            yield _with(plain, joint=label, noun=_thing_at(card, path, tongue))
        elif counted := tongue.amount.match(label):
            more = counted.groupdict()
            yield _with(plain, noun=counted["noun"], is_amount=True, is_more=bool(more.get("more") or more["after"]))
        elif tongue.joining & set(words):
            yield plain
        elif parts := tongue.of_noun.match(core):
            head = set(parts["head"].lower().split())
            article = (parts.groupdict().get("article") or "").replace("’", "'")
            if head & tongue.date_label:  # the day of a thing is a day
                yield _with(plain, noun=parts["head"].split()[0], others=(*plain.others, parts["noun"]))
                continue
            is_identity = bool(head & tongue.identifying)
            by = tongue.number_of_other.match(parts["head"]) if is_identity else None
            yield _with(plain, noun=parts["noun"], article=article, is_identity=is_identity, by=by["by"] if by else "")
        elif len(words) > 1 and words[-1].lower() in tongue.identifying and tongue.code == "en":
            is_of_people = words[-2].lower() in tongue.people_words
            noun = "" if is_of_people else " ".join(words[:-1])
            yield _with(plain, noun=noun, is_identity=not is_of_people, is_joined=True)
        elif words and words[0].lower() in tongue.questions:
            yield plain
        else:
            noun = core if len(words) <= _NOUN else ""
            spelt = own.split()
            is_code = len(spelt) > 1 and spelt[-1] in tongue.identifying and noun.lower().split()[-1:] == spelt[-2:-1]
            yield _with(plain, noun=noun, is_identity=is_code)


def is_language(card: Card, path: str, label: str, tongue: Tongue) -> bool:
    """Whether an argument is a language: it is called so, or takes nothing but codes of languages."""
    schema = next((one.schema_ for one in card.parameters if one.path == path), {})
    codes = schema.get("enum")
    is_closed = isinstance(codes, list) and len(codes) > 1 and all(str(code) in tongue.languages for code in codes)
    return is_closed or tongue.language_label.search(label) is not None


def _is_day(card: Card, path: str, label: str, tongue: Tongue) -> bool:
    """Whether an argument is a day: its format says so, or its name."""
    schema = next((one.schema_ for one in card.parameters if one.path == path), {})
    return str(schema.get("format", "")).startswith("date") or bool(set(label.lower().split()) & tongue.date_label)


def _thing_at(card: Card, path: str, tongue: Tongue) -> str:
    """Give what stands behind a preposition, as its description says: `name of the entity where it starts`."""
    described = next((one.schema_.get("description") for one in card.parameters if one.path == path), None)
    told = described if isinstance(described, str) else ""
    core = tongue.relative.sub("", re.split(r"[.,;:(\n]", told)[0].strip())
    found = tongue.of_noun.match(re.sub(r"^(?:The|An?) ", "", core))
    return found["noun"] if found is not None and set(found["head"].lower().split()) & tongue.identifying else ""


def _others(path: str, core: str, tongue: Tongue) -> tuple[str, ...]:
    """Give further nouns for an argument: of its own name, and the word that its label turns on."""
    last = next((part for part in reversed(path.split(".")) if part != "*"), path)
    spelt = [tongue.abbreviations.get(word, word) for word in humanize(last).split()]
    while len(spelt) > 1 and spelt[-1] in tongue.identifying:
        spelt.pop()
    own = " ".join(spelt)
    words = core.split()
    turning = (words[-1] if tongue.code == "en" else words[0]) if 1 < len(words) <= _NOUN else ""
    known = (tongue.searching | tongue.identifying | tongue.vague | tongue.questions) - tongue.date_label
    own = "" if {spelt[0], spelt[-1]} & tongue.prepositions else own
    found = dict.fromkeys(noun for noun in (own, turning) if noun and noun.lower() not in known and noun != core)
    return tuple(found)


def _with(said: Said, **fields: Any) -> Said:
    return replace(said, **fields)


def _text(card: Card, path: str, value: JsonValue, tongue: Tongue) -> str:
    """Say a value; a language by its name where the argument is one."""
    code = str(value).lower() if isinstance(value, str) else ""
    if code in tongue.languages and is_language(card, path, label_of(card, path, tongue), tongue):
        return tongue.languages[code]
    listed = any(one.path == path and "enum" in one.schema_ for one in card.parameters)
    return value_text(value, tongue, is_listed=listed)


def _is_words(value: JsonValue) -> bool:
    """Whether a value is a name: words with small letters, and no digits."""
    is_text = isinstance(value, str) and value[:1].isalpha()
    return is_text and not any(char.isdigit() for char in str(value)) and re.search(r"[a-zà-ÿ]", str(value)) is not None


def _last(path: str) -> str:
    words = humanize(path.rsplit(".", 1)[-1]).split()
    return words[-1] if words else ""
