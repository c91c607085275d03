"""The parts of a suite file that say where agent, tools and state come from."""

import os
from pathlib import Path
from typing import Any, Literal

from pytest_agentbench.core.errors import Problem
from pytest_agentbench.core.misfit import Keys
from pytest_agentbench.core.model import Price
from pytest_agentbench.core.placeholders import misplaced
from pytest_agentbench.core.suite import AgentSpec, EnvironmentSpec, GenerateSpec, StateSpec, Tau2Spec, ToolsSpec
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.suites.document import Document
from pytest_agentbench.suites.models_form import ModelReader
from pytest_agentbench.suites.remote_form import remote_tools


class PartReader:
    """Reads parts that fit the schema, notes what else is wrong, and the files they name (`files`)."""

    def __init__(self, document: Document, root: Path, problems: list[Problem], written: Document) -> None:
        """Read parts of `document`; `written` is the same with its `${VAR}`s in place."""
        self._document = document
        self._written = written
        self._root = root
        self._problems = problems
        self.files: dict[str, Path] = {}
        form = document.value if isinstance(document.value, dict) else {}
        common = form.get("llm")
        self.models = ModelReader(document, root, problems, common if isinstance(common, dict) else {}, self.file)

    def agent(self, form: JsonValue) -> AgentSpec:
        """Read `agent:`."""
        if isinstance(form, str):
            return AgentSpec(kind="factory", target=form)
        if "transcripts" in form:
            return AgentSpec(kind="transcripts", files=self._transcripts(form["transcripts"]))
        if "openai" in form:
            return self.models.chat_agent(form["openai"])
        serial = form.get("serial", False)
        if "http" in form:
            for one in misplaced(self._written.value["agent"]["http"]):
                self._wrong(("agent", "http", *one.path), one.message, one.hint)
            return self.models.http_agent(form["http"], serial=serial)
        if "factory" in form:
            price = Price.model_validate(form["price"]) if "price" in form else None
            target, upstream = form["factory"], form.get("upstream", "")
            return AgentSpec(kind="factory", target=target, serial=serial, upstream=upstream, price=price)
        return AgentSpec(kind="callable", target=form["callable"], serial=serial)

    def environment(self, form: dict[str, JsonValue]) -> EnvironmentSpec:
        """Read `environment:`."""
        reads, writes = tuple(form.get("reads", ())), tuple(form.get("writes", ()))
        for name in sorted(set(reads) & set(writes)):
            self._wrong(("environment", "writes"), f"{name!r} stands in reads and in writes", "keep one of them")
        if "tau2" in form or "checkout" in form:
            return self._tau2(form, reads, writes)
        return EnvironmentSpec(
            tools=self._tools(form.get("tools"), ("environment", "tools")),
            user_tools=self._tools(form.get("user_tools"), ("environment", "user_tools")),
            state=self._state(form["state"]) if "state" in form else None,
            reads=reads,
            writes=writes,
        )

    def _tau2(self, form: dict[str, JsonValue], reads: tuple[str, ...], writes: tuple[str, ...]) -> EnvironmentSpec:
        """Read an environment that is a τ² domain, which has tools and state of its own."""
        if "tau2" not in form:
            self._wrong(("environment", "checkout"), "checkout stands beside tau2", "write tau2: DOMAIN")
            return EnvironmentSpec()
        for key in ("tools", "user_tools"):
            if key in form:
                self._wrong(("environment", key), f"tau2: {form['tau2']} brings its own {key}", "keep one of them")
        compared = form.get("state", {})
        for key in sorted({*compared} - {"ignore", "unordered"}):
            message = f"tau2: {form['tau2']} brings its own state"
            self._wrong(("environment", "state", key), message, "beside tau2, state takes ignore and unordered")
        checkout = self._folder(form["checkout"], ("environment", "checkout")) if "checkout" in form else None
        options = {"domain": form["tau2"], "checkout": str(checkout) if checkout else None}
        state = StateSpec(kind="tau2", options=options, **_compared(compared))
        tau2 = Tau2Spec(domain=form["tau2"], checkout=checkout)
        return EnvironmentSpec(tau2=tau2, state=state, reads=reads, writes=writes)

    def _folder(self, name: str, path: Keys) -> Path:
        folder = self._beside(path) / name
        if not folder.is_dir():
            hint = "paths are relative to the suite's folder"
            self._wrong(path, f"there is no folder {name!r} in {self._beside(path)}", hint)
        return folder

    def _beside(self, path: Keys) -> Path:
        """Give the folder that paths at `path` are seen from: that of the file in which they are written."""
        return self._document.file_of(path).parent

    def generate(self, form: dict[str, JsonValue]) -> GenerateSpec:
        """Read `generate:`; a folder outside the suite's own is refused, since what is written is the suite's."""
        out = (self._root / form.get("out", "generated")).resolve()
        if not out.is_relative_to(self._root.resolve()) or out == self._root.resolve():
            message = f"{form.get('out')!r} is not a folder below that of the suite"
            self._wrong(("generate", "out"), message, "what is generated belongs to its suite")
        shortest = 4 if form.get("shape") == "react" else 6  # two calls, each with a turn of the user unless react
        nodes = {"min": shortest, "max": 25, **form.get("nodes", {})}
        if nodes["min"] > nodes["max"]:
            self._wrong(("generate", "nodes"), f"min is {nodes['min']}, more than max, which is {nodes['max']}")
        levels = {"min": 2, "max": 11, **form.get("levels", {})}
        if levels["min"] > levels["max"]:
            self._wrong(("generate", "levels"), f"min is {levels['min']}, more than max, which is {levels['max']}")
        read = ("from", "out", "nodes", "levels", "document", "llm", "traces", "complexity", "agents")
        given = {key: form[key] for key in form if key not in read}
        for key in ("agents", "chains"):
            if key in form and form["from"] != "tools":
                message = f"{key} are made of tools, and the recipe is from policies"
                self._wrong(("generate", key), message, f"write `from: tools`, or leave {key} out")
        return GenerateSpec(
            **given,
            source=form["from"],
            out=out,
            shortest=nodes["min"],
            longest=nodes["max"],
            levels=(levels["min"], levels["max"]) if "levels" in form else None,
            document=self.file(form["document"], ("generate", "document")) if "document" in form else None,
            complexity={str(key): float(share) for key, share in form.get("complexity", {}).items()},
            traces=tuple(self.file(name, ("generate", "traces", n)) for n, name in enumerate(form.get("traces", ()))),
            agents={
                name: self.file(file, ("generate", "agents", name)) for name, file in form.get("agents", {}).items()
            },
            model=self.models.generator(form["llm"]) if "llm" in form else None,
        )

    def file(self, name: str, path: Keys) -> Path:
        """Give the file that a key names, seen from the folder of its file; note it when it is not there."""
        folder = self._beside(path)
        file = folder / name
        try:
            if file.is_file():
                self.files[name if folder == self._root else os.path.relpath(file, self._root)] = file
            else:
                hint = "paths are relative to the suite's folder"
                self._wrong(path, f"there is no file {name!r} in {folder}", hint)
        except (OSError, ValueError) as error:
            self._wrong(path, f"{name!r} is not a path: {error}")
        return file

    def _transcripts(self, form: JsonValue) -> tuple[Path, ...]:
        if isinstance(form, str):
            return tuple(self._matching(form, ("agent", "transcripts")))
        files = [
            file for index, name in enumerate(form) for file in self._matching(name, ("agent", "transcripts", index))
        ]
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

    def _tools(self, form: JsonValue, path: Keys) -> tuple[ToolsSpec, ...]:
        if form is None:
            return ()
        if isinstance(form, list):
            return tuple(self._provider(one, (*path, at)) for at, one in enumerate(form))
        return (self._provider(form, path),)

    def _provider(self, form: JsonValue, path: Keys) -> ToolsSpec:
        prefix = form.get("prefix", "") if isinstance(form, dict) else ""
        if isinstance(form, dict) and "python" in form:
            return ToolsSpec(kind="python", target=form["python"], prefix=prefix)
        if isinstance(form, dict) and ("openapi" in form or "mcp" in form):
            return remote_tools(form, path, self.file).model_copy(update={"prefix": prefix})
        if isinstance(form, dict):
            target = str(self.file(form["schema"], (*path, "schema")))
            return ToolsSpec(kind="schema", target=target, prefix=prefix)
        if form.lower().endswith(".json"):
            return ToolsSpec(kind="schema", target=str(self.file(form, path)))
        return ToolsSpec(kind="python", target=form)

    def _state(self, form: dict[str, JsonValue]) -> StateSpec:
        path = ("environment", "state")
        compared = _compared(form)
        if "sqlite" in form:
            names: dict[str, Any] = form["sqlite"]
            files = {key: str(self.file(name, (*path, "sqlite", key))) for key, name in names.items()}
            return StateSpec(kind="sqlite", options=files, **compared)
        if "json" in form:
            file = self.file(form["json"], (*path, "json"))
            return StateSpec(kind="json", options={"file": str(file)}, **compared)
        if "tools" in form:
            return StateSpec(kind="tools", options={"tools": form["tools"]}, **compared)
        if not form.keys() & {"own", "plugin"}:
            self._wrong(path, "the state has no sqlite, json, own or plugin", "name where the state comes from")
        kind: Literal["plugin", "own"] = "plugin" if "plugin" in form else "own"
        return StateSpec(kind=kind, options={key: form[key] for key in form if key not in compared}, **compared)

    def _wrong(self, path: Keys, message: str, hint: str = "") -> None:
        self._problems.append(self._document.problem(path, message, hint))


def _compared(form: dict[str, JsonValue]) -> dict[str, tuple[str, ...]]:
    """Give how states are compared."""
    return {key: tuple(form.get(key, ())) for key in ("ignore", "unordered")}
