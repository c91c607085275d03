"""Whether what a framework raised is a failure of its model's server, which nobody can hold against the agent."""

from collections.abc import Iterator

from pytest_agentbench.core.errors import ProviderError
from pytest_agentbench.core.text import raised_text

_CLIENTS = (
    "anthropic",
    "cohere",
    "google.genai.errors",
    "groq",
    "langchain_anthropic",
    "langchain_core.exceptions",
    "langchain_openai",
    "litellm",
    "mistralai",
    "openai",
    "pydantic_ai.exceptions",
)
"""Modules whose exceptions tell how a model's server answered."""

_REQUESTS = frozenset({400, 413, 422})
"""Statuses that are about what was asked, which is the agent's own doing."""

_UNREACHED = ("Connection", "Connect", "Timeout")


def provider_failure(error: BaseException) -> ProviderError | None:
    """Give what to raise where `error`, or what caused it, says that a model's server failed or was not reached.

    A status from 400 on counts, save those that refuse the request itself (400, 413, 422).
    """
    found = next((cause for cause in _causes(error) if _is_providers(cause)), None)
    return None if found is None else ProviderError(f"the agent's model: {raised_text(found)}")


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        following = following.__cause__


def _is_providers(error: BaseException) -> bool:
    kinds = [kind for kind in type(error).__mro__ if _is_client(kind.__module__)]
    if not kinds:
        return False
    status = next(
        (value for name in ("status_code", "code") if isinstance(value := getattr(error, name, None), int)), 0
    )
    if status:
        return status >= 400 and status not in _REQUESTS
    return any(word in kind.__name__ for kind in kinds for word in _UNREACHED)


def _is_client(module: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in _CLIENTS)
