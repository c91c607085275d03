"""The scripted user: says its lines, gives what it knows when asked, confirms what it wants, and closes.

It is deterministic, needs no model, and understands English and French by general rules of language. What it does with
an agent's message is, first that applies:

1. hand-over to a person: close; an empty or deaf message: repeat the last words once, then go on
2. a confirmation that differs from goal, lines or known values: *no* and what it wants, even where the script says yes
3. values asked for: the next line if it holds one of them, else all that it knows, "I do not know" for unknown info
4. a yes-or-no question: asked again, the same answer; else a next line that is one, *no* to unwanted extras, or *yes*
5. a choice: the option that its own words name; unknown info that the question is about: "I do not know"
6. anything else: the next line. Without lines: close when answered, and with blame *user* when a question is open
"""

from dataclasses import dataclass

from pytest_agentbench.core.acts import Act, ActKind
from pytest_agentbench.core.conversation import Stop, UserTurn, View
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.text import shorten
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.users import answers, heard
from pytest_agentbench.users.asked import Asked, asked
from pytest_agentbench.users.choice import choose
from pytest_agentbench.users.confirmation import asks_to_confirm, describe, difference, unwanted_extra
from pytest_agentbench.users.known_info import Knowledge, knowledge_of
from pytest_agentbench.users.phrases import Language, is_answer, language_of
from pytest_agentbench.users.repeated import answered_before
from pytest_agentbench.users.script import Exchange, Script, call_of, lines_of, spoken

REPEATS = 2
"""How often the user says the same thing in a row before it goes on."""


BARE_WORDS = 3
"""Words up to which a yes, a no or a greeting says nothing else."""


@dataclass(frozen=True)
class _Said:
    """A reply of the user's own with what it means, or its next line; None where the user cannot say."""

    text: str = ""
    line: bool = False
    kind: ActKind | None = "inform"


_NEXT_LINE = _Said(line=True)


class ScriptedUser:
    """A simulated user without a model; one per run (implements `core.seams.User`)."""

    def __init__(self) -> None:
        self._script = Script()

    async def reply(self, view: View) -> UserTurn:
        """Say the next line or answer the agent's last message; see the module for the order of rules.

        Stops with reason `done`, `handed over`, `ignored` (STALLED) or, with blame *user*, what could not be answered;
        with blame *scenario* where there is neither a line nor a goal.
        """
        view = view.model_copy(update={"messages": view.messages[view.begun :], "begun": 0})
        lines = lines_of(view)
        said = spoken(view.messages)
        left = lines[self._script.position(lines, said) :]
        if not said:
            decided: _Said | Stop | UserTurn = (
                _NEXT_LINE if left else Stop(reason="nothing to say", blame=Blame.SCENARIO)
            )
        else:
            decided = _Answer(view, left, self._script.exchanges(view.messages)).decide()
        if isinstance(decided, Stop):
            return UserTurn(stop=decided)
        if isinstance(decided, UserTurn):
            return decided
        if not decided.line:
            return self._say(decided.text, view, kind=decided.kind, is_line=False)
        # until a line's own label is read: the language file's plain yes and no are not known to be one here
        return self._say(left[0], view, kind=None if is_bare_answer(left[0]) else "request", is_line=True)

    def _say(self, text: str, view: View, *, kind: ActKind | None, is_line: bool) -> UserTurn:
        call = call_of(text, view) if is_line else None
        message = Message(role="user", tool_calls=(call,)) if call else Message(role="user", content=text)
        self._script.remember(message, is_line=is_line)
        acts = (Act(kind=kind),) if kind else None
        return UserTurn(text=message.text, acts=acts, tool_calls=message.tool_calls)


