"""The secrets that suites hold or reach, and what takes them out of all that is written or shown."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.providers import PROVIDERS
from pytest_agentbench.core.secret_keys import keyed
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.core.variants import vary_chat
from pytest_agentbench.results.redact import Redactor

_KEY_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$")
_KEY_LIKE = re.compile(r"(?=[^\s]*\d)[^\s/]{12,}")
"""Long, with a digit and without spaces or slashes: no word, path or switch that happens to have such a name."""

_SHORTEST = 6


@dataclass(repr=False)
class Secrets:
    """The secrets of all suites read so far."""

    _hidden: set[str] = field(default_factory=set)
    _public: set[str] = field(default_factory=set)
    _made: tuple[int, Redactor] | None = None

    def __bool__(self) -> bool:
        return bool(self._hidden)

    def add(self, suite: Suite) -> None:
        """Know the secrets of one more suite, and what its scenarios spell out themselves."""
        self._hidden |= {*suite.secrets, *secrets_of(suite)}
        self._public |= spelled_in(suite)

    def add_environment(self) -> None:
        """Know what looks like a key in the process environment: for who reads no suite."""
        self._hidden |= _in_environment()

    @property
    def redactor(self) -> Redactor:
        """Takes the secrets known by now out of whatever is written or shown."""
        known = len(self._hidden) + len(self._public)
        if self._made is None or self._made[0] != known:
            self._made = (known, Redactor(self._hidden, self._public))
        return self._made[1]

    def text(self, text: str) -> str:
        """Take the secrets known by now out of a text."""
        return self.redactor.text(text)

    def transcript(self, transcript: Transcript) -> Transcript:
        """Take the secrets known by now out of a conversation."""
        return self.redactor.transcript(transcript)

    def json(self, value: JsonValue) -> JsonValue:
        """Take the secrets known by now out of a value: suites may be read after whoever asks was made."""
        return self.redactor.json(value)


def specs_of(suite: Suite) -> Iterator[ModelSpec]:
    """Give the models that the suite names."""
    if suite.user.model is not None:
        yield suite.user.model
    if suite.agent.openai is not None:
        for keywords in suite.variants.values() or ({},):
            yield vary_chat(suite.agent.openai, keywords).model
    if suite.judge is not None:
        yield suite.judge.model


def secrets_of(suite: Suite) -> set[str]:
    """Give the secrets that a suite holds or reaches: see the terms of the sum.

    An agent of the user's has keys of its own in the environment, which a server's error may quote.
    """
    remote = [part.remote for part in suite.environment.providers if part.remote]
    sent = [{**getattr(one, "headers", {}), **getattr(one, "env", {})} for one in (suite.agent.http, *remote) if one]
    held = set(keyed([suite.context, *(scenario.context for scenario in suite.scenarios), *sent]))
    named = {os.environ.get(name, "") for spec in specs_of(suite) for name in spec.key_variables}
    given = {value for spec in specs_of(suite) for value in (spec.api_key, *spec.headers.values())}
    return {secret for secret in named | given if len(secret) >= _SHORTEST} | _in_environment() | held


def _in_environment() -> set[str]:
    """Give what the process environment holds under the names of providers' keys, and what looks like a key."""
    of_providers = {name for row in PROVIDERS.values() if row.needs_key for name in row.keys}
    named = {os.environ.get(name, "") for name in of_providers}
    lying = {value for name, value in os.environ.items() if _KEY_NAME.search(name) and _KEY_LIKE.fullmatch(value)}
    return {secret for secret in named | lying if len(secret) >= _SHORTEST}


def redactor_of(suite: Suite) -> Redactor:
    """Give what takes a suite's own secrets out of a text; what its scenarios spell out stays."""
    return Redactor(suite.secrets, spelled_in(suite))


def spelled_in(suite: Suite) -> set[str]:
    """Give what the scenarios themselves spell under names of secrets, such as the PIN that a user is to say."""
    called = [
        call.arguments
        for scenario in suite.scenarios
        for calls in (scenario.expected_calls, *scenario.expect_any, scenario.never)
        for call in calls
    ]
    return set(keyed([*called, *(scenario.knows for scenario in suite.scenarios)])) - set(suite.secrets)
