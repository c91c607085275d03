"""Requests as people word them: what a tool's description says it is for, with values where it speaks of their things.

The words are those of scenarios from tools (`generation/tools/wording`). Where a description is written for the agent
(long, about the user in the third person, or without a place for a value) the tool's name says it better (`user.wish`).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.generation._reading.kinds import humanize
from pytest_agentbench.generation._reading.phrases.language import words
from pytest_agentbench.generation.policies.events.acts import Argument, Proposal, Said
from pytest_agentbench.generation.policies.events.tables import singular
from pytest_agentbench.generation.tools.values import Card, ParameterCard
from pytest_agentbench.generation.tools.wording.asides import sentences
from pytest_agentbench.generation.tools.wording.phrasing import TONGUES, contracted, language_of, with_article
from pytest_agentbench.generation.tools.wording.tongue import Code, Tongue
from pytest_agentbench.generation.tools.wording.weaving import woven
from pytest_agentbench.generation.tools.wording.wishes import Wish

_LONG = 14
"""Words of a request beside its values; more are an explanation of the tool."""
_SHORT = 8
"""Words of a request beside its values that nobody minds."""
_BEHIND = words(
    "to for of with in on at and from by into as until till out is are or that which who back over off up down away"
)
"""Words that may stand behind a value."""
_OTHER_DEEDS = words(
    "escalate exchange start take return issue hand shift extend swap refund look buy sell borrow lend pick drop ring"
    " leave swap bring collect charge put claim"
)
"""What names of tools begin with, beside the verbs that descriptions do."""
_MOST_BESIDE = 2
"""Sentences beside a request for values that it has no place for."""
_TELLS = {"en": ("give", "tell", "show", "get"), "fr": ("me", "donner", "dire")}
"""What requests begin with that want to be told something."""
_MORE = re.compile(r"\bfor (?:some|a few|several) more (?P<noun>[a-z]+s)\b")
_AMOUNT = {"en": "number of {noun}", "fr": "nombre de {noun}"}
_AMOUNT_MORE = "how many {noun} more"
_NUMBER_OF = {"en": "number of the {noun}", "fr": "numéro du {noun}"}


@dataclass(frozen=True, kw_only=True)
class Speech:
    """What requests are worded with: the tools, what their arguments take, and the table of persons who ask, if any."""

    tools: Mapping[str, ToolSpec]
    arguments: Mapping[str, tuple[Argument, ...]]
    asking: str = ""


@dataclass(frozen=True)
class Request:
    """A request in words: what is asked for, as an infinitive phrase, and sentences beside it.

    `cost` says how far from what a user says it is: sentences beside, commas, many words. `is_described`: the tool's
    description words it.
    """

    task: str
    beside: str = ""
    cost: float = 0.0
    is_described: bool = False

    @property
    def text(self) -> str:
        """All of it in one sentence, without a full stop: what stands beside is put in parentheses."""
        beside = self.beside.rstrip(".")
        return f"{self.task} ({beside[:1].lower()}{beside[1:]})" if beside else self.task


def asked_for(proposal: Proposal, named: str, speech: Speech, language: str, *, for_me: bool = True) -> Request:
    """Give a request as the tool's description words it, or as `named`, which its name does, where that is better."""
    request = described(proposal, speech, language, for_me=for_me)
    if request is None or request.task == named or request.cost >= cost_of_name(named, proposal):
        is_deed = language != "en" or named.split(maxsplit=1)[0] in {*TONGUES["en"].verbs, *_OTHER_DEEDS}
        return Request(named if is_deed else f"look up {with_article(named, TONGUES['en'])}")
    return request


def opening_of(number: int, language: str, *, is_first: bool) -> str:
    """Give a sentence that asks for something, `{wish}` in its place."""
    tongue = TONGUES["fr" if language == "fr" else "en"]
    asks = tongue.asks if is_first else tongue.asks_again
    return asks[number % len(asks)].replace("{task}", "{wish}")


