"""Reads what IntellAgent wrote: JSON exports, `results.csv`, and its pickles without running them."""

import ast
import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.errors import Problem, SuiteError
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.suites.intellagent.intellagent import (
    ForeignCall,
    ForeignData,
    ForeignDialogue,
    ForeignEvent,
    ForeignGraph,
    ForeignPolicy,
    ForeignResult,
)
from pytest_agentbench.suites.intellagent.safe_pickle import (
    PickledObject,
    RefusedPickleError,
    attributes,
    load,
    plain,
)

InconsistencyKind = Literal[
    "duplicate key", "wrong table", "no key", "dangling reference", "not in profile", "duplicate part"
]

_SUFFIXES = ("_id", "_number")


class Inconsistency(Model):
    """One row at fault: of which kind, in which table, and in words."""

    kind: InconsistencyKind
    table: str
    message: str


class ForeignAudit(Model):
    """What was found in many events: how many have something, and how often each kind occurs, by events."""

    events: int
    inconsistent: int
    kinds: dict[str, int] = {}


def audit_events(events: Sequence[ForeignEvent]) -> ForeignAudit:
    """Count the events whose databases contradict themselves, and what each kind of contradiction is found in.

    No schema is asked for: a table's key is the column named after it (`order_id` of `orders`), a reference is a field
    named after a table, and `paper_id` leads to the container (`papers`) of whoever the row belongs to.
    """
    found = [{one.kind for one in audit(event.database)} for event in events]
    counts = Counter(kind for kinds in found for kind in kinds)
    return ForeignAudit(events=len(events), inconsistent=sum(map(bool, found)), kinds=dict(sorted(counts.items())))


def audit(database: Mapping[str, Any]) -> tuple[Inconsistency, ...]:
    """Find what is inconsistent in a database of rows by table, as lists or as mappings by key."""
    tables = {name: [_plain(row) for row in _rows(content)] for name, content in database.items()}
    keys = {name: _key(name, rows) for name, rows in tables.items()}
    found: list[Inconsistency] = []
    for name, rows in tables.items():
        found += _keys(name, rows, keys)
        for row in rows:
            found += _references(name, row, tables, keys)
            found += _parts(name, row)
            found += _profiles(name, row, tables, keys)
    return tuple(dict.fromkeys(found))


def _rows(content: Any) -> list[dict[str, Any]]:
    rows = content.values() if isinstance(content, Mapping) else content if isinstance(content, list) else ()
    return [dict(row) for row in rows if isinstance(row, Mapping)]


def _plain(value: Any) -> Any:
    """Read what was saved as the text of a Python or JSON value."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, str) and value[:1] in "{[" and value[-1:] in "}]":
        found = _parsed(value.replace("’", "'").replace("‘", "'"))
        return value if found is None else _plain(found)
    return value


def _singular(name: str) -> str:
    return name.removesuffix("s")


def _key(name: str, rows: Sequence[Mapping[str, Any]]) -> str:
    columns = dict.fromkeys(column for row in rows for column in row)
    wanted = [_singular(name) + suffix for suffix in _SUFFIXES]
    return next((column for column in (*wanted, "id") if column in columns), "")


def _keys(name: str, rows: Sequence[dict[str, Any]], keys: Mapping[str, str]) -> Iterator[Inconsistency]:
    key = keys[name]
    counts = Counter(str(row[key]) for row in rows if key and row.get(key) is not None)
    for value, times in counts.items():
        if times > 1:
            yield _fault("duplicate key", name, f"{key} {value!r} stands {times} times")
    for row in rows:
        if not key or row.get(key) is None:
            other = next((table for table, own in keys.items() if table != name and own and row.get(own)), "")
            if other:
                yield _fault("wrong table", name, f"a row without {key or 'a key'} has the key of {other}")
            elif rows:
                yield _fault("no key", name, f"a row has no {key or 'key'}")


def _references(
    name: str, row: dict[str, Any], tables: Mapping[str, list[dict[str, Any]]], keys: Mapping[str, str]
) -> Iterator[Inconsistency]:
    for table, key in keys.items():
        if not key or key == "id":
            continue
        known = {str(other.get(key)) for other in tables[table]}
        for path, field, value in _fields(row, ""):
            named = field in (key, _singular(table)) or (field == table and path.endswith("[]"))
            is_own = table == name and path == key
            if named and not is_own and isinstance(value, str | int) and str(value) not in known:
                yield _fault("dangling reference", name, f"{path} {value!r} is not in {table}")


def _parts(name: str, row: dict[str, Any]) -> Iterator[Inconsistency]:
    """Find mappings whose entries share an id that should tell them apart, or do not have that of their key."""
    for path, _, value in _fields(row, "", containers=True):
        if not isinstance(value, Mapping) or len(value) < 1:
            continue
        entries = [one for one in value.values() if isinstance(one, Mapping)]
        for column in dict.fromkeys(column for one in entries for column in one if column.endswith("id")):
            counts = Counter(str(one[column]) for one in entries if one.get(column) is not None)
            for shown, times in counts.items():
                if times > 1:
                    yield _fault("duplicate part", name, f"{path}: {column} {shown!r} stands {times} times")


def _profiles(
    name: str, row: dict[str, Any], tables: Mapping[str, list[dict[str, Any]]], keys: Mapping[str, str]
) -> Iterator[Inconsistency]:
    """Find ids that should stand in a container of the row's owner and do not."""
    for table, key in keys.items():
        if table == name or not key or row.get(key) is None:
            continue
        for owner in tables[table]:
            if owner.get(key) != row[key]:
                continue
            for container, content in owner.items():
                if not isinstance(content, Mapping) or not all(isinstance(one, Mapping) for one in content.values()):
                    continue
                for path, field, value in _fields(row, ""):
                    stem = field.removesuffix("_id")
                    is_one = field.endswith("_id") and container.startswith(stem) and f"{stem}s" not in tables
                    if is_one and isinstance(value, str) and value not in content:
                        message = f"{path} {value!r} is not in {container} of {table} {row[key]!r}"
                        yield _fault("not in profile", name, message)


