"""A draft: one scenario before it has words and before it is accepted; every source hands on drafts, and nothing else.

`Source.drafts()` gives drafts, `Wording` gives them their lines, `assemble` makes a scenario file of them, and `accept`
says whether the file is written (DESIGN §5, *Generation*). Numbers of calls count from 0 over all turns of a draft,
or, where so said, over those that a line asks for (`Draft.requested`).
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Literal, Protocol, get_args

from pytest_agentbench.core.acts import ActKind
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.events import ExpectedHandoff
from pytest_agentbench.core.json_values import JsonValue, same
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import ToolCall

_DETAIL = 300
"""Characters of what a loss says."""


class Origin(Model):
    """Where an argument's value comes from: the user says it, or it stands at `path` of the answer of call `call`.

    `entry` names the verified call of the pool that it was taken from, if any.
    """

    source: Literal["user", "result"]
    call: int | None = None
    path: str = ""
    entry: str = ""


class PlannedCall(Model):
    """A call that was really made while planning: `answer` is its text, `origins` has each argument by dotted path.

    `fails`: the scenario plans for the tool's refusal. `asked` False: the agent makes it on its own because a rule or
    another call needs it (identify first); values of it are still said.
    """

    call: ExpectedCall
    origins: dict[str, Origin] = {}
    answer: str = ""
    writes: bool = False
    fails: bool = False
    asked: bool = True

    @property
    def made(self) -> ToolCall:
        """The call as it is made."""
        return ToolCall(name=self.call.name, arguments=dict(self.call.arguments), requestor=self.call.requestor)


class _Labelled(Model):
    """What a line says or asks for, by its name in plain words."""

    label: str


class Stated(_Labelled):
    """A value that the user says, and the dotted path that it fills of a requested call."""

    value: JsonValue
    argument: str = ""
    call: int = 0


class Reference(_Labelled):
    """A thing that the user points at: entry `position` of `count` in the answer of call `source`.

    It fills the dotted path `argument` of the requested call `call`; `path` leads to the value (`orders.1.id`).
    """

    source: int
    path: str
    position: int = 0
    count: int = 1
    argument: str = ""
    call: int = 0


class Wanted(_Labelled):
    """A value that the user wants to be told: it stands at `path` of the answer of call `call` of the turn's own.

    `thing` says whose value it is, where the label alone does not.
    """

    text: str
    thing: str = ""
    call: int = 0
    path: str = ""


class Turn(Model):
    """One line of the user ("" until it is worded): its act, and the calls that a right run makes because of it.

    `refused` are calls that the line asks for, or a `decline` concerns, and a right run does not make; `about` are the
    values that the act concerns: a user who asks for what is refused says yes to a question about them. A change that
    must be confirmed takes two turns: a `request` with the values, and a `confirm` whose `calls` hold the change
    (`decline`: whose `refused` hold it).
    """

    act: ActKind = "request"
    calls: tuple[PlannedCall, ...] = ()
    refused: tuple[PlannedCall, ...] = ()
    states: tuple[Stated, ...] = ()
    references: tuple[Reference, ...] = ()
    wanted: tuple[Wanted, ...] = ()
    about: tuple[JsonValue, ...] = ()
    line: str = ""


class WrongRun(Model):
    """A run that breaks one rule, made of what the draft's own lines ask for and its rows offer.

    `forbidden`: `call` is made at `turn`, whether the agent asks first or not. `skipped`: call number `number` is left
    out. `repeated`: it is made twice. `declined`: the user of `turn` says no, and the calls are made all the same.
    `unasked`: nobody asks the user before. `unsaid`: `text` is left out of the agent's words. `change` says in words
    what differs; `accept` writes `finding`, what the checks say of it.
    """

    kind: Literal["forbidden", "skipped", "repeated", "declined", "unasked", "unsaid"]
    change: str
    turn: int | None = None
    call: PlannedCall | None = None
    number: int | None = None
    text: str = ""
    finding: str = ""


Event = Literal["kept", "requested", "declined", "unproven", "at_limit"]
"""What happens to a policy: kept by a plain request; the request would break it; the user says no; the proof is
missing; the request stands exactly at the limit."""

Handling = Literal["decided", "exercised", "enforced", "judge_only"]
"""decided: each wrong run fails by a finding of this rule. exercised: it is involved, a wrong run is not told apart or
refused by the tool. enforced: the tool itself refuses all of them. judge_only: there is no rule."""


class PolicyPart(Model):
    """What a draft does with one policy, and by which call, row, refusal or turn; `accept` adds handling and reason."""

    policy: str
    event: Event = "kept"
    involves: str = ""
    wrong_runs: tuple[WrongRun, ...] = ()
    handling: Handling = "judge_only"
    reason: str = ""


class Persona(Model):
    """The four fields that a simulated user gets (τ²), and the ids of the modifiers that fit."""

    task_instructions: str
    reason_for_call: str
    known_info: str
    unknown_info: str | None = None
    modifiers: tuple[str, ...] = ()


class Owner(Model):
    """Whom all that a draft touches belongs to: a row by table and key, or a stated role that may see it.

    `facts` is what the person can say of itself when it is asked who it is: the key and the texts of its row.
    """

    table: str = ""
    key: JsonValue = None
    name: str = ""
    role: str = ""
    facts: dict[str, JsonValue] = {}


ANSWERS: tuple[ActKind, ...] = ("confirm", "condition", "decline", "withdraw", "inform")
"""Acts of turns that answer the agent, and ask for nothing new."""


class Draft(Model):
    """A scenario that is planned, with its calls made for real; `id` is stable for one seed and one place in the order.

    `state` is what the scenario adds to the suite's own state, `forbidden` what a right run must not call,
    `communicate` what it must say, `handoffs` to which agents it must hand over (`place`: the number of calls before).
    `purpose` and `situation` are the critic's summaries. `provenance` is kept in the file as it is, `notes` as lines of
    its header. `lapses_after` are the days after the suite's `now` on which a right run fails, 0 where none does.
    """

    id: str
    source: Literal["tools", "policies"]
    turns: tuple[Turn, ...] = ()
    state: dict[str, JsonValue] = {}
    forbidden: tuple[ExpectedCall, ...] = ()
    communicate: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    handoffs: tuple[ExpectedHandoff, ...] = ()
    policies: tuple[PolicyPart, ...] = ()
    owner: Owner = Owner()
    language: str = "en"
    personas: tuple[Persona, ...] = ()
    purpose: str = ""
    situation: str = ""
    worded_by: str = ""
    tags: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    lapses_after: int = 0
    provenance: dict[str, Any] = {}

    def requested(self, turn: int) -> tuple[PlannedCall, ...]:
        """The calls that the line of a turn is about: its own, its refused ones, and those of answers behind it."""
        return tuple(call for call, _ in self.placed(turn))

    def placed(self, turn: int) -> tuple[tuple[PlannedCall, int], ...]:
        """The calls of `requested`, each with the number of calls that a right run made before it."""
        at = sum(len(one.calls) for one in self.turns[:turn])
        found: list[tuple[PlannedCall, int]] = []
        for number, one in enumerate(self.turns[turn:]):
            if number and (self.turns[turn].act in ANSWERS or one.act not in ANSWERS):
                break
            found += [(call, at + place) for place, call in enumerate(one.calls)]
            at += len(one.calls)
            found += [(call, at) for call in one.refused]
        return tuple(found)

    @property
    def calls(self) -> tuple[PlannedCall, ...]:
        """The calls of a right run, over all turns."""
        return tuple(call for turn in self.turns for call in turn.calls)

    @property
    def asked(self) -> tuple[PlannedCall, ...]:
        """The calls that the user asks for, those that are refused first within a turn."""
        return tuple(call for turn in self.turns for call in (*turn.refused, *turn.calls) if call.asked)

    @property
    def values(self) -> Mapping[str, JsonValue]:
        """What the user says, by label; a label that means two values has a number behind it."""
        found: dict[str, JsonValue] = {}
        for stated in (one for turn in self.turns for one in turn.states):
            label, number = stated.label, 2
            while label in found and found[label] != stated.value:
                label, number = f"{stated.label} {number}", number + 1
            found[label] = stated.value
        return found

    @property
    def known(self) -> dict[str, JsonValue]:
        """What the user knows: what it says, by label (its meaning before a slip), and who it is, by one name."""
        found = dict(self.values)
        for label, value in self.owner.facts.items():
            is_said = any(same(one, value) for one in found.values())
            if not is_said or (label not in found and value != self.owner.key):
                found[label if label not in found else f"own {label}"] = value
        for label, slip in self._refused_texts():
            for other in [name for name in found if name == f"own {label}" or name.startswith(f"{label} ")]:
                meant = found[other]
                if found.get(label) == slip and meant != slip and sorted(str(meant)) == sorted(slip):
                    found[label], found[other] = meant, slip
        return found

    def _refused_texts(self) -> Iterator[tuple[str, str]]:
        """Yield the texts that the user says, by label, for calls that fail."""
        for place, turn in enumerate(self.turns):
            requested = self.requested(place)
            for one in turn.states:
                if isinstance(one.value, str) and one.call < len(requested) and requested[one.call].fails:
                    yield one.label, one.value


Stage = Literal["plan", "hydration", "rows", "wording", "critic", "persona", "assembly", "acceptance"]


_OfData = Literal["no verified call left", "nothing to hand on"]
_OfOwners = Literal["it would break a rule", "it would mix the affairs of two people", "several owners"]
_OfNames = Literal[
    "a value is known by coincidence", "a request names two things", "a blind solver does something else"
]  # fmt: skip
_OfNothing = Literal["an agent that does nothing is right", "validation: vacuous"]
_OfDates = Literal["a date that comes near"]
_OfRows = Literal["inconsistent row", "not one event", "a call fails on fresh rows"]
_OfRules = Literal[
    "not involved", "no request decides it", "the right run breaks a rule", "the right run breaks a rule of the suite",
    "the right run does not pass", "validation: oracle", "validation: unreachable",
]  # fmt: skip
_OfTools = Literal[
    "a call does not come back", "verified calls fail behind others", "a change fails behind others",
    "the environment does not answer", "values that are others in each environment", "the right run does not end",
    "its runs cannot be played", "validation: replay",
]  # fmt: skip
_OfModels = Literal[
    "the model gives no usable answer", "the model makes calls that cannot be made", "the model came to too few calls",
    "absurd", "cut to nothing", "cut where it cannot be", "not a line for each turn",
    "a line that does not say what it must", "a persona that does not know what it must", "implausible", "invented",
    "other writes",
]  # fmt: skip
_OfChance = Literal[
    "its end is its beginning", "a request is refused for what was done before it", "too many calls were tried",
    "not tried",
]  # fmt: skip
_OfForms = Literal["not a scenario", "a call that cannot be made", "validation: static", "validation: id"]
Reason = Literal[
    _OfData, _OfOwners, _OfNames, _OfNothing, _OfDates, _OfRows, _OfRules, _OfTools, _OfModels, _OfChance, _OfForms
]  # fmt: skip
"""Why drafts are lost."""

HELPS: dict[str, tuple[Reason, ...]] = {
    "a larger `pool`, or more data behind the tools": get_args(_OfData),
    "rows that name whose they are by the key of that person; say which tools only read": get_args(_OfOwners),
    "one name for one thing in arguments and answers; a model that words the lines": get_args(_OfNames),
    "a tool that changes something and that the rules allow; an answer with something to tell": get_args(_OfNothing),
    "`now` in the suite, or dates that stand in the state": get_args(_OfDates),
    "rows that can be copied with other keys, names and days; tools that read the state alone": get_args(_OfRows),
    "rules that one right run keeps together; more rows of the kind that they are about": get_args(_OfRules),
    "tools that give the same in each fresh environment": get_args(_OfTools),
    "another model; or none (plain phrases)": get_args(_OfModels),
    "nothing need be done: others are tried in its place": get_args(_OfChance),
    "arguments as the schemas of the tools allow them; else tell us": get_args(_OfForms),
}
"""What helps against each reason; the report and the documentation say it."""


class Loss(Model):
    """A draft that became no scenario: at which stage, for which reason (`Reason`), and in detail."""

    draft: str
    stage: Stage
    reason: str
    detail: str = ""

    @property
    def is_unwanted(self) -> bool:
        """Whether a model found that nobody would ask for this, in whatever words."""
        return self.reason == "absurd"


class LostError(Exception):
    """A draft became no scenario: at which stage, and why."""

    def __init__(self, stage: Stage, reason: Reason, detail: str = "") -> None:
        super().__init__(f"{stage}: {reason}: {detail}")
        self.stage, self.reason, self.detail = stage, reason, detail

    def loss(self, draft: str) -> Loss:
        """Give the loss of a draft by its id."""
        told = shorten(printable(self.detail), _DETAIL)
        return Loss(draft=draft, stage=self.stage, reason=self.reason, detail=told)


class Source(Protocol):
    """Gives drafts, the same for the same seed, until nobody asks for more or nothing is left."""

    def drafts(self) -> AsyncIterator[Draft | Loss]:
        """Give drafts, and what was lost while planning them, one after the other."""
        ...

    def accepted(self, draft: Draft) -> None:
        """Hear that a draft became a scenario, so that what is not covered yet comes next."""
        ...

    def lost(self, loss: Loss) -> None:
        """Hear that a draft was lost, so that its like is not tried again."""
        ...
