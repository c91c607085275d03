"""One turn of the user that a model plays, as the model gives it: words, what it means with them, where it stands.

And the conversation as that model gets it: the agent is its `user`, itself is the `assistant`.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from pytest_agentbench.core.acts import Act, ActKind, GoalItem
from pytest_agentbench.core.approvals import ApprovalRequest
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.transcript import Message, parted
from pytest_agentbench.llm.answer_text import json_values
from pytest_agentbench.users.llm.prompt import listed, render

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