def described(proposal: Proposal, speech: Speech, language: str, *, for_me: bool = True) -> Request | None:
    """Say a call by its tool's description; None where that says it badly. `for_me`: it is for the user itself."""
    spec = speech.tools.get(proposal.tool)
    if spec is None or language_of([spec.description]) != language or any(one.how == "about" for one in proposal.said):
        return None
    tongue = TONGUES["fr" if language == "fr" else "en"]
    by_name = any(one.text != str(proposal.arguments.get(one.argument)) for one in proposal.said if one.how != "count")
    found = [
        request
        for by_table in ((True, False) if by_name else (False, True))
        if (request := _worded(proposal, spec, speech, tongue, by_table=by_table, for_me=for_me)) is not None
    ]
    return min(found, key=lambda one: (one.cost, len(one.task)), default=None)


def cost_of_name(named: str, proposal: Proposal) -> float:
    """Say how far from what a user says a request is that is made of the tool's name and values behind it."""
    hows = {one.how for one in proposal.said}
    is_apart = any(
        one.how == "which" and f" of {humanize(one.argument)}".removesuffix(" id").removesuffix(" number") in named
        for one in proposal.said
    )
    has_no_thing = len(humanize(proposal.tool).split()) < 2
    return 1 + named.count(":") + 1.5 * is_apart + 1.5 * has_no_thing + ({"with", "to"} <= hows)


def _worded(
    proposal: Proposal, spec: ToolSpec, speech: Speech, tongue: Tongue, *, by_table: bool, for_me: bool
) -> Request | None:
    asking = singular(speech.asking) if speech.asking else ""
    is_french = tongue.code == "fr"
    text = spec.description if is_french else _of_oneself(spec.description, asking, tongue.code, for_me=for_me)
    more = _MORE.search(text)
    text = _MORE.sub("for longer", text)
    said = {one.argument: one for one in proposal.said}
    properties = spec.parameters.get("properties", {})
    parameters = []
    for argument in speech.arguments.get(spec.name, ()):
        if argument.name in said:
            form = properties.get(argument.name, {})
            by_name = said[argument.name].text != str(proposal.arguments.get(argument.name))
            label = _label(argument, tongue.code, is_more=more is not None, by_table=by_table, by_name=by_name)
            parameters.append(
                ParameterCard(path=argument.name, schema_={**form, "description": label} if label else form)
            )
    card = Card(tool=spec.name, declared_description=text, parameters=tuple(parameters), writes=spec.kind != "read")
    if len(parameters) < len(said):
        return None
    given = {name: _value(one, proposal) for name, one in said.items()}
    said_so = woven(Wish(card=card, given=given), tongue)
    task, beside = said_so.task, sentences(said_so.asides, tongue)
    for name, value in given.items():
        argument = next(one for one in speech.arguments[spec.name] if one.name == name)
        task = _without_echo(task.replace(f'"{value}"', str(value)), str(value), argument)
    if is_french:
        task = _to_oneself(_of_oneself(task, asking, "fr", for_me=for_me), asking, "fr", for_me=for_me)
    valued = sum(len(str(value).split()) for value in given.values())
    is_told = spec.kind != "read" and task.split(maxsplit=1)[0] in _TELLS[tongue.code]
    if (
        is_told
        or _is_bad(task, asking, tongue, valued)
        or len(said_so.asides) > _MOST_BESIDE
        or _is_split(task, given, tongue.code)
    ):
        return None
    spare = max(0, len(task.split()) - valued - _SHORT)
    commas = re.sub("|".join(re.escape(str(value)) for value in given.values()) or "$^", "", task).count(",")
    cost = 1.5 * len(said_so.asides) + 0.25 * spare + 0.75 * commas
    return Request(contracted(task, tongue), beside, cost, is_described=True)


def _is_split(task: str, given: Mapping[str, str | int], code: Code) -> bool:
    """Whether a value tears two words apart that belong together: `the email a@b.example address`."""
    texts = [str(value) for value in given.values() if not isinstance(value, int)]
    behind = [match[1] for text in texts if (match := re.search(rf"{re.escape(text)} ([a-z]+)", task))]
    return code == "en" and any(word not in _BEHIND for word in behind)


def _without_echo(spoken: str, value: str, argument: Argument) -> str:
    """Leave the noun out before a name that has it: `the pool Small pool`."""
    noun = singular(argument.table)
    if argument.role != "key" or noun not in value.lower().split():
        return spoken
    return re.sub(rf"\b{re.escape(noun)} (?={re.escape(value)})", "", spoken, flags=re.IGNORECASE)


