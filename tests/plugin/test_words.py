"""Thoughts are no words, a spent token limit is no fault of who was thinking, and a call in words is none."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.results.run_directory import read_transcript
from pytest_agentbench.testing import Answer, ModelRequest, ModelServer, fault, text, truncated
from pytest_agentbench.testing.script import Given
from tests.plugin.models_project import REACH, SCRIPT, agent, models_suite
from tests.plugin.project import Project
from tests.plugin.test_judged import judge, judged_suite

SECRET = "what nobody is to hear"


def thinking(reaction: Callable[[ModelRequest], Answer]) -> Callable[[ModelRequest], Given]:
    """A reasoning model: it says what `reaction` says, and thinks in the fields of two families of servers."""

    def react(request: ModelRequest) -> Given:
        said = reaction(request)
        calls = [
            {"id": f"c{at}", "type": "function", "function": {"name": one.name, "arguments": one.arguments}}
            for at, one in enumerate(said.calls)
        ]
        message: dict[str, Any] = {"role": "assistant", "content": None, "reasoning_content": SECRET}
        if said.content is not None:
            message["content"] = f"<think>{SECRET}, once more</think>\n{said.content}"
        if calls:
            message["tool_calls"] = calls
        usage = {"prompt_tokens": 10, "completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 7}}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        return fault.raw(json.dumps({"id": "x", "model": request.model, "choices": [choice], "usage": usage}))

    return react


def transcripts(project: Project) -> list[Transcript]:
    """Read what was kept of each run of the last session."""
    found = project.pytester.path.glob(".agentbench/runs/*/transcripts/*.json")
    return [read_transcript(file) for file in found]


def test_thoughts_of_every_role_are_kept_apart_and_counted(project: Project) -> None:
    """User, agent and judge think; nobody else ever sees it, the transcript's file has it, the report its tokens."""
    roles = {**SCRIPT, "judge": judge({"clear": 9, "pushy": 0})}
    with ModelServer({name: thinking(reaction) for name, reaction in roles.items()}) as server:
        judged_suite(project, server.base_url)
        result = project.run()

    assert result.ret == 0, result.outlines
    result.stdout.re_match_lines([r"model calls.*agent \d+, [\d.]+ USD, \d+ tokens of thoughts.*"])
    for request in server.requests:
        assert all(SECRET not in str(message["content"]) for message in request.messages)
        # beside its words, an agent's server gets its own thoughts of turns with calls back
        assert SECRET not in json.dumps(request.messages) or request.model == "agent"
    assert len(transcripts(project)) == 2
    for kept in transcripts(project):
        assert {message.role for message in kept.messages if message.thoughts} == {"user", "assistant"}
        assert SECRET not in "".join(message.text for message in kept.messages)
    for one in project.document.results:
        assert {role: usage.reasoning_tokens / usage.calls for role, usage in one.usage.items()} == dict.fromkeys(
            one.usage, 7.0
        )


def test_what_went_back_to_a_server_replays(project: Project) -> None:
    """A recording is found again though its requests hold the thoughts of earlier answers."""
    with ModelServer({name: thinking(reaction) for name, reaction in SCRIPT.items()}) as server:
        models_suite(project, server.base_url, count=1)
        recorded = project.run("--agentbench-cassette=record")
        sent_back = [request for request in server.requests if SECRET in json.dumps(request.messages)]
        asked = len(server.requests)

        replayed = project.run("--agentbench-cassette=replay")

        assert len(server.requests) == asked
    assert (recorded.ret, replayed.ret, {request.model for request in sent_back}) == (0, 0, {"agent"})


@pytest.mark.parametrize("spent", [truncated(""), truncated(f"<think>{SECRET}"), truncated(" \n")])
@pytest.mark.parametrize("role", ["user", "agent"])
def test_a_token_limit_that_leaves_no_word_is_the_providers(project: Project, role: str, spent: Answer) -> None:
    """The message names the role, the key to raise and where it stands."""
    with ModelServer({**SCRIPT, role: lambda _: spent}) as server:
        models_suite(project, server.base_url, count=1)
        project.run()

    [one] = project.document.results
    assert (str(one.verdict), str(one.blame)) == ("error", "provider")
    assert one.error is not None
    assert f"{role}, model {role!r}" in one.error
    assert "was cut off at its token limit before it said anything" in one.error
    assert "raise `max_tokens` (it is 100)" in one.error


def test_a_judge_that_spends_its_limit_on_thoughts_is_not_the_judges_fault(project: Project) -> None:
    """Its part is not measured, and why names the key."""
    with ModelServer({**SCRIPT, "judge": lambda _: truncated(f"<think>{SECRET}")}) as server:
        judged_suite(project, server.base_url)
        project.run()

    for one in project.document.results:
        assert "raise `max_tokens` (it is 100)" in one.unmeasured[0].why
        assert one.unmeasured[0].cure == "`max_tokens` and `effort` are keys of `judge: {llm: {…}}`"


