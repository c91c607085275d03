"""Expected calls that no tool can answer: found with their place once the tools are known."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench import SuiteError
from pytest_agentbench import load_suite as public_load_suite
from pytest_agentbench.core.tool import Toolset, ToolSpec
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.suites.call_check import check_calls
from pytest_agentbench.suites.suite_file import load_suite
from tests.shared_data import SHARED, needs_shared
from tests.suites.toolsets import tau2_toolset, tool
from tests.tables import each

TOOLS = Toolset(specs=(tool("refund", "order_id"), tool("look", requestor="user")))


def check(tmp_path: Path, text: str, toolset: Toolset = TOOLS) -> list[str]:
    """Load a suite and give what is wrong with its calls, the folder left out."""
    path = tmp_path / "agentbench.yaml"
    path.write_text(text)
    suite = load_suite(path, environ={"X": "y"})
    return [str(problem).replace(f"{tmp_path}/", "") for problem in check_calls(suite, toolset)]


def test_unknown_tools_and_arguments_are_found_at_their_place(tmp_path: Path) -> None:
    """Short and full forms, expected and forbidden calls: the place is that of the wrong name."""
    found = check(
        tmp_path,
        """agent: a:b
scenarios:
  - id: one
    says: ["${X}"]
    expect: [{refnd: {}}, {refund: {order: W1}}, {name: refund, arguments: {ordr_id: 1}}]
    never: [delete, {refund: {order_id: 1}}]
