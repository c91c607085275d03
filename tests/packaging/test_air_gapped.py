"""Where there is no network, it installs from a folder of wheels, plays and reports, and tries no connection."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.try_package import ROOT, run, write_readme_suite

pytestmark = pytest.mark.real

APART = ["unshare", "-rn"]
"""What starts a program in a network namespace without a route, not even to itself."""

NOT_APART = "a network namespace of one's own is not to be had: unshare -rn"


def can_be_apart() -> bool:
    """Whether this machine lets a user have a network namespace of their own."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*APART, "true"], capture_output=True, check=False).returncode == 0


def watched(command: list[str], folder: Path) -> tuple[str, list[str]]:
    """Run a program apart; give what it prints, and the connections that it or a child of it tried."""
    log = folder / "connections"
    strace = ["strace", "-f", "-qq", "-e", "trace=connect,sendto", "-o", str(log)] if shutil.which("strace") else []
    printed = run([*APART, *strace, *command], folder)
    tried = log.read_text(encoding="utf-8", errors="replace").splitlines() if strace else []
    return printed, [line for line in tried if re.search(r"AF_INET6?\b", line)]


@pytest.mark.skipif(not can_be_apart(), reason=NOT_APART)
def test_it_works_without_a_network(tmp_path: Path) -> None:
    """The README's suite passes and its reports are written; no step asks for a name or an address."""
    house, environment = tmp_path / "wheels", tmp_path / "env"
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    run([*pip, "wheel", "-w", str(house), str(ROOT)], tmp_path)  # `pip download` leaves docopt without a wheel
    write_readme_suite(tmp_path / "readme")
    run([sys.executable, "-m", "venv", str(environment)], tmp_path)
    beside = environment / "bin"

    lost = "import socket; socket.socket().connect_ex(('192.0.2.1', 80))"
    _, seen = watched([sys.executable, "-c", lost], tmp_path)
    assert len(seen) == bool(shutil.which("strace"))  # a connection would show

    offline = ["-m", "pip", "install", "-q", "--no-index", "--find-links", str(house), "pytest-agentbench"]
    _, installing = watched([str(beside / "python"), *offline], tmp_path)
    reports = ["--agentbench-html=page.html", "--agentbench-markdown=report.md", "--agentbench-json=results.json"]
    played, playing = watched([str(beside / "pytest"), "--agentbench", "bench", *reports], tmp_path / "readme")
    told, telling = watched([str(beside / "agentbench"), "report", "results.json"], tmp_path / "readme")
    first = tmp_path / "first"
    first.mkdir()
    (first / "my_agent.py").write_text("def build():\n    return lambda message: 'From 9 am.'\n", encoding="utf-8")
    begun, beginning = watched([str(beside / "agentbench"), "init", "--say", "When are you open?"], first)

    assert "2 passed" in played
    assert "2 scenarios" in told
    assert "wrote agentbench.yaml" in begun
    assert [one for one in (installing, playing, telling, beginning) if one] == []
    for name in ("page.html", "report.md"):
        assert (tmp_path / "readme" / name).stat().st_size


@pytest.mark.skipif(not can_be_apart(), reason=NOT_APART)
@pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="mkdocs is not installed: the group `docs`")
def test_the_documentation_is_built_and_read_without_a_network(tmp_path: Path) -> None:
    """No page loads a script, a style, a font or a picture from elsewhere."""
    site = tmp_path / "site"
    mkdocs = [sys.executable, "-m", "mkdocs", "build", "-q", "-f", str(ROOT / "mkdocs.yml"), "-d", str(site)]
    _, tried = watched(mkdocs, tmp_path)

    pages = [page.read_text(encoding="utf-8") for page in site.rglob("*.html")]
    loaded = re.compile(r"<(?:script|img|iframe)\b[^>]*\bsrc=.?(?:https?:)?//|<link\b[^>]*\brel=.?(?:s|i|pre)[^>]*//")
    assert loaded.search('<link rel="preconnect" href="https://fonts.gstatic.com" crossorigin>')
    assert tried == []
    assert len(pages) > 20
    assert [found[0] for text in pages if (found := loaded.search(text))] == []
