"""Who plays the agent's roles: rules unless a model was asked for; the agent is the same either way."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from notes.drafts import Draft, Part
from notes.library import Library
from notes.memory.strategy import Store, strategy
from notes.planning.executor import Reason, Result
from notes.planning.plan import Plan
from notes.planning.planner import Situation, make_plan
from notes.planning.reasoning import RuleReasoner
from notes.planning.synthesis import word
from notes.question import Question
from notes.reflection.critic import judge
from notes.reflection.evaluation import Evaluation
from notes.research import Research
from notes.voice import Voice


def put_together(_: Question, results: Mapping[int, Result], __: Situation) -> tuple[Part, ...]:
    """Give the parts that the last step of a rule-made plan put together."""
    last = results[max(results)]
    if isinstance(last.value, tuple):
        return last.value
    return (last.value,) if last.value is not None else ()


@dataclass(frozen=True, kw_only=True)
class Roles:
    """What is done by rule or by model; the defaults are the rules."""

    plan: Callable[[Question, Situation], Plan] = make_plan
    reasoner: Callable[[Library, Research, Voice, str], Reason] = RuleReasoner
    """Gives what does a plan's steps of thought, from the agent's hands, its language and the plan's goal."""

    compose: Callable[[Question, Mapping[int, Result], Situation], tuple[Part, ...]] = put_together
    write: Callable[[Draft], str] = word
    judge: Callable[[Draft, str], Evaluation] = judge
    rewrite: Callable[[Draft, Evaluation, str], Draft] | None = None
    """Words a refined answer anew; rules need none, their words are the notes' own."""

    choose_stores: Callable[[str, str], frozenset[Store]] = strategy
    by_model: bool = False
    """Whether a model plays them: it writes its own rows of the cost log, and reads what was said before instead of
    having it filled into the question."""
