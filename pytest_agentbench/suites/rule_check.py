"""What is wrong with the rule of a policy: its form, what its parts are about, and the tools that it names.

A rule that nothing sets off, or about a tool that nobody has, would never be exercised.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_agentbench.core.file_models import form_misfits
from pytest_agentbench.core.json_values import JsonValue, to_json
from pytest_agentbench.core.matchers import REFERENCES, holds_reference, is_reference, matcher_misfits, regex_misfits
from pytest_agentbench.core.misfit import Keys, Misfit
from pytest_agentbench.core.moments import is_moment
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.spec.rule import RuleForm
from pytest_agentbench.suites.rule_types import (
    RuleFault,
    ValueForm,
    at_steps,
    form_of,
    missing_step,
    never_true,
    unreckonable,
)

TRIGGERED = ("before", "never", "only", "confirm_before", "only_if", "at_most")
"""The operators that name the calls which set them off."""

ABOUT = ("calls", "where", "result", "handoff")
"""The keys that say which calls, or which handoff, a rule is about."""

_VALUES = ("where", "result", "arguments", "value")
_TEXTS = ("user_said", "agent_said", "user_says", "agent_says", "must_say", "must_not_say")
_WITHOUT_CALL = "there is no call that this could be about: write it in an only_if or below a when with calls"


def rule_misfits(rule: object, path: Keys = ()) -> Iterator[Misfit]:
    """Yield what keeps a rule from being well-formed, matchers included; `path` leads to the rule."""
    form = to_json(rule)
    wrong = sorted(form_misfits(form, RuleForm, path), key=lambda one: len(one.path))
    yield from wrong
    if not wrong:
        yield from _Places().rule(form, path)


class _Places:
    """Checks that every part stands where it has something to judge: a trigger, and where it is named, a call."""

    def rule(self, form: JsonValue, path: Keys, *, placed: bool = False, call: bool = False) -> Iterator[Misfit]:
        """Check a rule; `placed` says that a trigger stands above it, `call` that this is a call."""
        if "when" in form:
            about = (*path, "when")
            yield from self._other(form["when"], about, call)
            if "per" in form["when"] and "times" not in form["when"]:
                hint = "write times, such as times: 2, or leave per out"
                yield Misfit(path=(*about, "per"), message="nothing is counted here", hint=hint, at_key=True)
            has_call = call or "calls" in form["when"]
            yield from self.rule(form["then"], (*path, "then"), placed=True, call=has_call)
            return
        ((operator, body),) = form.items()
        where = (*path, operator)
        if operator == "only_if":
            yield from self._only_if(body, where, call)
        elif operator in TRIGGERED:
            yield from self._other(body, where, call)
        elif operator in ("all", "any"):
            for index, part in enumerate(body):
                yield from self.rule(part, (*where, index), placed=placed, call=call)
        elif not placed:
            message = f"{operator} has no trigger: write {{when: {{calls: […]}}, then: {{{operator}: …}}}}"
            yield Misfit(path=where, message=message, hint="or when: always", at_key=True)
        else:
            yield from self._requirement(operator, body, where, call)

    def _only_if(self, body: Mapping[str, Any], path: Keys, call: bool) -> Iterator[Misfit]:
        yield from self._other({key: body[key] for key in ABOUT if key in body}, path, call)
        needed = [key for key in body if key not in ABOUT]
        if not needed:
            message = "nothing says what such a call needs, allowed: earlier, later, arguments, state, user_said, "
            yield Misfit(path=path, message=message + "agent_said, confirmed, all, any, not")
        for key in needed:
            yield from self._only_requirements({key: body[key]}, path)
            yield from self.rule({key: body[key]}, path, placed=True, call=call or "calls" in body)

    def _requirement(self, operator: str, body: JsonValue, path: Keys, call: bool) -> Iterator[Misfit]:
        if operator in ("arguments", "confirmed") and not call:
            yield Misfit(path=path, message=_WITHOUT_CALL, at_key=True)
        if operator == "not":
            yield from self._only_requirements(body, path)
            yield from self.rule(body, path, placed=True, call=call)
        elif operator == "arguments":
            yield from self._other({operator: body}, path[:-1], call)
        elif operator in _TEXTS:
            yield from _spoken(body, path, call)
        elif operator == "state":
            for index, step in enumerate(body["at"]):
                yield from matcher_misfits(step, (*path, "at", index), references=True)
            yield from self._other(body, path, call)
            if not call and holds_reference(body["at"]):
                yield Misfit(path=(*path, "at"), message=_WITHOUT_CALL)
        elif operator in ("earlier", "later"):
            yield from self._other(body, path, call)
            if "same" in body and not call:
                yield Misfit(path=(*path, "same"), message=_WITHOUT_CALL, at_key=True)

    def _only_requirements(self, form: JsonValue, path: Keys) -> Iterator[Misfit]:
        """Yield rules with a trigger of their own where a plain yes or no is asked for."""
        ((operator, body),) = list(form.items())[:1]
        if operator == "not":
            yield from self._only_requirements(body, (*path, operator))
        elif operator in ("all", "any"):
            for index, part in enumerate(body):
                yield from self._only_requirements(part, (*path, operator, index))
        elif operator in TRIGGERED or operator in ("when", "then"):
            message = (
                f"{operator} has a trigger of its own; this place is for requirements such as earlier, arguments, "
                "must_say"
            )
            yield Misfit(path=(*path, operator), message=message, at_key=True)

    def _other(self, body: JsonValue, path: Keys, call: bool) -> Iterator[Misfit]:
        """Check the values and texts of a trigger or of a description of calls."""
        if not isinstance(body, Mapping):
            return
        for key in _VALUES:
            if key in body:
                yield from matcher_misfits(body[key], (*path, key), references=True)
                if not call and holds_reference(body[key]):
                    yield Misfit(path=(*path, key), message=_WITHOUT_CALL)
        for index, one in enumerate(body.get("stating", ())):
            yield from self._around(one, (*path, "stating", index), call)
        yield from self._around(body.get("lte"), (*path, "lte"), call)
        yield from self._around(body.get("sum"), (*path, "sum"), call=True)  # it leads into each call that is counted
        for key in _TEXTS:
            if key in body:
                yield from _spoken(body[key], (*path, key), call)

    def _around(self, value: JsonValue, path: Keys, call: bool) -> Iterator[Misfit]:
        """Check what may be a reference to the call around a rule."""
        if isinstance(value, Mapping):
            yield from matcher_misfits(value, path, references=True)
            if not call:
                yield Misfit(path=path, message=_WITHOUT_CALL)


def summed(of: JsonValue) -> dict[str, Any]:
    """Give what `sum` adds up as a reference into each call: a text is the way to an argument."""
    return {REFERENCES[0]: of} if isinstance(of, str) else dict(of)


def _spoken(text: JsonValue, path: Keys, call: bool) -> Iterator[Misfit]:
    if isinstance(text, list):
        for index, item in enumerate(text):
            yield from _spoken(item, (*path, index), call)
    elif isinstance(text, Mapping) and "text" in text:
        yield from _spoken(text["text"], (*path, "text"), call)
    elif isinstance(text, Mapping) and "pattern" in text:
        yield from regex_misfits(text["pattern"], (*path, "pattern"))
    elif is_reference(text) or is_moment(text):
        yield from matcher_misfits(text, path, references=True)
        if not call and is_reference(text):
            yield Misfit(path=path, message=_WITHOUT_CALL)


def state_paths(form: JsonValue, path: Keys) -> Iterator[Keys]:
    """Yield the way to each part of a well-formed rule that asks for the state."""
    if "when" in form:
        yield from state_paths(form["then"], (*path, "then"))
        return
    for operator, body in form.items():
        where = (*path, operator)
        if operator == "state":
            yield where
        elif operator in ("all", "any"):
            for index, part in enumerate(body):
                yield from state_paths(part, (*where, index))
        elif operator == "not":
            yield from state_paths(body, where)
        elif operator == "only_if":
            yield from state_paths({key: value for key, value in body.items() if key not in ABOUT}, where)


def state_misfits(form: JsonValue, path: Keys) -> Iterator[Misfit]:
    """Yield each part of a well-formed rule that asks for the state, for a suite that has none."""
    for where in state_paths(form, path):
        message = "the suite has no state that could be asked: environment.state is not there"
        yield Misfit(path=where, message=message, hint="ask for an `earlier` call that shows it", at_key=True)


def rule_faults(policy: Policy, toolset: Toolset) -> Iterator[RuleFault]:
    """Yield what a well-formed rule names in vain: tools that there are not, arguments that they do not have."""
    names = sorted(spec.name for spec in toolset.of("assistant"))
    if policy.rule is not None and names:
        yield from _Names(toolset, names).rule(to_json(policy.rule), ("rule",), ())


class _Names:
    def __init__(self, toolset: Toolset, names: list[str]) -> None:
        self._toolset = toolset
        self._names = names

    def rule(self, form: JsonValue, path: Keys, about: tuple[str, ...]) -> Iterator[RuleFault]:
        """Check what stands in a rule; `about` are the tools that the rule around it is about."""
        if isinstance(form, list):
            for index, item in enumerate(form):
                yield from self.rule(item, (*path, index), about)
        elif isinstance(form, dict) and is_reference(form):
            yield from self._reference(form, path, about)
        elif isinstance(form, dict) and "when" in form and "then" in form:
            yield from self.rule(form["when"], (*path, "when"), about)
            yield from self.rule(form["then"], (*path, "then"), _listed(form["when"]) or about)
        elif isinstance(form, dict):
            for key, body in form.items():
                yield from self._part(form, key, body, (*path, key), about)

    def _part(
        self, form: JsonValue, key: str, body: JsonValue, path: Keys, about: tuple[str, ...]
    ) -> Iterator[RuleFault]:
        own = _listed(form)
        match key:
            case "calls" | "first":
                yield from self._tools(body, path)
            case "where":
                yield from self._arguments(body, own, path)
                yield from self._never_true_of_arguments(body, own, path)
                yield from self.rule(body, path, about)
            case "arguments":
                yield from self._arguments(body, about, path)
                yield from self._never_true_of_arguments(body, about, path)
                yield from self.rule(body, path, about)
            case "same" | "per" | "stating":
                first = tuple(one for one in form.get("first", ()) if isinstance(one, str))
                others = () if key == "per" or (key == "stating" and own) else first if "first" in form else about
                for index, argument in enumerate(body):
                    if isinstance(argument, str):
                        yield from self._argument(argument, (*own, *others), (*path, index))
                    else:
                        yield from self.rule(argument, (*path, index), about)
            case "result":
                yield from never_true(body, self._results(own), path, _whose(own))
                yield from self.rule(body, path, about)
            case "sum":
                yield from self._sum(body, path, own)
            case "only_if":
                for name, item in body.items():
                    inner = about if name in ABOUT else _listed(body) or about
                    yield from self._part(body, name, item, (*path, name), inner)
            case _:
                yield from self.rule(body, path, about)

    def _sum(self, of: JsonValue, path: Keys, tools: tuple[str, ...]) -> Iterator[RuleFault]:
        """Yield what is added up and is not there, or is never a number."""
        ((kind, way),) = summed(of).items()
        steps = way.split(".")
        if kind == REFERENCES[0]:
            yield from self._argument(steps[0], tools, path)
        else:
            yield from self._reference(of, path, tools)
        for name in tools:
            spec = self._toolset.get(name)
            known = spec.parameters.get("properties", {}) if spec else {}
            form = at_steps(steps[1:], form_of([known.get(steps[0])], spec.parameters)) if spec else ValueForm()
            form = form if kind == REFERENCES[0] else at_steps(steps, self._results(tools))
            if form.kinds and "number" not in form.kinds:
                yield path, f"{way} of {name!r} is {form.words}, and sum adds up numbers", ""
                return

    def _tools(self, listed: JsonValue, path: Keys) -> Iterator[RuleFault]:
        for index, name in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(name, str) and name not in self._names:
                message = f"the agent has no tool {name!r}; it has {listing(self._names)}"
                yield (*path, index), message, suggestion(name, self._names)

    def _arguments(self, given: JsonValue, tools: tuple[str, ...], path: Keys) -> Iterator[RuleFault]:
        for argument in given:
            yield from self._argument(argument, tools, (*path, argument))

    def _argument(self, argument: str, tools: tuple[str, ...], path: Keys) -> Iterator[RuleFault]:
        for name in tools:
            tool = self._toolset.get(name)
            allowed = tool.arguments if tool else None
            if allowed is not None and argument not in allowed:
                message = f"the tool {name!r} has no argument {argument!r}; it has {listing(sorted(allowed)) or 'none'}"
                yield path, message, suggestion(argument, allowed)
                return

    def _reference(self, form: JsonValue, path: Keys, about: tuple[str, ...]) -> Iterator[RuleFault]:
        if REFERENCES[0] in form and form[REFERENCES[0]] != ".":
            yield from self._argument(form[REFERENCES[0]].split(".")[0], about, (*path, REFERENCES[0]))
        if REFERENCES[1] in form and form[REFERENCES[1]] != ".":
            steps, where = form[REFERENCES[1]].split("."), (*path, REFERENCES[1])
            yield from missing_step(steps, self._results(about), where, _whose(about))
            yield from unreckonable(form, at_steps(steps, self._results(about)), where, _whose(about))

    def _never_true_of_arguments(self, given: JsonValue, tools: tuple[str, ...], path: Keys) -> Iterator[RuleFault]:
        """Yield values that no argument of these tools ever has."""
        specs = [spec for name in tools if (spec := self._toolset.get(name)) is not None]
        for argument, value in given.items():
            found = [
                list(never_true(value, form_of([known[argument]], spec.parameters), (*path, argument), _whose(tools)))
                for spec in specs
                if argument in (known := spec.parameters.get("properties", {}))
            ]
            if found and all(found):  # one tool of several for which it may be true is enough
                yield from found[0]

    def _results(self, tools: tuple[str, ...]) -> ValueForm:
        """Give what is known of the results of these tools: nothing, where one of them declares none."""
        declared = [spec.returns if (spec := self._toolset.get(name)) else None for name in tools]
        if len(declared) != 1 or declared[0] is None:
            return ValueForm()
        return form_of([declared[0]], declared[0])


def _whose(tools: tuple[str, ...]) -> str:
    return f"what {listing(map(repr, tools))} gives"


def _listed(form: JsonValue) -> tuple[str, ...]:
    calls = form.get("calls", ()) if isinstance(form, dict) else ()
    return tuple(calls) if isinstance(calls, list) else ()