def _is_bad(task: str, asking: str, tongue: Tongue, valued: int) -> bool:
    """Whether a user would not say it so: it explains, speaks of users, or lists what it has no place for."""
    first = task.split(maxsplit=1)[0] if task.split() else ""
    speaks_of_users = bool(asking) and re.search(rf"\b{re.escape(asking)}s?\b", task, re.IGNORECASE) is not None
    is_made_up = first not in tongue.verbs and first not in ("give", "tell", "show") and tongue.code == "en"
    return (
        len(task.split()) > _LONG + valued
        or speaks_of_users
        or is_made_up
        or "(" in task
        or " one of " in task
        or re.search(r"\b\w+_\w+\b", task) is not None
    )


def _label(argument: Argument, code: Code, *, is_more: bool, by_table: bool, by_name: bool) -> str:
    """Describe an argument by what it takes where its own description may not; "" keeps that."""
    noun = humanize(argument.name)
    if argument.role == "enum" and argument.number and noun.endswith("s"):
        if code == "en" and (is_more or {"extra", "more", "additional"} & set(noun.split())):
            return _AMOUNT_MORE.format(noun=noun.split()[-1])
        return _AMOUNT[code].format(noun=noun)
    if argument.role == "key" and by_table and by_name:
        return singular(argument.table)
    if argument.role == "key" and by_table:
        return _NUMBER_OF[code].format(noun=singular(argument.table))
    return ""


def _value(said: Said, proposal: Proposal) -> str | int:
    """Give what is said of an argument: a number as one."""
    given = proposal.arguments.get(said.argument, said.text)
    return given if isinstance(given, int) and not isinstance(given, bool) else said.text


def _of_oneself(text: str, asking: str, code: Code, *, for_me: bool) -> str:
    """Have a description that speaks of a customer speak of the user: `for a customer` is `for me`."""
    if not asking:
        return text
    noun = re.escape(asking)
    if code == "fr":
        one = rf"(?:une? |la |le |l['’])\s?{noun}\b"
        text = re.sub(rf"\bpour {one}", "pour moi" if for_me else "pour lui", text, flags=re.IGNORECASE)
        text = re.sub(rf"\bl(?P<e>[ea]) (?P<what>[\w ]+?) d['’]?{one}", lambda m: _mine_fr(m, for_me=for_me), text)
        return re.sub(rf"\bles (?P<what>[\w ]+?) d['’]?{one}", r"mes \g<what>" if for_me else r"ses \g<what>", text)
    one = rf"(?:an?|the|this|their|one) (?:\w+ )?{noun}\b(?!['’])"
    text = re.sub(rf"\b(for|to|with) {one}", r"\1 me" if for_me else r"\1 them", text, flags=re.IGNORECASE)
    mine = "my" if for_me else "their"
    text = re.sub(rf"(?<=know) of {one}", " of me" if for_me else " of them", text, flags=re.IGNORECASE)
    text = re.sub(rf"\b(?:the |an? )?(?P<what>\w+(?: \w+)?) (?:of|from) {one}", rf"{mine} \g<what>", text)
    text = re.sub(rf"\b(?:an?|the|this|their) {noun}['’]s\b", mine, text, flags=re.IGNORECASE)
    return re.sub(rf"\b{mine} [A-Z](?=[a-z])", lambda match: match[0].lower(), text)


def _to_oneself(task: str, asking: str, code: Code, *, for_me: bool) -> str:
    """Have what is done to a user be done to oneself: `inscrire un usager à` is `m'inscrire à`."""
    if code != "fr" or not asking:
        return task
    verb = re.match(rf"(?P<verb>\w+(?:er|ir|re)) (?:une? |la |le |l['’]){re.escape(asking)}\b", task)
    if verb is None:
        return task
    vowel = verb["verb"][0] in "aeéèêiouh"
    me = ("m'" if vowel else "me ") if for_me else ("l'" if vowel else "le ")
    return f"{me}{verb['verb']}{task[verb.end() :]}"


def _mine_fr(match: re.Match[str], *, for_me: bool) -> str:
    own = {("e", True): "mon", ("a", True): "ma", ("e", False): "son", ("a", False): "sa"}[match["e"], for_me]
    return f"{own} {match['what']}"
