"""Which requests make an event of a set of policies: each policy of the set is decided by one of them.

For every owner of rows the requests that the rows allow are tried once (`right_run.py`); what each decides is kept and
drawn from. An option is one request with its ending; the kinds of events follow from what the rules find.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from random import Random
from typing import TypeVar

from pytest_agentbench.generation.draft import Event
from pytest_agentbench.generation.policies.events.conversation import Act, Deviation, deviations
from pytest_agentbench.generation.policies.events.refusals import Tried, refused_otherwise
from pytest_agentbench.generation.policies.events.requests import Request, Rows
from pytest_agentbench.generation.policies.events.right_run import RightRuns
from pytest_agentbench.generation.policies.events.samples import Place

MOST_ACTS = 5
"""Requests of one event."""

_MOST_FOCUSES = 4
"""Rows of one owner that a tool is tried on."""

_MOST_ROOTS = 16
"""Owners whose requests are tried; there may be thousands."""

_TRIES = 3
"""Times that requests are chosen on the rows of one owner."""

_MOST_LIMITS = 12
"""Ways in which a limit is tried to be reached."""


_UNPROVEN = 0.3
"""Share of sets that a request without a proof decides alone for which there is one."""

_MOST_ALIKE = 2
"""Requests of one owner that differ in a value alone."""

T = TypeVar("T")


class PlanError(Exception):
    """No event can be planned for a set; says why."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """Acts that belong together; `decides` says of each policy by which wrong way a run breaks it, `touches` which
    policies are set off at all.
    """

    acts: tuple[Act, ...]
    decides: dict[str, Deviation]
    touches: frozenset[str]
    accepted: bool = True

    @property
    def forbids(self) -> frozenset[str]:
        """The policies that forbid one of its requests."""
        return frozenset(policy for act in self.acts for policy in act.broken)

    @property
    def tools(self) -> frozenset[str]:
        """The tools asked for or called."""
        return frozenset(call.tool for act in self.acts for call in (act.request, *act.calls))

    def event_of(self, policy: str) -> Event:
        """Say what happens to a policy that it decides."""
        wrong = self.decides.get(policy)
        if wrong is None:
            return "kept"
        act = self.acts[wrong.act]
        if act.ending == "declined":
            return "declined" if wrong.kind == "declined" else "kept"
        if wrong.kind != "forbidden":
            return "kept"
        if act.ending == "unproven":
            return "unproven"
        return "at_limit" if len(self.acts) > 1 else "requested"


@dataclass(kw_only=True)
class Planner:
    """Plans events: gives the acts for a set of policies, on the rows of one owner."""

    runs: RightRuns
    _options: dict[Place, list[Option]] = field(default_factory=dict)
    _acts_of: dict[Place, list[Act]] = field(default_factory=dict)
    _tried_requests: list[Tried] = field(default_factory=list)

    @property
    def roots(self) -> list[Place]:
        """The owners: rows of the table whose rows own most."""
        samples = self.runs.samples
        tables = samples.roots
        if not tables:
            return []
        count = len(samples.rows.get(tables[0], ()))
        step = max(1, count // _MOST_ROOTS)
        return [(tables[0], at) for at in range(0, count, step)][:_MOST_ROOTS]

    async def decidable(self) -> dict[str, bool]:
        """Say of each policy with a rule whether some request decides it; False: it is set off, and nothing more."""
        found: dict[str, bool] = {}
        for root in self.roots:
            for option in await self.options(root):
                found.update(dict.fromkeys(option.decides, True))
                for policy in option.touches:
                    found.setdefault(policy, False)
            if all(found.get(policy) for policy in self.runs.book.rules):
                break
        return found

    async def tools_reached(self) -> set[str]:
        """Give the tools that some request calls or asks for."""
        return {tool for root in self.roots for option in await self.options(root) for tool in option.tools}

    async def options(self, root: Place) -> list[Option]:
        """Give what may be asked for about the rows of an owner."""
        if root not in self._options:
            for other in self.roots if not self._acts_of else ():
                self._acts_of[other] = await self._acts(other)
            acts = _varied([self._explained(act) for act in self._acts_of[root]], _kind_of)
            single = [option for act in acts for option in await self._endings(act)]
            self._options[root] = [*single, *_varied(await self._at_limits(single), _combined)]
        return self._options[root]

    async def plan(
        self,
        policies: Sequence[str],
        tools_of: dict[str, frozenset[str]],
        random: Random,
    ) -> tuple[Place, tuple[Act, ...]]:
        """Give an owner and acts that decide every policy of a set; raise `PlanError`.

        `tools_of` are the tools of the policies that have no rule, each of which one call or refusal must be about.
        """
        roots = self.roots
        random.shuffle(roots)
        why = "nobody owns rows that a request could be about"
        for root in [root for root in roots for _ in range(_TRIES)]:
            try:
                return root, self._covered(await self.options(root), policies, tools_of, random)
            except PlanError as error:
                why = str(error)
        raise PlanError(why)

    def _covered(
        self,
        options: Sequence[Option],
        policies: Sequence[str],
        tools_of: dict[str, frozenset[str]],
        random: Random,
    ) -> tuple[Act, ...]:
        allowed = frozenset(policies)
        usable = [one for one in options if one.forbids <= allowed]
        need = list(dict.fromkeys(policies))
        chosen: list[Option] = []

        def involved(option: Option, policy: str) -> bool:
            if policy in tools_of:
                return bool(option.tools & tools_of[policy])
            return policy in option.decides

        alone = [one for one in usable if _is_unproven(one) and all(involved(one, policy) for policy in need)]
        if alone and random.random() < _UNPROVEN:
            chosen.append(random.choice(alone))
        need.sort(key=lambda policy: sum(involved(one, policy) for one in usable))
        while left := [policy for policy in need if not any(involved(one, policy) for one in chosen)]:
            about = [one for one in usable if involved(one, left[0])]
            fitting = [one for one in about if _goes_with(one, chosen, left)]
            fitting = fitting or [one for one in about if _goes_with(one, chosen, left, same_row=True)]
            if not fitting:
                raise PlanError(f"no request of one owner is about {left[0]} beside the others")
            kinds = sorted({one.event_of(left[0]) for one in fitting})
            kind = random.choice(kinds)
            fitting = [one for one in fitting if one.event_of(left[0]) == kind]
            most = max(sum(involved(one, policy) for policy in left) + 0.5 * one.accepted for one in fitting)
            best = [
                one
                for one in fitting
                if sum(involved(one, policy) for policy in left) + 0.5 * one.accepted >= most - 0.5
            ]
            chosen.append(random.choice(best))
        acts = [act for one in chosen for act in one.acts]
        if not any(act.calls for act in acts):
            acts.append(_companion(usable, acts, random))
        order = {"done": 0, "declined": 1, "refused": 2, "unproven": 3}
        return tuple(sorted(acts, key=lambda act: order[act.ending]))

    async def _acts(self, root: Place) -> list[Act]:
        """Give the right ending of every request about an owner's rows, and about a row of somebody else's."""
        samples, arguments = self.runs.samples, self.runs.arguments
        found: list[Act] = []
        for tool in sorted(arguments.of):
            is_lookup = arguments.finds(tool)
            table = arguments.subject(tool, root[0])
            own = samples.focuses(root, table)
            for focus in () if is_lookup else own[:_MOST_FOCUSES]:
                found += await self._tried(root, tool, focus, foreign=False)
            if table in samples.owned(root[0]):
                strangers = [(table, at) for at in range(len(samples.rows.get(table, ()))) if (table, at) not in own]
                if strangers:
                    other = strangers[root[1] % len(strangers)]
                    found += await self._tried(root, tool, other, foreign=True)
        return found

    def _explained(self, act: Act) -> Act:
        """Note the rules that forbid a request and are not why its tool refuses it, as all that was tried shows."""
        own = next(
            (one for one in self._tried_requests if one.request == act.request and one.broken == act.broken), None
        )
        return act if own is None else replace(act, not_why=refused_otherwise(own, self._tried_requests))

    async def _tried(self, root: Place, tool: str, focus: Place, *, foreign: bool) -> list[Act]:
        rows = self.rows_of(root, focus, foreign=foreign)
        found: list[Act] = []
        for request in self.runs.arguments.requests(tool, root, focus, rows, foreign=foreign):
            act = await self.runs.act(root, request, rows)
            executed = await self.runs.executed(request)
            is_refused = executed is not None and executed.answer.error
            if act is not None or request in self.runs.refused:
                broken = act.broken if act is not None else frozenset()
                self._tried_requests.append(Tried(request=request, broken=broken, refused=is_refused))
            if act is None or (request.odd and not act.broken):
                continue
            if not foreign or (act.broken and executed is not None and not is_refused):
                found.append(act)
        return found

    def rows_of(self, root: Place, focus: Place, *, foreign: bool = False) -> Rows:
        """Give the rows that belong to an owner and to what a request is about."""
        samples = self.runs.samples
        cluster = samples.cluster(root, *(() if focus == root or foreign else (focus,)))
        return {place: samples.row(place) for place in cluster.rows}

    async def _endings(self, act: Act) -> list[Option]:
        """Give an act as it ends, and, where it can, with the user saying no or having no proof of who it is."""
        found = [await self._option((act,))]
        if act.asked:
            found.append(await self._option((replace(act, ending="declined", asked=False, after=(), words=()),)))
        if act.ending == "done" and (proof := self._proof(act)):
            broken = await self.runs.without(act, proof)
            plain = replace(
                act, ending="unproven", before=(), after=(), asked=False, words=(), broken=broken, proof=tuple(proof)
            )
            found.append(await self._option((plain,)))
        return [one for one in found if one is not None]

    def _proof(self, act: Act) -> list[Request]:
        """Give the lookups that need something which only the user can say, and which its request does not say."""
        said = {value for name, value in act.request.values if name not in act.request.from_owner}
        return [
            call
            for call in act.before
            if any(name not in call.from_owner and value not in said for name, value in call.values)
        ]

    async def _option(self, acts: tuple[Act, ...]) -> Option | None:
        """Hold the right run and each wrong one against the rules; None where the right run breaks one."""
        right = await self.runs.verdicts(acts)
        if self.runs.book.broken(right):
            return None
        decides: dict[str, Deviation] = {}
        for wrong in deviations(acts):
            forbidden_by = acts[wrong.act].decides if wrong.kind == "forbidden" else None
            for policy in sorted(self.runs.book.broken(await self.runs.verdicts(acts, wrong))):
                is_its_own = forbidden_by is None or policy in forbidden_by  # a call that is forbidden is unasked, too
                if is_its_own and not self.runs.book.depends_on_words(policy):
                    decides.setdefault(policy, wrong)
        last = await self.runs.executed(acts[-1].request)
        accepted = last is not None and not last.answer.error
        return Option(acts=acts, decides=decides, touches=frozenset(right), accepted=accepted)

    async def _at_limits(self, options: Sequence[Option]) -> list[Option]:
        """Give requests of one kind up to a limit and one beyond it, which is refused."""
        found: list[Option] = []
        done = [one.acts[0] for one in options if one.acts[0].ending == "done" and one.accepted]
        for policy in self.runs.book.rules:
            for limit in self.runs.book.limits(policy):
                if limit.times + 1 >= MOST_ACTS:
                    continue
                about = [
                    act for act in done if isinstance(limit.about.calls, str) or act.request.tool in limit.about.calls
                ]
                distinct = _distinct(about)
                for several in list(combinations(distinct, limit.times + 1))[:_MOST_LIMITS]:
                    last = replace(
                        several[-1], ending="refused", broken=frozenset((policy,)), asked=False, after=(), words=()
                    )
                    option = await self._option((*several[:-1], last))
                    is_real = option is not None and policy in option.decides and await self.runs.works(option.acts)
                    if option is not None and is_real:
                        found.append(option)
        return found


def _distinct(acts: Sequence[Act]) -> list[Act]:
    """Give one act of each tool and row; where there is one row alone, those that differ in a value."""
    by_row = list({(act.request.tool, act.request.focus): act for act in acts}.values())
    return by_row if len(by_row) > 1 else list({act.request.values: act for act in acts}.values())


def _varied(found: Sequence[T], kind: Callable[[T], Hashable]) -> list[T]:
    """Leave out what differs from a few others in a value alone."""
    counts: Counter[Hashable] = Counter()
    kept = []
    for one in found:
        counts[kind(one)] += 1
        if counts[kind(one)] <= _MOST_ALIKE:
            kept.append(one)
    return kept


def _kind_of(act: Act) -> Hashable:
    return act.request.tool, act.request.focus, act.ending, act.before, act.broken, act.not_why


def _combined(option: Option) -> Hashable:
    return tuple(act.request.tool for act in option.acts), tuple(sorted(option.decides))


def _is_unproven(option: Option) -> bool:
    return any(act.ending == "unproven" for act in option.acts)


def _companion(options: Sequence[Option], acts: Sequence[Act], random: Random) -> Act:
    """Give a request that is done beside those that are refused: doing nothing at all must not be right."""
    unproven = any(act.ending == "unproven" for act in acts)
    done = [
        one.acts[0]
        for one in options
        if len(one.acts) == 1 and one.acts[0].ending == "done" and not (unproven and one.acts[0].before)
    ]
    if not done:
        raise PlanError("a right run would make no call at all")
    return random.choice(done)


def _goes_with(option: Option, chosen: Sequence[Option], left: Sequence[str], *, same_row: bool = False) -> bool:
    """Whether an option may stand beside others: nothing is asked twice, and nobody proves and does not prove.

    `same_row` allows for a change of a row that another request is about, which may come to nothing when they are made.
    """
    acts = [act for one in chosen for act in one.acts]
    if len(acts) + len(option.acts) > MOST_ACTS:
        return False
    if _is_unproven(option) and (acts or not all(policy in option.decides for policy in left)):
        return False
    if any(act.ending == "unproven" for act in acts):
        return False
    taken = {(act.request.tool, act.request.focus) for act in acts}
    about = {act.request.focus for act in acts}
    writes = {act.request.focus for act in acts if act.ending == "done"}
    for act in option.acts:
        if (act.request.tool, act.request.focus) in taken:
            return False
        if act.request.focus in (about if act.ending == "done" else writes) and not same_row:
            return False
    return True
