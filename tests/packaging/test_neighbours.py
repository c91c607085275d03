"""Beside thirty other plugins of pytest a session comes to the same verdicts, exit status and JUnit file."""

import html
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.results.document import comparable, read

pytestmark = pytest.mark.real

NEIGHBOURS = {
    "allure-pytest": ["--alluredir=allure"],
    "pytest-asyncio": [],
    "pytest-bdd": [],
    "pytest-benchmark": ["--benchmark-disable"],
    "pytest-check": [],
    "pytest-clarity": [],
    "pytest-cov": ["--cov=neighbour_agent", "--cov-report=json:coverage.json"],
    "pytest-datadir": [],
    "pytest-django": ["--ds=neighbour_settings"],
    "pytest-env": [],
    "pytest-forked": [],
    "pytest-freezer": [],
    "pytest-html": ["--html=page.html", "--self-contained-html"],
    "pytest-instafail": ["--instafail"],
    "pytest-json-report": ["--json-report", "--json-report-file=own.json"],
    "pytest-metadata": ["--metadata", "team", "desk"],
    "pytest-mock": [],
    "pytest-order": ["--order-scope=module"],
    "pytest-picked": [],
    "pytest-randomly": ["-p", "randomly"],
    "pytest-repeat": ["--count=1"],
    "pytest-rerunfailures": ["--reruns=1"],
    "pytest-socket": ["--allow-hosts=127.0.0.1", "--allow-unix-socket"],
    "pytest-split": [],
    "pytest-subtests": [],
    "pytest-sugar": ["--force-sugar"],
    "pytest-timeout": ["--timeout=120"],
    "pytest-xprocess": [],
    "syrupy": [],
}
"""Packages of plugins, each with the options that let it do something in these sessions."""

FILES = {
    "pytest.ini": """\
[pytest]
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
env =
    DESK=north
""",
    "neighbour_settings.py": "SECRET_KEY = 'x'\nUSE_TZ = True\nINSTALLED_APPS = []\n",
    "neighbour_agent.py": """\
def build(context=None):
    def reply(message):
        if "cost" in message:
            return f"I do not know. <b>{(context or {}).get('key', '')}</b> \\x1b[31m \\ud83d"
        return "From 9 am."

    return reply
""",
    "agentbench.yaml": """\
agent: neighbour_agent:build
context: {key: "${NEIGHBOUR_KEY}"}
scenarios:
  - {id: hours, says: ["When are you open?"], communicate: ["9 am"]}
  - {id: early, says: ["Are you open at 10?"], communicate: ["9 am"]}
  - {id: price, says: ["Hello", "What does it cost?"], communicate: ["12 euros"]}
  - {id: later, skip: not yet, says: ["When?"], communicate: ["9 am"]}
""",
    "gated/agentbench.yaml": """\
agent: neighbour_agent:build
scenarios:
  - {id: late, says: ["Are you open at 8 pm?"], communicate: ["9 am"]}
  - {id: cost, says: ["What does it cost?"], communicate: ["12 euros"]}
gates: ["success >= 0.5"]
""",
    "test_own.py": """\
import neighbour_agent

def test_own():
    assert True

def test_said(agentbench):
    assert agentbench.simulate(agent=neighbour_agent.build(), says=["When are you open?"]).said("9 am")

async def test_fails(agentbench):
    run = await agentbench.simulate_async(agent=neighbour_agent.build(), says=["What does it cost?"])
    assert run.said("12 euros")
""",
}
FAILED = {"price", "test_fails"}
KEY = "neighbour-key-7251"


def installed() -> list[str]:
    """Give the neighbours that are here."""
    here = {re.sub(r"[-_.]+", "-", one.metadata["Name"]).lower() for one in distributions()}
    return [name for name in NEIGHBOURS if name in here]


