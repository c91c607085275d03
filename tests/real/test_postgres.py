"""What the page on PostgreSQL shows, against a server that is started for it: `apt install postgresql`."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, Block, blocks
from tests.docs.test_docs import run_all, write

pytest.importorskip("psycopg")
pytestmark = pytest.mark.real

_PLACES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


BESIDE = {
    "shop/shop_tools.py": '''
def refund(state, order_id: str) -> dict:
    """Refund an order."""
    return state.execute("UPDATE orders SET status = 'refunded' WHERE id = %s RETURNING *", (order_id,)).fetchone()
''',
    "shop/shop_agent.py": """
def build(tools):
    return lambda message: f"Refunded: {tools[0](order_id=message.split()[2].strip(','))}"
""",
    "shop/shop.sql": """
CREATE TABLE orders (id text PRIMARY KEY, status text NOT NULL, placed timestamptz DEFAULT '2026-01-01');
INSERT INTO orders VALUES ('W1', 'delivered');
""",
}
"""What the page leaves out: tools, an agent, and the data of the template."""

COMMANDS = """
$ createdb shop_template && psql --quiet --file shop/shop.sql shop_template
$ pytest --agentbench shop
… 1 passed in …
$ psql --tuples-only --command "SELECT count(*) FROM pg_database WHERE datname LIKE 'bench%'" postgres
0
"""


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
    """With its provider and its suite a session passes, and no database of a run is left."""
    for name, value in server.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    for block in blocks(DOCS / "how-to" / "environment.md"):
        if block.file is not None and block.file.startswith("shop/"):
            write(tmp_path / block.file, block.text)
    for name, text in BESIDE.items():
        write(tmp_path / name, text)

    run_all(Block(page=Path(__file__), line=0, language="console", words={}, text=COMMANDS), tmp_path)


def test_the_provider_is_as_short_as_it_says() -> None:
    """The pages promise 25 lines of code for it."""
    [provider] = [
        block for block in blocks(DOCS / "how-to" / "environment.md") if block.file == "shop/shop_postgres.py"
    ]
    _, body = provider.text.split("class Postgres")

    assert len([line for line in body.splitlines() if line.strip()]) <= 25
