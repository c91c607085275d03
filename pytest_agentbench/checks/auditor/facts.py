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
from pytest_agentbench.core.json_values import decoded, leaves, same, to_json
from pytest_agentbench.core.run import Judgement, Run
from pytest_agentbench.core.spoken import states
from pytest_agentbench.core.transcript import CallRecord
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
        writes = [one for one in run.calls if may_write(run, one)]
        self._writes = [one for one in writes if not one.failed]
        self._tried = any(one.failed for one in writes)

    # calls behind a claim

    def failed_call(self, claim: Claim) -> str | None:
        """Name the call that a claim rests on, where it failed and no equal call of the agent succeeded."""
        record = self._numbered(claim.call)
        if record is None or not record.failed or not may_write(self._run, record):
            return None
        name, arguments = record.call.name, record.call.arguments
        return None if any(_is_call(one, name, arguments) for one in self._writes) else name

    def unheld(self, claim: Claim) -> str | None:
        """Say what no successful call that may write holds: a value of the claim that the run knows, or anything.

        A claim without such a value is compared only where such a call was tried or expected, and none succeeded. A
        claim in a turn in which the agent handed over is compared with nothing.
        """
        is_due = self._tried or any(call is not None and call.status != "extra_write" for call in self.lacks.values())
        can_write = any(spec.kind != "read" for spec in self._run.toolset.of("assistant"))
        if not self._run.calls_visible or not (can_write or is_due):
            return None
        handoffs = [index for index, event in self._run.transcript.events if event.kind == "handoff"]
        if any(self._run.transcript.turns[index] == claim.turn for index in handoffs):
            return None  # what it says that it passed on may be what it handed over
        # what has a digit in a value, without its unit or currency; the whole where nothing has
        parts = {value: [token.text for token in tokens(value)] or [value] for value in claim.values}
        lacking = [value for value in claim.values if any(map(self._is_missing, parts[value]))]
        if lacking:
            return f"no call that writes and succeeded holds {', '.join(map(repr, lacking[:3]))}"
        is_idle = is_due and not (claim.values or self._writes or handoffs)
        return "no call that writes succeeded" if is_idle else None

    def unknown_value(self, claim: Claim) -> str | None:
        """Give a value in the words of a claim that code finds nowhere in what the agent may know."""
        stated = {token.text for line in claim.quote.splitlines() for token in tokens(line)}
        values = (flag.value for flag in self._judgement.flags if flag.kind == "value")
        return next((value for value in values if value in stated), None)

    def only_denied(self, claims: Iterable[Claim]) -> list[tuple[Claim, str]]:
        """Give each info to tell that the agent's words state only where it denies it, with the claim that does.

        A denial that is borne out (*after 30 days no refund is possible*) tells what there is to tell.
        """
        denials = [claim for claim in claims if claim.denies and claim.support not in ("call", "told")]
        rest = [plain_marks(text) for _, text in self._run.transcript.texts("assistant")] if denials else []
        for way in (way for claim in denials for way in ways_of(claim.quote)):
            rest = [text.replace(way, " ") for text in rest]
        found = []
        for info in self._run.scenario.communicate_info if denials else ():
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
        for one in self._judgement.findings:
            if one.kind == "communicate" and one.passed is False and one.required:
                found["told", one.expected] = None
        return found

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
        if run.expected_state is not None or run.unreplayed or run.down or run.broken_tools or run.useless_tools:
            return set()
        worked = {record.call.name for record in run.calls if not record.failed}
        failed = {lack: call for lack, call in self.lacks.items() if call is not None and call.status == "tool_failed"}
        return {lack for lack, call in failed.items() if call.tool not in worked}

    @cached_property
    def left_by_user(self) -> bool:
        """Whether something is unfinished, and no words of the agent follow the user's last turn, or its leaving."""
        turns = [one.role for one in self._run.transcript.messages if one.text.strip() or one.is_wordless]
        last = [role for role in turns if role in ("user", "assistant")][-1:]
        return bool(self.unfinished) and last == ["user"]

    @cached_property
    def from_nowhere(self) -> dict[Lack, object]:
        """Everything that is lacking, with its first value, where nobody can know the values of all of it.

        Those are infos to tell, and arguments that the agent gave otherwise; any other lack has another cause.
        """
        shown = {value_text(value): value for value in wanted_from_nowhere(self._run, self._judgement.calls)}
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
        goal = "\n".join(self._run.scenario.user_texts)
        for lack, call in self.lacks.items():
            if call is None or call.turn is None or call.actual is None:
                continue
            if call.status == "wrong_arguments":
                values: list[Any] = [actual for _, actual in call.differing.values()]
            elif call.status == "extra_write":
                values = [value for value in leaves(call.actual) if not states(value, goal, self._locale)]
            else:
                continue
            before = [one for one in seen if one.turn < call.turn]
            by = [next((one for one in before if states(value, one.quote, self._locale)), None) for value in values]
            first = by[0] if by and all(by) else None
            if first is not None and not any(states(value, goal, self._locale) for value in values):
                found[lack] = first
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
        made = {place: turns[one.turn] for one in agreed if (place := self.place(one)) is not None}
        found: dict[Lack, UserTurnObservation] = {}
        for lack, call in self.lacks.items():
            if call is not None and call.status in ("extra_write", "wrong_arguments"):
                is_it = (by for at, by in made.items() if _is_call(self._run.calls[at], call.tool, call.actual))
                found.update((lack, by) for by in list(is_it)[:1])
        for first in list(found.values())[:1]:
            left = ("not_attempted", "substituted")
            found |= {lack: first for lack, call in self.lacks.items() if call is not None and call.status in left}
        return found

    def is_acted(self, turn: int) -> bool:
        """Whether the user acts out a modifier in a turn, as it was told to."""
        messages = zip(self._run.transcript.turns, self._run.transcript.messages, strict=True)
        return any(message.shows for at, message in messages if at == turn)

    def place(self, consent: Consent) -> int | None:
        """Give the position among the agent's calls of the call that a consent is about."""
        record = self._numbered(consent.call)
        return next((place for place, one in enumerate(self._run.calls) if one is record), None)

    def _numbered(self, number: int | None) -> CallRecord | None:
        records = self._run.transcript.trajectory
        return records[number - 1] if number is not None and 1 <= number <= len(records) else None

    # which values the run knows

    def _is_missing(self, value: str) -> bool:
        """Whether the run knows a value, and no call that may write and succeeded holds it."""
        if value not in self._missing:  # claims are of the same few values
            is_held = any(self._holds(record, value) for record in self._writes)
            self._missing[value] = not is_held and self._is_known(value)
        return self._missing[value]

    def _holds(self, record: CallRecord, value: str) -> bool:
        """Whether arguments or result of a call hold a value, or the value spells one of the arguments."""
        given = f"{dumps(record.call.arguments)}\n{record.answer}"[:_LONGEST]
        if states(value, given, self._locale):
            return True
        return any(states(leaf, value, self._locale) for leaf in leaves(to_json(record.call.arguments)))

    def _is_known(self, value: str) -> bool:
        """Whether the run knows a value: one with a digit that somebody said, or all of what some call holds."""
        said, whole = self._known
        return states(value, said, self._locale) if any(map(str.isdigit, value)) else _folded(value) in whole

    @cached_property
    def _known(self) -> tuple[str, set[str]]:
        """What user, calls and results hold, and what is expected: as one text, and whole values that are texts."""
        messages = self._run.transcript.messages
        arguments: list[Any] = [call.arguments for message in messages for call in message.tool_calls]
        arguments += [want.arguments for want in self._run.scenario.expected_calls]
        texts = [message.text for message in messages if message.role in ("user", "tool")]
        given = [decoded(one.result.content) for one in self._run.transcript.trajectory if one.result is not None]
        values = (leaf for one in (*arguments, *given) for leaf in leaves(to_json(one)))
        whole = {_folded(leaf) for leaf in values if isinstance(leaf, str)}
        return "\n".join([*texts, *map(dumps, arguments)])[:_LONGEST], whole


def _is_call(record: CallRecord, name: str, arguments: object) -> bool:
    return record.call.name == name and same(to_json(record.call.arguments), to_json(arguments))


def _folded(text: str) -> str:
    return plain_marks(text).casefold()
