"""Rules in words: what a reader of a report sees of a policy's rule, made of its form."""

from collections.abc import Callable, Mapping
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.matchers import BOUNDS, holds_matcher, holds_reference, is_matcher
from pytest_agentbench.core.names import count, listing
from pytest_agentbench.core.text import printable

UNSAID: Any = object()
"""Stands for a result that a rule says nothing about."""

_MOST_NAMES = 4


def rule_words(rule: Mapping[str, Any] | None) -> str:
    """Say what a rule asks for, "" where there is none; a form that is not known is shown as it is written."""
    return printable(_rule(rule)) if rule else ""


def _rule(form: Mapping[str, Any]) -> str:
    if "when" in form:
        return f"whenever {_trigger(form['when'])}, then {_rule(form['then'])}"
    parts = [_WORDS[key](body) if key in _WORDS else f"{key}: {dumps(body)}" for key, body in form.items()]
    return " and ".join(parts)


def _calls(body: Mapping[str, Any]) -> str:
    """Name the calls that a rule is about, with what narrows them."""
    if "handoff" in body:
        return _handoff(body["handoff"])
    return _tools(body.get("calls", "any")) + _narrowed(body)


def _tools(named: Any) -> str:
    if named == "writes":
        return "any call that writes"
    if named == "any":
        return "any call"
    names = [one if isinstance(one, str) else _handoff(one.get("handoff")) for one in named]
    if len(names) > _MOST_NAMES:
        return f"{', '.join(names[:_MOST_NAMES])} or {count(len(names) - _MOST_NAMES, 'other tool')}"
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0] if names else "any call"


def _handoff(to: Any) -> str:
    if isinstance(to, Mapping):
        ends = [f"{key} {to[key]}" for key in ("from", "to") if to.get(key)]
        return f"a handoff {' '.join(ends)}".rstrip()
    return f"a handoff to {to}" if to else "a handoff"


def _narrowed(body: Mapping[str, Any]) -> str:
    told = []
    if body.get("where"):
        told.append(f"with {_values(body['where'])}")
    if "result" in body:
        told.append(f"answering {value_words(body['result'])}")
    if body.get("failed"):
        told.append("that failed")
    if body.get("same"):
        told.append(f"about the same {listing(map(str, body['same']))}")
    if body.get("times"):
        told.append(f"the {body['times']}. time")
    if body.get("per"):
        told.append(f"for each {listing(map(str, body['per']))}")
    return "".join(f" {one}" for one in told)


def _values(values: Mapping[str, Any]) -> str:
    return " and ".join(
        f"the same {name}" if value == {"$argument": name} else f"{name} {value_words(value)}"
        for name, value in values.items()
    )


def value_words(value: Any) -> str:
    """Show a value or a matcher: `at most 100`, `"shipped"`, `fewer than 2 entries`, `an entry with the same id`."""
    if isinstance(value, list) and (holds_matcher(value) or holds_reference(value)):
        return f"[{', '.join(map(value_words, value))}]"
    if not isinstance(value, Mapping) or not value:
        return dumps(value)
    if not is_matcher(value):
        return _values(value)
    if all(key in BOUNDS for key in value):
        return " and ".join(f"{BOUNDS[key]} {value_words(bound)}" for key, bound in value.items())
    (name, held), *others = value.items()
    reckoned = "".join(f" {key} {more}" for key, more in others)
    word = _OF_MATCHERS.get(name)
    return f"{word(held)}{reckoned}" if word else dumps(value)


def _size(held: Any) -> str:
    if isinstance(held, Mapping) and len(held) == 1 and "$lt" in held:
        return f"fewer than {value_words(held['$lt'])} entries"
    if held == 0:
        return "no entries"
    return f"{value_words(held)} {'entry' if held == 1 else 'entries'}"


def _entry(held: Any) -> str:
    return f"with {_values(held)}" if isinstance(held, Mapping) and held and not is_matcher(held) else value_words(held)


