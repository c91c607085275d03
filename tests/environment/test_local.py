"""The environment of one run: calls, results, faults, isolation of runs from each other, sealing."""

import asyncio
import json
import sqlite3
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.core.codec import dumps, loads
from pytest_agentbench.core.errors import EnvironmentFaultError, SuiteFaultError
from pytest_agentbench.core.suite import EnvironmentSpec, StateSpec, ToolsSpec
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.environment.import_path import load_object
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.toolset import load_toolset
from tests.environment.support import call, environment, python_only, shop, write


async def test_a_call_gives_the_result_as_text_and_says_that_nothing_was_written(tmp_path: Path) -> None:
    """A read returns JSON text and wrote is False."""
    async with environment(shop(tmp_path)) as env:
        result = await call(env, "get_order", order_id="W1")

    assert json.loads(result.content) == {"id": "W1", "owner": "U1", "status": "pending", "total": 9.5}
    assert (result.error, result.wrote) == (False, False)


async def test_writes_are_observed_and_snapshots_read(tmp_path: Path) -> None:
    """Sync and async tools that change rows report it, and the snapshot holds the change."""
    async with environment(shop(tmp_path)) as env:
        cancelled = await call(env, "cancel_order", order_id="W1")
        renamed = await call(env, "rename_user", user_id="U1", name="Zoe")
        state = await env.snapshot()

    assert (cancelled.content, cancelled.wrote) == ("cancelled", True)
    assert (renamed.content, renamed.wrote) == ("null", True)
    assert state is not None
    assert state["orders"]["W1"]["status"] == "cancelled"
    assert state["users"]["U1"] == {"id": "U1", "name": "Zoe"}


async def test_a_tool_that_raises_is_an_error_result_and_its_open_transaction_is_rolled_back(tmp_path: Path) -> None:
    """What a failing call had changed without committing is gone."""
    async with environment(shop(tmp_path)) as env:
        await call(env, "cancel_order", order_id="W2")
        result = await call(env, "half_done", order_id="W1")
        state = await env.snapshot()

    assert (result.content, result.error) == ("Error: no more", True)
    assert result.wrote is None
    assert state is not None
    assert {key: row["status"] for key, row in state["orders"].items()} == {"W1": "pending", "W2": "cancelled"}


async def test_unknown_tools_and_wrong_arguments_name_what_is_allowed(tmp_path: Path) -> None:
    """Both are results that the agent sees."""
    async with environment(shop(tmp_path)) as env:
        unknown = await call(env, "get_orders", order_id="W1")
        wrong = await call(env, "get_order", order="W1")
        raw = await env.call(ToolCall(name="get_order", raw="[1"))

    assert unknown.error
    assert "unknown tool 'get_orders'" in unknown.content
    assert "get_order, cancel_order" in unknown.content
    assert "unknown 'order'; missing 'order_id'. It takes: order_id (required)" in wrong.content
    assert "not a JSON object: [1" in raw.content


async def test_interleaved_runs_share_neither_rows_nor_module_state(tmp_path: Path) -> None:
    """Twenty runs at once each see only their own calls."""
    suite = shop(tmp_path)

    async def run(number: int) -> tuple[str, str]:
        async with environment(suite, f"run-{number}") as env:
            for _ in range(number):
                await call(env, "get_order", order_id="W1")
            await call(env, "rename_user", user_id="U1", name=f"name {number}")
            state = await env.snapshot()
            assert state is not None
            return (await call(env, "count_calls")).content, state["users"]["U1"]["name"]

    results = await asyncio.gather(*(run(number) for number in range(20)))

    assert results == [(str(number), f"name {number}") for number in range(20)]
    assert not [name for name in sys.modules if name.startswith("_agentbench_")]


async def test_two_environments_of_one_run_name_do_not_meet(tmp_path: Path) -> None:
    """A name used twice still gives two modules."""
    suite = shop(tmp_path)

    async with environment(suite, "same") as one, environment(suite, "same") as two:
        await call(one, "get_order", order_id="W1")
        counts = [(await call(env, "count_calls")).content for env in (one, two)]

    assert counts == ["1", "0"]


