"""Carries a plan out: in order, independent steps side by side, failed ones again."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from notes.library import RAISED, Library, failed
from notes.planning.plan import Plan, SubTask
from notes.planning.references import ReferenceMissError, resolve

Mode = Literal["strict", "flexible"]


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a sub-task gave: text, and for a step of thought possibly a value; `attempts` counts from 1."""

    task: SubTask
    text: str
    value: Any = None
    attempts: int = 1

    @property
    def failed(self) -> bool:
        """Whether it came to nothing."""
        return failed(self.text)


class Reason(Protocol):
    """Does a step that needs no tool; `attempt` is 0 the first time."""

    def __call__(self, task: SubTask, needed: Mapping[int, Result], attempt: int, /) -> tuple[str, Any]:
        """Give the step's text, an error text for another attempt, and a value."""
        ...


@dataclass(frozen=True, kw_only=True)
class Executor:
    """Carries plans out with the tools of `library`; `workers` bounds the steps at one time."""

    library: Library
    reason: Reason
    mode: Mode = "flexible"
    retries: int = 2
    workers: int = 1

    def carry_out(self, plan: Plan) -> dict[int, Result]:
        """Give the results by sub-task. Strict: the first failure ends it. Flexible: only what needs it is left out."""
        results: dict[int, Result] = {}
        for ready in plan.order():
            for result in self._side_by_side(lambda task: self._attempt(plan, task, results), ready):
                results[result.task.id] = result
                if result.failed and self.mode == "strict":
                    return results
        return results

    def _side_by_side(self, work: Callable[[SubTask], Result], tasks: list[SubTask]) -> list[Result]:
        if self.workers < 2 or len(tasks) < 2:
            return [work(task) for task in tasks]
        with ThreadPoolExecutor(max_workers=min(self.workers, len(tasks))) as threads:
            return list(threads.map(work, tasks))

    def _attempt(self, plan: Plan, task: SubTask, results: Mapping[int, Result]) -> Result:
        needed = {number: results[number] for number in sorted(plan.needs(task)) if number in results}
        if task.tool and needed and all(result.failed for result in needed.values()):
            return Result(task=task, text=f"Error: nothing to go on, since {_why(needed)}", attempts=0)
        text, value, attempt = "", None, 0
        for attempt in range(self.retries + 1):
            text, value = self._once(task, needed, attempt)
            if not failed(text) or (task.tool and not text.startswith(RAISED)):
                break
        return Result(task=task, text=text, value=value, attempts=attempt + 1)

    def _once(self, task: SubTask, needed: Mapping[int, Result], attempt: int) -> tuple[str, Any]:
        if task.tool is None:
            return self.reason(task, needed, attempt)
        try:
            arguments = resolve(task.parameters, {number: result.text for number, result in needed.items()})
        except ReferenceMissError as fault:
            return f"Error: {fault}", None
        call = self.library.reread if attempt else self.library.call
        return call(task.tool, **arguments), None


def _why(needed: Mapping[int, Result]) -> str:
    return "; ".join(
        f"sub-task {number} failed ({result.text.removeprefix('Error: ')})" for number, result in needed.items()
    )
