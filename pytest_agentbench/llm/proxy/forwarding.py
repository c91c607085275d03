"""What goes on to the model server and what comes back: addresses, headers, and answers of the proxy's own."""

import json
from collections.abc import Mapping

from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from pytest_agentbench.core.text import printable

RUN_HEADER = "X-Agentbench-Run"

MISS = "agentbench_cassette_miss"
BUDGET = "agentbench_budget"
CLOSED = "agentbench_run_over"
UNREACHABLE = "agentbench_upstream_unreachable"
BAD_REQUEST = "agentbench_bad_request"
FAILED = "agentbench_proxy_failed"

# those that clients of OpenAI do not send again
STATUS = {MISS: 422, BUDGET: 402, CLOSED: 403, UNREACHABLE: 502, BAD_REQUEST: 400, FAILED: 500}

# what concerns one connection only, and what the HTTP client sets itself
_DROPPED = {
    "accept-encoding", "connection", "content-encoding", "content-length", "expect", "host", "keep-alive",
    "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    RUN_HEADER.lower(),
}  # fmt: skip


def address(upstream: str, tail: str, query: str) -> URL:
    """Give where a request to `tail` goes on to; a query in `upstream` (`?api-version=…`) is kept before its own."""
    base, _, own = upstream.partition("?")
    joined = "&".join(part for part in (own, query) if part)
    return URL(f"{base.rstrip('/')}/{tail}{'?' if joined else ''}{joined}", encoded=True)


def passed_on(headers: Mapping[str, str]) -> CIMultiDict[str]:
    """Give the headers that go on, keys included; nothing else ever sees or keeps them."""
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in _DROPPED)


def said(kind: str, message: str) -> web.Response:
    """Answer with an error of the proxy's own that says not to try again unless it may help.

    Its form is OpenAI's and Anthropic's at once: they share the member `error`, and each has members of its own.
    """
    again = "true" if kind == UNREACHABLE else "false"
    error = {"message": printable(message, newlines=True), "type": kind, "param": None, "code": kind}
    return web.Response(
        body=json.dumps({"type": "error", "error": error}).encode(),
        status=STATUS[kind],
        content_type="application/json",
        headers={"x-should-retry": again},
    )
