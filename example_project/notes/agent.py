"""The notes agent: hears a message, finds out what it refers to, looks it up, checks the draft, answers.

It sees messages and tools, nothing else; what it does of this is a matter of `Settings`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from notes.critique import apart, critique
from notes.defending import Defence
from notes.drafts import Draft, Part
from notes.library import Library, Tool
from notes.memory.exchange import Exchange, Item
from notes.memory.fusion import render
from notes.memory.module import Memory
from notes.memory.referring import Resolved, subject_of
from notes.memory.strategy import RECALLING, is_recall
from notes.models.client import ModelError
from notes.models.costs import CostLog
from notes.planning.executor import Executor, Result
from notes.planning.plan import Plan, PlanError, SubTask
from notes.planning.planner import Situation
from notes.querying import query
from notes.question import Kind, Question, find_place, understand, without_instructions
from notes.reflection.evaluation import Reflected
from notes.reflection.loop import Outcome, Reflection
from notes.research import Research
from notes.roles import Roles
from notes.settings import Settings, read_settings
from notes.small_talk import small_talk
from notes.text import fold, key_words, stem, stems
from notes.voice import Voice
from notes.wording import is_french

_OWN_QUESTIONS = re.compile(r"\b(?:i|we) (?:\w+ )?ask|\bai-je demande|\bj'ai demande|\basked\b")


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What happened in one turn, for whoever looks into it: the plan, its results, the rounds of reflection."""

    question: Question
    draft: Draft
    plan: Plan | None = None
    results: tuple[Result, ...] = ()
    history: tuple[Reflected, ...] = ()

    @property
    def self_score(self) -> float | None:
        """The score the critic gave the answer; None without reflection, and where nothing was found to be scored."""
        if not self.draft.found:
            return None
        return max((entry.evaluation.score for entry in self.history), default=None)


def build(
    tools: Sequence[Tool], session_id: str = "", config: str | None = None, **settings: Any
) -> Callable[[str], dict[str, Any]]:
    """Build an agent for one conversation; `settings` are the fields of `Settings`, over those of the file `config`."""
    chosen = read_settings(config, **settings)
    log = CostLog(file=Path(chosen.costs) if chosen.costs else None, session=session_id)
    return NotesAgent(tools, chosen, log=log).message


