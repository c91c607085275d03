"""The key `review` of a scenario: its form, the hash that an acceptance names, and how it is written into a file."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path

import yaml

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import AgentBenchError, SuiteError
from pytest_agentbench.core.file_models import form_misfits
from pytest_agentbench.core.json_values import JsonValue, with_texts
from pytest_agentbench.core.scenario import Review
from pytest_agentbench.spec.loading import node_at, read_yaml
from pytest_agentbench.spec.scenario import ReviewForm

KEY = "review"


class ReviewError(AgentBenchError):
    """A review that cannot be written into its file; the message says why."""


def review_of(form: Mapping[str, JsonValue], written: JsonValue) -> Review | None:
    """Read the key `review` of a form that fits the schema; `written` is the scenario as its file holds it.

    An acceptance of what the scenario is not any more has lapsed.
    """
    found = form.get(KEY)
    if not isinstance(found, dict):
        return None if found is None else Review()
    if "rejected" in found:
        return Review(state="rejected", **found["rejected"])
    accepted = found["accepted"]
    holds = accepted["hash"] == content_hash(written)
    return Review(state="accepted" if holds else "lapsed", **accepted)


def content_hash(written: JsonValue) -> str:
    """Give 16 hex digits over a scenario as its file holds it, without the key `review`; layout does not count."""
    if not isinstance(written, Mapping):
        return digest(written)
    return digest({key: value for key, value in written.items() if key != KEY})


def accepted(written: JsonValue, by: str, on: date) -> JsonValue:
    """Give the value of `review` that accepts a scenario as it is."""
    return {"accepted": {"by": by, "on": on.isoformat(), "hash": content_hash(written)}}


def rejected(reason: str, by: str, on: date) -> JsonValue:
    """Give the value of `review` that rejects a scenario."""
    return {"rejected": {"by": by, "on": on.isoformat(), "reason": reason}}


def was_decided(form: JsonValue) -> bool:
    """Whether a reviewer accepted or rejected a scenario, as it is or as it was."""
    return isinstance(form, dict) and isinstance(form.get(KEY), dict)


def with_review(text: str, file: Path, index: int | None, value: JsonValue) -> str:
    """Give the text of a scenario file with another `review`, all else as it was; raise `ReviewError`.

    What the form refuses is not written: the file would load no more.
    """
    for wrong in form_misfits(value, ReviewForm, (KEY,)):
        raise ReviewError(f"{file}: {'.'.join(map(str, wrong.path))}: {wrong.message}")
    node = node_at(text, () if index is None else (index,))
    if not isinstance(node, yaml.MappingNode) or node.flow_style or not node.value:
        raise ReviewError(f"{file}: the scenario is not written as YAML of one key a line; write its `review` by hand")
    line = f"{KEY}: {_flow(value)}"
    place = next((pair for pair in node.value if pair[0].value == KEY), None)
    if place is not None:
        begin = place[0].start_mark.index
        end = begin + len(text[begin : _end(place[1])].rstrip())
        changed = f"{text[:begin]}{line}{text[end:]}"
    else:
        at = node.value[min(1, len(node.value) - 1)][0].start_mark
        changed = f"{text[: at.index]}{line}\n{' ' * at.column}{text[at.index :]}"
    _check(text, changed, file, index, value)
    return changed


def _end(node: yaml.Node) -> int:
    """Give where a node ends; a block is said to end only where the next key begins, behind comments."""
    if isinstance(node, yaml.MappingNode) and node.value and not node.flow_style:
        return _end(node.value[-1][1])
    return node.end_mark.index


def _flow(value: JsonValue) -> str:
    """Write a value on one line; texts are quoted, since a hash of digits alone would be a number."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(one)}" for key, one in value.items()) + "}"
    text = str(value)
    if text == "pending":
        return text
    quoted = yaml.safe_dump(text.replace("${", "$${"), default_style='"', width=10**6, allow_unicode=True)
    return quoted.strip().removesuffix("\n...")


def _unescaped(value: JsonValue) -> JsonValue:
    return with_texts(value, lambda text: text.replace("$${", "${"))


def _check(before: str, after: str, file: Path, index: int | None, value: JsonValue) -> None:
    """Raise `ReviewError` unless the file holds what it held, but for the review."""
    try:
        old, new = read_yaml(before, file).value, read_yaml(after, file).value
        was, now = (old, new) if index is None else (old[index], new[index])
    except (SuiteError, LookupError, TypeError) as error:
        raise ReviewError(f"{file}: its `review` must be written by hand: {error}") from error
    others = index is not None and [one for at, one in enumerate(old) if at != index]
    kept = index is not None and [one for at, one in enumerate(new) if at != index]
    if others != kept or content_hash(was) != content_hash(now) or _unescaped(now.get(KEY)) != value:
        raise ReviewError(f"{file}: its `review` must be written by hand: the layout of the file is not understood")
