"""Agents behind an ASGI app that is played in this process: started once, asked without a port, never waited for."""

import json
import sys
import textwrap

import pytest

from pytest_agentbench.core.verdict import Blame
from tests.plugin.project import ASYNCIO, Project

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
    play(
        project,
        *(scenario(name, "Hello /chat 1 one two") for name in names),
        agent={"app": "service:app", "url": "/chat"},
    )

    result = project.run("bench")

    assert project.verdicts() == dict.fromkeys(names, "passed")
    assert result.ret == 0
    assert (project.pytester.path / "ended.txt").read_text() == "1\n"


def test_a_factory_gives_the_app(project: Project) -> None:
    """`factory: true` calls what the path leads to; the path asked is `/` unless the suite says another."""
    play(project, scenario("a", "Made / 1 one"), agent={"app": "service:make", "factory": True})

    project.run("bench")

    assert project.verdicts() == {"a": "passed"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "app",
            "no factory of an app: it must be callable without arguments; it is an app itself: leave `factory` out",
        ),
        ("needy", "which is no factory of an app: it must be callable without arguments\n"),
    ],
)
def test_what_is_no_factory_is_told_with_what_to_do(project: Project, name: str, said: str) -> None:
    """Neither an app itself nor a function that takes arguments is one."""
    project.suite(agent=APP + "\ndef needy(settings):\n    return app\n")
    form = {"agent": {"http": {"app": f"shop_agent:{name}", "factory": True}}, "scenarios": [scenario("a", "x")]}
    project.write("bench/agentbench.yaml", json.dumps(form))

    result = project.run("bench")

    assert said in result.stdout.str()
    assert result.ret == pytest.ExitCode.INTERRUPTED


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


def test_an_app_in_a_factorys_place_is_a_collection_error(project: Project) -> None:
    """The suite's author is told how apps are named."""
    project.write("bench/service.py", APP)
    project.write("bench/agentbench.yaml", json.dumps({"agent": "service:app", "scenarios": [scenario("a", "x")]}))

    result = project.run("bench")

    result.assert_outcomes(errors=1)
    said = " ".join(result.stdout.str().split())
    assert "'service:app' is an ASGI app: write `agent: {http: {app: service:app, url: /chat}}`" in said


def test_a_path_without_an_app_is_no_address(project: Project) -> None:
    """Only an app has paths of its own."""
    play(project, scenario("a", "x"), agent={"url": "/chat"})

    result = project.run("bench")

    result.assert_outcomes(errors=1)
    assert "found '/chat', expected an address" in " ".join(result.stdout.str().split())


def test_a_path_into_the_answer_that_is_misspelt_is_the_suites_fault(project: Project) -> None:
    """The runs are unscored, and each says where the path stands in the suite file, or in its variant."""
    project.write("bench/service.py", APP)
    project.write(
        "bench/agentbench.yaml",
        """\
        agent:
          http:
            app: service:app
            reply: replay
        variants:
          plain: {}
          other: {reply: repli}
        scenarios: [{id: a, says: [Hi]}]
        """,
    )

    result = project.run("bench", "--agentbench-variant=all")

    said = " ".join(result.stdout.str().split())
    there = "leads nowhere in the agent's answer: at the top there is only the key 'reply' (write `reply: reply`)"
    assert f"CRASHED: bench/agentbench.yaml:4:12: agent.http.reply: 'replay' {there}" in said
    assert f"CRASHED: bench/agentbench.yaml:7:18: variants.other.reply: 'repli' {there}" in said
    assert {(run.verdict.value, run.blame) for run in project.document.results} == {("error", Blame.SCENARIO)}


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
    failing = (
        'await send({"type": "lifespan.startup.failed", "message": "Traceback"})\n        ' if "raise" in code else ""
    )
    app = APP.replace("self.began += 1", f"{failing}{code}")
    play(project, scenario("a", "x"), scenario("b", "x"), app=app)

    result = project.run("bench")

    assert {(run.verdict.value, run.blame) for run in project.document.results} == {("failed", Blame.AGENT)}
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
    assert (run.termination.value, run.blame) == ("CRASHED", Blame.AGENT)
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
    assert (run.termination.value, run.blame) == ("CRASHED", Blame.AGENT)
    assert f"service:app at / {says}" in " ".join(result.stdout.str().split())


