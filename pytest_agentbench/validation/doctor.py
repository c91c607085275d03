"""A first look at a suite's agent: does it build and answer, what of it can be seen, do its conversations leak?"""

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal

from pytest_agentbench.agents.callables import declares_tools, requires
from pytest_agentbench.checks.matching import is_call_of
from pytest_agentbench.checks.other_faults import NO_ARGUMENTS
from pytest_agentbench.checks.state import OWN_TOOLS, OWN_TOOLS_CURE
from pytest_agentbench.checks.verdict import MEND_TOOL
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.errors import AgentBenchError, KeyMissingError, Problem, SuiteError
from pytest_agentbench.core.model import ModelSpec, Usage
from pytest_agentbench.core.names import count, listing, suggestion
from pytest_agentbench.core.protocols import Isolation
from pytest_agentbench.core.providers import PYDANTIC_AI
from pytest_agentbench.core.remote import OpenApiSpec
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.text import shorten
from pytest_agentbench.core.tool import ToolCall, Toolset, ToolSpec
from pytest_agentbench.core.variants import vary_chat
from pytest_agentbench.environment.import_path import load_object
from pytest_agentbench.environment.state_provider import declared_isolation
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.prices import server_of
from pytest_agentbench.llm.wire import where
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.validation.scripted_run import AT_ONCE, IN_A_ROW, WITHOUT_RESET, Pair, Played, Player, leak

Question = Literal["agent", "reply", "tools", "calls", "state", "isolation", "leaks", "models", "keys", "session"]
"""What is asked, in the order in which it is told."""

Mark = Literal["ok", "note", "problem"]
"""ok: as it should be. note: less can be checked, or nobody can tell. problem: runs would fail or mislead."""


class Observation(Model):
    """The answer to one question: what was found, and what to do about it where that is anything."""

    question: Question
    mark: Mark
    found: str
    advice: str = ""


