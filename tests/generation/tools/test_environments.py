"""Environments that follow one another: each is fresh, one is ready when it is asked for, and all are closed."""

import asyncio
from pathlib import Path

import pytest

from pytest_agentbench.generation.tools.probing.session import Environments
from pytest_agentbench.generation.tools.world import world_of
from tests.generation.tools.making import read
from tests.generation.tools.test_bad_servers import SERVER, suite

pytest.importorskip("mcp")


def test_each_environment_is_fresh_and_none_is_left(tmp_path: Path) -> None:
    """Three servers one after the other, the third started while the second is used, each in a folder of its own."""
    world = world_of(read(suite(tmp_path, "files")))
    log = tmp_path / "log.txt"

    async def followed() -> list[str]:
        several = Environments(world)
        lists = []
        for number in range(3):
            opened = await several.next()
            lists.append((await opened.call("list_files", {})).content)
            await opened.call("write_file", {"name": f"file-{number}"})
        await several.aclose()
        await several.aclose()
        return lists

    lists = asyncio.run(followed())

    folders = {Path(line.split(" ")[1]) for line in log.read_text().splitlines()}
    assert lists == ["no files"] * 3
    assert len(folders) == 3
    assert not any(folder.exists() for folder in folders)


def test_what_does_not_open_ahead_is_opened_when_it_is_asked_for(tmp_path: Path) -> None:
    """A server that fails to start once in between is started again."""
    server = tmp_path / "now_and_then.py"
    server.write_text(
        "import runpy, sys\nfrom pathlib import Path\n"
        "starts = Path(sys.argv[2]).with_name('starts.txt')\n"
        "number = len(starts.read_text()) if starts.exists() else 0\n"
        "starts.write_text('x' * (number + 1))\n"
        f"assert number != 2\nrunpy.run_path({str(SERVER)!r}, run_name='__main__')\n"
    )
    path = suite(tmp_path, "one")
    path.write_text(path.read_text().replace(str(SERVER), str(server)))
    world = world_of(read(path))

    async def followed() -> list[str]:
        several = Environments(world)
        words = [(await (await several.next()).call("get_word", {})).content for _ in range(3)]
        await several.aclose()
        return words

    assert asyncio.run(followed()) == ["yes"] * 3
