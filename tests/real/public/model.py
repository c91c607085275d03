"""A scripted model behind the three APIs that frameworks ask by default: OpenAI's two, and Gemini's."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from pytest_agentbench.testing import Answer, ModelRequest
from pytest_agentbench.testing.chat import ChatApi

Script = Callable[[ModelRequest], Answer]


class Model:
    """A model on loopback while its `with` block runs: each request is put to the script as a chat completion."""

    def __init__(self, script: Script) -> None:
        self.problems: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(script, self.problems))
        self._server.daemon_threads = True

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which the clients of the frameworks find it."""
        root = f"http://127.0.0.1:{self._server.server_port}"
        return {
            "OPENAI_BASE_URL": f"{root}/v1",
            "OPENAI_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": root,
            "GOOGLE_API_KEY": "none",
        }

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


def _handler(script: Script, problems: list[str]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            received = self.rfile.read(int(self.headers["Content-Length"]))
            try:
                status, answered = 200, _answer(script, self.path, json.loads(received), ChatApi().identity(received))
            except Exception as error:  # noqa: BLE001 - whatever a script raises is told to the client, and to the test
                problems.append(f"{self.path}: {error!r}")
                status, answered = 400, json.dumps({"error": {"message": repr(error)}}).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answered)))
            self.end_headers()
            self.wfile.write(answered)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler


def _answer(script: Script, path: str, body: dict[str, Any], identity: str) -> bytes:
    if body.get("stream"):
        raise ValueError("streams are not served")
    if path == "/v1/chat/completions":
        request = ModelRequest(0, body, {})
        return ChatApi().whole(script(request), request, identity)
    if path == "/v1/responses":
        return json.dumps(_response(script(_asked(body, _from_responses(body))), identity)).encode()
    if path.endswith(":generateContent"):
        return json.dumps(_gemini(script(_asked(body, _from_gemini(body))))).encode()
    raise ValueError("no such path")


def _asked(body: dict[str, Any], messages: Iterator[dict[str, Any]]) -> ModelRequest:
    declared = [
        one for tool in body.get("tools") or [] for one in tool.get("functionDeclarations", [tool]) if "name" in one
    ]
    tools = [{"type": "function", "function": {"name": one["name"]}} for one in declared]
    return ModelRequest(0, {"model": body.get("model", ""), "messages": list(messages), "tools": tools}, {})


def _from_responses(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if body.get("instructions"):
        yield {"role": "system", "content": body["instructions"]}
    given = body["input"]
    for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
        if item.get("type") == "function_call":
            yield _called(item["call_id"], item["name"], item["arguments"])
        elif item.get("type") == "function_call_output":
            yield {"role": "tool", "tool_call_id": item["call_id"], "content": item["output"]}
        elif "role" in item:
            yield {"role": item["role"], "content": item["content"]}


def _from_gemini(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "systemInstruction" in body:
        yield {"role": "system", "content": body["systemInstruction"]["parts"]}
    for content in body["contents"]:
        for part in content["parts"]:
            if "functionCall" in part:
                name = part["functionCall"]["name"]
                yield _called(name, name, json.dumps(part["functionCall"].get("args") or {}))
            elif "functionResponse" in part:
                answered = part["functionResponse"]
                yield {"role": "tool", "tool_call_id": answered["name"], "content": json.dumps(answered["response"])}
            elif "text" in part:
                yield {"role": "assistant" if content["role"] == "model" else "user", "content": part["text"]}


def _called(key: str, name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": key, "type": "function", "function": function}]}


def _response(answer: Answer, identity: str) -> dict[str, Any]:
    output: list[dict[str, Any]] = [
        {
            "type": "function_call",
            "id": f"fc_{identity}_{number}",
            "call_id": f"call_{identity}_{number}",
            "name": made.name,
            "arguments": made.arguments,
            "status": "completed",
        }
        for number, made in enumerate(answer.calls)
    ]
    if answer.content is not None:
        part = {"type": "output_text", "text": answer.content, "annotations": []}
        message = {"type": "message", "id": f"msg_{identity}", "role": "assistant", "status": "completed"}
        output.insert(0, {**message, "content": [part]})
    usage = {
        "input_tokens": 1,
        "output_tokens": 1,
        "total_tokens": 2,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    return {
        "id": f"resp_{identity}",
        "object": "response",
        "created_at": 0,
        "model": "scripted",
        "status": "completed",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
    }


def _gemini(answer: Answer) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [] if answer.content is None else [{"text": answer.content}]
    parts += [{"functionCall": {"name": made.name, "args": json.loads(made.arguments)}} for made in answer.calls]
    content = {"role": "model", "parts": parts}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}
