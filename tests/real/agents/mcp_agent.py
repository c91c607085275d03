"""An agent of the OpenAI Agents SDK whose tools are those of an MCP server, which the framework itself starts."""

import shutil
import sys
from pathlib import Path

from agents import Agent, OpenAIChatCompletionsModel
from agents.mcp import MCPServerStdio
from openai import AsyncOpenAI

client = AsyncOpenAI(max_retries=0)


async def build():
    """Start a server for this run."""
    command = shutil.which("mcp-server-time") or str(Path(sys.executable).parent / "mcp-server-time")
    server = MCPServerStdio(
        {"command": command, "args": ["--local-timezone", "UTC"]}, client_session_timeout_seconds=60
    )
    await server.connect()
    model = OpenAIChatCompletionsModel(model="loopback", openai_client=client)
    return Agent(name="clock", instructions="Be brief.", model=model, mcp_servers=[server])
