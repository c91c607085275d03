"""The parts of a suite file that say which models play which role, and how they are reached."""

from collections.abc import Callable
from pathlib import Path
from typing import cast

from pytest_agentbench.core.errors import Problem
from pytest_agentbench.core.misfit import Keys
from pytest_agentbench.core.model import ModelSpec, Price
from pytest_agentbench.core.providers import PYDANTIC_AI, REACHED_ELSEWHERE, inherited, misspelt, reached
from pytest_agentbench.core.suite import (
    AgentSpec,
    AuditorMode,
    CalibrationSpec,
    CassetteSpec,
    HttpAgentSpec,
    JudgeSpec,
    OpenAIAgentSpec,
    UserSpec,
)
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.suites.document import Document

Form = dict[str, JsonValue]

_AGENTS_OWN = ("system", "system_file", "rounds")
"""What a chat agent has beside its model."""


class ModelReader:
    """Reads roles that fit the schema; each takes from the suite's `llm` what it does not say itself."""

    def __init__(
        self, document: Document, root: Path, problems: list[Problem], common: Form, file: Callable[[str, Keys], Path]
    ) -> None:
        """Read parts of `document`; `file` gives the path of a file that a key names and notes when there is none."""
        self._document = document
        self._root = root
        self._problems = problems
        self._common = common
        self._file = file

    def user(self, form: JsonValue) -> UserSpec:
        """Read `user:`."""
        if form is None or form == "scripted":
            return UserSpec()
        if form == "llm":
            return UserSpec(kind="llm", model=self._model({}, ("user",)))
        critique = form.get("critique", 0)
        if critique and not self._has_judge:
            message = "a model has to say whether a conversation is over, and the suite has no judge"
            self._wrong(("user", "critique"), message, "add `judge: {llm: {model: …}}`, or leave `critique` out")
        return UserSpec(
            kind="llm",
            model=self._model(form["llm"], ("user", "llm")),
            modifiers=tuple(form.get("modifiers", ())),
            critique=critique,
        )

    def chat_agent(self, form: Form) -> AgentSpec:
        """Read `agent: {openai: …}`."""
        path = ("agent", "openai")
        spec = self._model({key: value for key, value in form.items() if key not in _AGENTS_OWN}, path)
        if "system" in form and "system_file" in form:
            self._wrong((*path, "system_file"), "'system' and 'system_file' both stand here", "keep one of them")
        system = form.get("system", "")
        if "system_file" in form:
            system = self._text(form["system_file"], (*path, "system_file"))
        rounds = {"rounds": form["rounds"]} if "rounds" in form else {}
        target = f"{spec.provider or 'openai'}:{spec.model.removeprefix(f'{spec.provider}:')}"
        return AgentSpec(kind="openai", target=target, openai=OpenAIAgentSpec(model=spec, system=system, **rounds))

    def http_agent(self, form: Form, *, serial: bool) -> AgentSpec:
        """Read `agent: {http: …}`."""
        spec = HttpAgentSpec.model_validate(form)
        return AgentSpec(kind="http", target=spec.app or spec.url, serial=serial, http=spec)

    def judge(self, form: Form | None) -> JudgeSpec | None:
        """Read `judge:`."""
        if form is None:
            return None
        asked = form.get("calibration")
        asked = {"file": asked} if isinstance(asked, str) else asked
        beside = self._document.file_of(("judge", "calibration")).parent
        return JudgeSpec(
            model=self._model(form["llm"], ("judge", "llm")),
            votes=form.get("votes", 1),
            sees=form.get("sees", "goal"),
            notes=form.get("notes", False),
            calibration=CalibrationSpec(file=beside / asked["file"], kappa=asked.get("kappa")) if asked else None,
        )

    def auditor(self, form: JsonValue) -> AuditorMode | None:
        """Read `auditor:`, which needs the model of a judge unless it is off."""
        if form in ("flags", "decide") and not self._has_judge:
            message = f"{form!r} needs a model to ask, and the suite has no judge"
            self._wrong(("auditor",), message, "add `judge: {llm: {model: …}}`")
        return cast("AuditorMode | None", form)

    @property
    def _has_judge(self) -> bool:
        return bool(isinstance(self._document.value, dict) and self._document.value.get("judge"))

    def generator(self, form: Form) -> ModelSpec:
        """Read `generate.llm`."""
        return self._model(form, ("generate", "llm"))

    def cassette(self, form: Form) -> CassetteSpec:
        """Read `cassette:`."""
        file = self._root / form["file"] if "file" in form else None
        ignore, unrecorded = tuple(form.get("ignore", ())), form.get("unrecorded", "fail")
        return CassetteSpec(file=file, ignore=ignore, unrecorded=unrecorded)

    def _model(self, form: Form, path: Keys) -> ModelSpec:
        given = self._merged(form, path)
        if "model" not in given:
            self._wrong(path, "the key 'model' is missing", "name a model here or in the suite's `llm`")
        if "price" in given:
            given["price"] = Price.model_validate(given["price"])
        key = given.get("api_key", "")
        if key.startswith("${") and key.endswith("}"):  # not set: only a live call needs it
            given |= {"api_key": "", "api_key_env": key[2:-1]}
        return ModelSpec.model_validate({"model": "", **given})

    def _merged(self, form: Form, path: Keys) -> Form:
        """Give what a part says over what it takes from the suite's `llm`, names taken apart."""
        common = self._common
        transport = form.get("transport") or common.get("transport") or "direct"
        has_server = "base_url" in common or "base_url" in form
        for part, place in ((form, path), (common, ("llm",))):
            if transport == PYDANTIC_AI:
                self._check_reach(part, place, is_own=part is form or "transport" in common)
            elif not has_server:
                self._check_name(part, place)
        shared = reached({**common, "transport": transport})
        own = reached({**form, "transport": transport}, has_server="base_url" in common)
        kept = {**inherited(shared, own), **own}
        return kept if "transport" in {*form, *common} else {key: kept[key] for key in kept if key != "transport"}

    def _check_name(self, part: Form, path: Keys) -> None:
        """Note a name that seems to mean a provider and names none."""
        if wrong := misspelt(str(part.get("model", ""))):
            message, hint = wrong
            self._wrong((*path, "model"), message, hint or "name the model, too: PROVIDER:NAME")

    def _check_reach(self, part: Form, path: Keys, *, is_own: bool) -> None:
        """Note what a transport that finds its server by itself does not take; what is not its own it leaves alone."""
        for key in REACHED_ELSEWHERE:
            if is_own and key in part:
                hint = "it takes servers and keys from the environment: set the variables of the provider"
                self._wrong((*path, key), f"transport: {PYDANTIC_AI} takes no {key}", hint)

    def _text(self, name: str, path: Keys) -> str:
        file = self._file(name, path)
        try:
            return file.read_text(encoding="utf-8") if file.is_file() else ""
        except (OSError, ValueError) as error:
            self._wrong(path, f"{name!r} cannot be read: {getattr(error, 'strerror', None) or error}")
            return ""

    def _wrong(self, path: Keys, message: str, hint: str = "") -> None:
        problem = self._document.problem(path, message, hint)
        if problem not in self._problems:  # what all roles share is read for each
            self._problems.append(problem)