""",
    )
    assert found == [
        (
            "agentbench.yaml:5:15: scenarios[0].expect[0].refnd: the agent has no tool 'refnd'; it has refund"
            " (did you mean 'refund'?)"
        ),
        (
            "agentbench.yaml:5:37: scenarios[0].expect[1].refund.order: the tool 'refund' has no argument 'order';"
            " it has order_id (did you mean 'order_id'?)"
        ),
        (
            "agentbench.yaml:5:77: scenarios[0].expect[2].arguments.ordr_id: the tool 'refund' has no argument"
            " 'ordr_id'; it has order_id (did you mean 'order_id'?)"
        ),
        "agentbench.yaml:6:13: scenarios[0].never[0]: the agent has no tool 'delete'; it has refund",
    ]


def typed(**types: Any) -> Toolset:
    """Give one tool `book` whose arguments have these JSON Schemas."""
    schema = {"type": "object", "properties": types, "$defs": DEFINITIONS}
    return Toolset(specs=(ToolSpec(name="book", parameters=schema),))


DEFINITIONS = {
    "Size": {"enum": ["s", "m"], "type": "string"},
    "Tree": {"type": "object", "properties": {"a": {"$ref": "#/$defs/Tree"}}},
}
STRING, NUMBER = {"type": "string"}, {"type": "number"}


def test_a_matcher_without_its_sign_is_named(tmp_path: Path) -> None:
    """`{regex: …}` where the tool takes a text: the sign is what was forgotten."""
    text = "agent: a:b\nscenarios:\n- id: a\n  expect: [{book: {slot_id: {regex: S1}}}]\n"

    [found] = check(tmp_path, text, typed(slot_id=STRING))
    assert found.endswith("found a mapping with 'regex', expected a string (a matcher begins with $: $regex)")


def test_a_value_that_the_tool_refuses_is_found_at_its_place(tmp_path: Path) -> None:
    """Expected and forbidden calls; the place is that of the value."""
    text = (
        "agent: a:b\nscenarios:\n- id: a\n  expect: [{book: {slot_id: 1}}]\n  never: [{book: {guests: [{}, x, 2]}}]\n"
    )
    found = check(tmp_path, text, typed(slot_id=STRING, guests={"type": "array", "items": STRING}))
    assert [text.partition(": argument ")[::2] for text in found] == [
        (
            "agentbench.yaml:4:29: scenarios[0].expect[0].book.slot_id",
            "'slot_id' of 'book': found 1, expected a string (put it in quotes: '1')",
        ),
        (
            "agentbench.yaml:5:28: scenarios[0].never[0].book.guests[0]",
            "'guests' of 'book': found an empty mapping, expected a string",
        ),
        (
            "agentbench.yaml:5:35: scenarios[0].never[0].book.guests[2]",
            "'guests' of 'book': found 2, expected a string (put it in quotes: '2')",
        ),
    ]


@each(
    ("schema", "fitting", "refused"),
    [
        (STRING, ["''", "x", "{$any: true}"], ["1", "true", "null", "[x]", "{a: 1}"]),
        ({"type": "integer"}, ["1", "1.0", "-3"], ["'1'", "1.5", "true"]),
        (NUMBER, ["1", "1.5", "{$approx: 1}"], ["'1'", "false"]),
        ({"type": "boolean"}, ["true"], ["1", "'true'"]),
        ({"type": "array"}, ["[]", "[1, a]"], ["a", "{}"]),
        ({"type": "object"}, ["{}", "{a: {$any: true}}"], ["a", "[]"]),
        ({"anyOf": [STRING, {"type": "null"}], "default": None}, ["x", "null"], ["1"]),
        ({"type": ["string", "null"]}, ["x", "null"], ["1"]),
        ({**STRING, "nullable": True}, ["x", "null"], ["1"]),
        ({"$ref": "#/$defs/Size"}, ["s", "m"], ["l", "1"]),
        ({"const": "x"}, ["x"], ["y"]),
        ({"type": "array", "items": {"$ref": "#/$defs/Size"}}, ["[s, m]", "[{$any: true}]"], ["[s, l]"]),
        ({"anyOf": [{"type": "array", "items": NUMBER}, STRING]}, ["[1]", "x"], ["[x]", "1"]),
        ({"anyOf": [{"$ref": "#/properties/it"}]}, ["x", "1"], []),
        ({**STRING, "enum": ["x"], "nullable": True}, ["x", "null"], ["y"]),
        ({"anyOf": [{"$ref": "#/$defs/Size"}, {"type": "null"}]}, ["s", "null"], ["l"]),
        ({"oneOf": [{"type": "integer"}, {"minimum": 2}]}, ["1", "2.5"], ["3"]),
        ({"allOf": [{"minimum": 1}, {"maximum": 3}]}, ["1", "3"], ["0", "4"]),
        ({"not": {"const": "x"}}, ["y", "{$any: true}"], ["x"]),
        ({**NUMBER, "minimum": 1}, ["1", "1.5", "{$gte: 0}"], ["0", "-1"]),
        ({**NUMBER, "exclusiveMinimum": 0, "exclusiveMaximum": 5}, ["1"], ["0", "5"]),
        ({**NUMBER, "minimum": 0, "exclusiveMinimum": True}, ["0.5", "1"], ["0"]),
        ({**NUMBER, "minimum": 0, "exclusiveMinimum": False}, ["0"], ["-1"]),
        ({"type": "integer", "multipleOf": 5}, ["10"], ["7"]),
        ({**STRING, "minLength": 2, "maxLength": 3}, ["ab", "abc"], ["a", "abcd"]),
        ({**STRING, "pattern": "^W[0-9]+$"}, ["W1", "{$regex: 'x+'}"], ["W", "xW1"]),
        ({**STRING, "pattern": r"^\p{L}+$"}, ["x", "'1'"], []),
        ({**STRING, "format": "date"}, ["'2024-05-15'"], ["15.05.2024", "'2024-02-30'"]),
        ({**STRING, "format": "date-time"}, ["'2024-05-15T10:00:00Z'", "'2024-05-15 10:00:00'"], ["tomorrow"]),
        ({**STRING, "format": "email"}, ["a@b.org"], ["ada"]),
        ({**STRING, "format": "uuid"}, ["9a2e4a1c-6a77-4f31-8d55-0d0f3b1c2d3e"], ["9a2e"]),
        ({**STRING, "format": "anything"}, ["x"], []),
        ({"type": "array", "minItems": 1, "maxItems": 2, "uniqueItems": True}, ["[a]", "[a, b]"], ["[]", "[a, a]"]),
        ({"type": "array", "uniqueItems": True}, ["[{$any: true}, {$any: true}]"], []),
        ({"type": "array", "prefixItems": [STRING, NUMBER]}, ["[a, 1]"], ["[1, a]"]),
        (
            {"type": "object", "properties": {"n": NUMBER}, "required": ["n"], "additionalProperties": False},
            ["{n: 1}", "{n: {$any: true}}", "{$subset: {}}"],
            ["{}", "{n: x}", "{n: 1, m: 2}"],
        ),
        ({"type": "object", "additionalProperties": NUMBER}, ["{a: 1}"], ["{a: x}"]),
        (
            {"type": "object", "properties": {"it": {"$ref": "#/$defs/Tree"}}},
            ["{it: {a: {a: {}}}}"],
            ["{it: {a: {a: 1}}}"],
        ),
        ({"enum": "no list"}, ["x"], []),
        ({"minimum": "no number"}, ["1"], []),
        ({"$ref": "https://example.org/schema.json"}, ["x"], []),
        ({"$ref": "#/$defs/Nothing"}, ["x"], []),
        ({"type": "odd"}, ["x"], []),
        ({}, ["x", "null"], []),
    ],
)
def test_values_fit_the_types_of_their_parameters(
    tmp_path: Path, schema: dict[str, Any], fitting: list[str], refused: list[str]
) -> None:
    """Simple types, unions, `null`, references and `enum`; what the schema does not say is never wrong."""
    text = "agent: a:b\nscenarios: [{id: a, expect: [{book: {it: VALUE}}]}]\n"

    wrong = [value for value in [*fitting, *refused] if check(tmp_path, text.replace("VALUE", value), typed(it=schema))]

    assert wrong == refused


@pytest.mark.parametrize(
    ("value", "schema", "message"),
    [
        ("l", {"$ref": "#/$defs/Size"}, ".it: argument 'it' of 'book': found 'l', expected one of 's', 'm'"),
        ("penling", {"enum": ["pending", "done"]}, "expected one of 'pending', 'done' (did you mean 'pending'?)"),
        ("0", {**NUMBER, "minimum": 1}, "found 0, expected a number of at least 1"),
        ("15.05.2024", {**STRING, "format": "date"}, "found '15.05.2024', expected a date such as 2024-05-15"),
        ("x", {**STRING, "pattern": "^W[0-9]+$"}, "found 'x', expected a text with the pattern ^W[0-9]+$"),
        ("[]", {"type": "array", "minItems": 1}, "found an empty list, expected a list of at least 1 item"),
        ("1", {"anyOf": [STRING, {"type": "null"}]}, "found 1, expected a string or null"),
        ("{a: 1}", {"type": "object", "required": ["b"]}, "found a mapping with 'a', which lacks 'b'"),
        (
            "{adress: x}",
            {"type": "object", "properties": {"address": STRING}, "additionalProperties": False},
            ".it.adress: argument 'it' of 'book': there is no key 'adress', allowed: address (did you mean 'address'?)",
        ),
        (
            "[{n: x}]",
            {"anyOf": [{"type": "array", "items": {"type": "object", "properties": {"n": NUMBER}}}, {"type": "null"}]},
            ".it[0].n: argument 'it' of 'book': found 'x', expected a number",
        ),
    ],
)
def test_the_message_says_what_the_schema_allows(
    tmp_path: Path, value: str, schema: dict[str, Any], message: str
) -> None:
    """The place inside the value, what was found there, what is allowed, and what was probably meant."""
    text = f"agent: a:b\nscenarios: [{{id: a, expect: [{{book: {{it: {value}}}}}]}}]\n"

    (found,) = check(tmp_path, text, typed(it=schema))

    assert found.startswith("agentbench.yaml:2:")
    assert message in found


def test_arguments_that_are_left_out_are_not_missed(tmp_path: Path) -> None:
    """Expected calls may leave arguments open, also those that the tool requires."""
    schema = {"type": "object", "properties": {"a": STRING, "b": STRING}, "required": ["a", "b"]}
    toolset = Toolset(specs=(ToolSpec(name="book", parameters=schema),))

    assert check(tmp_path, "agent: a:b\nscenarios: [{id: a, expect: [book, {book: {a: x}}]}]\n", toolset) == []


def test_alternatives_are_held_against_the_schema_too(tmp_path: Path) -> None:
    """Each way of `expect_any`."""
    text = "agent: a:b\nscenarios: [{id: a, expect_any: [[{book: {it: 1}}], [{book: {it: 0}}]]}]\n"

    (found,) = check(tmp_path, text, typed(it={**NUMBER, "minimum": 1}))

    assert "expect_any[1][0].book.it" in found


def test_arguments_that_the_schema_describes_together_are_checked(tmp_path: Path) -> None:
    """A tool may take any argument of a kind."""
    schema = {"type": "object", "properties": {}, "additionalProperties": NUMBER}
    toolset = Toolset(specs=(ToolSpec(name="book", parameters=schema),))

    (found,) = check(tmp_path, "agent: a:b\nscenarios: [{id: a, expect: [{book: {a: 1, b: x}}]}]\n", toolset)

    assert "book.b: argument 'b' of 'book': found 'x', expected a number" in found


def test_a_hostile_schema_does_not_hang(tmp_path: Path) -> None:
    """A pattern that backtracks for ever, and definitions that double thirty times, say nothing, soon."""
    doubling = {f"D{n}": {"allOf": [{"$ref": f"#/$defs/D{n + 1}"}] * 2} for n in range(30)}
    schema = {
        "type": "object",
        "properties": {"a": {**STRING, "pattern": "^(a|aa)+$"}, "b": {"$ref": "#/$defs/D0"}, "c": NUMBER},
        "$defs": {**doubling, "D30": STRING},
    }
    text = f"agent: a:b\nscenarios: [{{id: a, expect: [{{book: {{a: {'a' * 5_000}!, b: x, c: y}}}}]}}]\n"
    began = time.process_time()

    found = check(tmp_path, text, Toolset(specs=(ToolSpec(name="book", parameters=schema),)))

    assert time.process_time() - began < 5
    assert len(found) == 1
    assert "book.c" in found[0]


def test_calls_in_files_are_found_there(tmp_path: Path) -> None:
    """τ² tasks, our YAML files and lines of tasks keep their own files and lines."""
    action = {"action_id": "1", "name": "refnd", "arguments": {}}
    task = {"id": "t", "evaluation_criteria": {"actions": [action]}}
    (tmp_path / "t.json").write_text(json.dumps([{"id": "other"}, task], indent=1))
    (tmp_path / "l.jsonl").write_text("\n" + json.dumps({"task_key": "k", "task": {**task, "id": "u"}}))
    (tmp_path / "s.yaml").write_text("id: s\nexpect:\n  - refnd\n")
    found = check(tmp_path, "agent: a:b\nscenarios: [t.json, l.jsonl, s.yaml]\n")
    assert [text.partition(": the agent")[0] for text in found] == [
        "t.json:11:14: [1].evaluation_criteria.actions[0].name",
        "l.jsonl:2:102: task.evaluation_criteria.actions[0].name",
        "s.yaml:3:5: expect[0]",
    ]


def test_a_tool_of_the_other_party_is_explained(tmp_path: Path) -> None:
    """A user's tool expected of the agent is told as such."""
    (found,) = check(tmp_path, "agent: a:b\nscenarios: [{id: a, expect: [look]}]\n")
    assert "write requestor: user" in found