_OF_MATCHERS: dict[str, Callable[[Any], str]] = {
    "$any": lambda _held: "any value",
    "$regex": lambda held: f"text like {held}",
    "$approx": lambda held: f"about {dumps(held)}",
    "$subset": value_words,
    "$call": lambda held: f"what {held} accepts",
    "$in": lambda held: f"one of {', '.join(map(value_words, held)) if isinstance(held, list) else value_words(held)}",
    "$not": lambda held: f"not {value_words(held)}",
    "$has": lambda held: f"an entry {_entry(held)}",
    "$each": lambda held: f"only entries {_entry(held)}",
    "$size": _size,
    "$argument": lambda held: f"the call's {held}",
    "$result": lambda held: "the result" if held == "." else f"the result's {held}",
    "$today": lambda held: f"today {held}",
    "$now": lambda held: f"now {held}",
}
"""How a matcher, or what stands for a value, is put into words."""


def _trigger(form: Any) -> str:
    if isinstance(form, str):
        return "a conversation begins"
    if "calls" in form or "handoff" in form:
        return f"{_calls(form)} succeeded" if not form.get("failed") else _calls(form)
    for key, who in (("user_says", "the user"), ("agent_says", "the agent")):
        if key in form:
            return f"{who} says {_text(form[key])}"
    return dumps(form)


def _text(text: Any) -> str:
    """Show what is to be said: a text, a pattern, or a value of a call."""
    if isinstance(text, list | tuple):
        return " or ".join(map(_text, text))
    if isinstance(text, Mapping):
        return _text(text["text"]) if "text" in text else " and ".join(f"{key} {held}" for key, held in text.items())
    return dumps(text)


def _before(body: Mapping[str, Any]) -> str:
    same = f" about the same {listing(map(str, body['same']))}" if body.get("same") else ""
    about = {key: held for key, held in body.items() if key != "same"}
    return f"before {_calls(about)}, {_tools(body['first'])} succeeded{same}"


def _confirm_before(body: Mapping[str, Any]) -> str:
    stating = [one if isinstance(one, str) else dumps(one) for one in body.get("stating", ())]
    hearing = f", after hearing {listing(stating)}," if stating else ""
    return f"the user must agree{hearing} before {_calls(body)}"


def _only_if(body: Mapping[str, Any]) -> str:
    about = {key: held for key, held in body.items() if key in _ABOUT}
    needs = {key: held for key, held in body.items() if key not in _ABOUT}
    return f"{_calls(about)} only if {_rule(needs)}"


def _at_most(body: Mapping[str, Any]) -> str:
    per = f" for each {listing(map(str, body['per']))}" if body.get("per") else ""
    about = _calls({key: held for key, held in body.items() if key not in ("times", "per")})
    if "times" in body:
        return f"at most {count(body['times'], 'call')} of {about}{per}"
    return f"the sum of {_text(body['sum']).strip(chr(34))} over {about} is at most {body['lte']}{per}"


def _confirmed(body: Any) -> str:
    stating = body.get("stating", ()) if isinstance(body, Mapping) else ()
    return f"the user agreed after hearing {listing(map(str, stating))}" if stating else "the user agreed"


def _said(body: Any, *, verb: str) -> str:
    within = f" within {count(body['within'], 'message')}" if isinstance(body, Mapping) and body.get("within") else ""
    return f"the agent {verb} {_text(body)}{within}"


_ABOUT = frozenset({"calls", "handoff", "where", "result", "same", "failed", "times", "per"})

_WORDS: dict[str, Callable[[Any], str]] = {
    "before": _before,
    "never": lambda body: f"never {_calls(body)}",
    "only": lambda body: f"only {_calls(body)}",
    "confirm_before": _confirm_before,
    "only_if": _only_if,
    "at_most": _at_most,
    "all": lambda body: "; and ".join(map(_rule, body)),
    "any": lambda body: "; or ".join(map(_rule, body)),
    "not": lambda body: f"not: {_rule(body)}",
    "earlier": lambda body: f"{_calls(body)} came before",
    "later": lambda body: f"{_calls(body)} comes afterwards",
    "arguments": lambda body: f"its {_values(body)}",
    "state": lambda body: f"the state at {'.'.join(map(_step, body['at']))} is {value_words(body['value'])}",
    "user_said": lambda body: f"the user said {_text(body)}",
    "agent_said": lambda body: f"the agent said {_text(body)}",
    "confirmed": _confirmed,
    "must_say": lambda body: _said(body, verb="then says"),
    "must_not_say": lambda body: _said(body, verb="then does not say"),
}  # fmt: skip
"""How each operator is put into words."""


def _step(step: Any) -> str:
    return f"<{step['$argument']}>" if isinstance(step, Mapping) and "$argument" in step else str(step)
