"""Operations become tools: names, one schema for all that a request takes, small schemas in place of references."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.environment.openapi.document import parse_document
from pytest_agentbench.environment.openapi.operations import LARGE, LONGEST, Operation, operation_names, operations_of
from pytest_agentbench.environment.openapi.transport import UnfitArgumentsError, request_of
from tests.tables import each


def tools(paths: dict[str, Any], *, version: str = "3.1.0", **rest: Any) -> dict[str, Operation]:
    """Give the operations of a document with `paths`, by name."""
    head = {"swagger": "2.0"} if version == "2.0" else {"openapi": version}
    document = parse_document(json.dumps({**head, "paths": paths, **rest}), "spec.json")
    return {operation.spec.name: operation for operation in operations_of(document)}


def test_operations_without_an_id_are_named_by_method_and_path() -> None:
    """Names are readable, leave a shared version out, and say the parameter that a path ends with."""
    paths = ["/v1/buckets", "/v1/buckets/{id}", "/v1/buckets/{id}/groups", "/v1/buckets/{id}/groups/{group-id}"]

    names = operation_names([("get", path, None) for path in paths])

    assert names == ["get_buckets", "get_buckets_by_id", "get_buckets_groups", "get_buckets_groups_by_group-id"]


def test_names_that_would_collide_say_more_or_are_numbered() -> None:
    """A path that differs in a parameter alone names it; equal ids are numbered; signs that models refuse go."""
    names = operation_names(
        [
            ("get", "/a/b", None),
            ("get", "/a/{x}/b", None),
            ("get", "/c", "list things"),
            ("get", "/d", "list.things"),
            ("get", "/{}", ""),
        ]
    )

    assert names == ["get_a_b", "get_a_by_x_b", "list_things", "get_d", "get_by"]


@given(st.lists(st.tuples(st.sampled_from(["get", "post"]), st.text(max_size=80), st.none() | st.text(max_size=80))))
def test_names_are_unique_and_fit_for_models(operations: list[tuple[str, str, str | None]]) -> None:
    """Whatever paths and ids are, names differ, are short enough and hold letters, digits, `_` and `-`."""
    names = operation_names([(method, f"/{path}", given) for method, path, given in operations])

    assert len(set(names)) == len(operations)
    assert all(0 < len(name) <= LONGEST and name.replace("-", "_").isidentifier() is not None for name in names)
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") for name in names)


def test_parameters_of_all_places_become_one_schema() -> None:
    """Path, query, header and body are merged; what is named alike is told apart by its place."""
    body = {
        "type": "object",
        "properties": {"id": {"type": "string"}, "text": {"type": "string"}},
        "required": ["text"],
    }
    found = tools(
        {
            "/notes/{id}": {
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
                "put": {
                    "operationId": "put_note",
                    "parameters": [
                        {"name": "If-Match", "in": "header", "schema": {"type": "string"}},
                        {"name": "Authorization", "in": "header", "schema": {"type": "string"}},
                        {"name": "dry", "in": "query", "schema": {"type": "boolean"}},
                    ],
                    "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
                },
            }
        }
    )["put_note"]

    request = request_of(found, {"id": 7, "body_id": "x", "text": "hi", "If-Match": '"1"', "dry": True})

    assert found.spec.parameters["required"] == ["id", "text"]
    assert set(found.spec.parameters["properties"]) == {"id", "dry", "If-Match", "body_id", "text"}
    assert (request.method, request.path, request.query) == ("PUT", "/notes/7", [("dry", "true")])
    assert json.loads(request.body or b"") == {"id": "x", "text": "hi"}
    assert request.headers == {"If-Match": '"1"', "Content-Type": "application/json"}
    assert found.spec.kind == "write"


def test_swagger_2_is_read() -> None:
    """Parameters without a schema, body parameters, forms and collection formats of OpenAPI 2.0."""
    found = tools(
        {
            "/find": {
                "get": {
                    "operationId": "find",
                    "parameters": [
                        {"name": "tags", "in": "query", "type": "array", "items": {"type": "string"}},
                        {"name": "ids", "in": "query", "type": "array", "collectionFormat": "multi", "items": {}},
                    ],
                }
            },
            "/add": {
                "post": {
                    "operationId": "add",
                    "parameters": [{"name": "note", "in": "body", "schema": {"$ref": "#/definitions/Note"}}],
                }
            },
            "/form": {
                "post": {
                    "operationId": "form",
                    "consumes": ["application/x-www-form-urlencoded"],
                    "parameters": [{"name": "text", "in": "formData", "type": "string", "required": True}],
                }
            },
        },
        version="2.0",
        definitions={"Note": {"type": "object", "properties": {"text": {"type": "string"}}}},
    )

    assert request_of(found["find"], {"tags": ["a", "b"], "ids": [1, 2]}).query == [
        ("tags", "a,b"),
        ("ids", "1"),
        ("ids", "2"),
    ]
    assert request_of(found["add"], {"text": "hi"}).body == b'{"text":"hi"}'
    assert request_of(found["form"], {"text": "a b"}).body == b"text=a+b"
    assert found["form"].spec.parameters["required"] == ["text"]


def test_recursive_references_end() -> None:
    """A schema that holds itself is told as far as it does not repeat, in valid JSON Schema."""
    node = {"type": "object", "properties": {"name": {"type": "string"}, "child": {"$ref": "#/components/schemas/N"}}}
    found = tools(
        {"/n": {"post": {"operationId": "n", "requestBody": {"content": {"application/json": {"schema": {
            "type": "object", "properties": {"node": {"$ref": "#/components/schemas/N"}}}}}}}}},
        components={"schemas": {"N": node}},
    )["n"]  # fmt: skip

    child = found.spec.parameters["properties"]["node"]["properties"]["child"]
    assert child == {"description": "N, of which no more is told here", "type": "object"}
    assert "$ref" not in json.dumps(found.spec.parameters)
    jsonschema.Draft202012Validator.check_schema(found.spec.parameters)


def test_references_that_fan_out_stay_small() -> None:
    """Nine levels of six references each would be ten million schemas; the tool's stays within bounds."""
    schemas: dict[str, Any] = {
        f"L{level}": {
            "type": "object",
            "properties": {f"p{one}": {"$ref": f"#/components/schemas/L{level + 1}"} for one in range(6)},
        }
        for level in range(9)
    }
    schemas["L9"] = {"type": "string"}

    found = tools(
        {"/big": {"post": {"operationId": "big", "requestBody": {"content": {"application/json": {"schema": {
            "$ref": "#/components/schemas/L0"}}}}}}},
        components={"schemas": schemas},
    )["big"]  # fmt: skip

    assert len(json.dumps(found.spec.parameters)) < 2 * LARGE