@pytest.mark.parametrize(
    "written",
    [
        '<tool_call>\n{"name": "refund", "arguments": {"order_id": "W1"}}\n</tool_call>',
        '[TOOL_CALLS][{"name": "refund", "arguments": {"order_id": "W1"}}]',
        '[TOOL_CALLS]refund{"order_id": "W1"}',
        '<|python_tag|>{"name": "refund", "parameters": {"order_id": "W1"}}',
        '```json\n{"name": "refund", "arguments": {"order_id": "W1"}}\n```',
        '{"type": "function", "function": {"name": "refund", "arguments": "{}"}}',
        "<function=refund>\n<parameter=order_id>\nW1\n</parameter>\n</function>",
    ],
)
def test_a_call_in_words_is_named_and_never_made(project: Project, written: str) -> None:
    """The verdict stays what happened; the failure says which tool was called in words, and what the server lacks."""

    def talking(request: ModelRequest) -> Answer:
        return text(written) if agent(request).calls else agent(request)

    with ModelServer({**SCRIPT, "agent": talking}) as server:
        models_suite(project, server.base_url, count=1)
        result = project.run()

    [one] = project.document.results
    assert (str(one.verdict), str(one.blame)) == ("failed", "agent")
    assert not any(call.status == "matched" for call in one.calls)
    result.stdout.fnmatch_lines(
        ["*turn 2: the agent wrote a call of 'refund' as text, *--tool-call-parser`, llama.cpp with `--jinja`"]
    )


@pytest.mark.parametrize(
    "said",
    ['It is refunded: {"order_id": "W1"}.', '{"name": "W1", "arguments": {}}', "Call `refund` with order_id=W1."],
)
def test_other_json_and_prose_about_a_tool_are_no_call(project: Project, said: str) -> None:
    """Only the name of an offered tool with arguments, or a template's mark, is one."""
    with ModelServer({**SCRIPT, "agent": lambda _: text(said)}) as server:
        models_suite(project, server.base_url, count=1)
        project.run()

    [one] = project.document.results
    assert not [finding for finding in one.findings if finding.check == "calls as text"]


def test_a_user_that_writes_its_calls_as_text_is_the_providers(project: Project) -> None:
    """It is asked once more; then the run says what its server lacks."""
    written = text('<tool_call>{"name": "look", "arguments": {}}</tool_call>')
    with ModelServer({**SCRIPT, "user": lambda _: written}) as server:
        models_suite(project, server.base_url, count=1)
        suite = project.pytester.path / "bench/agentbench.yaml"
        suite.write_text(
            suite.read_text().replace('"tools": "shop_tools"', '"tools": "shop_tools", "user_tools": "own"')
        )
        project.write("bench/own.py", 'def look(state: dict) -> str:\n    """Look."""\n    return "dark"\n')
        project.run()

    [one] = project.document.results
    assert (str(one.verdict), str(one.blame)) == ("error", "provider")
    assert "the simulated user wrote a call of 'look' as text; its server probably has no parser" in (one.error or "")


def test_effort_is_sent_for_each_role_that_has_it(project: Project) -> None:
    """A key of `llm`, of the agent, of the user and of the judge."""
    with ModelServer({**SCRIPT, "judge": judge({"clear": 9, "pushy": 0})}) as server:
        judged_suite(
            project,
            server.base_url,
            agent={"openai": {"model": "agent", "system": "You refund orders.", "effort": "high"}},
            user={"llm": {"model": "user", "effort": "none"}},
            llm={**REACH, "base_url": server.base_url, "effort": "low"},
        )
        project.run()

    sent = {request.model: request.body.get("reasoning_effort") for request in server.requests}
    assert sent == {"agent": "high", "user": "none", "judge": "low"}


def test_a_server_that_refuses_the_suites_effort_is_told_by_that_key(project: Project) -> None:
    """The run is not played without it."""

    def refusing(_: ModelRequest) -> Given:
        return fault.refused("reasoning_effort", code="unsupported_value")

    with ModelServer({**SCRIPT, "user": refusing}) as server:
        models_suite(project, server.base_url, count=1, user={"llm": {"model": "user", "effort": "xhigh"}})
        project.run()

    [one] = project.document.results
    assert (str(one.verdict), str(one.blame)) == ("error", "provider")
    assert "the suite sets `effort` for this model" in (one.error or "")


def test_an_effort_that_does_not_exist_is_refused(project: Project) -> None:
    """The message lists what there is."""
    models_suite(project, "http://127.0.0.1:9/v1", count=1, user={"llm": {"model": "user", "effort": "heroic"}})
    result = project.run()

    result.stdout.fnmatch_lines(
        ["*user.llm.effort: found 'heroic', allowed: 'none', 'minimal', 'low', *'xhigh', 'max'"]
    )


def choosy(reaction: Callable[[ModelRequest], Answer]) -> Callable[[ModelRequest], Given]:
    """A model that takes the bound of an answer under its newer name alone."""
    return lambda request: fault.refused("max_tokens") if "max_tokens" in request.body else reaction(request)


CHOOSY = {name: choosy(reaction) for name, reaction in SCRIPT.items()}
CASSETTE = "bench/agentbench.cassette.jsonl"


def test_what_was_learnt_of_servers_is_reported_and_kept(project: Project) -> None:
    """The report says it role by role, the cassette's header model by model."""
    with ModelServer(CHOOSY) as server:
        models_suite(project, server.base_url)
        result = project.run("--agentbench-cassette=record")

    fact = "max_tokens sent as max_completion_tokens"
    result.stdout.fnmatch_lines([f"adapted      agent: {fact}*user: max_tokens*"])
    header = json.loads((project.pytester.path / CASSETTE).read_text().splitlines()[0])
    assert header["servers"] == [{"model": "agent", "facts": [fact]}, {"model": "user", "facts": [fact]}]


@pytest.mark.slow
def test_two_processes_keep_what_one_keeps_of_servers(project: Project) -> None:
    """Facts are in the cassette's header once, whoever learnt them."""
    cassette = project.pytester.path / CASSETTE
    with ModelServer(CHOOSY) as server:
        models_suite(project, server.base_url)
        project.run("--agentbench-cassette=record")
        alone = cassette.read_bytes()
        cassette.unlink()
        project.run("--agentbench-cassette=record", "-n2")

    assert cassette.read_bytes() == alone
