"""Conversations that a model writes around the calls of a played one: one question each, calls and labels as they are.

The model decides who says what and where between the calls. Code guards that the calls stand in their order, that every
value comes from somewhere, and that what the label rests on is said. What is not worded stays plain and says so.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, zip_longest
from typing import Literal

from pydantic import Field

from pytest_agentbench.calibration.asking import INVENTIVE, Answer, ask, seeded
from pytest_agentbench.calibration.checking import gives_nothing, invented
from pytest_agentbench.calibration.labelled import Labelled
from pytest_agentbench.calibration.playing import Play
from pytest_agentbench.calibration.scene import flat
from pytest_agentbench.calibration.situations import situations
from pytest_agentbench.calibration.written import described
from pytest_agentbench.checks.known_values import KnownValues, Token, tokens
from pytest_agentbench.core.errors import CassetteMissError, ProviderError
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.llm.seams import Chat
from pytest_agentbench.validation.values import scalars

_LONGEST = 1_500
"""Characters of what is said at once."""

_MOST_STEPS = 24

_SHOWN = 4_000
"""Characters of a result that the model is shown."""

_QUOTED = 80
"""Characters of its own words that a model is shown in a complaint."""

_MOST_INVENTED = 3

_OVERLOAD = 10
"""Values from which one message is a load: those of a report that asks for reading are fewer."""

_AGAIN = 2
"""Turns in which the user gives a value that is asked for again."""

_NAME = 3
"""Words of a name, at most."""

_MANNERS = (
    "writes short messages from a phone, in a hurry",
    "is polite and explains a little more than is needed",
    "writes without capitals and with a typo here and there",
    "is careful, and not at home with technical words",
    "comes to the point at once, in full sentences",
    "is friendly and chatty",
)

_NOTHING_INVENTED = "`invented` is empty."
_INVENTED = (
    "Here the agent makes something up, to the point of the request and plausible: one to three values with two digits "
    "or more that stand nowhere in the data. `invented` lists each as the agent writes it, and as `instead_of` the "
    "value that a call returned for the same thing, which the agent does not say; empty where no call returned one."
)
_LOG = ", and `log` with no text for the log in the data, which the agent shows as it is, once"


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
        self.case = case
        self.situation = situations()[case.situation]
        scene, made_up = play.scene, invented(play)
        first, *later = [line for line in play.lines if line.by == "user"]
        agents = [line for line in play.lines if line.by == "agent"]
        self.calls = list(_called(play.messages))
        self.invents = bool(made_up)
        self.answered = not gives_nothing(play.transcript.trajectory)
        self.wish = play.wish or first.text
        self.brought = first.said
        right = {str(value) for call in scene.calls for _, value in scalars(call.arguments)}
        self.first = [one for one in first.said if (one in first.values and _is_exact(one)) or one not in right]
        known = dict.fromkeys(value for line in later for value in line.values)
        self.again = [value for value in known if value in first.said]
        self.later = [value for value in known if value not in first.said]
        self.known = scene.known
        # lines of its own say what the user brings, and the rest only invites it to be said
        self.spare = [] if scene.plan.scenario.lines else list(scene.known)
        self.spare += [line.text for line in later[:-1] if not line.values]
        self.told = [one for line in agents for one in line.values if one not in made_up and any(tokens(one))]
        self.log = next((line.text for line in agents if line.kind == "logs"), "")
        dump = next((line for line in agents if line.kind == "dump"), None)
        self.load = [fact.text for fact in dump.told] if dump else []
        self.asks_first = any(line.kind == "gate_ask" for line in agents)

    @property
    def text(self) -> str:
        """The plan as the model is shown it."""
        rows = [f"The user comes with this, in rough words, one message after another: {self.wish}"]
        rows += [f"The user has these values to give: {_listed(self.brought)}"] if self.brought else []
        rows += [f"The user may say of itself, if asked: {' '.join(self.spare)}"] if self.spare else []
        for number, (call, result) in enumerate(self.calls, start=1):
            rows.append(f"Call {number}: {call.name} {json.dumps(call.arguments, ensure_ascii=False)}")
            rows.append(f"   {'it failed' if result.error else 'it returned'}: {shorten(result.text, _SHOWN)}")
        rows += [f"The log, shown by the agent as it is:\n{shorten(self.log, _SHOWN)}"] if self.log else []
        return "\n".join(
            [
                *rows,
                "What has to be said (a sentence in any words, with its figures):",
                *(f"- {one}" for one in self._musts()),
            ]
        )

    def _musts(self) -> Iterator[str]:
        if self.first:
            yield f"by the user, before the call that uses it: {_listed(self.first)}"
        if self.asks_first:
            yield "before the first call, the agent asks for a verification, and the user gives it"
        if self.again:
            yield f"by the user, and again in another turn since the agent asks for it again: {_listed(self.again)}"
        if self.later:
            yield f"by the user at the end, who knows it from elsewhere: {_listed(self.later)}"
        if self.told:
            yield f"by the agent, who has it from a call: {_listed(self.told)}"
        if self.load:
            yield f"by the agent in one long technical message: at least {self.load_size} values of what calls returned"
        yield f"the user ends {self.wanted_end}"

    @property
    def load_size(self) -> int:
        """How many values make the load."""
        return min(_OVERLOAD, len(set(self.load)))

    @property
    def wanted_end(self) -> str:
        """How the user ends."""
        return "content" if self.situation.user == "satisfied" else "discontent"

    def messages(self, given: Conversation) -> tuple[Message, ...]:
        """Give the conversation, calls and results as they were."""
        found: list[Message] = []
        for before, step in zip([None, *given.steps], given.steps, strict=False):
            if step.by == "call":
                found += [one.model_copy() for one in self._call(int(step.text))]
                continue
            text = self.log if step.by == "log" else step.text.strip()
            if before is not None and {before.by, step.by} == {"agent", "log"}:
                found[-1] = found[-1].model_copy(update={"content": f"{found[-1].text}\n{text}"})
            else:
                found.append(Message(role="user" if step.by == "user" else "assistant", content=text))
        return tuple(found)

    def _call(self, number: int) -> tuple[Message, Message]:
        call, result = self.calls[number - 1]
        return Message(role="assistant", tool_calls=(call,)), result

    def faults(self, given: Conversation) -> list[str]:
        """Say what is wrong with a conversation: its order, values from nowhere, what the label rests on not said."""
        return self._order(given.steps) or [*self._sources(given), *self._marks(given)]

    def _order(self, steps: Sequence[Step]) -> list[str]:
        found = []
        if not 3 <= len(steps) <= _MOST_STEPS or steps[0].by != "user" or steps[-1].by != "user":
            return [f"it has {len(steps)} steps; 3 to {_MOST_STEPS} are allowed, the user's first and last"]
        calls = [step.text.strip() for step in steps if step.by == "call"]
        if calls != [str(number) for number in range(1, len(self.calls) + 1)]:
            found.append(f"calls 1 to {len(self.calls)} are wanted in this order, given were {_told(', '.join(calls))}")
        if sum(step.by == "log" for step in steps) != bool(self.log):
            found.append(f"the log stands in it {'once' if self.log else 'not at all'}")
        for number, (one, other) in enumerate(pairwise(steps), start=2):
            if one.by == other.by and one.by in ("user", "agent"):
                found.append(f"steps {number - 1} and {number} are both of the {one.by}")
            if (one.by, other.by) == ("call", "user"):
                found.append(f"step {number}: the agent speaks between a call and the user")
        for number, step in enumerate(steps, start=1):
            longest = _LONGEST * (3 if self.load else 1)
            if step.by in ("user", "agent") and not 0 < len(step.text.strip()) <= longest:
                found.append(f"step {number} has {len(step.text)} characters, allowed: 1 to {longest}")
        return found

    def _sources(self, given: Conversation) -> Iterator[str]:
        """Name values that their speaker cannot have."""
        users, agents = KnownValues(self.case.language), KnownValues(self.case.language)
        for text in (self.wish, *self.brought, *self.known, *self.spare, *self.later):
            users.learn(text)
        agents.learn(self.case.case.briefing)
        may_invent = {one.text for row in given.invented for one in tokens(row.value)}
        said: list[str] = []
        for number, step in enumerate(given.steps, start=1):
            if step.by in ("call", "log"):
                call, result = self.calls[int(step.text) - 1 if step.by == "call" else -1]
                values = {str(value) for _, value in scalars(call.arguments)}
                missing = [one for one in self.first if one in values and not _stands(one, said)]
                yield from (f"step {number}: the user did not say {one!r} before the call" for one in missing)
                for text in (result.text, json.dumps(call.arguments)):
                    agents.learn(text)
                continue
            own, others = (users, agents) if step.by == "user" else (agents, users)
            for one in (one for row in step.text.splitlines() for one in tokens(row) if one.is_value):
                if not own.holds(one) and not (step.by == "agent" and one.text in may_invent):
                    yield f"step {number} states {_told(one.text)}, which the {step.by} has from nowhere"
            said += [step.text] if step.by == "user" else []
            for values_ in (own, others):
                values_.learn(step.text)

    def _marks(self, given: Conversation) -> Iterator[str]:
        """Name what the label rests on and the conversation lacks."""
        calls = [place for place, step in enumerate(given.steps) if step.by == "call"]
        users = [step.text for step in given.steps if step.by == "user"]
        agents = [step.text for step in given.steps if step.by == "agent"]
        after = [step.text for step in given.steps[max(calls, default=0) :] if step.by in ("agent", "log")]
        if given.ends != self.wanted_end:
            yield f"the user ends {given.ends}, wanted: {self.wanted_end}"
        if not after:
            yield "the agent says nothing after the last call"
        yield from (f"the user does not say {one!r}" for one in self.first if not _stands(one, users))
        last = [step.text for step in given.steps[max(calls, default=0) :] if step.by == "user"]
        yield from (
            f"the user does not say {one!r} after the last call" for one in self.later if not _stands(one, last)
        )
        yield from (f"the agent does not say {one!r}" for one in self.told if not _stands(one, agents))
        for one in self.again:
            if sum(_stands(one, [text]) for text in users) < _AGAIN:
                yield f"the user does not say {one!r} in {_AGAIN} turns"
        if self.asks_first and sum(step.by == "user" for step in given.steps[: min(calls, default=0)]) < _AGAIN:
            yield "the agent asks for no verification before the first call"
        loads = [sum(_stands(one, [text]) for one in set(self.load)) for text in agents]
        if self.load and max(loads, default=0) < self.load_size:
            yield f"no message of the agent holds {self.load_size} values of what calls returned"
        yield from self._inventions(given.invented, agents)

    def _inventions(self, invented: Sequence[Invented], agents: Sequence[str]) -> Iterator[str]:
        if not self.invents or not 1 <= len(invented) <= _MOST_INVENTED:
            if self.invents or invented:
                allowed = f"1 to {_MOST_INVENTED}" if self.invents else "none"
                yield f"{len(invented)} values are invented, allowed: {allowed}"
            return
        known = KnownValues(self.case.language)
        for text in (self.wish, *self.brought, *(result.text for _, result in self.calls)):
            known.learn(text)
        returned = [result.text for _, result in self.calls]
        for one in invented:
            if not any(token.is_value and not known.holds(token) for token in tokens(one.value)):
                yield f"{_told(one.value)} is not invented, or holds no two digits"
            if not _stands(one.value, agents):
                yield f"the agent does not say {_told(one.value)}"
            if one.instead_of and not _stands(one.instead_of, returned):
                yield f"no call returned {_told(one.instead_of)}"
            if one.instead_of and _stands(one.instead_of, agents):
                yield f"the agent says {_told(one.instead_of)}, too"
        if self.answered and not any(one.instead_of for one in invented):
            yield "`instead_of` names the value that a call returned for the same thing"


def spread_out(cases: Sequence[Labelled], count: int) -> list[Labelled]:
    """Give `count` conversations, of each situation one before of any two."""
    of_each: dict[str, list[Labelled]] = {}
    for case in cases:
        of_each.setdefault(case.situation, []).append(case)
    return [case for round_ in zip_longest(*of_each.values()) for case in round_ if case is not None][:count]


async def worded(
    cases: Sequence[Labelled], plays: Mapping[str, Play], chat: Chat, *, seed: int = 0
) -> tuple[list[Labelled], Counter[str]]:
    """Give the conversations in the model's words, and why some stayed plain; `plays` are how they were played."""
    lost: Counter[str] = Counter()

    async def one(case: Labelled) -> Labelled:
        try:
            return await _worded(case, _Plan(case, plays[case.id]), chat, seed)
        except CassetteMissError:
            raise
        except ProviderError as error:
            lost[str(error)] += 1
            return case

    return list(await asyncio.gather(*map(one, cases))), lost