class NotesAgent:
    """One conversation about one vault."""

    def __init__(
        self, tools: Sequence[Tool], settings: Settings, *, roles: Roles | None = None, log: CostLog | None = None
    ) -> None:
        self.settings = settings
        self.roles = roles or Roles()
        self.log = log or CostLog()
        self.library = Library.of(tools, remember=settings.memory)
        self.memory = Memory.of(settings, self.roles.choose_stores) if settings.memory else None
        self.turns: list[Turn] = []
        self._research = Research(self.library, sections=settings.reading == "section")
        self._reflection = (
            Reflection(self.library, self._research, settings, self._judged, self.roles.rewrite)
            if settings.reflection
            else None
        )
        self._defence = Defence(self.library, self._research, self._reflection) if self._reflection else None
        self._french = False

    def message(self, message: str) -> dict[str, Any]:
        """Answer one message as an assistant's message with the conversation's figures so far."""
        return {"role": "assistant", "content": self.reply(message), "metrics": self.metrics()}

    def metrics(self) -> dict[str, float]:
        """Give tokens and cost so far, and with reflection the critic's score of the weakest answer."""
        given, got = self.settings.price
        calls = self.log.calls
        cost = sum(call.prompt_tokens * given + call.completion_tokens * got for call in calls) / 1_000_000
        scores = [turn.self_score for turn in self.turns if turn.self_score is not None]
        tokens = sum(call.prompt_tokens + call.completion_tokens for call in calls)
        return {"tokens": tokens, "cost_usd": cost, **({"self_score": min(scores)} if scores else {})}

    def reply(self, message: str) -> str:
        """Answer one message."""
        self.library.begin_turn()
        self._french = is_french(message, default=self._french)
        answer = self._answered(message, Voice(french=self._french))
        if self.memory:
            self.memory.hear("user", message)
            self.memory.hear("assistant", answer)
        return answer

    def _answered(self, message: str, voice: Voice) -> str:
        said = self._criticised(message, voice) or self._recalled(message, voice) or self._chatted(message, voice)
        if said:
            return said
        try:
            return self._researched(message, voice)
        except PlanError as error:
            return voice.say("no_plan", reasons="; ".join(str(error).splitlines()))
        except ModelError as error:
            return voice.say("no_model", reason=str(error))

    def _researched(self, message: str, voice: Voice) -> str:
        bare = without_instructions(message)
        resolved = self.memory.resolve(bare) if self.memory and not self.roles.by_model else Resolved(text=bare)
        if resolved.item and self.memory and self.memory.last:
            return self._named(message, resolved, self.memory.last)
        turn = self._worked(resolved)
        if not turn.draft.found and (resolved.scope or resolved.context):
            alone = self._worked(Resolved(text=resolved.text, favour=resolved.favour[:1]))
            turn = alone if alone.draft.found else turn
        turn, outcome = self._reflected(turn)
        self.turns.append(turn)
        answer = self._worded(turn.draft)
        if outcome and not outcome.verified:
            answer = f"{answer} {voice.say('unverified', reasons='; '.join(outcome.reasons))}"
        self._keep(message, resolved, turn, answer)
        return answer

    def _worked(self, resolved: Resolved) -> Turn:
        situation = Situation(
            sections=self._research.sections,
            context=resolved.context,
            favour=resolved.favour,
            scope=resolved.scope,
            recalled=render(self.memory.recall(resolved.text)) if self.memory and self.roles.by_model else "",
        )
        if not self.settings.planner:
            return self._looked_up(resolved.text, situation)
        question = understand(resolved.text)
        since = self.log.clock()
        plan = self.roles.plan(question, situation)
        self._log("planner", question.text, plan.model_dump_json(), since)
        question = replace(question, text=plan.goal)
        executor = Executor(
            library=self.library,
            reason=self.roles.reasoner(self.library, self._research, Voice(french=self._french), plan.goal),
            mode=self.settings.mode,
            retries=self.settings.retries,
            workers=self.settings.workers,
        )
        results = executor.carry_out(plan)
        parts = self.roles.compose(question, results, situation)
        draft = Draft(kind=question.kind, parts=parts, french=self._french, cite_lines=True)
        return Turn(question=question, draft=draft, plan=plan, results=tuple(results.values()))

    def _looked_up(self, text: str, situation: Situation) -> Turn:
        """Take the message for one search."""
        searched = query(text, context=situation.context, scope=situation.scope)
        part = self._research.look_up(searched, favour=situation.favour)
        question = Question(text=text, kind=Kind.FACT, parts=(text,))
        parts: tuple[Part, ...] = (part,)
        if self.roles.by_model:
            seen = f"{part.answer.source}\n{part.answer.text}" if part.answer else ""
            looked = Result(task=SubTask(id=1, description="Search and read once"), text=seen)
            parts = self.roles.compose(question, {1: looked}, situation)
        draft = Draft(kind=Kind.FACT, parts=parts, french=self._french, cite_lines=self.roles.by_model)
        return Turn(question=question, draft=draft)

    def _reflected(self, turn: Turn) -> tuple[Turn, Outcome | None]:
        if self._reflection is None:
            return turn, None
        outcome = self._reflection.refine(turn.draft)
        return replace(turn, draft=outcome.draft, history=outcome.history), outcome

    def _judged(self, draft: Draft, read_again: str) -> Any:
        since = self.log.clock()
        evaluation = self.roles.judge(draft, read_again)
        given = f"{read_again}\n{self.roles.write(draft) if not self.roles.by_model else ''}"
        self._log("critic", given, evaluation.model_dump_json(), since, notes=f"score={evaluation.score:.2f}")
        return evaluation

    def _worded(self, draft: Draft) -> str:
        since = self.log.clock()
        answer = self.roles.write(draft)
        self._log("answer", "\n".join(self.library.shown()), answer, since)
        return answer

    def _criticised(self, message: str, voice: Voice) -> str:
        """Answer a message about the last answer, where reflection or memory still know it."""
        doubted, asked = apart(message)
        if asked:
            said = self._criticised(doubted, voice)
            return f"{said} {self._researched(asked, voice)}" if said else ""
        raised = critique(message)
        if raised is None or not (self._defence or self.memory):
            return ""
        if self._defence:
            if not self.turns:
                return ""
            last = self.turns[-1]
            answer, draft, history = self._defence.answer(raised, last.draft, voice)
            self.turns.append(Turn(question=last.question, draft=draft, history=history or last.history))
            return answer
        known = self.memory.last if self.memory else None
        return voice.say("repeated", text=known.answer) if known else ""

    def _recalled(self, message: str, voice: Voice) -> str:
        """Answer what was said before from memory; a model reads that before it plans."""
        if self.memory is None or self.roles.by_model or not is_recall(message):
            return ""
        since = self.log.clock()
        number = find_place(fold(message))
        if number and self.memory.exchanges:
            exchange = self.memory.exchanges[min(number - 1, len(self.memory.exchanges) - 1) if number > 0 else -1]
            told = f"{exchange.asked} / {exchange.answer}"
            self._log("memory", message, told, since)
            return voice.say("recall", text=told)
        names = [name for name in key_words(message) if not is_recall(name)]
        recalled = [one for one in self.memory.recall(message) if fold(one.text) != fold(message)]
        if _OWN_QUESTIONS.search(fold(message)):
            recalled = [one for one in recalled if one.role == "user"]
        asked_for = [name for name in names if name not in RECALLING]
        about = [one for one in recalled if not asked_for or set(map(stem, asked_for)) & set(stems(one.text))]
        self._log("memory", message, render(recalled), since)
        if not about:
            return voice.say("no_recall", subject=", ".join(asked_for) or "–")
        told = render(about).replace("\n", " / ")
        return voice.say("recall", text=told)

    def _chatted(self, message: str, voice: Voice) -> str:
        phrase = small_talk(message)
        if phrase == "unclear" and self.memory is not None and self.memory.last is not None:
            return ""
        return voice.say(phrase) if phrase else ""

    def _named(self, message: str, resolved: Resolved, last: Exchange) -> str:
        """Give the thing that the last answer named, from memory."""
        item = resolved.item or Item(text="")
        source = item.source or (last.sources[0] if last.sources else None)
        answer = f"{item.text.rstrip('.')}. {source or ''}".strip()
        if self.memory:
            sources = (source,) if source else last.sources
            exchange = Exchange(
                asked=message,
                resolved=f"{last.subject} {item.text}",
                answer=answer,
                subject=item.text,
                sources=sources,
                items=last.items,
            )
            self.memory.note(exchange, french=self._french)
        return answer

    def _keep(self, message: str, resolved: Resolved, turn: Turn, answer: str) -> None:
        if self.memory is None:
            return
        subject = resolved.context or subject_of(turn.question.text)
        items, are_sides = _items(turn)
        exchange = Exchange(
            asked=message,
            resolved=f"{turn.question.text.rstrip(' ?!.')} ({resolved.context})?"
            if resolved.context
            else turn.question.text,
            answer=answer,
            subject=subject,
            sources=turn.draft.sources,
            items=items,
            are_sides=are_sides,
            found=bool(turn.draft.found),
        )
        self.memory.note(exchange, french=self._french)

    def _log(self, role: str, given: str, gave: str, since: float, notes: str = "") -> None:
        if not self.roles.by_model:
            self.log.rules(role, given, gave, since=since, notes=notes)


def _items(turn: Turn) -> tuple[tuple[Item, ...], bool]:
    """Give what an answer named, in order: the items of its list, the sides of its comparison, its parts."""
    found = turn.draft.found
    if turn.question.kind is Kind.COMPARE and len(turn.draft.parts) > 1:
        return tuple(Item(text=part.label) for part in turn.draft.parts), True
    if len(found) == 1 and found[0].answer and found[0].answer.listed:
        path = found[0].answer.source
        return tuple(Item(text=one.text, source=path.at(one.line, one.end)) for one in found[0].answer.pieces), False
    if turn.question.kind is Kind.WHERE and found:
        return tuple(Item(text=source.path, source=source) for source in found[0].sources), False
    return (), False