@pytest.mark.parametrize("keyword", ["", "async "])
@pytest.mark.parametrize(
    "statement",
    [
        "sys.exit(3)",
        "raise KeyboardInterrupt",
        "raise GeneratorExit",
        "raise asyncio.CancelledError",
        "pytest.exit('stop')",
        "pytest.skip('no')",
    ],
)
async def test_exits_inside_tools_are_faults_of_the_environment(tmp_path: Path, keyword: str, statement: str) -> None:
    """No BaseException leaves a call, whether the tool is sync or async; the original is the cause."""
    tools = f"import asyncio, pytest, sys\n{keyword}def leave() -> str:\n    {statement}\n"

    async with environment(python_only(tmp_path, tools)) as env:
        with pytest.raises(EnvironmentFaultError, match="tool 'leave' raised") as caught:
            await call(env, "leave")

        assert caught.value.__cause__ is not None
        assert env.calls.fault is caught.value


async def test_a_cancellation_from_outside_passes_through_an_async_tool(tmp_path: Path) -> None:
    """The loop's own cancellation is not mistaken for the tool's."""
    tools = "import asyncio\nasync def wait() -> str:\n    await asyncio.Event().wait()\n"

    async with environment(python_only(tmp_path, tools)) as env:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(call(env, "wait"), 0.05)

        assert env.calls.fault is None


async def test_five_megabytes_and_lone_surrogates_survive_a_call_and_the_codec(tmp_path: Path) -> None:
    """Hostile and huge text goes in and out unchanged."""
    tools = "def echo(text: str, times: int = 1) -> dict:\n    return {'text': text * times}\n"
    text = "\ud800é\x1b[31m"

    async with environment(python_only(tmp_path, tools)) as env:
        small = await call(env, "echo", text=text)
        large = await call(env, "echo", text="x", times=5_000_000)

    assert loads(small.content) == {"text": text}
    assert len(large.content) > 5_000_000
    assert loads(dumps(small.content)) == small.content


async def test_results_that_cannot_be_written_down_are_errors(tmp_path: Path) -> None:
    """A value that contains itself is the tool's error, not a crash."""
    tools = "def loop() -> list:\n    value = []\n    value.append(value)\n    return value\n"

    async with environment(python_only(tmp_path, tools)) as env:
        result = await call(env, "loop")

    assert result.error
    assert "RecursionError" in result.content


async def test_rows_are_rendered_as_objects(tmp_path: Path) -> None:
    """A tool may return sqlite3.Row values as they come."""
    tools = "def rows(state) -> list:\n    return state.execute('SELECT id FROM users ORDER BY id').fetchall()\n"

    async with environment(shop(tmp_path, tools)) as env:
        result = await call(env, "rows")

    assert result.content == '[{"id":"U1"},{"id":"U2"}]'


async def test_context_is_injected_and_never_an_argument(tmp_path: Path) -> None:
    """Tools get the run's context; a caller that gives one is refused, also by `**kwargs`."""
    tools = "def whoami(context: dict, **more) -> str:\n    return context['user']\n"

    async with environment(python_only(tmp_path, tools), context={"user": "U7"}) as env:
        right = await call(env, "whoami", other=1)
        wrong = await call(env, "whoami", context={"user": "root"})

    assert right.content == "U7"
    assert "unknown 'context'" in wrong.content


async def test_arguments_that_a_tool_keeps_do_not_change_the_call(tmp_path: Path) -> None:
    """The call stays what was asked, whatever the tool does to its arguments."""
    tools = "def keep(items: object) -> str:\n    items.append('more')\n    return 'ok'\n"
    made = ToolCall(name="keep", arguments={"items": ["one"]})

    async with environment(python_only(tmp_path, tools)) as env:
        await env.call(made)

    assert made.arguments == {"items": ["one"]}


