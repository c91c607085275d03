"""Agents behind an ASGI app that is played in this process: started once, asked without a port, never waited for."""

import json

import pytest

from tests.plugin.project import Project

APP = """
import json

class Desk:
    def __init__(self):
        self.began = self.ended = 0
        self.said = {}
        self.greeting = "Hello"

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            return await self.live(scope, receive, send)
        asked = json.loads((await receive())["body"])
        answer = self.answer(asked, scope)
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(answer).encode()})

    def answer(self, asked, scope):
        said = self.said.setdefault(asked["session_id"], [])
        said.append(asked["message"])
        return {"reply": f"{self.greeting} {scope['path']} {scope['state'].get('began')} {' '.join(said)}"}

    async def live(self, scope, receive, send):
        await receive()
        self.began += 1
        scope["state"]["began"] = self.began
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self.ended += 1
        with open("ended.txt", "a") as file:
            print(self.ended, file=file)
        await send({"type": "lifespan.shutdown.complete"})

app = Desk()

def make():
    made = Desk()
    made.greeting = "Made"
    return made
"""

TALK = ["one", "two"]


def scenario(name: str, reply: str, says: list[str] = TALK) -> dict[str, object]:
    """Give a scenario that passes if the agent's last words hold `reply`."""
    return {"id": name, "says": says, "communicate": [reply]}


def play(project: Project, *scenarios: object, app: str = APP, agent: dict[str, object] | None = None) -> None:
    """Write a suite whose agent is an app in `service.py`."""
    project.write("bench/service.py", app)
    suite = {"agent": {"http": agent or {"app": "service:app"}}, "scenarios": scenarios}
    project.write("bench/agentbench.yaml", json.dumps(suite))


def test_an_app_is_started_once_and_shut_down_at_the_end(project: Project) -> None:
    """Its runs share it, each with a session of its own; its lifespan's state reaches every request."""
    names = [f"s{number}" for number in range(6)]
    play(project, *(scenario(name, "Hello /chat 1 one two") for name in names), agent={"app": "service:app", "url": "/chat"})

    result = project.run("bench")

    assert project.verdicts() == dict.fromkeys(names, "passed")
    assert result.ret == 0
    assert (project.pytester.path / "ended.txt").read_text() == "1\n"


def test_a_factory_gives_the_app(project: Project) -> None:
    """`factory: true` calls what the path leads to; the path asked is `/` unless the suite says another."""
    play(project, scenario("a", "Made / 1 one"), agent={"app": "service:make", "factory": True})

    project.run("bench")

    assert project.verdicts() == {"a": "passed"}


