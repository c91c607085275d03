"""`agentbench init`: what it is pointed at, what it writes, and what it never replaces."""

import json
import re
import shlex
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import cast

import pytest
import yaml

from pytest_agentbench.cli import COMMANDS, main
from pytest_agentbench.cli.init import SKILL
from pytest_agentbench.suites.suite_file import load_suite

FACTORY = """
def build():
    def reply(message):
        return [
            {"role": "assistant", "tool_calls": [{"name": "look", "arguments": {"said": message}}]},
            {"role": "tool", "content": "found"},
            {"role": "assistant", "content": f"You said {message}"},
        ]
    return reply
"""

_NUMBERS = count(1)

Init = Callable[..., tuple[int, str]]
InstalledFrom = Callable[[dict[str, object] | None], None]


@pytest.fixture
def name() -> str:
    """Name a module as no other test does, since modules of one name cannot be imported twice."""
    return f"init_agent_{next(_NUMBERS)}"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the current folder, an empty repository."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def init(project: Path, capsys: pytest.CaptureFixture[str]) -> Init:
    """Give the command; it gives its exit status and what it printed."""

    def run(*arguments: str) -> tuple[int, str]:
        status = main(["init", *arguments])
        printed = capsys.readouterr()
        return status, printed.out + printed.err

    return run


@pytest.fixture
def installed_from(project: Path, monkeypatch: pytest.MonkeyPatch) -> InstalledFrom:
    """Give a function that lets this package be installed as its record (PEP 610) says, or from an index."""

    def record(origin: dict[str, object] | None) -> None:
        folder = project / ".installed" / "pytest_agentbench-0.1.0.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: pytest-agentbench\nVersion: 0.1.0\n")
        if origin is not None:
            text = json.dumps(origin).replace("{here}", project.resolve().as_uri())
            (folder / "direct_url.json").write_text(text)
        monkeypatch.syspath_prepend(folder.parent)

    return record


def test_a_suite_a_scenario_and_a_job_are_written(project: Path, name: str, init: Init) -> None:
    """The suite loads, its line is what was asked for, and the calls that were made are a suggestion only."""
    (project / f"{name}.py").write_text(FACTORY)

    status, printed = init(f"{name}.py:build", "--say", "Where is ${W1}?")

    suite = load_suite(project / "agentbench.yaml", environ={})
    job = yaml.safe_load((project / ".github/workflows/agentbench.yml").read_text())
    assert status == 0
    assert suite.agent.target == f"{name}:build"
    assert [scenario.lines for scenario in suite.scenarios] == [("Where is ${W1}?",)]
    assert '    #   - {"look": {"said": "Where is $${W1}?"}}' in (project / "agentbench.yaml").read_text()
    assert (project / "agentbench.schema.json").is_file()
    commands = [str(step.get("run")) for step in job["jobs"]["scenarios"]["steps"]]
    assert any("pytest --rootdir . --agentbench agentbench.yaml" in command for command in commands)
    assert "agentbench report --complete" in commands
    assert f"{name}:build is a factory" in printed
    assert "visible; this turn made 1: look" in printed
    assert printed.endswith("  agentbench doctor agentbench.yaml\n  pytest --agentbench agentbench.yaml\n")


@pytest.mark.parametrize(
    ("head", "branch"),
    [("ref: refs/heads/trunk/next\n", "trunk/next"), ("0f3c\n", "main"), ("ref: refs/heads/a b: c", "main")],
)
def test_the_job_runs_on_pushes_to_the_branch_that_is_there(
    project: Path, name: str, init: Init, head: str, branch: str
) -> None:
    """A repository whose branch is not `main` has its pushes tested, too."""
    (project / f"{name}.py").write_text(FACTORY)
    (project / ".git" / "HEAD").write_text(head)

    init(f"{name}:build")

    workflow = yaml.safe_load((project / ".github/workflows/agentbench.yml").read_text())
    assert workflow[True]["push"]["branches"] == [branch]


