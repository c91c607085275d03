"""What a suite, an agent or a file of a stranger cannot do to a session."""

import json

import pytest

from tests.plugin.project import TWO_WORKERS, Project

EVIL = "(a+)+$"
TALKERS = """
import asyncio, json, pathlib, time

def build(tools):
    call = {tool.__name__: tool for tool in tools}

    async def reply(message):
        if "evil" in message:
            text = "a" * 10_000 + "b"
            call["note"](text=text)
            return text
        worst = 0
        for _ in range(40):
            begun = time.perf_counter()
            await asyncio.sleep(0.05)
            worst = max(worst, time.perf_counter() - begun - 0.05)
        with pathlib.Path("lags").open("a") as file:
            file.write(f"{worst}\\n")
        return "Done."

    return reply
"""


@pytest.mark.parametrize("where", ["argument", "rule", "never"])
def test_a_pattern_that_never_ends_is_the_scenarios_and_delays_nobody(project: Project, where: str) -> None:
    """63 others in flight are delayed by less than 0.5 s, 2 s where others use the machine; the finding says where."""
    rule = {"when": "always", "then": {"must_say": {"pattern": EVIL}}}
    evil = {"id": "evil", "says": ["evil"]} | {
        "argument": {"expect": [{"note": {"text": {"$regex": EVIL}}}]},
        "rule": {"policies": ["words"]},
        "never": {"never": [{"note": {"text": {"$not": {"$regex": EVIL}}}}]},
    }[where]
    others = [{"id": f"s{number}", "says": ["Hello"], "expect": []} for number in range(63)]
    project.suite(
        evil,
        *others,
        agent=TALKERS,
        tools="def note(state: dict, text: str) -> str:\n    return 'noted'\n",
        policies=[{"id": "words", "text": "Say it.", "rule": rule}],
        limits={"turns": 1},
    )
    session = project.run("--agentbench-concurrency=64")

    found = next(result for result in project.document.results if result.key.scenario == "evil")
    messages = [finding.message for finding in found.findings if finding.kind == "check"]
    assert (found.verdict, found.blame) == ("error", "scenario")
    assert any("bench/agentbench.yaml" in one and EVIL in one for one in messages), messages
    lags = [float(line) for line in (project.pytester.path / "lags").read_text().splitlines()]
    assert len(lags) == 63
    assert max(lags) < 2.0  # 0.1 to 0.2 s on an idle machine; without a bound the pattern takes days
    assert session.ret == 1


THINKING = """
def build(tools, how="tags"):
    def reply(message):
        thought = "It was refunded, the fee is 45."
        if how == "tags":
            return f"<think>{thought}</think>I cannot tell."
        if how == "field":
            return {"role": "assistant", "content": "I cannot tell.", "reasoning_content": thought}
        parts = [{"type": "thinking", "thinking": thought}, {"type": "text", "text": "I cannot tell."}]
        return {"role": "assistant", "content": parts}
    return reply
"""


@pytest.mark.parametrize("how", ["tags", "field", "parts"])
def test_thoughts_are_not_said_and_stay_in_the_transcript(project: Project, how: str) -> None:
    """`communicate`, `must_say` and `said()` read what the user gets."""
    rule = {"when": "always", "then": {"must_say": ["refunded"]}}
    project.write("bench/own.py", "def check(run):\n    assert not run.said('fee')\n    return []\n")
    project.suite(
        {"id": "fee", "says": ["What is the fee?"], "expect": [], "communicate": ["45"], "policies": ["words"],
         "checks": ["own:check"]},
        agent=THINKING,
        policies=[{"id": "words", "text": "Say it.", "rule": rule}],
        variants={"v": {"how": how}},
    )  # fmt: skip

    project.run()

    (result,) = project.document.results
    assert {finding.kind for finding in result.findings if finding.passed is False} == {"communicate", "policy"}
    (file,) = project.pytester.path.glob(".agentbench/runs/*/transcripts/*.json")
    spoken = [one for one in json.loads(file.read_text())["messages"] if one["role"] == "assistant"]
    assert [one["content"] for one in spoken] == ["I cannot tell."]
    assert "the fee is 45" in spoken[0]["thoughts"]


