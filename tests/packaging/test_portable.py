"""Nothing that can be seen from here needs POSIX: encodings, names of files, code pages, what loads at import."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_agentbench.core.run import RunKey
from pytest_agentbench.results.run_directory import transcript_name
from tests.tables import each

PACKAGE = Path(__file__).parents[2] / "pytest_agentbench"
POSIX = {"fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "termios", "tty"}
SIGNALS = {"SIGHUP", "SIGKILL", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGCHLD", "SIGQUIT"}
CALLS = {"fork", "forkpty", "getuid", "geteuid", "killpg", "setsid", "getpgid", "mkfifo", "uname", "chown"}
OPENING = {
    "run", "Popen", "check_output", "open", "fdopen", "TextIOWrapper", "read_text", "write_text",
    "NamedTemporaryFile", "TemporaryFile",
}  # fmt: skip
SUSPICIOUS = re.compile(rf"\b(?:{'|'.join(POSIX | SIGNALS | CALLS)})\b|\b(?:{'|'.join(OPENING)})\(")
"""What a file without anything to look at does not hold: to read a syntax tree takes long."""
AGENT = "def build():\n    return lambda message: 'Ab 9 Uhr — 九点' if 'offen' in message else '不知道 τ'\n"
SUITE = """\
agent: portable_agent:build
scenarios:
  - {id: offen, says: ["Wann seid ihr offen? 几点"], communicate: ["九点"]}
  - {id: preis, says: ["Was kostet es? 多少钱"], communicate: ["12 €"]}
  - {id: "a:b/c\\\\d?*|<e>", says: ["Was ist offen?"], communicate: ["九点"]}
"""

COMMANDS = """\
import sys
from pytest_agentbench.cli import main

for line in (
    "--help", "parity --help", "explain preis", "report results.json", "report --summary results.json",
    "validate agentbench.yaml", "schema suite", "report --by policy results.json",
):
    print(f"<<{line}>>")
    try:
        ended = main(line.split())
    except SystemExit as exit:
        ended = exit.code
    print(f"<<ended {ended}>>")
"""


def without_encoding(call: ast.Call) -> bool:
    """Whether a call opens text, and leaves its encoding to the machine."""
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    if "encoding" in named or None in named:
        return False
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    text = [one.value for one in (*call.args, *named.values()) if isinstance(one, ast.Constant)]
    modes = [one for one in text if isinstance(one, str) and re.fullmatch(r"[rwax]\+?[bt]?\+?", one)]
    is_binary = any("b" in one for one in modes)
    if name in {"run", "Popen", "check_output"}:
        return any(getattr(named.get(one), "value", False) is True for one in ("text", "universal_newlines"))
    if name == "open" and isinstance(call.func, ast.Attribute):  # `open` of a world or a state is another word
        is_path = isinstance(call.func.value, ast.Name) and call.func.value.id in {"path", "file", "os", "io"}
        return (bool(modes) or is_path) and not is_binary
    if name in {"NamedTemporaryFile", "TemporaryFile"}:
        return bool(modes) and not is_binary
    if isinstance(call.func, ast.Attribute) and name in {"read_text", "write_text"}:
        return len(call.args) <= (name == "write_text")
    return name in {"open", "fdopen", "TextIOWrapper"} and not is_binary


def wanting(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Give the lines of a module at which it leaves an encoding to the machine, or uses what Windows lacks."""
    guarded = {
        id(inner)
        for node in ast.walk(tree)
        if (isinstance(node, ast.If) and "hasattr" in ast.unparse(node.test))
        or (isinstance(node, ast.Try) and any("ImportError" in ast.unparse(one) for one in node.handlers))
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and without_encoding(node):
            yield node.lineno, "names no encoding"
        if id(node) in guarded:
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            imported = [one.name for one in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            yield from ((node.lineno, one) for one in imported if one.partition(".")[0] in POSIX)
        elif isinstance(node, ast.Attribute) and node.attr in SIGNALS | CALLS:
            yield node.lineno, node.attr


def test_nothing_needs_what_windows_lacks() -> None:
    """A text file or pipe names its encoding; what POSIX alone has stands behind a look whether it is there."""
    texts = {file: file.read_text(encoding="utf-8") for file in sorted(PACKAGE.rglob("*.py"))}
    found = [
        f"{file.relative_to(PACKAGE)}:{line} {what}"
        for file, text in texts.items()
        if SUSPICIOUS.search(text)
        for line, what in wanting(ast.parse(text))
    ]
    assert found == []


@each("scenario", ['a:b/c\\d?*|<e>"', "CON", "nul", "x. ", "é" * 300, ".."])
def test_names_of_files_are_names_on_windows(scenario: str) -> None:
    """No character that Windows refuses, no name of a device, no dot or blank at the end, and not too long."""
    name = transcript_name(RunKey(suite="s", scenario=scenario, variant="", trial=1))

    assert re.fullmatch(r"[A-Za-z0-9_.-]{1,128}", name)
    assert not re.match(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)", name)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A session whose streams have Windows' code page and whose files have no encoding but ASCII by default."""
    folder = tmp_path_factory.mktemp("portable")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (folder / "portable_agent.py").write_text(AGENT, encoding="utf-8")
    (folder / "agentbench.yaml").write_text(SUITE, encoding="utf-8")
    written = ["--agentbench-html=page.html", "--agentbench-markdown=report.md", "--agentbench-json=results.json"]
    return folder, run(folder, "pytest", "-p", "agentbench", "--agentbench", "--junitxml=junit.xml", *written)


def run(folder: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program beside this interpreter as on a machine that knows no UTF-8."""
    environ = {
        **os.environ,
        "LC_ALL": "C",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONUTF8": "0",
        "PYTHONIOENCODING": "cp1252",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    command = [str(Path(sys.executable).with_name(program)), *arguments]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, check=False, encoding="cp1252")


def test_a_session_under_a_code_page_reports_and_exits_as_ever(
    session: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    """What cp1252 lacks is escaped; files are UTF-8, whatever the machine prefers."""
    folder, done = session

    assert done.returncode == 1, done.stdout + done.stderr
    assert "2 passed, 1 failed" in done.stdout or "1 failed, 2 passed" in done.stdout
    assert "preis failed: communicate, the agent never said '12 " in done.stdout
    assert "INTERNALERROR" not in done.stdout
    for name in ("page.html", "report.md", "results.json", "junit.xml"):
        assert "preis" in (folder / name).read_text(encoding="utf-8")
    names = [path.name for path in (folder / ".agentbench").rglob("*")]
    assert [name for name in names if re.search(r'[<>:"/\\|?*]', name)] == []


def test_commands_under_a_code_page_end_without_a_traceback(
    session: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    """What cp1252 lacks is escaped there, too; all commands run in one process, each between two marks."""
    done = run(session[0], "python", "-c", COMMANDS)

    printed = dict(re.findall(r"(?s)<<(.*?)>>\n(.*?)<<ended (?:None|0|1)>>", done.stdout))
    assert "Traceback" not in done.stderr, done.stderr
    assert len(printed) == 8
    assert all(printed.values()), printed
    assert "preis" in printed["explain preis"]
