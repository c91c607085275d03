"""An agent over one MCP server, one REST service and a module of functions, all of them real.

Its shape is that of an agent over public data: an MCP server lists datasets, a REST API tells who publishes them.
"""

import json
from pathlib import Path

import pytest

from pytest_agentbench.cli import main
from tests.plugin.project import Project

pytest.importorskip("mcp")
pytestmark = pytest.mark.real

DATASETS = """
import json, sys

ROWS = [
    {"dataset_id": f"D{number}", "title": f"{topic} {number}", "publisher_id": f"P{number % 3}"}
    for number, topic in enumerate(["Roads", "Rivers", "Schools", "Roads", "Trees", "Rivers"], 1)
]
def schema(*names):
    return {"type": "object", "properties": {n: {"type": "string"} for n in names}, "required": list(names)}
READ = {"readOnlyHint": True}
TOOLS = [
    {"name": "search", "description": "Find datasets by topic.", "inputSchema": schema("topic"), "annotations": READ},
    {"name": "list_datasets", "description": "List datasets.", "inputSchema": schema(), "annotations": READ},
    {"name": "get_dataset", "description": "One dataset.", "inputSchema": schema("dataset_id"), "annotations": READ},
]
INFO = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "data", "version": "1"}}

def called(name, arguments):
    if name == "get_dataset":
        found = [row for row in ROWS if row["dataset_id"] == arguments.get("dataset_id")]
        if not found:
            return {"content": [{"type": "text", "text": "no such dataset"}], "isError": True}
        return {"content": [{"type": "text", "text": json.dumps(found[0])}], "structuredContent": found[0]}
    topic = arguments.get("topic", "")
    found = [row for row in ROWS if topic in row["title"]]
    texts = [{"type": "text", "text": json.dumps(row)} for row in found]
    return {"content": texts, "structuredContent": {"result": found}}

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    params = message.get("params") or {}
    result = {"initialize": lambda: INFO, "tools/list": lambda: {"tools": TOOLS},
              "tools/call": lambda: called(params["name"], params.get("arguments") or {})}[message["method"]]()
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""

PUBLISHERS = """
import json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CITIES = ["Lyon", "Lille", "Brest"]
ROWS = {f"P{n}": {"publisher_id": f"P{n}", "name": f"Office {n}", "city": city} for n, city in enumerate(CITIES)}

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        *_, last = self.path.rstrip("/").split("/")
        found = list(ROWS.values()) if last in ("publishers", "search") else ROWS.get(last)
        body = json.dumps(found if found else {"detail": "no such publisher"}).encode()
        self.send_response(200 if found or self.path == "/" else 404)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""

ONE = {"name": "publisher_id", "in": "path", "required": True, "schema": {"type": "string"}}
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "publishers", "version": "1"},
    "paths": {
        "/publishers": {"get": {"operationId": "list_publishers", "summary": "All publishers."}},
        "/publishers/{publisher_id}": {
            "get": {"operationId": "get_publisher", "summary": "One publisher.", "parameters": [ONE]}
        },
        "/search": {"get": {"operationId": "search", "summary": "Find publishers."}},
    },
}

BASKET = '''
def add_to_basket(state, dataset_id: str, city: str) -> str:
    """Keep a dataset, with the city that publishes it."""
    state["basket"].append({"dataset_id": dataset_id, "city": city})
    return f"{dataset_id} is kept"
'''

AGENT = """
def build(tools, careless=False):
    call = {tool.__name__: tool for tool in tools}

    async def reply(message):
        topic = message.removesuffix(".").split()[-1]
        found = await call["data_search"](topic=topic)
        if not found:
            return f"There is nothing about {topic}."
        dataset = found[0 if careless else -1]
        publisher = await call["get_publisher"](publisher_id=dataset["publisher_id"])
        call["add_to_basket"](dataset_id=dataset["dataset_id"], city=publisher["city"])
        return f"Kept {dataset['title']} of {publisher['city']}."

    return reply
"""

SUITE = """
agent: portal_agent:build
variants: {{careful: {{}}, careless: {{careless: true}}}}
environment:
  tools:
    - mcp: {{command: ["{{python}}", datasets.py], env: {{FOLDER: "{{run_dir}}"}}}}
      {prefix}
    - openapi: publishers.json
      base_url: "http://127.0.0.1:{{port}}"
      serve: {{command: ["{{python}}", publishers.py, "{{port}}"], env: {{FOLDER: "{{run_dir}}"}}}}
    - basket
  state: {{json: basket.json}}
scenarios:
  - id: newest
    goal: keep the newest dataset about roads
    knows: {{dataset_id: D4}}
    says: ["Keep the newest dataset about Roads."]
    expect:
      - data_search: {{topic: Roads}}
      - get_publisher: {{publisher_id: P1}}
      - add_to_basket: {{dataset_id: D4, city: Lille}}
    communicate: [Lille]
{more}
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """The portal's project."""
    project = Project(pytester=pytester, plugins=("-p", "agentbench"))
    project.write("datasets.py", DATASETS)
    project.write("publishers.py", PUBLISHERS)
    project.write("publishers.json", json.dumps(DOCUMENT))
    project.write("basket.py", BASKET)
    project.write("basket.json", '{"basket": []}')
    project.write("portal_agent.py", AGENT)
    return project


def suite(project: Project, prefix: str = "prefix: data_", more: str = "") -> Path:
    """Write the suite."""
    return project.write("agentbench.yaml", SUITE.format(prefix=prefix, more=more))


def test_calls_go_to_whoever_has_the_tool(project: Project) -> None:
    """The right agent passes, a careless one is told apart by the state; lists keep their elements."""
    suite(project)

    project.run("--agentbench-variant", "all", process="fresh")

    assert {
        run.key.variant: (run.verdict.value, run.blame and run.blame.value) for run in project.document.results
    } == {
        "careful": ("passed", None),
        "careless": ("failed", "agent"),
    }
    assert project.document.results[0].metrics["strict_recall"] == 1.0


def test_two_tools_of_one_name_ask_for_a_prefix(project: Project) -> None:
    """Where files tell the names it is known at collection, else when the server is asked."""
    path = suite(project, prefix="")

    project.run(process="fresh")
    [asked] = project.document.results
    main(["tools", str(suite(project)), "--provider", "1", "-o", str(path.parent / "datasets.json")])
    suite(project, prefix="list: datasets.json")
    collected = project.run("--co", process="fresh")

    wanted = "two tools of the assistant are named 'search'; put `prefix:` beside one of their providers"
    assert (asked.blame, wanted in str(asked.error)) == ("environment", True)
    collected.stdout.fnmatch_lines([f"*{wanted}*"])


def test_the_commands_work_with_all_of_them(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """validate plays the scenario, doctor names the tools, generate chains calls of one server into the other's."""
    path = suite(project, more="generate: {from: tools, count: 4, seed: 7}")

    validated = main(["validate", str(path), "--json", str(path.parent / "valid.json")])
    doctored = main(["doctor", str(path)])
    examined = capsys.readouterr().out
    generated = main(["generate", str(path), "--until", "graph"])

    told = capsys.readouterr()
    assert (validated, doctored, generated) == (0, 0, 0), examined + told.out + told.err
    for name in ("data_search", "get_publisher", "add_to_basket"):
        assert name in examined
    graph = "".join(file.read_text() for file in (path.parent / "generated").rglob("*graph*") if file.is_file())
    assert "data_get_dataset" in graph
    assert "get_publisher" in graph
