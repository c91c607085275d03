"""Worlds of a τ²-bench checkout, loaded without what its package imports besides (litellm, pandas, 390 MB).

τ²'s top-level package imports its runner, and with it every model provider. The domains need none of that: they are
imported under a bare package, which is gone again afterwards, so that `import tau2` elsewhere stays what it was.
"""

import copy
import importlib
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.tool import Requestor, Toolset, ToolSpec
from pytest_agentbench.tau2.lazy_records import over
from pytest_agentbench.tau2.world import World

_DATA = "TAU2_DATA_DIR"

_MADE_BY: dict[str, tuple[str, dict[str, str]]] = {
    "banking_knowledge": (
        "banking_knowledge",
        {"retrieval_variant": "no_knowledge"},
    ),  # any other may cost, or needs a key
    "telecom-workflow": ("telecom", {"policy_type": "workflow"}),
}
"""The folder of a domain, and what makes its environment, where that is not its name alone."""


class CheckoutSource:
    """A domain of a checkout; its database is read once and shared by all worlds."""

    def __init__(self, domain: str, package: Path, *, solo: bool = False) -> None:
        """`package` is the folder of the package `tau2`; raise `EnvironmentFaultError` where it lacks the domain.

        `solo` asks for the policy of an agent that works alone.
        """
        self.domain = domain
        folder, options = _MADE_BY.get(domain, (domain, {}))
        self.declares = True
        self.origin = f"τ²-bench at {package.parent.parent}"
        if not (package / "domains" / folder / "environment.py").is_file():
            there = sorted(path.parent.name for path in package.glob("domains/*/environment.py"))
            raise EnvironmentFaultError(f"{package} has no domain {domain!r}, but {', '.join(there) or 'none'}")
        try:
            with _bare(package):
                module = importlib.import_module(f"tau2.domains.{folder}.environment")
            self._base = module.get_environment(**options, **({"solo_mode": True} if solo else {}))
        except ImportError as error:
            raise EnvironmentFaultError(
                f"{self.origin}: {domain!r} cannot be imported: {error}; "
                "its domains need: pip install loguru deepdiff addict toml python-dotenv docstring-parser"
            ) from error
        except Exception as error:  # a checkout may be of any version, and of any state
            raise EnvironmentFaultError(f"{self.origin}: {domain!r}: {type(error).__name__}: {error}") from error
        self._kits: dict[Requestor, Any] = {"assistant": self._base.tools, "user": self._base.user_tools}
        self._names = {
            party: frozenset(kit.tools) if kit is not None else frozenset() for party, kit in self._kits.items()
        }
        parties: tuple[Requestor, ...] = ("user", "assistant")  # where both have a tool, the agent's decides
        self._mutating = {
            name: bool(self._kits[party].tool_mutates_state(name)) for party in parties for name in self._names[party]
        }

    @cached_property
    def toolset(self) -> Toolset:
        """The tools of both parties as τ² describes them."""
        specs = [
            _spec(tool.openai_schema, kit, requestor)
            for requestor, kit in self._kits.items()
            if kit is not None
            for tool in kit.get_tools().values()
        ]
        return Toolset(specs=tuple(specs))

    def mutates(self, name: str) -> bool:
        """What the toolkit declares; unknown tools may."""
        return self._mutating.get(name, True)

    def knows(self, name: str) -> bool:
        """Whether either party has such a tool."""
        return name in self._mutating

    def world(self, *, solo: bool = False) -> World:
        """Give a fresh world over the database that was read once."""
        bases = {id(kit.db): kit.db for kit in self._kits.values() if kit and kit.db}  # both parties may share one
        replaced: dict[int, object] = {key: over(base) for key, base in bases.items()}
        made = copy.deepcopy(self._base, replaced)
        return World(
            agent=made.tools,
            user=made.user_tools,
            tools=self._names["assistant"],
            user_tools=self._names["user"],
            sync=made.sync_tools,
            render=made.to_json_str,
            policy=made.policy,
            solo=solo,
        )


def package_of(checkout: Path) -> Path:
    """Give the folder of the package in a checkout; raise `EnvironmentFaultError` where there is none."""
    for folder in (checkout / "src" / "tau2", checkout / "tau2", checkout):
        if (folder / "environment" / "environment.py").is_file():
            return folder
    raise EnvironmentFaultError(f"{checkout} is no checkout of τ²-bench: it has no src/tau2/environment/environment.py")


def splits_file(domain: str, package: Path) -> Path:
    """Give where the splits of a domain's tasks stand."""
    folder, _ = _MADE_BY.get(domain, (domain, {}))
    data = Path(os.environ[_DATA]) if os.environ.get(_DATA) else package.parent.parent / "data"
    return data / "tau2" / "domains" / folder / "split_tasks.json"


@contextmanager
def _bare(package: Path) -> Iterator[None]:
    """Import from `package` without running its own `__init__`, quietly, and with the checkout's data."""
    there = sys.modules.get("tau2")
    if there is not None and str(package) not in list(getattr(there, "__path__", ())):
        raise EnvironmentFaultError(f"another package tau2 is loaded from {getattr(there, '__file__', '?')}")
    _silence()
    data = package.parent.parent / "data"
    kept = dict(os.environ)
    if _DATA not in os.environ and data.is_dir():
        os.environ[_DATA] = str(data)
    if there is None:
        bare = ModuleType("tau2")
        bare.__path__ = [str(package)]
        sys.modules["tau2"] = bare
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        if there is None:
            del sys.modules["tau2"]
        for name in os.environ.keys() - kept.keys():  # τ² reads a .env file; its keys are not for the agent under test
            del os.environ[name]
        os.environ.update(kept)


def _silence() -> None:
    """τ² logs every replayed call; nothing of that is for this session."""
    try:
        loguru = importlib.import_module("loguru")
    except ImportError:
        return
    loguru.logger.disable("tau2")


def _spec(schema: dict[str, Any], kit: Any, requestor: Requestor) -> ToolSpec:
    function = schema["function"]
    declared = kit.tool_type(function["name"])
    stated = str(getattr(declared, "value", declared))
    kind = "write" if kit.tool_mutates_state(function["name"]) else stated if stated in ("read", "write") else "generic"
    return ToolSpec.model_validate(
        {
            "name": function["name"],
            "description": function.get("description") or "",
            "parameters": function.get("parameters") or {"type": "object", "properties": {}},
            "kind": kind,
            "requestor": requestor,
        }
    )