def test_compared_arguments_must_exist(tmp_path: Path) -> None:
    """`compare_args` names arguments of the tool."""
    (found,) = check(tmp_path, "agent: a:b\nscenarios: [{id: a, expect: [{name: refund, compare_args: [x]}]}]\n")
    assert "the tool 'refund' has no argument 'x'" in found


def test_reads_and_writes_name_tools(tmp_path: Path) -> None:
    """A name in `reads` or `writes` that is none of the suite's tools is an error, unless these did not load."""
    text = "agent: a:b\nenvironment: {tools: shop, writes: [refnd]}\nscenarios: [{id: a}]\n"

    (found,) = check(tmp_path, text)

    assert found.startswith("agentbench.yaml:2:37: environment.writes[0]: there is no tool 'refnd'")
    assert found.endswith("(did you mean 'refund'?)")
    assert check(tmp_path, text, Toolset()) == []


def test_rules_of_policies_name_tools_and_arguments(tmp_path: Path) -> None:
    """A rule about a tool that is not there would never be exercised; the place is in the file that lists it."""
    (tmp_path / "p.yaml").write_text(
        "- id: a\n  text: x\n  rule: {before: {calls: [refnd], first: [refund]}}\n"
        "- id: b\n  text: x\n  rule: {never: {calls: [refund], where: {order: 1}}}\n"
    )
    found = check(tmp_path, "agent: a:b\npolicies: p.yaml\nscenarios: [{id: a}]\n")
    assert [text.partition(": the ")[0] for text in found] == [
        "p.yaml:3:27: [0].rule.before.calls[0]",
        "p.yaml:6:50: [1].rule.never.where.order",
    ]
    inline = "agent: a:b\npolicies: [{id: a, text: x, rule: {confirm_before: {calls: [x]}}}]\nscenarios: [{id: a}]\n"
    assert check(tmp_path, inline)[0].startswith("agentbench.yaml:2:61: policies[0].rule.confirm_before.calls[0]")


