"""Requests of one conversation written without repeating what the one before said."""

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.llm.apis.registry import GROWING

Request = dict[str, JsonValue]


def shortened(request: Request, before: Request | None) -> dict[str, JsonValue]:
    """Give the members of a line that say `request`: what differs from the one before it in its conversation.

    `request` holds changed fields and new messages (or items of input), `shared` counts the leading ones that are as
    before, `dropped` names fields that are gone.
    """
    if before is None:
        return {"request": _by_name(request)}
    changed = {name: value for name, value in request.items() if name not in before or not _alike(before[name], value)}
    line: dict[str, JsonValue] = {}
    if name := _growing(before, request):
        shared = _common(request[name], before[name])
        changed[name] = request[name][shared:]
        line["shared"] = shared
    if dropped := sorted(before.keys() - request.keys()):
        line["dropped"] = dropped
    return {**line, "request": _by_name(changed)}


def lengthened(line: dict[str, JsonValue], before: Request | None) -> Request:
    """Give the request that `shortened` was given; raise `ValueError` where the line does not fit the one before."""
    part = line.get("request")
    if not isinstance(part, dict):
        raise ValueError(f"`request` is {part!r}; it must be an object")
    if before is None:
        if "shared" in line:
            raise ValueError("`shared` refers to the exchange before this one, and there is none")
        return _by_name(part)
    request = {**before, **part}
    dropped = line.get("dropped", [])
    for name in dropped if isinstance(dropped, list) else []:
        request.pop(name, None)
    if "shared" in line:
        shared, name = line["shared"], _growing(before, request)
        earlier = before[name] if name else []
        if type(shared) is not int or not name or not 0 <= shared <= len(earlier):
            raise ValueError(f"`shared` is {shared!r}; the exchange before has {len(earlier)} messages")
        added = part.get(name)
        request[name] = [*earlier[:shared], *(added if isinstance(added, list) else [])]
    return _by_name(request)


def _growing(before: Request, request: Request) -> str:
    """Name the list that both requests hold and that grows with the conversation; "" where there is none."""
    return next(
        (name for name in GROWING if isinstance(before.get(name), list) and isinstance(request.get(name), list)), ""
    )


def _by_name(request: Request) -> Request:
    return {name: request[name] for name in sorted(request)}


def _alike(left: JsonValue, right: JsonValue) -> bool:
    # 1, 1.0 and True are equal, but not written alike
    return bool(left == right) and dumps(left) == dumps(right)


def _common(left: list[JsonValue], right: list[JsonValue]) -> int:
    count = 0
    for one, other in zip(left, right, strict=False):
        if not _alike(one, other):
            break
        count += 1
    return count