WRONG = {
    "a factory": ("def app():\n    return None\n", "if it gives one, write `factory: true`"),
    "WSGI": ("def app(environ, start_response):\n    return []\n", "asgiref.wsgi.WsgiToAsgi"),
    "no app": ("app = 7\n", "which is no ASGI app: it must be callable as app(scope, receive, send)"),
    "no module": ("import nowhere_to_be_found\n", "No module named 'nowhere_to_be_found'"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_no_app_is_a_collection_error(project: Project, wrong: str) -> None:
    """The suite's line is named, what is there, and what to write."""
    app, says = WRONG[wrong]
    play(project, scenario("a", "x"), app=app)

    result = project.run("bench")

    result.assert_outcomes(errors=1)
    assert says in " ".join(result.stdout.str().split())


def test_a_path_without_an_app_is_no_address(project: Project) -> None:
    """Only an app has paths of its own."""
    play(project, scenario("a", "x"), agent={"url": "/chat"})

    result = project.run("bench")

    result.assert_outcomes(errors=1)
    assert "found '/chat', expected an address" in " ".join(result.stdout.str().split())


STARTS = {
    "raises": ('raise LookupError("no database")', "as it starts, raised LookupError: no database"),
    "says that it failed": (
        'await send({"type": "lifespan.startup.failed", "message": "no\\x1b[31m licence"})\n        return',
        "as it starts, says that it failed: no licence",
    ),
}


@pytest.mark.parametrize("way", STARTS)
def test_a_start_that_fails_is_the_agents(project: Project, way: str) -> None:
    """Each run says why, with the line of the app; frameworks announce the failure and then raise."""
    code, says = STARTS[way]
    failing = 'await send({"type": "lifespan.startup.failed", "message": "Traceback"})\n        ' if "raise" in code else ""
    app = APP.replace("self.began += 1", f"{failing}{code}")
    play(project, scenario("a", "x"), scenario("b", "x"), app=app)

    result = project.run("bench")

    assert project.verdicts() == {"a": "error", "b": "error"} or project.verdicts() == {"a": "failed", "b": "failed"}
    assert {run.blame.value for run in project.document.results if run.blame} == {"agent"}
    assert says in " ".join(result.stdout.str().split())


def test_an_app_without_a_lifespan_is_played(project: Project) -> None:
    """One that raises at what it does not know has none, as servers take it."""
    play(project, scenario("a", "Hello / None one"), app=APP.replace("return await self.live(", "raise ValueError("))

    project.run("bench")

    assert project.verdicts() == {"a": "passed"}


def test_what_an_app_raises_is_shown_with_its_line(project: Project) -> None:
    """The run crashed by the agent, and its own line is named, though frameworks answer 500 before they raise."""
    raising = """async def __call__(self, scope, receive, send):
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 500, "headers": []})
            await send({"type": "http.response.body", "body": b"Internal Server Error"})
            raise LookupError("no such order")"""
    play(project, scenario("a", "x"), app=APP.replace("async def __call__(self, scope, receive, send):", raising, 1))

    result = project.run("bench")

    [run] = project.document.results
    assert (run.termination.value, run.blame.value if run.blame else "") == ("CRASHED", "agent")
    assert "raised LookupError: no such order (service.py:14 in __call__)" in " ".join(result.stdout.str().split())


def test_an_app_that_exits_ends_its_run_alone(project: Project) -> None:
    """SystemExit in a handler is that request's, and the next one is answered."""
    app = APP.replace("said.append(asked", 'exit(3) if asked["message"] == "exit" else said.append(asked')
    play(project, scenario("a", "x", ["exit"]), scenario("b", "one two"), app=app)

    result = project.run("bench", "--agentbench-concurrency=1")

    assert project.verdicts()["b"] == "passed"
    assert "SystemExit: 3" in result.stdout.str()


ANSWERS = {
    "status": ("503, 'headers': []", "b'down'", "answered 503 Service Unavailable: 'down'"),
    "stream": (
        "200, 'headers': [(b'Content-Type', b'text/event-stream; charset=utf-8')]",
        "b'data: 1', 'more_body': True",
        "answers with a stream of events; let it answer as one JSON value",
    ),
    "too much": ("200, 'headers': []", "b'x' * 9_000_000, 'more_body': True", "answered with more than 8388608 bytes"),
    "half": ("200, 'headers': []", "b'{', 'more_body': True", "gave no whole answer: "),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_answers_mean_what_they_mean_over_a_network(project: Project, answer: str) -> None:
    """Statuses, streams and sizes are told as those of an endpoint; a stream is not waited for."""
    start, body, says = ANSWERS[answer]
    wait = "" if answer == "half" else "await __import__('asyncio').Event().wait()" if answer == "stream" else ""
    app = f"""
async def app(scope, receive, send):
    if scope["type"] != "http":
        raise ValueError(scope["type"])
    await send({{"type": "http.response.start", "status": {start}}})
    await send({{"type": "http.response.body", "body": {body}}})
    {wait or "return"}
"""
    play(project, scenario("a", "x"), app=app)

    result = project.run("bench")

    [run] = project.document.results
    assert (run.termination.value, run.blame.value if run.blame else "") == ("CRASHED", "agent")
    assert says in " ".join(result.stdout.str().split())
