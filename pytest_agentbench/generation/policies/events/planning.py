"""Which requests an event is about: tools that its policies are about, rows on which they come out, what else happens.

Each policy of a set is given something that decides about it where the suite has it: a request of its own (somebody
else's row, a no, a tool that fails), or a turn that a request takes anyway (a corrected detail).
"""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from pytest_agentbench.generation.policies.events.conditions import Condition
from pytest_agentbench.generation.policies.events.occasions import OWN_REQUEST, Occasion
from pytest_agentbench.generation.policies.events.offers import telling_choice
from pytest_agentbench.generation.policies.events.oracle import Oracle
from pytest_agentbench.generation.policies.events.plans import Act, OracleError, Planned
from pytest_agentbench.generation.policies.events.samples import Place
from pytest_agentbench.generation.policies.events.shaping import breaking

_MOST_PLAIN = 3
"""Requests in one event that policies are bound to."""
_MOST = 4
"""Requests in one event, those counted that the user makes for what else happens."""
_BOUND_ANYWAY = 0.3
"""How often a policy that requests decide about already gets one of its own beside."""


async def plan(oracle: Oracle, policies: Sequence[str], random: Random) -> Planned:
    """Choose requests that the policies of a set are about, and sampled rows on which they come out as they should.

    The owner of whose rows the most of it comes out is taken. Raise `OracleError` where no tool and row serve.
    """
    wanted, others = oracle.tools_for(policies, random)
    if not wanted:
        raise OracleError("no tool of the suite can be asked for with what its rows hold")
    roots = [(oracle.root, at) for at in range(len(oracle.samples.rows.get(oracle.root, ())))]
    random.shuffle(roots)
    own = _own_requests(oracle, policies, wanted, random)
    turns = [one for policy in policies for one in oracle.occasions.get(policy, ()) if one.kind not in OWN_REQUEST]
    refuses = {tool: random.random() < 0.5 for tool in (*wanted, *others)}
    best: Planned | None = None
    most = -1
    asked = [tool for tool in wanted if _is_about(oracle, tool, policies)]
    full = min(len(asked), _MOST_PLAIN) + min(len(own), _MOST) + len(turns)
    for root in roots:
        planning = _Planning(oracle, policies, root, random)
        reached = await planning.fill(asked, [*wanted, *others], own, turns, refuses)
        if planning.acts and reached > most:
            best, most = planning.planned, reached
        if reached >= full:
            break
    if best is None:
        raise OracleError(f"no sampled row lets {wanted[0]} come out, nor any other tool")
    return best


def _own_requests(oracle: Oracle, policies: Sequence[str], wanted: Sequence[str], random: Random) -> list[Occasion]:
    """Give the occasions that take a request of their own: one for each policy that nothing else may decide about."""
    found = []
    for policy in policies:
        kinds = [one for one in oracle.occasions.get(policy, ()) if one.kind in OWN_REQUEST]
        is_bound = any(one.tool in wanted for one in oracle.bound.get(policy, ()))
        if kinds and (not is_bound or random.random() < _BOUND_ANYWAY):
            found.append(kinds[0])
    return found


def _is_about(oracle: Oracle, tool: str, policies: Sequence[str]) -> bool:
    return any(one.tool == tool for policy in policies for one in oracle.bound.get(policy, ()))


