"""The service over HTTP: one thread a connection, kept open between requests."""

import json
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from weather.service.answers import Answers, RefusedError, Settings


class WeatherServer(ThreadingHTTPServer):
    """Listens on the loopback interface; `port` 0 takes a free one."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, settings: Settings, *, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.answers = Answers(settings)

    @property
    def url(self) -> str:
        """Where the service listens."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: WeatherServer

    def do_GET(self) -> None:
        """Answer a request, a refusal included, as JSON."""
        target = urlsplit(self.path)
        if target.path == "/openapi.json":
            self._send(HTTPStatus.OK, json.loads((files("weather.service") / "openapi.json").read_text("utf-8")))
            return
        query = dict(parse_qsl(target.query, keep_blank_values=True))
        try:
            self._send(HTTPStatus.OK, self.server.answers.to(target.path, query))
        except RefusedError as refusal:
            self._send(refusal.status, {"detail": refusal.detail})

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Keep quiet."""

    def _send(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
