"""What others add: environments, formats, agents, states, checks, metrics and prices that nobody here knows of.

All of it is asked through hooks: those of a pytest session, or outside of one those that come with the package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_agentbench.built_in import EXTENSIONS
from pytest_agentbench.core.errors import AgentBenchError, CheckError
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.misfit import Keys, Misfit
from pytest_agentbench.core.model import ModelSpec, Price
from pytest_agentbench.core.protocols import Check, OfferedEnvironment, StateProvider
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.text import raised_text
from pytest_agentbench.core.verdict import NotMeasured

if TYPE_CHECKING:
    from pytest_agentbench.core.file_models import Written

T = TypeVar("T")

_FIRST_ANSWERS = frozenset({
    "pytest_agentbench_agent", "pytest_agentbench_price", "pytest_agentbench_scenario", "pytest_agentbench_state",
})  # fmt: skip
"""Hooks of which the first answer counts, as their specifications say to pytest."""


class _BuiltIn:
    """Asks the modules that come with the package, as pytest asks the plugins of a session."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return partial(self._asked, name)

    def _asked(self, name: str, **given: Any) -> Any:
        functions = [getattr(module, name) for module in built_in() if hasattr(module, name)]
        answers = (function(**given) for function in functions)
        found = (one for one in answers if one is not None)
        return next(found, None) if name in _FIRST_ANSWERS else list(found)


@cache
def built_in() -> tuple[ModuleType, ...]:
    """Give the modules that come with the package and answer our hooks."""
    return tuple(map(import_module, EXTENSIONS))


_ASKED: list[Any] = [_BuiltIn()]
"""Whose hooks this process asks: those of the innermost pytest session, the last one."""


@contextmanager
def asking(hook: Any) -> Iterator[None]:
    """Ask the plugins of a pytest session (`config.hook`), for as long as it lasts."""
    _ASKED.append(hook)
    try:
        yield
    finally:
        _ASKED.remove(hook)


@dataclass(frozen=True, kw_only=True)
class EnvironmentOffer:
    """An environment that suites may name: `environment: {NAME: …}`.

    `form` describes the keys beside and under the name, a model as those of the suite file are. `misfits` says what
    else is wrong with them, seen from the suite's folder. `open` gives the environment, or raises
    `EnvironmentFaultError`. `adapt` gives each scenario of the suite as the environment wants it, None where it is left
    out, or what is wrong with it.
    """

    form: type[Written]
    open: Callable[[Any, Path], OfferedEnvironment]
    misfits: Callable[[Any, Path], Iterable[Misfit]] = lambda _form, _folder: ()
    adapt: Callable[[Any, Path, Scenario], Scenario | Misfit | None] = lambda _form, _folder, scenario: scenario

    def misfits_in(self, form: Any, folder: Path) -> list[Misfit]:
        """Give what `misfits` says; raise `CheckError`, naming the plugin, for whatever it raises."""
        return self._asked("misfits", lambda: [_is_a(one, Misfit) for one in self.misfits(form, folder)])

    def adapted(self, form: Any, folder: Path, scenario: Scenario) -> Scenario | Misfit | None:
        """Give what `adapt` gives; raise `CheckError`, naming the plugin, for whatever it raises or gives instead."""
        return self._asked("adapt", lambda: _is_a(self.adapt(form, folder, scenario), Scenario | Misfit | None))

    def _asked(self, part: str, ask: Callable[[], T]) -> T:
        return _asked(f"pytest_agentbench_environments, `{part}`", ask, self.form.__module__)


def _is_a(value: T, kind: Any) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} was given, which is {type(value).__name__}")
    return value


def asked() -> Any:
    """Give the hooks that this process asks."""
    return _ASKED[-1]


def environments() -> dict[str, EnvironmentOffer]:
    """Give the environments that plugins offer, by the key of a suite's `environment` that names each."""
    found: dict[str, EnvironmentOffer] = {}
    for offered in _asked("pytest_agentbench_environments", lambda: asked().pytest_agentbench_environments()):
        found = {**(offered or {}), **found}
    return found