async def test_calls_after_the_seal_are_refused_and_counted(tmp_path: Path) -> None:
    """A late call changes nothing, and the state can still be read."""
    async with environment(shop(tmp_path)) as env:
        wrapped = {tool.__name__: tool for tool in env.wrapped_tools(lambda *_: None)}
        env.calls.seal()
        result = await call(env, "cancel_order", order_id="W1")
        with pytest.raises(EnvironmentFaultError, match="the run is over"):
            wrapped["cancel_order"]("W1")
        state = await env.snapshot()

    assert result.error
    assert env.calls.late_calls == 2
    assert env.calls.log[0] == "late call refused: cancel_order"
    assert state is not None
    assert state["orders"]["W1"]["status"] == "pending"


async def test_user_tools_share_the_state_and_are_apart_from_the_agents(tmp_path: Path) -> None:
    """Both parties may have a tool of the same name; each reaches its own."""
    spec, root = shop(tmp_path)
    write(
        root,
        phone_py="def get_order(state) -> str:\n    return state.execute('SELECT name FROM users').fetchone()[0]\n",
    )
    both = spec.model_copy(update={"user_tools": (ToolsSpec(kind="python", target="phone.py"),)})

    async with environment((both, root)) as env:
        await call(env, "rename_user", user_id="U1", name="Zoe")
        mine = await env.call(ToolCall(name="get_order", requestor="user"))
        other = await env.call(ToolCall(name="cancel_order", requestor="user"))
        wrapped = env.wrapped_tools(lambda *_: None)

    assert mine.content == "Zoe"
    assert "unknown tool 'cancel_order'. The tools are: get_order" in other.content
    assert len(wrapped) == 5


async def test_described_tools_cannot_be_called(tmp_path: Path) -> None:
    """A schema is for checking; calling is a fault of the environment."""
    (tmp_path / "tools.json").write_text('[{"type": "function", "function": {"name": "look"}}]')

    async with environment((EnvironmentSpec(tools=(ToolsSpec(kind="schema", target="tools.json"),)), tmp_path)) as env:
        with pytest.raises(EnvironmentFaultError, match="only described"):
            await call(env, "look")

        assert await env.snapshot() is None


async def test_overlapping_writes_are_not_attributed(tmp_path: Path) -> None:
    """Where two calls ran at once and something changed, neither is said to have written."""
    tools = """
import asyncio
gate = asyncio.Event()
async def slow(state) -> str:
    await gate.wait()
    state.execute("UPDATE orders SET status = 'slow'")
    return "slow"
async def open_gate() -> str:
    gate.set()
    return "open"
"""
    async with environment(shop(tmp_path, tools)) as env:
        slow, opened = await asyncio.gather(call(env, "slow"), call(env, "open_gate"))

    assert slow.wrote is None
    assert opened.wrote in (False, None)


async def test_a_toolset_read_at_collection_saves_describing_it_again(tmp_path: Path) -> None:
    """`known` gives the run the same tools."""
    suite = shop(tmp_path)
    known = load_toolset(*suite)

    async with environment(suite, known=known) as env:
        assert env.tools == known
        assert (await call(env, "get_order", order_id="W1")).error is False


async def test_what_cannot_be_set_up_is_a_fault_that_names_the_reason(tmp_path: Path) -> None:
    """A module that raises, missing state, and rows that do not fit are faults on entering."""
    broken = python_only(tmp_path, "raise OSError('no disk')\n")
    with pytest.raises(EnvironmentFaultError, match=r"OSError: no disk \(.*tools.py:1\)"):
        await environment(broken).__aenter__()

    write(tmp_path, tools_py="def look(state) -> str:\n    return ''\n")
    with pytest.raises(EnvironmentFaultError, match="takes state, but the suite has no"):
        await environment(broken).__aenter__()

    suite = shop(tmp_path)
    with pytest.raises(
        EnvironmentFaultError, match=r"the scenario's state: orders row 1 .*FOREIGN KEY|refers to a row"
    ):
        await environment(suite, state={"orders": [{"id": "W9", "owner": "U9"}]}).__aenter__()


