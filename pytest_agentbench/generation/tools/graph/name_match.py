"""Whether two names mean the same: words of names, common short forms, and nouns that tools and paths lend an `id`."""

import re
from collections.abc import Sequence
from functools import lru_cache

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_SHORT = {
    "lat": "latitude", "lon": "longitude", "lng": "longitude", "long": "longitude", "q": "query", "lang": "language",
    "locale": "language", "tz": "timezone", "dept": "department", "repo": "repository", "dir": "directory",
    "folder": "directory", "num": "number", "no": "number", "nr": "number", "identifier": "id", "uid": "id",
    "uuid": "id", "guid": "id", "oid": "id", "mail": "email", "addr": "address", "desc": "description",
    "msg": "message", "org": "organization", "qty": "quantity", "filename": "file", "filepath": "file",
    "sha": "hash", "rev": "revision", "temp": "temperature", "ref": "reference", "zip": "postcode",
    "postal": "postcode", "pages": "page", "ids": "id",
}  # fmt: skip
"""Short forms and synonyms that English APIs use for one thing."""

GENERIC = frozenset({
    "id", "name", "value", "data", "type", "status", "text", "content", "result", "key", "code", "title", "number",
    "description", "date", "time", "count", "total", "size", "limit", "offset", "page", "format", "kind",
    "language", "unit", "level", "state", "label", "index", "created", "updated", "quoted", "file",
    "path", "url", "hash", "timestamp", "version", "sort", "query", "field", "reason",
    "from", "to", "start", "end", "source", "target", "destination", "by", "in", "at",
})  # fmt: skip
"""Words that alone do not say of what: two tools that both have a `name` need not mean the same."""

_MARKS = frozenset({"id", "number"})
"""Words behind a noun that say that it is told from others by them: what is called `berth` goes into a `berth_no`."""

_VERBS = frozenset({
    "get", "list", "find", "search", "read", "fetch", "create", "add", "update", "delete", "remove", "set", "make",
    "open", "close", "show", "lookup", "by", "of", "the", "a", "for", "to", "from", "in", "and", "or", "new", "all",
    "with", "on", "put", "post", "patch", "query", "edit", "modify", "is", "do", "api", "v1",
})  # fmt: skip


@lru_cache(maxsize=50_000)
def words(name: str) -> tuple[str, ...]:
    """Give the words of a name, lower case, singular, short forms spelt out."""
    found = []
    for word in _WORD.findall(name):
        low = word.lower()
        low = _SHORT.get(low, low)
        if len(low) > 3 and low.endswith("ies"):
            low = low[:-3] + "y"
        elif len(low) > 3 and low.endswith("s") and not low.endswith(("ss", "us", "is")):
            low = low[:-1]
        found.append(_SHORT.get(low, low))
    return tuple(found)


@lru_cache(maxsize=50_000)
def nouns(*names: str) -> frozenset[str]:
    """Give what names speak of: their words without verbs and generic ones."""
    return frozenset(word for name in names for word in words(name) if word not in _VERBS and word not in GENERIC)


@lru_cache(maxsize=200_000)
def likeness(slot: str, tool: str, found: tuple[str, ...], source: str) -> float:
    """Say from 0 to 1 how likely the argument `slot` of `tool` means what `source` calls by the names `found`.

    1: the same telling name. 0.9: an `id` or a `number` with the same noun. 0.8: the same generic name for the same
    noun. 0.6: a telling word in common. 0.3: the same generic name and no noun to compare, or a telling word of what
    holds the value: `tours.0.ref` for a `tour`.
    """
    steps = [step for step in slot.split(".") if step != "*"] or [slot]
    given = found or ("",)
    wanted, offered = words(steps[-1]), words(given[-1])
    around_wanted = nouns(*steps[:-1], tool)
    around_offered = nouns(*given[:-1], source)
    telling = set(wanted) - GENERIC
    if wanted == offered and wanted:
        if telling:
            return 1.0
        if not around_wanted or not around_offered:
            return 0.3
        return 0.8 if around_wanted & around_offered else 0.2
    shared = telling & set(offered)
    marks = _MARKS.intersection(wanted)
    if marks and telling and offered and (set(offered) <= telling or set(offered) == marks):
        return 0.9 if set(offered) & telling or telling & around_offered else 0.2
    if "id" in offered and set(wanted) == {"id"}:
        return 0.9 if (set(offered) - GENERIC) & around_wanted else 0.2
    if set(wanted) == {"id"} and set(offered) & around_wanted:
        return 0.9  # `id` of get_task for a field `task`
    rest = set(wanted) - set(offered)
    if len(offered) == 1 and wanted[-1:] == offered and rest and rest <= around_offered:
        return 0.9  # `order name` for the `name` of create_order
    if shared:
        heads = {wanted[-1], offered[-1]}
        return 0.3 if len(heads) == 2 and heads <= GENERIC else 0.6
    if telling & around_offered and not set(offered) - GENERIC:
        return 0.5
    return 0.3 if telling & around_offered else 0.0


def bare(tools: Sequence[str]) -> dict[str, str]:
    """Give tools' names without the words that all of them have: `git` of `git_log`, where there are three or more."""
    common = set.intersection(*(set(words(tool)) for tool in tools)) if len(tools) > 2 else set[str]()
    return {tool: "_".join(word for word in words(tool) if word not in common) or tool for tool in tools}


def identifier(text: str) -> str:
    """Give an ASCII snake_case id made of the words of a text; "" where it has none."""
    import unicodedata  # noqa: PLC0415 - asked for once a type

    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    name = "_".join(words(plain))
    return name if name[:1].isalpha() else (f"v_{name}" if name else "")
