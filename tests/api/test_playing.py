"""Suites and conversations played without pytest, and what a simulation answers to assertions."""

import asyncio
import inspect
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import pytest_agentbench
from pytest_agentbench import (
    NotMeasuredError,
    NotRunError,
    Simulation,
    SuiteError,
    SuiteRun,
    Termination,
    load_suite,
    run_suite,
    run_suite_async,
    simulate,
    simulate_async,
)
from pytest_agentbench.plugin import hookspecs
from pytest_agentbench.results.document import comparable, read
from pytest_agentbench.testing import ModelRequest, ModelServer, structured
from tests.forking import Worker, session
from tests.tables import each

AGENT = """
def build(tools, hasty=False):
    def reply(message):
        if hasty or message == "Yes":
            return tools[0](order_id="W1")
        return "Shall I refund W1?"

    return reply
"""
TOOLS = """
def refund(state, order_id: str) -> str:
    \"\"\"Refund an order.\"\"\"
    state["refunds"][order_id] = True
    return "It is refunded."
"""
CONSENT = {"id": "consent", "text": "Ask first.", "rule": {"confirm_before": {"calls": ["refund"]}}}
POLITE = {"id": "polite", "text": "Be polite."}
ASKED = {"id": "asked", "says": ["Refund W1, please", {"confirm": "Yes"}]}
RUBRIC = [
    {"id": "clear", "text": "The agent says what it did.", "weight": 6},
    {"id": "invents", "text": "The agent makes things up.", "label": "NEG", "must": True},
]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Give what writes a suite of one refund into the current folder."""
    monkeypatch.chdir(tmp_path)

    def write(**keys: Any) -> Path:
        suite = {
            "agent": "api_agent:build",
            "variants": {"careful": {}, "hasty": {"hasty": True}},
            "environment": {"tools": "api_tools", "state": {"json": "state.json"}, "writes": ["refund"]},
            "policies": [CONSENT, POLITE],
            "scenarios": [
                {
                    "id": "refund",
                    "says": ["Refund W1, please", {"confirm": "Yes"}],
                    "policies": ["consent", "polite"],
                    "expect": [{"refund": {"order_id": "W1"}}],
                }
            ],
            **keys,
        }
        for name, text in (
            ("agentbench.yaml", json.dumps(suite)),
            ("api_agent.py", AGENT),
            ("api_tools.py", TOOLS),
            ("state.json", '{"refunds": {}}'),
        ):
            (tmp_path / name).write_text(text)
        return tmp_path / "agentbench.yaml"

    return write


def parrot(message: str) -> str:
    """Say what was said."""
    return f"You said: {message}"


@each("how", ["plain", "in a loop", "async"])
def test_a_function_and_lines_are_a_conversation(how: str) -> None:
    """Without a suite, in a script or from within a loop; nothing of pytest is asked."""

    async def within() -> Simulation:
        return simulate(parrot, says=["Hello"]) if how == "in a loop" else await simulate_async(parrot, says=["Hello"])

    run = simulate(parrot, says=["Hello"]) if how == "plain" else asyncio.run(within())

    assert (run.reply, run.passed, run.termination) == ("You said: Hello", True, Termination.FINISHED)
    assert repr(run) == (
        "<Simulation FINISHED, passed; it closed: done; the last turn, 2, assistant: 'You said: Hello'>"
    )


def test_a_script_imports_no_pytest(bench: Callable[..., Path]) -> None:
    """What plays suites needs none of the plugin."""
    bench()
    script = (
        "import sys, pytest_agentbench as ab\n"
        "assert ab.run_suite('agentbench.yaml').passed\n"
        "assert not {'pytest', '_pytest', 'pytest_agentbench.plugin'} & sys.modules.keys()\n"
    )

    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_suite_is_played_as_pytest_plays_it(bench: Callable[..., Path]) -> None:
    """In its order, with its gates; on either loop, and what is written is what pytest writes."""
    suite = load_suite(bench(gates=["success >= 0.5"], trials=2))
    played = run_suite(suite, variants=("all",))
    again = asyncio.run(run_suite_async(suite, variants=("all",)))
    Worker(session, Path.cwd(), "--agentbench-variant=all", "--agentbench-json=theirs.json").result()

    assert [one.result.key.variant for one in played] == ["careful", "careful", "hasty", "hasty"]
    assert (played[0].passed, played[2].passed, played.passed) == (True, False, False)
    assert [(one.label, one.failed) for one in played.gates][:2] == [
        ("success >= 0.5 [careful]", False),
        ("success >= 0.5 [hasty]", True),
    ]
    theirs, ours = (comparable(read(file)) for file in (Path("theirs.json"), played.write("here")))
    assert (ours["results"], ours["suites"], ours["gates"]) == (theirs["results"], theirs["suites"], theirs["gates"])
    assert again.results == tuple(
        one.model_copy(update={name: getattr(two, name) for name in ("seconds", "session_id", "turn_seconds")})
        for one, two in zip(played.results, again.results, strict=True)
    )
    assert len(list(Path("here/transcripts").glob("*.json"))) == 4


def test_where_no_gate_of_its_own_was_decided_every_run_has_to_pass(bench: Callable[..., Path]) -> None:
    """A factor of a baseline decides nothing here."""
    suite = load_suite(bench(gates=["agent.seconds.p95 <= 2 * baseline"]))

    assert (run_suite(suite, variants=("careful",)).passed, run_suite(suite, variants=("hasty",)).passed) == (
        True,
        False,
    )


def test_a_key_of_the_state_that_is_no_text_says_what_to_write(bench: Callable[..., Path]) -> None:
    """State is JSON, whose keys are text, also where a database has numbers."""
    file = bench()
    file.with_name("state.json").write_text('{"refunds": {"31": {"paid": false}}}')

    state = simulate(suite=file, variant="careful", says=["Hello"]).state

    with pytest.raises(KeyError, match=r"31 \(keys are text: write '31'\)"):
        _ = state["refunds"][31]
    with pytest.raises(KeyError, match=r"^32$"):
        _ = state["refunds"][32]
    assert repr(state["refunds"]) == "{'31': {'paid': False}}"


def test_a_part_of_a_suite_is_chosen_by_name(bench: Callable[..., Path]) -> None:
    """Names that are none are refused, with the one that was probably meant."""
    file = bench()

    run = simulate(suite=file, variant="hasty", says=["Refund W1"])

    assert run.state == {"refunds": {"W1": True}}
    assert run_suite(file, scenarios=["refund"])["refund"].passed
    with pytest.raises(ValueError, match=r"no scenario 'refnd' .did you mean 'refund'"):
        run_suite(file, scenarios=["refnd"])
    with pytest.raises(ValueError, match=r"no variant 'lazy' .there are: careful, hasty"):
        simulate(suite=file, variant="lazy")
    with pytest.raises(ValueError, match=r"needs `agent=` and `says=`; or a suite"):
        simulate(parrot)
    with pytest.raises(SuiteError, match=r"agentbench.yaml:1:\d+: agents: unknown key 'agents'"):
        load_suite(bench(agents=1))


def test_policies_and_calls_answer_with_the_turn_that_shows_it(bench: Callable[..., Path]) -> None:
    """What nobody measured is neither kept nor broken: the message names who would tell."""
    file = bench()
    careful, hasty = simulate(suite=file), simulate(suite=file, variant="hasty")

    assert careful.policies["consent"].kept
    assert careful.complete
    kept = hasty.policies["consent"].kept
    assert not kept
    assert repr(kept) == (
        '<not kept: policy consent: refund(order_id="W1") was called without asking the user for confirmation '
        "(turn 2, assistant: 'It is refunded.')>"
    ).replace('"W1"', "'W1'")
    assert hasty.policies["consent"].exercised
    assert repr(simulate(suite=file, says=["Hi"]).complete) == ('<not complete: refund(order_id="W1") (not_attempted)>')
    with pytest.raises(NotMeasuredError, match=r"the auditor would measure it .give the policy a `rule`, or the suite"):
        _ = careful.policies["polite"].kept
    with pytest.raises(NotMeasuredError, match=r"its occasion never came"):
        _ = simulate(suite=file, says=["Hi"]).policies["consent"].kept
    with pytest.raises(KeyError, match=r"no policy 'consnt' .did you mean 'consent'"):
        _ = careful.policies["consnt"]
    with pytest.raises(NotMeasuredError, match=r"the scenario expects no call"):
        _ = simulate(suite=file, expect=[]).complete


@pytest.fixture
def judge() -> Iterator[ModelServer]:
    """A judge that finds an invention, and says where."""

    def answer(request: ModelRequest) -> Any:
        shown = {"evidence": [{"turn": 2, "quote": "Shall I refund W1?"}], "reason": "nobody spoke of it"}
        scores = {"clear": 8, "invents": 1}
        given = [{"criterion": name, "applies": True, **shown, "score": score} for name, score in scores.items()]
        return structured({"verdicts": given})

    with ModelServer({"judge": answer}) as server:
        yield server


def test_a_rubric_answers_with_the_words_that_the_judge_quotes(bench: Callable[..., Path], judge: ModelServer) -> None:
    """A criterion that shows is hit; one that alone decides is make-or-break; without a judge both are open."""
    model = {"model": "judge", "base_url": judge.base_url, "api_key": "none", "price": {"input": 1, "output": 1}}
    file = bench(judge={"llm": model}, rubric=RUBRIC, policies=[CONSENT], scenarios=[ASKED])
    judged, open_ = simulate(suite=file), simulate(suite=file, judge=False)

    hit = judged.rubric["invents"].hit
    assert hit
    assert repr(hit) == ("<hit: criterion invents: must not: true: nobody spoke of it (turn 2: 'Shall I refund W1?')>")
    assert judged.make_or_break
    assert "nobody spoke of it" in repr(judged.make_or_break)
    assert judged.rubric["clear"].hit
    assert judged.rubric["clear"].passed
    for ask in (lambda: open_.rubric["invents"].hit, lambda: open_.make_or_break):
        with pytest.raises(NotMeasuredError, match=r"criterion 'invents' was not measured: .*; the judge would"):
            ask()


def test_a_run_that_could_not_take_place_is_no_conversation(bench: Callable[..., Path], judge: ModelServer) -> None:
    """A budget that is spent raises; a suite's runs say so one by one."""
    model = {"model": "judge", "base_url": judge.base_url, "api_key": "none", "price": {"input": 1, "output": 1}}
    file = bench(judge={"llm": model}, rubric=RUBRIC, policies=[CONSENT], scenarios=[ASKED])

    with pytest.raises(NotRunError, match=r"not run: budget: "):
        simulate(suite=file, max_calls=0)

    assert [str(one.result.not_run)[:6] for one in run_suite(file, max_calls=0)] == ["budget"]