def test_rules_may_name_any_argument_of_a_tool_that_takes_any(tmp_path: Path) -> None:
    """Where the arguments of a tool are not known, none is wrong."""
    loose = Toolset(specs=(ToolSpec(name="refund", parameters={"additionalProperties": True}),))
    rule = "{never: {calls: [refund], where: {anything: 1}}}"

    assert (
        check(tmp_path, f"agent: a:b\npolicies: [{{id: a, text: x, rule: {rule}}}]\nscenarios: [{{id: a}}]\n", loose)
        == []
    )


def test_an_agent_that_brings_its_own_tools_is_not_checked(tmp_path: Path) -> None:
    """Without a toolset nothing is known to be wrong."""
    assert check(tmp_path, "agent: a:b\nscenarios: [{id: a, expect: [anything]}]\n", Toolset()) == []


def test_a_file_that_changed_since_is_still_told(tmp_path: Path) -> None:
    """Where the place is gone, file and line of the scenario remain."""
    path = tmp_path / "agentbench.yaml"
    path.write_text("agent: a:b\nscenarios: [{id: a, expect: [x]}]\n")
    suite = load_suite(path, environ={})
    path.write_text("[")
    (problem,) = check_calls(suite, TOOLS)
    assert (problem.file, problem.line) == (path, 2)


