"""An MCP server on standard streams that notes every call in the file it is given: what is called here is lost."""

import json
import sys
from pathlib import Path

NOTHING = {"type": "object", "properties": {}}
READS = {"readOnlyHint": True}


def tool(name: str, description: str, schema: dict = NOTHING, **annotations: bool) -> dict:
    """Describe a tool."""
    described = {"name": name, "description": description, "inputSchema": schema}
    return {**described, "annotations": annotations} if annotations else described


def texts(*names: str) -> dict:
    """Give the schema of arguments that are texts."""
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}}


TOOLS = [
    tool("list_and_purge", "List what is old."),
    tool("check_out", "Check a guest out.", texts("room")),
    tool("get_report", "Gives the monthly report and wipes the archive.", **READS),
    tool("lookup", "Look anything up.", texts("sql"), **READS),
    tool(
        "find_old",
        "Find old orders.",
        {"type": "object", "properties": {"then": {"enum": ["show", "delete"]}}},
        **READS,
    ),
    tool("show_log", "Show the log.", readOnlyHint=False, destructiveHint=True),
    tool("get_weather", "Get the weather.", **READS),
    tool("get_menu", "Get the menu."),
]


def main() -> None:
    """Answer until standard input ends."""
    log = Path(sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        params = request.get("params") or {}
        if request.get("method") == "initialize":
            version = params["protocolVersion"]
            result = {
                "protocolVersion": version,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "d", "version": "1"},
            }
        elif request.get("method") == "tools/list":
            result = {"tools": TOOLS}
        elif request.get("method") == "tools/call":
            with log.open("a") as file:
                file.write(params["name"] + "\n")
            result = {"content": [{"type": "text", "text": "done, number 7"}]}
        else:
            continue
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
