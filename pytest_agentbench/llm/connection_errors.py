"""What a request that got no whole answer means, by whichever library it was sent."""

import aiohttp

from pytest_agentbench.core.errors import SendError, causes
from pytest_agentbench.core.text import printable, shorten

# the names of the classes of httpx and httpx2, of which either may be what the openai client rides on
_UNREACHED = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout"})
_TIMED_OUT = frozenset({"APITimeoutError", "TimeoutException"})
_BROKEN = frozenset({"APIConnectionError", "TransportError", "StreamError"})


def connection_error(error: BaseException, *, where: str, seconds: float) -> SendError:
    """Turn what a client raised, or what caused that, into a `SendError`; an error of another kind is not sent again.

    The innermost cause that is known decides: clients on top of aiohttp name lost connections timeouts.
    """
    found = None
    for cause in causes(error):
        found = _read(cause, where, seconds) or found
    return found or SendError(f"{where} cannot be asked: {_told(error)}")


def _read(error: BaseException, where: str, seconds: float) -> SendError | None:
    names = {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError) or names & _UNREACHED:
        return SendError(f"{where} cannot be reached: {_told(error)}", again=True)
    if isinstance(error, TimeoutError) or names & _TIMED_OUT:
        return SendError(f"{where} did not answer within {seconds:g} s", again=True, billed=True)
    if isinstance(error, aiohttp.ClientPayloadError):
        return SendError(f"{where} broke the connection off in the middle of its answer", again=True, billed=True)
    if isinstance(error, aiohttp.ClientConnectionError) or names & _BROKEN:
        return SendError(f"{where} broke the connection off: {_told(error)}", again=True, billed=True)
    return None


def _told(error: BaseException) -> str:
    if isinstance(error, aiohttp.ClientConnectorError):  # its own text is about the client's settings
        error = getattr(error, "os_error", error)
    return shorten(printable(str(error) or type(error).__name__), 200)
