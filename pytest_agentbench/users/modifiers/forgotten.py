"""`forgets_identifier`: one identifier that the user would need is taken away where others still lead to it."""

from random import Random

from pytest_agentbench.core.modifier import ModifierSpec
from pytest_agentbench.users.confirmation import content_words
from pytest_agentbench.users.kinds import ANY_ID
from pytest_agentbench.users.modifiers.behaviour import Behaviour
from pytest_agentbench.users.modifiers.records import Row
from pytest_agentbench.users.modifiers.scene import IDENTITY, Scene, is_which
from pytest_agentbench.users.modifiers.spelling import normal, spelled
from pytest_agentbench.users.modifiers.templates import instruction

_SAYS = {"en": "You do not remember your {label}.", "fr": "Vous ne vous souvenez pas de votre {label}."}


def forgets_identifier(spec: ModifierSpec, scene: Scene, rng: Random) -> Behaviour | str:
    """Choose the identifier that is forgotten, or say why there is none."""
    which = str(spec.options.get("which", ""))
    known = [(kind, value) for kind, value in scene.values() if _is_identifier(kind)]
    known = [(kind, value) for kind, value in known if normal(value) not in scene.taken and is_which(kind, which)]
    if not known:
        return f"the user knows no {which}" if which else "the user knows no identifier"
    needed = [(kind, value) for kind, value in known if kind in IDENTITY or normal(value) in scene.looked_up]
    if not needed:
        return "no identifier that the user knows is needed by an expected call"
    spare = [(kind, value) for kind, value in needed if _resolvable(value, scene)]
    if not spare:
        return "nothing else that the user knows leads to what it would forget"
    kind, value = rng.choice(spare)
    label = scene.label(kind)
    return Behaviour(
        name="forgets_identifier",
        instruction=instruction("forgets_identifier", label=label),
        language=scene.language.code,
        forgets=(value,),
        kind=kind,
        unknown=_SAYS[scene.language.code].format(label=label),
    )


def _is_identifier(kind: str) -> bool:
    """Tell whether a kind is an identifier that a user has a name for."""
    return kind in IDENTITY or (kind.endswith("_id") and kind != ANY_ID)


def _resolvable(value: str, scene: Scene) -> bool:
    """Tell whether what else the user knows still leads to the record that `value` names, and to no other."""
    clues = tuple(clue for clue in scene.clues(without=value) if scene.accepted(clue))
    if not scene.records:
        # without a state, only the expected calls show that there is another way
        return any(normal(clue[-1]) in scene.looked_up for clue in clues)
    found = scene.rows_of(clues)
    own = (*found, *scene.records.referring_to(found))
    if not any(normal(value) in row.values for row in own):
        return False
    itself = scene.records.row(value)
    if itself is None or itself in found:
        return itself is not None or all(_is_single(value, row, scene) for row in found)
    rivals = [row for row in (*_siblings(itself, found, scene), *own) if row != itself and row.table == itself.table]
    return not rivals or _recognisable(itself, rivals, _without(value, scene.wishes))


def _is_single(value: str, row: Row, scene: Scene) -> bool:
    """Tell whether a record holds no other value of the place of `value`."""
    others = {normal(other) for other in scene.records.others(value, ANY_ID)}
    return not others & row.values


def _siblings(itself: Row, own: tuple[Row, ...], scene: Scene) -> list[Row]:
    """Give the records of the same table that the user's own records name, or that name the user."""
    named = {name for row in own for name in row.values}
    others = {normal(key) for key in scene.records.others(itself.key, ANY_ID)} & named
    return [row for key in sorted(others) if (row := scene.records.row(key)) is not None and row.table == itself.table]


def _recognisable(itself: Row, rivals: list[Row], text: str) -> bool:
    """Tell whether the user's texts share more words with the record than with any of its rivals."""
    words = content_words(text)
    shared = len(words & _words(itself))
    return all(shared > len(words & _words(rival)) for rival in rivals)


def _words(row: Row) -> set[str]:
    return set().union(*(content_words(value) for value in row.values))


def _without(value: str, text: str) -> str:
    return spelled(value).sub(" ", text)
