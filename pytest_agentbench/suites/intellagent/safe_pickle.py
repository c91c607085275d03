"""Pickles of IntellAgent, read without running them: known classes become inert records, any other one is refused.

Unpickling runs whatever a file names. Here nothing of a file is called but plain containers and dates; the classes that
IntellAgent saves are named one by one and become records of what they were given. Tables (pandas) are read from their
blocks, without pandas.
"""

import collections
import datetime
import io
import pickle
from collections.abc import Iterable
from typing import Any


class RefusedPickleError(Exception):
    """A pickle names something that is not on the list, or is no pickle."""


_PLAIN: dict[tuple[str, str], Any] = {
    **{("builtins", name): kind for name, kind in (
        ("dict", dict), ("list", list), ("set", set), ("frozenset", frozenset), ("tuple", tuple), ("slice", slice),
        ("bytearray", bytearray), ("complex", complex), ("int", int), ("float", float), ("str", str), ("bool", bool),
    )},
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("datetime", "date"): datetime.date,
    ("datetime", "datetime"): datetime.datetime,
    ("datetime", "time"): datetime.time,
    ("datetime", "timedelta"): datetime.timedelta,
}  # fmt: skip
"""What may be built as it is: none of it does more than hold values."""

_OWN = frozenset({
    "DescriptionGenerator", "Description", "EventDescription", "EventSymbolic", "Event", "Policy", "PoliciesList",
    "FlowsList", "Rank", "info_symbolic", "InfoSymbolic", "table_row", "TableRow", "tables_rows", "DialogState",
    "PoliciesAnalysis", "FinalResult", "SampleResult",
})  # fmt: skip
"""Classes of IntellAgent's own modules (`simulator.…`), which it moved and renamed between versions."""

_OTHERS: dict[str, frozenset[str]] = {
    "networkx.classes.graph": frozenset({"Graph"}),
    "collections": frozenset({"defaultdict"}),
    "pandas.core.frame": frozenset({"DataFrame"}),
    "pandas.core.internals.managers": frozenset({"BlockManager"}),
    "pandas.core.indexes.base": frozenset({"_new_Index", "Index"}),
    "pandas.core.indexes.range": frozenset({"RangeIndex"}),
    "pandas.core.indexes.numeric": frozenset({"Int64Index"}),
    "pandas._libs.internals": frozenset({"_unpickle_block"}),
    "numpy": frozenset({"ndarray", "dtype"}),
    "numpy.core.multiarray": frozenset({"_reconstruct", "scalar"}),
    "numpy._core.multiarray": frozenset({"_reconstruct", "scalar"}),
    "numpy.core.numeric": frozenset({"_frombuffer"}),
    "numpy._core.numeric": frozenset({"_frombuffer"}),
    "langgraph.pregel.io": frozenset({"AddableValuesDict"}),
    "langchain_core.messages.human": frozenset({"HumanMessage"}),
    "langchain_core.messages.ai": frozenset({"AIMessage"}),
    "langchain_core.messages.system": frozenset({"SystemMessage"}),
    "langchain_core.messages.tool": frozenset({"ToolMessage", "tool_call"}),
    "pydantic_core._pydantic_core": frozenset(),
}


class PickledObject(dict[Any, Any]):
    """What an object of a known class was made of: `kind` its name, `given` the arguments, `state` its attributes."""

    kind = ""

    def __init__(self, *given: Any, **named: Any) -> None:
        """Keep what a constructor was given."""
        super().__init__()
        self.given: tuple[Any, ...] = given
        self.state: Any = dict(named)

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def extend(self, items: Iterable[Any]) -> None:
        """Keep what would be appended."""
        self.given = (*self.given, *items)

    append = extend