BLOCKING = """
import threading

async def app(scope, receive, send):
    if scope["type"] != "http":
        raise ValueError(scope["type"])
    threading.Event().wait()
"""

PLAIN = """
def build():
    return lambda message: "Hello one two"
"""


def test_an_app_that_blocks_its_loop_delays_nobody_else(project: Project) -> None:
    """Its runs end by their limit, runs of other suites go on, and the session's end does not wait."""
    project.write("blocking/service_that_blocks.py", BLOCKING)
    http = {"app": "service_that_blocks:app"}
    blocked = {"agent": {"http": http}, "limits": {"seconds": 0.4}, "scenarios": [scenario("blocks", "x")]}
    project.write("blocking/agentbench.yaml", json.dumps(blocked))
    names = [f"s{number}" for number in range(8)]
    others = [scenario(name, "Hello one two") for name in names]
    project.write("other/plain_agent.py", PLAIN)
    project.write("other/agentbench.yaml", json.dumps({"agent": "plain_agent:build", "scenarios": others}))

    project.run("blocking", "other", process="forked", timeout=40)

    runs = {run.nodeid.rpartition("::")[2]: run for run in project.document.results}
    assert {name: runs[name].verdict.value for name in names} == dict.fromkeys(names, "passed")
    assert (runs["blocks"].termination.value, runs["blocks"].blame) == ("SAFETY_TIMEOUT", Blame.AGENT)


def test_the_seconds_of_a_request_bound_an_app_as_well(project: Project) -> None:
    """One that never answers is told like an endpoint that never does, and is cancelled."""
    app = """
    import asyncio

    async def app(scope, receive, send):
        if scope["type"] != "http":
            raise ValueError(scope["type"])
        try:
            await asyncio.Event().wait()
        finally:
            open("cancelled.txt", "a").close()
    """
    play(project, scenario("a", "x"), app=textwrap.dedent(app), agent={"app": "service:app", "seconds": 0.1})

    result = project.run("bench")

    assert "service:app at / has not answered within 0.1 s" in " ".join(result.stdout.str().split())
    assert (project.pytester.path / "cancelled.txt").exists()


def test_what_goes_on_after_an_answer_is_done_before_the_next_turn(project: Project) -> None:
    """Background work counts: the next request finds it done, and what it raises is the agent's."""
    app = """
    import asyncio, json

    done = []

    async def app(scope, receive, send):
        if scope["type"] != "http":
            raise ValueError(scope["type"])
        asked = json.loads((await receive())["body"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": json.dumps({"reply": f"done {done}"}).encode()})
        assert (await receive())["type"] == "http.disconnect"
        for _ in range(50):
            await asyncio.sleep(0)
        done.append(asked["message"])
        if asked["message"] == "three":
            raise LookupError("the background work")
    """
    play(project, scenario("a", "done ['one']", TALK), scenario("b", "x", ["three"]), app=textwrap.dedent(app))

    result = project.run("bench", "--agentbench-concurrency=1")

    assert project.verdicts() == {"a": "passed", "b": "failed"}
    assert "raised LookupError: the background work" in result.stdout.str()


