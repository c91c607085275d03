"""Which items of an order, and which variants of a product, a customer means."""

import re
from collections.abc import Sequence
from typing import Any

from support.entities import without_negated
from support.lexicon import COLOURS, SIZES, THINGS
from support.text import CORRECTION, fold, mend

Item = dict[str, Any]

_ALL = re.compile(
    r"\b(?:everything|all|both|whole (?:order|thing|lot)|entire|the lot|complete order|full order|"
    r"tout(?:e|es)?|tous|les deux|l'ensemble|l'integralite)\b"
)
_ALSO = re.compile(r"\b(?:also|too|as well|plus|aussi|egalement|in addition|and)\b")
_JOINT = re.compile(r"[.;!?,]\s|\b(?:and|et|plus|while|then)\b")
_COMPLAINT = re.compile(
    r"\b(?:too|trop|bit|peu) (?:small|large|petite?|grande?)s?\b|\b(?:plus|assez) (?:petite?|grande?)\b|\bmoyens? de\b"
)
_LETTER_SIZE = re.compile(
    r"\b(?:size|taille|in|en|an?|une?|the|la|le|for|pour|to|contre)(?: an?| une?| the| la| le| taille| size)*"
    r"\s+['\"]?([sml])\b(?!')"
)
_CAPITAL_SIZE = re.compile(r"(?<![\w'’])(S|M|L)(?![\w'’])(?!\.\w)")
_SHOE_SIZE = re.compile(r"(?<![\d.,€$W])\b(3[5-9]|4[0-9])\b(?!\s*(?:€|euros?|eur\b|days|jours|rue|avenue))", re.I)


def thing_in(name: str) -> str | None:
    """Give the lexicon's word for a product's name: “Wool Sweater” is a sweater."""
    found = _things(fold(name))
    return found[0][1] if found else None


def things(text: str) -> list[str]:
    """Give what is named in `text`, each once, in order, without what is excluded or taken back."""
    folded = mend(without_negated(fold(text)))
    found = _things(folded)
    cuts = [match.start() for match in CORRECTION.finditer(folded)]
    for cut in reversed(cuts):
        after = [thing for place, thing in found if place > cut]
        before = [thing for place, thing in found if place < cut]
        if after and before and not _ALSO.search(folded[cut:]):
            return list(dict.fromkeys(after))
    return list(dict.fromkeys(thing for _, thing in found))


def means_all(text: str) -> bool:
    """Whether the customer means every item."""
    return bool(_ALL.search(fold(text)))


def pick_items(text: str, items: Sequence[Item]) -> list[Item]:
    """Pick the items of an order that `text` names; all for “everything”, the only one where there is one."""
    named = set(things(text))
    chosen = [item for item in items if thing_in(item["name"]) in named]
    if chosen:
        return chosen
    coloured = [item for item in items if item["colour"] in colours(text)]
    if means_all(text) or len(items) == 1:
        return list(items)
    return coloured if len(coloured) == 1 else []


def words_about(text: str, item: Item, items: Sequence[Item]) -> str:
    """Cut the parts of `text` that are about one of several items, each up to what leads on to the next item."""
    if len(items) == 1:
        return text
    folded = fold(text)
    places = _things(folded)
    parts = []
    start = 0
    for index, (place, thing) in enumerate(places):
        following = places[index + 1][0] if index + 1 < len(places) else len(text)
        joints = [place + match.start() for match in _JOINT.finditer(folded[place:following])]
        end = joints[-1] if joints and following < len(text) else following
        if thing == thing_in(item["name"]):
            parts.append(text[start:end])
        start = end
    return " ".join(parts)


def new_variant(text: str, item: Item, variants: Sequence[Item]) -> tuple[Item | None, bool]:
    """Find the variant wanted instead of `item`, and whether `text` names any other option at all.

    Options that the item does not have already count, the last one named; those not named stay as they are.
    """
    colour = _last_other(colours(text), item["colour"], [variant["colour"] for variant in variants])
    size = _last_other(sizes(text), item["size"], [variant["size"] for variant in variants])
    asked_colour = _last_other(colours(text), item["colour"], None)
    asked_size = _last_other(sizes(text), item["size"], None) if item["size"] else None
    if not (asked_colour or asked_size):
        return None, False
    if (asked_colour and not colour) or (asked_size and not size):
        return None, True
    wanted = (colour or item["colour"], size or item["size"])
    return next((variant for variant in variants if (variant["colour"], variant["size"]) == wanted), None), True


def new_options(text: str, item: Item, items: Sequence[Item]) -> bool:
    """Whether `text` names the item, or no other, together with a colour or a size that it does not have."""
    named = things(text)
    if thing_in(item["name"]) not in named and (named or len(items) > 1):
        return False
    words = words_about(text, item, items)
    other_size = item["size"] and any(size != item["size"] for size in sizes(words))
    return bool(other_size or any(colour != item["colour"] for colour in colours(words)))


def matching(text: str, variants: Sequence[Item]) -> list[Item]:
    """Give the variants that fit every option named in `text`; all of them where none is named."""
    named_colours, named_sizes = colours(text), sizes(text)
    return [
        variant
        for variant in variants
        if (not named_colours or variant["colour"] in named_colours)
        and (not named_sizes or not variant["size"] or variant["size"] in named_sizes)
    ]


def colours(text: str) -> list[str]:
    """Give the colours that are named, in order."""
    folded = mend(without_negated(fold(text)))
    folded = re.sub(r"\bnavy blue\b|\bdark blue\b|\bbleue? (?:marine|fonce)\b", "navy", folded)
    return _named(folded, COLOURS)


def sizes(text: str) -> list[str]:
    """Give the sizes that are named, in order: letters, shoe sizes, volumes."""
    clean = re.sub(r"\b[wW]?\d{4,}\b", " ", text)
    folded = _COMPLAINT.sub(" ", mend(without_negated(fold(clean))))
    places = [(folded.find(size), size) for size in _named(folded, SIZES)]
    places += [(match.start(1), match.group(1).upper()) for match in _LETTER_SIZE.finditer(folded)]
    places += [
        (match.start(), match.group())
        for match in _CAPITAL_SIZE.finditer(clean)
        if folded[match.start() : match.end()].strip()
    ]
    places += [(match.start(), match.group()) for match in _SHOE_SIZE.finditer(folded)]
    return [size for _, size in sorted(places)]


def _things(folded: str) -> list[tuple[int, str]]:
    found = []
    for thing, others in THINGS.items():
        pattern = rf"\b(?:{'|'.join(map(re.escape, (thing, *others)))})s?\b"
        found += [(match.start(), thing) for match in re.finditer(pattern, folded)]
    return sorted(found)


def _named(folded: str, names: dict[str, tuple[str, ...]]) -> list[str]:
    found = []
    for name, others in names.items():
        words = (*others, name.lower()) if len(name) > 1 else others
        pattern = rf"(?<![\w-])(?:{'|'.join(map(re.escape, words))})(?:e?s)?(?![\w])"
        found += [(match.start(), name) for match in re.finditer(pattern, folded)]
    return [name for _, name in sorted(found)]


def _last_other(named: Sequence[str], current: str | None, known: Sequence[str | None] | None) -> str | None:
    others = [name for name in named if name != current and (known is None or name in known)]
    return others[-1] if others else None
