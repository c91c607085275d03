"""Whether a conversation is of the situation that it is said to be of: its tool log and state against the gold log.

The check reads structure alone: which calls were made and what they gave, which values were told, how the state ended.
It knows no move and no fault, and no word of any language. What it refuses is not kept, so that a label is never only
what was intended.
"""

from collections import Counter
from collections.abc import Sequence

from pytest_agentbench.calibration.dataset import data, situations
from pytest_agentbench.calibration.situation_player import Line, Play, facts_of
from pytest_agentbench.checks.judges.signals import contradictions
from pytest_agentbench.core.json_values import decoded
from pytest_agentbench.core.text import flat
from pytest_agentbench.core.transcript import CallRecord
from pytest_agentbench.environment.diff import diff
from pytest_agentbench.validation.mutants import mark_of
from pytest_agentbench.validation.world_values import scalars

_EMPTY = frozenset({"", "{}", "[]", "null", "None"})
_SATISFIED = "thanks"
"""The one phrase by which a user closes content."""

_FEWEST_LINES = 5
"""Lines of a conversation in which nothing is asked for first."""


def check(play: Play, situation: str) -> str | None:
    """Say what speaks against `situation`, or None; raise `KeyError` where there is no such situation."""
    one, found = situations()[situation], _conditions(play)
    wanted = ["content" if one.user == "satisfied" else "not content", *one.holds]
    wrong = (name for name in wanted if found[name.removeprefix("not ")] is name.startswith("not "))
    return next((data("situations")["problems"][name] for name in wrong), None)


def invented(play: Play) -> list[str]:
    """Give the values told at the end that no call, answer or user turn holds."""
    calls = play.transcript.trajectory
    said = [value for line in play.lines if line.by == "user" for value in line.said]
    known = flat(" ".join([*said, *(mark_of(one.call) for one in calls), *(one.answer for one in calls)]))
    return [fact.text for fact in _last(play, "agent").told if flat(fact.text) not in known]


def gives_nothing(calls: Sequence[CallRecord]) -> bool:
    """Whether some call gave nothing, or failed."""
    return any(one.failed or one.answer.strip() in _EMPTY for one in calls)


def _conditions(play: Play) -> dict[str, bool]:
    """Give the conditions that `situations.toml` names: of what is said, of calls and state against the gold log."""
    scene, calls = play.scene, play.transcript.trajectory
    user, agent = _last(play, "user"), _last(play, "agent")
    first, *later = [set(line.said) for line in play.lines if line.by == "user"]
    right, made = list(map(mark_of, scene.calls)), [mark_of(one.call) for one in calls]
    gold = dict(zip(right, (one.result.content for one in scene.heard), strict=True))
    told, answered = flat(" ".join(gold.values())), flat(" ".join(one.answer for one in calls))
    held = [(one.answer, gold.get(mark, one.answer)) for mark, one in zip(made, calls, strict=True)]
    struck = [(given, wanted) for given, wanted in held if given != wanted]
    others = {one.call.name for one in calls} - {call.name for call in scene.calls}
    extra = (Counter(made) - Counter(right)).total()
    changed, gold_changed = (
        None if scene.initial is None or final is None else bool(diff(scene.initial, final))
        for final in (play.final, scene.final)
    )
    nothing = gives_nothing(calls)
    return {
        "content": user.kind == _SATISFIED,
        "faithful": not invented(play),
        "tells": bool(agent.told),
        "dump": agent.is_fixed,
        "logs": all(one.answer[:100] in agent.text for one in calls),
        "gate": len(play.lines) > _FEWEST_LINES,
        "said again": any(first & values for values in later),
        "corrected": any(value in told and value not in answered for value in map(flat, user.said)),
        "works": not nothing,
        "fails": any(one.failed for one in calls),
        "gold calls": made == right,
        "gold answers": not struck,
        "cut": any(len(facts_of(one)) < len(facts_of(all_)) or len(one) < len(all_) for one, all_ in struck),
        "no target": right[scene.target] not in made,
        "all made": set(right) <= set(made),
        "other tool": bool(others),
        "own values": not others and made != right,
        "supplied": _is_supplied(play),
        "extra call": extra > 0,
        "extra calls": extra > 1,
        "effect": changed == gold_changed,
        "gold effect": gold_changed is True,
        "no effect": changed is False,
        "contradicted": any(contradictions(calls, scene.initial)),
        "visible": nothing or any(map(_is_of_another, calls)),
    }


def _is_of_another(one: CallRecord) -> bool:
    """Whether an answer shows that it is about something else: another value under the name of an argument."""
    answer, given = decoded(one.answer), one.call.arguments
    return isinstance(answer, dict) and any(flat(answer[name]) != flat(given[name]) for name in answer.keys() & given)


def _is_supplied(play: Play) -> bool:
    """Whether every argument was said by the user or returned by an earlier call."""
    known = flat(" ".join(value for line in play.lines for value in line.said))
    for one in play.transcript.trajectory:
        if any(flat(value) not in known for _, value in scalars(one.call.arguments)):
            return False
        known += flat(one.answer)
    return True


def _last(play: Play, by: str) -> Line:
    return [line for line in play.lines if line.by == by][-1]