@needs_shared
@pytest.mark.parametrize("domain", ["mock", "airline", "retail", "telecom"])
def test_recorded_domains_expect_only_calls_that_exist(tmp_path: Path, domain: str) -> None:
    """No task of τ² expects a call that its own tools lack."""
    folder = SHARED / "data" / "tau2" / "domains" / domain
    path = tmp_path / "agentbench.yaml"
    path.write_text(f"agent: a:b\nscenarios: ['{folder.resolve()}/tasks.json']\n")
    suite = load_suite(path, environ={})
    assert suite.scenarios
    assert check_calls(suite, tau2_toolset(folder / "tools.json")) == []


def test_handoffs_do_not_shift_the_places_of_calls(tmp_path: Path) -> None:
    """The second entry is the first call."""
    text = (
        "agent: a:b\nscenarios:\n  - id: one\n    says: [x]\n    expect: [{handoff: legal}, {refnd: {}, by: legal}]\n"
    )
    assert check(tmp_path, text)[0].startswith("agentbench.yaml:5:33: scenarios[0].expect[1].refnd: the agent has no")


def test_a_tool_that_is_called_handoff_must_be_written_in_full(tmp_path: Path) -> None:
    """Nobody could tell the two apart."""
    text = "agent: a:b\nscenarios: [{id: one, says: [x], expect: [{handoff: {}}]}]\n"
    (found,) = check(tmp_path, text, Toolset(specs=(tool("handoff"),)))
    assert "the agent has a tool of this name" in found
    full = text.replace("{handoff: {}}", "{name: handoff}")
    assert not check(tmp_path, full, Toolset(specs=(tool("handoff"),)))


