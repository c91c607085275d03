"""A process of a session: plays runs through a recorder of its own, and dies in the middle of one when told to."""

import json
import os
import sys
from pathlib import Path

from pytest_agentbench.llm.cassette.modes import Mode
from tests.llm.cassette.talk import Bench, counting, refusing, run, turns


def main(*arguments: str) -> None:
    """Play the scenarios one after the other, three turns each; die after `dies` answers; print what was heard."""
    folder, process, mode, scenarios, asks, dies = arguments
    recorder = Bench(Path(folder)).open(Mode(mode), process)
    model = counting(f"{process} said") if asks == "live" else refusing
    answers = 0
    heard = {}
    for scenario in scenarios.split(","):
        heard[scenario] = []
        for text in turns(recorder, run(scenario), model, ["a", "b", "c"]):
            heard[scenario].append(text)
            answers += 1
            if answers == int(dies):
                os._exit(9)
        recorder.finished(run(scenario))
    print(json.dumps(heard))


if __name__ == "__main__":
    main(*sys.argv[1:])
