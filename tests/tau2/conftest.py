"""Worlds of a toy domain, loaded as those of a checkout are."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_agentbench.tau2.checkout import CheckoutSource, package_of
from tests.plugin.project import Project
from tests.tau2.toy import toy_checkout


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """A user's project, run in one process."""
    return Project(pytester=pytester)


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Path]:
    """A checkout with the toy domains."""
    with toy_checkout(tmp_path / "checkout") as found:
        yield found


@pytest.fixture
def notes(checkout: Path) -> CheckoutSource:
    """The domain in which the agent alone has tools."""
    return CheckoutSource("notes", package_of(checkout))


@pytest.fixture
def bells(checkout: Path) -> CheckoutSource:
    """The domain in which both parties have tools."""
    return CheckoutSource("bells", package_of(checkout))
