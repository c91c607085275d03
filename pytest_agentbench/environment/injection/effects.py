"""What each fault does to a call, as steps: arguments to call with, or seconds to wait, in; the answer out."""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from pytest_agentbench.core.fault import FaultSpec
from pytest_agentbench.environment.injection.altering import UNCHANGED, corrupted, emptied, truncated
from pytest_agentbench.environment.injection.world import InjectionWorld

Arguments = dict[str, Any]


@dataclass(frozen=True)
class Wait:
    """A step that only takes time."""

    seconds: float


Steps = Generator[Arguments | Wait, Any, Any]
"""Yields what to do next; is sent the answer of each call, or thrown what the tool raised; returns the answer."""


class Untouched(Exception):  # noqa: N818 - says what became of a call, no error
    """There was nothing that the fault could change; carries the answer as it is."""

    def __init__(self, answer: Any) -> None:
        super().__init__("untouched")
        self.answer = answer


@dataclass(frozen=True, kw_only=True)
class Struck:
    """One call that is struck, and what its fault may use."""

    fault: FaultSpec
    arguments: Arguments
    random: Random
    world: InjectionWorld


def steps(struck: Struck) -> Steps:
    """Give what the fault does with the call."""
    return _EFFECTS[struck.fault.kind](struck)


def _raising(make: Callable[[FaultSpec], Exception]) -> Callable[[Struck], Steps]:
    def effect(struck: Struck) -> Steps:
        if struck.fault.done:
            yield struck.arguments
        raise make(struck.fault)

    return effect


def _altering(alter: Callable[[Any, Random], Any]) -> Callable[[Struck], Steps]:
    def effect(struck: Struck) -> Steps:
        answer = yield struck.arguments
        altered = alter(answer, struck.random)
        if altered is UNCHANGED:
            raise Untouched(answer)
        return altered

    return effect


def _late(struck: Struck) -> Steps:
    yield Wait(struck.fault.seconds)
    return (yield struck.arguments)


def _twice(struck: Struck) -> Steps:
    answer = yield struck.arguments
    try:
        yield struck.arguments
    except Exception:  # noqa: BLE001 - whatever the tool raises: what was done twice need not succeed twice
        raise Untouched(answer) from None
    return answer


def _nothing_done(struck: Struck) -> Steps:
    saved = struck.world.save()
    try:
        return (yield struck.arguments)
    finally:
        struck.world.restore(saved)


def _stale(struck: Struck) -> Steps:
    saved = struck.world.save()
    struck.world.restore_first()
    try:
        return (yield struck.arguments)
    finally:
        struck.world.restore(saved)


_TRIES = 8
"""Other values that are tried until one gives an answer."""


def _about_another(struck: Struck) -> Steps:
    for arguments in _other_arguments(struck):
        try:
            return (yield arguments)
        except Exception:  # noqa: BLE001, S112 - the other row may not fit this tool: the next one may
            continue
    raise Untouched((yield struck.arguments))


def _other_arguments(struck: Struck) -> Iterator[Arguments]:
    """Yield the arguments with one value replaced by another that stands in the same place of the state."""
    tried = 0
    for name, value in struck.arguments.items():
        if not isinstance(value, str | int) or isinstance(value, bool):
            continue
        others = struck.world.others(value)
        struck.random.shuffle(others)
        for other in others:
            if tried == _TRIES:
                return
            tried += 1
            yield {**struck.arguments, name: other}


_EFFECTS: dict[str, Callable[[Struck], Steps]] = {
    "timeout": _raising(lambda fault: TimeoutError(fault.message or "the call timed out, no answer came")),
    "error": _raising(lambda fault: RuntimeError(fault.message or "500 Internal Server Error")),
    "rate_limit": _raising(lambda fault: RuntimeError(fault.message or "429 Too Many Requests: try again later")),
    "empty": _altering(lambda answer, _: emptied(answer)),
    "truncated": _altering(lambda answer, _: truncated(answer)),
    "corrupted": _altering(corrupted),
    "latency": _late,
    "duplicate": _twice,
    "no_op": _nothing_done,
    "stale": _stale,
    "wrong_row": _about_another,
}

NEED_A_STATE_TO_PUT_BACK = frozenset({"no_op", "stale"})
"""Kinds that undo what a call did, or look back."""