def test_fixtures_and_context_variables_reach_an_app(project: Project) -> None:
    """What a session fixture patches or sets is what the app sees, as if it were a function of the test's."""
    app = APP.replace(
        "import json", "import contextvars, json\nwho = contextvars.ContextVar('who', default='nobody')", 1
    )
    names = ["a", "b", "c", "d"]
    talks = [scenario(name, "Patched somebody 1 one two") for name in names]
    play(project, *talks, app=app.replace("{scope['path']}", "{who.get()}"))
    project.write(
        "bench/conftest.py",
        """
        import pytest, service

        @pytest.fixture(scope="session", autouse=True)
        def patched():
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(service.app, "greeting", "Patched")
                token = service.who.set("somebody")
                yield
                service.who.reset(token)
        """,
    )

    project.run("bench", "--agentbench-concurrency=1")

    assert project.verdicts() == dict.fromkeys(names, "passed")


def test_a_breakpoint_in_an_app_stops_there(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `-s`, as in a test: who debugs sees the app's own names, and the conversation goes on afterwards."""
    play(
        project, scenario("a", "one two"), app=APP.replace("answer = self.answer", "breakpoint(); answer = self.answer")
    )

    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    command = (sys.executable, "-m", "pytest", "-p", "agentbench", "--agentbench", "-s", "bench")
    result = project.pytester.run(*command, stdin=b"p asked['message']\nc\n" * 2)

    result.stdout.fnmatch_lines(["*service.py(*", "(Pdb) 'one'", "*service.py(*", "(Pdb) 'two'"])
    assert project.verdicts() == {"a": "passed"}


def test_what_an_app_prints_is_shown_with_its_run(project: Project) -> None:
    """Runs that overlap share the app, and each shows what was printed for it."""
    app = APP.replace("said.append(asked", "print('heard', asked['message']); said.append(asked")
    play(project, scenario("a", "nothing", ["apple"]), scenario("b", "nothing", ["banana"]), app=app)

    result = project.run("bench")

    parts = result.stdout.str().split("Captured agentbench output")[1:]
    assert [[word for word in ("apple", "banana") if f"heard {word}" in part] for part in parts] == [
        ["apple"],
        ["banana"],
    ]


def test_an_app_is_patched_by_the_test_that_simulates(project: Project) -> None:
    """A test patches it for one conversation; the app stays the one that the session started."""
    play(project, scenario("a", "Hello"))
    project.write(
        "test_desk.py",
        """
        import pytest

        @pytest.mark.agentbench("bench/agentbench.yaml")
        @pytest.mark.parametrize("greeting", ["Hello", "Bonjour"])
        def test_greets(agentbench, monkeypatch, greeting):
            import service

            monkeypatch.setattr(service.app, "greeting", greeting)
            run = agentbench.simulate(says=["one"])
            assert run.transcript.messages[-1].text == f"{greeting} / 1 one"

        @pytest.mark.agentbench("bench/agentbench.yaml")
        async def test_greets_on_a_loop_of_its_own(agentbench):
            run = await agentbench.simulate_async(says=["one"])
            assert run.transcript.messages[-1].text == "Hello / 1 one"
        """,
    )

    result = project.run("test_desk.py", *ASYNCIO)

    result.assert_outcomes(passed=3)
    assert (project.pytester.path / "ended.txt").read_text() == "1\n"


def test_cookies_of_an_app_stay_with_their_run(project: Project) -> None:
    """Each run sends back what it was given, and nothing that another was."""
    app = """
    import json

    async def app(scope, receive, send):
        if scope["type"] != "http":
            raise ValueError(scope["type"])
        asked = json.loads((await receive())["body"])
        cookie = dict(scope["headers"]).get(b"cookie", b"nobody").decode()
        given = (b"set-cookie", f"who={asked['message']}; HttpOnly; SameSite=Lax".encode())
        await send({"type": "http.response.start", "status": 200, "headers": [given]})
        await send({"type": "http.response.body", "body": json.dumps({"reply": f"I know {cookie}."}).encode()})
    """
    names = ["ann", "bo", "cy", "di"]
    talks = [scenario(name, f"I know who={name}.", [name, "again"]) for name in names]
    play(project, *talks, app=textwrap.dedent(app))

    project.run("bench")

    assert project.verdicts() == dict.fromkeys(names, "passed")