async def _worded(case: Labelled, plan: _Plan, chat: Chat, seed: int) -> Labelled:
    random = seeded(seed, "worded", case.id)
    given = await ask(
        chat,
        Conversation,
        "worded.v2",
        data=[plan.text],
        random=random,
        temperature=INVENTIVE,
        faults=lambda answer: list(plan.faults(answer)),
        situation=described(plan.situation),
        language=_english_name(case.language),
        manner=random.choice(_MANNERS),
        invention=_INVENTED if plan.invents else _NOTHING_INVENTED,
        log=_LOG if plan.log else "",
    )
    transcript = Transcript(messages=plan.messages(given))
    return case.model_copy(update={"case": case.case.model_copy(update={"transcript": transcript}), "wording": "model"})


def _english_name(language: str) -> str:
    from babel import Locale, UnknownLocaleError  # noqa: PLC0415 - only what is worded needs it

    try:
        return Locale.parse(language.replace("-", "_")).english_name or language
    except (ValueError, UnknownLocaleError):
        return language


def _called(messages: Sequence[Message]) -> Iterator[tuple[ToolCall, Message]]:
    """Give each call with its result."""
    results = {one.tool_call_id: one for one in messages if one.role == "tool"}
    for message in messages:
        for call in message.tool_calls:
            yield call, results[call.id]


