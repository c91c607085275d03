"""The points of a conversation that rules are judged at, and what was judged there.

Where that is not known (None), all, any and not are those of Kleene's three-valued logic: one broken part breaks `all`,
one kept part keeps `any`, and otherwise what is not known stays so.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from pytest_agentbench.checks.findings import call_text
from pytest_agentbench.checks.rules import Described
from pytest_agentbench.checks.rules_values import Doubt, Facts


@dataclass(frozen=True)
class Point:
    """A place in a conversation: the last message before it, and the call (its position) where it is one.

    `subject` is the call that references lead to, `what` names the point in messages (nothing at the beginning).
    `set_off` says that a trigger led here, `handoff` is the handoff (its position) where it is one, just before the
    message. `doubt` says why nobody can tell whether the call is one that the rule is about.
    """

    message: int = -1
    call: int | None = None
    subject: int | None = None
    what: str = ""
    set_off: bool = False
    handoff: int | None = None
    doubt: Doubt | None = None

    @property
    def place(self) -> tuple[int, int | None, int | None]:
        """What tells points apart."""
        return self.message, self.call, self.handoff


@dataclass(frozen=True)
class Judged:
    """A point where a rule was set off; `why` says what was found there, `message` where it shows.

    `kept` None: not measured, and `cure` names what to add.
    `is_open` tells that what had come later could still have changed it: nothing that was missing is proven so far,
    `is_unsure` that not even the trigger is known to have occurred.
    """

    point: Point
    kept: bool | None
    why: str
    message: int | None = None
    is_open: bool = False
    cure: str = ""
    is_unsure: bool = False


def every(known: Iterable[bool | None]) -> bool | None:
    """Whether all hold: one that does not decides, then one that is not known."""
    found = list(known)
    return False if False in found else None if None in found else True


def some(known: Iterable[bool | None]) -> bool | None:
    """Whether one holds: one that does decides, then one that is not known."""
    found = list(known)
    return True if True in found else None if None in found else False


def opposite(known: bool | None) -> bool | None:
    """Turn what is known round."""
    return None if known is None else not known


def doubted(found: Iterable[Judged], doubt: Doubt | None) -> Iterator[Judged]:
    """Take back what was found broken, or is not known, at a call that the rule may not be about."""
    for one in found:
        if doubt is None:
            yield one
        elif one.kept:
            yield replace(one, is_unsure=True)
        else:
            yield replace(one, kept=None, why=doubt.why, cure=doubt.cure, is_unsure=True)


def calls_of(about: Described, point: Point, facts: Facts) -> Iterator[Point]:
    """Give the calls after a point that a rule is about, or, in doubt, may be about."""
    for place in after(point, facts):
        fits = facts.fits(about, place, point.subject)
        if fits is not False:
            yield at_call(place, facts, None if fits else facts.unsure(about, point.subject))


def after(point: Point, facts: Facts) -> Iterator[int]:
    """Give the calls (their positions) after a point."""
    for place, record in enumerate(facts.calls):
        if place > point.call if point.call is not None else record.message >= point.message:
            yield place


def at_call(place: int, facts: Facts, doubt: Doubt | None = None) -> Point:
    """Give the point that a call is."""
    record = facts.calls[place]
    what = call_text(record.call.name, record.call.arguments)
    return Point(record.message, place, place, what, set_off=True, doubt=doubt)
