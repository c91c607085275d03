"""Finds what is installed of τ²-bench: a checkout, else `inspect_evals`; without either, says what to install."""

import importlib.util
import os
from functools import lru_cache
from pathlib import Path

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.tau2.checkout import CheckoutSource, package_of
from pytest_agentbench.tau2.inspect_source import InspectSource
from pytest_agentbench.tau2.world import Source

HOW = (
    "clone sierra-research/tau2-bench and name the folder (or set TAU2_BENCH), or install inspect_evals "
    "(the package called tau2 on PyPI is another one)"
)


@lru_cache(maxsize=16)
def find_source(domain: str, checkout: Path | None = None) -> Source:
    """Give the worlds of a domain, loaded once a process.

    `checkout` is a folder of τ²-bench; without it, the one that `TAU2_BENCH` names, an installed τ²-bench, or an
    installed `inspect_evals`. Raise `EnvironmentFaultError` where nothing is there, it lacks the domain, or the domain
    cannot be loaded.
    """
    named = checkout or (Path(os.environ["TAU2_BENCH"]) if os.environ.get("TAU2_BENCH") else None)
    if named is not None:
        return CheckoutSource(domain, package_of(named))
    failed: list[str] = []
    for there, build in ((installed_package() is not None, _installed), (has_inspect_evals(), InspectSource)):
        try:
            if there:
                return build(domain)
        except EnvironmentFaultError as error:
            failed.append(str(error))
    raise EnvironmentFaultError(f"no world of the τ² domain {domain!r}: {'; '.join(failed) or HOW}")


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


def _installed(domain: str) -> Source:
    package = installed_package()
    if package is None:
        raise EnvironmentFaultError(HOW)
    return CheckoutSource(domain, package)
