"""A scripted model for benchmarks, in a process of its own: `python benchmarks/loopback.py LATENCY`.

A scenario is 5 user turns and 16 calls: 6 of the simulated user's (5 messages, then the close), 8 of the agent's (3 of
its 5 turns look something up first), the critique of the ending, and the judge's. Each speaks of a ware of its own, so
that no text of one conversation is met again in another.
"""

import json
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.testing import Answer, ModelRequest, ModelServer, call, structured, text

TURNS = 5
LOOKED_UP = frozenset({0, 2, 4})
"""The turns in which the agent uses its tool before it speaks."""

CALLS = (TURNS + 1) + (TURNS + len(LOOKED_UP)) + 2
CRITERIA = {"answers": "The agent answers what it is asked.", "polite": "The agent is polite throughout."}

SYSTEM = "You help customers of a shop with their orders. " * 12
SAID = (
    "Hello, I have a question about the {ware} that I ordered from you.",
    "Could you tell me how the {ware} is going to be delivered?",
    "And would it be possible to have the {ware} wrapped as a present?",
    "What happens when nobody is at home to take the {ware} in?",
    "Fine. Which papers come along with the {ware}, by the way?",
)
ANSWERED = (
    "Certainly, that is what we are there for. Our records hold the {ware} and all that belongs to it.",
    "By courier, the {ware} in a box that bears no print, between morning and evening of a working day.",
    "Wrapping the {ware} is free of charge for members, and a ribbon in the colour of your choice comes with it.",
    "The courier leaves a card, tries once more on the following day, then hands the {ware} to the nearest shop.",
    "An invoice, the terms of the guarantee, and a slip by which the {ware} can be returned free of charge.",
)

_SORTS = ("amber", "beige", "black", "blue", "bronze", "brown", "coral", "green", "grey", "ivory", "lilac", "red")
_WARES = ("basket", "bench", "blanket", "candle", "carpet", "chair", "clock", "curtain", "kettle", "ladder", "lamp",
          "mirror", "rug", "sofa", "stool", "table", "tray", "vase")  # fmt: skip
_NAMED = re.compile(r"the (\w+ \w+) that (?:you|I) ordered")


def ware(number: int) -> str:
    """Name what the conversation of a scenario is about; 216 of them differ."""
    return f"{_SORTS[number % len(_SORTS)]} {_WARES[number // len(_SORTS) % len(_WARES)]}"


def goal(number: int) -> str:
    """Say what the user of a scenario wants."""
    return f"You want to know all about the delivery of the {ware(number)} that you ordered."


@dataclass(frozen=True)
class Load:
    """What is asked of a server."""

    scenarios: int
    latency: float
    in_flight: int

    @property
    def calls(self) -> int:
        """The number of model calls."""
        return self.scenarios * CALLS

    @property
    def floor(self) -> float:
        """The seconds that nobody can go below."""
        return self.calls * self.latency / self.in_flight


def play_user(request: ModelRequest) -> Answer:
    """Say the next line, and close after the last."""
    said = sum(message["role"] == "assistant" for message in request.messages)
    is_over = said == TURNS
    return structured(
        {
            "text": "" if is_over else SAID[said].format(ware=_about(request)),
            "acts": [{"kind": "close" if is_over else "ask", "facts": []}],
            "goal": [{"item": "know about the delivery", "done": is_over}],
            "shows": [],
            "stop": "done" if is_over else None,
            "decision": None,
        }
    )


def play_agent(request: ModelRequest) -> Answer:
    """Look something up, then answer."""
    turn = sum(message["role"] == "user" for message in request.messages) - 1
    if turn in LOOKED_UP and request.messages[-1]["role"] == "user":
        return call("look_up", topic=f"chapter {turn}")
    return text(ANSWERED[turn % TURNS].format(ware=_about(request)))


def _about(request: ModelRequest) -> str:
    """Read off the prompt, or the user's first line, what the conversation is about."""
    found = (_NAMED.search(str(message["content"])) for message in request.messages)
    return next((match[1] for match in found if match), "parcel")


def play_judge(request: ModelRequest) -> Answer:
    """Find the ending true and the agent good, each with a quote from the record."""
    cited = [{"turn": 2, "quote": ANSWERED[0].partition(".")[0]}]
    asked = request.body["response_format"]["json_schema"]["name"]
    if asked == "EndVerdict":
        return structured({"evidence": cited, "reason": "All was answered.", "ended": True, "feedback": ""})
    told = {"applies": True, "evidence": cited, "reason": "It does in each turn.", "score": 10}
    return structured({"verdicts": [{"criterion": name, **told} for name in CRITERIA]})


def serve(latency: float) -> None:
    """Serve until standard input ends; print the address first and the figures last."""
    arrived: list[float] = []

    def timed(play: Callable[[ModelRequest], Answer]) -> Callable[[ModelRequest], Answer]:
        def played(request: ModelRequest) -> Answer:
            arrived.append(time.perf_counter())
            return play(request)

        return played

    players = {"user": play_user, "agent": play_agent, "judge": play_judge, "plain": lambda _: text(ANSWERED[0])}
    script = {name: timed(play) for name, play in players.items()}
    with ModelServer(script, latency=latency) as server:
        print(server.base_url, flush=True)
        sys.stdin.read()
        figures = {"calls": len(server.requests), "peak": server.peak_in_flight, "problems": server.problems[:3]}
    figures["seconds"] = arrived[-1] - arrived[0] + latency if arrived else 0.0
    print(json.dumps({**figures, "cpu": cpu_of(resource.RUSAGE_SELF)}), flush=True)


@contextmanager
def served(load: Load) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give the address of a new server, and a mapping that holds its figures once the block has ended."""
    command = [sys.executable, __file__, str(load.latency)]
    figures: dict[str, Any] = {}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), figures
        finally:
            told, _ = process.communicate(timeout=30)
            figures.update(json.loads(told.splitlines()[-1]))


def cpu_of(who: int) -> float:
    """The CPU seconds of this process or of its children."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    serve(float(sys.argv[1]))
