"""Which models play which role in a suite: what a role does not say of its model, the suite's `llm` says."""

import os
from pathlib import Path
from typing import Any

from pytest_agentbench.core.errors import Problem
from pytest_agentbench.core.file_models import Written
from pytest_agentbench.core.misfit import Keys
from pytest_agentbench.core.model import ModelSpec
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
from pytest_agentbench.spec.document import Document
from pytest_agentbench.spec.suite import (
    AppForm,
    CalibrationForm,
    CassetteForm,
    ChatForm,
    EndpointForm,
    JudgeForm,
    ModelForm,
    PlayedUserForm,
)

SUITES_FOLDER = "paths are relative to the suite's folder"


def given(form: Written, *, but: tuple[str, ...] = ()) -> dict[str, Any]:
    """Give the keys that a form says, but for some, with their values as they are."""
    return {name: getattr(form, name) for name in form.model_fields_set if name not in but}


class RoleReader:
    """Reads roles, and the files that a suite names; each role takes from its `llm` what it does not say itself."""

    def __init__(self, document: Document, root: Path, problems: list[Problem], common: ModelForm | None) -> None:
        """Read parts of `document`; `common` is the suite's `llm`."""
        self._document = document
        self._root = root
        self._problems = problems
        self._common = given(common) if common else {}
        self.files: dict[str, Path] = {}

    def file(self, name: str, path: Keys, hint: str = SUITES_FOLDER) -> Path:
        """Give the file that a key names, seen from the folder of its file; note, with a hint, that it is not there."""
        folder = self._beside(path)
        file = folder / name
        try:
            if file.is_file():
                self.files[name if folder == self._root else os.path.relpath(file, self._root)] = file
            else:
                self._wrong(path, f"there is no file {name!r} in {folder}", hint)
        except (OSError, ValueError) as error:
            self._wrong(path, f"{name!r} is not a path: {error}")
        return file

    def _beside(self, path: Keys) -> Path:
        """Give the folder that paths at `path` are seen from: that of the file in which they are written."""
        return self._document.file_of(path).parent

    def user(self, form: str | PlayedUserForm) -> UserSpec:
        """Read `user:`."""
        if form == "llm":
            return UserSpec(kind="llm", model=self._model(ModelForm(), ("user",)))
        if isinstance(form, str):
            return UserSpec()
        if form.critique and not self._has_judge:
            message = "a model has to say whether a conversation is over, and the suite has no judge"
            self._wrong(("user", "critique"), message, "add `judge: {llm: {model: …}}`, or leave `critique` out")
        return UserSpec(kind="llm", model=self._model(form.llm, ("user", "llm")), **given(form, but=("llm",)))

    def chat_agent(self, form: ChatForm) -> AgentSpec:
        """Read `agent: {openai: …}`."""
        path = ("agent", "openai")
        spec = self._model(form, path, but=("system", "system_file", "rounds"))
        system = form.system
        if form.system_file is not None:
            if "system" in form.model_fields_set:
                self._wrong((*path, "system_file"), "'system' and 'system_file' are both given", "keep one of them")
            system = self._text(form.system_file, (*path, "system_file"))
        target = f"{spec.provider or 'openai'}:{spec.model.removeprefix(f'{spec.provider}:')}"
        chat = OpenAIAgentSpec(model=spec, system=system, rounds=form.rounds)
        return AgentSpec(kind="openai", target=target, openai=chat)

    def http_agent(self, form: EndpointForm | AppForm, *, serial: bool) -> AgentSpec:
        """Read `agent: {http: …}`."""
        spec = HttpAgentSpec(**given(form))
        return AgentSpec(kind="http", target=spec.app or spec.url, serial=serial, http=spec)

    def judge(self, form: JudgeForm | None) -> JudgeSpec | None:
        """Read `judge:`."""
        if form is None:
            return None
        asked = form.calibration
        asked = CalibrationForm(file=asked) if isinstance(asked, str) else asked
        folder = self._beside(("judge", "calibration"))
        return JudgeSpec(
            model=self._model(form.llm, ("judge", "llm")),
            calibration=CalibrationSpec(file=folder / asked.file, kappa=asked.kappa) if asked else None,
            **given(form, but=("llm", "calibration")),
        )

    def auditor(self, mode: AuditorMode | None) -> AuditorMode | None:
        """Read `auditor:`, which needs the model of a judge unless it is off."""
        if mode in ("flags", "decide") and not self._has_judge:
            message = f"{mode!r} needs a model to ask, and the suite has no judge"
            self._wrong(("auditor",), message, "add `judge: {llm: {model: …}}`")
        return mode

    @property
    def _has_judge(self) -> bool:
        return bool(isinstance(self._document.value, dict) and self._document.value.get("judge"))

    def generator(self, form: ModelForm) -> ModelSpec:
        """Read `generate.llm`."""
        return self._model(form, ("generate", "llm"))

    def cassette(self, form: CassetteForm) -> CassetteSpec:
        """Read `cassette:`."""
        file = self._root / form.file if form.file is not None else None
        return CassetteSpec(file=file, ignore=form.ignore, unrecorded=form.unrecorded)

    def _model(self, form: ModelForm, path: Keys, *, but: tuple[str, ...] = ()) -> ModelSpec:
        found = self._merged(given(form, but=but), path)
        if "model" not in found:
            self._wrong(path, "the key 'model' is missing", "name a model here or in the suite's `llm`")
        key = found.get("api_key", "")
        if key.startswith("${") and key.endswith("}"):  # not set: only a live call needs it
            found |= {"api_key": "", "api_key_env": key[2:-1]}
        return ModelSpec.model_validate({"model": "", **found})

    def _merged(self, own: dict[str, Any], path: Keys) -> dict[str, Any]:
        """Give what a part says over what it takes from the suite's `llm`, names taken apart."""
        common = self._common
        transport = own.get("transport") or common.get("transport") or "direct"
        has_server = "base_url" in common or "base_url" in own
        for part, place in ((own, path), (common, ("llm",))):
            if transport == PYDANTIC_AI:
                self._check_reach(part, place, is_own=part is own or "transport" in common)
            elif not has_server and (wrong := misspelt(str(part.get("model", "")))):
                message, hint = wrong
                self._wrong((*place, "model"), message, hint or "name the model, too: PROVIDER:NAME")
        shared = reached({**common, "transport": transport})
        apart = reached({**own, "transport": transport}, has_server="base_url" in common)
        kept = {**inherited(shared, apart), **apart}
        return kept if "transport" in {*own, *common} else {key: kept[key] for key in kept if key != "transport"}

    def _check_reach(self, part: dict[str, Any], path: Keys, *, is_own: bool) -> None:
        """Note what a transport that finds its server by itself does not take; what is not its own it leaves alone."""
        for key in REACHED_ELSEWHERE:
            if is_own and key in part:
                hint = "it takes servers and keys from the environment: set the variables of the provider"
                self._wrong((*path, key), f"transport: {PYDANTIC_AI} takes no {key}", hint)

    def _text(self, name: str, path: Keys) -> str:
        file = self.file(name, path)
        try:
            return file.read_text(encoding="utf-8") if file.is_file() else ""
        except (OSError, ValueError) as error:
            self._wrong(path, f"{name!r} cannot be read: {getattr(error, 'strerror', None) or error}")
            return ""

    def _wrong(self, path: Keys, message: str, hint: str = "") -> None:
        problem = self._document.problem(path, message, hint)
        if problem not in self._problems:  # what all roles share is read for each
            self._problems.append(problem)
