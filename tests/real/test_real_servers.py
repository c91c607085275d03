"""Scenarios of servers that other people wrote: generated anew in small, and the committed ones played by the oracle.

Servers are looked for on the PATH, in the folders that AGENTBENCH_REAL_SERVERS names, and beside this Python; how to
install them stands in `benchmarks/real_services/README.md`.
"""

import json
import os
import shutil
import sys
import time
from pathlib import Path

import pytest
import yaml

from pytest_agentbench.cli import main
from pytest_agentbench.generation.tools.probing.prober import probe
from pytest_agentbench.generation.tools.probing.session import Budget
from pytest_agentbench.generation.tools.world import world_of
from tests.generation.tools.making import read

pytest.importorskip("mcp")
pytestmark = pytest.mark.real

SERVICES = Path(__file__).parents[2] / "benchmarks/real_services"
ODD = Path(__file__).parents[1] / "generation/tools/odd_server.py"
PROGRAMS = {
    "memory": ("mcp-server-memory",),
    "filesystem": ("mcp-server-filesystem",),
    "git": ("mcp-server-git", "git"),
    "taskwarrior": ("taskwarrior-mcp", "task"),
    "kinto": ("kinto",),
    "time": ("mcp-server-time",),
}
COMMITTED = sorted(folder.parent.parent.name for folder in SERVICES.glob("*/generated/scenarios"))
PLAYED = 4
"""Committed scenarios that are played of each service: a server is started eight times for each."""


def installed(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the programs of a service on the PATH; skip where one is not installed."""
    folders = os.environ.get("AGENTBENCH_REAL_SERVERS", "").split(os.pathsep)
    path = os.pathsep.join([*filter(None, folders), str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    for program in PROGRAMS[service]:
        if shutil.which(program, path=path) is None:
            pytest.skip(f"{program} is not installed")
    monkeypatch.setenv("PATH", path)


def copied(service: str, folder: Path) -> Path:
    """Copy the suite of a service; give its file."""
    shutil.copytree(SERVICES / service, folder / service, ignore=shutil.ignore_patterns(".agentbench"))
    shutil.copy(SERVICES / "kinto.ini", folder)
    return folder / service / "agentbench.yaml"


@pytest.mark.parametrize("service", COMMITTED)
def test_committed_scenarios_are_passed_by_a_right_run_and_by_no_idle_one(
    service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The oracle makes the expected calls on the real server; weak agents fail; every value can be known."""
    installed(service, monkeypatch)
    suite = copied(service, tmp_path)
    files = sorted((suite.parent / "generated/scenarios").glob("*.yaml"))
    for place, file in enumerate(files):
        if place % (len(files) // PLAYED):
            file.unlink()

    status = main(["validate", str(suite), "--no-mutants"])

    out = capsys.readouterr().out
    assert status == 0, out
    assert f"{PLAYED} of {PLAYED} scenarios valid" in out


@pytest.mark.parametrize("service", COMMITTED)
def test_committed_scenarios_say_where_each_argument_is_from(service: str) -> None:
    """Twenty of them, of several tools each, and what a user is to say names no tool."""
    forms = [
        yaml.safe_load(file.read_text("utf-8")) for file in (SERVICES / service).glob("generated/scenarios/*.yaml")
    ]
    tools = {call["name"] for form in forms for call in form["expect"]}

    assert len(forms) == 20
    for form in forms:
        assert len(form["expect"]) >= 2
        for call, origin in zip(form["expect"], form["provenance"]["calls"], strict=True):
            arguments = {path.split(".")[0] for path in origin["arguments"]}
            assert arguments == set(call["arguments"]), form["id"]
        assert not any(tool in line for tool in tools if "_" in tool for line in map(str, form["says"]))


def test_scenarios_of_a_server_are_generated_and_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the tools of a server alone: probed, walked, played, written, and passed by the oracle."""
    installed("time", monkeypatch)
    suite = tmp_path / "agentbench.yaml"
    suite.write_text(
        "agent: nowhere:build\n"
        "environment: {tools: {mcp: {command: [mcp-server-time, --local-timezone, UTC]}, share: session},\n"
        "  reads: [get_current_time, convert_time]}\n"
        "scenarios: [generated/scenarios/*.yaml]\n"
        "generate: {from: tools, count: 3, seed: 7, complexity: {simple: 1}, values: {time: ['09:30', '16:45'],\n"
        "  timezone: [Europe/Paris, Asia/Tokyo], source_timezone: [Europe/Paris, Asia/Tokyo],\n"
        "  target_timezone: [America/New_York, Asia/Kolkata]}}\n"
    )

    generated = main(["generate", str(suite)])
    validated = main(["validate", str(suite), "--no-mutants"])

    out = capsys.readouterr().out
    assert (generated, validated) == (0, 0), out
    assert "3 of 3 scenarios valid" in out


async def test_a_server_that_hangs_or_floods_has_a_card_that_says_so(tmp_path: Path) -> None:
    """A call without an answer is given up, five megabytes are cut off, and the other tool is probed all the same."""
    for mode, tool in (("hang", "get_stuck"), ("large", "get_flood")):
        command = [sys.executable, str(ODD), mode, str(tmp_path / "log.txt"), "{run_dir}"]
        path = tmp_path / f"{mode}.agentbench.yaml"
        path.write_text(
            f"agent: nowhere:build\nenvironment: {{tools: {{mcp: {{command: {json.dumps(command)}}}}}}}\n"
            "scenarios: [generated/scenarios/*.yaml]\ngenerate: {from: tools}\n"
        )
        world = world_of(read(path), patience=4.0)
        await world.described()
        began = time.monotonic()

        cards = await probe(world, seed=3, budget=Budget(nominal=1, challenges=1, observed=1, effects=1))

        assert time.monotonic() - began < 50
        card, other = cards.get(tool), cards.get("get_word")
        assert card is not None
        assert other is not None
        assert len(json.dumps(card.model_dump(mode="json"))) < 200_000
        assert ("no answer within 4 s" in card.partial) == (mode == "hang")
        assert other.partial == ""
