"""A model on loopback: OpenAI-compatible chat completions with answers that follow from the request alone."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Thread
from typing import Any

BROKEN = "W13"
"""The order for which the model writes arguments that are no JSON."""

_ORDER = re.compile(r"\bW\d+\b")


@dataclass
class ModelServer:
    """Where the model is, and every request that it got."""

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)


@contextmanager
def model_server() -> Iterator[ModelServer]:
    """Serve until the block ends.

    The model looks an order up when the user's last text names one, and else repeats all that it has been told, so
    that anything from another conversation would show.
    """
    server = ModelServer()
    numbers = count(1)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.requests.append(request)
            body = json.dumps(_completion(request, next(numbers))).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the standard library's
            """Say nothing."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    server.url = f"http://127.0.0.1:{http.server_port}/v1"
    thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


def _completion(request: dict[str, Any], number: int) -> dict[str, Any]:
    message = _answer(request["messages"], number)
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": request["model"],
        "choices": [
            {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def _answer(messages: list[dict[str, Any]], number: int) -> dict[str, Any]:
    told = [message["content"] for message in messages if message["role"] == "user"]
    last = messages[-1]
    order = _ORDER.search(last["content"]) if last["role"] == "user" else None
    if order:
        arguments = json.dumps({"order_id": order.group()})
        function = {"name": "get_order", "arguments": arguments[:-3] if order.group() == BROKEN else arguments}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    found = f"{last['content']}. " if last["role"] == "tool" else ""
    return {"role": "assistant", "content": f"{found}You told me: {' | '.join(told)}"}
