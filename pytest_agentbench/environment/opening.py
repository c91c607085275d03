"""Opens the tools that another process executes, and tells what files say of them before anything is opened."""

from pytest_agentbench.core.remote import McpSpec, OpenApiSpec
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.environment.remote import Opening, PrefixedTools, RemoteTools, is_address, listed_tools, prefixed


async def open_remote(spec: OpenApiSpec | McpSpec, opening: Opening) -> RemoteTools:
    """Open a source of tools; raise `EnvironmentFaultError` where it is not there."""
    source = await _opened(spec, opening)
    return PrefixedTools(source, opening.prefix) if opening.prefix else source


async def _opened(spec: OpenApiSpec | McpSpec, opening: Opening) -> RemoteTools:
    if isinstance(spec, OpenApiSpec):
        from pytest_agentbench.environment.openapi.provider import open_service  # noqa: PLC0415 - httpx2 is heavy

        return await open_service(spec, opening)
    from pytest_agentbench.environment.mcp.provider import open_server  # noqa: PLC0415 - the extra may be missing

    return await open_server(spec, opening)


def declared_tools(spec: OpenApiSpec | McpSpec, opening: Opening) -> tuple[ToolSpec, ...] | None:
    """Give the tools as far as files tell them, without a process or the network; None where no file does.

    Raise `EnvironmentFaultError` where a file is not usable.
    """
    if spec.tools is not None:
        return prefixed(listed_tools(spec.tools, opening), opening.prefix)
    if isinstance(spec, OpenApiSpec) and not is_address(spec.document):
        from pytest_agentbench.environment.openapi.provider import read_tools  # noqa: PLC0415 - httpx2 is heavy

        return prefixed(read_tools(spec, opening), opening.prefix)
    return None
