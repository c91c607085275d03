"""One set of policies becomes one event: symbols, rows, calls, user; or is refused with the stage and the reason."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.generation.policies.events.acts import Proposal, Scene
from pytest_agentbench.generation.policies.events.oracle import Oracle
from pytest_agentbench.generation.policies.events.performing import decide, perform
from pytest_agentbench.generation.policies.events.planning import plan
from pytest_agentbench.generation.policies.events.plans import Act, OracleError, Performed, Planned
from pytest_agentbench.generation.policies.events.rows import Made, RowMaker, RowsError
from pytest_agentbench.generation.policies.events.tables import OUTER_KEY, Schema
from pytest_agentbench.generation.policies.events.user import Told, leaks, told
from pytest_agentbench.generation.policies.events.vocabulary import NoWordsError, vocabulary_of
from pytest_agentbench.generation.policies.events.writers import ModelNarrator, ModelRower
from pytest_agentbench.generation.policies.roles import Roles
from pytest_agentbench.generation.policies.values import (
    Event,
    EventRejection,
    EventRow,
    ExtractedPolicy,
    PolicySet,
    Stages,
)

_ATTEMPTS = 3
"""Times that a set is tried with other rows."""
_HAPPENS = {
    "stranger": "",
    "second": ", for somebody else",
    "declined": ", and says no when asked",
    "failing": ", which fails",
    "corrected": ", and corrects a detail",
}


class RejectedEventError(Exception):
    """A set became no event."""

    def __init__(self, rejection: EventRejection) -> None:
        super().__init__(f"{rejection.stage}: {rejection.reason}: {rejection.detail}")
        self.rejection = rejection


@dataclass(kw_only=True)
class EventMaker:
    """Makes events; the roles that `writers` give to a model are played by it, the others by their twins."""

    oracle: Oracle
    rows: RowMaker
    seed: int = 0
    writers: Roles | None = None

    async def make(self, one: PolicySet, *, language: str = "en", by_key: bool = False) -> Event:
        """Give the event of a set; raise `RejectedEventError`. The same set and seed give the same event.

        `by_key` has the user name things by their keys instead of by what people call them.
        """
        policies = [policy for name in one.policies if (policy := self._policy(name)) is not None]
        last = EventRejection(set=one.id, stage="oracle", reason="not tried")
        for attempt in range(1, _ATTEMPTS + 1):
            random = Random(f"{self.seed}/{one.id}/{'+'.join(one.policies)}/{one.repeat}/{attempt}")  # noqa: S311 - a choice, no secret
            try:
                planned = await plan(self.oracle, one.policies, random)
                made = await self._filled(self.rows.make(self._cluster(planned), random), random)
                made = self.rows.changed(made, {act.focus: act.changes for act in planned.acts if act.changes})
                return await self._event(one, policies, planned, made, random, language, attempt, by_key)
            except OracleError as error:
                last = _rejected(one, "oracle", "no right run", str(error), attempt)
            except UnusableAnswerError as error:
                last = _rejected(one, "story", "badly worded", str(error), attempt)
            except NoWordsError as error:
                last = _rejected(one, "story", "no words in the user's language", str(error), attempt)
            except RowsError as error:
                last = _rejected(one, "rows", "inconsistent row", str(error), attempt)
        raise RejectedEventError(last)

    async def _event(  # noqa: PLR0917 - all of it is what an event is made of
        self,
        one: PolicySet,
        policies: Sequence[ExtractedPolicy],
        planned: Planned,
        made: Made,
        random: Random,
        language: str,
        attempt: int,
        by_key: bool,
    ) -> Event:
        rows = {place: row.values for place, row in made.fresh.items()}
        focuses = tuple(act.focus for act in planned.acts if act.owner is None)
        scene = Scene(samples=self.oracle.samples, rows=rows, root=planned.root, focuses=focuses, by_key=by_key)
        seeds = {act.focus: one.id for act in planned.acts}
        async with self.oracle.world.open(state_of_rows(made.rows, self.oracle.samples.schema, self._lists)) as opened:
            performed = await perform(self.oracle, planned, scene, opened, seeds, policies=one.policies)
        bindings = decide(self.oracle, one.policies, performed)
        tools = [spec.name for spec in self.oracle.tools]
        chat = self.writers.chat("narrator") if self.writers else None
        # a model words the draft anew, in whatever language
        words = None if chat else vocabulary_of(self.oracle.tools, self.oracle.policies, language)
        speech = self.oracle.speech
        user = told(performed, policies, bindings, scene, random, language=language, vocabulary=words, speech=speech)
        if chat is not None:
            user = await ModelNarrator(chat)(user, policies, tools, random, language=language)
        wrong = leaks(user, policies, tools)
        if wrong:
            raise OracleError(wrong[0])
        return event_of(one, planned, made, performed, bindings, user, language=language, attempts=attempt)

    async def _filled(self, made: Made, random: Random) -> Made:
        """Have a model fill the rows in, where one plays that role."""
        chat = self.writers.chat("rower") if self.writers else None
        if chat is None:
            return made
        rower = ModelRower(chat, self.rows.samples, self.rows.validators, self.rows.ground)
        return await rower(made, random)

    @property
    def _lists(self) -> dict[str, list[dict[str, Any]]]:
        return self.oracle.samples.rows

    def _cluster(self, planned: Planned) -> Any:
        own = (act.focus for act in planned.acts if act.owner is None and act.focus != planned.root)
        places = tuple(dict.fromkeys(own))
        extra = () if places else tuple(self.oracle.samples.focuses(planned.root, self.oracle.main)[:1])
        return self.oracle.samples.cluster(planned.root, *(places or extra))

    def _policy(self, name: str) -> ExtractedPolicy | None:
        return next((one for one in self.oracle.policies if one.id == name), None)


def event_of(  # noqa: PLR0917 - all of it is what an event is
    one: PolicySet,
    planned: Planned,
    made: Made,
    performed: Performed,
    bindings: Any,
    user: Told,
    *,
    language: str,
    attempts: int,
) -> Event:
    """Put an event together, with its stages as provenance (Table 3)."""
    asking = made.fresh[planned.root].symbol
    symbolic = "; ".join(
        f"{asking} asks for {act.tool} about {_about(act, made)}"
        + (_HAPPENS.get(act.occasion.kind, "") if act.occasion else "")
        + (", which policies refuse" if act.refused_by else "")
        for act in planned.acts
    )
    return Event(
        id=one.id,
        set=one,
        stages=Stages(
            level=one.requested,
            policies=one.policies,
            symbolic_description=symbolic,
            symbolic_variables=made.entities,
            scenario=user.goal,
        ),
        entities=made.entities,
        relations=made.relations,
        rows=made.rows,
        goal=user.goal,
        facts=user.facts,
        expected_behaviour=user.expected_behaviour,
        expected=tuple(_call(call) for call in performed.expected),
        forbidden=tuple(_forbidden(call, performed) for call in performed.forbidden),
        communicate=tuple(dict.fromkeys(fact.text for fact in performed.facts)),
        failing=performed.failing,
        ordered=performed.ordered,
        unchanged=not performed.wrote,
        bindings=bindings,
        language=language,  # type: ignore[arg-type]  # one of the two there are
        attempts=attempts,
        says=user.says,
        persona=user.persona,
    )


def state_of_rows(
    rows: Sequence[EventRow], schema: Schema, existing: dict[str, list[dict[str, Any]]]
) -> dict[str, Any]:
    """Give rows as a scenario's `state`: mappings by key where the table is one, else lists, whole for JSON states."""
    state: dict[str, Any] = {}
    for row in rows:
        table = schema.get(row.table)
        if table is not None and table.keyed and len(table.key) == 1:
            state.setdefault(row.table, {})[str(row.values[table.key[0]])] = _inner(row.values)
        else:
            before = [] if schema.ddl else [_inner(one) for one in existing.get(row.table, ())]
            state.setdefault(row.table, before).append(_inner(row.values))
    return state


