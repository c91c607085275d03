"""What all tests share: pytest's own test kit, and the plugin loaded in full before any inner session starts."""

import importlib
import os
import pkgutil

import hypothesis
import regex  # noqa: F401  # imported late by the plugin, and pytester forgets what was imported inside

import pytest_agentbench

pytest_plugins = ["pytester"]

# pytester restores sys.modules after each inner session: a module first imported inside one would exist twice later on
for _module in pkgutil.walk_packages(pytest_agentbench.__path__, "pytest_agentbench."):
    importlib.import_module(_module.name)

# the machines that run these tests are shared and slow at times: a deadline would fail for the wrong reason
# The same examples on every run, so that a pull request is never red for what another one broke;
# HYPOTHESIS_PROFILE=search looks for new ones.
hypothesis.settings.register_profile("patient", deadline=None, print_blob=True, derandomize=True)
hypothesis.settings.register_profile("search", deadline=None, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "patient"))
