"""Who serves models: the address, key and quirks of each provider's OpenAI-compatible endpoint, in one table."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from pytest_agentbench.core.names import listing, suggestion

_PLACE = "{}"
_BEARER = "Authorization"


@dataclass(frozen=True, kw_only=True)
class Provider:
    """One server of chat completions.

    `place` names variables of the environment, the first that is set fills the `{}` of `url`; `moved_by` is a variable
    that stands for the whole URL. `keys` are variables that hold its key, the first that is set is sent in
    `key_header`. `renames` are parameters that it takes under another name only. `is_tag` says that model files are
    called by the same word, so that `NAME:…` on a server of one's own is a name.
    """

    url: str
    keys: tuple[str, ...] = ()
    needs_key: bool = True
    place: tuple[str, ...] = ()
    moved_by: str = ""
    key_header: str = _BEARER
    renames: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    is_tag: bool = False

    def base_url(self, environ: Mapping[str, str]) -> str:
        """Give its address; a place that the environment does not name stays as `${VARIABLE}`."""
        if moved := environ.get(self.moved_by):
            return moved
        if not self.place:
            return self.url
        place = self.found_place(environ) or f"${{{self.place[0]}}}"
        return self.url.replace(_PLACE, place.rstrip("/").removesuffix("/openai/v1"))

    def found_place(self, environ: Mapping[str, str]) -> str:
        """Give what fills its URL, "" where the environment names nothing."""
        return next((environ[name] for name in self.place if environ.get(name)), "")


_LOCAL = "http://127.0.0.1"

# each row from the page that is named above it, read on 24 November 2026
PROVIDERS: Mapping[str, Provider] = MappingProxyType(
    {
        # OpenAI's API reference, "Create chat completion": max_tokens is deprecated, all models take the other name
        "openai": Provider(
            url="https://api.openai.com/v1",
            keys=("OPENAI_API_KEY",),
            moved_by="OPENAI_BASE_URL",
            renames=MappingProxyType({"max_tokens": "max_completion_tokens"}),
        ),
        # Claude documentation, "OpenAI SDK compatibility"
        "anthropic": Provider(url="https://api.anthropic.com/v1", keys=("ANTHROPIC_API_KEY",)),
        # Microsoft Foundry, "Azure OpenAI v1 API": no api-version; the name is that of a deployment
        "azure": Provider(
            url="{}/openai/v1",
            keys=("AZURE_OPENAI_API_KEY",),
            place=("AZURE_OPENAI_ENDPOINT",),
            key_header="api-key",
        ),
        # Gemini API documentation, "OpenAI compatibility"
        "gemini": Provider(
            url="https://generativelanguage.googleapis.com/v1beta/openai",
            keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        ),
        # Amazon Bedrock user guide, "APIs supported": of its two endpoints the one for new applications
        "bedrock": Provider(
            url="https://bedrock-runtime.{}.amazonaws.com/openai/v1",
            keys=("AWS_BEARER_TOKEN_BEDROCK",),
            place=("AWS_REGION", "AWS_DEFAULT_REGION"),
        ),
        # Mistral's API reference, "Create Chat Completions": the seed has a name of its own
        "mistral": Provider(
            url="https://api.mistral.ai/v1",
            keys=("MISTRAL_API_KEY",),
            renames=MappingProxyType({"seed": "random_seed"}),
            is_tag=True,
        ),
        # GroqDocs, "OpenAI Compatibility"
        "groq": Provider(url="https://api.groq.com/openai/v1", keys=("GROQ_API_KEY",)),
        # DeepSeek API documentation, "Your First API Call": max_tokens alone bounds tokens, the other name is ignored
        "deepseek": Provider(url="https://api.deepseek.com", keys=("DEEPSEEK_API_KEY",)),
        # xAI documentation, "Comparison with Chat Completions API"
        "xai": Provider(url="https://api.x.ai/v1", keys=("XAI_API_KEY",)),
        # Together documentation, "OpenAI compatibility"
        "together": Provider(url="https://api.together.ai/v1", keys=("TOGETHER_API_KEY",)),
        # these three as the provider classes of pydantic-ai 2.68 have them
        "openrouter": Provider(url="https://openrouter.ai/api/v1", keys=("OPENROUTER_API_KEY",)),
        "fireworks": Provider(url="https://api.fireworks.ai/inference/v1", keys=("FIREWORKS_API_KEY",)),
        "cerebras": Provider(url="https://api.cerebras.ai/v1", keys=("CEREBRAS_API_KEY",)),
        # servers of one's own machine, at the port that each takes unless told otherwise; a key is sent only if set
        "ollama": Provider(url=f"{_LOCAL}:11434/v1", keys=("OLLAMA_API_KEY",), needs_key=False),
        "lmstudio": Provider(url=f"{_LOCAL}:1234/v1", needs_key=False),
        "llamacpp": Provider(url=f"{_LOCAL}:8080/v1", keys=("LLAMA_API_KEY",), needs_key=False),
        "vllm": Provider(url=f"{_LOCAL}:8000/v1", keys=("VLLM_API_KEY",), needs_key=False),
    }
)

ALIASES: Mapping[str, str] = MappingProxyType({"google": "gemini"})
"""Other names of providers."""

ELSEWHERE = ("cohere", "google-cloud", "huggingface", "snowflake")
"""Providers that only pydantic-ai knows how to ask, of those that people are likely to name."""

OF_A_SERVER = frozenset(
    {"provider", "base_url", "api_key", "api_key_env", "headers", "extra_body", "price"}
    | {"in_flight", "requests_per_minute", "tokens_per_minute"}
)
"""What a part says about its server, and what must not reach another one."""

REACHED_ELSEWHERE = ("base_url", "api_key", "api_key_env")
"""What a transport that finds servers and keys by itself does not take."""

PYDANTIC_AI = "pydantic_ai"
"""The transport that finds servers and keys by itself."""


def provider_of(name: str) -> Provider | None:
    """Give the provider that a spec names, None for a server that is known by its address alone."""
    return PROVIDERS.get(name)


def split_name(model: str, *, has_server: bool = False) -> tuple[str, str]:
    """Give the provider ("" for none) and the model's name on its server.

    What stands before a colon and is no provider belongs to the name.

    >>> split_name("google:some-model")
    ('gemini', 'some-model')
    >>> split_name("ollama:llama3.2:3b")
    ('ollama', 'llama3.2:3b')
    >>> split_name("llama3.2:3b")
    ('', 'llama3.2:3b')
    >>> split_name("mistral:7b", has_server=True)
    ('', 'mistral:7b')
    """
    prefix, colon, name = model.partition(":")
    prefix = ALIASES.get(prefix, prefix)
    provider = PROVIDERS.get(prefix) if colon and name.strip() else None
    if provider is None or (has_server and provider.is_tag):
        return "", model
    return prefix, name.strip()


def misspelt(model: str) -> tuple[str, str] | None:
    """Say what is wrong with a name that seems to mean a provider, and what was probably meant; None if it is fine.

    >>> misspelt("antropic:some-model")[1]
    "did you mean 'anthropic'?"
    >>> misspelt("cohere:some-model")[1]
    'add `transport: pydantic_ai`'
    >>> misspelt("mixtral:8x7b")
    """
    prefix, colon, name = model.partition(":")
    known = [*PROVIDERS, *ALIASES]
    if not colon or prefix in known:
        return None if name.strip() or not colon else (f"{model!r} names a provider and no model", "")
    # providers are called by letters; `llama3:8b` and `mixtral:8x7b` are model files with a tag
    if not prefix.replace("-", "").isalpha() or name[:1].isdigit() or name == "latest":
        return None
    if prefix in ELSEWHERE:
        return f"{prefix!r} has no endpoint of the form that is asked directly", f"add `transport: {PYDANTIC_AI}`"
    hint = suggestion(prefix, known)
    return (f"no provider is called {prefix!r}, allowed: {listing(known)}", hint) if hint else None


def reached(form: Mapping[str, Any], *, has_server: bool = False) -> dict[str, Any]:
    """Give a part as somebody wrote it with its model's name taken apart.

    A provider is only said where the name says one. `has_server` tells that another part names a server. A transport
    that takes names apart by itself gets the whole name.
    """
    if "model" not in form or "provider" in form:
        return dict(form)
    model = str(form["model"])
    if form.get("transport") == PYDANTIC_AI:
        provider, name = model.partition(":")[0] if ":" in model else "", model
    else:
        provider, name = split_name(model, has_server=has_server or "base_url" in form)
    return {**form, "model": name, **({"provider": provider} if provider else {})}


def inherited(common: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Give what a part that says `own` takes from a `common` one, both taken apart by `reached`.

    A part that names a server of its own, by a provider or an address, takes over nothing that belongs to another
    server: a key would be sent to whom it was not given for.
    """
    kept = dict(common) if _is_same_server(common, own) else {k: v for k, v in common.items() if k not in OF_A_SERVER}
    if own.get("api_key_env") and not own.get("api_key"):
        kept.pop("api_key", None)
    if (own.get("transport") or common.get("transport")) == PYDANTIC_AI:
        kept = {name: value for name, value in kept.items() if name not in REACHED_ELSEWHERE}
    return kept


def _is_same_server(common: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    theirs, ours = (str(form.get("provider") or "") for form in (common, own))
    address = own.get("base_url")
    if address:
        if not ours and not theirs and not common.get("base_url"):
            return True  # a key that stands beside no server at all is for the one server that is named
        return _origin(address) == _origin(_address(common))
    return not ours or ours == (theirs or None) or _origin(_address(own)) == _origin(_address(common))


def _address(form: Mapping[str, Any]) -> str:
    name = str(form.get("provider") or "openai")
    return str(form.get("base_url") or (PROVIDERS[name].url if name in PROVIDERS else name))


def _origin(address: object) -> tuple[str, str]:
    try:
        parts = urlsplit(str(address))
    except ValueError:
        return "", str(address)
    return parts.scheme, parts.netloc.rpartition("@")[2].lower() or str(address)
