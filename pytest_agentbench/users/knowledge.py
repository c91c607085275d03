"""What a scripted user wants, knows and has given, and what a message of the agent is about as far as these tell."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.core.acts import Line
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.ids import Scalar, clipped, codes_in, named_values, shape
from pytest_agentbench.core.names import IDENTIFIERS, readable, words_of
from pytest_agentbench.core.scenario import ExpectedCall, Scenario
from pytest_agentbench.core.spoken import plain, states
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.transcript import Message, agent_messages, has_question_mark
from pytest_agentbench.suites.language import Language

_IDENTIFIER = re.compile(r"[a-z]+(?:_[a-z]+)+")
_NUMBER = re.compile(r"(?<![\w.,:/@+-])\d{1,15}(?:[.,]\d+)?(?![\w:/@]|[.,-]\d)")
_WEAK = 2
"""Characters up to which a value is stated by chance."""


@dataclass(frozen=True)
class Fact:
    """A value and the names by which an agent may ask for it; `name` is the one that it is given under."""

    name: str
    value: Any
    names: tuple[str, ...] = ()

    @property
    def stem(self) -> str:
        """The name without the number that tells a second value of that name from the first: `amount 2`."""
        return self.name.rstrip("0123456789").rstrip() or self.name

    def is_stated(self, text: str, locale: str) -> bool:
        """Whether a text states the value, of a list all of it."""
        values = self.value if isinstance(self.value, list) else [self.value]
        said = clipped(text)
        return bool(values) and all(states(one, said, locale) for one in values)

    def is_asked(self, text: str, language: Language, *, loosely: bool) -> bool:
        """Whether a message names the value and does not itself state it."""
        return language.names(self.names, text, loosely=loosely) and not self.is_stated(text, language.locale)

    @property
    def is_bare(self) -> bool:
        """Whether its name is just *id* or *number*: "Done, line L2 with the number 0170 1." does not ask for it."""
        return all(IDENTIFIERS.issuperset(words_of(name)) for name in self.names)

    def sentence(self, language: Language) -> str:
        """Say what is known in the plain form of the language."""
        text = language.fact.format(label=readable(self.name), value=spoken(self.value))
        return text[:1].upper() + text[1:]


def spoken(value: Any) -> str:
    """Give a value as a person would write it: a name such as `no_longer_needed` as words."""
    if isinstance(value, list):
        return ", ".join(map(spoken, value))
    if not isinstance(value, str):
        return dumps(value)
    return value.replace("_", " ") if _IDENTIFIER.fullmatch(value) else value


class Wanted(Model):
    """A value of an expected write; `others` are what its schema would have admitted instead.

    One without a name is an id that the user's own words hold; nothing contradicts it. `writes` are the expected writes
    that hold the value: the way and the position of each.
    """

    name: str
    value: Scalar
    others: tuple[str, ...] = ()
    writes: frozenset[tuple[int, int]] = frozenset()

    @property
    def is_telling(self) -> bool:
        """Whether a text that states the value is likely to be about it: no single digit or short word."""
        return len(str(self.value)) > _WEAK or not str(self.value).isalnum() or bool(shape(str(self.value)))


Wants = Sequence[Wanted]


def wants_of(scenario: Scenario, toolset: Toolset) -> tuple[Wanted, ...]:
    """Compile what the user wants from the agent's expected writes; tools are not named in it."""
    found: dict[tuple[str, str], Wanted] = {}
    writes: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
    for number, way in enumerate(scenario.ways):
        for position, call in enumerate(way.expected_calls):
            spec = toolset.get(call.name)
            if call.requestor != "assistant" or (spec is not None and spec.kind in ("read", "generic")):
                continue
            for name, value, schema in named_values(call.arguments, spec.parameters if spec else None):
                admitted = listed if isinstance(listed := schema.get("enum"), list) else ()
                others = (one for one in admitted if isinstance(one, str) and one != value and len(one) > _WEAK)
                found[name, repr(value)] = Wanted(name=name, value=value, others=tuple(others))
                writes[plain(str(value))].add((number, position))
    return tuple(one.model_copy(update={"writes": frozenset(writes[plain(str(one.value))])}) for one in found.values())


def askable(toolset: Toolset) -> tuple[str, ...]:
    """Give the names of all arguments of the agent's tools."""
    return tuple(dict.fromkeys(name for spec in toolset.of("assistant") for name in spec.arguments or ()))


