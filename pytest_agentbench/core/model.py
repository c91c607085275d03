"""How a role reaches its model, and what calling it took."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.errors import SuiteFaultError, with_hint
from pytest_agentbench.core.file_models import (
    Address,
    Choice,
    Count,
    Filled,
    Free,
    Headers,
    Holds,
    Number,
    Positive,
    Says,
    Seconds,
    Whole,
    Written,
)
from pytest_agentbench.core.providers import PYDANTIC_AI, misspelt, provider_of, reached

_PerMillion = Annotated[
    Number, Field(ge=0, le=1_000_000_000), Says("US dollars per million tokens, from 0 to a billion")
]


class Price(Written):
    """US dollars per million tokens."""

    expected: ClassVar[str] = "{input: …, output: …} in US dollars per million tokens"

    input: _PerMillion
    """What a million tokens of input cost."""
    output: _PerMillion
    """What a million tokens of output cost."""
    cached_input: _PerMillion | None = None
    """What a million cached tokens cost; without it, what others do."""


class Reach(Written):
    """How a model is reached and asked, all but its name."""

    expected: ClassVar[str] = "a mapping such as {model: …, base_url: …, temperature: …}"

    base_url: Address = ""
    """The address of the server; without it the provider's, and for a bare name `OPENAI_BASE_URL`, else OpenAI's."""
    api_key: Annotated[Filled, Says("a key, best written as ${VARIABLE}")] = ""
    """The key, best as `${VARIABLE}`; without it, the value of `api_key_env`."""
    api_key_env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*\Z"), Says("a variable's name")] = (
        "OPENAI_API_KEY"
    )
    """The variable that holds the key; without it, the provider's own."""
    temperature: Annotated[Number, Field(ge=0, le=2), Says("a number from 0 to 2")] | None = None
    """As in the API, from 0 to 2; without it the role's, else the server's."""
    seed: Whole | None = None
    """As in the API."""
    max_tokens: Positive | None = None
    """The most tokens of one answer, thoughts included; without it the role's, else 8192."""
    effort: (
        Annotated[
            Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"],
            Choice("how long a reasoning model may think: none, minimal, low, medium, high, xhigh or max"),
        ]
        | None
    ) = None
    """How long a reasoning model thinks: `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`."""
    seconds: Annotated[Seconds, Says("seconds that one request may take, more than 0")] = 60.0
    """How long one request may take, in seconds."""
    retries: Count = 4
    """How often a request is sent again after 408, 409, 5xx or a lost connection."""
    extra_body: Annotated[Free, Holds("a mapping of further keys of the request")] = {}
    """Further keys of each request."""
    headers: Headers = {}
    """Further headers of each request."""
    price: Price | None = None
    """What tokens cost, in USD per million: `{input: …, output: …, cached_input: …}`; without it, the table says."""
    in_flight: Positive | None = None
    """The most requests at a time, of all who share the `base_url`."""
    requests_per_minute: Positive | None = None
    """The most requests a minute, of all who share the `base_url`."""
    tokens_per_minute: Positive | None = None
    """The most tokens a minute, of all who share the `base_url`."""
    structured: Annotated[
        Literal["auto", "json_schema", "tool", "json", "prompt"], Choice("how JSON answers are asked for")
    ] = "auto"
    """How typed answers are asked for: `json_schema`, `tool`, `json`, `prompt` or `auto`."""
    transport: Annotated[Literal["direct", "openai", "pydantic_ai"], Choice("who posts requests")] = "direct"
    """Who sends requests: `direct`, `openai` (that package's client) or `pydantic_ai`."""


class ModelSpec(Reach):
    """Which model plays a role, and how it is reached.

    `provider` is a row of the table of providers, `model` the name on its server; with `transport: pydantic_ai` it is
    the whole name, provider and all. The key is `api_key`, else the first set of `key_variables`.
    """

    model: str
    provider: str = ""
    base_url: str = ""  # of a variant or of code it is told when it is called

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
