"""Who plays what in a suite file: the agent, the simulated user, the judge, and the models behind them."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from pytest_agentbench.core.model import Price, Reach
from pytest_agentbench.core.remote import ServiceSpec
from pytest_agentbench.core.suite import CassetteKeys, ChatKeys, JudgeKeys, Posted, UserKeys
from pytest_agentbench.core.written import (
    Address,
    Choice,
    FileName,
    Filled,
    Flag,
    Holds,
    ImportPath,
    Number,
    OneOf,
    Says,
    Text,
    Written,
)

_Serial = Annotated[Flag, Says("true: runs of this agent never overlap")]


class ModelForm(Reach):
    """A model; what is left out comes from the suite's `llm`."""

    model: Annotated[Filled, Says("the name of a model, as in openai:NAME")] | None = None
    """`PROVIDER:NAME`, or the bare name; without it, that of the suite's `llm`."""


class FactoryForm(Written):
    """An agent that a factory builds, once per run."""

    expected: ClassVar[str] = "{factory: package.module:name}"

    factory: ImportPath
    """The import path of the factory."""
    serial: _Serial = False
    """Whether runs of this agent never overlap."""
    upstream: Annotated[Address, Says("the address of the model server that the factory's base_url leads to")] = ""
    """The address of the model server that the factory's `base_url` leads to."""
    price: Price | None = None
    """What tokens of its model cost."""


class CallableForm(Written):
    """An agent that is a plain reply function."""

    expected: ClassVar[str] = "{callable: package.module:name}"

    callable: ImportPath
    """The import path of the function."""
    serial: _Serial = False
    """Whether runs of this agent never overlap."""


class ChatForm(ModelForm, ChatKeys):
    """A chat model as the agent."""

    expected: ClassVar[str] = "a mapping such as {model: …, system: …}"

    system: Annotated[Text, Says("the system prompt")] = ""
    """The system prompt."""
    system_file: Annotated[FileName, Says("a file that holds the system prompt")] | None = None
    """A file that holds the system prompt."""


class ChatAgentForm(Written):
    """A chat model with the tools of the environment."""

    expected: ClassVar[str] = "{openai: {model: …, system: …}}"

    openai: ChatForm
    """The model and its prompt."""


_BESIDE = {"serial": "it stands beside `http`: `agent: {http: …, serial: true}`"}


class EndpointForm(Posted):
    """An agent behind an address."""

    expected: ClassVar[str] = "a mapping such as {url: …, body: …, reply: …}"
    instead: ClassVar[dict[str, str]] = _BESIDE

    url: Address
    """Where a turn is posted to; `{port}` is where `serve` listens."""
    serve: ServiceSpec | None = None
    """The agent's service, started for the runs."""


class AppForm(Posted):
    """An ASGI app that is played in this process."""

    expected: ClassVar[str] = "a mapping such as {app: package.module:name, url: /chat, reply: …}"
    instead: ClassVar[dict[str, str]] = _BESIDE

    app: ImportPath
    """The import path of the app."""
    factory: Annotated[Flag, Says("true: calling `app` gives the app")] = False
    """Whether calling `app` gives the app."""
    url: Annotated[
        str,
        Field(pattern=r"^(https?:/)?/\S*\Z"),
        Says("a path such as /chat, or an address such as https://host/chat"),
    ] = "/"
    """The path of the app that a turn is posted to."""


class HttpAgentForm(Written):
    """An agent behind HTTP."""

    expected: ClassVar[str] = "{http: {url: …}} or {http: {app: …}}"

    http: Annotated[
        EndpointForm | AppForm,
        OneOf("{url: …}, an endpoint, or {app: package.module:name}, an ASGI app that is played in this process"),
    ]
    """The endpoint, or the app."""
    serial: _Serial = False
    """Whether runs of this agent never overlap."""


class RecordedForm(Written):
    """Recorded conversations, which are scored without running anything."""

    expected: ClassVar[str] = "{transcripts: runs.jsonl}"

    transcripts: Annotated[
        FileName | Annotated[tuple[FileName, ...], Holds("a list of files", 1)],
        OneOf("a file of recorded conversations, or a list of files"),
    ]
    """A file or pattern, or a list of these."""


AgentForm = Annotated[
    ImportPath | FactoryForm | CallableForm | ChatAgentForm | HttpAgentForm | RecordedForm,
    OneOf(
        "an import path such as package.module:name, {factory: …}, {callable: …}, {openai: …}, {http: …} "
        "or {transcripts: …}"
    ),
]
"""`agent` of a suite."""

_SCRIPTED = "a scripted user has no modifiers and no critique: write `user: scripted`, or `llm` beside them"


class PlayedUserForm(UserKeys):
    """A simulated user that a model plays."""

    expected: ClassVar[str] = "{llm: {model: …}, modifiers: […], critique: 2}"
    instead: ClassVar[dict[str, str]] = {"llm": _SCRIPTED, "scripted": _SCRIPTED}

    llm: ModelForm
    """The model."""


UserForm = Annotated[
    Annotated[Literal["scripted", "llm"], Choice("scripted or llm")] | PlayedUserForm,
    OneOf("the simulated user: scripted, llm, or {llm: {model: …}}"),
]
"""`user` of a suite."""

_Figures = Annotated[Filled, Says("a file of `agentbench calibrate --json`")]


class CalibrationForm(Written):
    """The figures that a judge must have."""

    expected: ClassVar[str] = "{file: FILE, kappa: 0.6}"

    file: _Figures
    """A file that `agentbench calibrate --json` wrote."""
    kappa: Annotated[Number, Field(ge=-1, le=1), Says("the least kappa, from -1 to 1")] | None = None
    """The least kappa, from -1 to 1."""


class JudgeForm(JudgeKeys):
    """The model that judges rubrics, audits and endings."""

    expected: ClassVar[str] = "{llm: {model: …}, votes: 1}"

    llm: ModelForm
    """The model."""
    calibration: (
        Annotated[
            _Figures | CalibrationForm,
            OneOf("the path of a file that `agentbench calibrate --json` wrote, or {file: …, kappa: …}"),
        ]
        | None
    ) = None
    """The figures that it must have before it judges: a file of `agentbench calibrate`, or `{file: …, kappa: 0.6}`."""


class CassetteForm(CassetteKeys):
    """Where model calls are recorded, and how requests are compared."""

    file: Annotated[FileName, Says("the file that model calls are recorded in")] | None = None
    """The file that model calls are recorded in; without it, one beside the suite file."""