def required(scenario: Scenario, toolset: Toolset) -> tuple[str, ...]:
    """Give the names of what an agent cannot do without: the required arguments of lookups and of expected calls."""
    expected = {call.name for way in scenario.ways for call in way.expected_calls}
    specs = [spec for spec in toolset.of("assistant") if spec.kind != "write" or spec.name in expected]
    return tuple(dict.fromkeys(str(name) for spec in specs for name in spec.parameters.get("required") or ()))


def leaves_open(scenario: Scenario, toolset: Toolset) -> bool:
    """Whether an expected write leaves an argument of its own open, or nobody knows which it has.

    Where none does, an agent that was told all values lacks nothing that a call could take.
    """
    writes = [call for way in scenario.ways for call in way.expected_calls if call.requestor == "assistant"]
    known = [(call, spec) for call in writes if (spec := toolset.get(call.name)) is not None]
    written = [(call, spec.arguments) for call, spec in known if spec.kind not in ("read", "generic")]
    return not written or any(names is None or not names <= call.arguments.keys() for call, names in written)


def telling(wants: Iterable[Wanted]) -> tuple[Wanted, ...]:
    """Give the wanted values that a text hardly states by chance; where there is none, all."""
    every = tuple(wants)
    return tuple(one for one in every if one.is_telling) or every


def undone(wants: Iterable[Wanted], done: Iterable[Scalar]) -> list[Wanted]:
    """Give what is still wanted when writes with the values `done` were made, each as often as it stands there.

    Of several ways one is enough: what only another one holds is not wanted any more.
    """
    made = Counter(plain(str(value)) for value in done)
    times = {one: Counter(way for way, _ in one.writes) for one in wants}
    left = [one for one, several in times.items() if made[plain(str(one.value))] < max(several.values(), default=1)]
    ways = {way for several in times.values() for way in several}
    is_done = any(all(made[plain(str(one.value))] >= several[way] for one, several in times.items()) for way in ways)
    return [one for one in left if not (is_done and one.writes)]


def wants_in(texts: Iterable[str], wants: Wants) -> tuple[Wanted, ...]:
    """Give what the user asks for itself: the ids in its requests, of kinds that no expected write speaks of.

    A right agent need not write what it is asked to, and a wrong one is shown only where its question gets a yes.
    """
    shapes = {shape(plain(str(one.value))) for one in wants}
    codes = {code: raw for text in texts for code, raw in codes_in(text).items() if shape(code) not in shapes}
    return tuple(Wanted(name="", value=raw) for raw in codes.values())


def numbers_in(texts: Iterable[str]) -> tuple[Wanted, ...]:
    """Give the plain numbers in what the user asks for, as wanted values without a name."""
    found = (plain(token) for text in texts for token in _NUMBER.findall(clipped(text)))
    whole = dict.fromkeys(token for token in found if not shape(token))
    return tuple(Wanted(name="", value=float(one) if "." in one else int(one)) for one in whole)


def stated(wants: Iterable[Wanted], text: str, locale: str) -> list[Wanted]:
    """Give the wanted values that a text states."""
    return [one for one in wants if states(one.value, text, locale)]


def contradicted(wants: Wants, text: str, known: frozenset[str], locale: str) -> list[Wanted]:
    """Give the wanted values in whose place a text states another: an id of the same shape, or one of the choices.

    An id that the user itself knows of contradicts only where the wanted one is not stated beside it; one that the user
    asks for, and no write expects, is contradicted by ids that the user does not know alone.
    """
    found: list[Wanted] = []
    wanted = {plain(str(one.value)) for one in wants}
    codes = [code for code in codes_in(text) if code not in wanted]
    for one in wants:
        own = shape(plain(str(one.value)))
        rivals = [code for code in codes if own and shape(code) == own]
        if states(one.value, text, locale) and not one.name:
            continue
        if states(one.value, text, locale) or not one.name:
            rivals = [code for code in rivals if code not in known]
        choices = [other for other in one.others if plain(other) not in wanted]
        if rivals or any(states(other, text, locale) for other in choices):
            found.append(one)
    return found


def _kind(code: str) -> str:
    """Give what ids of one kind have in common; one letter says little: `B5` and `C7` are of one kind, `M31` is not."""
    has_one = sum(map(str.isalpha, code)) == 1
    return "".join("0" if one.isdigit() else "a" if one.isalpha() else one for one in code) if has_one else shape(code)


