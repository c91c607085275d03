"""The `Agent` of one run behind an HTTP endpoint, or behind an ASGI app in this process, and the world behind it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2

from pytest_agentbench.agents.http.answers import AnswerReader, Faulty, unplaced
from pytest_agentbench.agents.http.app import MAX_BODY
from pytest_agentbench.agents.http.connections import (
    AppSender,
    HttpConnections,
    Poster,
    RequestRefusedError,
    answered,
    origin_of,
    quoted,
)
from pytest_agentbench.agents.replies import paired, typed, with_output
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.conversation import Reply, Turn
from pytest_agentbench.core.errors import (
    AgentError,
    EnvironmentFaultError,
    NeverUpError,
    ProviderError,
    SuiteFaultError,
)
from pytest_agentbench.core.json_values import JsonValue, to_json
from pytest_agentbench.core.placeholders import fill, fill_text
from pytest_agentbench.core.suite import HttpAgentSpec
from pytest_agentbench.core.text import raised_text
from pytest_agentbench.environment.http_client import failure_text, fits_header, http_request, is_address, read_body
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.remote_tools import RunWorld, ServerTurn, turn_at
from pytest_agentbench.environment.service import NOT_THERE, Endpoint, Service, filled, on_clock, serve

CLOCK = "X-Agentbench-Now"
"""The header that tells an endpoint what the suite's clock shows."""


class HttpAgent:
    """Posts each turn once and reads the answer; the endpoint's session and cookies are this run's own.

    `log` collects what the transcript does not show, such as paths that led nowhere in some answer.
    """

    def __init__(
        self,
        spec: HttpAgentSpec,
        *,
        context: Any,
        connections: HttpConnections | AppSender,
        now: datetime | None = None,
        service: Service | None = None,
        names: Sequence[str] = (),
        faulty: Faulty = unplaced,
    ) -> None:
        """Raise `SuiteFaultError` where the address is none, or the context lacks what the request needs.

        `names` are tools that the suite names.
        """
        self.calls_visible = bool(spec.calls)
        self.shows = frozenset({"output"} if spec.output else ())
        self.log: list[str] = []
        self._spec = spec
        self._service = service
        self._faulty = faulty
        self._reader = AnswerReader(spec, names=names, faulty=faulty)
        self._poster = Poster(connections, seconds=spec.seconds)
        self._session: JsonValue = None
        self._number = 0
        self._now = now.isoformat() if now else None
        self._check({"context": to_json(context)})

    async def reply(self, turn: Turn) -> Reply:
        """Post the turn; raise `AgentError` where no answer comes, or one that cannot be read.

        What the service behind it said last is told, too. Raise `SuiteFaultError` where an endpoint that never took a
        request refuses the first message of the run: the request does not fit.
        """
        values = self._values(turn)
        url = fill_text(self._spec.address, values, escape=lambda text: quote(text, safe="", errors="replace"))
        headers = {CLOCK: self._now} if self._now else {}
        headers |= {name: fill_text(text, values) for name, text in self._spec.headers.items()}
        try:
            answer = await self._poster.post(url, headers, dumps(fill(self._spec.body, values)))
        except RequestRefusedError as error:
            if self._number:
                raise
            key, what = ("url", "address") if error.is_of_address else ("body", "request")
            hint = f"say it at `{key}`, as the endpoint wants it"
            message = f"the endpoint does not take the {what} of the suite, and has taken none so far: {error}"
            raise self._faulty(("agent", "http", key), message, hint) from error
        except (AgentError, EnvironmentFaultError) as error:
            if self._service is None:
                raise
            raise await self._service.blamed(error) from error
        tools = [tool.name for tool in turn.tools]
        heard = self._reader.read(answer.value(text_too=not self._spec.reply), tools)
        if not self._number and heard.unnamed and not heard.stop:
            raise AgentError(f"unusable reply: {heard.unnamed}; the first answer must name it")
        self._session = self._session if heard.session is None else heard.session
        self.log += [note for note in dict.fromkeys(heard.notes) if note not in self.log]
        self._number += 1
        messages = paired(heard.messages(), self._number)
        if messages and messages[-1].role == "tool" and not heard.stop:
            raise AgentError("unusable reply: it has calls with their results, and no text for the user")
        return Reply(messages=with_output(messages, typed(heard.output)), stop=heard.stop)

    def check_answers(self) -> None:
        """Raise `SuiteFaultError` or `AgentError` for what the answers of the run, taken together, show to be wrong."""
        self._reader.check()

    def _values(self, turn: Turn) -> dict[str, JsonValue]:
        return {
            "message": turn.message,
            "messages": [message.openai() for message in turn.messages],
            "session_id": turn.session_id,
            "session": self._session,
            "context": to_json(turn.context),
            "now": self._now,
            "decisions": [decision.model_dump() for decision in turn.decisions],
            "tools": [tool.openai() for tool in turn.tools],
            "results": [message.openai() for message in turn.results],
        }

    def _check(self, values: dict[str, JsonValue]) -> None:
        if not is_address(fill_text(self._spec.address, values)):
            wanted = "it must begin with http:// or https:// and name a host"
            raise SuiteFaultError(f"the agent's url is {self._spec.url!r}, which is no address; {wanted}")
        fill(self._spec.body, values)
        for name, text in self._spec.headers.items():
            if not fits_header(fill_text(text, values)):
                raise SuiteFaultError(f"the agent's header {name!r} holds a character that no header may hold")


def turn_of(spec: HttpAgentSpec) -> ServerTurn | None:
    """Give the turn that a run takes at an endpoint which runs share and which is reset for each."""
    if not spec.takes_turns:
        return None
    return ServerTurn(f"reset {spec.app}") if spec.app else turn_at(spec.address, spec.serve)


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