async def test_wrapped_tools_keep_name_signature_and_result_and_report_in_order(tmp_path: Path) -> None:
    """An agent's framework sees plain typed functions; every call is reported with its result."""
    seen: list[tuple[str, str, bool]] = []
    async with environment(shop(tmp_path)) as env:
        tools = {
            tool.__name__: tool
            for tool in env.wrapped_tools(lambda made, result: seen.append((made.name, result.content, result.error)))
        }
        order = tools["get_order"]("W2")
        renamed = await tools["rename_user"](user_id="U1", name="Zoe")
        with pytest.raises(ValueError, match="no order 'W9'"):
            tools["get_order"](order_id="W9")
        with pytest.raises(TypeError, match="missing 'order_id'"):
            tools["get_order"]()
        with pytest.raises(TypeError, match="takes 1 argument, not 2"):
            tools["get_order"]("W1", "W2")

    assert order == {"id": "W2", "owner": "U2", "status": "done", "total": 3.0}
    assert renamed is None
    assert [(name, error) for name, _, error in seen] == [
        ("get_order", False), ("rename_user", False), ("get_order", True), ("get_order", True), ("get_order", True),
    ]  # fmt: skip
    assert seen[2][1] == "Error: no order 'W9'"


async def test_wrapped_tools_hide_what_is_injected_from_frameworks(tmp_path: Path) -> None:
    """Signature, evaluated type hints and coroutine-ness are what a framework reads."""
    import inspect
    import typing

    tools = """
from __future__ import annotations
import typing
if typing.TYPE_CHECKING:
    from sqlite3 import Connection
def sync(count: int, state: Connection, note: str = "x") -> dict[str, int]:
    '''Do it.'''
    return {"count": count}
async def later(count: int, *, state: Connection) -> None:
    ...
"""
    async with environment(shop(tmp_path, tools)) as env:
        sync, later = env.wrapped_tools(lambda *_: None)

        assert str(inspect.signature(sync)) == "(count: int, note: str = 'x') -> dict[str, int]"
        assert typing.get_type_hints(sync) == {"count": int, "note": str, "return": dict[str, int]}
        assert sync.__doc__ == "Do it."
        assert inspect.signature(inspect.unwrap(sync)).parameters.keys() == {"count", "note"}
        assert (inspect.iscoroutinefunction(sync), inspect.iscoroutinefunction(later)) == (False, True)
        assert sync("3") == {"count": 3}


async def test_wrapped_tools_may_be_called_from_many_threads(tmp_path: Path) -> None:
    """Reports never overlap and none is lost."""
    seen: list[str] = []
    async with environment(shop(tmp_path)) as env:
        get_order = env.wrapped_tools(lambda made, _: seen.append(made.id))[0]
        threads = [
            threading.Thread(target=lambda: [get_order("W1") for _ in range(20)]) for _ in range(8)
        ]  # fmt: skip
        for thread in threads:
            thread.start()
        for thread in threads:
            await asyncio.to_thread(thread.join)

    assert len(seen) == len(set(seen)) == 160


async def test_an_exit_in_a_wrapped_tool_is_reported_and_kept_as_the_runs_fault(tmp_path: Path) -> None:
    """An agent that swallows exceptions does not hide that a tool tried to end the process."""
    seen: list[bool] = []
    async with environment(python_only(tmp_path, "import sys\ndef leave() -> str:\n    sys.exit(1)\n")) as env:
        leave = env.wrapped_tools(lambda _, result: seen.append(result.error))[0]
        with pytest.raises(EnvironmentFaultError, match="SystemExit"):
            leave()

        assert seen == [True]
        assert env.calls.fault is not None


async def test_a_sync_agent_may_run_an_async_wrapped_tool_in_its_own_loop(tmp_path: Path) -> None:
    """Wrapped tools never wait for the run's thread, which the agent itself may occupy."""
    async with environment(shop(tmp_path)) as env:
        rename = {tool.__name__: tool for tool in env.wrapped_tools(lambda *_: None)}["rename_user"]
        await asyncio.to_thread(lambda: asyncio.run(rename("U1", "Zoe")))
        state = await env.snapshot()

    assert state is not None
    assert state["users"]["U1"]["name"] == "Zoe"


