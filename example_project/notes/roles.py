"""Who plays the agent's roles: rules unless a model was asked for; the agent is the same either way."""

from collections.abc import Callable
from dataclasses import dataclass

from notes.drafts import Draft
from notes.memory.strategy import Store, strategy
from notes.planning.plan import Plan
from notes.planning.planner import Situation, make_plan
from notes.planning.synthesis import word
from notes.question import Question
from notes.reflection.critic import judge
from notes.reflection.evaluation import Evaluation


@dataclass(frozen=True, kw_only=True)
class Roles:
    """The four roles; `player` names who plays them in the cost log's rows that rules write."""

    plan: Callable[[Question, Situation], Plan] = make_plan
    write: Callable[[Draft], str] = word
    judge: Callable[[Draft, str], Evaluation] = judge
    choose_stores: Callable[[str], frozenset[Store]] = strategy
    logged: bool = False
    """Whether the roles log their own calls."""
