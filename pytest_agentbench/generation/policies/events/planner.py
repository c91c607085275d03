"""Which requests make an event of a set of policies: each policy of the set is decided by one of them.

For every owner of rows the requests that the rows allow are tried once (`right_run.py`); what each decides is kept and
drawn from. An option is one request with its ending; the kinds of events follow from what the rules find.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from random import Random
from typing import Final, TypeVar

from pytest_agentbench.generation.draft import LostError
from pytest_agentbench.generation.policies.events.requests import Request
from pytest_agentbench.generation.policies.events.right_run import RightRuns, Tried, refused_otherwise
from pytest_agentbench.generation.policies.events.rulebook import ENDINGS, Act, Deviation
from pytest_agentbench.generation.policies.events.samples import Place

MOST_ACTS = 5
"""Requests of one event."""

_MOST_FOCUSES = 4
"""Rows of one owner that a tool is tried on."""

_MOST_FREE = 2
"""Rows of nobody that a tool is tried on for one owner."""

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

_MOST_PAIRED = 24
"""Requests about a policy that are held against those about another."""

UNPLANNED: Final = "no request decides it"
"""Why a set became no event where none of its owners' requests, made before, go together so."""

T = TypeVar("T")


class PlanError(LostError):
    """No event can be planned for a set; says why."""

    def __init__(self, detail: str) -> None:
        super().__init__("plan", UNPLANNED, detail)


@dataclass(frozen=True, kw_only=True)
class Option:
    """Acts that belong together; `decides` says of each policy by which wrong ways a run breaks it, `touches` which
    policies are set off at all. `accepted` says that its last request is not refused by its tool, `writes` that it is
    done and changes something.
    """

    acts: tuple[Act, ...]
    decides: dict[str, list[Deviation]]
    touches: frozenset[str]
    accepted: bool = True
    writes: bool = False

    @property
    def forbids(self) -> frozenset[str]:
        """The policies that forbid one of its requests."""
        return frozenset(policy for act in self.acts for policy in act.broken)

    @property
    def tools(self) -> frozenset[str]:
        """The tools asked for or called."""
        return frozenset(call.tool for act in self.acts for call in (act.request, *act.calls))

    @property
    def is_unproven(self) -> bool:
        """Whether its user has no proof of who it is."""
        return self.acts[0].ending == "unproven"

    def involves(self, policy: str, tools_of: dict[str, frozenset[str]]) -> bool:
        """Whether a policy takes part: one without a rule by a tool of its own."""
        return bool(self.tools & tools_of[policy]) if policy in tools_of else policy in self.decides

    def event_of(self, policy: str) -> str:
        """Say what happens to a policy."""
        ways = self.decides.get(policy)
        return ways[0].event(self.acts, is_limit=len(self.acts) > 1) if ways else "kept"


