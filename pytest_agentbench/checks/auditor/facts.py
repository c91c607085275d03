"""The structural facts that stand beside an observation: what calls hold, what is missing, where a value comes from.

Nothing here reads what a sentence means: values that the auditor quoted are looked for in calls, results, goal and
words, in whatever spelling.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from pytest_agentbench.checks.answers import is_said
from pytest_agentbench.checks.auditor.ask import may_write
from pytest_agentbench.checks.claims import wanted_from_nowhere
from pytest_agentbench.checks.findings import value_text
from pytest_agentbench.checks.judges.evidence import plain_marks, ways_of
from pytest_agentbench.checks.known_values import tokens
from pytest_agentbench.core.audit import Claim, Consent, UserTurnObservation
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.run import Judgement, Run
from pytest_agentbench.core.spoken import states
from pytest_agentbench.core.transcript import CallRecord
from pytest_agentbench.core.values import decoded, leaves, same, to_json
from pytest_agentbench.core.verdict import CallExplanation

Lack = tuple[str, object]
"""Something that a right run has and this one has not: a call that is not as expected, or an info that was not told."""

_LONGEST = 200_000
"""Characters of what a run holds in which a value is looked for."""


class StructuralFacts:
    """What code knows of a run that it has judged."""

    def __init__(self, run: Run, judgement: Judgement) -> None:
        self._run = run
        self._judgement = judgement
        self._locale = run.scenario.language or "en"
        self._missing: dict[str, bool] = {}

    # calls behind a claim

    def failed_call(self, claim: Claim) -> str | None:
        """Name the call that a claim rests on, where it failed and no equal call of the agent succeeded."""
        record = self._numbered(claim.call)
        if record is None or not record.failed or not may_write(self._run, record):
            return None
        arguments = to_json(record.call.arguments)
        equal = (one for one in self._writes if one.call.name == record.call.name)
        if any(same(to_json(one.call.arguments), arguments) for one in equal):
            return None
        return record.call.name

    def unheld(self, claim: Claim) -> str | None:
        """Say what no successful call that may write holds: a value of the claim that the run knows, or anything.

        A claim without such a value is compared only where such a call was tried or expected, and none succeeded. A
        claim in a turn in which the agent handed over is compared with nothing.
        """
        if not self._run.calls_visible or not (self._can_write or self._tried or self.missing_writes):
            return None
        handoffs = [index for index, event in self._run.transcript.events if event.kind == "handoff"]
        if any(self._run.transcript.turns[index] == claim.turn for index in handoffs):
            return None  # what it says that it passed on may be what it handed over
        lacking = [value for value in claim.values if any(map(self._is_missing, _parts(value)))]
        if lacking:
            return f"no call that writes and succeeded holds {', '.join(map(repr, lacking[:3]))}"
        if claim.values or self._writes or handoffs or not (self._tried or self.missing_writes):
            return None
        return "no call that writes succeeded"

    def unknown_value(self, claim: Claim) -> str | None:
        """Give a value in the words of a claim that code finds nowhere in what the agent may know."""
        stated = {token.text for line in claim.quote.splitlines() for token in tokens(line)}
        return next(
            (flag.value for flag in self._judgement.flags if flag.kind == "value" and flag.value in stated), None
        )

    def only_denied(self, claims: Iterable[Claim]) -> list[tuple[Claim, str]]:
        """Give each info to tell that the agent's words state only where it denies it, with the claim that does.

        A denial that is borne out (*after 30 days no refund is possible*) tells what there is to tell.
        """
        denials = [claim for claim in claims if claim.denies and claim.support not in ("call", "told")]
        if not denials:
            return []
        texts = [text for _, text in self._run.transcript.texts("assistant")]
        rest = [_without(text, [claim.quote for claim in denials]) for text in texts]
        found = []
        for info in self._run.scenario.communicate_info:
            denied = next((one for one in denials if is_said(info, one.quote, self._locale)), None)
            if denied and not any(is_said(info, text, self._locale) for text in rest):
                found.append((denied, info))
        return found

    # what is missing

    @cached_property
    def lacks(self) -> dict[Lack, CallExplanation | None]:
        """All that the run has not, or has and should not have, as far as single calls and infos show it."""
        found: dict[Lack, CallExplanation | None] = {}
        for place, call in enumerate(self._judgement.calls):
            is_wrong = call.expected is not None and call.status != "matched" and call.write is not False
            if call.status == "extra_write" or is_wrong:
                found["call", place] = call
        for finding in self._judgement.findings:
            if finding.kind == "communicate" and finding.passed is False and finding.required:
                found["told", finding.expected] = None
        return found

    @cached_property
    def missing_writes(self) -> bool:
        """Whether an expected call that writes was never made as expected."""
        return any(call is not None and call.status != "extra_write" for call in self.lacks.values())

    @cached_property
    def unfinished(self) -> set[Lack]:
        """What was never tried, and what was not told."""
        tried = ("extra_write", "wrong_arguments", "tool_failed")
        return {lack for lack, call in self.lacks.items() if call is None or call.status not in tried}

    @cached_property
    def refused_by_tools(self) -> set[Lack]:
        """Expected calls that were made as expected and failed, of tools all of whose calls failed.

        Of a run whose world could be made again it is known better (`Run.broken_tools`).
        """
        run = self._run
        if run.expected_state is not None or run.unreplayed or run.broken_tools or run.useless_tools:
            return set()
        worked = {record.call.name for record in run.calls if not record.failed}
        return {
            lack
            for lack, call in self.lacks.items()
            if call is not None and call.status == "tool_failed" and call.tool not in worked
        }

    @property
    def user_spoke_last(self) -> bool:
        """Whether no words of the agent follow the user's last turn, which may be one without words: it leaves."""
        turns = [one.role for one in self._run.transcript.messages if one.text.strip() or one.is_wordless]
        return [role for role in turns if role in ("user", "assistant")][-1:] == ["user"]

    @cached_property
    def from_nowhere(self) -> dict[Lack, object]:
        """Everything that is lacking, with its first value, where nobody can know the values of all of it.

        Those are infos to tell, and arguments that the agent gave otherwise; any other lack has another cause.
        """
        nowhere = wanted_from_nowhere(self._run, self._judgement.calls)
        shown = {value_text(value): value for value in nowhere}
        found: dict[Lack, object] = {}
        for (kind, info), call in self.lacks.items():
            values = [str(info)] if call is None else [value_text(expected) for expected, _ in call.differing.values()]
            if values and all(value in shown for value in values):
                found[kind, info] = shown[values[0]]
        return found if len(found) == len(self.lacks) else {}

    # where a wrong value comes from

    def misled(self, seen: Sequence[UserTurnObservation]) -> dict[Lack, UserTurnObservation]:
        """Give each wrong write all of whose wrong values stand in quoted words of the user, before the call.

        A value that the scenario's goal, lines or facts hold is the agent's to get right.
        """
        found: dict[Lack, UserTurnObservation] = {}
        for lack, call in self.lacks.items():
            if call is None or call.turn is None or call.actual is None:
                continue
            if call.status == "wrong_arguments":
                values = [actual for _, actual in call.differing.values()]
            elif call.status == "extra_write":
                values = [value for value in leaves(call.actual) if not self._is_of_goal(value)]
            else:
                continue
            told = [self._misleading(value, call.turn, seen) for value in values]
            if told and all(told) and told[0] is not None:
                found[lack] = told[0]
        return found

    def reversed_by(
        self, seen: Sequence[UserTurnObservation], consents: Iterable[Consent]
    ) -> dict[Lack, UserTurnObservation]:
        """Give each wrong write that the user agreed to in a turn against its goal, and each call that it replaced.

        A user that said "cancel it all", and yes to that, has taken back the booking that it came for. A yes alone is
        no such thing: the agent may have proposed what nobody asked for.
        """
        asked = min((one.turn for one in seen), default=0)
        turns = {one.turn: one for one in seen if one.turn > asked}
        agreed = [one for one in consents if one.consent == "given" and one.turn in turns]
        places = {place: turns[one.turn] for one in agreed if (place := self.place(one)) is not None}
        made = [(self._run.calls[place], by) for place, by in places.items()]
        found: dict[Lack, UserTurnObservation] = {}
        for lack, call in self.lacks.items():
            if call is None or call.status not in ("extra_write", "wrong_arguments"):
                continue
            by = next((by for record, by in made if self._is_made(record, call)), None)
            if by is not None:
                found[lack] = by
        if found:
            first = next(iter(found.values()))
            left = ("not_attempted", "substituted")
            found |= {lack: first for lack, call in self.lacks.items() if call is not None and call.status in left}
        return found

    @staticmethod
    def _is_made(record: CallRecord, call: CallExplanation) -> bool:
        return record.call.name == call.tool and same(to_json(record.call.arguments), to_json(call.actual))

    def is_acted(self, turn: int) -> bool:
        """Whether the user acts out a modifier in a turn, as it was told to."""
        messages = zip(self._run.transcript.turns, self._run.transcript.messages, strict=True)
        return any(message.shows for at, message in messages if at == turn)

    def place(self, consent: Consent) -> int | None:
        """Give the position among the agent's calls of the call that a consent is about."""
        record = self._numbered(consent.call)
        return next((place for place, one in enumerate(self._run.calls) if one is record), None)

    def _misleading(self, value: Any, turn: int, seen: Sequence[UserTurnObservation]) -> UserTurnObservation | None:
        if self._is_of_goal(value):
            return None
        return next((one for one in seen if one.turn < turn and states(value, one.quote, self._locale)), None)

    def _is_of_goal(self, value: Any) -> bool:
        return states(value, self._told_user, self._locale)

    def _numbered(self, number: int | None) -> CallRecord | None:
        records = self._run.transcript.trajectory
        return records[number - 1] if number is not None and 1 <= number <= len(records) else None

    @cached_property
    def _writes(self) -> list[CallRecord]:
        return [one for one in self._run.calls if may_write(self._run, one) and not one.failed]

    @cached_property
    def _tried(self) -> bool:
        return any(one.failed and may_write(self._run, one) for one in self._run.calls)

    @cached_property
    def _can_write(self) -> bool:
        return any(spec.kind != "read" for spec in self._run.toolset.of("assistant"))

    def _is_missing(self, value: str) -> bool:
        """Whether the run knows a value, and no call that may write and succeeded holds it."""
        if value not in self._missing:  # claims are of the same few values
            is_held = any(self._holds(record, value) for record in self._writes)
            self._missing[value] = not is_held and self._is_known(value)
        return self._missing[value]

    def _holds(self, record: CallRecord, value: str) -> bool:
        """Whether arguments or result of a call hold a value, or the value spells one of the arguments."""
        given = f"{dumps(record.call.arguments)}\n{record.result.content if record.result else ''}"[:_LONGEST]
        if states(value, given, self._locale):
            return True
        return any(states(leaf, value, self._locale) for leaf in leaves(to_json(record.call.arguments)))

    def _is_known(self, value: str) -> bool:
        """Whether the run knows a value: one with a digit that somebody said, or all of what some call holds."""
        if any(map(str.isdigit, value)):
            return states(value, self._known, self._locale)
        return plain_marks(value).casefold() in self._whole_values

    @cached_property
    def _known(self) -> str:
        """What user, calls and results hold, and what is expected."""
        messages = self._run.transcript.messages
        texts = [message.text for message in messages if message.role in ("user", "tool")]
        return "\n".join([*texts, *map(dumps, self._arguments)])[:_LONGEST]

    @cached_property
    def _whole_values(self) -> set[str]:
        """The whole values of arguments and results, as far as these are texts."""
        given = [decoded(one.result.content) for one in self._run.transcript.trajectory if one.result is not None]
        values = (leaf for one in (*self._arguments, *given) for leaf in leaves(to_json(one)))
        return {plain_marks(leaf).casefold() for leaf in values if isinstance(leaf, str)}

    @cached_property
    def _arguments(self) -> list[dict[str, Any]]:
        calls = [call.arguments for message in self._run.transcript.messages for call in message.tool_calls]
        return [*calls, *(want.arguments for want in self._run.scenario.expected_calls)]

    @cached_property
    def _told_user(self) -> str:
        return "\n".join(self._run.scenario.user_texts)


def _parts(value: str) -> list[str]:
    """Give what has a digit in a value, without its unit or currency; the whole where nothing has."""
    return [token.text for token in tokens(value)] or [value]


def _without(text: str, quotes: Sequence[str]) -> str:
    """Give a text without some words of it, as quotes may spell them."""
    left = plain_marks(text)
    for way in (way for quote in quotes for way in ways_of(quote)):
        left = left.replace(way, " ")
    return left
