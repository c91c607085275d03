"""Requests of one conversation written without repeating what the one before said."""

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.values import JsonValue

Request = dict[str, JsonValue]


def shortened(request: Request, before: Request | None) -> dict[str, JsonValue]:
    """Give the members of a line that say `request`: what differs from the one before it in its conversation.

    `request` holds changed fields and new messages, `shared` counts the leading messages that are as before, `dropped`
    names fields that are gone.
    """
    if before is None:
        return {"request": _by_name(request)}
    changed = {name: value for name, value in request.items() if name not in before or not _alike(before[name], value)}
    line: dict[str, JsonValue] = {}
    messages, earlier = request.get("messages"), before.get("messages")
    if isinstance(messages, list) and isinstance(earlier, list):
        shared = _common(messages, earlier)
        changed["messages"] = messages[shared:]
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
        shared, earlier = line["shared"], before.get("messages")
        if type(shared) is not int or not isinstance(earlier, list) or not 0 <= shared <= len(earlier):
            raise ValueError(f"`shared` is {shared!r}; the exchange before has {len(earlier or ())} messages")
        added = part.get("messages")
        request["messages"] = [*earlier[:shared], *(added if isinstance(added, list) else [])]
    return _by_name(request)


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
