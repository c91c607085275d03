"""What is wrong with the rule of a policy: its form, and the tools it names.

A rule about a tool that nobody has would never be exercised.
"""

from collections.abc import Iterator

from pytest_agentbench.core.matchers import matcher_misfits
from pytest_agentbench.core.misfit import Keys, Misfit
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.values import to_json
from pytest_agentbench.suites.schema_suite import RULE
from pytest_agentbench.suites.shape import misfits


def rule_misfits(rule: object, path: Keys = ()) -> Iterator[Misfit]:
    """Yield what keeps a rule from being well-formed, matchers included; `path` leads to the rule."""
    form = to_json(rule)
    wrong = list(misfits(form, RULE, path=path))
    yield from wrong
    if not wrong:
        yield from matcher_misfits(form.get("never", {}).get("where", {}), (*path, "never", "where"))


def rule_faults(policy: Policy, toolset: Toolset) -> Iterator[tuple[Keys, str, str]]:
    """Yield (path inside the policy, message, hint) for tools and arguments that a well-formed rule names in vain."""
    names = sorted(spec.name for spec in toolset.of("assistant"))
    if policy.rule is None or not names:
        return
    ((operator, body),) = policy.rule.items()
    for key in ("calls", "first"):
        listed = body.get(key, ())
        for index, name in enumerate(listed if isinstance(listed, list) else ()):
            if name not in names:
                message = f"the agent has no tool {name!r}; it has {listing(names)}"
                yield ("rule", operator, key, index), message, suggestion(name, names)
    calls = body.get("calls", ())
    for name in calls if isinstance(calls, list) else ():
        tool = toolset.get(name)
        allowed = tool.arguments if tool else None
        if allowed is None:
            continue
        for argument in body.get("where", {}):
            if argument not in allowed:
                message = f"the tool {name!r} has no argument {argument!r}; it has {listing(sorted(allowed)) or 'none'}"
                yield ("rule", operator, "where", argument), message, suggestion(argument, allowed)
