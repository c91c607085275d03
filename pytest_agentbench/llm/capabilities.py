"""What a server can do with a model: learnt from its own answers, once, and remembered for the session.

A request is made as its role asks for it. What the server is known not to take is dropped or renamed on the way out,
and a bound on the length of the answer is added where nobody set one, so that a recording is found under the request
as asked, whatever the server could do when it was made.

A refusal is learnt only from the field that an error names (`param`, or the place in a list of validation errors), or
from what the server does with the same request without our own defaults; never from prose. What the suite set itself is
sent or is an error; a new name keeps the value and is always taken.
"""

from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Literal, Protocol, runtime_checkable

from pytest_agentbench.core.errors import SendError, with_hint
from pytest_agentbench.core.lines import Line, Place, place_in
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.llm.reply import OUTPUT_BOUND, OUTPUT_LIMITS
from pytest_agentbench.llm.wire import encode

Paused = Callable[[], AbstractAsyncContextManager[None]]
"""Gives a context manager within which the clock of a run stands still."""


class Turns:
    """Lets those that still have something to find out go one by one; safe from several loops and threads."""

    def __init__(self) -> None:
        self._line = Line()

    @asynccontextmanager
    async def one(self, paused: Paused, *, needed: Callable[[], bool]) -> AsyncIterator[None]:
        """Go alone as long as that is `needed`, with the clock of the run `paused` while it waits.

        Whoever ends, well, badly or cancelled, lets the next one go, or all where nothing is left to find out.
        """
        place: Place | None = None
        while needed() and place is None:
            place = await place_in(self._line, paused=paused)
        if place is not None and not needed():
            self._line.leave(place)
            place = None
        try:
            yield
        finally:
            if place is not None:
                if not needed():
                    self.open()
                self._line.leave(place)

    def open(self) -> None:
        """Let all look again that wait, whoever has the turn."""
        self._line.open()


REFUSING = frozenset({400, 422})
"""Statuses of requests that a server does not take as they are."""

VALUES = frozenset({"invalid_value", "integer_above_max_value", "integer_below_min_value", "decimal_above_max_value"})
"""Codes that object to a value: another name would not help."""

UNRELATED = frozenset({"content_filter", "content_policy_violation", "moderation_blocked", "model_not_found"})
"""Codes of refusals that no parameter is the reason of."""

_DENYING = frozenset({401, 403})

_SIZES = frozenset(
    {"context_length_exceeded", "exceed_context_size_error", "string_above_max_length", "array_above_max_length"}
)
"""Codes that name a parameter for its size: a shorter request may be taken."""

_LENGTHS = frozenset({"input_tokens"})
"""What servers name for its size though no request has it."""


def is_too_long(error: SendError) -> bool:
    """Whether a server refused a request for its length."""
    return error.status in REFUSING and (error.code in _SIZES or error.param in _LENGTHS)


def is_denied(error: Exception) -> bool:
    """Whether a server does not let in who asked, as it will not the next time."""
    return isinstance(error, SendError) and error.status in _DENYING


def advised(error: SendError, spec: ModelSpec, keys: Collection[str]) -> SendError:
    """Give a refusal with what to do about it; `keys` are those of the suite that it may mean."""
    error.args = (with_hint(str(error), _hint(error, spec, keys)),)
    return error


def _hint(error: SendError, spec: ModelSpec, keys: Collection[str]) -> str:
    if is_denied(error):
        return f"{_credentials(spec)}; set `api_key`, `headers` or `base_url` of this model"
    named = ", ".join(f"`{key}`" for key in sorted(keys))
    if is_too_long(error):
        lower = "lower `max_tokens`, " if "max_tokens" in keys else ""
        return f"too long for the context of the model: {lower}shorten the scenario, or name one with a longer context"
    if error.status not in REFUSING or error.code in UNRELATED or not keys:
        return ""
    if error.param:
        return f"the suite sets {named} for this model: set another value, or name another model"
    return f"no field is named; it may mean what the suite sets for this model: {named}"


def _credentials(spec: ModelSpec) -> str:
    """Say where the key came from, never which it is."""
    if spec.api_key:
        return "the key was that of `api_key`"
    if not spec.key_variables:
        return "no key was sent"
    return f"the key was that of {' or '.join(spec.key_variables)} in the environment, if it is set"