PROVIDER = """
import asyncio
log = []
class Shelf:
    isolation = "{isolation}"
    def __init__(self, label="none"):
        self.label = label
    {a}def open(self, initial, run):
        log.append(("open", self.label, run))
        return {{"items": dict(initial)}}
    {a}def snapshot(self, handle):
        return handle
    {a}def close(self, handle):
        log.append(("close",))
"""
SHELF_TOOLS = """
def put(name: str, state) -> str:
    state["items"][name] = 1
    return "ok"
def look(state) -> int:
    return 1
"""


@pytest.mark.parametrize(("a", "wrote"), [("", (True, False)), ("async ", (None, None))])
async def test_own_state_may_be_sync_or_async(tmp_path: Path, a: str, wrote: tuple[bool | None, ...]) -> None:
    """A provider by import path is called with its options; small states are compared around sync calls."""
    write(tmp_path, tools_py=SHELF_TOOLS)
    (tmp_path / f"shelf{len(a)}.py").write_text(PROVIDER.format(isolation="per_run", a=a))
    state = StateSpec(kind="own", options={"own": f"shelf{len(a)}:Shelf", "label": "red"})
    suite = (EnvironmentSpec(tools=(ToolsSpec(kind="python", target="tools"),), state=state), tmp_path)

    async with environment(suite, "run-7", state={"box": 2}) as env:
        results = [await call(env, "put", name="cup"), await call(env, "look")]
        after = await env.snapshot()

    assert after == {"items": {"box": 2, "cup": 1}}
    assert tuple(result.wrote for result in results) == wrote
    assert sys.modules[f"shelf{len(a)}"].log == [("open", "red", "run-7"), ("close",)]


@pytest.mark.parametrize("isolation", ["per_worker", "exclusive"])
async def test_runs_wait_for_an_own_state_that_they_share(tmp_path: Path, isolation: str) -> None:
    """Open and close never interleave."""
    name = f"shared_{isolation}"
    write(tmp_path, tools_py=SHELF_TOOLS)
    (tmp_path / f"{name}.py").write_text(PROVIDER.format(isolation=isolation, a=""))
    state = StateSpec(kind="own", options={"own": f"{name}:Shelf"})
    suite = (EnvironmentSpec(tools=(ToolsSpec(kind="python", target="tools"),), state=state), tmp_path)
    gate = environment(suite)._gate

    async def run(number: int) -> None:
        async with environment(suite, f"run-{number}", gate=gate) as env:
            await call(env, "put", name="cup")

    await asyncio.gather(*(run(number) for number in range(5)))

    assert [entry[0] for entry in sys.modules[name].log] == ["open", "close"] * 5


async def test_a_provider_that_fails_is_named(tmp_path: Path) -> None:
    """Missing methods, an undeclared isolation and raising methods say which provider."""
    (tmp_path / "poor.py").write_text(
        "class Nothing:\n    pass\n"
        "class Vague:\n    def open(self, initial, run): ...\n    snapshot = close = open\n"
        "class Raising(Vague):\n    isolation = 'per_run'\n    def open(self, initial, run): raise SystemExit(1)\n"
    )
    expected = {
        "Nothing": "has no open",
        "Vague": "isolation is None",
        "Raising": r"Raising.open\(\) raised SystemExit",
    }

    for name, message in expected.items():
        spec = EnvironmentSpec(state=StateSpec(kind="own", options={"own": f"poor:{name}"}))
        with pytest.raises(EnvironmentFaultError, match=message):
            await environment((spec, tmp_path)).__aenter__()


async def test_json_state_is_a_dict_of_ones_own(tmp_path: Path) -> None:
    """The file is never changed, the scenario's part is merged in deep, and changes are observed."""
    write(tmp_path, tools_py=SHELF_TOOLS, state_json='{"items": {"a": 1}, "meta": {"x": 1, "y": [1]}}')
    spec = EnvironmentSpec(
        tools=(ToolsSpec(kind="python", target="tools"),), state=StateSpec(kind="json", options={"file": "state.json"})
    )

    async with environment((spec, tmp_path), state={"meta": {"y": [2]}}) as one, environment((spec, tmp_path)) as two:
        wrote = [(await call(one, "put", name="b")).wrote, (await call(one, "look")).wrote]
        states = [await one.snapshot(), await two.snapshot()]

    assert wrote == [True, False]
    assert states[0] == {"items": {"a": 1, "b": 1}, "meta": {"x": 1, "y": [2]}}
    assert states[1] == {"items": {"a": 1}, "meta": {"x": 1, "y": [1]}}