def test_all_that_a_simulation_or_a_hook_gives_can_be_imported() -> None:
    """Every type of ours that is named there has a public name."""
    public = {getattr(pytest_agentbench, name) for name in pytest_agentbench.__all__}
    answers = [
        member.fget if isinstance(member, property) else member
        for kind in (Simulation, SuiteRun)
        for member in vars(kind).values()
        if isinstance(member, property) or (inspect.isfunction(member) and member.__name__ != "__init__")
    ]
    given = [getattr(hookspecs, name) for name in dir(hookspecs) if name.startswith("pytest_agentbench_")]
    names = {name: getattr(pytest_agentbench, name) for name in pytest_agentbench.__all__}
    types: set[Any] = set()
    for function in (*answers, *given):
        held = [get_type_hints(function, {**vars(sys.modules[function.__module__]), **names, **_ABC})]
        while held:
            one = held.pop()
            held += one.values() if isinstance(one, dict) else getattr(one, "__args__", ())
            types.add(one) if inspect.isclass(one) else None

    ours = {one for one in types if one.__module__.startswith("pytest_agentbench.")}
    assert len(ours) > 15
    assert {one.__name__ for one in ours - public} <= {"Named"}


_ABC = {name: getattr(sys.modules["collections.abc"], name) for name in ("Iterable", "Mapping")}


