"""Fixtures of the plugin's tests."""

import pytest

from tests.plugin.project import Project


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """A user's project, run in one process."""
    return Project(pytester=pytester)


@pytest.fixture(params=["-n0", "-n2"])
def anywhere(request: pytest.FixtureRequest, pytester: pytest.Pytester) -> Project:
    """A user's project, run in one process and in two workers: the same assertions must hold."""
    return Project(pytester=pytester, arguments=(request.param,))
