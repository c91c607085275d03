"""Cutting: which turns of a draft a writer may leave out, so that the rest is a conversation by itself.

What is left needs no answer and no value of what is gone, and keeps the suite's rules as the whole did: a lookup that a
rule wants goes with it.
"""

from collections.abc import Iterator, Sequence

from pytest_agentbench.generation.decidable import arguments_of, coincidences
from pytest_agentbench.generation.draft import ANSWERS, Draft, PlannedCall, Stated, Turn
from pytest_agentbench.generation.language.plain import label_of
from pytest_agentbench.generation.tools.hydration.rules import SuiteRules


def is_cuttable(draft: Draft) -> bool:
    """Whether turns may be left out: none decides a policy, or hands over at a place among the calls."""
    return draft.source != "policies" and not draft.policies and not draft.handoffs


def uncuttable(draft: Draft, first: int, last: int) -> str:
    """Say why a draft cannot be cut so, "" where it can."""
    if (first, last) == (0, len(draft.turns) - 1):
        return ""
    if not is_cuttable(draft):
        return "this conversation is fixed: keep all turns"
    if not 0 <= first <= last < len(draft.turns):
        return f"there are no turns from {first + 1} to {last + 1}"
    for place in (first, last + 1):
        if place < len(draft.turns) and draft.turns[place].act in ANSWERS:
            return f"turn {place + 1} answers what turn {place} asks for: keep both, or neither"
    gone = sum(len(turn.calls) for turn in draft.turns[:first])
    for turn in draft.turns[first : last + 1]:
        origins = [one.call for call in (*turn.calls, *turn.refused) for one in call.origins.values()]
        needed = [*(call for call in origins if call is not None), *(one.source for one in turn.references)]
        if any(call < gone for call in needed):
            return f"the turns from {first + 1} on need an answer of one that is cut"
    return ""


def spoilt_by_cut(draft: Draft, first: int, last: int, rules: SuiteRules) -> Iterator[str]:
    """Say what the turns from `first` to `last` lack by themselves: a value that nobody says any more, a call that a
    rule wants before.
    """
    if (first, last) == (0, len(draft.turns) - 1):
        return
    kept = cut(draft, first, last, rules)
    if not any(coincidences(draft, rules.toolset)):
        yield from coincidences(kept, rules.toolset)
    known = rules.broken_in(draft)
    for policy, why in rules.broken_in(kept).items():
        if policy not in known:
            mended = _mended(draft, first, last, rules, policy)
            yield f"what is kept breaks the rule {policy!r}: {why.rstrip('.')}. {mended}"


def _mended(draft: Draft, first: int, last: int, rules: SuiteRules, policy: str) -> str:
    """Say which turns must stay, too, so that a rule is kept."""
    for earlier in range(first - 1, -1, -1):
        if not uncuttable(draft, earlier, last) and policy not in rules.broken_in(cut(draft, earlier, last, rules)):
            return f"Keep the turns from {earlier + 1} on, or leave out the one that makes this change"
    return "Leave out the turn that makes this change"


def cut(draft: Draft, first: int, last: int, rules: SuiteRules) -> Draft:
    """Keep the turns from `first` to `last`; numbers of calls move with them.

    A lookup of a turn that is gone, which a rule wants before a kept call, is made in the first kept turn, whose line
    then says its values.
    """
    if (first, last) == (0, len(draft.turns) - 1):
        return draft
    carried = list(_carried(draft, first, last, rules))
    further = len(carried) - sum(len(turn.calls) for turn in draft.turns[:first])

    def moved(call: PlannedCall) -> PlannedCall:
        origins = {
            path: one if one.call is None else one.model_copy(update={"call": one.call + further})
            for path, one in call.origins.items()
        }
        return call.model_copy(update={"origins": origins})

    turns = [
        turn.model_copy(
            update={
                "calls": tuple(map(moved, turn.calls)),
                "refused": tuple(map(moved, turn.refused)),
                "references": tuple(one.model_copy(update={"source": one.source + further}) for one in turn.references),
            }
        )
        for turn in draft.turns[first : last + 1]
    ]
    turns[0] = _with_lookups(turns[0], carried)
    return draft.model_copy(update={"turns": tuple(turns)})


_Lookup = tuple[PlannedCall, tuple[Stated, ...]]


def _carried(draft: Draft, first: int, last: int, rules: SuiteRules) -> Iterator[_Lookup]:
    """Give the lookups before the turn `first` that a rule wants before a kept call, with what is said for them."""
    made: set[str] = set()
    for call in (call for turn in draft.turns[first : last + 1] for call in turn.calls):
        for names in rules.first_of(call):
            if made.isdisjoint(names) and (lookup := _lookup(draft, first, names)) is not None:
                made.add(lookup[0].call.name)
                yield lookup
        made.add(call.call.name)


def _lookup(draft: Draft, first: int, names: tuple[str, ...]) -> _Lookup | None:
    """Give the last lookup of one of these tools before the turn `first` that takes only what the user says."""
    for place in range(first - 1, -1, -1):
        requested = draft.requested(place)
        for call in reversed(draft.turns[place].calls):
            is_said = all(one.source == "user" for one in call.origins.values())
            if call.call.name in names and is_said and not call.writes and not call.fails:
                said = dict(arguments_of(call))
                states = [one for one in draft.turns[place].states if one.call < len(requested)]
                known = [one for one in states if requested[one.call] is call]
                rest = said.keys() - {one.argument for one in known}
                more = (Stated(label=label_of(path), value=said[path], argument=path) for path in sorted(rest))
                return call, (*known, *more)
    return None


def _with_lookups(turn: Turn, carried: Sequence[_Lookup]) -> Turn:
    """Give a turn with lookups that the agent makes first and on its own; what counts its calls moves with them."""
    further = len(carried)
    states = [one.model_copy(update={"call": at}) for at, (_, said) in enumerate(carried) for one in said]
    return turn.model_copy(
        update={
            "calls": (*(call.model_copy(update={"asked": False}) for call, _ in carried), *turn.calls),
            "states": (*states, *(one.model_copy(update={"call": one.call + further}) for one in turn.states)),
            "references": tuple(one.model_copy(update={"call": one.call + further}) for one in turn.references),
            "wanted": tuple(one.model_copy(update={"call": one.call + further}) for one in turn.wanted),
        }
    )
