"""A process of a session: plays runs through a recorder of its own, and dies in the middle of one when told to."""

import os
from pathlib import Path

from pytest_agentbench.llm.cassette.modes import Mode
from tests.llm.cassette.talk import Bench, counting, refusing, run, turns


def play(
    folder: Path, process: str, mode: str, scenarios: tuple[str, ...], *, asks: str, dies: int
) -> dict[str, list[str]]:
    """Play the scenarios one after the other, three turns each; die after `dies` answers; give what was heard."""
    recorder = Bench(folder).open(Mode(mode), process)
    model = counting(f"{process} said") if asks == "live" else refusing
    answers = 0
    heard: dict[str, list[str]] = {}
    for scenario in scenarios:
        heard[scenario] = []
        for text in turns(recorder, run(scenario), model, ["a", "b", "c"]):
            heard[scenario].append(text)
            answers += 1
            if answers == dies:
                os._exit(9)
        recorder.finished(run(scenario))
    return heard
