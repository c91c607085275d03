"""Requests of users: values and references woven into what a tool is for.

`Describe a room` and 204 become `describe room 204`, after a search for rooms `describe the first room`; `the weather
at GPS coordinates` becomes `the weather in Paris`. What a task has no place for stands behind it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from pytest_agentbench.generation.tools.values import Card
from pytest_agentbench.generation.tools.wording import placing
from pytest_agentbench.generation.tools.wording.agreeing import is_several, of_one, singular
from pytest_agentbench.generation.tools.wording.asides import aside, sentences
from pytest_agentbench.generation.tools.wording.nouns import article_and_noun, head, is_doubled, speaks_of
from pytest_agentbench.generation.tools.wording.pairs import paired
from pytest_agentbench.generation.tools.wording.phrasing import (
    contracted,
    is_feminine,
    task_of,
    with_article,
    without_choices,
)
from pytest_agentbench.generation.tools.wording.placing import HERE, called, end_of, one_of, queried, several
from pytest_agentbench.generation.tools.wording.saying import Said, counted, named, said_of
from pytest_agentbench.generation.tools.wording.tongue import Tongue
from pytest_agentbench.generation.tools.wording.wishes import Reference, Wish, Woven


def wish_text(wish: Wish, tongue: Tongue, *, before: str = "") -> str:
    """Say one call of a request and all its values; `before` is what the call before it was for."""
    said = woven(wish, tongue, before=before)
    return f"{said.task}. {sentences(said.asides, tongue)}" if said.asides else said.task


def woven(wish: Wish, tongue: Tongue, *, before: str = "") -> Woven:
    """Say one call of a request; `before` is what the call before it was for."""
    lists = [*wish.given, *(wish.reference.taken if wish.reference is not None else ())]
    loom = _Loom(of_one(task_of(wish.card, tongue), lists, tongue), tongue)
    if wish.reference is not None:
        loom.refer(wish.card, wish.reference, before)
    every = paired(said_of(wish.card, wish.given, wish.handle, tongue), wish.card, tongue)
    for said in every:
        loom.say(said, alone=len(every) == 1)
    return Woven(loom.text(), tuple(loom.asides))


@dataclass
class _Loom:
    """A task into which values are woven one after the other."""

    task: str
    tongue: Tongue
    behind: list[str] = field(default_factory=list)
    asides: list[str] = field(default_factory=list)

    def say(self, said: Said, *, alone: bool = False) -> None:
        """Weave a value in; `alone` it is what the task goes by."""
        tongue = self.tongue
        if said.is_position:
            phrase = (tongue.in_place if said.is_name else tongue.at_place).format(value=said.text)
            if not self._replace(tongue.position, phrase):
                self.behind.append(phrase)
        elif said.is_language:
            if not (said.is_pair and self._replace(tongue.some_languages, said.text)):
                self.behind.append(said.text)
        elif said.is_amount:
            self._counted(said)
        elif said.joint:
            self._joined(said.joint, said.text)
        elif said.is_date and self._dated(said):
            return
        elif not self._placed(called(self.task, said, tongue) or queried(self.task, said, tongue)):
            self._identified(said)
            if self._placed(several(self.task, said, tongue)):
                return
            if not self._replace(self._whole(said), said.text) and not self._thing(said, alone=alone):
                self._beside(said)

    def _placed(self, task: str | None) -> bool:
        self.task = task or self.task
        return task is not None

    def _joined(self, joint: str, text: str) -> None:
        """Say a value behind the preposition that its argument is named by: `from Lyon`."""
        is_used = not self.behind and re.search(rf"\b{joint}\b", self.task)
        self.behind.append(f", {joint} {text}" if is_used else f"{joint} {text}")

    def _counted(self, said: Said) -> None:
        tongue = self.tongue
        noun = counted(said)
        pattern, phrase = tongue.longer
        if said.is_more and pattern.search(self.task):
            self.task = pattern.sub(f" {phrase.format(value=said.text, noun=noun)}{HERE}", self.task)
        elif bare := re.search(tongue.bare_plural.format(noun=re.escape(said.noun)), self.task):
            self._put(bare, f"{bare['verb']} {said.text} {noun}")
        elif some := re.search(tongue.some.format(noun=re.escape(said.noun)), self.task):
            self._put(some, f"{said.text}{some['more'] or ''} {noun}")
        else:
            self.behind.append(tongue.for_value.format(value=f"{said.text} {noun}"))

    def _dated(self, said: Said) -> bool:
        """Weave a day in where the task speaks of one, or behind it where the argument is just a day."""
        tongue = self.tongue
        day = with_article(said.text, tongue) if tongue.code == "fr" else said.text
        match = tongue.some_date.search(self.task)
        if match is not None:
            self._put(match, f"{match['before'] or ''}{day}")
        elif said.label.lower() in tongue.date_label:
            self.behind.append(tongue.on_date.format(value=day))
        else:
            return False
        return True

    def refer(self, card: Card, reference: Reference, before: str) -> None:
        """Weave in what is taken from the result before."""
        left = [one for one in named(card, reference.taken, self.tongue) if not self._refers(one, reference, before)]
        left = [one for one in left if not self._marks(one, reference.of(one.paths), before)]
        pointed = [replace(one, noun=head(one)) for one in left if head(one) and not one.is_amount]
        for noun in dict.fromkeys(one.noun for one in pointed):
            one = min((one for one in pointed if one.noun == noun), key=lambda one: not one.is_identity)
            self.behind.append(self._pointing(one, reference.of(one.paths), before))
        if left and not pointed and len(left) == len(named(card, reference.taken, self.tongue)):
            which = self._which(reference)
            self.behind.append(self.tongue.for_it if reference.is_plain else self.tongue.for_nth.format(which=which))

    def _refers(self, one: Said, reference: Reference, before: str) -> bool:
        """Refer to one thing where the task speaks of it, or where it stands behind a preposition of its own."""
        tongue, reference = self.tongue, reference.of(one.paths)
        noun = one.noun or one.label
        if one.is_position:
            phrase = tongue.there if reference.is_plain else tongue.there_of.format(which=self._which(reference))
            if not self._replace(tongue.position, phrase):
                self.behind.append(phrase)
        elif one.joint:
            self._joined(one.joint, self._referring(reference, one.noun or "one", "", before))
        elif one.is_amount:
            return self._replace(tongue.some.format(noun=re.escape(noun)), tongue.as_many.format(noun=noun))
        else:
            return self._mentioned(one, reference, noun, before)
        return True

    def _marks(self, one: Said, reference: Reference, before: str) -> bool:
        """Refer to a thing that a task is about: that the call before it spoke of, or that a code was given for."""
        tongue = self.tongue
        is_mark = one.label.split()[-1].lower() in tongue.marks and not placing.is_of_other(self.task, one, tongue)
        for match in tongue.some_thing.finditer(self.task):
            is_other = one.noun and (one.is_identity or not speaks_of(match["noun"], head(one)))
            is_meant = is_mark or (speaks_of(before, match["noun"]) and not is_other)
            if HERE in match[0] or not is_meant:
                continue
            article = (match.groupdict().get("article") or "").lower().replace("’", "'")
            self._put(match, self._referring(reference, match["noun"], article, before), noun_of=match)
            return True
        return False

    def _pointing(self, one: Said, reference: Reference, before: str) -> str:
        """Speak of a thing that the task does not mention: `for that contract`, `for the first contract`."""
        tongue = self.tongue
        _, this = self._articles("" if tongue.code == "fr" else one.article, one.noun)
        if reference.is_plain and one.noun.split()[-1].lower() in tongue.attributes:
            return tongue.with_that.format(noun=one.noun, this=this)
        if reference.is_plain:
            phrase = tongue.for_that if one.is_identity is False or speaks_of(before, one.noun) else tongue.for_its
            return phrase.format(noun=one.noun, this=this)
        referred = self._referring(reference, one.noun, one.article, before)
        return tongue.for_value.format(value=referred)

    def text(self) -> str:
        """Give the request without its asides."""
        task = self.tongue.or_else.sub("", self.task)
        half = self.tongue.alternatives.search(task)
        if half is not None and HERE in half["one"]:
            task = f"{task[: half.start()]}, {half['one']}"
        task = self.tongue.optional.sub("", without_choices(task, self.tongue))
        task = self.tongue.unsaid.sub("", task)
        place = end_of(task)
        task = " ".join([task[:place], *self.behind]) + task[place:]
        return contracted(" ".join(task.replace(HERE, "").split()).replace(" , ", ", "), self.tongue)

    def _identified(self, said: Said) -> None:
        """Leave `by its name` out where the thing itself can be named."""
        whole = re.escape(said.label)
        match = re.search(rf" (?:by|par) (?:its|his|her|their|son|sa|leur) {whole}\b", self.task, re.IGNORECASE)
        if match is not None and self._object(said) is not None:
            self.task = self.task[: match.start()] + self.task[match.end() :]

    def _mentioned(self, one: Said, reference: Reference, noun: str, before: str) -> bool:
        nouns = dict.fromkeys([noun, *one.others, *noun.split()[:1]])
        patterns = [
            (self._whole(one), noun),
            *((self._mention(each), each) for each in nouns),
            *((rf"\b(?:its|their) {re.escape(each)}s?\b", each) for each in nouns if self.tongue.code == "en"),
            *((rf"(?<=^put ){re.escape(each)}\b", each) for each in nouns if is_several(each)),
            (self._object(one), noun),
        ]
        for pattern, named_so in patterns:
            if pattern is None or not (match := re.search(pattern, self.task, re.IGNORECASE)) or HERE in match[0]:
                continue
            found = match.groupdict()
            thing = found.get("noun") or named_so
            referred = self._referring(reference, thing, (found.get("article") or "").lower(), before)
            self._put(match, referred, noun_of=match)
            return True
        the_one = one_of(self.task, one, self._referring(reference, one.noun, "", before), self.tongue)
        return self._placed(the_one) or self._by_that(nouns, reference, before)

    def _by_that(self, nouns: Iterable[str], reference: Reference, before: str) -> bool:
        """Refer to what a task goes by: `with that phone number`."""
        for noun in nouns:
            match = re.search(self.tongue.by_noun.format(noun=re.escape(noun)), self.task, re.IGNORECASE)
            if match is not None and HERE not in match[0]:
                that = self._referring(reference, match["by"].strip(), "", before)
                self._put(match, f" {self.tongue.by_value.split()[0]} {that}")
                return True
        return False

    def _referring(self, reference: Reference, noun: str, article: str, before: str) -> str:
        tongue = self.tongue
        the, this = self._articles(article, noun)
        if reference.is_plain:
            return f"{this} {noun}"
        outer, last = reference.places[0], reference.places[-1]
        if len(reference.places) > 1 and last:
            return tongue.noun_of_both.format(which=tongue.ordinal(last), noun=noun, of=tongue.ordinal(outer))
        phrase = tongue.nth_noun if speaks_of(before, noun) else tongue.noun_of_nth
        which = tongue.ordinal(outer)
        if the == "la" and phrase == tongue.nth_noun and which == "premier":
            which = "première"
        return phrase.format(which=which, noun=noun, the=the)

    def _thing(self, said: Said, *, alone: bool) -> bool:
        """Weave a value in behind the thing that it names."""
        if self._words(said) & self.tongue.searching and self.tongue.searches_in.match(self.task):
            self.behind.append(self.tongue.for_text.format(value=said.text))
            return True
        if set(said.label.lower().split()[:1]) & self.tongue.features:
            return False
        nouns = [noun for noun in (said.noun, *said.others) if noun]
        patterns = [(self._mention(noun), noun) for noun in nouns] + [(self._object(said), said.noun or said.label)]
        for pattern, noun in patterns:
            for match in re.finditer(pattern, self.task, re.IGNORECASE) if pattern else ():
                article = (match.groupdict().get("article") or "").lower()
                if HERE in match[0] or (said.is_joined and noun == said.noun and article in self.tongue.definite):
                    continue
                noun = match.groupdict().get("noun") or noun  # noqa: PLW2901 - as the task spells it
                the, _ = self._articles(article, noun)
                self._put(match, placing.thing(match, noun, the, said, self.tongue), noun_of=match)
                return True
        the_one = one_of(self.task, said, f"the {said.noun} {said.text}", self.tongue)
        return self._placed(the_one) or self._by_noun(said, nouns, alone=alone)

    def _by_noun(self, said: Said, nouns: Sequence[str], *, alone: bool) -> bool:
        """Weave a value in where the task names it as what to go by: `search books by title`."""
        tongue = self.tongue
        patterns = [tongue.by_noun.format(noun=re.escape(noun)) for noun in nouns]
        found = [match for pattern in patterns if (match := re.search(pattern, self.task, re.IGNORECASE))]
        found = [match for match in found if not is_doubled(match, self.task)]
        if not found and alone and (match := tongue.by_any.search(self.task)) and not is_doubled(match, self.task):
            found = [match]
        if not found or HERE in found[0][0]:
            return False
        by = found[0]["by"].strip()
        if tongue.joining & set(by.split()) and not said.is_one:
            if tongue.joining & set(said.label.split()):  # nobody knows which of them it is
                self._put(found[0], f" {tongue.matching.format(value=said.text)}")
                return True
            by = said.label
        noun = singular(by) if said.is_one else by
        named_so = with_article(noun, tongue) if tongue.code == "fr" else noun
        self._put(found[0], tongue.by_value.format(noun=named_so, value=said.text))
        self.task = tongue.one_found.sub(lambda match: tongue.found.format(**match.groupdict()), self.task)
        if tongue.code == "en":
            self.task = re.sub(rf"\ban? ((?:[\w-]+ )?[\w-]+)(?= with the [^{HERE}]*{HERE})", r"the \1", self.task)
        return True

    def _beside(self, said: Said) -> None:
        tongue = self.tongue
        several = tongue.searches_several.match(self.task)
        if several is not None and self._words(said) & tongue.searching:
            self.task = tongue.by_rest.sub("", self.task)
            self._put(several, f"{several[0]} {tongue.matching.format(value=said.text)}")
            return
        if self._marked(said):
            return
        used = rf"\b{tongue.for_value.split()[0]} [^,{HERE}]*{HERE}|^{tongue.for_value.split()[0]} "
        is_free = not any(re.search(used, part) for part in [self.task, *self.behind])
        is_sure = not said.is_joined or said.label.split()[-1].lower() in ("id", "identifier")
        if said.is_identity and is_sure and is_free:
            noun = said.noun if tongue.code == "en" and not said.is_handle else with_article(said.noun, tongue)
            self.behind.append(tongue.for_value.format(value=f"{noun} {said.text}"))
        else:
            self.asides.append(aside(said, tongue))

    def _marked(self, said: Said) -> bool:
        """Weave a code in behind the first thing that a task is about: `move a parcel` by its tracking number."""
        words = said.label.split()
        is_path = words[-1].lower() in ("path", "file", "filename") and re.search(r"[./\\]", said.text) is not None
        is_code = " " not in said.text and any(map(str.isdigit, said.text))
        is_mark = words[-1].lower() in self.tongue.marks and (is_path or is_code)
        match = self.tongue.some_thing.search(self.task)
        if not is_mark or match is None or HERE in match[0] or self.task.split()[0] in self.tongue.makes:
            return False
        self._put(match, f"{match['noun']} {said.text}", noun_of=match)
        return True

    def _whole(self, said: Said) -> str | None:
        """Find the argument's whole name, which is of several words: `the name of a commune`."""
        if len(said.label.split()) < 3 or self.tongue.joining & set(said.label.split()):
            return None
        return rf"(?<!son )(?<!leur )(?<!its )(?:\b(?:an?|the|une?|le|la|les) |\bl['’])?\b{re.escape(said.label)}\b"

    def _mention(self, noun: str) -> str:
        return self.tongue.mention.format(noun=re.escape(noun))

    def _object(self, said: Said) -> str | None:
        """Find what is searched for, where the argument is what to search with."""
        match = self.tongue.searches.match(self.task) if self._words(said) & self.tongue.searching else None
        return rf"(?<={re.escape(self.task[: match.start('object')])}){article_and_noun(match)}" if match else None

    @staticmethod
    def _words(said: Said) -> set[str]:
        return set(re.findall(r"\w+", f"{said.label} {' '.join(said.paths)}".lower()))

    def _articles(self, article: str, noun: str) -> tuple[str, str]:
        if self.tongue.code == "en":
            return ("the", "those" if is_several(noun) else "that")
        known = self.tongue.articles.get(article.strip().replace("’", "'"))
        return known or (("la", "cette") if is_feminine(noun.split(maxsplit=1)[0] if noun else "") else ("le", "ce"))

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
        self.task = f"{self.task[: match.start()]}{text}{HERE}{after}"
