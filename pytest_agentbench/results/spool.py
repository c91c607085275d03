"""Results of more runs than memory should hold: in full in a file, in memory what the figures are made of."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any, TextIO, TypeVar

from pytest_agentbench.core.codec import dumps, loads
from pytest_agentbench.core.run import Result, RunKey
from pytest_agentbench.results.document import SCHEMA, Document

_T = TypeVar("_T", bound=Hashable)


class Spool:
    """Keeps each result in full in `file`, and gives a lean one: equal in all that figures, gates and rows are made of.

    A lean result has no explanations of calls, of an audit only what is counted, and no findings where the run passed;
    equal parts of different results are one object.
    """

    def __init__(self, file: Path) -> None:
        self._file = file.open("w+b")
        self._offsets: dict[RunKey, int] = {}
        self._shared: dict[Hashable, Hashable] = {}
        self._mappings: dict[str, dict[str, Any]] = {}
        self._fields: dict[type, set[str]] = {}

    def add(self, result: Result) -> Result:
        """Keep a result; give the lean one."""
        lean = self._lean(result)
        self._offsets[lean.key] = self._file.seek(0, 2)
        self._file.write(dumps(result).encode("ascii") + b"\n")
        return lean

    def full(self, key: RunKey) -> Result:
        """Give a result as it was added."""
        return Result.model_validate(loads(self._line(key)))

    def write(self, document: Document, file: TextIO) -> None:
        """Write the results file of a document whose results are lean: the same bytes as of the full ones."""
        fields = {"schema": SCHEMA, **document.model_dump(exclude={"results"})}
        retried = fields.pop("retried")
        file.write("{\n")
        for name, value in fields.items():
            file.write(f" {dumps(name)}: {_laid_out(value)},\n")
        file.write(' "results": [')
        between = "\n"
        for result in document.results:
            file.write(f"{between}  {self._line(result.key)}")
            between = ",\n"
        file.write(f'{"]" if not document.results else chr(10) + " ]"},\n "retried": {_laid_out(retried)}\n}}\n')

    def close(self) -> None:
        """Close the file; the lean results stay usable."""
        self._file.close()

    def _line(self, key: RunKey) -> str:
        self._file.seek(self._offsets[key])
        return self._file.readline().decode("ascii").rstrip("\n")

    def _lean(self, result: Result) -> Result:
        fields = dict(result.__dict__)
        if result.passed:
            fields["findings"] = ()
        fields["calls"] = ()
        if result.audit is not None:
            fields["audit"] = result.audit.model_copy(update={"claims": (), "consents": (), "goal_items": ()})
        fields["key"] = self._built(RunKey, {name: self._one(value) for name, value in result.key.__dict__.items()})
        for name in ("policies", "listed_policies", "tags", "tools", "faults"):
            fields[name] = self._one(fields[name])
        for name in ("suite_hash", "scenario_hash", "title", "file", "stop_reason"):
            fields[name] = self._one(fields[name])
        for name in ("players", "usage", "metrics", "reported"):
            fields[name] = self._mappings.setdefault(dumps(fields[name]), fields[name])
        lean: Result = self._built(Result, fields)
        return lean

    def _built(self, kind: type[Any], fields: dict[str, Any]) -> Any:
        """Build a value without checking it again; all of a kind share the set that says which fields were given."""
        given = self._fields.setdefault(kind, set(fields))
        return kind.model_construct(_fields_set=given, **fields)

    def _one(self, value: _T) -> _T:
        return self._shared.setdefault(value, value)  # type: ignore[return-value]  # equal values are of one type


def _laid_out(value: object) -> str:
    if isinstance(value, list | tuple) and value:
        return "[\n" + ",\n".join(f"  {dumps(entry)}" for entry in value) + "\n ]"
    return dumps(value)
