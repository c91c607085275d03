"""Finds what is installed of τ²-bench: a checkout, else `inspect_evals`; without either, says what to install."""

import importlib.util
import json
import os
from functools import lru_cache
from pathlib import Path

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.tau2.checkout import CheckoutSource, package_of, splits_file
from pytest_agentbench.tau2.inspect_source import InspectSource
from pytest_agentbench.tau2.world import Source

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
