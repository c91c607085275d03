"""Who sees what: what judges, the auditor and the critique of an ending are shown, cut here alone.

| shown                                               | auditor     | goal        | conversation | ending           |
|-----------------------------------------------------|-------------|-------------|--------------|------------------|
| what user and agent said                            | yes         | yes         | yes          | yes              |
| the agent's tool calls, arguments and results       | yes         | yes         | yes          | yes              |
| the user's own tool calls (dual control), results   | yes, marked | yes, marked | yes, marked  | yes, marked      |
| handoffs, and what guardrail or provider stopped    | yes         | yes         | yes          | yes              |
| the agent's system prompt, where it is known        | yes         | yes         | yes          | yes              |
| the suite's `now`, where it has one                 | yes         | yes         | yes          | no               |
| what changed in the state                           | yes         | yes         | yes          | where it is read |
| notes on calls: outcome, origin of arguments, use   | on request  | on request  | on request   | no               |
| how the conversation ended                          | FINISHED, … | FINISHED, … | FINISHED, …  | the reason given |
| the user's goal, or the ticket in place of a user   | yes         | yes         | no           | no               |
| texts of the run's policies without a rule          | with ids    | yes         | no           | no               |
| texts of its policies with a rule                   | yes         | no          | no           | no               |
| what a right run changes in the state, and tells    | yes         | yes         | no           | no               |
| the user's lines and instructions where they are its goal; what it knows and does not | yes | no | no | no        |
| the user's persona                                  | no          | no          | no           | no               |
| expected calls, and what deterministic checks found | no          | no          | no           | no               |

`Sees` names the second and the third column: a suite's judge of rubrics sees the goal unless it says otherwise; SCOPE
and SPUR see the conversation. Free text in which a τ² task's user is told everything at once is a goal for the auditor
alone: what is private cannot be told apart in it.

What the critique of an ending says goes to the simulated user, which must not see tools: `Evidence.not_heard` finds
what it would give away.

Everything here is untrusted text. It is shown between delimiters with a nonce that it does not contain, every line of
it behind a bar, so that no text can look like a turn, a heading or the end of the record.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Literal

from pytest_agentbench.checks.judges.call_notes import call_notes
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.json_values import JsonValue, to_json
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.scenario import Instructions, Scenario
from pytest_agentbench.core.state import State
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.environment.diff import diff

MOST = 6_000
"""Characters of one message, call or result that are shown; of the rest it is said how much it is."""

MOST_CHANGES = 60
"""Lines of changed state, policies, or things to tell that are shown."""

Party = Literal["user", "agent", "tool"]

_BAR = "| "
_TELLING = re.compile(r"[\d@_#]|[^\W\d_a-zà-öø-ÿ]")
"""What a word holds that may be a name or a value: digits, marks, capitals."""

_MARKS = str.maketrans(
    {**dict.fromkeys("‘’‚‛′`´", "'"), **dict.fromkeys("“”„‟«»″", '"'), **dict.fromkeys("‐‑‒–—―−", "-")}
)
"""Shapes of quotation marks and dashes that a model changes as it copies."""

_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]")
"""Letters of Thai, Lao, Burmese, Khmer, Japanese and Chinese, which put no space between words."""

_WORD = re.compile(r"\w[\w@.+#/-]*")
_BARS = re.compile(r"\n[ \t]*\|(?=[ \n]|\Z)")


@dataclass(frozen=True, kw_only=True)
class Piece:
    """One thing that was said, called or returned in a turn (from 1); `heard` says that the user knows it."""

    turn: int
    by: Party
    head: str
    text: str
    heard: bool


class Goal(Model):
    """What a judge that sees the goal is shown of a scenario, as text.

    `wants` is the user's goal, `knows` what it knows and does not. `policies` are texts, `ruled` those that code
    checks, `tools` what the agent's tools are said to do. `changes` say what a right run changes in the stored data
    (empty where that is not known), `tells` what the agent has to tell the user.
    """

    wants: str = ""
    knows: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    ruled: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    tells: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What a judge is shown of a conversation; `goal` is None where it sees the conversation alone.

    `now` is the time that the agent's clock showed, nothing where the suite does not set one.
    """

    pieces: tuple[Piece, ...]
    goal: Goal | None = None
    system: str = ""
    changes: tuple[str, ...] = ()
    ending: str = ""
    now: str = ""

    @property
    def last_turn(self) -> int:
        """The number of the last turn, 0 where nothing was said."""
        return self.pieces[-1].turn if self.pieces else 0

    def turns_with(self, quote: str, by: Party | None = None) -> tuple[int, ...]:
        """Give the turns in which `quote` stands word for word; none for a quote without words.

        With `by`, they are turns in which this party said or called something.

        White space, the shape of quotation marks and dashes, and dots at the ends do not matter, nor does whether the
        first letter is a capital.
        """
        ways = ways_of(quote)
        found = {piece.turn for piece, text in self._plain if any(_stands(way, text) for way in ways)}
        return tuple(sorted(turn for turn in found if by is None or self.is_by(by, turn)))

    def is_by(self, party: Party, turn: int) -> bool:
        """Whether a party said or called something in a turn."""
        return any(piece.turn == turn and piece.by == party for piece in self.pieces)

    def not_heard(self, text: str) -> list[str]:
        """Give the names and values in `text` that stand in what the user cannot know and in nothing that was said."""
        heard = _words(*(piece.text for piece in self.pieces if piece.heard))
        hidden = _words(self.system, *self.changes, *(piece.text for piece in self.pieces if not piece.heard))
        secret = {word.casefold() for word in hidden} - {word.casefold() for word in heard}
        return [word for word in _words(text) if _TELLING.search(word) and word.casefold() in secret]

    def record(self, nonce: str) -> str:
        """Give the record between its delimiters."""
        return f"BEGIN {nonce}\n{self._text}\nEND {nonce}"

    @cached_property
    def _text(self) -> str:
        return "\n".join(self._lines())

    @cached_property
    def _plain(self) -> tuple[tuple[Piece, str], ...]:
        return tuple((piece, plain_marks(piece.text)) for piece in self.pieces)

    def _lines(self) -> Iterator[str]:
        goal = self.goal or Goal()
        yield from _sections(
            ("What the user wants", (goal.wants,)),
            ("What the user knows", goal.knows),
            ("Policies that the agent has to keep", goal.policies),
            ("What the agent's tools are said to do, which the agent knows", goal.tools),
            ("Further policies, which are not asked about", goal.ruled),
            ("How the stored data differ after a right run", goal.changes),
            ("What the agent has to tell", goal.tells),
            ("The agent's instructions", (self.system,)),
            ("When the conversation took place", (self.now,)),
        )
        yield "# The conversation"
        for piece in self.pieces:
            yield f"[turn {piece.turn}] {piece.head}"
            yield from _barred(piece.text)
        changes = "\n".join(self.changes)
        yield from _sections(("What changed in the stored data", (changes,)), ("How it ended", (self.ending,)))


