"""How a role reaches its model, and what calling it took."""

from typing import Any, Literal

from pydantic import SerializerFunctionWrapHandler, model_serializer

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.errors import SuiteFaultError, with_hint
from pytest_agentbench.core.providers import PYDANTIC_AI, misspelt, provider_of, reached


class Price(Model):
    """US dollars per million tokens; `cached_input` None means that cached tokens cost what others do."""

    input: float
    output: float
    cached_input: float | None = None


class ModelSpec(Model):
    """Which model plays a role, and how it is reached.

    `provider` is a row of the table of providers, `model` the name on its server. `base_url` "" means the provider's,
    and without one `OPENAI_BASE_URL`, else OpenAI's own. The key is `api_key`, else the first set of `key_variables`.
    `seconds` bounds one request, `retries` counts what is sent again after the first.
    `in_flight`, `requests_per_minute` and `tokens_per_minute` bound all who share `base_url`. `structured` says how the
    server is asked for JSON of a given form; `transport` who posts: `direct`, the `openai` client, or `pydantic_ai`,
    which takes the whole name, provider and all, and finds server and key by itself. `effort` is how long a reasoning
    model may think.
    """

    model: str
    provider: str = ""
    base_url: str = ""
    api_key: str = ""
    api_key_env: str = "OPENAI_API_KEY"
    temperature: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    seconds: float = 60.0
    retries: int = 4
    extra_body: dict[str, Any] = {}
    headers: dict[str, str] = {}
    price: Price | None = None
    in_flight: int | None = None
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    structured: Literal["auto", "json_schema", "tool", "json", "prompt"] = "auto"
    transport: Literal["direct", "openai", "pydantic_ai"] = "direct"

    @classmethod
    def named(cls, model: str, **more: Any) -> "ModelSpec":
        """Give the spec of a model named as in a suite, such as `openai:NAME`; what is "" or None counts as not said.

        Raise `SuiteFaultError` for a misspelt provider.
        """
        said = {"model": model, **{name: value for name, value in more.items() if value not in ("", None)}}
        is_ours = "base_url" not in said and said.get("transport") != PYDANTIC_AI
        if is_ours and (wrong := misspelt(model)):
            raise SuiteFaultError(with_hint(*wrong))
        return cls(**reached(said))

    @property
    def key_variables(self) -> tuple[str, ...]:
        """The variables of the environment that may hold the key: the one that was named, else the provider's."""
        provider = provider_of(self.provider)
        if provider is None or "api_key_env" in self.model_fields_set:
            return (self.api_key_env,)
        return provider.keys

    @model_serializer(mode="wrap")
    def _without_unset(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what came later and is not set: hashes of suites that do not use it stay what they were."""
        data: dict[str, Any] = serialize(self)
        return {name: value for name, value in data.items() if name not in {"effort", "provider"} or value}


class Usage(Model):
    """What calls to models took, added up.

    `calls` were answered live, `replayed` from a cassette; `retries` were sent again. `reasoning_tokens` are those of
    the `output_tokens` that were thoughts. `cost_usd` is the sum of what
    could be priced, `unpriced` counts the live calls that could not. `seconds` is time spent waiting for answers, of
    retries, too; `latencies` is that of each live answer, in seconds to the millisecond. `adapted` says how requests
    had to be changed for their server to take them.
    """

    calls: int = 0
    replayed: int = 0
    retries: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    seconds: float = 0.0
    latencies: tuple[float, ...] = ()
    adapted: tuple[str, ...] = ()

    def __add__(self, other: "Usage") -> "Usage":
        theirs = other.__dict__
        added = {name: own + theirs[name] for name, own in self.__dict__.items()}
        return Usage(**{**added, "adapted": tuple(dict.fromkeys(added["adapted"]))})


def latency(seconds: float) -> float:
    """Give what is kept of the time that one answer took: seconds to the millisecond, never less than 0."""
    return round(max(seconds, 0.0), 3)