@pytest.mark.parametrize(
    ("origin", "installed"),
    [
        (None, "pytest-agentbench"),
        (
            {"url": "https://secret@example.org/a.git", "vcs_info": {"vcs": "git", "commit_id": "0f3c"}},
            "pytest-agentbench @ git+https://example.org/a.git@0f3c",
        ),
        (
            {"url": "https://example.org/a.zip", "archive_info": {}, "subdirectory": "lib"},
            "pytest-agentbench @ https://example.org/a.zip#subdirectory=lib",
        ),
        ({"url": "{here}/wheels/a%20b.whl", "archive_info": {}}, "./wheels/a b.whl"),
        ({"url": "file:///elsewhere/ours", "dir_info": {"editable": True}}, "-e /elsewhere/ours"),
    ],
)
def test_the_job_installs_what_is_installed_here(
    name: str, init: Init, installed_from: InstalledFrom, origin: dict[str, object] | None, installed: str
) -> None:
    """An index, a repository without its token, an address or a path; a path that a job does not have is said."""
    Path(f"{name}.py").write_text(FACTORY)
    installed_from(origin)

    init(f"{name}:build")

    written = Path(".github/workflows/agentbench.yml").read_text()
    commands = [str(step.get("run")) for step in yaml.safe_load(written)["jobs"]["scenarios"]["steps"]]
    (words,) = [shlex.split(command) for command in commands if command.startswith("pip install")]
    assert " ".join(words) == f"pip install {installed}"
    assert ("from a folder that a job does not have" in written) is ("elsewhere" in installed)


def test_instructions_for_coding_agents_are_written_alone(project: Path, init: Init) -> None:
    """They go where coding agents look, replace no other text, and need no agent."""
    file = project / ".claude/skills/pytest-agentbench/SKILL.md"

    assert init("--skill") == (0, "wrote .claude/skills/pytest-agentbench/SKILL.md\n")
    assert init("--skill")[0] == 0
    assert [path.name for path in project.iterdir() if path.name != ".git"] == [".claude"]

    file.write_text("something else")
    status, told = init("--skill")
    assert (status, "is there already and differs; --force replaces it" in told) == (2, True)
    assert init("--skill", "--force")[0] == 0
    assert file.read_text(encoding="utf-8") == SKILL.read_text(encoding="utf-8")


