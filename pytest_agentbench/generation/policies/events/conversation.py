"""Conversations of planned requests, right or with one thing wrong, written as transcripts that rules can judge."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_agentbench.checks.reckoning import NotThereError, led_to
from pytest_agentbench.core.acts import Act as UserAct
from pytest_agentbench.core.acts import ActKind
from pytest_agentbench.core.names import readable
from pytest_agentbench.core.state import State
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.core.values import decoded
from pytest_agentbench.generation.policies.events.requests import Request
from pytest_agentbench.generation.policies.events.rulebook import Rulebook
from pytest_agentbench.generation.tools.world import Answer
from pytest_agentbench.validation.values import scalars

Ending = Literal["done", "refused", "declined", "unproven"]
"""How a request ends in a right run: done, refused for a rule, taken back by the user, refused for want of a proof."""


@dataclass(frozen=True)
class ExecutedCall:
    """A call with what it gave; `state` is what it left behind, where a rule asks for the state."""

    tool: str
    arguments: Mapping[str, Any]
    answer: Answer
    state: State | None = None


@dataclass(frozen=True, kw_only=True)
class Act:
    """One request of the user in a right run: the calls before it, the call, those after it, and how it ends.

    `broken` are the policies that forbid it, `asked` says that the agent asks first, `words` what it must say, `due`
    what it would have to say if the request were done, `proof` are the lookups for which the user of an unproven
    request does not know what they take. `not_why` are those of `broken` that are not
    why its tool refuses it.
    """

    request: Request
    before: tuple[Request, ...] = ()
    after: tuple[Request, ...] = ()
    ending: Ending = "done"
    broken: frozenset[str] = frozenset()
    asked: bool = False
    words: tuple[str, ...] = ()
    due: tuple[str, ...] = ()
    proof: tuple[Request, ...] = ()
    not_why: frozenset[str] = frozenset()

    @property
    def decides(self) -> frozenset[str]:
        """The policies that a call of what is forbidden decides."""
        return self.broken - self.not_why

    @property
    def calls(self) -> tuple[Request, ...]:
        """The calls of a right run, in order."""
        return (*self.before, *((self.request,) if self.ending == "done" else ()), *self.after)


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """One thing done wrong in a run of acts, at the act `act`; for `skipped`, `call` is its number in the run."""

    kind: Literal["forbidden", "skipped", "declined", "unasked", "unsaid"]
    act: int
    call: int = 0
    text: str = ""


@dataclass
class _Writer:
    """Writes messages of a conversation."""

    messages: list[Message] = field(default_factory=list)
    states: list[State] = field(default_factory=list)

    def user(self, kind: ActKind, text: str, about: Sequence[Any] = ()) -> None:
        act = UserAct(kind=kind, about=tuple(about))
        self.messages.append(Message(role="user", content=text, acts=(act,)))

    def agent(self, text: str) -> None:
        self.messages.append(Message(role="assistant", content=text))

    def call(self, executed: ExecutedCall) -> None:
        call = ToolCall(id=f"call_{len(self.messages)}", name=executed.tool, arguments=dict(executed.arguments))
        self.messages.append(Message(role="assistant", tool_calls=(call,)))
        answer = executed.answer
        self.messages.append(
            Message(role="tool", content=answer.content, tool_call_id=call.id, error=answer.error, wrote=answer.wrote)
        )
        if answer.wrote and executed.state is not None:
            self.states.append(executed.state)


@dataclass(kw_only=True)
class Conversation:
    """A conversation of acts on rows, right or with one thing wrong; `made` are its calls in order."""

    transcript: Transcript
    states: tuple[State, ...] = ()


def conversation(
    book: Rulebook,
    acts: Sequence[Act],
    executed: Mapping[str, ExecutedCall],
    arguments: Mapping[str, dict[str, Any]],
    wrong: Deviation | None = None,
) -> Conversation:
    """Write the conversation of acts down; `made` and `arguments` have each call by `key_of`.

    A call that was made in an earlier act is not made again, unless a wrong run does.
    """
    writer, done, number = _Writer(), set[str](), 0
    for at, act in enumerate(acts):
        here = wrong if wrong is not None and wrong.act == at else None
        wanted = arguments[key_of(act.request)]
        values = [value for _, value in scalars(wanted)]
        writer.user("request", f"Please: {readable(act.request.tool)}, {_listed(values)}.")
        for call in act.calls:
            key = key_of(call)
            if key in done and call != act.request:
                continue
            is_skipped = wrong is not None and wrong.kind == "skipped" and wrong.call == number
            number += 1
            done.add(key)
            if is_skipped:
                continue
            if call == act.request and act.asked and not (here and here.kind == "unasked"):
                _ask(book, writer, call, arguments[key], [executed[one] for one in done if one in executed])
                is_no = here is not None and here.kind == "declined"
                writer.user("decline" if is_no else "confirm", "No, leave it." if is_no else "Yes, please.", values)
            writer.call(executed[key])
        if act.ending == "declined":
            _ask(book, writer, act.request, wanted, [executed[one] for one in done if one in executed])
            writer.user("decline", "No, leave it.", values)
        if here and here.kind in ("forbidden", "declined") and act.ending != "done":
            writer.call(executed[key_of(act.request)])
        writer.agent(";\n".join([*_words_of(act, here), "That is all."]))
    return Conversation(transcript=Transcript(messages=tuple(writer.messages)), states=tuple(writer.states))


def _words_of(act: Act, wrong: Deviation | None) -> list[str]:
    """Give what is said at the end of an act, but for what a wrong run leaves out; what is due where it is done."""
    if wrong is not None and wrong.kind in ("forbidden", "declined") and act.ending != "done":
        return list(dict.fromkeys((*act.words, *act.due)))
    left_out = wrong.text if wrong is not None and wrong.kind == "unsaid" else None
    return [word for word in act.words if word != left_out]


def deviations(acts: Sequence[Act]) -> Iterator[Deviation]:
    """Give each single thing that may go wrong in a run of acts, as far as its requests and rows offer it."""
    done, number = set[str](), 0
    for at, act in enumerate(acts):
        for call in act.calls:
            key = key_of(call)
            if key in done and call != act.request:
                continue
            if call != act.request:
                yield Deviation(kind="skipped", act=at, call=number)
            done.add(key)
            number += 1
        if act.ending == "declined":
            yield Deviation(kind="declined", act=at)
        elif act.ending in ("refused", "unproven"):
            yield Deviation(kind="forbidden", act=at)
        elif act.asked:
            yield from (Deviation(kind="unasked", act=at), Deviation(kind="declined", act=at))
        yield from (Deviation(kind="unsaid", act=at, text=word) for word in act.words)


def key_of(request: Request) -> str:
    """Give what equal calls share."""
    return f"{request.tool}/{request.values!r}"


def _ask(
    book: Rulebook, writer: _Writer, call: Request, arguments: Mapping[str, Any], before: Sequence[ExecutedCall]
) -> None:
    """Ask for a yes, stating every value of the call and each term that a rule says the user must hear."""
    terms: list[Any] = []
    for around, term in book.needs.terms(ToolCall(name=call.tool, arguments=dict(arguments))):
        for one in reversed(before):
            if book.needs.is_about(around, ToolCall(name=one.tool, arguments=dict(one.arguments))):
                terms += led_in(term, one)
                break
    values = [value for _, value in scalars([dict(arguments), *terms])]
    writer.agent(f"I would now make this change: {readable(call.tool)}, {_listed(values)}. Shall I proceed?")


def led_in(reference: Mapping[str, Any], executed: ExecutedCall) -> list[Any]:
    try:
        return [led_to(reference, dict(executed.arguments), lambda: decoded(executed.answer.content))]
    except NotThereError:
        return []


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(map(str, values))
