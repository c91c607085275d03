"""The user's own sentences: values that were asked for, what it does not know, and facts it was told."""

import re

from pytest_agentbench.core.conversation import View
from pytest_agentbench.users.asked import Asked
from pytest_agentbench.users.confirmation import content_words
from pytest_agentbench.users.first_person import first_person
from pytest_agentbench.users.kinds import FREE, kinds_in, label_of
from pytest_agentbench.users.known_info import Knowledge
from pytest_agentbench.users.phrases import Language, either, pattern
from pytest_agentbench.users.segments import clip, segments
from pytest_agentbench.users.shapes import methods

_NAMES = frozenset({"name", "first_name", "last_name"})
_OVERLAP = 2
_YES = either("yes", "true", "oui", "vrai")
_NO = either("no", "false", "non", "faux", "none", "aucune?")


def values(wants: Asked, text: str, known: Knowledge, view: View, language: Language) -> str | None:
    """Give every value asked for that is known, and say of the others that unknown info lists that it is not known.

    What the agent would take instead is given where something asked for is missing. None where nothing can be said.
    """
    given = {kind: known.get(kind) or _paying(kind, view) for kind in wants.kinds}
    missing = [kind for kind in wants.kinds if not given[kind]]
    parts = [line for kind in missing if (line := _declared_unknown(kind, view, language))]
    if missing or not wants.kinds:
        given |= {kind: known.get(kind) for kind in wants.instead}
    open_question = any(pattern("starts_open").match(part) for part in wants.where)
    stated = "" if open_question else text  # "yes, it is" answers only who asks whether it is
    said: set[str] = set()
    sentences: list[str] = []
    for kind, found in given.items():
        if found and not (set(found) <= said):
            sentences.append(_sentence(known.source(kind), found, stated, language))
            said.update(found)
    return " ".join([*dict.fromkeys(parts), *([_listed(sentences)] if sentences else [])]) or None


def holds_value(line: str, kinds: tuple[str, ...], known: Knowledge) -> bool:
    """Tell whether a line says a known value of one of `kinds` itself."""
    return any(value.lower() in line.lower() for kind in kinds for value in known.get(kind))


def not_known(question: str, view: View) -> str | None:
    """Say in the user's words that what an open question is about is not known; None where it is not about that."""
    words = content_words(question)
    for sentence in _unknown_sentences(view):
        if words & _object_words(sentence):
            return first_person(sentence)
    return None


def fact(question: str, view: View, known: Knowledge) -> str | None:
    """Give the sentence of goal or known info that shares most content with an open question, if two words or more.

    A sentence that holds a known value is never given: values are only given by name.
    """
    words = content_words(question)
    best: tuple[int, str] = (_OVERLAP - 1, "")
    for text in (view.known_info, view.goal):
        for segment in segments(text):
            shared = len(words & content_words(segment.text))
            if shared > best[0] and not any(value in segment.text for value in known.all()):
                best = (shared, segment.text)
    return first_person(best[1]) if best[1] else None


def identifiers(question: str, said: tuple[str, ...], known: Knowledge, language: Language) -> str | None:
    """Give the known identifiers not said yet to a request for "more information"; None to any other request."""
    if not pattern("anything").search(question):
        return None
    before = "\n".join(said).lower()
    fresh = {
        kind: tuple(value for value in found if value.lower() not in before)
        for kind, found in known.told.items()
        if kind.endswith("_id")
    }
    named = {kind for kind in fresh if kind.removesuffix("_id") in question.lower()}
    chosen = {kind: found for kind, found in fresh.items() if found and (kind in named or not named)}
    return _listed([_sentence(kind, found, "", language) for kind, found in chosen.items()]) or None


def yes_or_no(question: str, known: Knowledge) -> bool | None:
    """Give the yes or no that the scenario states under a key of its own named in the question."""
    for kind in kinds_in(question, known.free):
        if kind.startswith(FREE):
            value = known.get(kind)[0] if known.get(kind) else ""
            if _YES.fullmatch(value) or _NO.fullmatch(value):
                return bool(_YES.fullmatch(value))
    return None


def _listed(sentences: list[str]) -> str:
    """Join sentences by commas and without a full stop, which an agent might read as part of a value."""
    return ", ".join([*sentences[:1], *(sentence[:1].lower() + sentence[1:] for sentence in sentences[1:])])


def _sentence(kind: str, found: tuple[str, ...], text: str, language: Language) -> str:
    whole = kind in {"first_name", "last_name"} and " " in found[0]
    name = "name" if whole else kind
    stated = all(value.lower() in text.lower() for value in found)
    template = language.say_yes_value if stated else language.say_value
    label = language.labels.get(name)
    if label is None:
        label = label_of(name)
        template = template if language.code == "en" else language.say_free_value
    elif stated and language.code != "en":
        label = label[:1].lower() + label[1:]
    return template.format(label=label, value=language.join_or.join(found))


def _paying(kind: str, view: View) -> tuple[str, ...]:
    """Give the one payment method that the goal names, where the user is asked how to pay."""
    if kind != "payment_method":
        return ()
    named = methods("\n".join([view.goal, *view.says]))
    return tuple(named) if len(named) == 1 else ()


def _declared_unknown(kind: str, view: View, language: Language) -> str | None:
    family = _NAMES if kind in _NAMES else {kind}
    for sentence in _unknown_sentences(view):
        if family & set(kinds_in(sentence, (kind,) if kind.startswith(FREE) else ())):
            if pattern("unknown").search(sentence):
                return first_person(sentence).rstrip(".") + "."
            return language.say_unknown.format(label=language.labels.get(kind, label_of(kind)))
    return None


def _unknown_sentences(view: View) -> tuple[str, ...]:
    """Give the sentences of unknown info; one that says nothing is unknown counts only where it is a bare name."""
    found: list[str] = []
    for text in view.unknown:
        parts = [part.text.strip() for part in segments(clip(text))]
        found.extend(part for part in parts if pattern("unknown").search(part) or len(part.split()) <= 4)
    return tuple(found)


def _object_words(sentence: str) -> set[str]:
    plain = re.sub(
        r"\b(?:remember|know|recall|sure|certain|souven\w+|savez|connais\w*)\b", " ", sentence, flags=re.IGNORECASE
    )
    return content_words(plain)
