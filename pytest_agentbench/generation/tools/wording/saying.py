"""What a user says of a call's arguments: a name instead of an identifier, coordinates at once, languages by name."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.values import Card, Handle
from pytest_agentbench.generation.tools.wording.phrasing import label_of, name_of, value_text
from pytest_agentbench.generation.tools.wording.tongue import Tongue
from pytest_agentbench.users.kinds import humanize


@dataclass(frozen=True, kw_only=True)
class Said:
    """One thing that is said: the arguments it is for, their name in words, the value in words.

    `noun` is what an identifier is of (`number of a room`: room). `forms` are further spellings of the value that say
    the same. `text` is "" for arguments that are taken from a result.
    """

    paths: tuple[str, ...]
    label: str
    text: str = ""
    noun: str = ""
    article: str = ""
    is_position: bool = False
    is_amount: bool = False
    is_language: bool = False
    is_identity: bool = False
    is_name: bool = False
    forms: tuple[str, ...] = ()


def said_of(card: Card, given: Mapping[str, JsonValue], handle: Handle | None, tongue: Tongue) -> list[Said]:
    """Give what a user says for the arguments `given`, and for those that a handle stands for."""
    left = {path: value for path, value in given.items() if handle is None or path not in handle.replaces}
    found: list[Said] = []
    if handle is not None:
        label = name_of(handle.path, handle.described, tongue)
        replaced = named(card, handle.replaces, tongue)
        text = value_text(handle.value, tongue)
        found.append(_with(replaced[0], label=label, text=text, is_name=True, paths=handle.replaces))
    for one in named(card, tuple(left), tongue):
        texts = [_text(card, path, left[path], tongue) for path in one.paths]
        forms = tuple(value_text(left[path], tongue).strip('"') for path in one.paths)
        if one.is_position and len(texts) > 1:
            labels = [label_of(card, path, tongue) for path in one.paths]
            text = ", ".join(f"{label} {said}" for label, said in zip(labels, texts, strict=True))
        else:
            text = tongue.joined.join(texts)
        found.append(_with(one, text=text, forms=forms, is_name=_is_words(left[one.paths[0]])))
    return found


def named(card: Card, paths: Sequence[str], tongue: Tongue) -> list[Said]:
    """Name arguments, two coordinates as one thing."""
    position = [path for path in paths if _last(path) in tongue.position_words]
    if len(position) < 2:
        position = []
    found = list(_each(card, [path for path in paths if path not in position], tongue))
    if position:
        label = tongue.joined.join(label_of(card, path, tongue) for path in position)
        found.append(Said(paths=tuple(position), label=label, is_position=True))
    return found


def _each(card: Card, paths: Sequence[str], tongue: Tongue) -> Iterator[Said]:
    for path in paths:
        label = label_of(card, path, tongue)
        plain = Said(paths=(path,), label=label)
        words = label.split()
        if counted := tongue.amount.match(label):
            yield _with(plain, noun=counted["noun"], is_amount=True)
        elif tongue.language_label.search(label):
            yield _with(plain, is_language=True)
        elif tongue.joining & set(words):
            yield plain
        elif parts := tongue.of_noun.match(label):
            head = set(parts["head"].lower().split())
            article = (parts.groupdict().get("article") or "").replace("’", "'")
            yield _with(plain, noun=parts["noun"], article=article, is_identity=bool(head & tongue.identifying))
        elif len(words) > 1 and words[-1].lower() in tongue.identifying:
            yield _with(plain, noun=" ".join(words[:-1]), is_identity=True)
        else:
            yield _with(plain, noun=label if len(words) <= 2 else "")


def _with(said: Said, **fields: Any) -> Said:
    return replace(said, **fields)


def _text(card: Card, path: str, value: JsonValue, tongue: Tongue) -> str:
    """Say a value; a language by its name where the argument is one."""
    code = str(value).lower() if isinstance(value, str) else ""
    if code in tongue.languages and tongue.language_label.search(label_of(card, path, tongue)):
        return tongue.languages[code]
    listed = any(one.path == path and "enum" in one.schema_ for one in card.parameters)
    return value_text(value, tongue, is_listed=listed)


def _is_words(value: JsonValue) -> bool:
    return isinstance(value, str) and value[:1].isalpha() and not any(char.isdigit() for char in value)


def _last(path: str) -> str:
    words = humanize(path.rsplit(".", 1)[-1]).split()
    return words[-1] if words else ""