def new_nonce(text: str, random: Random) -> str:
    """Draw a nonce that stands nowhere in a text."""
    while (nonce := f"{random.getrandbits(64):016x}") in text:
        pass
    return nonce


def of_run(
    run: Run, *, system: str = "", ignore: Sequence[str] = (), notes: bool = False, goal: Goal | None = None
) -> Evidence:
    """Give what a judge sees of a closed run; `system` is the agent's system prompt, `ignore` as in comparing states.

    With `goal` the judge sees that, too. With `notes` it is also told of each call how it went, where its arguments
    come from, and whether its answer was of use. Why the conversation ended is not shown: the reason is the user's.
    """
    pieces = list(_pieces(run.transcript, run.scenario))
    given = call_notes(run.transcript, run.toolset) if notes else ()
    last = pieces[-1].turn if pieces else 0
    pieces += [Piece(turn=last, by="tool", head="noted", text=text, heard=False) for text in given]
    return Evidence(
        pieces=tuple(pieces),
        goal=goal,
        system=_shown(system),
        changes=tuple(_changes(run.initial_state, run.final_state, ignore)),
        ending=str(run.termination),
        now=run.now.isoformat() if run.now else "",
    )


def goal_of_run(run: Run, *, ignore: Sequence[str] = ()) -> Goal:
    """Give the goal of a run's scenario with the effects that are expected of it; `ignore` as in comparing states."""
    states = (run.initial_state, run.expected_state)
    return goal_of(run.scenario, run.policies, states, ignore=ignore)


