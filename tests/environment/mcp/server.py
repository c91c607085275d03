"""A small MCP server on standard streams, in the standard library alone: it behaves as badly as it is asked to."""

import json
import os
import sys
import time

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
TOOLS = [
    {"name": "echo", "inputSchema": TEXT, "annotations": {"readOnlyHint": True}, "description": "Say it again."},
    {"name": "remember", "inputSchema": TEXT, "annotations": {"readOnlyHint": False, "destructiveHint": False}},
    {"name": "forget", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": True}},
    {"name": "count_notes", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object", "required": ["x"]}},
    {"name": "refuse", "inputSchema": TEXT},
    {"name": "quiet_error", "inputSchema": TEXT},
    {"name": "protocol_error", "inputSchema": TEXT},
    {"name": "picture", "inputSchema": TEXT},
    {"name": "large", "inputSchema": TEXT},
    {"name": "hang", "inputSchema": TEXT},
    {"name": "crash", "inputSchema": TEXT},
    {"name": "environment", "inputSchema": {"type": "object"}},
]
notes: list[str] = []


def texts(*parts: str) -> dict:
    """Give a result of texts."""
    return {"content": [{"type": "text", "text": part} for part in parts]}


def called(name: str, arguments: dict) -> dict:
    """Give the result of a call."""
    text = arguments.get("text", "")
    if name == "echo":
        return texts(text)
    if name == "remember":
        notes.append(text)
        return texts(f"{len(notes)} notes")
    if name == "count_notes":
        return {**texts("see the structured content"), "structuredContent": {"count": len(notes)}}
    if name == "refuse":
        return {**texts("no such note"), "isError": True}
    if name == "quiet_error":
        return texts("Error: no such note")
    if name == "picture":
        image = {"type": "image", "data": "AAAA" * 100, "mimeType": "image/png"}
        link = {"type": "resource_link", "uri": "file:///notes/1", "name": "note 1"}
        return {"content": [{"type": "text", "text": "here"}, image, link]}
    if name == "large":
        return texts("x" * 5_000_000)
    if name == "hang":
        time.sleep(60)
    if name == "crash":
        print("the disk is full", file=sys.stderr, flush=True)
        os._exit(3)
    if name == "environment":
        return texts(json.dumps(dict(os.environ)))
    return texts("")


def answered(request: dict) -> dict:
    """Give the result or the error of a request."""
    method, params = request["method"], request.get("params") or {}
    if method == "initialize":
        info = {"name": "notes", "version": "1"}
        return {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}}
    if method == "tools/list":
        start = int(params.get("cursor") or 0)
        page = {"tools": TOOLS[start : start + 5]}
        return {"result": {**page, **({"nextCursor": str(start + 5)} if start + 5 < len(TOOLS) else {})}}
    if method == "tools/call" and params["name"] != "protocol_error":
        return {"result": called(params["name"], params.get("arguments") or {})}
    return {"error": {"code": -32602, "message": "these are no arguments"}}


if __name__ == "__main__":
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answered(message)}) + "\n")
            sys.stdout.flush()
