"""What all tests share: pytest's own test kit, and the plugin loaded in full before any inner session starts."""

import compileall
import contextlib
import gc
import importlib
import os
import pkgutil
import sys
from pathlib import Path

import pytest

import pytest_agentbench
from tests import inner_sessions

pytest_plugins = ["pytester"]

inner_sessions.share()

# what is imported stays, and searching it for cycles, again and again, was a third of the time of collection
gc.disable()

# Where the environment forbids it, each session would rewrite the asserts of all test modules anew: 7 s in each worker.
# Inner sessions and child processes go by the environment: what they import is written anew within a second at times.
_writes_none, sys.dont_write_bytecode = sys.dont_write_bytecode, False

OF_EXTRAS = {"pytest_agentbench.llm.pydantic_ai_client"}
"""Modules that import the package of an extra at their top."""

LATE = (
    "babel.dates",
    "babel.numbers",
    "docstring_parser",
    "filelock",
    "h11",
    "httpcore2",
    "hypothesis",
    "jsonschema.validators",
    "markdown_it",
    "packaging.version",
    "referencing",
    "regex",
)
"""What the package imports where it is needed: each inner session would import it anew."""

# hundreds of child processes import the package, and an editable install compiles nothing
if "PYTEST_XDIST_WORKER" not in os.environ:
    compileall.compile_dir(pytest_agentbench.__path__[0], quiet=1)

# pytester restores sys.modules after each inner session: a module first imported inside one would exist twice later on.
# Pytest need not rewrite the asserts of this plugin and of hypothesis, as it does those of any plugin.
_rewriting, sys.meta_path[:] = (
    sys.meta_path[:],
    [finder for finder in sys.meta_path if type(finder).__name__ != "AssertionRewritingHook"],
)
for _name in LATE:
    importlib.import_module(_name)
for _module in pkgutil.walk_packages(pytest_agentbench.__path__, "pytest_agentbench."):
    if _module.name not in OF_EXTRAS:
        importlib.import_module(_module.name)
sys.meta_path[:] = _rewriting

import hypothesis  # noqa: E402  # only now, without its asserts rewritten

# the machines that run these tests are shared and slow at times: a deadline would fail for the wrong reason
# The same examples on every run, so that a pull request is never red for what another one broke;
# HYPOTHESIS_PROFILE=search looks for new ones.
# They are few, as each run tries the very same ones.
hypothesis.settings.register_profile("patient", deadline=None, print_blob=True, derandomize=True, max_examples=50)
hypothesis.settings.register_profile("search", deadline=None, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "patient"))


def pytest_collection(session: pytest.Session) -> None:
    """Import a share of the test modules in each worker before the others: it reads the asserts rewritten by those."""
    worker = getattr(session.config, "workerinput", None)
    if worker is None:
        return
    root = Path(__file__).parent
    files = sorted(root.rglob("test_*.py")) if any(Path(one).resolve() == root for one in session.config.args) else []
    for file in files[int(worker["workerid"][2:]) :: worker["workercount"]]:
        name = ".".join(file.relative_to(root.parent).with_suffix("").parts)
        with contextlib.suppress(Exception, pytest.skip.Exception):  # its collection will say it
            importlib.import_module(name)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Search for cycles from here on, but not among what was imported and collected; write no more bytecode."""
    gc.freeze()
    gc.enable()
    sys.dont_write_bytecode = _writes_none


@pytest.fixture
def pytester(pytester: pytest.Pytester) -> pytest.Pytester:
    """Pytest's own: each inner session ends with a search for cycles, which is to be among what it made itself."""
    gc.freeze()
    return pytester
