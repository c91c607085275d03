"""The world behind an agent's endpoint: its service is started, and put back to its first state, before each run."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx2

from pytest_agentbench.agents.http.app import MAX_BODY
from pytest_agentbench.agents.http.connections import AppSender, HttpConnections, answered, origin_of, quoted
from pytest_agentbench.core.errors import AgentError, EnvironmentFaultError, NeverUpError, ProviderError
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.placeholders import fill_text
from pytest_agentbench.core.suite import HttpAgentSpec
from pytest_agentbench.core.text import raised_text
from pytest_agentbench.environment.http_client import failure_text, http_request, read_body
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.remote_tools import RunWorld, Turn, turn_at
from pytest_agentbench.environment.service import NOT_THERE, Endpoint, filled, on_clock, serve


def turn_of(spec: HttpAgentSpec) -> Turn | None:
    """Give the turn that a run takes at an endpoint which runs share and which is reset for each."""
    if not spec.takes_turns:
        return None
    return Turn(f"reset {spec.app}") if spec.app else turn_at(spec.address, spec.serve)


@asynccontextmanager
async def endpoint_of_run(
    spec: HttpAgentSpec,
    *,
    root: Path,
    gate: IsolationGate,
    connections: HttpConnections,
    values: dict[str, JsonValue],
    world: RunWorld | None = None,
) -> AsyncIterator[Endpoint]:
    """Give the endpoint as this run reaches it, started and reset as the suite says; `values` fill its headers.

    `world` is what the run has of services already: one of them may be the agent's, too.
    Raise `EnvironmentFaultError` where it does not start, or is not reset. The run took its turn before (`turn_of`).
    """
    world = world or RunWorld()
    async with AsyncExitStack() as stack:
        service, now = None, values.get("now")
        if spec.serve is not None:
            started = on_clock(spec.serve, now if isinstance(now, str) else None)
            service = await serve(started, root, gate, stack, at=("agent", "http", "serve"), own=world.started)
            spec = spec.model_copy(update={"url": filled(spec.url, {"port": str(service.port)})})
        if spec.reset:
            await _reset(spec, await connections.route_to(spec, root), values)
        yield Endpoint(spec, service)


async def _reset(spec: HttpAgentSpec, route: HttpConnections | AppSender, values: dict[str, JsonValue]) -> None:
    method, _, path = spec.reset.partition(" ")
    place = f"agent.http.reset: {spec.reset}"
    headers = {name: fill_text(text, values) for name, text in spec.headers.items()}
    try:
        url = str(httpx2.URL(spec.address).join(path.strip()))
        request = http_request(method.upper(), url, headers=headers, body=b"", cookies=httpx2.Cookies())
        sender = await route.sender()
        async with asyncio.timeout(spec.seconds), sender.send(request) as response:
            said = await read_body(response, MAX_BODY)
    except TimeoutError:
        raise EnvironmentFaultError(f"{place}: no answer within {spec.seconds:g} s") from None
    except httpx2.HTTPError as error:
        raise EnvironmentFaultError(f"{place}: {route.shown(url)} {failure_text(error)}") from error
    except (AgentError, ProviderError) as error:  # an app raised
        raise EnvironmentFaultError(f"{place}: {error}") from error
    except (OSError, ValueError) as error:
        raise EnvironmentFaultError(f"{place}: {raised_text(error)}") from error
    if not response.is_success:
        told = answered(response, route.shown(url), said)
        if response.status_code in NOT_THERE:
            raise NeverUpError(f"{spec.reset} reaches nothing: {told}", at=("agent", "http", "reset"))
        raise EnvironmentFaultError(f"{place}: {told}")
    if len(said) > MAX_BODY:
        raise EnvironmentFaultError(f"{place}: answered with more than {MAX_BODY} bytes: {quoted(said)}")
    route.known.reached.add(origin_of(route, spec.address))