def scenario_of(value: JsonValue, path: Keys) -> Scenario | list[Misfit]:
    """Turn a scenario in somebody else's format into one of ours, or say what is wrong with it."""
    found: Scenario | Sequence[Misfit] | None = _asked(
        "pytest_agentbench_scenario", lambda: asked().pytest_agentbench_scenario(value=value, path=path)
    )
    if found is None:
        return [Misfit(path=path, message="found a scenario in a format that no plugin reads")]
    return found if isinstance(found, Scenario) else list(found)


@dataclass(frozen=True)
class Extensions:
    """What the hooks add to runs; `hook` asks those that hold where a suite lies."""

    hook: Any

    def agent(self, made: object) -> object | None:
        """Give an agent for what a factory gave, None where nobody knows it."""
        found: object | None = self.hook.pytest_agentbench_agent(made=made)
        return found

    def state(self, name: str, options: dict[str, Any]) -> StateProvider | None:
        """Give the state provider of a name, None where nobody has one."""
        found: StateProvider | None = self.hook.pytest_agentbench_state(name=name, options=options)
        return found

    def checks(self, run: Run) -> list[Check]:
        """Give the checks that a closed run gets besides its scenario's own."""
        given = _asked("pytest_agentbench_checks", lambda: self.hook.pytest_agentbench_checks(run=run))
        return [check for checks in given for check in checks or ()]

    def questions(self, run: Run) -> list[str]:
        """Give the sentences on a closed run whose truth a judge is to tell, each once."""
        given = _asked("pytest_agentbench_questions", lambda: self.hook.pytest_agentbench_questions(run=run))
        return list(dict.fromkeys(str(one) for several in given for one in several or ()))

    def metrics(self, run: Run) -> dict[str, float | NotMeasured | None]:
        """Give the numbers on a closed run, or why one is not measured."""
        found: dict[str, float | NotMeasured | None] = {}
        for metrics in _asked("pytest_agentbench_metrics", lambda: self.hook.pytest_agentbench_metrics(run=run)):
            for name, value in (metrics or {}).items():
                if value is not None and not isinstance(value, int | float | NotMeasured):
                    wanted = "a metric is a number or None, or a NotMeasured that says why"
                    raise CheckError(f"pytest_agentbench_metrics gave {value!r} for {name!r}; {wanted}")
                found[str(name)] = float(value) if isinstance(value, int | float) else value
        return found

    def price(self, model: str, base_url: str) -> Price | None:
        """Give the price of a model at a server, None where nobody knows it."""
        found = self.hook.pytest_agentbench_price(model=model, base_url=base_url)
        return None if found is None else Price.model_validate(found)

    def priced(self, spec: ModelSpec, server: str) -> ModelSpec:
        """Give the model with a price, where it has none of its own and somebody knows one."""
        found = None if spec.price is not None else self.price(spec.model, server)
        return spec if found is None else spec.model_copy(update={"price": found})


def _asked(name: str, ask: Callable[[], T], plugin: str = "") -> T:
    """Ask plugins; raise `CheckError` with the plugin, the hook and the error for what one raises."""
    try:
        return ask()
    except AgentBenchError:
        raise
    except Exception as error:
        who = f"the plugin {plugin or _raised_in(error)} ({name})"
        raise CheckError(f"{who} raised {raised_text(error)}") from error


def _raised_in(error: Exception) -> str:
    """Name the module of a plugin that raised: the first that is neither pluggy's nor ours."""
    modules = [str(frame.f_globals.get("__name__", "")) for frame, _ in walk_tb(error.__traceback__)]
    ours = ("pluggy", "_pytest", __name__.partition(".")[0])
    return next((name for name in modules if name.partition(".")[0] not in ours), modules[-1] if modules else "?")


BUILT_IN = Extensions(_ASKED[0])
"""What comes with the package, and nothing else."""
