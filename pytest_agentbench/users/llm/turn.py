"""One turn of the user that a model plays: its words, what it means with them, and the guards that check its shape.

And the conversation as that model gets it: the agent is its `user`, itself is the `assistant`.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from pytest_agentbench.core.acts import Act, ActKind, GoalItem
from pytest_agentbench.core.approvals import ApprovalRequest
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.ids import Scalar, clipped, plain_values
from pytest_agentbench.core.spoken import states
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.text_similarity import echoes
from pytest_agentbench.core.transcript import Message, Role, Transcript, parted
from pytest_agentbench.llm.answer_text import json_values
from pytest_agentbench.users.llm.prompt import TEMPLATE, listed, own_words, render
from pytest_agentbench.users.llm.value_shapes import Known, short_ids_in, told, values_in

Closing = Literal["done", "handed over", "out of scope"]

_OF_QUESTION: frozenset[ActKind] = frozenset({"confirm", "decline", "condition"})
"""Acts that concern what the agent put to the user; any other concerns what the user's own words name."""

_MOST = 40
"""Acts, facts or goal items of one turn; whatever a person does in one message is less."""


class Given(Model):
    """A value that this turn gives the agent."""

    name: str = Field(description="What the value is, such as the name that your notes give it.")
    value: str | int | float = Field(description="The value itself, as your notes or the chat have it.")


def _listed(facts: Any) -> Any:
    """Take a mapping for the list of its items, which models write where no server holds them to the schema."""
    return [{"name": name, "value": value} for name, value in facts.items()] if isinstance(facts, dict) else facts


class Meant(Model):
    """One thing that this turn does."""

    kind: ActKind = Field(
        description="request: you ask for something to be done. inform: you give values or tell what happened. "
        "confirm: you say yes to what the agent put to you. condition: you say yes only if something holds. "
        "decline: you say no. withdraw: you take back a request or a yes. ask: you want to know something. "
        "close: you say goodbye. other: none of these."
    )
    facts: Annotated[list[Given], BeforeValidator(_listed)] = Field(
        default=[], max_length=_MOST, description="The values that you give with it; often none."
    )


class Wish(Model):
    """One thing that you want, and whether it is settled."""

    item: str = Field(description="What you want, in a few words that stay the same from turn to turn.")
    done: bool = Field(description="True once the agent told you that it is done, or refused it for good.")


class TypedTurn(Model):
    """Your next turn in the chat."""

    text: str = Field(description="What the agent reads. A line break starts a new message. Empty if you only leave.")
    acts: list[Meant] = Field(default=[], max_length=_MOST, description="What you mean by the text; one or more.")
    goal: list[Wish] = Field(default=[], max_length=_MOST, description="Everything that you want, settled or not.")
    shows: list[str] = Field(
        default=[], max_length=_MOST, description="Names of the behaviours in your notes that this text acts out."
    )
    stop: Closing | None = Field(default=None, description="Why you leave the chat with this turn; null if you stay.")
    decision: Literal["approve", "reject"] | None = Field(
        default=None, description="Your decision about the call that waits for it; null where none waits."
    )

    def meant(self, heard: Sequence[Any], said: Sequence[Any]) -> tuple[Act, ...]:
        """Give the acts with what each is about: known values of the message answered (`heard`) or of the own words.

        One that gives values which were put to the user is about these alone: "W1 yes, W2 no" is two acts.
        """
        return tuple(
            Act(
                kind=one.kind,
                about=_about(one, heard) if one.kind in _OF_QUESTION else tuple(said),
                facts={fact.name: fact.value for fact in one.facts},
            )
            for one in self.acts
        )

    @property
    def goal_items(self) -> tuple[GoalItem, ...]:
        """What the user wants, open and done."""
        return tuple(GoalItem(text=one.item, done=one.done) for one in self.goal)


def _about(meant: Meant, heard: Sequence[Any]) -> tuple[Any, ...]:
    own = {str(one.value).casefold() for one in meant.facts}
    return tuple([value for value in heard if str(value).casefold() in own] or heard)