async def test_the_handle_is_a_connection_with_rows_and_foreign_keys(tmp_path: Path) -> None:
    """Agents and tools get the provider's own handle."""
    async with environment(shop(tmp_path)) as env:
        with pytest.raises(sqlite3.IntegrityError):
            env.handle.execute("INSERT INTO orders (id, owner) VALUES ('W3', 'nobody')")

        assert env.handle.execute("SELECT id FROM users").fetchone()["id"] == "U1"


async def test_a_state_that_opens_after_its_run_was_cancelled_is_closed_again(tmp_path: Path) -> None:
    """Nothing stays open behind a cancelled run, and the next run gets the gate."""
    (tmp_path / "slow_state.py").write_text(
        "import threading\n"
        "began, go, closed = threading.Event(), threading.Event(), threading.Event()\n"
        "class Slow:\n"
        "    isolation = 'per_worker'\n"
        "    def open(self, initial, run):\n        began.set()\n        go.wait()\n        return {}\n"
        "    def snapshot(self, handle): return handle\n"
        "    def close(self, handle): closed.set()\n"
    )
    spec = EnvironmentSpec(state=StateSpec(kind="own", options={"own": "slow_state:Slow"}))
    gate = IsolationGate(tmp_path)
    load_object("slow_state:Slow", tmp_path)
    module = sys.modules["slow_state"]

    entering = asyncio.ensure_future(environment((spec, tmp_path), gate=gate).__aenter__())
    await asyncio.to_thread(module.began.wait, 10)
    entering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await entering
    module.go.set()

    assert await asyncio.to_thread(module.closed.wait, 10)
    async with environment((spec, tmp_path), gate=gate) as env:
        assert await env.snapshot() == {}


MAKING = """
async def make(state, customer, *, session_id):
    return {"who": customer, "orders": state.execute("SELECT count(*) FROM orders").fetchone()[0], "in": session_id}

def broken(customer):
    raise ValueError("no such customer")
"""


async def test_a_context_is_made_of_state_session_and_values(tmp_path: Path) -> None:
    """Tools get what the function gives; where it gives nothing, the suite is at fault and the agent was not asked."""
    suite = shop(write(tmp_path, making_py=MAKING), "def look(context):\n    return context\n")
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"make": "making:make"}, r"'making:make' requires customer, .*add `context: \{make: 'making:make', customer"),
        ({"make": "making:make", "custmer": 1}, r"has no parameter 'custmer'.*did you mean 'customer'"),
        ({"make": "making:broken", "customer": 1}, r"raised ValueError: no such customer \(.*making.py:6\)"),
    ]

    async with environment(suite, context={"make": "making:make", "customer": "Ada"}) as env:
        result = await call(env, "look")

    assert json.loads(result.content) == {"who": "Ada", "orders": 2, "in": "run-1"}
    for context, said in wrong:
        with pytest.raises(SuiteFaultError, match=said):
            await environment(suite, context=context).__aenter__()


@pytest.mark.parametrize("how", ["waits", "sleeps"])
async def test_a_context_that_is_not_made_in_time_is_the_suite_s_fault(tmp_path: Path, how: str) -> None:
    """Whether the function is async or holds the run's thread."""
    code = (
        "import asyncio, threading\nended = threading.Event()\n"
        "async def waits():\n    await asyncio.Event().wait()\n"
        "def sleeps():\n    ended.wait(20)\n"
    )
    suite = shop(write(tmp_path, **{f"hanging_{how}_py": code}), "def look(context):\n    return context\n")

    entering = environment(suite, context={"make": f"hanging_{how}:{how}"}, patience=0.3).__aenter__()
    with pytest.raises(SuiteFaultError, match=rf"make: 'hanging_{how}:{how}' has not ended within 0.3 s"):
        await asyncio.wait_for(entering, 5)
    sys.modules[f"hanging_{how}"].ended.set()
