"""Templates of HTTP requests, in which `$message` and its like stand for values, and what may be wrong in one."""

import re
from collections.abc import Callable, Iterator, Mapping

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import SuiteFaultError, with_hint
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.misfit import Keys, Misfit
from pytest_agentbench.core.names import listing, suggestion

PLACEHOLDERS = ("message", "messages", "session_id", "session", "context", "tools", "results", "decisions", "now")
"""What may stand in a body; `$context.user.id` is a field of the context."""

IN_HEADERS = ("session_id", "session", "context", "now")
"""What may stand in headers and in the address: nothing that a user or an agent says."""

_BRACED = re.compile(r"://[^/?#]{0,200}(?<!\$)\{(\w{1,40})\}")
"""A word in braces where the host and the port of an address stand."""

_MARK = re.compile(r"(\$?)\$([A-Za-z_]\w*)((?:\.\w+)*)")


def fill(template: JsonValue, values: Mapping[str, JsonValue]) -> JsonValue:
    """Give `template` with its placeholders replaced; a text that is one placeholder becomes the value itself.

    `$$message` stands for a literal `$message`; names that `values` lacks stay as they are. Raise `SuiteFaultError` for
    a field that the context lacks.
    """
    if isinstance(template, str):
        whole = _MARK.fullmatch(template)
        if whole and not whole[1] and whole[2] in values and (whole[2] == "context" or not whole[3]):
            return _value(whole, values)
        return fill_text(template, values)
    if isinstance(template, Mapping):
        return {key: fill(item, values) for key, item in template.items()}
    if isinstance(template, list | tuple):
        return [fill(item, values) for item in template]
    return template


def fill_text(text: str, values: Mapping[str, JsonValue], *, escape: Callable[[str], str] = str) -> str:
    """Give `text` with each placeholder replaced by its value as text: null as nothing, other values as JSON.

    `escape` is applied to what is put in. Raise `SuiteFaultError` for a field that the context lacks.
    """

    def put(match: re.Match[str]) -> str:
        name, fields = match[2], match[3]
        if name not in values:
            return match[0]
        if match[1]:
            return match[0][1:]
        return escape(_as_text(_value(match, values))) + ("" if name == "context" else fields)

    return _MARK.sub(put, text)


def names_in(template: JsonValue) -> set[str]:
    """Give the names of the placeholders in a template, known or not."""
    return {match[2] for _, text in _texts(template, ()) for match in _MARK.finditer(text) if not match[1]}


def misplaced(form: Mapping[str, JsonValue]) -> list[Misfit]:
    """Give what is wrong in the templates and paths of an HTTP agent, paths seen from `agent.http`.

    `form` is the mapping as the suite states it, before `${VAR}`s are replaced: a secret may hold any character.
    """
    found = list(_misnamed(form.get("url", ""), ("url",), IN_HEADERS))
    found += _misplaced_port(form.get("url", ""))
    found += _misnamed(form.get("headers", {}), ("headers",), IN_HEADERS)
    found += _misnamed(form.get("body", {}), ("body",), PLACEHOLDERS)
    sent = names_in(form["body"]) if "body" in form else {"message"}
    if sent.isdisjoint({"message", "messages"}):
        hint = "put $message or $messages into it"
        found.append(Misfit(path=("body",), message="the endpoint is never told what the user says", hint=hint))
    found += _nameless_session(form)
    found += _broken_paths(form)
    found += _unmapped_calls(form, sent)
    return found


def _misnamed(template: JsonValue, path: Keys, allowed: tuple[str, ...]) -> Iterator[Misfit]:
    for place, text in _texts(template, path):
        for match in _MARK.finditer(text):
            name = match[2]
            if name in allowed or (match[1] and name in PLACEHOLDERS):
                continue
            where = "" if name not in PLACEHOLDERS else f" in {path[0]}"
            message = f"'${name}' is no placeholder{where}; there are {', '.join('$' + known for known in allowed)}"
            hint = suggestion(name, allowed).replace("mean '", "mean '$")
            yield Misfit(path=place, message=message, hint=hint or "a literal $ can come from a ${VARIABLE}")


def _misplaced_port(url: JsonValue) -> Iterator[Misfit]:
    """Tell of `http://localhost:{prot}`: only `{port}`, where `serve` listens, stands for something."""
    braced = _BRACED.search(url) if isinstance(url, str) else None
    if braced and braced[1] != "port":
        message = f"'{{{braced[1]}}}' is no placeholder of an address; '{{port}}' is where `serve` listens"
        yield Misfit(path=("url",), message=message, hint=suggestion(braced[1], ["port"]).replace("'port'", "'{port}'"))


def _nameless_session(form: Mapping[str, JsonValue]) -> Iterator[Misfit]:
    """Tell where the endpoint is sent back the session that it named, and nothing says where it names one."""
    for key in ("url", "headers", "body"):
        if not form.get("session") and "session" in names_in(form.get(key, "")):
            hint = "write `session: path.in.the.answer`, or send $session_id, which is the run's own"
            yield Misfit(path=(key,), message="'$session' is always null: nothing maps `session`", hint=hint)


def _broken_paths(form: Mapping[str, JsonValue]) -> Iterator[Misfit]:
    paths: dict[Keys, JsonValue] = {(key,): form.get(key, "") for key in ("reply", "calls", "session", "stop")}
    paths |= {("call", key): value for key, value in form.get("call", {}).items()}
    for place, value in paths.items():
        if value and "" in value.split("."):
            message = f"{value!r} is no path: a name is missing before, after or between dots"
            yield Misfit(path=place, message=message, hint="write it like choices.0.message.content")


def _unmapped_calls(form: Mapping[str, JsonValue], sent: set[str]) -> Iterator[Misfit]:
    if not form.get("calls"):
        if form.get("call"):
            yield Misfit(path=("call",), message="maps the parts of calls, but no calls are mapped", hint="set `calls`")
        return
    if "result" not in form.get("call", {}) and sent.isdisjoint({"results", "messages"}):
        yield Misfit(
            path=("calls",),
            message="the calls have no results, so they are made here, and the endpoint is never told what they gave",
            hint="put $results into the body; or, where the endpoint makes them itself, map `call.result` "
            "('' where it does not tell)",
        )


def _texts(template: JsonValue, path: Keys) -> Iterator[tuple[Keys, str]]:
    if isinstance(template, str):
        yield path, template
    elif isinstance(template, Mapping):
        for key, item in template.items():
            yield from _texts(item, (*path, key))
    elif isinstance(template, list | tuple):
        for index, item in enumerate(template):
            yield from _texts(item, (*path, index))


def _value(match: re.Match[str], values: Mapping[str, JsonValue]) -> JsonValue:
    value = values[match[2]]
    if match[2] != "context":
        return value
    for name in match[3].split(".")[1:]:
        if not isinstance(value, Mapping) or name not in value:
            there = listing(map(str, value)) if isinstance(value, Mapping) and value else "nothing"
            message = f"{match[0]!r}: the context holds no {name!r} there, but {there}"
            raise SuiteFaultError(with_hint(message, suggestion(name, map(str, value)) if there != "nothing" else ""))
        value = value[name]
    return value


def _as_text(value: JsonValue) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else dumps(value)