def test_the_suite_in_the_instructions_is_one(project: Path) -> None:
    """What a coding agent copies loads, and every command it names is there."""
    text = SKILL.read_text(encoding="utf-8")
    (suite,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    (project / "agentbench.yaml").write_text(suite)
    (project / "orders.json").write_text("{}")

    loaded = load_suite(project / "agentbench.yaml", environ={})

    assert [scenario.id for scenario in loaded.scenarios] == ["refund-delivered", "refund-unknown"]
    assert set(re.findall(r"(?:^\$ |`)agentbench ([a-z]+)", text, re.MULTILINE)) <= {*COMMANDS}


def test_nothing_is_replaced_unless_forced(project: Path, name: str, init: Init) -> None:
    """A suite is a refusal, a workflow is left; --force replaces both."""
    (project / f"{name}.py").write_text(FACTORY)
    workflow = project / ".github/workflows/agentbench.yml"
    workflow.parent.mkdir(parents=True)
    workflow.write_text("mine")
    (project / "agentbench.yaml").write_text("mine")

    refused = init(f"{name}.py")
    assert refused == (2, "agentbench.yaml is there already; --force replaces it, --into writes elsewhere\n")
    assert (project / "agentbench.yaml").read_text() == "mine"

    (project / "agentbench.yaml").unlink()
    status, printed = init(f"{name}.py")
    assert status == 0
    assert "left .github/workflows/agentbench.yml as it is" in printed
    assert workflow.read_text() == "mine"

    status, printed = init(f"{name}.py", "--force", "--json")
    written = [f"{one}" for one in json.loads(printed)["written"]]
    assert (status, written[0], len(written)) == (0, "agentbench.yaml", 3)
    assert workflow.read_text() != "mine"


CLASSES = """
import typing

class Part(typing.Protocol):
    def reply(self, message): ...

class Role:
    def reply(self, message): raise NotImplementedError

class Clerk(Role):
    def reply(self, message): return "Hi"

class Ticket:
    def reply(self): return "Re:"
"""

MADE = """
class Desk:
    def __init__(self, words): self.words = words
    async def reply(self, messages): return self.words

front = Desk("Hi")
"""


@pytest.mark.parametrize(
    ("code", "at", "what"),
    [
        ("def make_agent(tools=()): return lambda message: message", "make_agent", "a factory"),
        ("def chat(text): return text", "chat", "a reply function"),
        ("async def reply(messages): return 'Hi'", "reply", "a reply function"),
        ("class agent:\n    def reply(self, message): return 'Hi'", "agent", "a class whose objects reply"),
        ("class Bot:\n    def reply(self, message): return 'Hi'\nagent = Bot()", "agent", "an object that replies"),
        ("app = object()\ndef chat(text): return text", "chat", "a reply function"),
        (CLASSES, "Clerk", "a class whose objects reply"),
        (MADE, "front", "an object that replies"),
    ],
)
def test_the_folder_is_searched_for_likely_names(name: str, init: Init, code: str, at: str, what: str) -> None:
    """What is found is told apart and named as a suite names it, so that it answers."""
    Path(f"{name}.py").write_text(code)
    Path("tests").mkdir()
    Path("tests", "__init__.py").write_text("")
    for test in ("test_other.py", "tests/helper.py"):
        Path(test).write_text("raise RuntimeError('tests are not imported')\ndef build(): pass")

    status, printed = init()

    assert status == 0, printed
    assert printed.startswith(f"{name}:{at} is {what}\n")


def test_a_frameworks_agent_is_told(project: Path, name: str, init: Init) -> None:
    """The path to it is all that the suite needs; a package is imported from above it."""
    package = project / name
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "bot.py").write_text(
        "class Pregel:\n"
        "    __module__ = 'langgraph.pregel'\n"
        "    channels = ('messages',)\n"
        "    async def ainvoke(self, state, config):\n"
        "        return {'messages': [*state['messages'], {'role': 'assistant', 'content': 'Hi', 'id': ''}]}\n"
        "graph = Pregel()\n"
    )

    status, printed = init(f"{name}/bot.py")

    assert status == 0, printed
    assert f"{name}.bot:graph is an agent of LangGraph" in printed
    assert f"agent: {name}.bot:graph" in (project / "agentbench.yaml").read_text()


FRAMEWORK = """
class Pregel:
    channels = ("messages",)
    async def ainvoke(self, state, config):
        return {"messages": [*state["messages"], {"role": "assistant", "content": "Hi", "id": ""}]}

class StateGraph:
    def compile(self, handoffs=()):
        return Pregel()
"""

DESK = """
from langgraph.graph import StateGraph as Builder

builder = Builder()
clerk = builder.compile()
front_desk: object = Builder().compile(handoffs=[clerk])
back_office = builder.compile()
"""