def load(data: bytes) -> Any:
    """Read a pickle; objects come as `PickledObject`s. Raise `RefusedPickleError` naming what is not on the list."""
    try:
        return _Reader(io.BytesIO(data)).load()
    except RefusedPickleError:
        raise
    except Exception as error:
        raise RefusedPickleError(f"it is no pickle that can be read ({type(error).__name__})") from error


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str, /) -> Any:
        if (module, name) in _PLAIN:
            return _PLAIN[module, name]
        own = module.split(".", maxsplit=1)[0] == "simulator" and name in _OWN
        if own or name in _OTHERS.get(module, ()):
            return type(name, (PickledObject,), {"kind": name})
        raise RefusedPickleError(f"it names {module}.{name}, which is not among the classes that are read")

    def persistent_load(self, pid: Any, /) -> Any:
        raise RefusedPickleError("it refers to objects outside of itself")


def plain(value: Any) -> Any:
    """Turn records into dicts and lists: the attributes of objects, the rows of tables."""
    if isinstance(value, PickledObject):
        if value.kind == "DataFrame":
            return rows(value)
        inner = attributes(value)
        return {key: plain(item) for key, item in (*value.items(), *inner.items())}
    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return value


def attributes(record: PickledObject) -> dict[str, Any]:
    """Give the attributes of an object, as plain classes, slots and pydantic models save them."""
    state = record.state
    if isinstance(state, tuple):
        state = {key: item for part in state if isinstance(part, dict) for key, item in part.items()}
    if not isinstance(state, dict):
        return {}
    inner = state.get("__dict__", state)
    return {key: item for key, item in inner.items() if isinstance(key, str) and not key.startswith("__")}


def rows(frame: PickledObject) -> list[dict[str, Any]] | None:
    """Give the rows of a pandas table, or None where its blocks are laid out in an unknown way."""
    try:
        manager = frame.state["_mgr"]
        blocks, (columns, index) = _blocks(manager)
        names = _labels(columns)
        length = len(_labels(index))
        table: list[dict[str, Any]] = [dict.fromkeys(names) for _ in range(length)]
        for values, where in blocks:
            for position, line in zip(where, values, strict=True):
                for at, value in enumerate(line):
                    table[at][names[position]] = plain(value)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        return None
    return table


def _blocks(manager: PickledObject) -> tuple[list[tuple[list[list[Any]], list[int]]], tuple[Any, Any]]:
    made, axes = manager.given[:2] if manager.given else (None, None)
    if made is None:
        *_, extra = manager.state
        inner = extra["0.14.1"]
        found = [(block["values"], block["mgr_locs"]) for block in inner["blocks"]]
        return [(_matrix(values), _positions(where)) for values, where in found], (inner["axes"][0], inner["axes"][1])
    return [(_matrix(block.given[0]), _positions(block.given[1])) for block in made], (axes[0], axes[1])


def _labels(index: PickledObject) -> list[Any]:
    """Give the labels of an index: those listed, or a range."""
    _, data = index.given
    if "data" in data:
        return _flat(data["data"])
    return list(range(data["start"], data["stop"], data["step"]))


def _positions(where: Any) -> list[int]:
    if isinstance(where, slice):
        return list(range(where.start, where.stop, where.step or 1))
    return [int(one) for one in _flat(where)]


def _matrix(array: PickledObject) -> list[list[Any]]:
    shape, fortran, flat = _array(array)
    across, down = shape
    if fortran:
        return [[flat[column * across + row] for column in range(down)] for row in range(across)]
    return [flat[row * down : (row + 1) * down] for row in range(across)]


def _flat(array: PickledObject) -> list[Any]:
    return _array(array)[2]


def _array(array: PickledObject) -> tuple[tuple[int, ...], bool, list[Any]]:
    """Give shape, order and values of an array of objects, numbers or truths."""
    if array.kind == "_frombuffer":
        data, dtype, shape, order = array.given
        return tuple(shape), order == "F", _decoded(dtype, bytes(data))
    _, shape, dtype, fortran, data = array.state
    return tuple(shape), bool(fortran), list(data) if isinstance(data, list) else _decoded(dtype, bytes(data))


def _decoded(dtype: PickledObject, data: bytes) -> list[Any]:
    import struct  # noqa: PLC0415 - only tables of numbers need it

    code = {"i8": "q", "i4": "i", "f8": "d", "f4": "f", "b1": "?"}[str(dtype.given[0]).lstrip("<=|")]
    return [one[0] for one in struct.iter_unpack(f"<{code}", data)]
