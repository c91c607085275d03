"""Names for operations as tools, and for their parameters as arguments: readable, unique, and fit for models."""

import re
from collections.abc import Iterable, Sequence

LONGEST = 64
"""Characters of a tool's name that chat models accept at most (OpenAI's function names)."""

_VERSION = re.compile(r"^(?:api|v\d+(?:\.\d+)*)$", re.IGNORECASE)
_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")
_PARAMETER = re.compile(r"\{([^}]*)\}")


def operation_names(operations: Sequence[tuple[str, str, object]]) -> list[str]:
    """Give a name for each (method, path, operation id), in order: the id where there is one, else method and path.

    `GET /buckets/{id}/groups` becomes `get_buckets_groups`, `GET /buckets/{id}` `get_buckets_by_id`. Where two would be
    named alike the later one names all parameters of its path, and if that is not enough it is numbered.
    """
    taken: set[str] = set()
    names: list[str] = []
    common = _common([path for _, path, _ in operations])
    for method, path, given in operations:
        known = _UNFIT.sub("_", given).strip("_") if isinstance(given, str) else ""
        steps = [step for step in path.split("/") if step][common:]
        candidates = [known] if known else []
        candidates += [_name(method, steps, every=False), _name(method, steps, every=True)]
        names.append(unique([name[:LONGEST] for name in candidates if name], taken))
    return names


def unique(candidates: Iterable[str], taken: set[str]) -> str:
    """Give the first candidate that is not taken, else the first with a number, and take it."""
    ordered = list(candidates)
    found = next((name for name in ordered if name not in taken), None)
    number = 2
    while found is None:
        tail = f"_{number}"
        numbered = ordered[0][: LONGEST - len(tail)] + tail
        found = numbered if numbered not in taken else None
        number += 1
    taken.add(found)
    return found


def _name(method: str, steps: Sequence[str], *, every: bool) -> str:
    words = [method]
    for position, step in enumerate(steps):
        parameters = _PARAMETER.findall(step)
        if parameters and (every or position == len(steps) - 1):
            words += ["by", *parameters]
        elif not parameters:
            words.append(step)
    return "_".join(filter(None, (_UNFIT.sub("_", word).strip("_") for word in words)))


def _common(paths: Sequence[str]) -> int:
    """Count the leading steps, such as `/api/v1`, that say the version and that all paths share."""
    split = [[step for step in path.split("/") if step] for path in paths]
    count = 0
    while split and all(len(steps) > count + 1 for steps in split):
        first = split[0][count]
        if not _VERSION.match(first) or any(steps[count] != first for steps in split):
            break
        count += 1
    return count
