"""Worlds of the domains in PyPI's `inspect_evals`, an independent port of τ²'s tools with the data in the wheel.

Its toolkits are models kept in a store, its tools thin functions over them; kinds are not declared there, so what a
tool's name does not call a read or a calculation is replayed.
"""

import importlib
import pkgutil
import warnings
from collections.abc import Callable
from functools import cached_property, partial
from types import ModuleType
from typing import Any

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.tool import Requestor, Toolset, ToolSpec
from pytest_agentbench.environment.kinds import guessed_kind
from pytest_agentbench.environment.rendering import render_result
from pytest_agentbench.tau2.lazy_records import over
from pytest_agentbench.tau2.world import World

_PACKAGE = "inspect_evals.tau2"


class InspectSource:
    """A domain of `inspect_evals`; its database is read once and shared by all worlds."""

    def __init__(self, domain: str) -> None:
        """Raise `EnvironmentFaultError` where the domain is not there or cannot be loaded."""
        self.domain = domain
        self.declares = False
        self.origin = "inspect_evals"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                package = importlib.import_module(f"{_PACKAGE}.{domain}")
                self._kits = {
                    "assistant": _toolkit(package, "AgentTools"),
                    "user": _toolkit(package, "UserTools"),
                }
                self._modules = {"assistant": _module(package, "tools"), "user": _module(package, "user_tools")}
                self._coupled = _module(package, "environment")
                self._new_store = importlib.import_module("inspect_ai.util").Store
                self._bases = {party: self._base(party) for party, kit in self._kits.items() if kit is not None}
        except ImportError as error:
            raise EnvironmentFaultError(f"inspect_evals has no domain {domain!r}: {error}") from error
        except Exception as error:  # of any version
            raise EnvironmentFaultError(f"inspect_evals: {domain!r}: {type(error).__name__}: {error}") from error
        if self._kits["assistant"] is None:
            raise EnvironmentFaultError(f"inspect_evals has no toolkit of the τ² domain {domain!r}")

    @cached_property
    def toolset(self) -> Toolset:
        """The tools of both parties as `inspect_evals` describes them, kinds guessed by their names."""
        return Toolset(specs=tuple(spec for party in self._modules for spec in self._specs(party)))

    def mutates(self, name: str) -> bool:
        """Whatever is not called a read or a calculation."""
        return guessed_kind(name) not in ("read", "generic")

    def knows(self, name: str) -> bool:
        """Whether either party has such a tool."""
        return any(name in self._names(party) for party in self._kits)

    def world(self, *, solo: bool = False) -> World:
        """Give a fresh world over the database that was read once."""
        kits = {party: self._fresh(party) for party in self._bases}
        sync = _nothing
        if self._coupled is not None and "user" in kits:
            sync = self._coupled.Environment(user_tools=kits["user"], tools=kits["assistant"]).sync_tools
        return World(
            agent=kits["assistant"],
            user=kits.get("user"),
            tools=self._names("assistant"),
            user_tools=self._names("user"),
            sync=sync,
            stateless=self._stateless,
            render=render_result,
            solo=solo,
        )

    @cached_property
    def _stateless(self) -> dict[str, Callable[..., object]]:
        """The tools that have no method in a toolkit: calculating, handing over."""
        return {
            name: partial(_at_once, getattr(module, name)())
            for party, module in self._modules.items()
            for name in _offered(module)
            if not hasattr(self._kits[party], name)
        }

    def _base(self, party: str) -> Any:
        kit = self._kits[party](store=self._new_store())
        kit.initialize()
        return kit.db

    def _fresh(self, party: str) -> Any:
        kit = self._kits[party](store=self._new_store())
        kit.initialized = True
        kit.db = over(self._bases[party])
        return kit

    def _names(self, party: str) -> frozenset[str]:
        """The methods of a toolkit that its tools module offers; those without a method change nothing."""
        module, kit = self._modules[party], self._kits[party]
        return frozenset(name for name in _offered(module) if hasattr(kit, name))

    def _specs(self, party: str) -> list[ToolSpec]:
        module = self._modules[party]
        if module is None:
            return []
        definition = importlib.import_module("inspect_ai.tool").ToolDef
        requestor: Requestor = "user" if party == "user" else "assistant"
        found: list[ToolSpec] = []
        for name in _offered(module):
            tool = definition(getattr(module, name)())
            parameters = tool.parameters.model_dump(mode="json", exclude_none=True)
            found.append(
                ToolSpec(
                    name=name,
                    description=tool.description,
                    parameters=parameters,
                    kind="generic" if name in self._stateless else guessed_kind(name),
                    kind_from="declared" if name in self._stateless else "name",
                    requestor=requestor,
                )
            )
        return found


def _toolkit(package: ModuleType, suffix: str) -> Any:
    """Find the toolkit of a party: the class of its module's name."""
    for found in pkgutil.iter_modules(package.__path__):
        if found.name.endswith(suffix):
            return getattr(importlib.import_module(f"{package.__name__}.{found.name}"), found.name)
    return None


def _module(package: ModuleType, name: str) -> ModuleType | None:
    there = {found.name for found in pkgutil.iter_modules(package.__path__)}
    return importlib.import_module(f"{package.__name__}.{name}") if name in there else None


def _offered(module: ModuleType | None) -> list[str]:
    """The names of the tools in a module: what its decorator has registered."""
    return [name for name, value in vars(module).items() if hasattr(value, "__registry_info__")] if module else []


def _at_once(tool: Callable[..., Any], **arguments: Any) -> object:
    """Run an async tool that waits for nothing."""
    running = tool(**arguments)
    try:
        running.send(None)
    except StopIteration as done:
        return done.value
    running.close()
    raise RuntimeError("the tool waits for something; it needs a session of inspect_ai")


def _nothing() -> None:
    """Toolkits of one party need no synchronising."""
