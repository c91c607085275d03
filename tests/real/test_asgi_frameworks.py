"""FastAPI and Starlette apps as agents in this process: what these frameworks do around an endpoint is kept."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pytest_agentbench.core.verdict import Blame
from tests.plugin.project import Project

pytestmark = pytest.mark.real
pytest.importorskip("fastapi")

FASTAPI = """
import asyncio
import contextlib
import contextvars

from fastapi import BackgroundTasks, Depends, FastAPI, HTTPException, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

who = contextvars.ContextVar("who", default="nobody")
noted = []

@contextlib.asynccontextmanager
async def lifespan(app):
    loop = asyncio.get_running_loop()
    yield {"loop": loop}
    with open("ended.txt", "a") as file:
        print("ended", file=file)

app = FastAPI(lifespan=lifespan)

class Asked(BaseModel):
    message: str
    session_id: str

def greeting():
    return "Hello"

@app.middleware("http")
async def told(request, call_next):
    answer = await call_next(request)
    answer.headers["X-Told"] = "yes"
    return answer

@app.post("/chat")
async def chat(asked: Asked, request: Request, later: BackgroundTasks, words: str = Depends(greeting)):
    assert request.state.loop is asyncio.get_running_loop()
    later.add_task(noted.append, asked.message)
    return {"reply": f"{words} {who.get()}, you said {asked.message} after {noted}"}

@app.post("/plain")
def plain(asked: Asked):
    return {"reply": f"In a thread, {who.get()} said {asked.message}"}

@app.post("/broken")
async def broken(asked: Asked):
    raise LookupError("no such order")

@app.post("/refuses")
async def refuses(asked: Asked):
    raise HTTPException(404, "no such order")

@app.post("/strict")
async def strict(asked: list[int]):
    return {"reply": "never"}

@app.post("/stream")
async def stream(asked: Asked):
    async def events():
        while True:
            yield "data: 1\\n\\n"
            await asyncio.sleep(0)
    return StreamingResponse(events(), media_type="text/event-stream")
"""

STARLETTE = """
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

async def chat(request):
    said = (await request.json())["message"]
    answer = JSONResponse({"reply": f"I knew {request.cookies.get('said')}"})
    answer.set_cookie("said", said, httponly=True, samesite="strict")
    return answer

def make():
    return Starlette(routes=[Route("/chat", chat, methods=["POST"])])
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """A user's project."""
    return Project(pytester=pytester)


def play(project: Project, code: str, http: dict[str, object], *scenarios: dict[str, object]) -> None:
    """Write a suite whose agent is an app."""
    project.write("bench/served.py", code)
    project.write("bench/agentbench.yaml", json.dumps({"agent": {"http": http}, "scenarios": scenarios}))


def test_a_fastapi_app_is_played_with_all_that_is_around_its_endpoint(project: Project) -> None:
    """Lifespan, state, dependencies, middleware and background tasks work, all of it on one loop."""
    said = "Hello nobody, you said two after ['one']"
    play(
        project,
        FASTAPI,
        {"app": "served:app", "url": "/chat"},
        {"id": "a", "says": ["one", "two"], "communicate": [said]},
    )

    project.run("bench", process="fresh")

    assert project.verdicts() == {"a": "passed"}
    assert project.line_count("ended.txt") == 1


def test_fixtures_override_dependencies_and_set_context(project: Project) -> None:
    """`dependency_overrides` and context variables of a fixture reach endpoints, those in threads too."""
    says = [{"id": "a", "says": ["one"], "communicate": ["Bonjour Ada, you said one"]}]
    play(project, FASTAPI, {"app": "served:app", "url": "/chat"}, *says)
    project.write(
        "bench/conftest.py",
        """
        import pytest, served

        @pytest.fixture(scope="session", autouse=True)
        def overridden():
            served.app.dependency_overrides[served.greeting] = lambda: "Bonjour"
            served.who.set("Ada")
            yield
        """,
    )
    project.write(
        "thread/agentbench.yaml",
        json.dumps(
            {
                "agent": {"http": {"app": "served:app", "url": "/plain"}},
                "scenarios": [{"id": "b", "says": ["one"], "communicate": ["In a thread, Ada said one"]}],
            }
        ),
    )
    project.write("thread/served.py", FASTAPI)
    project.write(
        "thread/conftest.py",
        """
        import pytest

        @pytest.fixture(scope="session", autouse=True)
        def known():
            import served
            served.who.set("Ada")
    """,
    )

    project.run("bench", process="fresh")
    first = project.verdicts()
    project.run("thread", process="fresh")

    assert (first, project.verdicts()) == ({"a": "passed"}, {"b": "passed"})


FAULTS = {
    "/broken": "raised LookupError: no such order (served.py:47 in broken)",
    "/refuses": 'answered 404 Not Found: \'{"detail":"no such order"}\'',
    "/strict": "answered 422 Unprocessable",
    "/stream": "answers with a stream of events",
}


REFUSED = {"/refuses", "/strict"}
"""Endpoints that take no first message: the suite sends what they do not take."""


@pytest.mark.parametrize("path", FAULTS)
def test_whose_fault_an_endpoint_is_tells_what_it_does(project: Project, path: str) -> None:
    """What it raises is shown with its own line, and no more than a status where the framework answered for it."""
    play(project, FASTAPI, {"app": "served:app", "url": path}, {"id": "a", "says": ["one"]})

    result = project.run("bench", process="fresh", timeout=60)

    [run] = project.document.results
    blame = Blame.SCENARIO if path in REFUSED else Blame.AGENT
    assert (run.termination.value, run.blame) == ("CRASHED", blame)
    assert FAULTS[path] in " ".join(result.stdout.str().split())


def test_a_starlette_factory_keeps_cookies_for_each_run(project: Project) -> None:
    """A cookie that one run was given is sent back by that run alone."""
    talks = [
        {"id": name, "says": [name, "again"], "communicate": [f"I knew {name}"]} for name in ("ann", "bo", "cy", "di")
    ]
    play(project, STARLETTE, {"app": "served:make", "factory": True, "url": "/chat"}, *talks)

    project.run("bench", process="fresh")

    assert set(project.verdicts().values()) == {"passed"}


def test_init_asks_an_app_as_it_wants_to_be_asked(tmp_path: Path) -> None:
    """Its name, its one route that takes a text, that of an included router as well, and the keys of both bodies."""
    (tmp_path / "desk.py").write_text(ROUTED, encoding="utf-8")
    command = [str(Path(sys.executable).parent / "agentbench"), "init"]

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)

    body = {"question": "$message", "conversation_id": "$session_id"}
    http = yaml.safe_load((tmp_path / "agentbench.yaml").read_text(encoding="utf-8"))["agent"]["http"]
    assert http == {"app": "desk:service", "url": "/v1/ask", "body": body, "reply": "answer"}
    assert (done.returncode, "You asked Hello" in done.stdout) == (0, True), done.stdout + done.stderr


ROUTED = """
from fastapi import APIRouter, FastAPI
from pydantic import BaseModel

router = APIRouter()

class Ask(BaseModel):
    question: str
    conversation_id: str | None = None
    limit: int = 3

@router.post("/ask")
async def ask(body: Ask):
    return {"answer": f"You asked {body.question}", "conversation_id": body.conversation_id, "sources": []}

@router.post("/reset")
def reset():
    return {}

service = FastAPI()
service.include_router(router, prefix="/v1")
"""
