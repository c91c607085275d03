"""Where τ²-bench's domains come from: a checkout, loaded without what its package imports, or PyPI's `inspect_evals`.

τ²'s top-level package imports its runner, and with it every model provider. The domains need none of that: they are
imported under a bare package, which is gone again afterwards, so that `import tau2` elsewhere stays what it was.
"""

import copy
import importlib
import importlib.util
import json
import os
import pkgutil
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.tool import Requestor, Toolset, ToolSpec
from pytest_agentbench.environment.kinds import guessed_kind
from pytest_agentbench.environment.python_tools import render_result
from pytest_agentbench.tau2.world import World, over

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
        sync: Callable[[], None] = lambda: None  # noqa: E731 - toolkits of one party need no synchronising
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


Source = CheckoutSource | InspectSource
"""Where worlds of one domain come from; where it `declares`, `mutates` is what the domain says, and no guess."""

HOW = (
    "clone sierra-research/tau2-bench and name the folder (or set TAU2_BENCH), or install inspect_evals "
    "(the package called tau2 on PyPI is another one)"
)


@lru_cache(maxsize=16)
def find_source(domain: str, checkout: Path | None = None, *, solo: bool = False) -> Source:
    """Give the worlds of a domain, loaded once a process.

    `checkout` is a folder of τ²-bench; without it, the one that `TAU2_BENCH` names, an installed τ²-bench, or an
    installed `inspect_evals`. `solo` asks for the policy of an agent that works alone. Raise `EnvironmentFaultError`
    where nothing is there, it lacks the domain, or the domain cannot be loaded.
    """
    package, is_named = _package(checkout)
    failed: list[str] = []
    try:
        if package is not None:
            return CheckoutSource(domain, package, solo=solo)
    except EnvironmentFaultError as error:
        if is_named:
            raise
        failed.append(str(error))
    try:
        if has_inspect_evals():
            return InspectSource(domain)
    except EnvironmentFaultError as error:
        failed.append(str(error))
    raise EnvironmentFaultError(f"no world of the τ² domain {domain!r}: {'; '.join(failed) or HOW}")


@lru_cache(maxsize=16)
def find_splits(domain: str, checkout: Path | None = None) -> dict[str, frozenset[str]]:
    """Give the ids of a domain's tasks by the names of its splits; empty where none are at hand."""
    package, _ = _package(checkout)
    file = splits_file(domain, package) if package is not None else None
    if file is None or not file.is_file():
        return {}
    found = json.loads(file.read_text(encoding="utf-8"))
    return {str(name): frozenset(map(str, ids)) for name, ids in found.items()}


def _package(checkout: Path | None) -> tuple[Path | None, bool]:
    """Give the folder of τ²-bench's package, and whether it was named rather than found."""
    named = checkout or (Path(os.environ["TAU2_BENCH"]) if os.environ.get("TAU2_BENCH") else None)
    return (installed_package(), False) if named is None else (package_of(named), True)


def installed_package() -> Path | None:
    """Give the folder of an installed τ²-bench; the chemistry package of the same name is none."""
    spec = importlib.util.find_spec("tau2")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(folder) / "environment" / "environment.py").is_file():
            return Path(folder)
    return None


def has_inspect_evals() -> bool:
    """Whether `inspect_evals` is installed and holds τ²'s domains; nothing is imported."""
    spec = importlib.util.find_spec("inspect_evals")
    folders = (spec.submodule_search_locations or ()) if spec else ()
    return any((Path(folder) / "tau2" / "data" / "domains").is_dir() for folder in folders)