def goal_of(
    scenario: Scenario,
    policies: Sequence[Policy],
    states: tuple[State | None, State | None],
    *,
    ignore: Sequence[str] = (),
) -> Goal:
    """Give the goal of a scenario; `states` are the initial one and that in which a right run ends, where known.

    Effects are shown, and never the calls that lead to them: another way may be as right. Policies with a rule are
    left out, since code decides them.
    """
    task, output = scenario.task, scenario.output
    told = task.user_scenario.instructions if task.user_scenario else None
    wants = told.reason_for_call if isinstance(told, Instructions) else ""
    tells = [*scenario.communicate_info, *(reply.contains for reply in scenario.replies if reply.contains)]
    return Goal(
        wants=_shown(wants or task.ticket or ""),
        policies=tuple(_shown(policy.text) for policy in policies if policy.rule is None),
        changes=tuple(_changes(*states, ignore)),
        tells=tuple(map(_shown, [*tells, *([_json(output)] if output else [])])),
    )


def of_audit(
    run: Run, *, system: str = "", ignore: Sequence[str] = (), notes: bool = False, policies: Sequence[Policy] = ()
) -> Evidence:
    """Give what the auditor sees of a closed run; `policies` are those without a rule that it is asked about."""
    goal, scenario = goal_of_run(run, ignore=ignore), run.scenario
    told = scenario.task.user_scenario.instructions if scenario.task.user_scenario else None
    # what a user without a goal is to say: its instructions as one text, else its lines
    wants = goal.wants or _shown(told if isinstance(told, str) else "\n".join(scenario.lines))
    tools = [
        f"{spec.name}: {shorten(' '.join(spec.description.split()), MOST // 10)}"
        for spec in run.toolset.of("assistant")
        if spec.description
    ]
    more = {
        "knows": _knowledge(scenario),
        "policies": (f"{one.id}: {one.text}" for one in policies),
        "ruled": (one.text for one in run.policies if one.rule is not None),
        "tools": tools,
    }
    shown = {name: tuple(map(_shown, texts)) for name, texts in more.items()}
    goal = goal.model_copy(update={"wants": wants, **shown})
    return of_run(run, system=system, ignore=ignore, notes=notes, goal=goal)


def of_ending(
    transcript: Transcript, *, reason: str, system: str = "", changes: tuple[State, State] | None = None
) -> Evidence:
    """Give what the critique of an ending sees of a conversation that a party just closed for `reason`.

    `changes` are the states before and now, where they can be read.
    """
    initial, now = changes or (None, None)
    return Evidence(
        pieces=tuple(_pieces(transcript)),
        system=_shown(system),
        changes=tuple(_changes(initial, now, ())),
        ending=_shown(reason),
    )


def squeezed(text: str) -> str:
    """Give the text as quotes are compared: runs of white space are one space, bars at line starts are dropped."""
    if "|" in text:
        text = _BARS.sub("\n", f"\n{text}")
    return " ".join(text.split())


def plain_marks(text: str) -> str:
    """Give the squeezed text with one shape of each letter, quotation mark and dash."""
    return unicodedata.normalize("NFKC", squeezed(text)).translate(_MARKS)


def is_quoted(quote: str, text: str) -> bool:
    """Whether a quote stands in what somebody said, as `Evidence.turns_with` finds it."""
    shown = plain_marks(_shown(text))
    return any(_stands(way, shown) for way in ways_of(quote))


def ways_of(quote: str) -> tuple[str, ...]:
    """Give the forms of a quote that are looked for, without the marks around it; none of one without words."""
    wanted = plain_marks(quote).strip("\"' ").removeprefix("...").removesuffix("...").strip("\"' ")
    if not any(char.isalnum() for char in wanted):
        return ()
    return tuple(dict.fromkeys((wanted, wanted[0].swapcase() + wanted[1:])))


def _stands(wanted: str, text: str) -> bool:
    """Tell whether a quote stands in a text as whole words: `no` does not stand in `nothing`.

    Scripts that put no space between words have no whole words to tell.
    """
    at = text.find(wanted)
    while at >= 0:
        before, after = text[:at][-1:], text[at + len(wanted) :][:1]
        if not (_goes_on(before, wanted[0]) or _goes_on(after, wanted[-1])):
            return True
        at = text.find(wanted, at + 1)
    return False


