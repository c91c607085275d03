"""What a conversation is about all along, such as the one folder that every call works in: a user says it once."""

from collections.abc import Mapping, Sequence

from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.recruiting.stock import last_name
from pytest_agentbench.generation.tools.stories.narrator import WishGiven


def said_once(
    wishes: Sequence[WishGiven], context: Mapping[str, JsonValue], known: set[str]
) -> tuple[list[WishGiven], set[str]]:
    """Leave out of requests what is context and `known` from earlier ones; give them, and what is known after them."""
    kept: list[WishGiven] = []
    said = set(known)
    for wish in wishes:
        replaced = wish.handle.replaces if wish.handle is not None else ()
        needless = {path for path in wish.given if last_name(path) in said and path not in replaced}
        given = {path: value for path, value in wish.given.items() if path not in needless}
        kept.append(wish.model_copy(update={"given": given}))
        said |= {name for path in given if (name := last_name(path)) in context}
    return kept, said