@dataclass(kw_only=True)
class Planner:
    """Plans events: gives the acts for a set of policies, on the rows of one owner."""

    runs: RightRuns
    _options: dict[Place, list[Option]] = field(default_factory=dict)
    _acts_of: dict[Place, list[Act]] = field(default_factory=dict)

    @property
    def roots(self) -> list[Place]:
        """The owners: rows of the table whose rows own most."""
        samples = self.runs.samples
        if not samples.roots:
            return []
        count = len(samples.rows.get(samples.roots[0], ()))
        return [(samples.roots[0], at) for at in range(0, count, max(1, count // _MOST_ROOTS))][:_MOST_ROOTS]

    async def decidable(self) -> dict[str, bool]:
        """Say of each policy with a rule whether some request decides it; False: it is set off, and nothing more."""
        found: dict[str, bool] = {}
        for root in self.roots:
            for option in await self.options(root):
                found = dict.fromkeys(option.touches, False) | found | dict.fromkeys(option.decides, True)
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
            tried = {(one.request, one.broken): one for one in reversed(self.runs.tried)}
            asked = [act for act in self._acts_of[root] if not self.runs.is_idle(act.request)]
            explained = [self._explained(act, tried) for act in asked]
            acts = _varied(
                explained,
                lambda act: (act.request.tool, act.request.focus, act.ending, act.before, act.broken, act.not_why),
            )
            single = [option for act in acts for option in await self._endings(act)]
            limits = _varied(await self._at_limits(single), lambda one: (_asked(one), tuple(sorted(one.decides))))
            self._options[root] = [*single, *limits]
        return self._options[root]

    async def go_together(self, first: str, second: str, tools_of: dict[str, frozenset[str]]) -> bool:
        """Whether requests of some owner are about both policies, whatever else these are about."""
        for root in self.roots:
            options = await self.options(root)
            ours = [one for one in options if one.involves(first, tools_of)]
            theirs = [one for one in options if one.involves(second, tools_of)][:_MOST_PAIRED]
            for one in ours[:_MOST_PAIRED]:
                if one.involves(second, tools_of):
                    return True
                if any(_goes_with(other, [one], [second], same_row=True) for other in theirs):
                    return True
            if any(one.involves(second, tools_of) for one in ours[_MOST_PAIRED:]):
                return True
        return False

    async def plan(
        self, policies: Sequence[str], tools_of: dict[str, frozenset[str]], random: Random, *, busy: bool = False
    ) -> tuple[Place, tuple[Act, ...]]:
        """Give an owner and acts that decide every policy of a set, one of them done if `busy`; raise `PlanError`.

        `tools_of` are the tools of the policies that have no rule, each of which one call or refusal must be about.
        """
        roots = self.roots
        random.shuffle(roots)
        why = "nobody owns rows that a request could be about"
        # somebody else may have two rows where this owner's requests are about one: they get in each other's way there
        for root, same_row in [(root, same) for same in (False, True) for root in roots for _ in range(_TRIES)]:
            try:
                acts = _chosen(await self.options(root), policies, tools_of, random, same_row=same_row, busy=busy)
            except PlanError as error:
                why = error.detail
                continue
            if not (broken := (await self.runs.judged(acts)).broken):
                return root, acts
            why = f"requests that are right alone break {', '.join(sorted(broken))} together"
        raise PlanError(why)

    async def _acts(self, root: Place) -> list[Act]:
        """Give the right ending of every request about an owner's rows, and about a row of somebody else's."""
        samples, arguments = self.runs.samples, self.runs.arguments
        found: list[Act] = []
        for tool in sorted(arguments.of):
            table = arguments.subject(tool, root[0])
            own = samples.focuses(root, table)
            if table not in samples.owned(root[0]):
                # what is there for everybody is asked for by whoever comes, each by another one first
                count = len(samples.rows.get(table, ()))
                own = list(dict.fromkeys([*own, *((table, (root[1] + at) % count) for at in range(count))]))
            for focus in () if arguments.finds(tool) else own[:_MOST_FOCUSES]:
                found += await self._tried(root, tool, focus, foreign=False)
            takes_owner = any(one.role == "key" and one.table == root[0] for one in arguments.of[tool])
            free = samples.nobodys(table) if takes_owner else []
            for place in [*free[root[1] % len(free) :], *free][:_MOST_FREE] if free else ():
                acts = await self._tried(root, tool, place, foreign=False)
                found += [act for act in acts if await self.runs.gives(root, act.request)]
            if table in samples.owned(root[0]):
                count = len(samples.rows.get(table, ()))
                others = [(table, at) for at in range(count) if (table, at) not in (*own, *samples.nobodys(table))]
                own_broken = {policy for act in found if act.request.tool == tool for policy in act.broken}
                for other in others[root[1] % len(others) :][:1] if others else ():
                    foreign = await self._tried(root, tool, other, foreign=True)
                    # what is as wrong of the own rows is asked of these
                    found += [act for act in foreign if act.broken - own_broken]
        # words made up for an argument may be no words for it, where a tool refuses whatever it gets
        return [act for act in found if not act.request.free or self.runs.takes(act.request.tool)]

    def _explained(self, act: Act, tried: dict[tuple[Request, frozenset[str]], Tried]) -> Act:
        """Note the rules that forbid a request and are not why its tool refuses it, as all that was tried shows."""
        own = tried.get((act.request, act.broken))
        return act if own is None else replace(act, not_why=refused_otherwise(own, self.runs.tried))

    async def _tried(self, root: Place, tool: str, focus: Place, *, foreign: bool) -> list[Act]:
        samples = self.runs.samples
        cluster = samples.cluster(root, *(() if focus == root or foreign else (focus,)))
        rows = {place: samples.row(place) for place in cluster.rows}
        found: list[Act] = []
        for request in self.runs.arguments.requests(tool, root, focus, rows, foreign=foreign):
            act = await self.runs.act(root, request, rows)
            executed = await self.runs.executed(request)
            is_accepted = executed is not None and not executed.answer.error
            if act is None or (request.odd and not act.broken):
                continue
            if not foreign or (act.broken and is_accepted):
                found.append(act)
        return found

    async def _endings(self, act: Act) -> list[Option]:
        """Give an act as it ends, and, where it can, with the user saying no or having no proof of who it is."""
        ends = [act]
        bare = replace(act, asked=False, after=(), words=())
        if act.asked:
            ends.append(replace(bare, ending="declined"))
        # lookups that need something which only the user can say, and which its request does not say
        said = {value for name, value in act.request.values if name not in act.request.from_owner}
        proof = tuple(
            call
            for call in act.before
            if any(name not in call.from_owner and value not in said for name, value in call.values)
        )
        if act.ending == "done" and proof:
            left = replace(act, before=tuple(one for one in act.before if one not in proof))
            broken = await self.runs.broken_if_done(left)
            ends.append(replace(bare, ending="unproven", before=(), broken=broken, proof=proof))
        return [option for one in ends if (option := await self._option((one,))) is not None]

    async def _option(self, acts: tuple[Act, ...]) -> Option | None:
        """Hold the right run and each wrong one against the rules; None where the right run breaks one."""
        judged = await self.runs.judged(acts)
        if judged.broken:
            return None
        last = await self.runs.executed(acts[-1].request)
        accepted = last is not None and not last.answer.error
        writes = last is not None and bool(last.answer.wrote) and acts[-1].ending == "done"
        return Option(acts=acts, decides=judged.decides, touches=judged.touches, accepted=accepted, writes=writes)

    async def _at_limits(self, options: Sequence[Option]) -> list[Option]:
        """Give requests of one kind up to a limit and one beyond it, which is refused."""
        found: list[Option] = []
        book = self.runs.book
        done = [one.acts[0] for one in options if one.acts[0].ending == "done" and one.accepted]
        limits = [(policy, limit) for policy in book.rules for limit in book.limits(policy)]
        for policy, limit in limits:
            calls = limit.about.calls
            about = _distinct([act for act in done if isinstance(calls, str) or act.request.tool in calls])
            several = combinations(about, limit.times + 1) if limit.times + 1 < MOST_ACTS else iter(())
            for _, acts in zip(range(_MOST_LIMITS), several, strict=False):
                last = replace(acts[-1], ending="refused", broken=frozenset((policy,)), asked=False, after=(), words=())
                option = await self._option((*acts[:-1], last))
                if option is not None and policy in option.decides and await self.runs.refusal(option.acts) is None:
                    found.append(option)
        return found


def _chosen(
    options: Sequence[Option],
    policies: Sequence[str],
    tools_of: dict[str, frozenset[str]],
    random: Random,
    *,
    same_row: bool,
    busy: bool,
) -> tuple[Act, ...]:
    """Choose options of one owner that go together until each policy is involved in one; rare policies come first."""
    usable = [one for one in options if one.forbids <= frozenset(policies)]
    chosen: list[Option] = []
    alone = [one for one in usable if one.is_unproven and all(one.involves(policy, tools_of) for policy in policies)]
    if alone and random.random() < _UNPROVEN:
        chosen.append(random.choice(alone))
    need = sorted(dict.fromkeys(policies), key=lambda policy: sum(one.involves(policy, tools_of) for one in usable))
    while left := [policy for policy in need if not any(one.involves(policy, tools_of) for one in chosen)]:
        about = [one for one in usable if one.involves(left[0], tools_of)]
        fitting = [one for one in about if _goes_with(one, chosen, left)]
        if same_row and not fitting:
            fitting = [one for one in about if _goes_with(one, chosen, left, same_row=True)]
        if not fitting:
            raise PlanError(f"no request of one owner is about {left[0]} beside the others")
        kind = random.choice(sorted({one.event_of(left[0]) for one in fitting}))
        worth = [
            (sum(one.involves(policy, tools_of) for policy in left) + 0.5 * one.accepted, one)
            for one in fitting
            if one.event_of(left[0]) == kind
        ]
        most = max(points for points, _ in worth)
        chosen.append(random.choice([one for points, one in worth if points >= most - 0.5]))
    random.shuffle(chosen)  # what is withdrawn first cannot be prolonged after it
    acts = [act for one in chosen for act in one.acts]
    if not any(one.writes for one in chosen) if busy else not any(act.calls for act in acts):
        acts.append(_companion(usable, acts, random, writes=busy))
    return tuple(sorted(acts, key=lambda act: list(ENDINGS).index(act.ending)))


def _companion(options: Sequence[Option], acts: Sequence[Act], random: Random, *, writes: bool) -> Act:
    """Give a request that is done, and writes if so asked, beside refused ones: doing nothing must not be right."""
    unproven = any(act.ending == "unproven" for act in acts)
    alone = [one for one in options if len(one.acts) == 1 and one.acts[0].ending == "done"]
    single = [one.acts[0] for one in alone if one.writes or not writes]
    taken = {(act.request.tool, act.request.focus) for act in acts}
    single = [act for act in single if (act.request.tool, act.request.focus) not in taken]
    done = [act for act in single if not (unproven and act.before)]
    if not done:
        raise PlanError("a right run would make no call at all")
    return random.choice(done)


def _goes_with(option: Option, chosen: Sequence[Option], left: Sequence[str], *, same_row: bool = False) -> bool:
    """Whether an option may stand beside others: nothing is asked twice, and nobody proves and does not prove.

    `same_row` allows for a change of a row that another request is about, which may come to nothing when they are made,
    and for the same change with another value.
    """

    def mark(act: Act) -> tuple[object, ...]:
        request = act.request
        return (request.tool, request.focus, request.values) if same_row else (request.tool, request.focus)

    acts = [act for one in chosen for act in one.acts]
    if len(acts) + len(option.acts) > MOST_ACTS or any(one.is_unproven for one in chosen):
        return False
    if option.is_unproven and (acts or not all(policy in option.decides for policy in left)):
        return False
    taken = set(map(mark, acts))
    about = {act.request.focus for act in acts}
    writes = {act.request.focus for act in acts if act.ending == "done"}
    return not any(
        mark(act) in taken or (not same_row and act.request.focus in (about if act.ending == "done" else writes))
        for act in option.acts
    )


def _asked(option: Option) -> tuple[str, ...]:
    return tuple(act.request.tool for act in option.acts)


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
