"""xdist's scheduler is overridden only as far as it is there."""

import pytest
from xdist.scheduler import LoadScheduling

from pytest_agentbench.plugin.scheduling import make_window_scheduler


def test_xdist_hands_out_items_itself_where_a_private_method_is_gone(
    monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    """A later xdist may rename what is private to it: the session then runs, only less evenly."""
    monkeypatch.delattr(LoadScheduling, "_send_tests")

    assert make_window_scheduler(pytestconfig, None, slots=8, keeps_trials=lambda: False) is None
