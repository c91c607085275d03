"""A service that the suite starts: one for each run, or one that all runs of an event loop share."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.remote import ServiceSpec
from pytest_agentbench.core.suite import HttpAgentSpec
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.openapi.sending import Sender
from pytest_agentbench.environment.service import Service, start_service

_ERROR = 400
_OUT_OF_SERVICE = 502


@dataclass(frozen=True)
class Endpoint:
    """An agent's endpoint as one run reaches it, and the service behind it where the suite started one."""

    spec: HttpAgentSpec
    service: Service | None = None


async def serve(spec: ServiceSpec, root: Path, gate: IsolationGate, stack: AsyncExitStack) -> Service:
    """Give the running service, started if need be; one of a run's own ends with `stack`.

    Raise `EnvironmentFaultError` where it does not start, or does not answer in time.
    """

    async def start() -> Service:
        # in a thread, which no signal breaks off between the start of a process and the note that it is to be ended
        service = await asyncio.to_thread(start_service, spec, root)
        try:
            async with Sender(headers={}, seconds=spec.seconds) as sender:
                address = f"http://127.0.0.1:{service.port}/{(spec.ready or '').lstrip('/')}"
                # nobody said that there is anything at `/`: an error of the service itself tells that it is up
                below = _OUT_OF_SERVICE if spec.ready is None else _ERROR
                await service.until_up(lambda: sender.standing(address, below=below), spec.seconds, spec.ready or "/")
        except BaseException:
            await service.aclose()
            raise
        return service

    if spec.share == "run":
        service = await start()
        stack.push_async_callback(service.aclose)
        return service
    key = f"service {root} {digest(spec.model_dump(mode='json'))}"
    return await gate.shared.get(key, start, lambda service: service.exit_status is None)
