"""Conversations that a model writes around the calls of a played one: one question each, calls and labels as they are.

The model decides who says what and where between the calls. Code guards that the calls stand in their order, that every
value comes from somewhere, and that what the label rests on is said. What is not worded stays plain and says so.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal

from pydantic import Field

from pytest_agentbench.calibration.dataset import INVENTIVE, WORDS, Labelled, seeded, situations
from pytest_agentbench.calibration.situation_check import gives_nothing, invented
from pytest_agentbench.calibration.situation_player import Play
from pytest_agentbench.checks.findings import value_text
from pytest_agentbench.checks.judges.rubric_judge import Answer, ask
from pytest_agentbench.checks.known_values import KnownValues, stands_in, tokens
from pytest_agentbench.core.errors import AgentBenchError
from pytest_agentbench.core.text import shorten
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.llm.protocols import Chat
from pytest_agentbench.llm.structured import usable
from pytest_agentbench.suites.language import language_name
from pytest_agentbench.validation.world_values import scalars

_LONGEST, _MOST_STEPS = 1_500, 24
"""Characters of what is said at once, and steps."""

_SHOWN = 4_000
"""Characters that the model is shown of a result."""

_MOST_INVENTED = 3

_OVERLOAD = 10
"""Values from which one message is a load: those of a report that asks for reading are fewer."""

_AGAIN = 2
"""Turns in which the user gives a value that is asked for again."""

_NAME = 3
"""Words of a name, at most."""


class Step(Answer):
    """One thing that is said, called or shown."""

    by: Literal["user", "agent", "call", "log"]
    text: str


class Invented(Answer):
    """A value that the agent makes up."""

    value: str
    instead_of: str


class Conversation(Answer):
    """The conversation."""

    steps: list[Step]
    invented: list[Invented]
    ends: Literal["content", "discontent"] = Field(description="how the user feels in the last step")


class _Plan:
    """What a played conversation leaves fixed: calls, what the user can say, and what has to be said."""

    def __init__(self, case: Labelled, play: Play) -> None:
        self.case, self.situation = case, situations()[case.situation]
        scene, made_up, messages = play.scene, invented(play), play.messages
        first, *later = [line for line in play.lines if line.by == "user"]
        agents = [line for line in play.lines if line.by == "agent"]
        self.calls = [(one, messages[place + 1]) for place, one in enumerate(messages) if one.tool_calls]
        self.end = "content" if self.situation.user == "satisfied" else "discontent"
        self.invents = bool(made_up)
        self.answered = not gives_nothing(play.transcript.trajectory)
        self.wish = play.wish or first.text
        self.brought = first.said
        right = {str(value) for call in scene.calls for _, value in scalars(call.arguments)}
        self.first = [one for one in first.said if (one in first.values and _is_exact(one)) or one not in right]
        known = dict.fromkeys(value for line in later for value in line.values)
        self.again = [value for value in known if value in first.said]
        self.later = [value for value in known if value not in first.said]
        # lines of its own say what the user brings, and the rest only invites it to be said
        self.spare = [] if scene.plan.scenario.lines else list(scene.known)
        self.spare += [line.text for line in later[:-1] if not line.values]
        self.sayable = (self.wish, *self.brought, *scene.known, *self.spare, *self.later)
        self.told = [one for line in agents for one in line.values if one not in made_up and any(tokens(one))]
        self.log = next((line.text for line in agents if line.kind == "logs"), "")
        self.load = {fact.text for line in agents if line.kind == "dump" for fact in line.told}
        self.load_size = min(_OVERLOAD, len(self.load))
        self.asks_first = any(line.kind == "gate_ask" for line in agents)

    @property
    def text(self) -> str:
        """The plan as the model is shown it."""
        rows = [f"The user comes with this, in rough words, one message after another: {self.wish}"]
        rows += [f"The user has these values to give: {_listed(self.brought)}"] if self.brought else []
        rows += [f"The user may say of itself, if asked: {' '.join(self.spare)}"] if self.spare else []
        for number, (asked, result) in enumerate(self.calls, start=1):
            call = asked.tool_calls[0]
            rows.append(f"Call {number}: {call.name} {json.dumps(call.arguments, ensure_ascii=False)}")
            rows.append(f"   {'it failed' if result.error else 'it returned'}: {shorten(result.text, _SHOWN)}")
        rows += [f"The log, shown by the agent as it is:\n{shorten(self.log, _SHOWN)}"] if self.log else []
        musts = {
            "first": _listed(self.first),
            "asks_first": "asks" if self.asks_first else "",
            "again": _listed(self.again),
            "later": _listed(self.later),
            "told": _listed(self.told),
            "load": str(self.load_size) if self.load else "",
            "end": self.end,
        }
        said = [WORDS["musts"][name].format(fill) for name, fill in musts.items() if fill]
        return "\n".join([*rows, WORDS["musts"]["lead"], *(f"- {text}" for text in said)])

    def messages(self, given: Conversation) -> tuple[Message, ...]:
        """Give the conversation, calls and results as they were."""
        found: list[Message] = []
        for before, step in zip([None, *given.steps], given.steps, strict=False):
            text = self.log if step.by == "log" else step.text.strip()
            if step.by == "call":
                found += self.calls[int(step.text) - 1]
            elif before is not None and {before.by, step.by} == {"agent", "log"}:
                found[-1] = found[-1].model_copy(update={"content": f"{found[-1].text}\n{text}"})
            else:
                found.append(Message(role="user" if step.by == "user" else "assistant", content=text))
        return tuple(found)

    def faults(self, given: Conversation) -> list[str]:
        """Say what is wrong with a conversation: its order, values from nowhere, what the label rests on not said."""
        if wrong := list(self._misplaced(given.steps)):
            return wrong
        agents = [step.text for step in given.steps if step.by == "agent"]
        return [*self._sourceless(given), *self._unsaid(given, agents), *self._inventions(given.invented, agents)]

    def _misplaced(self, steps: Sequence[Step]) -> Iterator[str]:
        if not 3 <= len(steps) <= _MOST_STEPS or steps[0].by != "user" or steps[-1].by != "user":
            yield f"it has {len(steps)} steps; 3 to {_MOST_STEPS} are allowed, the user's first and last"
            return
        calls = [step.text.strip() for step in steps if step.by == "call"]
        if calls != [str(number) for number in range(1, len(self.calls) + 1)]:
            yield f"calls 1 to {len(self.calls)} are wanted in this order, given were {value_text(', '.join(calls))}"
        if sum(step.by == "log" for step in steps) != bool(self.log):
            yield f"the log stands in it {'once' if self.log else 'not at all'}"
        for number, (one, other) in enumerate(pairwise(steps), start=2):
            if one.by == other.by and one.by in ("user", "agent"):
                yield f"steps {number - 1} and {number} are both of the {one.by}"
            if (one.by, other.by) == ("call", "user"):
                yield f"step {number}: the agent speaks between a call and the user"
        longest = _LONGEST * (3 if self.load else 1)
        for number, step in enumerate(steps, start=1):
            if step.by in ("user", "agent") and not 0 < len(step.text.strip()) <= longest:
                yield f"step {number} has {len(step.text)} characters, allowed: 1 to {longest}"

    def _sourceless(self, given: Conversation) -> Iterator[str]:
        """Name values that their speaker cannot have."""
        sources = {"user": self.sayable, "agent": [self.case.briefing]}
        knows = {party: KnownValues.of(texts, self.case.language) for party, texts in sources.items()}
        may_invent = {one.text for row in given.invented for one in tokens(row.value)}
        said: list[str] = []
        for number, step in enumerate(given.steps, start=1):
            if step.by in ("call", "log"):
                asked, result = self.calls[int(step.text) - 1 if step.by == "call" else -1]
                arguments = asked.tool_calls[0].arguments
                values = {str(value) for _, value in scalars(arguments)}
                missing = [one for one in self.first if one in values and not stands_in(one, said)]
                yield from (f"step {number}: the user did not say {one!r} before the call" for one in missing)
                knows["agent"].learn(result.text)
                knows["agent"].learn(json.dumps(arguments))
                continue
            for one in (one for row in step.text.splitlines() for one in tokens(row) if one.is_value):
                if not knows[step.by].holds(one) and not (step.by == "agent" and one.text in may_invent):
                    yield f"step {number} states {value_text(one.text)}, which the {step.by} has from nowhere"
            said += [step.text] if step.by == "user" else []
            for values_ in knows.values():
                values_.learn(step.text)

    def _unsaid(self, given: Conversation, agents: Sequence[str]) -> Iterator[str]:
        """Name what the label rests on and the conversation lacks."""
        calls = [place for place, step in enumerate(given.steps) if step.by == "call"]
        users = [step.text for step in given.steps if step.by == "user"]
        after = given.steps[max(calls, default=0) :]
        last = [step.text for step in after if step.by == "user"]
        if given.ends != self.end:
            yield f"the user ends {given.ends}, wanted: {self.end}"
        if not any(step.by in ("agent", "log") for step in after):
            yield "the agent says nothing after the last call"
        for wants, values, texts in (
            ("the user does not say {!r}", self.first, users),
            ("the user does not say {!r} after the last call", self.later, last),
            ("the agent does not say {!r}", self.told, agents),
        ):
            yield from (wants.format(one) for one in values if not stands_in(one, texts))
        for one in self.again:
            if sum(stands_in(one, [text]) for text in users) < _AGAIN:
                yield f"the user does not say {one!r} in {_AGAIN} turns"
        if self.asks_first and sum(step.by == "user" for step in given.steps[: min(calls, default=0)]) < _AGAIN:
            yield "the agent asks for no verification before the first call"
        loads = [sum(stands_in(one, [text]) for one in self.load) for text in agents]
        if self.load and max(loads, default=0) < self.load_size:
            yield f"no message of the agent holds {self.load_size} values of what calls returned"

    def _inventions(self, given: Sequence[Invented], agents: Sequence[str]) -> Iterator[str]:
        if not (1 <= len(given) <= _MOST_INVENTED if self.invents else not given):
            yield f"{len(given)} values are invented, allowed: {f'1 to {_MOST_INVENTED}' if self.invents else 'none'}"
            return
        returned = [result.text for _, result in self.calls]
        known = KnownValues.of([self.wish, *self.brought, *returned], self.case.language)
        for one in given:
            if not any(token.is_value and not known.holds(token) for token in tokens(one.value)):
                yield f"{value_text(one.value)} is not invented, or holds no two digits"
            if not stands_in(one.value, agents):
                yield f"the agent does not say {value_text(one.value)}"
            if one.instead_of and not stands_in(one.instead_of, returned):
                yield f"no call returned {value_text(one.instead_of)}"
            if one.instead_of and stands_in(one.instead_of, agents):
                yield f"the agent says {value_text(one.instead_of)}, too"
        if given and self.answered and not any(one.instead_of for one in given):
            yield "`instead_of` names the value that a call returned for the same thing"


async def worded(
    cases: Sequence[Labelled], plays: Mapping[str, Play], chat: Chat, *, seed: int = 0
) -> tuple[list[Labelled], Counter[str]]:
    """Give the conversations in the model's words, and why some stayed plain; `plays` are how they were played."""
    lost: Counter[str] = Counter()

    def of(case: Labelled) -> Awaitable[Labelled]:
        def plain(error: AgentBenchError) -> Labelled:
            lost[str(error)] += 1
            return case

        return usable(_worded(case, _Plan(case, plays[case.id]), chat, seed), plain)

    return list(await asyncio.gather(*map(of, cases))), lost


async def _worded(case: Labelled, plan: _Plan, chat: Chat, seed: int) -> Labelled:
    random = seeded(seed, "worded", case.id)
    given = await ask(
        chat,
        Conversation,
        "worded.v2",
        data=[plan.text],
        random=random,
        how=INVENTIVE,
        faults=plan.faults,
        values={
            "situation": plan.situation.text,
            "language": language_name(case.language),
            "manner": random.choice(WORDS["manners"]),
            "invention": WORDS["invention"]["some" if plan.invents else "none"],
            "log": WORDS["log"] if plan.log else "",
        },
    )
    transcript = Transcript(messages=plan.messages(given))
    return case.model_copy(update={"transcript": transcript, "wording": "model"})


def _listed(values: Sequence[str]) -> str:
    return json.dumps(sorted(set(values)), ensure_ascii=False) if values else ""


def _is_exact(value: str) -> bool:
    """Whether a value is said as it is: an identifier in small letters (`navy-blue`) or a phrase has other words."""
    return any(map(str.isdigit, value)) or "@" in value or (value != value.lower() and len(value.split()) <= _NAME)