def _inner(values: Mapping[str, Any]) -> dict[str, Any]:
    """Give a row without the key that it stands under."""
    return {name: value for name, value in values.items() if name != OUTER_KEY}


def _about(act: Act, made: Made) -> str:
    return made.fresh[act.focus].symbol if act.owner is None else f"a row of somebody else's in {act.focus[0]}"


def _forbidden(call: Proposal, performed: Performed) -> ExpectedCall:
    """Forbid a call: as it is where other arguments would be right, else on its row."""
    by_choice = [proposal for act, proposal in performed.acts if any(one.kind == "argument" for one in act.refused_by)]
    compared = list(call.arguments) if call in (*performed.firsts.values(), *by_choice) else None
    return ExpectedCall(name=call.tool, arguments=call.arguments, compare_args=compared)


def _call(call: Proposal) -> ExpectedCall:
    compared = [name for name in call.arguments if name not in call.free] if call.free else None
    return ExpectedCall(name=call.tool, arguments=call.arguments, compare_args=compared)


def _rejected(one: PolicySet, stage: str, reason: str, detail: str, attempts: int) -> EventRejection:
    told_ = shorten(printable(detail), 300)
    return EventRejection.model_validate(
        {"set": one.id, "stage": stage, "reason": reason, "detail": told_, "attempts": attempts}
    )