class _Answer:
    """The decision about one message of the agent."""

    def __init__(self, view: View, left: tuple[str, ...], exchanges: tuple[Exchange, ...]) -> None:
        self._view = view
        self._left = left
        self._exchanges = exchanges
        self._said = tuple(exchange.said for exchange in exchanges)
        self._text = last_words(view.messages)
        self._known: Knowledge = knowledge_of(view)
        self._language: Language = language_of(" ".join([*view.says, view.goal]), self._text)

    def decide(self) -> _Said | Stop | UserTurn:
        """Give the reply, or the decision to close."""
        last = self._view.messages[-1]
        if last.role == "tool" and last.requestor == "user":
            return _NEXT_LINE if self._left else _Said(last.text.strip() or self._language.say_wait)
        decided = self._apply_rules()
        if isinstance(decided, _Said) and not decided.line and self._said[-REPEATS:] == (decided.text,) * REPEATS:
            return self._go_on()
        return decided

    def _apply_rules(self) -> _Said | Stop | UserTurn:
        if not self._text.strip():
            return _Said(self._said[-1], kind=None)
        if heard.hands_over(self._text):
            return Stop(reason="handed over")
        wants = asked(self._text, self._known.free)
        confirming = asks_to_confirm(self._text)
        decided = self._refuse() if confirming else None
        if decided is None and wants:
            decided = self._give(wants)
        if decided is None and confirming:
            decided = self._confirm()
        return decided or self._choose() or self._not_known() or self._continue(wants)

    def _refuse(self) -> _Said | None:
        differs = difference(self._text, self._view, self._known)
        if differs is None:
            return None
        if not differs.wanted:
            return _Said(self._language.say_no_extra, kind="decline")
        english = self._language.code == "en"
        wanted = describe(differs.kind, differs.wanted) if english else differs.wanted
        return _Said(self._language.say_no.format(wanted=wanted, found=differs.found), kind="decline")

    def _give(self, wants: Asked) -> _Said | None:
        """Answer the values asked for; None where neither known nor declared unknown."""
        if self._left and answers.holds_value(self._left[0], wants.kinds, self._known):
            return _NEXT_LINE
        text = answers.values(wants, self._text, self._known, self._view, self._language)
        if text is None:
            return None
        rest = self._text
        for segment in wants.where:
            rest = rest.replace(segment, " ")
        if asks_to_confirm(rest) and not unwanted_extra(rest, self._view):
            return _Said(f"{self._language.say_yes} {text}", kind="confirm")
        return _Said(text)

    def _confirm(self) -> _Said | None:
        before = answered_before(self._text, self._exchanges, self._left[0] if self._left else None)
        if before is not None:
            return _Said(before, kind="confirm" if before == self._language.say_yes else None)
        if self._left and is_answer(self._left[0]):
            return _NEXT_LINE
        chosen = self._choose()
        if chosen is not None:
            return chosen
        told = answers.yes_or_no(self._text, self._known)
        if told is False or (told is None and unwanted_extra(self._text, self._view)):
            return _Said(self._language.say_no_extra, kind="decline")
        return _Said(self._language.say_yes, kind="confirm")

    def _choose(self) -> _Said | None:
        option = choose(self._text, self._view)
        return None if option is None else _Said(self._language.say_choice.format(value=option))

    def _not_known(self) -> _Said | None:
        text = answers.not_known("\n".join(heard.open_parts(self._text)), self._view)
        return None if text is None else _Said(text)

    def _continue(self, wants: Asked) -> _Said | Stop | UserTurn:
        """Go on where the message asks for nothing that the user can give."""
        if heard.only_greets(self._text) and not wants:
            if len(self._said) > 1 or len(self._said[0].split()) > BARE_WORDS:
                return _Said(self._said[-1], kind=None)
            return _NEXT_LINE if self._left else Stop(reason="done")  # a greeting was answered by one
        if heard.promises(self._text) and self._said[-1] != self._language.say_wait:
            return _Said(self._language.say_wait)
        if self._left and not (wants.kinds and is_bare_answer(self._left[0])):
            return _NEXT_LINE
        waiting = heard.open_parts(self._text)
        fact = answers.fact("\n".join(waiting), self._view, self._known)
        fact = fact or answers.identifiers("\n".join(waiting), self._said, self._known, self._language)
        if fact is not None:
            return _Said(fact)
        if wants or waiting:
            asking = " ".join([*wants.where, *waiting[:1]][:1])
            return Stop(reason=f"the user cannot answer: {shorten(asking, 200)!r}", blame=Blame.USER)
        closing = self._language.say_closing if heard.offers_more(self._text) else ""
        return UserTurn(text=closing, stop=Stop(reason="done"))

    def _go_on(self) -> _Said | Stop:
        """Stop repeating: say the next line, or give up."""
        return _NEXT_LINE if self._left else Stop(reason="ignored", termination=Termination.STALLED)


def last_words(messages: tuple[Message, ...]) -> str:
    """Give what the agent said since the user's last message."""
    words: list[str] = []
    for message in reversed(messages):
        if message.role == "user":
            break
        if message.role == "assistant" and message.text.strip():
            words.append(message.text)
    return "\n".join(reversed(words))


def is_bare_answer(line: str) -> bool:
    """Tell whether a line is no more than a yes or a no, which answers no question for a value."""
    return is_answer(line) and len(line.split()) <= BARE_WORDS