@dataclass
class Session:
    """A finished session: where it ran, how it ended, and the cases of its JUnit file."""

    folder: Path
    status: int = 0
    said: str = ""
    cases: dict[str, Any] = field(default_factory=dict)

    def play(self, *arguments: str, alone: bool) -> "Session":
        """Run pytest beside all neighbours, or with ours, xdist and asyncio alone."""
        for name, text in FILES.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text, encoding="utf-8")
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV_"))}
        environ |= {"NEIGHBOUR_KEY": KEY, "PY_COLORS": "0"} | ({"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} if alone else {})
        given = ["-p", "agentbench", "-p", "xdist", "-p", "asyncio", "-o", "env="] if alone else []
        command = [sys.executable, "-W", "ignore", "-m", "pytest", *given, "--agentbench", "--junitxml=junit.xml"]
        done = subprocess.run(
            [*command, *arguments],
            cwd=self.folder,
            env=environ,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=300,
            check=False,
        )
        self.status, self.said = done.returncode, done.stdout + done.stderr
        assert (self.folder / "junit.xml").is_file(), self.said
        for case in ET.parse(self.folder / "junit.xml").iter("testcase"):
            kinds = sorted({part.tag for part in case} & {"failure", "error", "skipped"})
            message = next((part.attrib.get("message", "") for part in case if part.tag in kinds), "")
            told = {one.attrib["name"]: one.attrib["value"] for one in case.iter("property")}
            for name in ("transcript", "attempt"):
                told.pop(f"agentbench.{name}", None)
            message = message.partition("\n")[0]
            self.cases[case.attrib["classname"] + "::" + case.attrib["name"]] = (kinds, message, told)
        return self

    @property
    def results(self) -> Any:
        """The results file without times, places, the order of items and the number of a rerun."""
        data: Any = comparable(read(self.folder / ".agentbench" / "results.json"))
        for one in data["results"]:
            del one["key"]["attempt"], one["transcript"]
        return sorted(data["results"], key=lambda one: one["nodeid"]), data["suites"], data["gates"]

    def failed(self) -> set[str]:
        """Give the names of the cases that failed."""
        return {name.rpartition("::")[2] for name, (kinds, _, _) in self.cases.items() if kinds == ["failure"]}


@pytest.fixture(scope="module", params=["0", "2"], ids=["n0", "n2"])
def beside(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Session, Session]:
    """A session without neighbours, and one beside all of them."""
    here = installed()
    if len(here) < 20:
        pytest.skip(f"{len(here)} of {len(NEIGHBOURS)} plugins are here: pip install --group neighbours")
    options = [option for name in here for option in NEIGHBOURS[name]]
    alone = Session(tmp_path_factory.mktemp("alone") / "desk").play("-n", request.param, alone=True)
    return alone, Session(tmp_path_factory.mktemp("beside") / "desk").play("-n", request.param, *options, alone=False)


def test_neighbours_change_no_verdict_no_exit_and_no_case(beside: tuple[Session, Session]) -> None:
    """A pass, a failure, a skip, a missed run and tests of one's own: the same in JUnit and in the results file."""
    alone, among = beside

    assert (alone.status, alone.failed()) == (1, FAILED), alone.said
    assert among.status == 1, among.said
    assert among.cases == alone.cases
    assert among.results == alone.results
    assert "INTERNALERROR" not in among.said


def test_html_and_allure_show_failures_with_the_conversation(beside: tuple[Session, Session]) -> None:
    """Each is a failure there, with all that was said attached; secrets and control characters are not."""
    folder = beside[1].folder
    if not (folder / "allure").is_dir() or not (folder / "page.html").is_file():
        pytest.skip("pytest-html or allure-pytest is not here")

    page = (folder / "page.html").read_text(encoding="utf-8")
    data = json.loads(html.unescape(re.search(r'data-jsonblob="([^"]*)"', page)[1]))["tests"]
    shown = {name.rpartition("::")[2]: runs[-1] for name, runs in data.items()}
    allure = [json.loads(one.read_text(encoding="utf-8")) for one in sorted((folder / "allure").glob("*-result.json"))]
    last = {one["name"]: one for one in sorted(allure, key=lambda one: one["stop"])}

    for name, asked in {"price": "Hello", "test_fails": "What does it cost?"}.items():
        assert shown[name]["result"] == "Failed"
        assert {(one["name"], one["format_type"]) for one in shown[name]["extras"]} == {("conversation", "text")}
        assert last[name]["status"] == "failed"
        (file,) = [one["source"] for one in last[name]["attachments"] if one["name"] == "conversation"]
        text = (folder / "allure" / file).read_text(encoding="utf-8")
        assert asked in text
        assert "I do not know." in text
        assert "\x1b" not in text
    assert shown["hours"]["result"] == "Passed"
    assert not shown["hours"]["extras"]
    files = [folder / "page.html", *(folder / "allure").iterdir()]
    assert [one.name for one in files if KEY in one.read_text(encoding="utf-8")] == []


def test_pytest_split_plays_every_run_in_one_of_its_groups(tmp_path: Path) -> None:
    """On a part gates are not evaluated, so what is missed in the whole is a failure there."""
    if "pytest-split" not in installed():
        pytest.skip("pytest-split is not here")
    parts = [
        Session(tmp_path / group).play("--splits=2", f"--group={group}", "-p", "no:randomly", alone=False)
        for group in ("1", "2")
    ]

    names = [set(part.cases) for part in parts]
    assert not names[0] & names[1]
    assert len(names[0] | names[1]) == 9
    assert parts[0].failed() | parts[1].failed() == {*FAILED, "cost"}