class _Planning:
    """The requests of one owner, as far as they are chosen."""

    def __init__(self, oracle: Oracle, policies: Sequence[str], root: Place, random: Random) -> None:
        self._oracle = oracle
        self._policies = policies
        self._root = root
        self._random = random
        self.acts: list[Act] = []
        self._unproven: list[Occasion] = []

    @property
    def planned(self) -> Planned:
        """What is chosen."""
        # somebody else's comes behind one's own, which says who asks; what fails behind it, since nothing that was not
        # read may be told afterwards; what is asked for in free words may hand over, which ends the conversation
        worded = self._oracle.is_worded
        acts = tuple(sorted(self.acts, key=lambda act: (worded(act.tool), act.is_("failing"), act.is_("second"))))
        return Planned(root=self._root, acts=acts, unproven=tuple(self._unproven))

    async def fill(
        self,
        asked: Sequence[str],
        spare: Sequence[str],
        own: Sequence[Occasion],
        turns: Sequence[Occasion],
        refuses: dict[str, bool],
    ) -> int:
        """Choose requests; give how much of what is wanted they bring about."""
        reached = 0
        for tool in asked:
            room = _MOST - min(len(own), _MOST - 1)
            if len(self.acts) < min(_MOST_PLAIN, room) and self._oracle.admits(tool, self._counts()):
                reached += await self._plain(tool, refuses[tool])
        for occasion in own:
            if len(self.acts) < _MOST:
                reached += await self._with(occasion, spare)
        for occasion in turns:
            reached += await self._turned(occasion, spare)
        if self._lacks_a_plain_one(turns):
            amounts = self._oracle.tell_amounts
            reads = [name for name in spare if self._oracle.by_name[name].kind == "read"]
            for tool in sorted(spare, key=lambda name: (name in reads, name not in amounts)):
                if self._oracle.admits(tool, self._counts()) and await self._plain(tool, False):
                    break
        if self._lacks_a_plain_one(()):  # nobody can be asked on behalf of somebody else alone
            self.acts = [act for act in self.acts if not act.is_("second")]
        return reached

    def _lacks_a_plain_one(self, turns: Sequence[Occasion]) -> bool:
        """Whether what is chosen makes no sense, or decides about nothing, without a request that is simply done."""
        done = [act for act in self.acts if not act.is_refused and act.tool in self._oracle.tell_amounts]
        own = [act for act in self.acts if act.owner is None]
        wants_done = any(one.kind == "telling" for one in turns) and not done
        wants_own = any(one.kind == "sourced" for one in turns) or any(act.is_("second") for act in self.acts)
        return not self.acts or wants_done or (wants_own and not own)

    async def _plain(self, tool: str, refusing_first: bool) -> bool:
        """Find a row on which a tool is refused by one of the policies, or one on which it works and all allow it."""
        oracle = self._oracle
        conditions = oracle.conditions(tool)
        own = [one for one in conditions if one.policy in self._policies]
        wants_refusal = oracle.by_name[tool].kind != "read" and refusing_first
        for refusing in (True, False) if wants_refusal else (False, True):
            for place in self._places(tool):
                broken = [one for one in conditions if one.holds(oracle.facts.get(place, {})) is False]
                if refusing and any(one in own for one in broken) and oracle.by_name[tool].kind != "read":
                    offered = oracle.proposals(tool, oracle.sampled(self._root, place), place, "")
                    if offered:
                        choice = telling_choice(offered)
                        self.acts.append(Act(tool=tool, focus=place, choice=choice, refused_by=tuple(broken)))
                        return True
                wrong = self._broken(tool, place, own) if refusing and not broken else None
                if wrong is not None:
                    self.acts.append(wrong)
                    return True
                if not refusing and not broken:
                    right = await self._rightly_chosen(tool, place)
                    if right is not None:
                        self.acts.append(Act(tool=tool, focus=place, choice=right))
                        return True
        return False

    def _broken(self, tool: str, place: Place, own: Sequence[Condition]) -> Act | None:
        """Find a call that a policy of the set refuses: by what is asked for, or by a row that is made so."""
        by_choice = self._wrongly_chosen(tool, place)
        by_row = self._shaped(tool, place, own)
        return by_choice if by_row is None or (by_choice is not None and sum(place[1:], len(tool)) % 2) else by_row

    def _shaped(self, tool: str, place: Place, own: Sequence[Condition]) -> Act | None:
        """Have a row be one for which a policy of the set refuses what would work on it, where no sampled one is."""
        oracle = self._oracle
        offered = oracle.proposals(tool, oracle.sampled(self._root, place), place, "")
        if not offered or oracle.by_name[tool].kind == "read":
            return None
        for condition in own:
            if any(condition.holds(known) is False for other, known in oracle.facts.items() if other[0] == place[0]):
                continue  # some sampled row is one already
            changes = breaking(condition, place, oracle.samples, oracle.facts)
            known = {**oracle.facts.get(place, {}), **changes}
            if condition.field.startswith("days_since_") and changes:
                broken = [condition]
            else:
                broken = [one for one in oracle.conditions(tool) if one.holds(known) is False]
            if changes and condition in broken:
                choice = telling_choice(offered)
                return Act(tool=tool, focus=place, choice=choice, refused_by=tuple(broken), changes=changes)
        return None

    def _wrongly_chosen(self, tool: str, place: Place) -> Act | None:
        """Find a call on a row whose arguments are what a policy of the set does not allow."""
        oracle = self._oracle
        scene = oracle.sampled(self._root, place)
        if oracle.by_name[tool].kind == "read":
            return None
        for number, one in enumerate(oracle.proposals(tool, scene, place, "")):
            broken = oracle.broken_choices(tool, one.arguments, scene, place, self._policies)
            if broken:
                return Act(tool=tool, focus=place, choice=number, refused_by=broken)
        return None

    async def _rightly_chosen(self, tool: str, place: Place) -> int | None:
        """Find a call on a row that works, and whose arguments every policy allows."""
        oracle = self._oracle
        choice = await oracle.working(tool, self._root, place)
        if choice is None:
            return None
        scene = oracle.sampled(self._root, place)
        arguments = oracle.proposals(tool, scene, place, "")[choice].arguments
        return None if oracle.broken_choices(tool, arguments, scene, place) else choice

    async def _with(self, occasion: Occasion, tools: Sequence[str]) -> bool:
        """Add the request that an occasion takes."""
        oracle = self._oracle
        used = {act.tool for act in self.acts}
        for tool in sorted(self._writes(tools), key=lambda name: name in used):
            if tool in used and occasion.kind == "failing":
                continue
            if occasion.kind in ("stranger", "second"):
                found = await self._stranger(tool, occasion)
            elif oracle.admits(tool, self._counts()):
                found = await self._allowed(tool, occasion)
            else:
                found = None
            if found is not None:
                self.acts.append(found)
                return True
        return False

    async def _allowed(self, tool: str, occasion: Occasion) -> Act | None:
        """Find a row on which a tool would work and all policies allow it."""
        oracle = self._oracle
        conditions = oracle.conditions(tool)
        for place in self._places(tool):
            if any(one.holds(oracle.facts.get(place, {})) is False for one in conditions):
                continue
            choice = await self._rightly_chosen(tool, place)
            if choice is None:
                continue
            act = Act(tool=tool, focus=place, choice=choice, occasion=occasion)
            if occasion.kind != "corrected" or self._is_correctable(act):
                return act
        return None

    async def _stranger(self, tool: str, occasion: Occasion) -> Act | None:
        """Find a row of somebody else's on which a tool would work."""
        oracle = self._oracle
        is_thing = not oracle.samples.is_person(oracle.root)
        if oracle.table_of(tool) == oracle.root and not is_thing:
            return None
        owners = [(oracle.root, at) for at in range(len(oracle.samples.rows[oracle.root])) if at != self._root[1]]
        self._random.shuffle(owners)
        mine = set(oracle.samples.key_texts(self._root))
        for owner in owners:
            for place in oracle.focuses(tool, owner):
                told = mine & {str(value) for value in oracle.samples.row(place).values()}
                broken = any(one.holds(oracle.facts.get(place, {})) is False for one in oracle.conditions(tool))
                if (place[0] == oracle.root and not self._is_others(place)) or told or broken:
                    continue
                choice = await oracle.working(tool, owner, place)
                if choice is None:
                    continue
                offered = oracle.proposals(tool, oracle.sampled(owner, place), place, "")[choice]
                # what somebody else's is to be changed to would pass for a wish about one's own
                if is_thing or not any(one.how == "to" for one in offered.said):
                    return Act(tool=tool, focus=place, choice=choice, occasion=occasion, owner=owner)
        return None

    def _is_others(self, place: Place) -> bool:
        """Whether a thing has another owner than the one it is about: other names and contacts of a person."""
        mine, other = (self._oracle.samples.contacts(one) for one in (self._root, place))
        return bool(mine) and not set(mine) & set(other)

    async def _turned(self, occasion: Occasion, tools: Sequence[str]) -> bool:
        """Have a request take the turn that an occasion is about, or add one that can."""
        if occasion.kind == "unproven":
            self._unproven.append(occasion)
            return True
        if occasion.kind != "corrected":
            return True
        for at, act in enumerate(self.acts):
            if act.is_plain and self._is_correctable(act):
                self.acts[at] = replace(act, occasion=occasion)
                return True
        return len(self.acts) < _MOST and await self._with(occasion, tools)

    def _is_correctable(self, act: Act) -> bool:
        oracle = self._oracle
        if oracle.by_name[act.tool].kind == "read":
            return False
        scene = oracle.sampled(self._root, act.focus)
        offered = oracle.proposals(act.tool, scene, act.focus, "")
        return oracle.another(act.tool, scene, act.focus, "", offered[act.choice]) is not None

    def _places(self, tool: str) -> list[Place]:
        taken = {act.focus for act in self.acts}
        used = {act.tool for act in self.acts}
        places = self._oracle.focuses(tool, self._root)
        shaped = {act.focus for act in self.acts if act.changes}
        free = [
            one for one in places if one not in taken or (one == self._root and one not in shaped and tool not in used)
        ]
        self._random.shuffle(free)
        return free

    def _writes(self, tools: Sequence[str]) -> list[str]:
        return [name for name in tools if self._oracle.by_name[name].kind != "read"]

    def _counts(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for act in self.acts:
            if not act.is_refused:
                counts[act.tool] = counts.get(act.tool, 0) + 1
        return counts
