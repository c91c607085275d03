"""Worlds of a toy domain, loaded as those of a checkout are."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_agentbench.environment.tau2_bridge.checkout import CheckoutSource, package_of
from tests.environment.tau2_bridge.toy import write_checkout


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Path]:
    """A checkout with the toy domains; its modules are gone afterwards."""
    kept = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "tau2"}
    for name in kept:
        del sys.modules[name]
    yield write_checkout(tmp_path / "checkout")
    for name in [name for name in sys.modules if name.partition(".")[0] == "tau2"]:
        del sys.modules[name]
    sys.modules.update(kept)


@pytest.fixture
def notes(checkout: Path) -> CheckoutSource:
    """The domain in which the agent alone has tools."""
    return CheckoutSource("notes", package_of(checkout))


@pytest.fixture
def bells(checkout: Path) -> CheckoutSource:
    """The domain in which both parties have tools."""
    return CheckoutSource("bells", package_of(checkout))
