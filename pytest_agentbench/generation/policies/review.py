"""`policies.yaml`: the file in which people review what was found and proposed, and which counts from then on.

An entry is written anew only where it still is what was written last; what a person edited, added or removed stays
edited, there, or gone. Kept entries keep their lines, comments included.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import indent as indented
from typing import Any

import yaml

from pytest_agentbench.core.errors import SuiteError
from pytest_agentbench.core.files import write_atomic
from pytest_agentbench.generation.policies.data_types import ExtractedPolicy
from pytest_agentbench.spec.loading import read_document, read_part
from pytest_agentbench.spec.suite import Policies
from pytest_agentbench.suites.rule_check import rule_misfits

_HEAD = """\
# Policies of {document}, for review. What you change stays as you write it; what you remove stays away.
# `rule` is what a run is judged by (docs/reference/rules.md), null: nothing; `challenge` is 1 to 5, for `levels:`.
"""


def read_forms(file: Path) -> list[dict[str, Any]] | None:
    """Read the entries of the file; None where there is none. Raise `SuiteError` naming the place of what is wrong."""
    if not file.is_file():
        return None
    document = read_document(file)
    found = read_part(document, Policies)
    wrong = [
        one
        for index, policy in enumerate(found)
        if policy.rule is not None
        for one in rule_misfits(policy.rule, (index, "rule"))
    ]
    if wrong:
        raise SuiteError([document.problem(one.path, one.message, one.hint, at_key=one.at_key) for one in wrong])
    return [{**one, "id": str(one["id"])} for one in document.value or []]


def form_of(policy: ExtractedPolicy) -> dict[str, Any]:
    """Give a policy as the file states it."""
    form = policy.model_dump(include={"id", "text", "category", "challenge", "rule", "source"})
    order = ("id", "text", "category", "challenge", "tools", "rule", *(["source"] if policy.source else []))
    return {key: list(policy.tools) if key == "tools" else form[key] for key in order}


def edited(forms: Sequence[Mapping[str, Any]], before: Sequence[ExtractedPolicy]) -> set[str]:
    """Give the ids of entries that a person wrote or changed: they differ from what was written last."""
    old = {one.id: form_of(one) for one in before}
    return {form["id"] for form in forms if form["id"] not in old or not _same(form, old[form["id"]])}


def review(
    file: Path, before: Sequence[ExtractedPolicy], now: Sequence[ExtractedPolicy], *, document: str = ""
) -> tuple[tuple[ExtractedPolicy, ...], list[str]]:
    """Bring the file up to date; give the policies as it then has them, and what to tell those who review them.

    `before` are the policies as they were written last, `now` those of the document as it is.
    """
    forms = read_forms(file)
    old, new = {one.id: one for one in before}, {one.id: one for one in now}
    theirs = edited(forms or (), before)
    kept: list[tuple[int | None, ExtractedPolicy]] = []
    notes: list[str] = []
    for index, form in enumerate(forms or ()):
        name = form["id"]
        if name not in theirs:
            if name in new:
                is_changed = not _same(form, form_of(new[name]))
                kept.append((None if is_changed else index, new[name]))
            continue
        kept.append((index, _of_form(form, new.get(name) or old.get(name))))
        if name in old and name not in new:
            notes.append(f"{name}: gone from the document; its entry was edited, and stays")
        elif name in old and old[name].text != new[name].text:
            notes.append(f"{name}: the document now says {new[name].text!r}; its entry was edited, and stays")
    there = {one.id for _, one in kept}
    removed = old.keys() if forms is not None else ()
    kept += [(None, one) for one in now if one.id not in there and one.id not in removed]
    if forms is None or [index for index, _ in kept] != list(range(len(forms))):
        _write(file, kept, forms or [], document)
    return tuple(one for _, one in kept), notes


def _same(form: Mapping[str, Any], written: Mapping[str, Any]) -> bool:
    """Whether an entry says what was written; keys without a value count as left out."""
    left, right = ({key: value for key, value in one.items() if value not in (None, "", [])} for one in (form, written))
    return left == right


def _of_form(form: Mapping[str, Any], known: ExtractedPolicy | None) -> ExtractedPolicy:
    """Give an entry as a policy, with the headings and places that are known of it."""
    base = known or ExtractedPolicy(id=form["id"], text=form["text"])
    own = ExtractedPolicy.model_validate({**form, "tools": tuple(form.get("tools", ()))})
    flows = base.flows or ((own.category,) if own.category else ())
    return own.model_copy(update={"flows": flows, "under": base.under, "spans": base.spans})


def _write(
    file: Path, kept: Sequence[tuple[int | None, ExtractedPolicy]], forms: Sequence[Mapping[str, Any]], document: str
) -> None:
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    indent = " " * (root.start_mark.column if root is not None and forms else 0)
    dashes = [match.start() for match in re.finditer(rf"^{indent}- ", text, re.MULTILINE)]
    # a comment above an entry is about it; what stands above the first is the head
    above = re.finditer(rf"(?:^{indent}#.*\n)*^{indent}- ", text, re.MULTILINE)
    starts = [*dashes[:1], *(match.start() for match in list(above)[1:])]
    head = text[: starts[0]] if starts else _HEAD.format(document=document or "the suite")
    if root is not None and not forms:  # an empty list with what a person wrote around it
        head = text[: root.start_mark.index] + text[root.end_mark.index :].lstrip("\n")
    ends = [*starts[1:], len(text)]
    lines = {index: text[starts[index] : ends[index]] for index in range(len(forms)) if len(starts) == len(forms)}
    parts = [
        lines[index].rstrip("\n") + "\n" if index is not None and index in lines else indented(_dumped(one), indent)
        for index, one in kept
    ]
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(file, head + "".join(parts))


def _dumped(policy: ExtractedPolicy) -> str:
    listed = [form_of(policy)]
    text = yaml.safe_dump(listed, sort_keys=False, allow_unicode=True, width=110, default_flow_style=None)
    return f"{text}  # {policy.note}\n" if policy.note else text
