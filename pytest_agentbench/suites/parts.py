"""The parts of a suite file that say where agent, tools and state come from."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pytest_agentbench.core.errors import CheckError, Problem
from pytest_agentbench.core.extensions import environments
from pytest_agentbench.core.file_models import read_form
from pytest_agentbench.core.misfit import Keys, Misfit
from pytest_agentbench.core.placeholders import misplaced
from pytest_agentbench.core.remote import AuthSpec, McpSpec, OpenApiSpec, ServiceSpec, is_fixed_address, is_web_address
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.suite import (
    AgentSpec,
    Compared,
    EnvironmentSpec,
    GenerateSpec,
    OfferedSpec,
    RecipeKeys,
    StateSpec,
    ToolsSpec,
)
from pytest_agentbench.spec.document import Document
from pytest_agentbench.spec.environment import (
    ApiKey,
    Basic,
    Bearer,
    ClientCredentials,
    DescribedTools,
    EnvironmentForm,
    JsonState,
    McpTools,
    OfferedForm,
    OpenApiTools,
    OwnState,
    PluginState,
    PythonTools,
    SqliteState,
    ToldState,
)
from pytest_agentbench.spec.suite import (
    CallableForm,
    ChatAgentForm,
    FactoryForm,
    HttpAgentForm,
    ModelForm,
    RecipeForm,
    RecordedForm,
)
from pytest_agentbench.suites.roles import SUITES_FOLDER, RoleReader, given

T = TypeVar("T")

_OF_WALKS = frozenset(("agents", "candidates", "complexity", "nodes", "traces", "weights"))
"""Keys of a recipe that say what walks are like: who writes one has walks."""


class PartReader(RoleReader):
    """Turns parts of a suite file into what they mean, and notes what is wrong there."""

    def __init__(
        self,
        document: Document,
        root: Path,
        problems: list[Problem],
        written: Document,
        common: ModelForm | None,
        *,
        listing: bool,
    ) -> None:
        """Read parts of `document`; `written` is the same with its `${VAR}`s in place, `common` the suite's `llm`.

        `listing` leaves out committed lists of tools.
        """
        super().__init__(document, root, problems, common)
        self._listing = listing
        self._written = written
        self.clocked: list[Keys] = []
        """Where processes are started that get the suite's clock."""
        self.adapt: Callable[[Scenario], Scenario | Misfit | None] = lambda scenario: scenario
        """Gives a scenario as the environment wants it, None where it is left out, or what is wrong with it."""

    def agent(self, form: Any) -> AgentSpec:
        """Read `agent:`."""
        match form:
            case str():
                return AgentSpec(kind="factory", target=form)
            case RecordedForm():
                return AgentSpec(kind="transcripts", files=self._transcripts(form.transcripts))
            case ChatAgentForm():
                return self.chat_agent(form.openai)
            case HttpAgentForm():
                for one in misplaced(self._written.value["agent"]["http"]):
                    self._wrong(("agent", "http", *one.path), one.message, one.hint)
                if (service := getattr(form.http, "serve", None)) is not None:
                    self._service(service, ("agent", "http", "serve"))
                return self.http_agent(form.http, serial=form.serial)
            case FactoryForm():
                return AgentSpec(kind="factory", target=form.factory, **given(form, but=("factory",)))
            case CallableForm():
                return AgentSpec(kind="callable", target=form.callable, serial=form.serial)
        raise TypeError(form)

    def environment(self, form: EnvironmentForm | OfferedForm) -> EnvironmentSpec:
        """Read `environment:`."""
        for name in sorted(set(form.reads) & set(form.writes)):
            self._wrong(("environment", "writes"), f"{name!r} is both in reads and in writes", "keep one of them")
        if isinstance(form, OfferedForm):
            return self._offered(form)
        if isinstance(form.state, SqliteState | JsonState) and not form.user_tools and self._calls_are_made_elsewhere():
            message = "no run changes this state: the agent's service makes the calls itself (`call.result` is mapped)"
            hint = (
                "leave `state` out, and describe the tools in a .json file; `{own: …}` can read what the service keeps"
            )
            self._wrong(("environment", "state"), message, hint)
        return EnvironmentSpec(
            tools=self._tools(form.tools, ("environment", "tools")),
            user_tools=self._tools(form.user_tools, ("environment", "user_tools")),
            state=self._state(form.state) if form.state is not None else None,
            reads=form.reads,
            writes=form.writes,
        )

    def _calls_are_made_elsewhere(self) -> bool:
        agent = self._written.value.get("agent")
        http = agent.get("http") if isinstance(agent, dict) else None
        return isinstance(http, dict) and "result" in (http.get("call") or {})

    def _offered(self, form: OfferedForm) -> EnvironmentSpec:
        """Read an environment that a plugin offers, which has tools and state of its own."""
        written = form.model_extra or {}
        name = OfferedForm.name_in(written)
        named = f"{name}: {written.get(name)}"
        for key in ("tools", "user_tools"):
            if key in written:
                self._wrong(("environment", key), f"{named} brings its own {key}", "keep one of them")
        compared = form.state or Compared()
        for key in sorted(_keys(compared) - {"ignore", "unordered"}):
            hint = f"beside {name}, state takes ignore and unordered"
            self._wrong(("environment", "state", key), f"{named} brings its own state", hint)
        options = {key: one for key, one in written.items() if key not in ("tools", "user_tools")}
        offer, folder = environments()[name], self._beside(("environment",))
        own, wrong = read_form(options, offer.form, ("environment",))
        mine: list[Misfit] = [] if wrong else self._asked(name, lambda: offer.misfits_in(own, folder), [])
        told = wrong or [replace(one, path=("environment", *one.path)) for one in mine]
        self._problems += [self._document.problem(one.path, one.message, one.hint, at_key=one.at_key) for one in told]
        if not told:
            adapted = partial(offer.adapted, own, folder)
            self.adapt = lambda scenario: self._asked(name, lambda: adapted(scenario), None)
        offered = OfferedSpec(name=name, options=options, folder=folder)
        state = StateSpec(
            kind="offered", options=offered.model_dump(), ignore=compared.ignore, unordered=compared.unordered
        )
        return EnvironmentSpec(offered=offered, state=state, reads=form.reads, writes=form.writes)

    def _asked(self, name: str, ask: Callable[[], T], otherwise: T) -> T:
        """Ask a plugin about its environment; note what it raises, once, and go on with `otherwise`."""
        try:
            return ask()
        except CheckError as error:
            told = self._document.problem(
                ("environment", name), str(error), "a mistake of the plugin, not of this file"
            )
            self._problems += [told] if told not in self._problems else []
            return otherwise

    def generate(self, form: RecipeForm) -> GenerateSpec:
        """Read `generate:`; a folder outside the suite's own is refused, since what is written is the suite's."""
        out = (self._root / form.out).resolve()
        if not out.is_relative_to(self._root.resolve()) or out == self._root.resolve():
            written = form.out if "out" in form.model_fields_set else None
            message = f"{written!r} is not a folder below that of the suite"
            self._wrong(("generate", "out"), message, "what is generated belongs to its suite")
        shortest = form.nodes.min or (4 if form.shape == "react" else 6)  # two calls, each with a turn unless react
        self._in_order("nodes", shortest, form.nodes.max)
        if form.levels:
            self._in_order("levels", form.levels.min, form.levels.max)
        for key in ("agents", "chains"):
            if key in form.model_fields_set and form.source != "tools":
                message = f"{key} are made of tools, and the recipe is from policies"
                self._wrong(("generate", key), message, f"write `from: tools`, or leave {key} out")
        of_walks = form.llm or form.source == "policies" or form.shape == "react" or _OF_WALKS & form.model_fields_set
        chains = form.chains if "chains" in form.model_fields_set else "walks" if of_walks else "deeds"
        traces = (self.file(name, ("generate", "traces", n)) for n, name in enumerate(form.traces))
        return GenerateSpec(
            **{name: one for name, one in given(form).items() if name in RecipeKeys.model_fields.keys() - {"chains"}},
            source=form.source,
            chains=chains,
            out=out,
            shortest=shortest,
            longest=form.nodes.max,
            levels=(form.levels.min, form.levels.max) if form.levels else None,
            document=self.file(form.document, ("generate", "document")) if form.document is not None else None,
            complexity=form.complexity,
            traces=tuple(traces),
            agents={name: self.file(file, ("generate", "agents", name)) for name, file in form.agents.items()},
            model=self.generator(form.llm) if form.llm else None,
        )

    def _in_order(self, key: str, least: int, most: int) -> None:
        if least > most:
            self._wrong(("generate", key), f"min is {least}, more than max, which is {most}")

    def _transcripts(self, names: str | tuple[str, ...]) -> tuple[Path, ...]:
        path: Keys = ("agent", "transcripts")
        if isinstance(names, str):
            return tuple(self._matching(names, path))
        files = [file for index, name in enumerate(names) for file in self._matching(name, (*path, index))]
        return tuple(dict.fromkeys(files))

    def _matching(self, name: str, path: Keys) -> list[Path]:
        if "*" not in name:
            return [self.file(name, path)]
        try:
            files = sorted(file for file in self._beside(path).glob(name) if file.is_file())
        except (OSError, ValueError, NotImplementedError, IndexError) as error:
            self._wrong(path, f"{name!r} is not a pattern: {error}")
            return []
        if not files:
            self._wrong(path, f"no file matches {name!r} in {self._beside(path)}")
        self.files |= {Path(os.path.relpath(file, self._root)).as_posix(): file for file in files}
        return files

    def _tools(self, form: Any, path: Keys) -> tuple[ToolsSpec, ...]:
        if form is None:
            return ()
        if isinstance(form, tuple):
            return tuple(self._provider(one, (*path, at)) for at, one in enumerate(form))
        return (self._provider(form, path),)

    def _provider(self, form: Any, path: Keys) -> ToolsSpec:
        match form:
            case PythonTools():
                return ToolsSpec(kind="python", target=form.python, prefix=form.prefix)
            case DescribedTools():
                return ToolsSpec(kind="schema", target=str(self.file(form.file, (*path, "schema"))), prefix=form.prefix)
            case McpTools():
                keys = {**_shared(form, McpSpec), **given(form.mcp), "tools": self._tool_list(form, path)}
                mcp = McpSpec(**keys)
                self._process(mcp.command, mcp.env, (*path, "mcp"))
                return ToolsSpec(kind="mcp", target=mcp.url or " ".join(mcp.command), remote=mcp, prefix=form.prefix)
            case OpenApiTools():
                if not is_web_address(form.openapi):
                    self.file(form.openapi, (*path, "openapi"))
                if form.serve is not None:
                    self._service(form.serve, (*path, "serve"))
                rest = OpenApiSpec(
                    document=form.openapi,
                    tools=self._tool_list(form, path),
                    service=form.serve,
                    **{**_shared(form, OpenApiSpec), "auth": _auth(form.auth)},
                )
                return ToolsSpec(kind="openapi", target=form.openapi, remote=rest, prefix=form.prefix)
        if form.lower().endswith(".json"):
            return ToolsSpec(kind="schema", target=str(self.file(form, path)))
        return ToolsSpec(kind="python", target=form)

    def _service(self, spec: ServiceSpec, path: Keys) -> None:
        """Note a service that nothing tells where to listen, or that every run would start on one port."""
        self._process(spec.command, spec.env, path)
        if is_fixed_address(spec.ready):
            if spec.share == "run":
                message = f"each run starts a service of its own, and all of them would listen at {spec.ready}"
                self._wrong((*path, "share"), message, "write `share: session`")
        elif not any("{port}" in text for text in (*spec.command, *spec.env.values())):
            message = "nothing tells the service where to listen, so nobody could say when it is up"
            hint = "write `{port}` into `command` or `env`; where its port is fixed, the whole address into `ready`"
            self._wrong((*path, "command"), message, hint)

    def _process(self, command: Sequence[str], env: Mapping[str, str], path: Keys) -> None:
        """Note where a process that is started gets the suite's clock."""
        if any("{now}" in text for text in (*command, *env.values())):
            self.clocked.append(path)

    def _tool_list(self, form: OpenApiTools | McpTools, path: Keys) -> Path | None:
        if form.tool_list is None or self._listing:
            return None
        return self.file(
            form.tool_list, (*path, "list"), f"`agentbench tools SUITE -o FILE` writes it; {SUITES_FOLDER}"
        )

    def _state(self, form: Compared) -> StateSpec:
        path = ("environment", "state")
        compared: dict[str, Any] = {"ignore": form.ignore, "unordered": form.unordered}
        match form:
            case SqliteState():
                names = form.sqlite.model_dump(by_alias=True, exclude_unset=True)
                files = {key: str(self.file(name, (*path, "sqlite", key))) for key, name in names.items()}
                return StateSpec(kind="sqlite", options=files, **compared)
            case JsonState():
                return StateSpec(kind="json", options={"file": str(self.file(form.file, (*path, "json")))}, **compared)
            case ToldState():
                return StateSpec(kind="tools", options={"tools": list(form.tools)}, **compared)
            case OwnState():
                return StateSpec(kind="own", options={"own": form.own, **(form.model_extra or {})}, **compared)
            case PluginState():
                return StateSpec(kind="plugin", options={"plugin": form.plugin, **(form.model_extra or {})}, **compared)
        self._wrong(path, "the state has no sqlite, json, own or plugin", "name where the state comes from")
        return StateSpec(kind="own", **compared)


def _keys(form: Compared) -> set[str]:
    """Give the keys of a form as its file has them."""
    names = {name: key for key, name in type(form).keys().items()}
    return {names.get(name, name) for name in form.model_fields_set}


def _shared(form: Any, kind: type[OpenApiSpec] | type[McpSpec]) -> dict[str, Any]:
    """Give what a provider says in the words of its spec."""
    return {name: one for name, one in given(form).items() if name in kind.model_fields}


def _auth(form: Any) -> AuthSpec | None:
    match form:
        case Bearer():
            return AuthSpec(kind="bearer", value=form.bearer)
        case Basic():
            return AuthSpec(kind="basic", user=form.basic.user, value=form.basic.password)
        case ApiKey(api_key=key):
            ((place, name),) = given(key, but=("value",)).items()
            return AuthSpec.model_validate({"kind": "api_key", "value": key.value, "place": place, "name": name})
        case ClientCredentials(client_credentials=told):
            return AuthSpec(
                kind="client_credentials",
                user=told.client_id,
                value=told.client_secret,
                token_url=told.token_url,
                scope=told.scope,
            )
    return None