def _fields(value: Any, path: str, *, containers: bool = False) -> Iterator[tuple[str, str, Any]]:
    """Walk through fields: where one is, its name, its value; of `containers` or of plain values."""
    items: list[tuple[str, str, Any]] = []
    if isinstance(value, Mapping):
        items = [(f"{path}.{key}" if path else str(key), str(key), one) for key, one in value.items()]
    elif isinstance(value, list):
        name = path.rpartition(".")[2].removesuffix("[]")
        items = [(f"{path}[]", name, one) for one in value]
    for where, field, one in items:
        is_container = isinstance(one, Mapping | list)
        if is_container == containers:
            yield where, field, one
        if is_container:
            yield from _fields(one, where, containers=containers)


def _fault(kind: InconsistencyKind, table: str, message: str) -> Inconsistency:
    return Inconsistency(kind=kind, table=table, message=shorten(printable(f"{table}: {message}"), 200))


_STOP = re.compile(r"###\s*STOP\s+(SUCCESS|FAILURE)")


def read_intellagent(path: Path) -> ForeignData:
    """Read a graph, a dataset of events, dialogues or results; the content tells which.

    Raise `SuiteError` where the file cannot be read, is none of these, or is a pickle that names any class that
    IntellAgent does not save.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _wrong(path, f"cannot be read: {error.strerror or error}") from error
    if data[:1] == b"\x80":
        try:
            return _sorted_out(path, _of_pickle(load(data)))
        except RefusedPickleError as error:
            raise _wrong(path, f"this pickle is refused: {printable(str(error))}", "export it as JSON") from error
    text = data.decode("utf-8", "replace")
    if path.suffix.lower() == ".csv":
        return _data(path, "results", results=_results(list(csv.DictReader(io.StringIO(text)))))
    try:
        value = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise _wrong(path, f"is neither JSON nor a pickle: {error}") from error
    return _sorted_out(path, value)


def _sorted_out(path: Path, value: Any) -> ForeignData:
    if isinstance(value, dict) and isinstance(value.get("nodes"), list):
        return _graph_data(path, value)
    if isinstance(value, dict) and isinstance(value.get("events"), list):
        return _data(path, "events", events=tuple(_event(one) for one in value["events"] if isinstance(one, dict)))
    if isinstance(value, list) and value and all(isinstance(one, dict) and "score" in one for one in value):
        return _data(path, "results", results=_results(value))
    if isinstance(value, dict) and value and all(isinstance(one, dict) and "dialog" in one for one in value.values()):
        return _data(path, "dialogues", dialogues=tuple(_dialogue(key, value[key]) for key in value))
    raise _wrong(path, "is no graph (`nodes`), events (`events`), results (`score`) or dialogues (`dialog`)")


def _of_pickle(value: Any) -> Any:
    """Bring the objects that IntellAgent pickles into the form of the JSON exports."""
    if isinstance(value, PickledObject) and value.kind == "DescriptionGenerator":
        own = attributes(value)
        graph = own.get("graph_info", {})
        inner = graph.get("G") if isinstance(graph, dict) else None
        edges = _edges(attributes(inner)) if isinstance(inner, PickledObject) else []
        return {
            "nodes": plain(graph.get("nodes", [])),
            "edges": edges,
            "policies": plain(own.get("policies", {})),
            "task_description": plain(own.get("task_description", "")),
        }
    if isinstance(value, tuple) and value and isinstance(value[0], list):
        first = value[0][0] if value[0] else None
        if isinstance(first, PickledObject):
            return {"events": [_flat_event(plain(one)) for one in value[0]]}
    return plain(value)


def _edges(graph: Mapping[str, Any]) -> list[tuple[int, int, float]]:
    adjacency = graph.get("_adj", {})
    return [
        (one, other, inner.get("weight", 0))
        for one, neighbours in adjacency.items()
        for other, inner in neighbours.items()
        if one < other
    ]


def _flat_event(event: Any) -> dict[str, Any]:
    """Join an event with the descriptions inside it, outer values first."""
    flat: dict[str, Any] = {}
    while isinstance(event, dict):
        flat = {**event, **flat}
        event = event.get("description")
    return flat


def _graph_data(path: Path, value: Mapping[str, Any]) -> ForeignData:
    nodes = [node for node in value["nodes"] if isinstance(node, dict)]
    categories = {
        (flow, _text(entry.get("policy"))): _text(entry.get("category"))
        for flow, entries in _mapping(value.get("policies")).items()
        for entry in _entries(entries)
    }
    policies = []
    for one in _policies(nodes):
        category = one.category or categories.get((one.flow, one.text), "")
        score = min(5, max(1, one.score or 1))
        policies.append(one.model_copy(update={"category": category, "score": score}))
    edges = [edge for entry in value.get("edges", ()) if (edge := _edge(entry, len(nodes))) is not None]
    graph = ForeignGraph(policies=tuple(policies), edges=tuple(edges))
    flows = {one.flow for one in policies}
    missing = [*_graph_gaps(nodes, graph), f"flows: {len(flows)} named, none with a place in the document"]
    return _data(path, "graph", task=_text(value.get("task_description")), graph=graph, missing=missing)


def _edge(entry: Any, count: int) -> tuple[int, int, float] | None:
    try:
        one, other, weight = entry
        is_known = 0 <= one < count and 0 <= other < count
        return (int(one), int(other), min(10.0, max(0.0, float(weight)))) if is_known else None
    except (TypeError, ValueError):
        return None


def _graph_gaps(nodes: Sequence[Mapping[str, Any]], graph: ForeignGraph) -> list[str]:
    gaps = []
    if bare := sum("category" not in node for node in nodes):
        found = sum(bool(policy.category) for policy in graph.policies)
        gaps.append(f"category: {bare} of {len(nodes)} nodes have none, {found} found by their flow and text elsewhere")
    if odd := sum(not 1 <= (_number(node.get("score")) or 0) <= 5 for node in nodes):
        gaps.append(f"score: {odd} of {len(nodes)} nodes have none from 1 to 5")
    weighed = {frozenset(edge[:2]) for edge in graph.edges}
    if absent := sum(frozenset(pair) not in weighed for pair in combinations(range(len(nodes)), 2)):
        gaps.append(f"edges: {absent} pairs have no weight, which counts as never together")
    texts = [" ".join(policy.text.lower().split()) for policy in graph.policies]
    if repeated := len(texts) - len(set(texts)):
        gaps.append(f"policies: {repeated} stand more than once, under several flows")
    return [*gaps, "source span: no node says where in the document it stands"]


def _event(value: Mapping[str, Any]) -> ForeignEvent:
    tables = _mapping(value.get("database"))
    rows = value.get("relevant_rows")
    return ForeignEvent(
        id=str(value.get("id", "")),
        level=_number(value.get("challenge_level")),
        policies=_policies(value.get("policies")),
        description=_text(value.get("event_description")),
        expected_behaviour=_text(value.get("expected_behaviour")),
        scenario=_text(value.get("scenario")),
        database={
            str(name): [row for row in table if isinstance(row, dict)] if isinstance(table, list) else []
            for name, table in tables.items()
        },
        relevant_rows=tuple(map(_text, rows if isinstance(rows, list) else [rows] if rows else [])),
    )


def _policies(value: Any) -> tuple[ForeignPolicy, ...]:
    return tuple(
        ForeignPolicy(
            text=_text(one.get("policy")),
            flow=_text(one.get("flow")),
            score=_number(one.get("score", one.get("challenge_score"))),
            category=_text(one.get("category")),
        )
        for one in _entries(value)
    )


def _dialogue(thread: str, value: Mapping[str, Any]) -> ForeignDialogue:
    messages = tuple((_text(one.get("role")), _text(one.get("message"))) for one in _entries(value.get("dialog")))
    thoughts = tuple(_text(one.get("message")) for one in _entries(value.get("thoughts")))
    stops = [found[1] for text in (*thoughts, *(text for _, text in messages)) for found in _STOP.finditer(text)]
    return ForeignDialogue(
        thread=str(thread),
        messages=messages,
        thoughts=thoughts,
        calls=tuple(
            ForeignCall(
                name=_text(one.get("name", one.get("tool_name"))),
                arguments=_mapping(_parsed(one.get("input"))),
                output=_text(one.get("output")),
            )
            for one in _entries(value.get("tools"))
        ),
        stop=stops[-1] if stops else "",
    )


def _results(rows: Iterable[Mapping[str, Any]]) -> tuple[ForeignResult, ...]:
    return tuple(
        ForeignResult(
            event=str(row.get("id", row.get("event_id", ""))),
            thread=_text(row.get("thread_id")),
            score=_number(row.get("score")),
            reason=_text(row.get("reason")),
            level=_number(row.get("challenge_level")),
            tested_level=_number(row.get("tested_challenge_level")),
            policies=_policies(_parsed(row.get("policies"))),
            exercised=_positions(row.get("policies_in_dialog")),
            violated=_positions(row.get("violated_policies")),
        )
        for row in rows
    )


def _data(path: Path, kind: str, *, missing: Sequence[str] = (), **values: Any) -> ForeignData:
    gaps = [*missing, *_event_gaps(values.get("events", ())), *_run_gaps(values)]
    return ForeignData(file=path.name, kind=kind, missing=tuple(gaps), **values)


def _event_gaps(events: Sequence[ForeignEvent]) -> list[str]:
    if not events:
        return []
    count = len(events)
    tests = (
        ("level: {} differ from the sum of their policies' scores", lambda one: one.level != one.policy_sum),
        ("policies: {} have the same policy twice", lambda one: one.repeats_policy),
        ("category: {} have policies without one", lambda one: any(not policy.category for policy in one.policies)),
        ("rows: {} have none", lambda one: not any(one.database.values())),
        ("relevant rows: {} name none", lambda one: not one.relevant_rows),
        ("scenario: {} have none", lambda one: not one.scenario),
    )
    gaps = [text.format(f"{found} of {count}") for text, test in tests if (found := sum(map(test, events)))]
    audit = audit_events(events)
    if audit.inconsistent:
        kinds = ", ".join(f"{kind} {times}" for kind, times in audit.kinds.items())
        gaps.append(f"rows: {audit.inconsistent} of {count} databases contradict themselves ({kinds})")
    return [*gaps, "symbols, bindings and expected calls: none is stored with any event"]


def _run_gaps(values: Mapping[str, Any]) -> list[str]:
    gaps = []
    if dialogues := values.get("dialogues", ()):
        open_ = sum(not one.stop for one in dialogues)
        gaps.append("events: no dialogue says which event it plays, and none has a verdict per policy")
        if open_:
            gaps.append(f"verdict: {open_} of {len(dialogues)} dialogues end without one")
    if results := values.get("results", ()):
        if bare := sum(not one.policies for one in results):
            gaps.append(f"policies: {bare} of {len(results)} results name none (not run, or failed by the harness)")
        if undecided := sum(one.score not in (0, 1) for one in results):
            gaps.append(f"score: {undecided} of {len(results)} results are undecided")
    return gaps


def _parsed(value: Any) -> Any:
    """Read a Python or JSON literal out of a cell; never more than a literal."""
    if not isinstance(value, str):
        return value
    for read in (json.loads, ast.literal_eval):
        try:
            return read(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return None


def _positions(value: Any) -> tuple[int, ...]:
    found = _parsed(value)
    return tuple(one for one in found if type(one) is int) if isinstance(found, list) else ()


def _number(value: Any) -> int | None:
    try:
        return int(float(value))
    except (TypeError, ValueError, OverflowError):
        return None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _mapping(value: Any) -> dict[str, Any]:
    return {str(key): item for key, item in value.items()} if isinstance(value, dict) else {}


def _entries(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _wrong(path: Path, message: str, hint: str = "") -> SuiteError:
    return SuiteError([Problem(file=path, message=shorten(message, 300), hint=hint)])
