"""An MCP server on standard streams, in the standard library alone: its tools are none, one, or not what they declare.

`python odd_server.py MODE LOG FOLDER`: each call is a line of LOG, with the folder that the server was started on.
"""

import json
import os
import sys
import time
from pathlib import Path

MODE, LOG, FOLDER = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])

NODE = {"type": "object", "properties": {"name": {"type": "string"}, "child": {"$ref": "#/$defs/node"}}}
WORD = {"name": "get_word", "description": "Get a word.", "inputSchema": {"type": "object", "properties": {}}}
NAMED = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
FILES = [
    {"name": "list_files", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    {"name": "write_file", "description": "Write a file.", "inputSchema": NAMED},
    {"name": "remove_file", "description": "Remove a file.", "inputSchema": NAMED},
    {"name": "tidy", "description": "Tidy.", "inputSchema": NAMED, "annotations": {"destructiveHint": True}},
]
NUMBER = {"type": "object", "properties": {"row": {"type": "integer", "description": "Number of the row, e.g. 7"}}}
TOOLS = {
    "none": [],
    "one": [WORD],
    "twice": [WORD, {**WORD, "description": "Get another word."}],
    "lies": [{"name": "get_row", "description": "Get a row.", "inputSchema": {**NUMBER, "required": ["row"]}}],
    "recursive": [
        {
            "name": "get_tree",
            "description": "Get a tree.",
            "inputSchema": {
                "type": "object",
                "properties": {"root": {"$ref": "#/$defs/node"}},
                "$defs": {"node": NODE},
            },
        }
    ],
    "large": [{**WORD, "name": "get_flood"}, WORD],
    "hang": [{**WORD, "name": "get_stuck"}, WORD],
    "crash": [{**WORD, "name": "get_out"}, WORD],
    "files": FILES,
}


def told(name: str, arguments: dict) -> str:
    """Do what a tool does; raise `ValueError` for what it does not accept."""
    with LOG.open("a") as log:
        log.write(f"{name} {FOLDER}\n")
    if name == "get_row":
        row = arguments.get("row")
        if not isinstance(row, str):
            raise ValueError(f"row must be a text, not {row!r}")
        if not row.isdigit():
            raise ValueError(f"there is no row {row}")
        return json.dumps({"cells": [f"cell {row}"]})
    if name == "get_tree":
        return json.dumps({"depth": json.dumps(arguments).count("{")})
    if name == "get_flood":
        return json.dumps([{"id": f"row-{number}", "text": "x" * 900} for number in range(5600)])
    if name == "get_stuck":
        time.sleep(60)
    if name == "get_out":
        os._exit(3)
    if name == "list_files":
        return "\n".join(sorted(file.name for file in FOLDER.iterdir())) or "no files"
    if name == "write_file":
        (FOLDER / Path(str(arguments["name"])).name).write_text("written")
        return f"wrote {arguments['name']}"
    if name in ("remove_file", "tidy"):
        for file in FOLDER.iterdir():
            file.unlink()
        return "removed"
    return "yes"


def answered(request: dict) -> dict:
    """Give the result or the error of a request."""
    method, params = request["method"], request.get("params") or {}
    if method == "initialize":
        info = {"name": "odd", "version": "1"}
        return {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}}
    if method == "tools/list":
        return {"result": {"tools": TOOLS[MODE]}}
    try:
        text, error = told(params["name"], params.get("arguments") or {}), False
    except (KeyError, ValueError, OSError) as wrong:
        text, error = str(wrong), True
    return {"result": {"content": [{"type": "text", "text": text}], "isError": error}}


if __name__ == "__main__":
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answered(message)}) + "\n")
            sys.stdout.flush()
