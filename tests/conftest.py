"""What all tests share: pytest's own test kit, and the plugin loaded in full before any inner session starts."""

import importlib
import pkgutil

import hypothesis

import pytest_agentbench

pytest_plugins = ["pytester"]

# pytester restores sys.modules after each inner session: a module first imported inside one would exist twice later on
for _module in pkgutil.walk_packages(pytest_agentbench.__path__, "pytest_agentbench."):
    importlib.import_module(_module.name)

# the machines that run these tests are shared and slow at times: a deadline would fail for the wrong reason
hypothesis.settings.register_profile("patient", deadline=None, print_blob=True)
hypothesis.settings.load_profile("patient")