def test_kinds_of_the_agents_own_tools_may_be_declared(tmp_path: Path) -> None:
    """Where the suite names no tools, nobody knows which there are; what it declares of them holds.

    One that a scenario expects and that is named like a write is one; a name alone says nothing.
    """
    text = (
        "agent: a:b\nenvironment: {reads: [look], writes: [refund]}\nscenarios: [{id: x, says: [Hi], expect: [pay]}]\n"
    )
    assert check(tmp_path, text, Toolset()) == []

    found = load_toolset(load_suite(tmp_path / "agentbench.yaml", environ={}).environment, tmp_path)
    names = ("look", "refund", "pay", "cancel")
    kinds = [(spec.kind, spec.kind_from) if (spec := found.get(name)) else None for name in names]
    assert kinds == [("read", "declared"), ("write", "declared"), ("write", "name"), None]
    assert not found


def test_states_of_scenarios_name_tables_and_columns(tmp_path: Path) -> None:
    """A slip in `state` is an error of the file that holds it, at the wrong name, and no fault of the environment."""
    (tmp_path / "schema.sql").write_text("CREATE TABLE orders (id TEXT PRIMARY KEY, status TEXT)")
    (tmp_path / "more.yaml").write_text("- {id: three, says: [hi], state: {orders: {W1: {statu: x}}}}\n")
    (tmp_path / "tasks.json").write_text(
        json.dumps([{"id": "four", "initial_state": {"initialization_data": {"agent_data": {"odrers": []}}}}])
    )
    (tmp_path / "agentbench.yaml").write_text(
        """agent: {callable: "builtins:str"}
environment: {state: {sqlite: {schema: schema.sql}}}
scenarios:
  - {id: one, says: [hi], state: {order: {W1: {status: x}}, orders: {W1: {status: x}}}}
  - id: two
    says: [hi]
    state:
      orders: [{id: W1, status: x}, {id: W2, state: x}]
  - more.yaml
  - tasks.json
"""
    )
    with pytest.raises(SuiteError) as raised:
        public_load_suite(tmp_path / "agentbench.yaml")

    assert [str(one).replace(f"{tmp_path}/", "") for one in raised.value.problems] == [
        (
            "agentbench.yaml:4:35: scenarios[0].state.order: there is no table 'order'; tables are orders (did you mean"
            " 'orders'?)"
        ),
        (
            "agentbench.yaml:8:46: scenarios[1].state.orders[1].state: there is no column 'state'; orders has id,"
            " status (did you mean 'status'?)"
        ),
        (
            "more.yaml:1:49: [0].state.orders.W1.statu: there is no column 'statu'; orders has id,"
            " status (did you mean 'status'?)"
        ),
        (
            "tasks.json:1:74: [0].initial_state.initialization_data.agent_data.odrers: there is no table 'odrers';"
            " tables are orders (did you mean 'orders'?)"
        ),
    ]


HTTP = """agent: {http: {url: "http://127.0.0.1:1/", calls: calls, call: {result: ""}}}
environment:
  tools: %s
  writes: [take]
"""
LOCAL = "tools.json"
REST = '{openapi: api.json, base_url: "http://127.0.0.1:1"}'
ROWS = "scenarios: [{id: one, says: [hi], state: {rows: {a: {}}}}]"
ONE = "scenarios: [{id: one, says: [hi], expect: [{take: {name: a}}], never: [%s]}]"
READ = "  state: {tools: [%s]}\nscenarios: [{id: one, says: [hi]}]"


