"""A model in the agent's roles: it plans, thinks, answers, judges, rewrites and chooses memories.

What it gives is validated like anything else from outside: a plan that is not valid goes back once with the reasons,
and is refused after that; a judgement that is none gives way to the heuristic one.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from inspect import getdoc, signature
from typing import Any, get_args

from pydantic import ValidationError

from notes.answering import Source
from notes.drafts import Draft, Part
from notes.library import Library, Tool
from notes.memory.strategy import Store, strategy
from notes.models.client import Client, ModelError
from notes.models.prompting import render
from notes.planning.executor import Reason, Result
from notes.planning.plan import Plan, PlanError, SubTask, read_plan
from notes.planning.planner import Situation
from notes.planning.synthesis import word
from notes.question import Question, query
from notes.reflection.evaluation import Candidate, Evaluation, heuristic
from notes.research import Research
from notes.roles import Roles
from notes.voice import Voice

MOST_CHARACTERS = 6_000
"""What results may take up in a prompt; small models have small windows."""

_CITED = re.compile(r"\[([^\[\]]+?\.(?:md|markdown)):(\d+)(?:\s*[-–]\s*(\d+))?\]", re.IGNORECASE)
_UNUSABLE = ("Error:",)


def model_roles(client: Client, tools: Mapping[str, Tool]) -> Roles:
    """Give the roles as a model plays them."""
    actor = _Actor(client, tools)
    return Roles(
        plan=actor.plan,
        reasoner=actor.reasoner,
        compose=actor.compose,
        write=word,
        judge=actor.judge,
        rewrite=actor.rewrite,
        choose_stores=actor.choose_stores,
        logged=True,
    )


class _Actor:
    def __init__(self, client: Client, tools: Mapping[str, Tool]) -> None:
        self._client = client
        self._tools = tools

    def plan(self, question: Question, situation: Situation) -> Plan:
        """Plan by model; raise `PlanError` where two attempts gave no valid plan."""
        problems = ""
        for attempt in range(2):
            prompt = render(
                "planner.v1",
                tools=_described(self._tools),
                recalled=situation.recalled or "nothing",
                question=question.text,
                problems=problems,
            )
            try:
                return read_plan(self._client.ask_json("planner", prompt), self._tools)
            except (PlanError, ModelError) as error:
                if attempt:
                    raise PlanError(str(error)) from error
                problems = f"\nYour last plan was refused; mend it:\n{error}"
        raise AssertionError("unreachable: the second attempt returns or raises")

    def reasoner(self, library: Library, research: Research, voice: Voice) -> Reason:
        """Give what does the steps without a tool."""
        return self._think

    def compose(self, question: Question, results: Mapping[int, Result], situation: Situation) -> tuple[Part, ...]:
        """Answer from everything that worked; what the model cites must have been among it."""
        asked = query(question.text)
        worked = [result for result in results.values() if not result.failed and result.text]
        if not worked:
            return (Part(query=asked),)
        prompt = render(
            "answer.v1",
            recalled=situation.recalled or "nothing",
            results=_shown(worked),
            question=question.text,
        )
        text = self._client.ask("answer", prompt)
        return (_answered(Part(query=asked), text, "\n".join(result.text for result in worked)),)

    def judge(self, draft: Draft, read_again: str) -> Evaluation:
        """Judge by model, by the heuristic where its answer is no judgement."""
        asked = "; ".join(part.query.text for part in draft.parts)
        candidate = Candidate(question=asked, answer=word(draft), sources=read_again)
        prompt = render("critic.v1", question=asked, answer=candidate.answer, sources=read_again[:MOST_CHARACTERS])
        try:
            data = self._client.ask_json("critic", prompt)
            return Evaluation.model_validate({**data, "method": "model"})
        except (ModelError, ValidationError, TypeError):
            return heuristic(candidate)

    def rewrite(self, draft: Draft, evaluation: Evaluation, sources: str) -> Draft:
        """Answer anew with what is wrong and what was found since."""
        parts = []
        for part in draft.parts:
            prompt = render(
                "refine.v1",
                issues="\n".join(evaluation.issues) or "none named",
                suggestions="\n".join(evaluation.suggestions) or "none",
                question=part.query.text,
                answer=part.said or "none",
                sources=sources[:MOST_CHARACTERS],
            )
            parts.append(_answered(part, self._client.ask("answer", prompt), sources))
        return draft.with_parts(tuple(parts))

    def choose_stores(self, message: str) -> frozenset[Store]:
        """Choose memories by model, by rule where it names none that exist."""
        known = get_args(Store)
        try:
            stores = self._client.ask_json("memory", render("memory.v1", message=message))["stores"]
            return frozenset(store for store in stores if store in known)
        except (ModelError, LookupError, TypeError):
            return strategy(message)

    def _think(self, task: SubTask, needed: Mapping[int, Result], attempt: int) -> tuple[str, Any]:
        prompt = render("thought.v1", step=task.description, results=_shown(needed.values()))
        try:
            return self._client.ask("planner", prompt), None
        except ModelError as error:
            return f"Error: {error}", None


def _described(tools: Mapping[str, Tool]) -> str:
    lines = []
    for name, tool in sorted(tools.items()):
        parameters = [str(item) for item in signature(tool).parameters.values() if item.name != "state"]
        summary = (getdoc(tool) or "").partition("\n\n")[0]
        lines.append(f"- {name}({', '.join(parameters)}): {summary}")
    return "\n".join(lines)


def _shown(results: Any) -> str:
    return "\n\n".join(f"Sub-task {r.task.id}, {r.task.description}:\n{r.text}" for r in results)[:MOST_CHARACTERS]


def _answered(part: Part, text: str, material: str) -> Part:
    """Keep a model's answer, with those of its citations that name a note it was shown."""
    cited = dict.fromkeys(
        Source(path=path, first=int(first), last=int(last or first))
        for path, first, last in _CITED.findall(text)
        if path in material
    )
    bare = " ".join(_CITED.sub("", text).split())
    usable = bare and not bare.startswith(_UNUSABLE)
    return replace(part, text=bare if usable else "", sources=tuple(cited))
