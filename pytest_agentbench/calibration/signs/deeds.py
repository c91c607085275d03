"""Kinds of deeds: what verbs of English and French, and names of tools, do to things."""

from collections.abc import Iterable, Mapping
from functools import cache

from pytest_agentbench.calibration.signs.reading import words
from pytest_agentbench.core.spoken import plain

_KINDS: Mapping[str, str] = {
    "cancel": "cancel annul resili terminat revok void",
    "change": "chang modif updat amend edit adjust ajust correct corrig",
    "move": "mov reschedul rebook postpon shift decal deplac transfer switch bascul avanc repouss",
    "book": "book reserv schedul planifi programm plac hold order command",
    "add": "add ajout attach append includ inclu",
    "remove": "remov delet drop supprim retir enlev effac eras",
    "send": "send sent mail email envoy expedi ship dispatch",
    "pay": "pay paid charg debit prelev regle settl",
    "refund": "refund reimburs rembours credit recredit compensat dedommag",
    "renew": "renew extend prolong renouvel reconduit",
    "return": "return retourn renvoy exchang echang replac remplac swap",
    "create": "creat cree open opened ouvert regist enrol inscri log file filed submit submis soumi "
    "depos record enregistr",
    "approve": "approv valid accept authoris authoriz approuv autoris",
    "enable": "activ enabl unlock unblock resum restor reactiv debloqu retabli unsuspend",
    "block": "block lock suspend paus disabl deactiv freez froz frozen bloqu verrouill desactiv gel",
    "close": "clos closed clotur ferme",
    "assign": "assign alloc attribu affect",
    "apply": "appl applied redeem appliqu",
    "upgrade": "upgrad downgrad surclass",
    "set": "set fix rais raised lower lowered increas decreas reduc reduit baiss augment diminu",
}
_LEAST = 3
_SAME: Mapping[str, frozenset[str]] = {
    "change": frozenset({"set", "move", "upgrade"}),
    "set": frozenset({"change", "upgrade"}),
    "move": frozenset({"change", "book"}),
    "book": frozenset({"move", "create", "add"}),
    "create": frozenset({"book", "add"}),
    "add": frozenset({"book", "create"}),
    "remove": frozenset({"cancel"}),
    "cancel": frozenset({"remove", "close"}),
    "close": frozenset({"cancel"}),
    "upgrade": frozenset({"change"}),
    "refund": frozenset({"pay", "return", "cancel"}),
    "return": frozenset({"refund", "change"}),
}
"""Kinds that people say for each other."""


@cache
def kind_of(word: str) -> frozenset[str]:
    """Give the kinds of deeds that a word in plain form may mean, by its stem."""
    return frozenset(
        kind
        for kind, stems in _KINDS.items()
        if any(word == stem or (len(stem) >= _LEAST and word.startswith(stem)) for stem in stems.split())
    )


def kinds(text: str) -> frozenset[str]:
    """Give the kinds of deeds that any word of a text may mean."""
    return frozenset(kind for word in words(plain(text)) for kind in kind_of(word))


def of_tool(name: str) -> frozenset[str]:
    """Give the kinds of deeds that the first telling word of a tool's name means."""
    return next((found for word in words(name) if (found := kind_of(plain(word)))), frozenset())


def alike(some: Iterable[str]) -> frozenset[str]:
    """Give kinds with those that people say for them."""
    return frozenset(some).union(*(_SAME.get(kind, frozenset()) for kind in some))