@each(
    ("text", "problem"),
    [
        (
            HTTP % LOCAL + ROWS,
            "5:42: scenarios[0].state: nothing puts these rows anywhere: the suite has no environment.",
        ),
        (
            HTTP % REST + "  state: {tools: [taken]}\n" + ROWS,
            "6:42: scenarios[0].state: nothing puts these rows anywhere: `state: {tools: …}` can only read (start from",
        ),
        (HTTP % LOCAL + READ % "taken", "5:19: environment.state.tools[0]: 'taken' is no tool of another process"),
        (HTTP % REST + READ % "take", "5:19: environment.state.tools[0]: 'take' writes, and the state is read before"),
        (
            HTTP % REST + READ % "token",
            "environment.state.tools[0]: there is no tool 'token'; there are of, take, taken",
        ),
        (HTTP % REST + READ % "of", "5:19: environment.state.tools[0]: 'of' needs name (write {of: {name: …}})"),
        (HTTP % REST + READ % "taken, {of: {name: a}}", ""),
        (
            HTTP % LOCAL + "scenarios: [{id: one, says: [hi], faults: [timeout@take]}]",
            "one: faults: 'timeout@take' has no effect: the agent's service makes its calls itself (`call.result` is",
        ),
        (HTTP % LOCAL + ONE % "take", "5:72: scenarios[0].never[0]: forbids 'take' as `expect` asks for it (keep"),
        (
            HTTP % LOCAL + ONE % "{take: {name: a}}",
            "scenarios[0].never[0].take: forbids 'take' as `expect` asks for it",
        ),
        (HTTP % LOCAL + ONE % "{take: {name: {$in: [a, b]}}}", "never[0].take: forbids 'take' as `expect` asks for it"),
        (HTTP % LOCAL + ONE % "{take: {name: b}}, {take: {name: {$not: a}}}, taken", ""),
    ],
)
def test_what_no_run_could_do_is_told_at_its_place(tmp_path: Path, text: str, problem: str) -> None:
    """Rows that nothing puts anywhere, a state that nothing tells, faults that strike nowhere, calls also forbidden."""
    name = {"name": "name", "in": "query", "required": True, "schema": {"type": "string"}}
    done = {"responses": {"200": {"description": "done"}}}
    paths = {
        "/take": {"post": {"operationId": "take", "parameters": [name], **done}},
        "/taken": {"get": {"operationId": "taken", **done}},
        "/of": {"get": {"operationId": "of", "parameters": [name], **done}},
    }
    (tmp_path / "api.json").write_text(json.dumps({"openapi": "3.1.0", "info": {}, "paths": paths}))
    given = {"type": "object", "properties": {"name": {"type": "string"}}}
    (tmp_path / "tools.json").write_text(json.dumps([{"name": one, "parameters": given} for one in ("take", "taken")]))
    (tmp_path / "agentbench.yaml").write_text(text)
    if not problem:
        assert public_load_suite(tmp_path / "agentbench.yaml")
        return
    with pytest.raises(SuiteError) as raised:
        public_load_suite(tmp_path / "agentbench.yaml")

    [told] = raised.value.problems
    assert problem in str(told)


def test_rows_that_the_database_refuses_are_told_at_their_place(tmp_path: Path) -> None:
    """An empty column, a value that a check refuses, a row that refers to none; nothing is left of what was tried."""
    (tmp_path / "schema.sql").write_text(
        "CREATE TABLE people (id TEXT PRIMARY KEY);"
        "CREATE TABLE orders (id TEXT PRIMARY KEY, status TEXT NOT NULL CHECK (status <> ''),"
        " person TEXT REFERENCES people(id));"
    )
    (tmp_path / "agentbench.yaml").write_text(
        """agent: {callable: "builtins:str"}
environment: {state: {sqlite: {schema: schema.sql}}}
scenarios:
  - {id: one, says: [hi], state: {orders: {W1: {person: P1}, W2: {status: ''}}}}
  - {id: two, says: [hi], state: {orders: [{id: W1, status: x, person: P1}]}}
  - {id: three, says: [hi], state: {orders: [{id: W1, status: x, person: P1}], people: [{id: P1}]}}
"""
    )
    with pytest.raises(SuiteError) as raised:
        public_load_suite(tmp_path / "agentbench.yaml")

    told = [str(one).replace(f"{tmp_path}/", "") for one in raised.value.problems]
    refused = "the database refuses this row"
    assert told == [
        (
            f"agentbench.yaml:4:48: scenarios[0].state.orders.W1: {refused}: NOT NULL constraint failed: orders.status "
            "(give it a value: the column is NOT NULL and has no default)"
        ),
        f"agentbench.yaml:4:66: scenarios[0].state.orders.W2: {refused}: CHECK constraint failed: status <> ''",
        (
            "agentbench.yaml:5:34: scenarios[1].state: orders row {'id': 'W1', 'status': 'x', 'person': 'P1'}: refers "
            "to a row of 'people' that does not exist"
        ),
    ]