def test_what_was_called_is_known_or_said_to_be_unknown(bench: Callable[..., Path]) -> None:
    """An agent that tells nothing of its calls may have made any; a slip in a name is no call that was not made."""
    run = simulate(suite=bench())
    silent = simulate(agent=lambda _: "I refunded it all.", says=["Hello"])

    assert run.called("refund", order_id="W1")
    assert not run.called("refund", order_id="W2")
    with pytest.raises(ValueError, match=r"there is no such tool \(did you mean 'refund'"):
        run.called("refnd")
    with pytest.raises(ValueError, match="there is no argument 'order', only order_id"):
        run.called("refund", order="W1")
    with pytest.raises(NotMeasuredError, match="the agent's calls cannot be seen"):
        silent.called("refund")
    with pytest.raises(NotMeasuredError, match="`state` was not measured: the suite has none"):
        _ = silent.state["refunds"]


def test_a_call_through_code_of_the_agents_own_is_one_call(tmp_path: Path) -> None:
    """What surrounds an offered tool fills arguments in; the agent also returns the messages of its call.

    A call that was never made by the tool, such as one that the agent's framework refused, stays a call of its own.
    """
    (tmp_path / "till_tools.py").write_text(
        'def pay_back(order_id: str, amount: float = 1.0) -> str:\n    "Pay money back."\n    return "ok"\n'
    )
    (tmp_path / "till_agent.py").write_text(
        """
import json


def build(tools):
    def called(number, arguments, answer):
        function = {"name": "pay_back", "arguments": json.dumps(arguments)}
        call = {"id": number, "type": "function", "function": function}
        return [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": number, "content": answer},
        ]

    def reply(message):
        refused = called("1", {"order_id": 1}, "Error: order_id must be a text")
        done = called("2", {"order_id": "W1"}, tools[0](order_id="W1", amount=1.0))
        return [*refused, *done, {"role": "assistant", "content": "Done."}]

    return reply
"""
    )
    scenario = {"id": "a", "says": ["Pay W1 back"], "expect": [{"pay_back": {"order_id": "W1"}}]}
    keys = {"agent": "till_agent:build", "environment": {"tools": "till_tools", "writes": ["pay_back"]}}
    (tmp_path / "agentbench.yaml").write_text(json.dumps({**keys, "scenarios": [scenario]}))

    [one] = run_suite(tmp_path / "agentbench.yaml")

    assert sorted(str(call.call.arguments["order_id"]) for call in one.calls) == ["1", "W1"]
    assert one.passed, one.findings