def test_old_dialects_are_translated() -> None:
    """`nullable` and boolean exclusive bounds of 3.0 become what JSON Schema says."""
    schema = {"type": "integer", "nullable": True, "minimum": 0, "exclusiveMinimum": True, "example": 3}
    found = tools(
        {"/x": {"get": {"operationId": "x", "parameters": [{"name": "n", "in": "query", "schema": schema}]}}},
        version="3.0.3",
    )["x"]

    assert found.spec.parameters["properties"]["n"] == {
        "type": ["integer", "null"],
        "exclusiveMinimum": 0,
        "examples": [3],
    }


def test_what_an_answer_is_declared_to_be_is_kept() -> None:
    """The schema of the first successful answer is the tool's `returns`."""
    answer = {"description": "", "content": {"application/json": {"schema": {"type": "array", "items": {}}}}}
    found = tools({"/x": {"get": {"operationId": "x", "responses": {"404": {"description": ""}, "200": answer}}}})["x"]

    assert found.spec.returns == {"type": "array", "items": {}}


@each(
    ("arguments", "message"),
    [({}, "'id' is missing"), ({"id": ""}, "'id' is missing"), ({"id": 1, "idd": 2}, "unknown argument 'idd'")],
)
def test_arguments_that_no_request_can_be_made_of_are_refused(arguments: dict[str, Any], message: str) -> None:
    """A path without its part, and an argument that nobody declared, are the caller's mistakes."""
    found = tools({"/n/{id}": {"get": {"operationId": "n", "parameters": [{"name": "id", "in": "path"}]}}})["n"]

    with pytest.raises(UnfitArgumentsError, match=message):
        request_of(found, arguments)


@given(st.text(min_size=1))
def test_a_value_in_a_path_never_leaves_its_segment(value: str) -> None:
    """Slashes, dots and question marks are escaped, whatever an agent makes up."""
    found = tools({"/n/{id}/x": {"get": {"operationId": "n", "parameters": [{"name": "id", "in": "path"}]}}})["n"]

    try:
        path = request_of(found, {"id": value}).path
    except UnicodeEncodeError:
        path = "/n/unencodable/x"

    _, start, segment, end = path.split("/")
    assert (start, end) == ("n", "x")
    assert segment not in ("", ".", "..")
    assert not set("?#") & set(segment)


@each(
    ("text", "message"),
    [
        ("{nope", "neither JSON nor YAML"),
        ("[]", "not an OpenAPI document"),
        ('{"openapi": "4.0", "paths": {}}', "'4.0'; OpenAPI 2.0"),
        ('{"openapi": "3.0.0", "paths": {"/x": {"$ref": "other.yaml#/x"}}}', "another file; bundle"),
        ('{"openapi": "3.0.0", "paths": {"/x": {"$ref": "#/nowhere"}}}', "leads nowhere: there is no 'nowhere'"),
    ],
)
def test_documents_that_cannot_be_read_say_why(text: str, message: str) -> None:
    """What is wrong with a document is told with its place."""
    with pytest.raises(EnvironmentFaultError, match=message):
        operations_of(parse_document(text, "spec.yaml"))


@each(
    ("content", "server"),
    [
        ({"swagger": "2.0", "host": "h:1", "basePath": "/v1", "schemes": ["https"]}, "https://h:1/v1"),
        (
            {"openapi": "3.0.0", "servers": [{"url": "http://h/{v}/", "variables": {"v": {"default": "v2"}}}]},
            "http://h/v2",
        ),
        ({"openapi": "3.0.0", "servers": [{"url": "/api"}]}, "http://where.it/api"),
        ({"openapi": "3.0.0"}, ""),
    ],
)
def test_the_first_server_is_where_the_service_listens(content: dict[str, Any], server: str) -> None:
    """Hosts of 2.0, variables of 3.x, and servers relative to where the document came from."""
    address = "http://where.it/spec.json" if server.startswith("http://where") else ""

    assert parse_document(json.dumps({**content, "paths": {}}), "spec", address).server() == server
