"""The tools of an MCP server, over its standard streams or over HTTP."""
