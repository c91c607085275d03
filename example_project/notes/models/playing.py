"""A model in the agent's roles: it plans, thinks, answers, judges, rewrites and chooses memories.

What it gives is validated like anything else from outside: a plan that is not valid goes back once with the reasons,
and is refused after that; a judgement that is none gives way to the heuristic one.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import getdoc, signature
from typing import Any, get_args

from pydantic import ValidationError

from notes.drafts import Draft, Part
from notes.library import Library, Tool
from notes.memory.strategy import Store, strategy
from notes.models.citing import kept
from notes.models.client import Client, ModelError, NoAnswerError
from notes.models.prompting import render
from notes.planning.executor import Reason, Result
from notes.planning.plan import Plan, PlanError, SubTask, read_plan
from notes.planning.planner import Situation
from notes.planning.synthesis import word
from notes.querying import query
from notes.question import Question
from notes.reflection.evaluation import Candidate, Evaluation, heuristic
from notes.research import Research
from notes.roles import Roles
from notes.voice import Voice

MOST_CHARACTERS = 6_000
"""What results may take up in a prompt; small models have small windows."""


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
        by_model=True,
    )


class _Actor:
    def __init__(self, client: Client, tools: Mapping[str, Tool]) -> None:
        self._client = client
        self._tools = tools

    def plan(self, question: Question, situation: Situation) -> Plan:
        """Plan by model; raise `PlanError` where two attempts gave no valid plan, `NoAnswerError` where none came."""
        problems = ""
        for attempt in range(2):
            prompt = render(
                "planner.v1",
                tools=_described(self._tools),
                recalled=situation.recalled or "nothing",
                question=question.text,
                problems=problems,
            )
            said: object = "no JSON"
            try:
                said = self._client.ask_json("planner", prompt)
                return read_plan(said, self._tools)
            except NoAnswerError:
                raise
            except (PlanError, ModelError) as error:
                if attempt:
                    raise PlanError(str(error)) from error
                problems = render("refused.v1", plan=json.dumps(said, ensure_ascii=False), reasons=str(error))
        raise AssertionError("unreachable: the second attempt returns or raises")

    def reasoner(self, library: Library, research: Research, voice: Voice, goal: str) -> Reason:
        """Give what does the steps without a tool."""

        def think(task: SubTask, needed: Mapping[int, Result], _attempt: int) -> tuple[str, Any]:
            if not needed:
                return "", None  # what needs no result says that there is nothing to look up
            prompt = render("thought.v1", goal=goal, step=task.description, results=_shown(needed.values()))
            try:
                return self._client.ask("planner", prompt), None
            except ModelError as error:
                return f"Error: {error}", None

        return think

    def compose(self, question: Question, results: Mapping[int, Result], situation: Situation) -> tuple[Part, ...]:
        """Answer from everything that worked and what was said before; only what the model was shown is cited."""
        asked = query(question.text)
        worked = [result for result in results.values() if not result.failed and result.text]
        if not worked and not situation.recalled:
            return (Part(query=asked),)
        prompt = render(
            "answer.v1",
            recalled=situation.recalled or "nothing",
            results=_shown(worked) or "none",
            question=question.text,
        )
        seen = tuple(filter(None, (situation.recalled, *(result.text for result in worked))))
        text, sources = kept(self._client.ask("answer", prompt), seen)
        return (Part(query=asked, text=text, sources=sources, seen=seen),)

    def judge(self, draft: Draft, read_again: str) -> Evaluation:
        """Judge by model, by the heuristic where its answer is no judgement."""
        asked = "; ".join(part.query.text for part in draft.parts)
        candidate = Candidate(question=asked, answer=word(draft), sources=read_again)
        prompt = render(
            "critic.v1",
            question=asked,
            answer=candidate.answer,
            cited=_cut(read_again, MOST_CHARACTERS) or "none",
            sources=_fitted([text for part in draft.parts for text in part.seen]) or "nothing",
        )
        try:
            data = self._client.ask_json("critic", prompt)
            return Evaluation.model_validate({**data, "method": "model"})
        except (ModelError, ValidationError, TypeError):
            return heuristic(candidate)

    def rewrite(self, draft: Draft, evaluation: Evaluation, sources: str) -> Draft:
        """Answer anew with what is wrong and what was found since."""
        parts = []
        for part in draft.parts:
            seen = tuple(filter(None, (sources, *part.seen)))
            prompt = render(
                "refine.v1",
                issues="\n".join(evaluation.issues) or "none named",
                suggestions="\n".join(evaluation.suggestions) or "none",
                question=part.query.text,
                answer=part.said or "none",
                sources=_fitted(seen),
            )
            text, cited = kept(self._client.ask("answer", prompt), seen)
            parts.append(replace(part, text=text, sources=cited, seen=seen))
        return draft.with_parts(tuple(parts))

    def choose_stores(self, message: str, recent: str) -> frozenset[Store]:
        """Choose memories by model, by rule where it names none that exist."""
        known = get_args(Store)
        try:
            stores = self._client.ask_json("memory", render("memory.v1", message=message, recent=recent))["stores"]
            return frozenset(store for store in stores if store in known)
        except (ModelError, LookupError, TypeError):
            return strategy(message)


def _described(tools: Mapping[str, Tool]) -> str:
    lines = []
    for name, tool in sorted(tools.items()):
        parameters = [str(item) for item in signature(tool).parameters.values() if item.name != "state"]
        summary = (getdoc(tool) or "").partition("\n\n")[0]
        lines.append(f"- {name}({', '.join(parameters)}): {summary}")
    return "\n".join(lines)


def _shown(results: Iterable[Result]) -> str:
    return _fitted([f"Sub-task {one.task.id}, {one.task.description}:\n{one.text}" for one in results])


def _fitted(texts: Sequence[str]) -> str:
    """Join texts for a prompt; where they are too long each has its share of it, and what short ones leave."""
    left, kept_of = MOST_CHARACTERS, {}
    for done, (number, text) in enumerate(sorted(enumerate(texts), key=lambda item: len(item[1]))):
        kept_of[number] = _cut(text, left // (len(texts) - done))
        left -= len(kept_of[number])
    return "\n\n".join(kept_of[number] for number in range(len(texts)))


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return text[:most].rpartition("\n")[0] + "\n… (cut)"