class Heard:
    """What a message of the agent is about: values `left` to do that it states, and wanted ones that it contradicts.

    `weak` are values that count only where a question states no other. `matter` is what the message is about, or where
    it states nothing one of those `before` it.
    """

    def __init__(
        self,
        text: str,
        before: Sequence[str],
        wants: Wants,
        *,
        left: Wants,
        weak: Wants = (),
        known: frozenset[str],
        locale: str,
    ) -> None:
        self.text = text
        self._wants, self._known = wants, known
        self.asks = has_question_mark(text)
        self._texts = [text, *before]
        self._locale = locale
        self.stated = stated(left, text, locale)
        self.contradicted = contradicted(wants, text, known, locale)
        if self.asks and not (self.stated or self.contradicted):
            self.stated = stated(weak, text, locale)
        self.matter = self.stated
        source = text
        if not (self.stated or self.contradicted):
            source = next((one for one in reversed(before) if stated(left, one, locale)), "")
            self.matter = stated(left, source, locale)
            self.contradicted = contradicted(wants, source, known, locale)
        wanted = {plain(str(one.value)) for one in wants}
        self.is_choice = all(one in self.stated for one in self.contradicted)
        # "W2 is gone. Shall I take W1 instead?"
        self._is_instead = self.asks and self.is_choice and not any(one.others for one in self.contradicted)
        self.others = tuple(raw for code, raw in codes_in(source).items() if code not in wanted | known)

    def lists_what(self, line: str) -> bool:
        """Whether the message also states each value it contradicts, and a line of the user says which is meant."""
        wanted = [one.value for one in self.contradicted]
        own = {one.value for one in self.stated}
        return all(value in own and states(value, line, self._locale) for value in wanted)

    def is_told_by(self, line: str) -> bool:
        """Whether a line of the user gives a wanted value that the message offers beside others, or lacks."""
        return bool(stated(self.stated, line, self._locale)) or bool(self._lacking(line))

    def _lacking(self, line: str) -> list[Wanted]:
        """Give the expected values of a line that the message lacks, and has no other one of in its place."""
        has = {one.name for one in stated(self._wants, self.text, self._locale)}
        return [one for one in stated(self._wants, line, self._locale) if one.name and one.name not in has]

    def is_changed_by(self, line: str) -> bool:
        """Whether a line of the user names a wanted id where the message states another of its kind, and not that one.

        "Make it C7, please." changes "B5, shall I?".
        """
        codes = (codes_in(self.text).keys() & self._known) - {plain(str(one.value)) for one in self._wants if one.name}
        kinds = {_kind(code) for code in codes}  # of what the user spoke of: "on A4 paper" is no wish
        return any(_kind(plain(str(one.value))) in kinds for one in self._lacking(line))

    def is_about(self, values: Sequence[object], *, alone: bool) -> bool:
        """Whether the message, or one of those before it, states one of `values`.

        `alone`: the message itself must, since it also asks for something else.
        """
        texts = self._texts[:1] if alone else self._texts
        return any(states(value, text, self._locale) for text in texts for value in values)

    def is_new_to(self, messages: Sequence[Message], line: Line) -> bool:
        """Whether a request answers the message: the agent offers what the user did not speak of yet.

        A request with other ids is about something else.
        """
        said = [clipped(message.text) for message in messages if message.role == "user"]
        is_new = not any(states(one.value, text, self._locale) for one in self.matter for text in said)
        about = codes_in(line.text)
        return is_new and (not about or any(states(raw, self.text, self._locale) for raw in about.values()))

    def takes(self, line: Line, ids: Sequence[object], *, alone: bool) -> bool:
        """Whether a yes or no of the script without `about` answers the message; `ids` are those of its request.

        It answers what is wanted, a no also what is not, but nothing that is of one kind with the request's ids and not
        among them.
        """
        if self.contradicted and line.act != "decline" and not self._is_instead:
            return False
        is_meant = self.is_about(ids, alone=alone)
        kinds = {shape(plain(str(one.value))) for one in self.matter} - {""}
        if not is_meant and any(shape(plain(str(one))) in kinds for one in ids):
            return False
        return is_meant or bool(self.contradicted or (self.stated if alone else self.matter))


