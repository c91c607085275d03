"""`wrong_value_first` and `changes_mind`: another value of the initial state is said before the scenario's own."""

import re
from random import Random

from pytest_agentbench.core.modifier import ModifierName, ModifierSpec
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.users.kinds import FREE, kind_of
from pytest_agentbench.users.known_info import text_of
from pytest_agentbench.users.modifiers.behaviour import Behaviour, Swap
from pytest_agentbench.users.modifiers.scene import BESIDE_NAME, IDENTITY, Scene, is_which
from pytest_agentbench.users.modifiers.spelling import as_said, mentions, normal
from pytest_agentbench.users.modifiers.templates import instruction

_LEAST = 3
"""Characters from which a value can be told from other words."""

_NO_STATE = "the initial state cannot be read, so no other value is verified"


def wrong_value_first(spec: ModifierSpec, scene: Scene, rng: Random) -> Behaviour | str:
    """Choose a value that the user gives and what it says first instead, or say why there is none."""
    if not scene.records:
        return _NO_STATE
    which = str(spec.options.get("which", ""))
    known = [(kind, value) for kind, value in scene.values() if is_which(kind, which) and _is_given(kind, value, scene)]
    if not known:
        return f"the user gives no {which}" if which else "the user gives no value that an expected call needs"
    own = frozenset().union(*(row.values for row in scene.own_rows)) if scene.own_rows else frozenset[str]()
    rng.shuffle(known)
    for kind, value in known:
        others = [
            other
            for other in scene.records.others(value, kind)
            if normal(other) not in own and not scene.is_told(other) and len(text_of(other)) >= _LEAST
        ]
        if others:
            return _swap("wrong_value_first", kind, _alike(value, others, rng), value, scene)
    return "the initial state holds no other value of the kind"


def changes_mind(spec: ModifierSpec, scene: Scene, rng: Random) -> Behaviour | str:
    """Choose a wish that the scenario states and the option that is wished for first, or say why there is none."""
    if not scene.records:
        return _NO_STATE
    which = str(spec.options.get("which", ""))
    wishes = [
        (kind_of(name), value)
        for name, value in scene.expected
        if is_which(kind_of(name), which) and _is_wish(kind_of(name), value, scene)
    ]
    if not wishes:
        named = f"the argument {which!r}" if which else "an argument"
        return f"the user's texts state no wish that is {named} of an expected call"
    rng.shuffle(wishes)
    for kind, value in wishes:
        others = [other for other in scene.records.others(value, kind) if not scene.is_told(other)]
        if kind.endswith("_id"):  # another customer's order is no wish of this one
            others = [other for other in others if any(normal(other) in row.values for row in scene.own_rows)]
        others = [other for other in others if isinstance(other, str) and len(other) >= _LEAST]
        if others:
            return _swap("changes_mind", kind, rng.choice(others), value, scene)
    return "the initial state holds no other option of the kind"


def _is_given(kind: str, value: str, scene: Scene) -> bool:
    if normal(value) in scene.taken or len(value) < _LEAST:
        return False
    if kind in IDENTITY | BESIDE_NAME:
        return True
    return (kind.endswith("_id") or kind.startswith(FREE)) and normal(value) in scene.looked_up


def _is_wish(kind: str, value: JsonValue, scene: Scene) -> bool:
    return (
        isinstance(value, str)
        and len(value) >= _LEAST
        and kind not in IDENTITY | BESIDE_NAME | {"name", "first_name", "last_name"}
        and normal(value) not in scene.taken
        and mentions(scene.wishes, value)
    )


def _alike(value: str, others: list[JsonValue], rng: Random) -> JsonValue:
    """Choose among the values of the same outline, if there are any, so that only looking it up shows it is wrong."""
    alike = [other for other in others if _outline(text_of(other)) == _outline(value)]
    return rng.choice(alike or others)


def _outline(value: str) -> str:
    return re.sub(r"\d", "9", re.sub(r"[^\W\d_]+", "a", value.lstrip("#")))


def _swap(name: ModifierName, kind: str, first: JsonValue, right: JsonValue, scene: Scene) -> Behaviour:
    swap = Swap(label=scene.label(kind), first=as_said(first), right=as_said(right))
    return Behaviour(
        name=name,
        instruction=instruction(name, **swap.model_dump()),
        language=scene.language.code,
        kind=kind,
        wrong=(swap,),
    )