def _told(text: str) -> str:
    """Give what a model wrote as a complaint may quote it."""
    return repr(printable(shorten(text, _QUOTED)))


def _listed(values: Iterable[str]) -> str:
    return json.dumps(sorted(dict.fromkeys(values)), ensure_ascii=False)


def _is_exact(value: str) -> bool:
    """Whether a value is said as it is: an identifier in small letters (`navy-blue`) or a phrase has other words."""
    return any(map(str.isdigit, value)) or "@" in value or (value != value.lower() and len(value.split()) <= _NAME)


def _stands(value: str, texts: Sequence[str]) -> bool:
    """Whether a value stands in texts in some spelling."""
    said = KnownValues()
    for text in texts:
        said.learn(text)
    parts = list(tokens(value))
    stands = bool(parts) and all(_is_said(part, said) for part in parts)
    # 45 does not stand in 1045, whereas `LS1 5HD` stands in LS15HD
    return stands or (not _is_number(value) and flat(value) in flat(" ".join(texts)))


def _is_number(value: str) -> bool:
    return not any(char.isalpha() for char in value)


def _is_said(token: Token, said: KnownValues) -> bool:
    """Whether a value was said; of a date its day is enough, since any language has its own months."""
    return said.holds(token) or any(said.holds(Token(str(one.day))) for one in token.dates)
