"""What scenarios say about the agent's answers, `output` and `replies`: read, checked, and their schemas loaded."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pytest_agentbench.core.errors import SuiteError
from pytest_agentbench.core.json_schema import schema_problem
from pytest_agentbench.core.matchers import matcher_misfits, regex_misfits
from pytest_agentbench.core.misfit import Keys, Misfit, shown
from pytest_agentbench.core.scenario import ExpectedReply
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.spec.json_text import read_json


def answer_misfits(form: Mapping[str, JsonValue], path: Keys) -> Iterator[Misfit]:
    """Yield matchers, patterns and schemas of `output` and `replies` that cannot work; the form fits the schema."""
    for name, value in (form.get("output") or {}).items():
        yield from matcher_misfits(value, (*path, "output", name))
    for index, reply in enumerate(form.get("replies", ())):
        where = (*path, "replies", index)
        if not reply.keys() - {"turn"}:
            message = f"found {shown(reply)}, expected contains, matches, json or max_words"
            yield Misfit(path=where, message=message)
        if "matches" in reply:
            yield from regex_misfits(reply["matches"], (*where, "matches"))
        if isinstance(reply.get("json"), Mapping) and (problem := schema_problem(reply["json"])):
            yield Misfit(path=(*where, "json"), message=f"this is no JSON Schema: {problem}")


def read_replies(forms: Iterable[Mapping[str, JsonValue]]) -> tuple[ExpectedReply, ...]:
    """Read `replies`; schemas that stand in files are not loaded yet."""
    found = []
    for form in forms:
        fields = {key: value for key, value in form.items() if key != "json"}
        schema = form.get("json")
        if isinstance(schema, str):
            fields["json_file"] = schema
        elif schema is not None:
            fields["json_schema"] = schema
        found.append(ExpectedReply.model_validate(fields))
    return tuple(found)


def reply_forms(replies: Iterable[ExpectedReply]) -> list[dict[str, JsonValue]]:
    """Write `replies` as a file may hold them, with the schemas themselves: the files need not lie beside it."""
    forms = []
    for reply in replies:
        form: dict[str, JsonValue] = reply.model_dump(exclude_unset=True, exclude={"json_schema", "json_file"})
        forms.append({**form, "json": reply.json_schema} if reply.json_schema is not None else form)
    return forms


def with_schemas(
    replies: Iterable[ExpectedReply], folder: Path, path: Keys
) -> tuple[ExpectedReply, ...] | list[Misfit]:
    """Load the schemas that stand in files, seen from `folder`, or say which cannot be."""
    loaded: list[ExpectedReply] = []
    wrong: list[Misfit] = []
    for index, reply in enumerate(replies):
        if not reply.json_file or reply.json_schema is not None:
            loaded.append(reply)
            continue
        schema, problem = _loaded(folder / reply.json_file)
        if problem:
            wrong.append(Misfit(path=(*path, "replies", index, "json"), message=f"{shown(reply.json_file)}: {problem}"))
        loaded.append(reply.model_copy(update={"json_schema": schema}))
    return wrong or tuple(loaded)


def _loaded(file: Path) -> tuple[dict[str, JsonValue], str]:
    """Give the schema in a file, and what is wrong with it."""
    try:
        value = read_json(file.read_text(encoding="utf-8-sig"), file).value
    except (OSError, ValueError) as error:
        return {}, f"no JSON Schema can be read there: {getattr(error, 'strerror', None) or error}"
    except SuiteError as error:
        return {}, f"this is no JSON: {error.problems[0].message}"
    if not isinstance(value, dict):
        return {}, f"this is no JSON Schema: found {shown(value)}, expected a mapping"
    problem = schema_problem(value)
    return value, f"this is no JSON Schema: {problem}" if problem else ""
