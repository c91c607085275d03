"""What the agent has to tell: amounts that its calls gave where a policy wants them told, and what the user asks for.

Only values that are told alike by everybody count: amounts, codes, names of things, states out of a fixed set. Dates
are left out, since each agent words them its own way.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_agentbench.generation._reading.kinds import humanize
from pytest_agentbench.generation.policies.events.acts import Proposal, Scene, describe
from pytest_agentbench.generation.policies.events.language import language_of, lexicon, stem
from pytest_agentbench.generation.policies.events.oracle import AMOUNT, Oracle
from pytest_agentbench.generation.policies.events.plans import Fact, Performed
from pytest_agentbench.generation.tools.probing.reading import parsed
from pytest_agentbench.generation.tools.world import Opened

_CODE = re.compile(r"(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{4,30}")
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d\d?:\d\d")


async def facts_of_run(
    oracle: Oracle, policies: Sequence[str], performed: Performed, scene: Scene, opened: Opened
) -> tuple[Fact, ...]:
    """Give what a right run tells; questions are about what the calls leave as it was."""
    found: list[Fact] = []
    for policy in policies:
        kinds = {one.kind: one for one in oracle.occasions.get(policy, ())}
        text = next((one.text for one in oracle.policies if one.id == policy), "")
        if "telling" in kinds:
            evidence = kinds["telling"].evidence
            found += [
                Fact(name=name, text=value, policy=policy, evidence=f"{evidence}, which is {value}")
                for name, value in _demanded(text, performed, scene)
            ]
    asked = next(
        (one for policy in policies for one in oracle.occasions.get(policy, ()) if one.kind == "sourced"), None
    )
    reads = [(act, call) for act, call in performed.acts if act.is_plain and oracle.by_name[act.tool].kind == "read"]
    if asked is not None or reads:
        fact = await _question(oracle, performed, opened, [call.tool for _, call in reads])
        if fact is not None:
            policy, evidence = (asked.policy, f"{asked.evidence}, and the user asks") if asked else ("", "")
            found.append(replace(fact, policy=policy, evidence=evidence))
    return tuple({(one.policy, one.text): one for one in found}.values())


def _demanded(text: str, performed: Performed, scene: Scene) -> Iterator[tuple[str, str]]:
    """Give what a policy that says *tell the amount* is about in calls that write: sums in answers, things by name."""
    words = _stems(text)
    amount = lexicon(language_of(text)).occasions["amount"].search(text)
    for call, answer in zip(performed.expected, performed.answers, strict=True):
        if not answer.wrote or call.tool in performed.failing:
            continue
        given = {str(value) for value in call.arguments.values()}
        if amount is not None:
            for number in AMOUNT.findall(answer.content):
                if number not in given and float(number.replace(",", ".")) > 0:
                    yield amount[0], number
        for name, value in call.arguments.items():
            table = scene.samples.schema.keyed_by(re.sub(r"^(?:new|old|to|from)_", "", name))
            own = _stems(humanize(name)) - {"id"}
            row = next((one for one in scene.of(table.name) if one.get(table.key[0]) == value), None) if table else None
            if table is None or row is None or not own or not own <= words:
                continue
            told = describe(row, table, scene.samples)
            if told != str(value) and told in answer.content:
                yield " ".join(sorted(own)), told


async def _question(oracle: Oracle, performed: Performed, opened: Opened, reads: Sequence[str]) -> Fact | None:
    """Choose something to ask for that a lookup of the run tells, and that is the same afterwards."""
    made = list(zip(performed.expected, performed.answers, strict=True))
    known = {str(value) for call in performed.expected for value in call.arguments.values()}
    known |= {one.text for _, call in performed.acts for one in call.said}
    fitting = [
        (call, answer)
        for call, answer in made
        if oracle.by_name[call.tool].kind == "read"
        and (not reads or call.tool in reads)
        and oracle.is_reader(call.tool)
    ]
    for call, answer in fitting:
        again = await opened.call(call.tool, call.arguments)
        before, after = parsed(answer.content), parsed(again.content)
        if not isinstance(before, Mapping) or not isinstance(after, Mapping):
            continue
        offered = [
            (name, value)
            for name, value in before.items()
            if after.get(name) == value and _is_askable(oracle, name, value) and str(value) not in known
        ]
        if offered:
            at = sum(map(ord, "".join(str(one) for one in call.arguments.values()))) % len(offered)
            name, value = offered[at]
            return Fact(name=humanize(name), text=_text(value), question=_asked(call, name), call=call)
    return None


def _is_askable(oracle: Oracle, name: str, value: Any) -> bool:
    if value is None or isinstance(value, bool | list | dict) or oracle.samples.schema.keyed_by(name) is not None:
        return False
    if isinstance(value, float):
        return value > 0
    if isinstance(value, int):
        return value > 9  # one digit stands by chance in too many texts
    if not isinstance(value, str) or _DATE.search(value):
        return False
    fixed = any(value in column.values for table in oracle.samples.schema.tables for column in table.columns)
    return bool(_CODE.fullmatch(value)) or (fixed and len(value) > 3)


def _asked(call: Proposal, name: str) -> str:
    key, value = next(iter(call.arguments.items()))
    noun = humanize(key).removesuffix(" id").removesuffix(" number")
    return f"{humanize(name)} of {noun} {value}"


def _text(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) else humanize(value) if "_" in str(value) else str(value)


def _stems(text: str) -> set[str]:
    return {stem(word) for word in re.findall(r"[^\W\d_]+", text.lower()) if len(word) > 2}