LEAKING = """
import base64

def build(tools, credentials):
    call = {tool.__name__: tool for tool in tools}

    def reply(message):
        found = call["login"](pin="4711")
        hidden = base64.b64encode(f"user:{credentials}".encode()).decode()
        return f"Logged in with {found}, {hidden} and {credentials[::-1]}; zero\\u200bwidth."

    return reply
"""


@pytest.mark.parametrize("workers", ["-n0", TWO_WORKERS])
def test_no_secret_reaches_anything_that_is_written(
    project: Project, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    """Variables in base64 or backwards, credentials of the context, a result under `token`: in no file.

    Nor what stands in a policy or on the command line, where workers alone read the suite.
    """
    monkeypatch.setenv("SHOP_CREDENTIALS", "xK9-vvTr-42")
    monkeypatch.setenv("OTHER_TOKEN", "t0ken-of-another")
    project.suite(
        {"id": "leak", "says": ["Log me in"], "expect": [], "context": {"db_password": "sesam7"}},
        agent=LEAKING,
        tools="def login(state: dict, context: dict, pin: str) -> dict:\n"
        "    return {'token': 't0k-9f8e7d', 'token_count': 3, 'note': context['db_password'][::-1]}\n",
        variants={"v": {"credentials": "${SHOP_CREDENTIALS}"}},
        policies=[{"id": "mum", "text": "Never say ${SHOP_CREDENTIALS}."}],
    )  # fmt: skip

    session = project.run(
        "-vv", "--agentbench-html=page.html", "--agentbench-markdown=page.md", "--junitxml=junit.xml",
        "--agentbench-json=out.json", "-k", "not t0ken-of-another", workers,
    )  # fmt: skip

    files = [path for path in project.pytester.path.rglob("*") if path.is_file() and path.parent.name != "bench"]
    texts = {path.name: path.read_bytes().decode("utf-8", "replace") for path in files}
    texts["terminal"] = session.stdout.str() + session.stderr.str()
    assert {"page.html", "page.md", "junit.xml", "out.json", "results.json", "terminal"} <= texts.keys()
    for name, text in texts.items():
        for secret in (
            "xK9-vvTr-42",
            "24-rTvv",
            "eEs5LXZ2VHItNDI",
            "s5LXZ2VHItND",
            "t0k-9f8e7d",
            "sesam7",
            "7mases",
            "t0ken-of",
        ):
            assert secret not in text, (name, secret)
        assert "\u200b" not in text, name
    assert "token_count" in texts["page.html"]


@pytest.mark.parametrize("workers", ["-n0", TWO_WORKERS])
def test_no_secret_of_a_command_is_written_or_shown(
    project: Project, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    """Also one that a shell would quote, and one that stands where a long command, or what it said, is cut."""
    monkeypatch.setenv("DESK_KEY", "s3cr'et-of-the-desk")
    monkeypatch.setenv("DESK_PIN", "Tr0ub4dor&3-horse")
    told = f"import sys; print('{'x' * 280} u:' + sys.argv[2]); sys.exit(3)"
    commands = {"short": ["{python}", "-c", told], "long": ["{python}", "-c", told, "y" * 150]}
    for name, command in commands.items():
        serve = {"command": [*command[:3], "${DESK_KEY}", "${DESK_PIN}", *command[3:], "--dsn=u:${DESK_PIN}"]}
        http = {"url": "http://127.0.0.1:{port}/", "serve": {**serve, "env": {"PORT": "{port}"}}}
        scenarios = [{"id": f"s{number}", "says": ["Hi"], "communicate": ["Hi"]} for number in range(2)]
        form = {"agent": {"http": http}, "scenarios": scenarios}
        project.write(f"bench/{name}.agentbench.yaml", json.dumps(form))

    files = [f"--agentbench-{kind}=report.{kind}" for kind in ("json", "html", "markdown")]
    result = project.run("bench", workers, "--junitxml=report.xml", *files)

    assert {run.blame for run in project.document.results} == {"scenario"}
    written = {str(path): path.read_bytes() for path in project.pytester.path.rglob("*") if path.is_file()}
    shown = {"the terminal": (result.stdout.str() + result.stderr.str()).encode()}
    for place, held in (written | shown).items():
        for part in (b"s3cr", b"et-of-the-desk", b"Tr0ub"):
            assert part not in held, (place, part)