Form = Literal["json_schema", "tool", "json", "prompt"]

ALL_FORMS: tuple[Form, ...] = ("json_schema", "tool", "json", "prompt")
"""How an answer of a given type is asked for, from what binds the model most to what every server takes."""

_FORM_FACTS: dict[Form, str] = {
    "tool": "structured answers as tool calls",
    "json": "structured answers in JSON mode, the schema in the prompt",
    "prompt": "structured answers by the schema in the prompt",
}
"""How a form that is not the first one is reported."""

_RENAMED = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
"""Parameters that some models take under another name only."""

_SPARED = ("temperature", "seed", "parallel_tool_calls", "max_completion_tokens", "max_tokens")
"""Parameters without which a request still asks the same, those first whose loss changes the answer most."""

_KEYS = {"reasoning_effort": "effort"}
"""Parameters that a suite sets by another name."""

_WEAKER = {"required": "auto"}
"""What is sent for a `tool_choice` that the server does not take; a named tool becomes `required` first."""

_OF_FORM = frozenset({"response_format", "tools", "tool_choice", "functions"})
"""Fields by which a structured answer is asked for."""

_MUCH_LONGER = 2
"""How many times as long as one that was taken a request must be for the bound of its answer to be suspect."""


class Capabilities:
    """What one server takes for one model; `renamed` is what is known of it beforehand.

    `own` always names the parameters that the suite set itself. `models` are those that the server lists, once
    somebody asked because it does not know this one.
    """

    def __init__(self, *, renamed: Mapping[str, str] | None = None) -> None:
        self._foreknown = renamed or {}
        self._renamed = dict(self._foreknown)
        self._dropped: frozenset[str] = frozenset()
        self._choice = ""
        self._taken: frozenset[str] = frozenset()
        self._doubtful: tuple[str, ...] = ()
        self._was_in_vain = False
        self._form: Form | None = None
        self.models: tuple[str, ...] | None = None
        self._is_known = False
        self._turns = Turns()
        self._has_asked = False
        self._questions = Turns()
        self._tried: frozenset[bool] = frozenset()
        self._trials = Turns()
        self._longest = 0
        self._too_long: int | None = None

    @property
    def facts(self) -> tuple[str, ...]:
        """What was learnt, one clause each, sorted."""
        return tuple(sorted(fact for _, fact in self._facts()))

    def facts_of(self, asked: Collection[str]) -> tuple[str, ...]:
        """What was learnt of these parts of requests, `response_format` standing for any form of an answer."""
        return tuple(sorted(fact for part, fact in self._facts() if part in asked))

    def _facts(self) -> Iterator[tuple[str, str]]:
        """Give what was learnt, each with the part of a request that it is about, as roles ask for it."""
        for old, new in self._renamed.items():
            if old not in self._foreknown and new not in self._dropped:
                yield old, f"{old} sent as {new}"
        for name in self._dropped:
            yield self._asked_as(name, ()), f"{name} left out"
        if self._choice:
            yield "tool_choice", f"tool_choice sent as {self._choice}"
        if self._form in _FORM_FACTS:
            yield "response_format", _FORM_FACTS[self._form]

    def fit(self, body: dict[str, Any], own: Collection[str], *, without: Collection[str] = ()) -> dict[str, Any]:
        """Give a body as the server takes it, bounded; `without` names what is left out for a trial."""
        bounded = body if any(name in body for name in OUTPUT_LIMITS) else {**body, "max_tokens": OUTPUT_BOUND}
        gone = self._dropped.union(without, self._doubtful[1:])
        if not gone and not self._renamed and not self._choice:
            return bounded
        fitted: dict[str, Any] = {}
        for name, value in bounded.items():
            sent = self._renamed.get(name, name)
            if (name in own or sent not in gone) and (sent == name or sent not in bounded):
                fitted[sent] = value
        if self._choice and "tool_choice" not in own and fitted.get("tool_choice") not in (None, "auto", "none"):
            fitted["tool_choice"] = self._choice
        return fitted

    def learn(self, error: SendError, sent: dict[str, Any], own: Collection[str]) -> bool:
        """Take a refusal of `sent` that names a field to heart; tell whether the request is worth sending fitted anew.

        Raise `SendError` naming the key where what the suite set cannot be sent.
        """
        name = error.param
        if error.status not in REFUSING or is_too_long(error) or name not in sent:
            return False
        key = self._asked_as(name, own)
        if name in self._renamed or (name in self._dropped and key not in own):
            return True  # learnt from another request, while this one was out
        is_new_name = name in self._renamed.values()  # back to a name that was refused leads nowhere
        if name in _RENAMED and key == name and not is_new_name and error.code not in VALUES:
            self._renamed[name] = _RENAMED[name]
            return True
        if key in own:
            hint = f"the suite sets `{_KEYS.get(key, key)}` for this model: take it out, or name another model"
            raise SendError(with_hint(str(error), hint), status=error.status, param=name, code=error.code)
        if name == "tool_choice":
            return self._weaken(sent["tool_choice"])
        if name not in _SPARED:
            return False
        self._dropped |= {name}
        return True

    def suspects(self, error: SendError, sent: dict[str, Any], own: Collection[str]) -> frozenset[str]:
        """Name the defaults of ours without which a request is worth one trial; none where the error says what it is.

        A server that names no field may mean one that it never took. The bound of an answer may be too much for it
        beside a long conversation, whatever it took before. A trial in vain is not repeated for what may be the
        request's own fault.
        """
        if error.status not in REFUSING or error.code in UNRELATED:
            return frozenset()
        ours = [name for name in _SPARED if name in sent and self._asked_as(name, own) not in own]
        bound = [name for name in ours if name in OUTPUT_LIMITS]
        if is_too_long(error):
            return frozenset(() if self._is_hopeless(sent) else bound)
        if error.param:
            return frozenset()
        if self._doubtful and self._doubtful[0] in ours:
            return frozenset(self._doubtful[:1])
        new = [name for name in ours if name not in self._taken]
        if not self._was_in_vain:
            is_long = self._longest * _MUCH_LONGER < _length(sent)
            return frozenset([*new, *(bound if is_long else ())])
        return frozenset(() if self._looks_like_form(sent) else new)

    def tried_in_vain(self, error: SendError, sent: dict[str, Any]) -> None:
        """Remember that a request was refused without our defaults as well, for its length or for whatever reason."""
        if is_too_long(error):
            self._too_long = min(_length(sent), self._too_long or _length(sent))
        else:
            self._was_in_vain = True

    @asynccontextmanager
    async def trial(self, refused: SendError | None, sent: dict[str, Any], paused: Paused) -> AsyncIterator[None]:
        """Let the first request that was `refused` go alone without our defaults, so that others learn from it.

        Raise `refused` where it has shown by then that this would be in vain.
        """
        if refused is None:
            yield
            return
        kind = is_too_long(refused)
        async with self._trials.one(paused, needed=lambda: kind not in self._tried):
            if self._is_hopeless(sent) if kind else self._was_in_vain and self._looks_like_form(sent):
                raise refused
            try:
                yield
            finally:
                self._tried |= {kind}

    def answered(self, sent: dict[str, Any], left_out: frozenset[str], refused: SendError | None) -> None:
        """Remember that `sent` was taken, after it had been `refused` with what was `left_out`.

        What was too long teaches nothing: the next request may be shorter.
        """
        if refused is not None and is_too_long(refused):
            return
        if not left_out <= self._taken:
            new, before = left_out - self._taken, left_out & self._taken
            self._refused((*filter(new.__contains__, _SPARED), *before))
        elif not left_out and self._doubtful and self._doubtful[0] in sent:
            # the first one it was not; what was taken before was too much for one request, and teaches nothing
            self._refused(tuple(name for name in self._doubtful[1:] if name not in self._taken))
        if any(name in sent for name in OUTPUT_LIMITS):
            self._longest = max(self._longest, _length(sent))
        if not self._taken.issuperset(names := [name for name in _SPARED if name in sent]):
            self._taken = self._taken.union(names)

    def meant(self, error: SendError, sent: dict[str, Any], own: Collection[str]) -> frozenset[str]:
        """Give the keys of the suite that a refusal may mean: the one that it names, else all that were sent."""
        asked = {self._asked_as(error.param, own), error.param} if error.param and not is_too_long(error) else None
        names = (name for name in (self._asked_as(name, own) for name in sent) if name in own)
        return frozenset(_KEYS.get(name, name) for name in names if asked is None or name in asked)

    def forms(self, wanted: Literal["auto"] | Form) -> tuple[Form, ...]:
        """Give the forms to try in order: the wanted one alone, else what worked before first."""
        if wanted != "auto":
            return (wanted,)
        if self._form is None:
            return ALL_FORMS
        return (self._form, *(form for form in ALL_FORMS if form != self._form))

    @property
    def knows_form(self) -> bool:
        """Whether some form brought an answer before."""
        return self._form is not None

    def understood(self, form: Form) -> None:
        """Remember that this form brought an answer."""
        self._form = form

    @asynccontextmanager
    async def turn(self, body: dict[str, Any], paused: Paused) -> AsyncIterator[None]:
        """Let the first request to a server go alone, and each that may settle a doubt: a fact costs one request.

        Others wait for its answer, good or bad, with the clock of their run `paused`.
        """
        if not self._has_doubt(body):
            yield
            return
        async with self._turns.one(paused, needed=lambda: self._has_doubt(body)):
            try:
                yield
            except BaseException as error:
                self._is_known = True  # also where a run's time was up: one by one, a server that hangs takes them all
                if not isinstance(error, SendError) or error.again:  # nobody knows when this question is answered
                    self._has_asked = True
                    self._questions.open()
                raise
            self._is_known = True

    @asynccontextmanager
    async def question(self, wanted: Literal["auto"] | Form, paused: Paused) -> AsyncIterator[None]:
        """Let the first question for a structured answer go alone, so that its form is looked for once."""
        if wanted != "auto" or not self._looks_for_form():
            yield
            return
        async with self._questions.one(paused, needed=self._looks_for_form):
            try:
                yield
            finally:
                self._has_asked = True

    def _looks_like_form(self, sent: dict[str, Any]) -> bool:
        """Whether the form of an answer is the likelier reason of a refusal; the last form asks without any field."""
        return self._form is None and not _OF_FORM.isdisjoint(sent)

    def _is_hopeless(self, sent: dict[str, Any]) -> bool:
        """Whether a request is hardly shorter than one that was too long without any bound."""
        return self._too_long is not None and _length(sent) * _MUCH_LONGER > self._too_long

    def _looks_for_form(self) -> bool:
        return self._form is None and not self._has_asked

    def _has_doubt(self, body: dict[str, Any]) -> bool:
        return not self._is_known or (bool(self._doubtful) and self._doubtful[0] in body)

    def _refused(self, names: tuple[str, ...]) -> None:
        """Take to heart that the server does not take one of `names`: the only one, or there is a doubt to settle."""
        if len(names) == 1:
            self._dropped |= {*names}
        self._doubtful = names if len(names) > 1 else ()

    def _weaken(self, choice: object) -> bool:
        weaker = _WEAKER.get(str(choice)) if isinstance(choice, str) else "required"
        if weaker is None:
            return False
        self._choice = "auto" if self._choice == "auto" else weaker
        return True

    def _asked_as(self, name: str, own: Collection[str]) -> str:
        """Give the name under which a field was asked for: its own where the suite set it so, else the one renamed."""
        return name if name in own else next((old for old, new in self._renamed.items() if new == name), name)


def _length(sent: dict[str, Any]) -> int:
    return len(encode(sent))


@runtime_checkable
class KnowsCapabilities(Protocol):
    """A chat that remembers what its server takes."""

    capabilities: Capabilities
    paused: Paused

    def understood(self, form: Form) -> None:
        """Remember that this form brought an answer, and keep that with the recordings."""


def is_of_form(error: SendError, *, knew_form: bool) -> bool:
    """Whether a refusal may mean the form in which an answer was asked for, so that another one is worth asking.

    One that names no field is the request's own, where some form had brought an answer before.
    """
    if error.status not in REFUSING or error.code in UNRELATED or is_too_long(error):
        return False
    return error.param in _OF_FORM if error.param else not knew_form
