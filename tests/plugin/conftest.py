"""Fixtures of the plugin's tests."""

import pytest

from tests.plugin.project import TWO_WORKERS, Project


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """A user's project, run in one process."""
    return Project(pytester=pytester)


@pytest.fixture(params=["-n0", TWO_WORKERS])
def anywhere(request: pytest.FixtureRequest, pytester: pytest.Pytester) -> Project:
    """A user's project, run in one process and, with the slow tests, in two: the same assertions must hold."""
    return Project(pytester=pytester, arguments=(request.param,))


@pytest.fixture(params=["-n0", "-n2"])
def everywhere(request: pytest.FixtureRequest, pytester: pytest.Pytester) -> Project:
    """A user's project, always run in one process and in two: for what two processes must put together."""
    return Project(pytester=pytester, arguments=(request.param,))
