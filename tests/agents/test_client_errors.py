"""What an agent's own client raises is the provider's failure or the agent's own; real clients are in tests/real."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from urllib.error import URLError

import pytest

from pytest_agentbench.agents.callables import adapt
from pytest_agentbench.agents.frameworks.agent import FrameworkAgent
from pytest_agentbench.core.conversation import Turn
from pytest_agentbench.core.errors import AgentError, ProviderError
from pytest_agentbench.core.protocols import RunSync
from pytest_agentbench.environment.python_calls import Invoker, Wrapper
from pytest_agentbench.environment.python_tools import PythonTool


def raised(module: str, name: str, base: type[Exception] = Exception, **members: object) -> Exception:
    """Give an exception of a client library."""
    kind = type(name, (base,), {"__module__": module, **members})
    return kind("said")


def answered(status: int) -> SimpleNamespace:
    """Give a response with a status."""
    return SimpleNamespace(status_code=status)


def aws(status: int, code: str) -> dict[str, object]:
    """Give a response as botocore has it."""
    return {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}


def over(error: Exception, cause: Exception) -> Exception:
    """Give an exception with its cause."""
    error.__cause__ = cause
    return error


HTTPX = raised("httpx", "TransportError")
AIOHTTP = raised("aiohttp.client_exceptions", "ClientConnectionError")
PROVIDERS = [
    raised("openai", "InternalServerError", status_code=500),
    raised("openai", "RateLimitError", status_code=429),
    raised("openai", "AuthenticationError", status_code=401),
    raised("openai", "APIConnectionError"),
    raised("anthropic", "OverloadedError", status_code=529),
    raised("anthropic", "APITimeoutError"),
    raised("google.genai.errors", "ServerError", code=503),
    raised("google.api_core.exceptions", "ResourceExhausted", code=429),
    raised("httpx", "ConnectError", type(HTTPX)),
    raised("httpx2", "ReadError", type(raised("httpx2", "NetworkError"))),
    raised("httpx", "HTTPStatusError", response=answered(502)),
    raised("aiohttp.client_exceptions", "ServerDisconnectedError", type(AIOHTTP)),
    raised("aiohttp.client_exceptions", "ClientResponseError", status=503),
    raised("requests.exceptions", "ReadTimeout"),
    raised("requests.exceptions", "HTTPError", response=answered(500)),
    raised("urllib3.exceptions", "MaxRetryError"),
    URLError(ConnectionRefusedError("said")),
    URLError(TimeoutError("said")),
    raised("botocore.exceptions", "EndpointConnectionError"),
    raised("botocore.exceptions", "ClientError", response=aws(400, "ThrottlingException")),
    raised("botocore.exceptions", "ClientError", response=aws(503, "ServiceUnavailable")),
    raised("pydantic_ai.exceptions", "ModelHTTPError", status_code=500),
]
OWN = [
    raised("openai", "BadRequestError", status_code=400),
    raised("openai", "NotFoundError", status_code=404),
    raised("anthropic", "RequestTooLargeError", status_code=413),
    raised("openai", "UnprocessableEntityError", status_code=422),
    raised("httpx", "HTTPStatusError", response=answered(404)),
    raised("httpx", "UnsupportedProtocol", type(HTTPX)),
    raised("requests.exceptions", "MissingSchema"),
    raised("botocore.exceptions", "ClientError", response=aws(400, "ValidationException")),
    raised("pydantic_ai.exceptions", "UnexpectedModelBehavior"),
    raised("my_agent", "ConnectError"),
    URLError("unknown url type: foo"),
    URLError(FileNotFoundError("no such file")),
    over(raised("openai", "APIConnectionError"), raised("httpx", "LocalProtocolError", type(HTTPX))),
    ConnectionError("said"),
    ValueError("said"),
]


def wrapped(error: Exception) -> Exception:
    """Give an exception that was raised from another."""
    outer = RuntimeError("said so")
    outer.__cause__ = error
    return outer


def raising(error: Exception) -> Callable[[str], str]:
    """Give an agent that raises."""

    def reply(message: str) -> str:
        raise error

    return reply


def raising_async(error: Exception) -> object:
    """Give an agent that raises where it is awaited."""

    async def reply(message: str) -> str:
        raise error

    return reply


def replied(agent: object, run_sync: RunSync) -> None:
    """Let an agent, or the session of a framework, reply."""
    made = (
        FrameworkAgent(agent, framework="Frame", run_sync=run_sync)
        if hasattr(agent, "answer")
        else adapt(agent, run_sync=run_sync)
    )
    asyncio.run(made.reply(Turn(message="Hello")))


AGENTS = {
    "function": raising,
    "coroutine": raising_async,
    "object": lambda error: SimpleNamespace(reply=raising(error)),
    "framework": lambda error: SimpleNamespace(answer=raising(error)),
}


@pytest.mark.parametrize("made", AGENTS)
def test_every_agents_client_is_told_apart(run_sync: RunSync, made: str) -> None:
    """A function, an object and a framework's agent alike: a server's failure is the provider's."""
    with pytest.raises(ProviderError, match="the agent's client: APIConnectionError: said"):
        replied(AGENTS[made](raised("openai", "APIConnectionError")), run_sync)
    with pytest.raises(AgentError, match="said"):
        replied(AGENTS[made](raised("openai", "BadRequestError", status_code=400)), run_sync)


@pytest.mark.parametrize("error", PROVIDERS, ids=lambda error: f"{type(error).__module__}.{type(error).__name__}")
def test_a_servers_failure_is_the_providers(run_sync: RunSync, error: Exception) -> None:
    """Connections, time limits, rate limits and 5xx, also where the agent raised its own exception from them."""
    for one in (error, wrapped(error), ExceptionGroup("many", [error])):
        with pytest.raises(ProviderError):
            replied(raising(one), run_sync)


@pytest.mark.parametrize("error", OWN, ids=lambda error: f"{type(error).__module__}.{type(error).__name__}")
def test_what_the_agent_asked_wrongly_is_its_own(run_sync: RunSync, error: Exception) -> None:
    """Refused requests, misuse of a client, and exceptions that only look like a client's."""
    for one in (error, wrapped(error)):
        with pytest.raises(AgentError):
            replied(raising(one), run_sync)


def test_what_a_tool_of_the_environment_raised_is_no_providers(run_sync: RunSync) -> None:
    """An HTTP error inside a tool is the tool's answer, which the agent let out, wrapped or not."""

    def look() -> str:
        """Look."""
        raise raised("httpx", "ConnectError") from raised("httpcore", "ConnectError")

    tool = Wrapper(Invoker(), lambda *_: None).wrap(PythonTool(look))

    def careless(message: str) -> str:
        return str(tool())

    def wrapping(message: str) -> str:
        try:
            return str(tool())
        except Exception as error:
            raise RuntimeError("said") from error

    for agent in (careless, wrapping):
        with pytest.raises(AgentError, match="said"):
            replied(agent, run_sync)
