"""A search made of a question: what it is about, and what an answer must, should and may have."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from notes.bilingual import in_phrases, meant_by_phrases, synonyms, translations
from notes.ellipsis import code_names
from notes.text import fold, key_words, stem
from notes.wording import WEAK, Asked, asked, counted, listed_noun


@dataclass(frozen=True, kw_only=True)
class Query:
    """One search: the question, and the stems that an answer must, should and may have."""

    text: str
    asked: Asked
    keyword: str
    strong: tuple[str, ...]
    weak: tuple[str, ...]
    anchors: tuple[str, ...] = ()
    """Names and figures: an answer without them is about something else."""
    context: tuple[str, ...] = ()
    """Stems of what was talked about before."""
    also: tuple[tuple[str, frozenset[str]], ...] = ()
    """Stems with those that say the same, in the other language or in other words."""
    translated: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Words of the search with words of the other language that say the same."""
    counted: str = ""
    """Stem of the noun that is counted: an answer has a figure beside it."""
    listed: str = ""
    """Stem of the noun whose list is wanted: sections that are called so have it."""
    literals: tuple[str, ...] = ()
    """Names of code as the question writes them, folded: `no_proxy`."""
    placed: tuple[str, ...] = ()
    """Stems that name a folder which a search showed."""
    scope: str = ""
    """Path of the note or folder to look in; empty for the vault."""

    def heard(self, held: Iterable[str]) -> frozenset[str]:
        """Give the stems of a text, and those of the question that it says in the other language."""
        found = frozenset(held)
        return found.union(one for one, others in self.also if not found.isdisjoint(others))


POINTED_AT = re.compile(
    r"\b(?:that|this|cet|cette|ce) (?!is\b|are\b|was\b|were\b|qui\b|que\b)[a-zà-ÿ]{3,}", re.IGNORECASE
)
"""A noun pointed at; in a later part of a question it is what the earlier part answers."""

_NOISE = re.compile(
    r"\b(?:lequel|laquelle|lesquel(?:le)?s|summari[sz]e|summary|overview|outline|gist|main|key|points|"
    r"everything|folder|"
    r"directory|dossiers?|repertoires?|files?|fichiers?|documents?|"
    r"pages?|resum\w*|apercu|grandes|lignes|vue|ensemble|disent|dit|parlent|contient|"
    r"contain\w*|wrote|written|ecrit|difference\w*|compare\w*|liste?|"
    r"differ\w*|rapport|propos|sujet|linked?|links|refers?|liee?|first|second|third|last|"
    r"premier\w*|deuxieme|troisieme|dernier\w*|"
    r"how long|how often|what about|combien de temps|remind|rappelle\w*)\b"
)


_WEAK_STEMS = frozenset(map(stem, WEAK))


def query(text: str, *, context: str = "", scope: str = "") -> Query:
    """Make a search of a question: what it is about, without the words that only say what is wanted of it."""
    bare = _NOISE.sub(
        " ", fold(POINTED_AT.sub(" ", text) if context and key_words(POINTED_AT.sub(" ", text)) else text)
    )
    names = key_words(bare) or key_words(text)
    names += [name for name in key_words(counted(text)) if name not in names]
    strong = tuple(dict.fromkeys(stem(name) for name in names if stem(name) not in _WEAK_STEMS))
    weak = tuple(dict.fromkeys(stem(name) for name in names if stem(name) in _WEAK_STEMS))
    extra = [name for name in key_words(fold(context)) if name not in WEAK and name not in names]
    if not strong:
        said_before = tuple(dict.fromkeys(map(stem, extra)))
        strong, weak = (said_before, weak) if said_before else (weak, ())
    anchors = tuple(one for one in dict.fromkeys(stem(name) for name in _anchors(text)) if one in strong)
    turned = {stem(name) for name in in_phrases(text)}
    weak += tuple(one for one in strong if one in turned)
    strong = tuple(one for one in strong if one not in turned) or strong
    meant = [name for name in meant_by_phrases(text) if stem(name) not in {*strong, *weak}]
    weak += tuple(dict.fromkeys(map(stem, meant)))
    other = translations(text)
    same = synonyms(text)
    also = {
        one: frozenset(map(stem, other.get(one, ()))) | same.get(one, frozenset())
        for one in dict.fromkeys([*map(stem, names)])
    }
    return Query(
        text=text,
        asked=asked(text),
        keyword=" ".join([*names, *extra, *meant[:2]]),
        also=tuple((one, others) for one, others in also.items() if others),
        translated=tuple((name, tuple(sorted(other[stem(name)]))) for name in names if stem(name) in other),
        strong=strong,
        weak=weak,
        anchors=anchors,
        context=tuple(dict.fromkeys(stem(name) for name in extra)),
        counted=stem(counted(text)),
        listed=stem(listed_noun(text)),
        literals=tuple(dict.fromkeys(fold(token).removesuffix("()") for token in code_names(text))),
        scope=scope,
    )


_IDENTIFIER = re.compile(r"^[A-Z]{2,}|[a-z][A-Z]|\w_\w")


def _anchors(text: str) -> list[str]:
    """Give the names and figures of a question: capitalised inside a sentence, like code, with digits, "
    "or in quotes."""
    found: list[str] = []
    for quoted in re.findall(r"[\"“«`]([^\"”»`]+)[\"”»`]", text):
        found += key_words(quoted)
    for match in re.finditer(r"(?<![\w'’])(?:[ldnqLDQ]['’])?([\w+#.-]*\w[+#]*)", text):
        word, start = match[1], match.start()
        inside = start > 0 and not re.search(r"[.?!:]\s*$|^\W*$", text[:start])
        if any(c.isdigit() for c in word) or (inside and word[0].isupper()) or _IDENTIFIER.search(word):
            found += key_words(word)
    return found
