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