def test_an_agent_is_recognised_by_its_type(
    project: Path, name: str, init: Init, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it is called and wherever it lies; files that only look like one are imported apart, if at all."""
    package = project / ".installed" / "langgraph"
    package.mkdir(parents=True)
    monkeypatch.syspath_prepend(package.parent)
    for module in ("langgraph", "langgraph.graph"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    (package / "__init__.py").write_text("")
    (package / "graph.py").write_text(FRAMEWORK)
    (project / "examples" / "desk").mkdir(parents=True)
    (project / "examples" / "desk" / f"{name}.py").write_text(DESK)
    (project / "build_all.py").write_text("raise RuntimeError('nobody imports this')")
    (project / "aaa.py").write_text("import os\nimport langgraph\nos._exit(3)\nx = langgraph.make()")
    (project / "app.py").write_text("app = {}")

    status, printed = init()

    assert status == 0, printed
    assert printed.startswith(f"{name}:front_desk is an agent of LangGraph\n  also there: {name}:back_office")
    assert f"agent: {name}:front_desk" in (project / "examples" / "desk" / "agentbench.yaml").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ((), "x = 1", r"no agent found in .*; say where it is"),
        (("nowhere.py",), "", "there is no file 'nowhere.py' in "),
        (("nowhere:build",), "", "no module 'nowhere' in "),
        (("{name}.py:bild",), FACTORY, "has no 'bild' (did you mean 'build'?)"),
        (("{name}.py",), "x = 1", "has no agent of a framework and none of build, "),
        (("{name}.py",), "raise LookupError('no key')\n", "raised LookupError: no key ("),
        (("{name}.py:agent",), "agent = 3", "is int 3, which is no agent. An agent is "),
        (("{name}.py:build",), "def build(a, b): pass", "it requires a, b, which nothing fills; give them a default"),
        ((), "app = {}", "none of what was found is an agent:"),
        (("{name}.py:build", "--into", "bench"), FACTORY, "install the agent, or leave --into"),
    ],
)
def test_what_cannot_be_used_is_said(name: str, init: Init, arguments: tuple[str, ...], code: str, told: str) -> None:
    """Nothing is written, and the message says what is wrong and what to do."""
    Path(f"{name}.py").write_text(code)

    status, printed = init(*(argument.format(name=name) for argument in arguments))

    assert status == 2
    assert all(part in printed for part in told.split(".*")), printed
    assert not Path("agentbench.yaml").exists()


def test_an_agent_that_crashes_has_its_suite_written(project: Path, name: str, init: Init) -> None:
    """The status says that something is to mend, and the place is named."""
    (project / f"{name}.py").write_text("def reply(message):\n    raise LookupError('no such order')\n")

    status, printed = init(f"{name}.py")

    assert status == 1
    assert (project / "agentbench.yaml").is_file()
    assert f"LookupError: no such order ({name}.py:2 in reply)" in " ".join(printed.split())
    assert "Mend what is marked PROBLEM" in printed


def test_an_address_is_an_endpoint(project: Path, init: Init) -> None:
    """Nobody listens there, which is said."""
    status, printed = init("http://127.0.0.1:9/chat")

    suite = load_suite(project / "agentbench.yaml", environ={})
    assert status == 1
    assert suite.agent.http is not None
    assert suite.agent.http.url == "http://127.0.0.1:9/chat"
    assert "is an HTTP endpoint" in printed


SERVED = """
import json
from types import SimpleNamespace

class Served:
    routes = [SimpleNamespace(path="/up", methods={"GET"}), SimpleNamespace(path="/chat", methods={"POST"})]

    async def __call__(self, scope, receive, send):
        assert scope["type"] == "http"
        said = json.loads((await receive())["body"])["message"]
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": json.dumps({"reply": f"{scope['path']} {said}"}).encode()})

app = Served()
"""


def test_an_asgi_app_is_played_in_process(project: Path, name: str, init: Init) -> None:
    """An app is known by its parameters, and a single route that takes posts by what the app tells of it."""
    (project / f"{name}.py").write_text(SERVED)

    status, printed = init(f"{name}.py")

    suite = load_suite(project / "agentbench.yaml", environ={})
    assert status == 0
    assert suite.agent.http is not None
    assert (suite.agent.http.app, suite.agent.http.url) == (f"{name}:app", "/chat")
    assert "is an ASGI app, played in this process" in printed
    assert "/chat " in printed


FASTAPI = """
class FastAPI:

    def add_middleware(self, *given): ...

    def openapi(self):
        asked = {"required": ["text", "thread_id"], "properties": {
            "deep": True, "text": {"type": "string"}, "thread_id": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}
        answer = {"properties": {"answer": {"type": "string"}, "thread_id": {"type": "string"}}}
        body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Asked"}}}}
        said = {"200": {"content": {"application/json": {"schema": answer}}}}
        return {
            "paths": {
                "/reset": {"post": {"responses": {}}},
                "/orders/{id}": {"post": {"requestBody": body, "responses": said}},
                "/ask": {"post": {"requestBody": body, "responses": said}},
            },
            "components": {"schemas": {"Asked": asked}},
        }

    async def __call__(self, scope, receive, send):
        import json
        asked = json.loads((await receive())["body"])
        await send({"type": "http.response.start", "status": 200 if asked["thread_id"] else 422})
        await send({"type": "http.response.body", "body": json.dumps({"answer": "Heard " + asked["text"]}).encode()})
"""


def test_an_app_of_any_name_is_asked_as_its_document_says(
    project: Path, name: str, init: Init, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one route that takes a text, what it is called there, and where the answer stands."""
    monkeypatch.syspath_prepend(project / ".installed")
    monkeypatch.delitem(sys.modules, "fastapi", raising=False)
    (project / ".installed").mkdir()
    (project / ".installed" / "fastapi.py").write_text(FASTAPI)
    (project / f"{name}.py").write_text("from fastapi import FastAPI\nservice = FastAPI()\n")

    status, printed = init()

    http = yaml.safe_load((project / "agentbench.yaml").read_text())["agent"]["http"]
    body = {"text": "$message", "thread_id": "$session_id"}
    assert http == {"app": f"{name}:service", "url": "/ask", "body": body, "reply": "answer"}
    assert (status, "Heard Hello" in printed) == (0, True), printed


def test_an_agent_that_asks_back_wants_an_answer(project: Path, name: str, init: Init) -> None:
    """Its question stands where the answer goes; given a second line, nothing is left to say."""
    code = "def reply(message):\n    return 'Done.' if 'W1' in message else 'Hello! Which order is it?'\n"
    (project / f"{name}.py").write_text(code)

    status, printed = init(f"{name}.py")

    written = (project / "agentbench.yaml").read_text()
    assert status == 0
    assert '      # the agent then said: "Hello! Which order is it?"\n      # - "what the user answers"\n' in written
    assert "The agent asks back. Say in agentbench.yaml what the user answers" in printed

    _, printed = init(f"{name}.py", "--force", "--say", "Hello", "--say", "W1")
    suite = load_suite(project / "agentbench.yaml", environ={})
    assert suite.scenarios[0].lines == ("Hello", "W1")
    assert "asks back" not in printed


@pytest.mark.parametrize(
    ("files", "line"),
    [
        ((), "pip install PyYAML pytest-agentbench"),
        (("requirements.txt",), "pip install -r requirements.txt pytest-agentbench"),
        (("requirements.txt", "pyproject.toml"), "pip install -r requirements.txt -e . pytest-agentbench"),
    ],
)
def test_the_job_installs_what_the_agent_needs(
    name: str, init: Init, installed_from: InstalledFrom, files: tuple[str, ...], line: str
) -> None:
    """Where no file of the project says it, what the agent imports does."""
    installed_from(None)
    Path(f"{name}.py").write_text("import json\nimport yaml\ndef reply(message): return 'Hi'\n")
    for file in files:
        Path(file).write_text("")

    init(f"{name}.py")

    steps = yaml.safe_load(Path(".github/workflows/agentbench.yml").read_text())["jobs"]["scenarios"]["steps"]
    assert line in [step.get("run") for step in steps]


HTTP_SERVER = """
import json, os, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Desk(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()

    def do_POST(self):
        said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["message"]
        known = self.path in ("/reset", "/chat")
        self.send_response(200 if known else 404)
        self.end_headers()
        self.wfile.write(json.dumps({"reply": f"{self.path} heard {said}"}).encode())


ThreadingHTTPServer(("127.0.0.1", PORT), Desk).serve_forever()
"""


@pytest.mark.parametrize(
    ("port", "told"),
    [
        ("int(sys.argv[1])", {"command": ["{python}", "{name}.py", "{port}"]}),
        ('int(os.environ["PORT"])', {"command": ["{python}", "{name}.py"], "env": {"PORT": "{port}"}}),
        ("9", None),
    ],
)
def test_a_service_on_http_server_is_started_and_never_imported(
    project: Path, name: str, init: Init, port: str, told: dict[str, object] | None
) -> None:
    """It is told its port as it wants to be; one that chooses its own is only asked."""
    (project / f"{name}.py").write_text(HTTP_SERVER.replace("PORT)", f"{port})"))

    status, printed = init(*([f"{name}.py"] if "argv" in port else []))

    http = yaml.safe_load((project / "agentbench.yaml").read_text())["agent"]["http"]
    if told is None:
        assert http == {"url": "http://127.0.0.1:9/chat"}
    else:
        command = [word.replace("{name}", name) for word in cast("list[str]", told["command"])]
        serve = {**told, "command": command, "ready": "/health"}
        assert http == {"url": "http://127.0.0.1:{port}/chat", "serve": serve}
        assert (status, "/chat heard" in printed) == (0, True), printed
    assert f"{name}.py is a service on http.server" in printed


TOOLS = '''
def get_order(*, state, order_id: str) -> dict:
    """Look an order up."""
    return state["orders"][order_id]
'''


@pytest.mark.parametrize("has_state", [True, False])
def test_the_tools_beside_a_factory_that_takes_them_are_named(
    project: Path, name: str, init: Init, has_state: bool
) -> None:
    """With the state that they take; an agent that was given no tools is no healthy one."""
    (project / f"{name}.py").write_text("def build(tools):\n    return lambda message: f'{len(tools)} tools'\n")
    (project / "shop_tools.py").write_text(TOOLS)
    if has_state:
        (project / "state.json").write_text('{"orders": {}}')

    status, text = init(f"{name}.py")

    named = {"tools": "shop_tools", "state": {"json": "state.json"}} if has_state else None
    assert yaml.safe_load((project / "agentbench.yaml").read_text()).get("environment") == named
    assert status == (0 if has_state else 1), text
    assert ("it was given an empty list" in " ".join(text.split())) is not has_state


ORDERS = '{"orders": {"W1": {"status": "open"}}}'


@pytest.mark.parametrize(
    ("files", "tools", "state"),
    [
        ({"orders.json": ORDERS, "package.json": '{"name": "shop"}'}, TOOLS, {"json": "orders.json"}),
        ({"tsconfig.json": '{"compilerOptions": {"strict": true}, "include": ["src"]}'}, TOOLS, None),
        ({"orders.json": ORDERS, "stock.json": ORDERS}, TOOLS + '\nFILE = "stock.json"\n', {"json": "stock.json"}),
        ({"shop.sql": "CREATE TABLE orders (id TEXT PRIMARY KEY);"}, TOOLS, {"sqlite": {"schema": "shop.sql"}}),
        ({"orders.json": ORDERS, "stock.json": ORDERS}, TOOLS, None),
    ],
)
def test_the_one_file_that_can_be_the_state_is_taken(
    project: Path, init: Init, files: dict[str, str], tools: str, state: dict[str, object] | None
) -> None:
    """What the tools name goes first; between two nobody guesses, and both are named."""
    name = f"desk_{project.name.replace('-', '_')}"
    (project / f"{name}.py").write_text("def build(tools):\n    return lambda message: f'{len(tools)} tools'\n")
    for file, held in {f"{name}_tools.py": tools, **files}.items():
        (project / file).write_text(held)
    (project / "gone.json").symlink_to("nowhere")

    _, printed = init(f"{name}.py")

    written = (project / "agentbench.yaml").read_text()
    named = {"tools": f"{name}_tools", "state": state} if state else None
    assert yaml.safe_load(written).get("environment") == named
    assert ("Several files here could be the state: orders.json, stock.json." in written) is (
        state is None and len(files) > 1
    )
    assert (json.dumps(named) in printed) is (state is not None)