def retold(message: Message) -> TypedTurn:
    """Give a turn of the conversation in the form in which the model gave it; one without acts has only its words.

    Of a turn that no model gave, in a history, as much is given as a turn may hold.
    """
    decided = {"approve": "approve", "edit": "approve", "reject": "reject"}
    acts = [(act.kind, list(act.facts.items())[:_MOST]) for act in (message.acts or ())[:_MOST]]
    plain = str | int | float
    return TypedTurn.model_validate(
        {
            "text": message.text,
            "acts": [
                {"kind": kind, "facts": {name: one if isinstance(one, plain) else str(one) for name, one in facts}}
                for kind, facts in acts
            ],
            "goal": [{"item": one.text, "done": one.done} for one in message.goal_items[:_MOST]],
            "shows": list(message.shows[:_MOST]),
            "decision": next((decided.get(one.kind) for one in message.decisions), None),
        }
    )


def written(turn: TypedTurn) -> str:
    """Write a turn as the JSON that a model answers with."""
    return json.dumps(turn.model_dump(mode="json"), ensure_ascii=False, separators=(", ", ": "))


def words_of(answer: str) -> str:
    """Give the words of an answer that is no valid turn: its `text`, or the whole where it is no JSON at all."""
    said = parted(answer)[0].strip()
    for value in json_values(said):
        if isinstance(value, dict) and isinstance(value.get("text"), str):
            return str(value["text"]).strip()
    return "" if said[:1] in ("{", "[", "`", "") else said


_FENCE = re.compile(r"<(\s*/?\s*agent_message)", re.IGNORECASE)

SENT = "(sent)"
"""What the tool by which a user speaks returns."""


def flipped(
    messages: Sequence[Message], *, say: str = "", notes: Mapping[int, str] | None = None
) -> list[dict[str, Any]]:
    """Give `messages` in the OpenAI format with both roles exchanged; it starts with the agent or with an opening.

    What the agent said is fenced, so that it reads as a quotation. The user's own turns stand in the form in which the
    model gives them, or as calls of the tool `say`. `notes` follow the message whose index they have. A longer
    conversation extends a shorter one.
    """
    turns = list(_merged(messages, say, notes or {}))
    if not turns or turns[0]["role"] != "user":
        turns.insert(0, {"role": "user", "content": render("opening.v2", {})})
    return turns


def said_with(index: int) -> str:
    """Give the id of the call by which the message with this index was said."""
    return f"said_{index}"


def _merged(messages: Sequence[Message], say: str, notes: Mapping[int, str]) -> Iterator[dict[str, Any]]:
    """Give one message per turn of the agent: some servers refuse two of one role in a row."""
    heard: list[str] = []
    behind: list[str] = []
    unanswered: list[str] = []
    for index, message in enumerate(messages):
        if message.role != "assistant" and (heard or behind):
            yield _said_by_agent(heard, behind)
            heard, behind = [], []
        if message.role == "assistant":
            heard.append(message.text)
            behind += [asked] if (asked := decision_note(message.approvals)) else []
        elif message.role == "tool":
            answered = message.tool_call_id or (unanswered[0] if unanswered else "")
            if answered in unanswered:
                unanswered.remove(answered)
            yield {**message.openai(), "tool_call_id": answered}
        elif message.role == "user" and message.tool_calls:
            named = _with_ids(message, index)
            unanswered = [call.id for call in named.tool_calls]
            yield {**named.openai(), "role": "assistant"}
        elif message.role == "user":
            yield from _said_by_user(message, index, say)
        behind += [notes[index]] if index in notes else []
    if heard or behind:
        yield _said_by_agent(heard, behind)


def decision_note(approvals: Sequence[ApprovalRequest]) -> str:
    """Tell the user which calls wait for its decision; a free question is answered as any message is."""
    calls = [request.call for request in approvals if not request.is_question]
    return render("approval.v2", {"calls": listed(calls)}) if calls else ""


def _with_ids(message: Message, index: int) -> Message:
    """Give every call an id, which servers demand and histories may lack."""
    calls = (
        call if call.id else call.model_copy(update={"id": f"call_{index}_{position}"})
        for position, call in enumerate(message.tool_calls)
    )
    return message.model_copy(update={"tool_calls": tuple(calls)})


def _said_by_user(message: Message, index: int, say: str) -> Iterator[dict[str, Any]]:
    given = written(retold(message))
    if not say:
        yield {"role": "assistant", "content": given}
        return
    call = {"id": said_with(index), "type": "function", "function": {"name": say, "arguments": given}}
    yield {"role": "assistant", "content": None, "tool_calls": [call]}
    yield {"role": "tool", "tool_call_id": said_with(index), "content": SENT}


