"""The notes agent: it recalls, plans, looks up, answers, and judges its own answer.

It sees messages and tools, nothing else. What it does of all this is a matter of `Settings`. One language model plays
every role.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from notes.costs import CostLog
from notes.memory import Memory, Profile
from notes.model import Client, NoAnswerError, Wrong
from notes.planning import Executor, Mode, Plan, PlanError, Planner, Result, SubTask, Tool, Toolbox, shown
from notes.reflection import Draft, Reflection, Round, cited, parsed

MOST_READ = 3
"""Notes that the agent without a planner reads for a question."""

MOST_SOURCES = 24_000
"""Characters of what was read that a prompt shows at most."""


class SettingsError(ValueError):
    """A setting is unknown or has an impossible value; the message names it and what is allowed."""


class Settings(BaseModel):
    """How the agent works; the defaults are the full agent."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    model: str = "language-model"
    planner: bool = True
    """False: the model names notes, and these are read whole."""
    memory: bool = True
    """False: every message stands alone."""
    reflection: bool = True
    """False: the first draft is the answer."""
    mode: Mode = "flexible"
    """strict: a plan stops at its first failed sub-task."""
    retries: Annotated[int, Field(ge=0)] = 2
    """How often a plan that is not valid is asked for again, and a tool that raises is called again (paper §4.3.2)."""
    threshold: float = 0.7
    """Score above which a draft is accepted (paper §6.2)."""
    rounds: Annotated[int, Field(ge=1)] = 3
    """Drafts that are judged at most (paper §8.1)."""
    memory_tokens: int = 800
    """What memory may add to a prompt (paper §7.3)."""
    seconds: float = 1_800
    """How long the model may take for an answer: a small one on a CPU, or a queue before it, takes its time."""
    costs: str = ""
    """CSV file that gets a row for each call of the model."""
    profile: str = ""
    """JSON file that keeps the user's interests."""


class Choice(BaseModel):
    """The notes that the agent without a planner wants to read."""

    notes: list[str] = []


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What happened in one turn, for whoever looks into it."""

    draft: Draft
    plan: Plan | None = None
    results: tuple[Result, ...] = ()
    history: tuple[Round, ...] = ()
    verified: bool | None = None
    """None where nobody judged the answer."""


@dataclass
class NotesAgent:
    """One conversation about one vault."""

    tools: Sequence[Tool]
    settings: Settings
    client: Client
    turns: list[Turn] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Open the parts that the settings ask for."""
        chosen = self.settings
        self.toolbox = Toolbox({tool.__name__: tool for tool in self.tools}, remember=chosen.memory)
        self.planner = Planner(client=self.client, toolbox=self.toolbox, retries=chosen.retries)
        self.executor = Executor(client=self.client, toolbox=self.toolbox, retries=chosen.retries, mode=chosen.mode)
        self.reflection = Reflection(client=self.client, threshold=chosen.threshold, rounds=chosen.rounds)
        self.memory: Memory | None = None
        if chosen.memory:
            profile = Profile.load(Path(chosen.profile) if chosen.profile else None)
            self.memory = Memory(client=self.client, budget=chosen.memory_tokens, profile=profile)

    def reply(self, message: str) -> dict[str, Any]:
        """Answer one message: the text, the same as a typed answer, and the conversation's figures so far."""
        recalled = self.memory.recall(message, self.toolbox.read) if self.memory else ""
        try:
            turn = self._turn(message, recalled)
        except (PlanError, NoAnswerError) as error:
            turn = Turn(draft=Draft(answer=f"I cannot answer that now: {error}", found=False))
        self.turns.append(turn)
        draft, text = turn.draft, cited(turn.draft)
        if turn.verified is False:
            issues = "; ".join(turn.history[-1].issues) or "the score stayed low"
            text += f"\n\nNot verified: {issues}. Please check the notes, or ask in other words."
        if self.memory:
            self.memory.hear("user", message, draft.concepts)
            self.memory.hear("assistant", text, draft.concepts)
            self.memory.profile.note(draft.sources)
        output = {"answer": draft.answer, "found": draft.found, "sources": draft.sources, "verified": turn.verified}
        return {"role": "assistant", "content": text, "output": output, "metrics": self.metrics()}

    def metrics(self) -> dict[str, float]:
        """Give the figures of the conversation so far; scores are the critic's, of first and last drafts."""
        judged = [turn.history for turn in self.turns if turn.history]
        return {
            "tokens": self.client.log.tokens,
            "model_calls": len(self.client.log.calls),
            "tool_calls": self.toolbox.calls,
            "repeated_calls": self.toolbox.repeated,
            "judged": len(judged),
            "rejected": sum(not self.reflection.accepts(history[0]) for history in judged),
            "unverified": sum(turn.verified is False for turn in self.turns),
            "first_scores": round(sum(history[0].score for history in judged), 3),
            "last_scores": round(sum(history[-1].score for history in judged), 3),
        }

    def _turn(self, message: str, recalled: str) -> Turn:
        plan = self.planner.plan(message, recalled) if self.settings.planner else None
        results = self.executor.run(plan) if plan else self._read_whole(message)
        sources = shown(results, most=MOST_SOURCES)[:MOST_SOURCES]
        draft = parsed(self.client.ask("answer", question=message, memory=recalled, sources=sources))
        history: list[Round] = []
        if self.settings.reflection:
            history = self.reflection.reflect(message, draft, sources, recalled)
            draft = max(history, key=lambda one: one.score).draft
        # a source that nothing showed was made up
        cited_notes = [path for path in draft.sources if path and path in f"{sources}\n{recalled}"]
        return Turn(
            draft=draft.model_copy(update={"sources": cited_notes}),
            plan=plan,
            results=tuple(results),
            history=tuple(history),
            verified=self.reflection.accepts(history[-1]) if history else None,
        )

    def _read_whole(self, message: str) -> list[Result]:
        """Read the notes that the model names, by their paths alone, from the first line to the last."""
        listed = self.toolbox.call("search_notes", keyword=".md")
        try:
            chosen = self.client.ask_for(Choice, "choose", sources=listed, question=message).notes[:MOST_READ]
        except Wrong:
            chosen = []
        return [
            Result(
                task=SubTask(id=number, tool="read_note", parameters={"file_path": path}),
                text=self.toolbox.call("read_note", file_path=path),
            )
            for number, path in enumerate(chosen, start=1)
        ]


def build(
    tools: Sequence[Tool], session_id: str = "", base_url: str = "", **settings: Any
) -> Callable[[str], dict[str, Any]]:
    """Build an agent for one conversation; `settings` are the fields of `Settings`."""
    return notes_agent(tools, session_id=session_id, base_url=base_url, **settings).reply


def notes_agent(tools: Sequence[Tool], *, session_id: str = "", base_url: str = "", **settings: Any) -> NotesAgent:
    """Give the agent itself; without `base_url` it asks `OPENAI_BASE_URL`, and else OpenAI."""
    try:
        chosen = Settings(**settings)
    except ValidationError as error:
        known = f"the settings are {', '.join(Settings.model_fields)}"
        found = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}, found {one['input']!r}" for one in error.errors())
        raise SettingsError("; ".join([*found, known])) from error
    log = CostLog(file=Path(chosen.costs) if chosen.costs else None, session=session_id)
    client = Client(model=chosen.model, log=log, base_url=base_url, seconds=chosen.seconds)
    return NotesAgent(tools=tools, settings=chosen, client=client)
