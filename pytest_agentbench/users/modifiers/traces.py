"""The trace that each behaviour leaves in a conversation."""

import re
from statistics import median

from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.transcript import CallRecord
from pytest_agentbench.core.values import JsonValue, to_json
from pytest_agentbench.users.asked import asked
from pytest_agentbench.users.confirmation import content_words
from pytest_agentbench.users.heard import offers_more
from pytest_agentbench.users.kinds import ANY_ID, kinds_in
from pytest_agentbench.users.known_info import text_of
from pytest_agentbench.users.modifiers.behaviour import Behaviour
from pytest_agentbench.users.modifiers.spelling import mentions, normal
from pytest_agentbench.users.modifiers.talk import Said, Talk, about
from pytest_agentbench.users.modifiers.wording import wording
from pytest_agentbench.users.segments import segments

_SHORT = 30
"""Words that half of an impatient user's messages stay below or at."""

_ALIKE = (
    frozenset({"user_id", "customer_id", "account_id", ANY_ID}),
    frozenset({"reservation_id", "order_id", "case_id", "ticket_id", ANY_ID}),
)
"""Identifiers that people name by each other's nouns."""


def forgot(behaviour: Behaviour, talk: Talk, scenario: Scenario) -> bool:  # noqa: ARG001 - all traces take one
    """Tell whether the user said that it lacks the identifier, and never gave it before the agent named it."""
    for said in talk.said:
        given = [value for value in behaviour.forgets if mentions(said.text, value)]
        if given and not all(mentions(talk.agent_said_before(said.index), value) for value in given):
            return False
    return any(_lacks(behaviour.kind, said) for said in talk.said)


def _lacks(kind: str, said: Said) -> bool:
    wanted = asked(said.heard, (kind,)).kinds if said.heard else ()
    parts = [part.text for part in segments(said.text)]
    for part in parts:
        if not _lacking(part):
            continue
        named = kinds_in(part, (kind,))
        if _is_kind(kind, named) or (not named and _is_kind(kind, wanted) and _is_bare(part)):
            return True
    return False


def _is_bare(part: str) -> bool:
    """Tell whether a sentence that says something is lacking does not name what: "I don't have it at hand"."""
    tails = [re.split(r"[,;.!?—–]|\bbut\b|\bmais\b", part[found.end() :])[0] for found in _lacking(part)]
    return any(not content_words(wording("fillers").sub(" ", tail)) for tail in tails)


def _lacking(part: str) -> list[re.Match[str]]:
    return list(wording("lacking").finditer(part))


def _is_kind(kind: str, named: tuple[str, ...]) -> bool:
    alike = frozenset({kind}).union(*(group for group in _ALIKE if kind in group))
    return bool(alike & set(named))


def was_wrong_first(behaviour: Behaviour, talk: Talk, scenario: Scenario) -> bool:  # noqa: ARG001 - all traces take one
    """Tell whether the user gave the wrong value in an earlier message than the right one, and then the right one."""
    return all(_later(talk, swap.first, swap.right) is not None for swap in behaviour.wrong)


def changed_mind(behaviour: Behaviour, talk: Talk, scenario: Scenario) -> bool:
    """Tell whether the user wished for one option, then for the scenario's own before the first was carried out."""
    names = {call.name for call in scenario.expected_calls}
    for swap in behaviour.wrong:
        found = _later(talk, swap.first, swap.right)
        if found is None:
            return False
        start, end = found
        if mentions(end.text, swap.first) and not wording("changing").search(end.text):
            return False
        if any(_carries_out(record, swap.first, names) for record in talk.calls_between(start.index, end.index)):
            return False
    return True


def _later(talk: Talk, first: str, right: str) -> tuple[Said, Said] | None:
    """Give the first messages that say `first` and `right`; None where they are not said, in this order, apart."""
    start = next((said for said in talk.said if mentions(said.text, first)), None)
    end = next((said for said in talk.said if mentions(said.text, right)), None)
    return (start, end) if start and end and start.index < end.index else None


def _carries_out(record: CallRecord, value: str, expected: set[str]) -> bool:
    wrote = record.result.wrote if record.result else None
    changes = record.call.name in expected if wrote is None else wrote
    return changes and _holds(to_json(record.call.arguments), normal(value))


def _holds(value: JsonValue, wanted: str) -> bool:
    if isinstance(value, dict):
        return any(_holds(item, wanted) for item in value.values())
    if isinstance(value, list):
        return any(_holds(item, wanted) for item in value)
    return normal(text_of(value)) == wanted


def added_intent(behaviour: Behaviour, talk: Talk, scenario: Scenario) -> bool:  # noqa: ARG001 - all traces take one
    """Tell whether the intent first came in reply to the agent's message N or later, or to one that offers to close."""
    first = next((said for said in talk.said if about(said.text, behaviour.intent)), None)
    if first is None:
        return False
    return first.after >= behaviour.from_message or (first is not talk.said[0] and offers_more(first.heard))


def pressed(behaviour: Behaviour, talk: Talk, scenario: Scenario) -> bool:  # noqa: ARG001 - all traces take these
    """Tell whether the user pressed for speed and kept its messages short."""
    if not talk.said:
        return False
    words = median(len(said.text.split()) for said in talk.said)
    return words <= _SHORT and any(_presses(said.text) for said in talk.said)


def _presses(text: str) -> bool:
    return any(
        wording("pressing").search(wording("patient").sub(" ", part.text)) is not None for part in segments(text)
    )


def asked_beside(behaviour: Behaviour, talk: Talk, scenario: Scenario) -> bool:  # noqa: ARG001 - all traces take one
    """Tell whether the question was asked once, and another message of the user came after it."""
    asking = [said for said in talk.said if about(wording("thanking").sub(" ", said.text), behaviour.ask)]
    return len(asking) == 1 and asking[0] is not talk.said[-1]
