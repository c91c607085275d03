"""What a suite's runs leave to each other in a service that all share and that nothing resets."""

from collections.abc import Iterator

from pytest_agentbench.core.misfit import Keys
from pytest_agentbench.core.names import listing
from pytest_agentbench.core.remote import McpSpec, OpenApiSpec
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.suites.extends import read_suite_document

_MOST_NAMES = 5

_RESET = "write `reset: POST /path` beside it, a request that puts all back, or `share: run`"
_OWN = "write `share: run`"


def shared_services(suite: Suite, toolset: Toolset) -> list[str]:
    """Say, for each service that runs share and nothing resets, where the suite says so and what runs leave there.

    A suite of one run leaves nothing to another, nor do runs in which every expected call is known to read.
    """
    kinds = {spec.name: spec.kind for spec in toolset.specs}
    changing = [
        one.id
        for one in suite.scenarios
        if not kinds or any(kinds.get(call.name) not in ("read", "generic") for call in one.expected_calls)
    ]
    trials, variants = suite.trials or 1, len(suite.variants) or 1
    found = list(_unreset(suite)) if changing and len(suite.scenarios) * trials * variants > 1 else []
    if not found:
        return []
    document = read_suite_document(suite.path)
    changed = f"changes may be made by {listing(changing, _MOST_NAMES)}"
    message = f"every run may meet what others changed, with nothing that resets it; {changed}"
    return [str(document.problem(path, message, hint)) for path, hint in found]


def _unreset(suite: Suite) -> Iterator[tuple[Keys, str]]:
    """Yield where a service is shared and not reset, and what to write."""
    http = suite.agent.http
    if http is not None and http.serve is not None and http.serve.share == "session" and not http.reset:
        yield ("agent", "http", "serve", "share"), _RESET
    for spec in suite.environment.providers:
        remote = spec.remote
        if isinstance(remote, McpSpec) and remote.share == "session":
            yield ("environment", "tools", "share"), _OWN
        service = remote.service if isinstance(remote, OpenApiSpec) and not remote.reset else None
        if service is not None and service.share == "session":
            yield ("environment", "tools", "serve", "share"), _RESET
