"""From pytest's hooks to what runs can ask: one `Extensions` for the hooks that hold where a suite lies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pytest_agentbench.core.errors import AgentBenchError, CheckError
from pytest_agentbench.core.extensions import Extensions
from pytest_agentbench.core.model import Price
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.seams import Check
from pytest_agentbench.core.text import raised_text
from pytest_agentbench.results.document import Document


def extensions_of(hook: Any) -> Extensions:
    """Give what the implementations of our hooks add; `hook` is a node's `ihook`, or the config's `hook`."""
    return Extensions(
        agent=lambda made: hook.pytest_agentbench_agent(made=made),
        state=lambda name, options: hook.pytest_agentbench_state(name=name, options=options),
        checks=lambda run: _checks(hook, run),
        metrics=lambda run: _metrics(hook, run),
        price=lambda model, base_url: _price(hook, model, base_url),
    )


def report_lines(hook: Any, document: Document) -> Iterator[tuple[str, bool]]:
    """Yield (line, whether it is a headline) of what others add to the report."""
    for lines in hook.pytest_agentbench_report(document=document):
        for number, line in enumerate(lines or ()):
            yield str(line), number == 0


def _checks(hook: Any, run: Run) -> Iterable[Check]:
    given = _asked("pytest_agentbench_checks", lambda: hook.pytest_agentbench_checks(run=run))
    return [check for checks in given for check in checks or ()]


def _metrics(hook: Any, run: Run) -> Mapping[str, float | None]:
    found: dict[str, float | None] = {}
    for metrics in _asked("pytest_agentbench_metrics", lambda: hook.pytest_agentbench_metrics(run=run)):
        for name, value in (metrics or {}).items():
            if value is not None and not isinstance(value, int | float):
                raise CheckError(f"pytest_agentbench_metrics gave {value!r} for {name!r}; a metric is a number or None")
            found[str(name)] = None if value is None else float(value)
    return found


def _price(hook: Any, model: str, base_url: str) -> Price | None:
    found = hook.pytest_agentbench_price(model=model, base_url=base_url)
    return None if found is None else Price.model_validate(found)


def _asked(name: str, ask: Any) -> Any:
    try:
        return ask()
    except AgentBenchError:
        raise
    except Exception as error:
        raise CheckError(f"an implementation of {name} raised {raised_text(error)}") from error
