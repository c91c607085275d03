"""Requests of users: values and references woven into what a tool is for.

`Describe a room` and 204 become `describe room 204`, after a search for rooms `describe the first room`; `the weather
at GPS coordinates` becomes `the weather in Paris`. What a task has no place for stands behind it.
"""

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.values import Card, Handle
from pytest_agentbench.generation.tools.wording.phrasing import is_feminine, task_of, with_article
from pytest_agentbench.generation.tools.wording.saying import Said, named, said_of
from pytest_agentbench.generation.tools.wording.tongue import Tongue

_HERE = "\0"
"""Marks where something was woven in, until the line is done."""


@dataclass(frozen=True)
class Reference:
    """Where values come from that the user does not say: which entry of the result before, of how many.

    `places` are list positions from outermost to innermost, `taken` the arguments that are taken from there.
    """

    places: tuple[int, ...] = ()
    count: int = 1
    taken: tuple[str, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether there is but one thing that can be meant."""
        return not self.places or (self.count <= 1 and not any(self.places))


@dataclass(frozen=True)
class Wish:
    """One call as the user speaks of it: the tool, the values it gives itself, and what the rest refers to.

    `handle` is the name by which the user calls what the call is about.
    """

    card: Card
    given: Mapping[str, JsonValue]
    reference: Reference | None = None
    handle: Handle | None = None


def request(wishes: Sequence[Wish], tongue: Tongue, random: Random, *, opens: bool, asks_for: str = "") -> str:
    """Give the user's line for calls that follow from each other; `asks_for` names what it wants to be told."""
    text = wish_text(wishes[0], tongue)
    for before, wish in itertools.pairwise(wishes):
        second = wish_text(wish, tongue, before=task_of(before.card, tongue))
        text = tongue.chain.format(first=text, second=second)
    if asks_for:
        text = tongue.tells.format(task=text, what=with_article(asks_for, tongue))
    line = random.choice(tongue.asks if opens else tongue.asks_again).format(task=text)
    for pattern, instead in tongue.contractions:
        line = pattern.sub(instead, line)
    return line


def wish_text(wish: Wish, tongue: Tongue, *, before: str = "") -> str:
    """Say one call of a request; `before` is what the call before it was for."""
    loom = _Loom(task_of(wish.card, tongue), tongue)
    if wish.reference is not None:
        loom.refer(wish.card, wish.reference, before)
    for said in said_of(wish.card, wish.given, wish.handle, tongue):
        loom.say(said)
    return loom.text()


@dataclass
class _Loom:
    """A task into which values are woven one after the other."""

    task: str
    tongue: Tongue
    behind: list[str] = field(default_factory=list)
    asides: list[str] = field(default_factory=list)

    def say(self, said: Said) -> None:
        """Weave a value in."""
        tongue = self.tongue
        if said.is_position:
            phrase = (tongue.in_place if said.is_name else tongue.at_place).format(value=said.text)
            if not self._replace(tongue.position, phrase):
                self.behind.append(phrase)
        elif said.is_language:
            self.behind.append(tongue.in_language.format(value=said.text))
        elif said.is_amount:
            noun = said.noun[:-1] if said.text == "1" and said.noun.endswith("s") else said.noun
            if not self._replace(tongue.some.format(noun=re.escape(said.noun)), f"{said.text} {noun}"):
                self.behind.append(tongue.for_value.format(value=f"{said.text} {noun}"))
        else:
            self._identified(said)
            if not self._replace(self._whole(said), said.text) and not self._thing(said):
                self._beside(said)

    def refer(self, card: Card, reference: Reference, before: str) -> None:
        """Weave in what is taken from the result before."""
        tongue = self.tongue
        is_said = False
        for one in named(card, reference.taken, tongue):
            if one.is_position:
                phrase = tongue.there if reference.is_plain else tongue.there_of.format(which=self._which(reference))
                if not self._replace(tongue.position, phrase):
                    self.behind.append(phrase)
                is_said = True
                continue
            noun = one.noun or one.label
            if one.is_amount:
                counted = tongue.as_many.format(noun=noun)
                is_said |= self._replace(tongue.some.format(noun=re.escape(noun)), counted)
                continue
            if self._mentioned(one, reference, noun, before):
                is_said = True
            elif one.is_identity and reference.is_plain and not is_said:
                phrase = tongue.for_that if _speaks_of(before, noun) else tongue.for_its
                _, this = self._articles(one.article, noun)
                self.behind.append(phrase.format(noun=noun, this=this))
                is_said = True
        if not is_said:
            which = self._which(reference)
            self.behind.append(tongue.for_it if reference.is_plain else tongue.for_nth.format(which=which))

    def text(self) -> str:
        """Give the line's part."""
        task = re.sub(self.tongue.or_else, "", self.task).replace(_HERE, "")
        task = " ".join([task, *self.behind])
        if self.asides:
            task = f"{task} {self.tongue.aside.format(values=', '.join(self.asides))}"
        for pattern, instead in self.tongue.contractions:
            task = pattern.sub(instead, task)
        return " ".join(task.split())

    def _identified(self, said: Said) -> None:
        """Leave `by its name` out where the thing itself can be named."""
        whole = re.escape(said.label)
        match = re.search(rf" (?:by|par) (?:its|his|her|their|son|sa|leur) {whole}\b", self.task, re.IGNORECASE)
        if match is not None and self._object(said) is not None:
            self.task = self.task[: match.start()] + self.task[match.end() :]

    def _mentioned(self, one: Said, reference: Reference, noun: str, before: str) -> bool:
        for pattern in (self._whole(one), self._mention(noun), self._object(one)):
            if pattern is None or not (match := re.search(pattern, self.task, re.IGNORECASE)):
                continue
            thing = match.groupdict().get("noun") or noun
            self._put(match, self._referring(reference, thing, match, before), noun_of=match)
            return True
        return False

    def _referring(self, reference: Reference, noun: str, match: re.Match[str], before: str) -> str:
        tongue = self.tongue
        the, this = self._articles((match.groupdict().get("article") or "").lower(), noun)
        if reference.is_plain:
            return f"{this} {noun}"
        outer, last = reference.places[0], reference.places[-1]
        if len(reference.places) > 1 and last:
            return tongue.noun_of_both.format(which=tongue.ordinal(last), noun=noun, of=tongue.ordinal(outer))
        phrase = tongue.nth_noun if _speaks_of(before, noun) else tongue.noun_of_nth
        which = tongue.ordinal(outer)
        if the == "la" and phrase == tongue.nth_noun and which == "premier":
            which = "première"
        return phrase.format(which=which, noun=noun, the=the)

    def _thing(self, said: Said) -> bool:
        """Weave a value in behind the thing that it names."""
        if not said.noun:
            return False
        for pattern in (self._mention(said.noun), self._object(said)):
            match = re.search(pattern, self.task, re.IGNORECASE) if pattern else None
            if match is not None:
                noun = match.groupdict().get("noun") or said.noun
                the, _ = self._articles((match.groupdict().get("article") or "").lower(), noun)
                is_bare = self.tongue.code == "en" and not said.is_name
                self._put(match, f"{noun} {said.text}" if is_bare else f"{the} {noun} {said.text}", noun_of=match)
                return True
        return self._by_noun(said)

    def _by_noun(self, said: Said) -> bool:
        """Weave a value in where the task names it as what to go by: `search books by title`."""
        match = re.search(self.tongue.by_noun.format(noun=re.escape(said.noun)), self.task, re.IGNORECASE)
        if match is None or _HERE in match[0]:
            return False
        noun = said.label if said.label in match[0] else said.noun
        self._put(match, self.tongue.by_value.format(noun=noun, value=said.text))
        return True

    def _beside(self, said: Said) -> None:
        tongue = self.tongue
        several = tongue.searches_several.match(self.task)
        if several is not None and self._words(said) & tongue.searching:
            phrase = f"{several[0]} {tongue.matching.format(value=said.text)}"
            self._put(several, phrase)
            return
        if said.is_identity and tongue.code == "en":
            self.behind.append(tongue.for_value.format(value=f"{said.noun} {said.text}"))
        else:
            self.asides.append(tongue.label.format(label=said.label, value=said.text))

    def _whole(self, said: Said) -> str | None:
        """Find the argument's whole name, which is of several words: `the name of a commune`."""
        if len(said.label.split()) < 3:
            return None
        return rf"(?:\b(?:an?|the|une?|le|la|les) |\bl['’])?{re.escape(said.label)}\b"

    def _mention(self, noun: str) -> str:
        return self.tongue.mention.format(noun=re.escape(noun))

    def _object(self, said: Said) -> str | None:
        """Find what is searched for, where the argument is what to search with."""
        match = self.tongue.searches.match(self.task) if self._words(said) & self.tongue.searching else None
        return rf"(?<={re.escape(self.task[: match.start('object')])}){_named(match)}" if match else None

    @staticmethod
    def _words(said: Said) -> set[str]:
        return set(re.findall(r"\w+", f"{said.label} {' '.join(said.paths)}".lower()))

    def _articles(self, article: str, noun: str) -> tuple[str, str]:
        known = self.tongue.articles.get(article.strip().replace("’", "'"))
        if known is None and self.tongue.code == "fr":
            return ("la", "cette") if is_feminine(noun.split(maxsplit=1)[0]) else ("le", "ce")
        return known or self.tongue.articles[""]

    def _which(self, reference: Reference) -> str:
        return self.tongue.ordinal(reference.places[0] if reference.places else 0)

    def _replace(self, pattern: str | re.Pattern[str] | None, text: str) -> bool:
        match = re.search(pattern, self.task) if pattern else None
        if match is None:
            return False
        self._put(match, text)
        return True

    def _put(self, match: re.Match[str], text: str, *, noun_of: re.Match[str] | None = None) -> None:
        after = self.task[match.end() :]
        if noun_of is not None:  # the thing is told from others: "by its number" is said
            after = self.tongue.by_identity.sub("", after, count=1)
        self.task = f"{self.task[: match.start()]}{text}{_HERE}{after}"


def _named(match: re.Match[str]) -> str:
    article = match.groupdict().get("article")
    noun = rf"(?P<noun>{re.escape(match['noun'])})\b"
    if article is None:
        return rf"(?:an?|the|one) {noun}"
    return rf"(?P<article>{re.escape(article)}) ?{noun}"


def _speaks_of(task: str, noun: str) -> bool:
    """Whether a task is about things of a kind: `find free rooms` about a room."""
    last = noun.rsplit(maxsplit=1)[-1].lower() if noun.split() else ""
    stem = last[:-1] if last.endswith(("s", "y")) else last
    return bool(stem) and re.search(rf"\b{re.escape(stem)}(?:s|es|x|y|ies)?\b", task.lower()) is not None
