"""The collector while items run, and after them."""

import gc

import pytest

from tests.plugin.project import Project

NOTED = """
    import gc, pathlib

    def pytest_runtest_call(item):
        with pathlib.Path("frozen.txt").open("a") as file:
            file.write(f"{gc.get_freeze_count()} {gc.get_threshold()}\\n")
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """A user's project, whose sessions look themselves whether objects are frozen."""
    return Project(pytester=pytester, is_frozen=False)


def noted(project: Project) -> list[int]:
    """Give how many objects were frozen while each item ran."""
    lines = (project.pytester.path / "frozen.txt").read_text().splitlines()
    return [int(line.split()[0]) for line in lines]


def test_what_was_there_is_out_of_the_collectors_sight_while_items_run_and_back_after(project: Project) -> None:
    """Objects are frozen during the items and not after the session, also where a run fails."""
    gc.unfreeze()  # one that the interpreter froze at its start would be left alone
    project.suite("right", "other", agent="def build(tools):\n    return lambda message: 'No.'\n")
    project.write("conftest.py", NOTED)
    project.run().assert_outcomes(failed=2)
    assert all(count > 1_000 for count in noted(project))
    assert gc.get_freeze_count() == 0


def test_who_froze_objects_is_left_alone(project: Project, request: pytest.FixtureRequest) -> None:
    """What a process froze before the session is still frozen after it, and no more than that."""
    request.addfinalizer(gc.unfreeze)
    project.suite("right")
    project.write("conftest.py", NOTED)
    gc.unfreeze()
    gc.freeze()
    frozen = gc.get_freeze_count()
    project.run().assert_outcomes(passed=1)
    assert gc.get_freeze_count() <= frozen
    assert max(noted(project)) <= frozen


def test_the_threshold_is_higher_only_while_items_run(project: Project) -> None:
    """The collector looks less often during the items, and as before after the session."""
    gc.unfreeze()
    before = gc.get_threshold()
    project.suite("right")
    project.write("conftest.py", NOTED)
    project.run().assert_outcomes(passed=1)
    assert f"({max(before[0], 10_000)}, {before[1]}, {before[2]})" in (project.pytester.path / "frozen.txt").read_text()
    assert gc.get_threshold() == before


def test_a_session_that_only_collects_freezes_nothing(project: Project) -> None:
    """`--collect-only` has no items to run."""
    gc.unfreeze()
    project.suite("right")
    assert project.run("--collect-only").ret == 0
    assert gc.get_freeze_count() == 0


def test_what_was_there_stays_out_of_sight_in_a_process_of_the_sessions_own(project: Project) -> None:
    """pytest looks for garbage several times at the end, which then finds only what is newer than the items."""
    project.suite("right")
    project.write("conftest.py", f"{NOTED}\n    def pytest_unconfigure():\n        pytest_runtest_call(None)\n")
    assert project.run(process="fresh").ret == 0
    assert len(noted(project)) == 2
    assert all(count > 1_000 for count in noted(project))
