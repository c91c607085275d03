"""Tests of a table: one item for all rows, whose failure names each row that fails."""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

_MARKED = type(pytest.param())


def each(names: str | Sequence[str], rows: Iterable[Any], ids: Any = None) -> Callable[[Any], Any]:
    """Call a test with each row, as `pytest.mark.parametrize` would in an item of its own, which costs far more.

    All rows are tried. The first failure is raised with its row; where there are more, it says which.
    Fixtures are those of the one item, so a test that writes to one must not mind what the rows before wrote.
    """
    several = not isinstance(names, str) or "," in names
    parameters = [name.strip() for name in names.split(",") if name.strip()] if isinstance(names, str) else [*names]
    labels = [] if ids is None or callable(ids) else [*ids]
    table: list[tuple[str, dict[str, Any]]] = []
    for at, row in enumerate(rows):
        is_marked = type(row) is _MARKED
        values = row.values if is_marked else row if several else (row,)
        label = (is_marked and row.id) or (ids(values[0]) if callable(ids) else labels[at] if labels else "")
        table.append((str(label or repr(row)[:200]), dict(zip(parameters, values, strict=True))))
    assert table, "a table without rows tests nothing"

    def decorated(test: Any) -> Any:
        signature = inspect.signature(test)
        others = [one for name, one in signature.parameters.items() if name not in parameters]

        @functools.wraps(test)
        def tried(**fixtures: Any) -> None:
            failed: list[tuple[str, BaseException]] = []
            for label, values in table:
                try:
                    test(**fixtures, **values)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - raised below
                    failed.append((label, error))
            _raise(failed)

        @functools.wraps(test)
        async def awaited(**fixtures: Any) -> None:
            failed: list[tuple[str, BaseException]] = []
            for label, values in table:
                try:
                    await test(**fixtures, **values)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - raised below
                    failed.append((label, error))
            _raise(failed)

        made: Any = awaited if inspect.iscoroutinefunction(test) else tried
        made.__signature__ = signature.replace(parameters=others)
        return made

    return decorated


def _raise(failed: Sequence[tuple[str, BaseException]]) -> None:
    """Raise the first failure with a note on its row, and on the others that failed."""
    if not failed:
        return
    label, first = failed[0]
    first.add_note(f"row: {label}")
    for other, error in failed[1:]:
        first.add_note(f"failed as well: {other} ({type(error).__name__})")
    raise first