def _goes_on(outside: str, inside: str) -> bool:
    if not inside.isalnum() or not (outside.isalnum() or outside == "_"):
        return False
    return not (_UNSPACED.match(inside) or _UNSPACED.match(outside))


def _knowledge(scenario: Scenario) -> Iterator[str]:
    told = scenario.instructions
    yield from (f"{name}: {_json(value)}" for name, value in scenario.knows.items())
    yield from filter(None, (told.known_info, told.task_instructions))
    yield from (f"not known: {text}" for text in (*scenario.unknown, *filter(None, [told.unknown_info])))


def _pieces(transcript: Transcript, scenario: Scenario | None = None) -> Iterator[Piece]:
    calls = list(enumerate(transcript.trajectory, start=1))
    session = 1
    for index, (turn, message) in enumerate(zip(transcript.turns, transcript.messages, strict=True)):
        if message.session != session:
            session = message.session
            after = scenario.sessions[session - 1].after if scenario and scenario.sessions else ""
            begins = f"a new conversation of the same user begins, number {session}"
            text = f"{begins}, {after} later" if after else begins
            yield Piece(turn=turn, by="tool", head="it happened", text=text, heard=True)
        for event in message.events:
            yield Piece(turn=turn, by="tool", head="it happened", text=_shown(str(event)), heard=False)
        if message.role in ("user", "assistant") and message.text.strip():
            by: Party = "user" if message.role == "user" else "agent"
            yield Piece(turn=turn, by=by, head=f"the {by} says", text=_shown(message.text), heard=True)
        for number, record in (one for one in calls if one[1].message == index):
            own = record.call.requestor != "assistant"
            party: Party = "user" if own else "agent"
            marked = ", which the agent does not see" if own else ""
            call = record.call
            text = _shown(f"{call.name}({call.raw if call.raw is not None else _json(call.arguments)})")
            yield Piece(turn=turn, by=party, head=f"the {party} makes call {number}{marked}", text=text, heard=own)
            if record.result is not None:
                gave = f"call {number} {'failed' if record.failed else 'returned'}{marked}"
                yield Piece(turn=turn, by="tool", head=gave, text=_shown(record.result.content), heard=own)


def _sections(*parts: tuple[str, Sequence[str]]) -> Iterator[str]:
    for head, texts in parts:
        if not texts or texts == ("",):
            continue
        yield f"# {head}"
        for text in texts[:MOST_CHANGES]:
            yield from _barred(text)
        if len(texts) > MOST_CHANGES:
            yield from _barred(f"and {len(texts) - MOST_CHANGES} more")


def _words(*texts: str) -> list[str]:
    """Give the words of texts once each, without the marks that end them."""
    return list(dict.fromkeys(word.rstrip("@.+#/-") for text in texts for word in _WORD.findall(text)))


def _changes(initial: State | None, final: State | None, ignore: Sequence[str]) -> Iterator[str]:
    if initial is None or final is None:
        return
    differences = diff(initial, final, ignore)
    if not differences:
        yield "nothing"
    for one in differences[:MOST_CHANGES]:
        if one.extra:
            change = f"added {_json(one.actual)}"
        elif one.missing:
            change = f"removed, was {_json(one.expected)}"
        else:
            change = f"{_json(one.expected)} became {_json(one.actual)}"
        yield shorten(printable(f"{'.'.join(one.path) or 'everything'}: {change}"), MOST // 10)
    if len(differences) > MOST_CHANGES:
        yield f"and {len(differences) - MOST_CHANGES} more changes"


def _json(value: JsonValue | Mapping[str, JsonValue]) -> str:
    return json.dumps(to_json(value), ensure_ascii=False)


def _shown(text: str) -> str:
    """Give text as it is shown: what cannot be printed is escaped, and what is too long is cut, saying so."""
    safe = printable(text.strip(), newlines=True)
    if len(safe) <= MOST:
        return safe
    return f"{safe[:MOST]}\n(cut: {len(safe) - MOST} more characters)"


def _barred(text: str) -> Iterator[str]:
    yield from (f"{_BAR}{line}" for line in text.split("\n"))