class Knowledge:
    """The facts of one user, and which of them it has `given`."""

    def __init__(self, facts: Sequence[Fact], expected: Sequence[ExpectedCall], language: Language) -> None:
        """`expected` are the agent's calls, whose values a user may have said without knowing them as facts."""
        self.facts = tuple(facts)
        self.given: set[str] = set()
        self._expected = expected
        self._language = language
        self._locale = language.locale

    @property
    def names(self) -> list[str]:
        """All names by which an agent may ask for something."""
        return [name for one in self.facts for name in one.names]

    def values_in(self, text: str, wants: Wants, ids: frozenset[str]) -> tuple[object, ...]:
        """Give the known values that a message states: wanted ones, those of facts, and `ids` of the user's lines."""
        found: list[object] = [one.value for one in stated(wants, text, self._locale)]
        found += [fact.value for fact in self.facts if fact.is_stated(text, self._locale)]
        plainly = {plain(str(one)) for one in found}
        found += [raw for code, raw in codes_in(text).items() if code in ids - plainly]
        return tuple(dict.fromkeys(one if isinstance(one, str | int | float) else str(one) for one in found))

    def known_names(self, can_know: Callable[[object], bool]) -> list[str]:
        """Give the names of its facts, and of those values of expected calls that it `can_know`."""
        values = ((name, value) for call in self._expected for name, value in call.arguments.items())
        return [*self.names, *(name for name, value in values if can_know(value))]

    def asked(self, messages: Sequence[Message], heard: Heard, *, is_over: bool) -> list[Fact]:
        """Give the facts that a message names.

        One that was stated before is given again only to a question that is about nothing else, by all of its name, and
        not where it `is_over`; what expected calls take and nobody stated comes before it. The second of a name is not
        asked for where the message states the first.
        """
        named = [
            fact
            for fact in self.facts
            if fact.is_asked(heard.text, self._language, loosely=heard.asks) and (heard.asks or not fact.is_bare)
        ]
        stems = {fact.stem for fact in self.facts if fact.is_stated(heard.text, self._locale)}
        found = [fact for fact in named if fact.stem not in stems]
        said = [message.text for message in messages]
        is_alone = heard.asks and not (heard.stated or heard.contradicted)

        def is_due(fact: Fact) -> bool:
            is_old = fact.name in self.given or any(fact.is_stated(one, self._locale) for one in said)
            is_asked_again = is_alone and not is_over and fact.is_asked(heard.text, self._language, loosely=False)
            return not is_old or is_asked_again

        due = [fact for fact in found if is_due(fact)]
        is_known = not any(self._is_new(fact, said) for fact in due)
        return [*self.needed(messages), *due] if due and is_known else due  # "How long do you need the boat?"

    def chosen(self, messages: Sequence[Message], heard: Heard) -> list[Fact]:
        """Give the facts that a question names and states, and that nobody spoke of before, where it is about them.

        A yes would be no answer to "Which plan: mini, midi or maxi?"; a value also answers "Plan: maxi, shall I?".
        """
        if not heard.asks:
            return []
        said = [message.text for message in messages[:-1]]
        found = [
            fact
            for fact in self.facts
            if self._language.names(fact.names, heard.text)
            and fact.is_stated(heard.text, self._locale)
            and self._is_new(fact, said)
        ]
        values = {plain(str(fact.value)) for fact in found}
        return found if all(plain(str(one.value)) in values for one in heard.matter) else []

    def needed(self, messages: Sequence[Message]) -> list[Fact]:
        """Give the facts that expected calls take and nobody stated yet."""
        values = {plain(str(value)) for call in self._expected for _, value, _ in named_values(call.arguments)}
        return [fact for fact in self.unsaid(messages) if plain(str(fact.value)) in values]

    def unsaid(self, messages: Sequence[Message]) -> list[Fact]:
        """Give the facts that nobody stated yet."""
        said = [message.text for message in messages]
        return [fact for fact in self.facts if self._is_new(fact, said) and any(map(words_of, fact.names))]

    def said_before(self, heard: Heard, messages: Sequence[Message], wants: Wants, *, loosely: bool) -> list[Fact]:
        """Give the values of expected calls that a question names, that the user had said, and the agent never did.

        An agent that spoke of a value has heard it. Nor does "Shall I go on with your order?" ask for the order id,
        unless the agent insists.
        """
        said = [clipped(message.text) for message in messages if message.role == "user"]
        heard_of = agent_messages(messages)
        named = [(name, value) for call in self._expected for name, value, _ in named_values(call.arguments)]
        named += [(one.name, one.value) for one in wants if one.name]
        facts = {name: Fact(name, value, (name,)) for name, value in named}
        return [
            fact
            for fact in facts.values()
            if fact.is_asked(heard.text, self._language, loosely=loosely)
            and any(fact.is_stated(text, self._locale) for text in said)
            and not any(fact.is_stated(text, self._locale) for text in heard_of)
        ]

    def _is_new(self, fact: Fact, said: Sequence[str]) -> bool:
        return fact.name not in self.given and not any(fact.is_stated(one, self._locale) for one in said)