def _said_by_agent(texts: Sequence[str], notes: Sequence[str]) -> dict[str, Any]:
    quoted = _FENCE.sub(r"‹\1", "\n\n".join(texts))
    fenced = [f"<agent_message>\n{quoted}\n</agent_message>"] if texts else []
    return {"role": "user", "content": "\n\n".join([*fenced, *notes])}


_REASON = 400
"""Characters of a reason, which may quote what the agent said."""

_FRAME = re.compile(
    r"</?\s?(?:agent_message|persona|goal|lines|known|unknown|instructions|earlier|behaviour|think(?:ing)?)\s?>"
    r"|<\|\w+\|>|\[/?INST\]|#{3}[A-Z][A-Z _-]+#{3}|^\s*\{\s*\"text\"\s*:",
    re.IGNORECASE | re.MULTILINE,
)
"""What frames messages, for models and in our prompts: tags, tokens, markers, JSON."""

_ROLE = re.compile(r"^\s*((user|assistant)|agent|system)\s*:", re.IGNORECASE | re.MULTILINE)
"""The name of a role that heads a line; a person may write `System: Windows 11` and `Agent: Ms Roy` as well."""

_QUOTED = re.compile(r"[\"“«„「『][^\"”»“」』\n]{4,400}[\"”»“」』]|(?<!\w)['‘][^'’\n]{4,400}['’](?!\w)")

_LEAST = 40
"""Width from which a reply can be an echo: shorter ones come again for good reasons."""

_RUN = 64
"""Width of a run of letters that is a quotation of what the user was told."""

_OWN = 2
"""How many of the user's own last messages a reply must equal."""

_LEAST_GIVEN, _SHARE = 3, 0.8
"""Values in a first message, and their share of all known ones, that are everything at once."""

_UNSETTLED: dict[ActKind, str] = {
    "request": "asks for something",
    "confirm": "agrees to something",
    "inform": "gives values",
}
"""Acts to which the agent has still to answer."""


class Draft(Model):
    """A turn before it is sent, as guards see it; `acts` is None where the model did not say what it means."""

    text: str = ""
    acts: frozenset[ActKind] | None = None
    gives: bool = False
    open_items: tuple[str, ...] = ()
    stop: Closing | None = None


@dataclass(frozen=True)
class Alarm:
    """The name of the guard, and why the turn is at fault: `reason` as the model is told, `seen` as people read it."""

    rule: str
    reason: str
    seen: str


_Fault = tuple[str, str]
"""What is wrong with a draft, as the model is told it, and as people read it."""


def alarms(view: View, draft: Draft, *, locale: str = "en") -> tuple[Alarm, ...]:
    """Give what the guards find in `draft` as the next turn of the user that `view` describes."""
    found = ((name, rule(view, draft, locale)) for name, rule in RULES.items())
    return tuple(Alarm(name, *(shorten(printable(one), _REASON) for one in fault)) for name, fault in found if fault)


def _leak(view: View, draft: Draft, locale: str) -> _Fault | None:  # noqa: ARG001 - all rules take one
    """Find what frames messages, and a long run of letters of what the user was told about itself.

    What stands there in quotation marks is meant to be said; goal, lines and the conversation may be repeated.
    """
    text = clipped(draft.text)
    roles = list(_ROLE.finditer(text))
    several = len({found[1].casefold() for found in roles}) > 1
    role = next((found for found in roles if several or found[2]), None)
    if found := _FRAME.search(text) or role:
        frame = found[0].strip()
        return (
            f"{frame!r} is not something a person writes in a chat; `text` is the message alone",
            f"the user writes {frame!r}, which no person writes in a chat",
        )
    source = " ".join([view.persona or "", _QUOTED.sub(" ", view.task_instructions), own_words(TEMPLATE)])
    free = _letters(" ".join([view.goal, *view.says, view.known_info, *(one.text for one in view.messages)]))
    if not any(run in _letters(source) and run not in free for run in _runs(_letters(text))):
        return None
    return "it quotes your notes word by word; say it as this person would", "the user quotes its notes word by word"


def _invention(view: View, draft: Draft, locale: str) -> _Fault | None:
    """Find an id, a long number, an e-mail address or a date in figures that the user was never told.

    Known is what notes, tools and conversation hold, in any spelling and in part.
    """
    values, short = values_in(draft.text), short_ids_in(draft.text)
    if not values and not short:
        return None
    known = Known(told(view), locale, [one for value in view.knows.values() for _, one in plain_values(value)])
    asked = (*values, *filter(known.has_kind, short))
    made_up = next((value.text for value in asked if not known.holds(value)), None)
    if made_up is None:
        return None
    return (
        f"{made_up!r} is neither in your notes nor in the chat; say that you do not know it",
        f"the user states {made_up!r}, which is neither in its notes nor in the chat",
    )


