"""What the page on PostgreSQL shows, against a server that is started for it: `apt install postgresql`."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, blocks
from tests.docs.test_docs import run_all, write

pytest.importorskip("psycopg")
pytestmark = pytest.mark.real

_PLACES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


@pytest.fixture
def server() -> Iterator[dict[str, str]]:
    """Start a server of its own on a socket in a temporary folder; it refuses to run as root."""
    found = shutil.which("initdb") or next((str(place / "initdb") for place in _PLACES if place.is_dir()), None)
    if found is None:
        pytest.skip("postgresql is not installed")
    binaries = Path(found).parent
    owner = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    with tempfile.TemporaryDirectory(prefix="pg-") as folder:  # a socket's path must be short
        data = Path(folder) / "data"
        shutil.chown(folder, owner)

        def run(*command: str) -> None:
            subprocess.run(command, user=owner, cwd=folder, check=True, capture_output=True, timeout=120)

        run(str(binaries / "initdb"), "-D", str(data), "-U", "bench", "--auth=trust", "--no-sync")
        control = [str(binaries / "pg_ctl"), "-D", str(data), "-w"]
        run(*control, "-l", f"{folder}/log", "-o", f"-k {folder} -c listen_addresses='' -c fsync=off", "start")
        try:
            yield {"PGHOST": folder, "PGUSER": "bench", "PATH": f"{binaries}:{os.environ['PATH']}"}
        finally:
            run(*control, "-m", "immediate", "stop")


def test_the_page_on_postgresql_is_true(
    server: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are written, its commands run in order, and no database of a run is left."""
    for name, value in server.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    for block in blocks(DOCS / "how-to" / "environment.md"):
        if block.file is not None:
            write(tmp_path / block.file, block.text)
        if block.language == "console":
            run_all(block, tmp_path)


def test_the_provider_is_as_short_as_it_says() -> None:
    """The pages promise 25 lines of code for it."""
    [provider] = [
        block for block in blocks(DOCS / "how-to" / "environment.md") if block.file == "shop/shop_postgres.py"
    ]
    _, body = provider.text.split("class Postgres")

    assert len([line for line in body.splitlines() if line.strip()]) <= 25