class Diagnosis(Model):
    """Everything a look found. `calls` are those of the first turn, `usage` what the models of all turns took."""

    suite: str
    path: str
    scenario: str
    variant: str = ""
    said: str = ""
    answered: str = ""
    tools: tuple[ToolSpec, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    observations: tuple[Observation, ...] = ()
    usage: Usage = Usage()
    seconds: float = 0.0

    @property
    def is_healthy(self) -> bool:
        """Whether nothing found would make runs fail or mislead."""
        return all(one.mark != "problem" for one in self.observations)


HELLO = "Hello, what can you do for me?"
"""What is said where the suite's scenarios have no line of their own."""

_SHOWN = 300


def examine(
    path: Path,
    *,
    environ: Mapping[str, str],
    scenario: str | None = None,
    variant: str | None = None,
    say: str | None = None,
    most_calls: int = 40,
    now: Callable[[], float] = time.monotonic,
    told: Callable[[str], None] = lambda _: None,
) -> Diagnosis:
    """Build the agent of a suite, play one turn, then two sessions at once and two in a row.

    At most `most_calls` model calls are made. `scenario` and `variant` are the suite's first unless named. `told` hears
    what is done next.
    Raise `SuiteError` where the suite cannot be read, its
    tools cannot be loaded, its conversations are recorded, or it has no such scenario or variant.
    """
    suite = load_suite(path, environ=environ, generating=True)
    if suite.agent.kind == "transcripts":
        raise SuiteError([Problem(file=path, key="agent", message="recorded conversations have no agent to look at")])
    try:
        toolset = load_toolset(suite.environment, suite.root)
    except AgentBenchError as error:
        raise SuiteError([Problem(file=path, key="environment", message=str(error))]) from error
    chosen = _chosen(suite, scenario)
    if variant is not None and variant not in suite.variants:
        raise _unknown(path, "variant", variant, list(suite.variants))
    begun = now()
    with tempfile.TemporaryDirectory(prefix="agentbench-") as folder:
        player = Player(
            suite=suite,
            scenario=chosen,
            variant=variant or next(iter(suite.variants), ""),
            toolset=toolset,
            folder=Path(folder),
            environ=environ,
            most_calls=most_calls,
            now=now,
        )
        line = say or (chosen.lines[0] if chosen.says else HELLO)
        diagnosis = asyncio.run(_examined(player, line, told))
    return diagnosis.model_copy(update={"path": str(path), "seconds": now() - begun})


async def _examined(player: Player, line: str, told: Callable[[str], None]) -> Diagnosis:
    suite, pairs = player.suite, {}
    isolation = _isolation(suite)
    served = ", each with a server of its own" if any(one.remote for one in suite.environment.tools) else ""
    try:
        told("playing one turn")
        (first,) = await player.play({"a": (line,)})
        if not first.is_broken:
            if not suite.agent.serial and isolation == "per_run":
                told(f"playing two sessions at once{served}")
                pairs[AT_ONCE] = await player.play(AT_ONCE.lines, AT_ONCE.order)
            told(f"playing two sessions in a row{served}")
            pairs[IN_A_ROW] = await player.play(IN_A_ROW.lines)
            if suite.agent.http is not None and suite.agent.http.takes_turns and not suite.agent.serial:
                player.leave_out_reset()
                if _isolation(player.suite) == "per_run":  # else the second session waits for the end of the first
                    pairs[WITHOUT_RESET] = await player.play(WITHOUT_RESET.lines, WITHOUT_RESET.order)
    finally:
        await player.close()
    run = first.run
    tools = run.toolset or player.toolset
    observations = [
        *_agent(first),
        *_tools(tools, suite),
        *([] if first.is_broken else [*_down(run), *_slips(run), *_calls(run, suite), *_state(run, suite)]),
        *_isolated(isolation, suite),
        *_leaks(pairs),
        *_models(first, suite),
        *_keys(suite, player.variant, player.environ),
        *_session(first, suite),
    ]
    return Diagnosis(
        suite=suite.name,
        path=str(suite.path),
        scenario=player.scenario.id,
        variant=player.variant,
        said=line,
        answered=next((text for _, text in run.transcript.texts("assistant")), ""),
        tools=tuple(tools),
        calls=tuple(record.call for record in run.calls),
        observations=tuple(observations),
        usage=sum((played.usage for played in (first, *chain(*pairs.values())) if played.usage), Usage()),
    )


def _chosen(suite: Suite, name: str | None) -> Scenario:
    if name is None:
        none = Scenario.model_validate({"id": "none", "title": "none", "task": {"id": "none"}})
        return next(iter(suite.scenarios), none)
    found = next((scenario for scenario in suite.scenarios if scenario.id == name), None)
    if found is None:
        raise _unknown(suite.path, "scenario", name, [scenario.id for scenario in suite.scenarios])
    return found


def _unknown(path: Path, kind: str, name: str, names: Sequence[str]) -> SuiteError:
    message = f"there is no {kind} {name!r}; there are {listing(names) or 'none'}"
    return SuiteError([Problem(file=path, message=message, hint=suggestion(name, names))])


def _isolation(suite: Suite) -> Isolation:
    remotes = (one.remote for one in (*suite.environment.tools, *suite.environment.user_tools))
    if any(isinstance(remote, OpenApiSpec) and remote.takes_turns for remote in remotes):
        return "exclusive"
    if suite.agent.http is not None and suite.agent.http.takes_turns:
        return "exclusive"
    try:
        return declared_isolation(suite.environment.state, suite.root)
    except AgentBenchError:
        return "exclusive"


def _saw(question: Question, mark: Mark, found: str, advice: str = "") -> Observation:
    return Observation(question=question, mark=mark, found=found, advice=advice)


def _agent(played: Played) -> Iterator[Observation]:
    run = played.run
    if played.not_run is not None:
        yield _saw("agent", "problem", f"the conversation could not take place: {played.not_run}")
        return
    if played.is_broken:
        whose = f" (blame {run.blame.value})" if run.blame else ""
        yield _saw("agent", "problem", f"{run.error or run.stop_reason}{whose}", "mend this first, then look again")
        return
    answers = [text for _, text in run.transcript.texts("assistant")]
    yield _saw("agent", "ok", f"built, and answered one turn in {run.seconds:.1f} s")
    if answers:
        yield _saw("reply", "ok", shorten(" ".join(answers[0].split()), _SHOWN))
    else:
        yield _saw("reply", "problem", "it said nothing", "return text, or a message with `content`")


def _tools(tools: Toolset, suite: Suite) -> Iterator[Observation]:
    if not tools:
        takes = _takes_tools(suite)
        yield _saw(
            "tools",
            "problem" if takes and _needs_tools(suite) else "note",
            *_NO_TOOLS["takes" if takes else _kind(suite)],
        )
        return
    named = [f"{tool.name} ({tool.kind})" for tool in tools]
    unknown = [tool.name for tool in tools if tool.kind == "unknown"]
    advice = ""
    if unknown:
        advice = f"say what {listing(unknown)} do{'es' if len(unknown) == 1 else ''}: `environment: {{reads: […]}}`"
        advice += " or `writes: […]`; a call of unknown kind is neither"
    yield _saw("tools", "note" if unknown else "ok", f"{len(tools.specs)}: {listing(named)}", advice)


def _down(run: Run) -> Iterator[Observation]:
    """Tell of tools that broke in a way that no arguments cause: runs that need them are not scored."""
    for tool, why in run.down.items():
        yield _saw("tools", "problem", f"{tool!r} {NO_ARGUMENTS}: {why}", "mend it, or what it asks, then look again")


def _slips(run: Run) -> Iterator[Observation]:
    """Tell of tools whose own code fails without meaning to; where the scenario expects the call, no run can pass."""
    for tool, why in run.slipped_tools.items():
        if tool in run.down:
            continue
        calls = [record.call for record in run.calls if record.call.name == tool]
        expected = any(is_call_of(want, call) for want in run.scenario.expected_calls for call in calls)
        yield _saw("tools", "problem" if expected else "note", f"{tool!r} raised {why}", MEND_TOOL)


def _kind(suite: Suite) -> str:
    return "http" if suite.agent.kind == "http" else "factory"


_OWN_TOOLS = "the suite names none; the agent brings its own, and all runs share the world that these change"
_NO_TOOLS = {
    "takes": (
        "the agent's factory takes `tools`, and the suite names none: it was given an empty list",
        (
            "name the module whose functions they are, and what they work on: `environment: {tools: my_tools, "
            "state: {json: state.json}}`; `agentbench generate` can write scenarios of them then"
        ),
    ),
    "http": (
        _OWN_TOOLS,
        "describe them in a .json file (`environment: {tools: tools.json}`): calls are then checked against it",
    ),
    "factory": (
        _OWN_TOOLS,
        (
            "let a factory build it with the suite's (`def build(tools): …`, `environment: {tools: …, state: …}`): "
            "calls are then checked against them, and every run has a world of its own"
        ),
    ),
}
_UNSEEN_CALLS = {
    "http": "say where an answer holds them: `calls` and `call` of `agent: {http: …}`",
    "factory": "take `tools` in the factory, or return the messages of the turn; an agent that shows everything may "
    "say `calls_visible = True`",
}
_UNSEEN_MODEL = {
    "http": "start it behind `agentbench proxy`: calls are then counted, recorded and bounded",
    "factory": "where it asks a model, let a factory build it (`def build(base_url): …`) and give that to its client: "
    "calls are then counted, recorded and bounded",
}
_UNREAD_STATE = {
    "http": "it lies behind the endpoint: tools of an OpenAPI document that read it may tell it (`environment: "
    "{tools: {openapi: …, base_url: …}, state: {tools: [get_orders]}}`)",
    "factory": "give the tools a state: `environment: {state: {sqlite: …}}`, `json`, or a provider of your own",
    "server": "it lies in another process: tools that read it may tell it (`environment: {state: {tools: "
    "[get_notes]}}`, with arguments `{get_note: {number: 7}}`)",
}
"""What to do about what cannot be seen: for agents behind HTTP, those that a factory builds, and tools of a server."""


def _takes_tools(suite: Suite) -> bool:
    """Whether the agent's factory asks for the environment's tools."""
    if suite.agent.kind != "factory":
        return False
    try:
        found = load_object(suite.agent.target, suite.root)
    except AgentBenchError:
        return False
    return callable(found) and declares_tools(found)


def _needs_tools(suite: Suite) -> bool:
    """Whether the factory cannot be called without tools."""
    return requires(load_object(suite.agent.target, suite.root), "tools")


def _calls(run: Run, suite: Suite) -> Iterator[Observation]:
    if run.calls or run.calls_visible:
        names = ", ".join(record.call.name for record in run.calls)
        made = f"made {len(run.calls)}: {names}" if names else "made none"
        yield _saw("calls", "ok", f"visible; this turn {made}")
    else:
        yield _saw("calls", "note", "none seen, and nothing tells whether any was made", _UNSEEN_CALLS[_kind(suite)])


def _state(run: Run, suite: Suite) -> Iterator[Observation]:
    if (state := run.final_state) is None:
        kind = _kind(suite)
        is_served = kind == "factory" and any(one.remote for one in suite.environment.tools)
        advice = _UNREAD_STATE["server" if is_served else kind]
        yield _saw("state", "note", "cannot be read: verdicts rest on the calls alone", advice)
        return
    changed = "changed by this turn" if state != run.initial_state else "as it was before this turn"
    entries = sum(len(table) for table in state.values() if isinstance(table, dict | list))
    size = f"{len(state)} {'part' if len(state) == 1 else 'parts'}, {entries} {'entry' if entries == 1 else 'entries'}"
    found = f"readable ({size}), {changed}"
    if run.toolset or not suite.scenarios:
        yield _saw("state", "ok", found)
    else:
        yield _saw("state", "note", f"{found}; not measured after expected calls: {OWN_TOOLS}", OWN_TOOLS_CURE)


def _isolated(isolation: Isolation, suite: Suite) -> Iterator[Observation]:
    http = suite.agent.http
    if suite.agent.serial:
        yield _saw("isolation", "note", "one run at a time, since the agent says `serial: true`")
    elif http is not None and http.takes_turns:
        yield _saw("isolation", "note", "one run at a time: all runs share the endpoint, which is reset before each")
    elif http is not None and http.serve is not None and http.serve.share == "run":
        yield _saw("isolation", "ok", "every run has a service of its own; runs overlap")
    elif http is not None and suite.environment.state is None and isolation == "per_run":
        found = "runs overlap, and what the endpoint keeps besides sessions is one world for all; nothing resets it"
        advice = "name a request that does (`agent: {http: {reset: POST /reset}}`), or start it for each run (`serve`)"
        yield _saw("isolation", "note", found, advice)
    elif suite.environment.state is None and isolation == "per_run":
        yield _saw("isolation", "note", "the suite has no state: runs overlap, and share what the agent itself keeps")
    elif isolation == "per_run":
        yield _saw("isolation", "ok", "every run has a state of its own; runs overlap")
    else:
        where = "in a process" if isolation == "per_worker" else "anywhere"
        advice = "a state per run (a database from a template, a folder each) lets them overlap"
        yield _saw("isolation", "note", f"{isolation}: one run at a time {where}", advice)


def _leaks(pairs: Mapping[Pair, Sequence[Played]]) -> Iterator[Observation]:
    for pair, played in pairs.items():
        broken = next((one for one in played if one.is_broken), None)
        if broken is not None:
            why = broken.not_run or broken.run.error or broken.run.stop_reason
            advice = "one session works alone; what do they share?"
            yield _saw("leaks", "problem", f"two sessions, {pair.how}: {why}", advice)
        elif found := leak(played[-1].run, pair.planted):
            advice = "keep nothing of a conversation at module level: build what remembers in the factory, "
            advice += "and have servers and stores remember by session_id, which is new in every run"
            if pair is WITHOUT_RESET:
                advice = f"the reset hides it from the runs, and nobody resets the service for its users: {advice}"
            mark: Mark = "note" if pair is WITHOUT_RESET else "problem"
            yield _saw("leaks", mark, f"two sessions, {pair.how}: {found}", advice)
        else:
            yield _saw("leaks", "ok", f"two sessions, {pair.how}: nothing that one was told showed up in the other")


def _models(played: Played, suite: Suite) -> Iterator[Observation]:
    if (usage := played.usage) is None:
        yield _saw("models", "note", "the agent's model calls are not observed", _UNSEEN_MODEL[_kind(suite)])
        return
    tokens = usage.input_tokens + usage.output_tokens
    price = "price unknown" if usage.unpriced else f"{usage.cost_usd:.4f} USD"
    yield _saw("models", "ok", f"{count(usage.calls, 'call')} in this turn, {tokens} tokens, {price}")


def _session(played: Played, suite: Suite) -> Iterator[Observation]:
    runs = len(suite.scenarios) * (suite.trials or 1)
    usage = played.usage
    told = f"{runs} {'run' if runs == 1 else 'runs'}" + (" of each variant" if len(suite.variants) > 1 else "")
    if usage is None or not usage.calls:
        cost = "cost unknown" if usage is None else "no model calls seen"
    elif usage.unpriced:
        cost = f"about {count(usage.calls, 'model call')} a turn, cost unknown"
    else:
        cost = f"about {usage.cost_usd:.4f} USD a turn"
    if suite.scenarios:
        yield _saw("session", "ok", f"{told}; {cost}")
    elif suite.generate is not None:
        yield _saw("session", "note", f"{told}; {cost}", f"write scenarios: agentbench generate {suite.path.name}")
    else:
        yield _saw("session", "problem", f"{told}; {cost}", "add a scenario")


def _keys(suite: Suite, variant: str, environ: Mapping[str, str]) -> Iterator[Observation]:
    """Say of each role where its model is and whether its key is there, never the key. Nothing is asked."""
    models = Models(environ=environ)
    for role, spec in _roles(suite, variant):
        try:
            models.key_of(spec)
        except KeyMissingError as error:
            yield _saw("keys", "note", f"{role}: {error}", "runs that ask it live are skipped as not run until then")
        else:
            yield _saw("keys", "ok", f"{role}: {spec.model} at {_server(spec, environ)}, {_key(spec, environ)}")


def _roles(suite: Suite, variant: str) -> Iterator[tuple[str, ModelSpec]]:
    chat = suite.agent.openai
    roles: dict[str, ModelSpec | None] = {
        "agent": vary_chat(chat, suite.variants.get(variant, {})).model if chat else None,
        "user": suite.user.model,
        "judge": suite.judge.model if suite.judge else None,
        "generate": suite.generate.model if suite.generate else None,
    }
    return ((role, spec) for role, spec in roles.items() if spec is not None)


def _server(spec: ModelSpec, environ: Mapping[str, str]) -> str:
    if spec.transport == PYDANTIC_AI:
        return "the server that pydantic-ai chooses"
    return where(server_of(spec, environ)) + (f" ({spec.provider})" if spec.provider else "")


def _key(spec: ModelSpec, environ: Mapping[str, str]) -> str:
    if spec.api_key:
        return "key in the suite"
    held = next((name for name in spec.key_variables if environ.get(name, "").strip()), "")
    if held:
        return f"key in {held}"
    return "its keys are pydantic-ai's affair" if spec.transport == PYDANTIC_AI else "no key is set, and none is needed"