def _early_stop(view: View, draft: Draft, locale: str) -> _Fault | None:  # noqa: ARG001 - as above
    """Find a stop in the first turn, with goal items of its own open, or in a turn that needs an answer.

    Who is handed over, or cannot go on, leaves things open.
    """
    if draft.stop is None:
        return None
    if not any(message.role == "user" for message in view.messages):
        return "you leave in your first turn; say what you want", "the user leaves in its first turn"
    if draft.stop == "out of scope":
        return None
    kinds = (draft.acts or frozenset()) - ({"inform"} if not draft.gives else set())
    if does := next((text for kind, text in _UNSETTLED.items() if kind in kinds), ""):
        return (
            f"you leave in a turn that {does}; wait for what the agent does with it",
            f"the user leaves in a turn that {does}",
        )
    if draft.stop == "done" and draft.open_items:
        items = f"open items ({', '.join(map(repr, draft.open_items))})"
        return f"you leave as done while your goal has {items}", f"the user leaves as done while its goal has {items}"
    return None


def _echo(view: View, draft: Draft, locale: str) -> _Fault | None:  # noqa: ARG001 - as above
    """Find a reply that is taken from the agent's last message, or that the user gives for the third time.

    Who is told the same again may say the same again, too.
    """
    agent, own = _texts(view, "assistant"), _texts(view, "user")
    if width(_letters(draft.text)) < _LEAST:
        return None
    if agent and echoes(draft.text, agent[-1]):
        back = "the agent's own message back"
        return f"it gives {back}; answer it as this person would", f"the user gives {back}"
    agent_repeats = len(agent) > 1 and _letters(agent[-1]) == _letters(agent[-2])
    if not agent_repeats and [_letters(one) for one in own[-_OWN:]] == [_letters(clipped(draft.text))] * _OWN:
        return (
            "you have said just this twice; answer what the agent has said since",
            "the user says the same for the third time",
        )
    return None


def _at_once(view: View, draft: Draft, locale: str) -> _Fault | None:
    """Find a first message with at least three known values that are four fifths of all known ones.

    What goal or first line state is not counted, nor what the agent has named before.
    """
    if any(message.role == "user" for message in view.messages):
        return None
    stated = " ".join([view.goal, *view.says[:1]])
    heard = _letters(" ".join(_texts(view, "assistant")))
    values: dict[str, Scalar] = {}
    for name, value in view.knows.items():
        labels = (str(name), *view.also.get(name, ()))
        if not any(_letters(label) in heard for label in labels):
            values.update({str(one): one for _, one in plain_values(value)})
    if not view.knows:
        values.update({one.text: one.text for one in values_in(view.known_info)})
    countable = [one for one in values.values() if not states(one, stated, locale)]
    given = [str(one) for one in countable if states(one, draft.text, locale)]
    if len(given) < max(_LEAST_GIVEN, ceil(_SHARE * len(countable))):
        return None
    listed = ", ".join(map(repr, sorted(given)))
    return (
        f"your first message gives all that you know ({listed}); say what you want, and give values when asked",
        f"the user gives all that it knows in its first message ({listed})",
    )


RULES: dict[str, Callable[[View, Draft, str], _Fault | None]] = {
    "leak": _leak,
    "invention": _invention,
    "early_stop": _early_stop,
    "echo": _echo,
    "at_once": _at_once,
}
"""Every guard by its name, the gravest first."""


def _texts(view: View, role: Role) -> list[str]:
    """Give what a party said, one text for each of its turns, of the end of a long conversation."""
    return list(map(clipped, Transcript(messages=view.messages).said_by_turn(role).values()))


@lru_cache(maxsize=256)  # what a user was told, and what was said, is looked at in every turn
def _letters(text: str) -> str:
    """Give the letters and digits of a text in lower case."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def width(text: str) -> int:
    """Give the columns of a text: a sign of Chinese or Japanese says as much as two letters."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _runs(text: str) -> Iterator[str]:
    """Give every run of letters that is as wide as a quotation."""
    end, wide = 0, 0
    for begin in range(len(text)):
        while wide < _RUN and end < len(text):
            wide += width(text[end])
            end += 1
        if wide < _RUN:
            return
        yield text[begin:end]
        wide -= width(text[begin])
