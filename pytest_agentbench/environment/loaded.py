"""The tools of a suite as they were loaded: described, with the functions behind them."""

from dataclasses import dataclass
from types import ModuleType

from pytest_agentbench.core.tool import Requestor, Toolset
from pytest_agentbench.environment.import_path import forget_module
from pytest_agentbench.environment.python_tools import PythonTool


@dataclass(frozen=True, kw_only=True)
class LoadedTools:
    """Tools as described, the Python functions behind them (none for described tools) and their fresh modules."""

    toolset: Toolset
    functions: dict[tuple[Requestor, str], PythonTool]
    modules: tuple[ModuleType, ...]

    def forget(self) -> None:
        """Drop the fresh modules."""
        for module in self.modules:
            forget_module(module)
