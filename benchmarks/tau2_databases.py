"""A τ²-bench domain's database checks beside τ²'s own: runs made of each task's expected calls, right and wrong ones.

    TAU2_BENCH=FOLDER python -m benchmarks.tau2_databases [--domain banking_knowledge] [--variants oracle,noop,…]

Each run's calls are made in a fresh world, its answers recorded, and the conversation handed to both evaluators. τ²'s
needs pandas, and loguru, deepdiff, addict, toml, python-dotenv, docstring-parser; its package is not imported.
"""

import argparse
import importlib
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from pytest_agentbench.core.scenario import Task
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.tau2.checkout import CheckoutSource, package_of
from pytest_agentbench.tau2.replay import Replayer
from pytest_agentbench.tau2.world import READ_LOG, beginning

OPTIONS: dict[str, dict[str, Any]] = {"banking_knowledge": {"retrieval_variant": "no_knowledge"}}
"""What makes τ²'s environment; any other retrieval may be billed, or needs a key."""


class Theirs:
    """τ²'s evaluators of a checkout, imported without its package's own imports."""

    def __init__(self, package: Path) -> None:
        os.environ.setdefault("TAU2_DATA_DIR", str(package.parent.parent / "data"))
        for name in ("tau2", "tau2.evaluator"):
            bare = ModuleType(name)
            bare.__path__ = [str(package.joinpath(*name.split(".")[1:]))]
            sys.modules[name] = bare
        logger = importlib.import_module("loguru").logger
        logger.disable("tau2")
        module = importlib.import_module
        self._module = module
        self.world = module("tau2.evaluator.evaluator_env").EnvironmentEvaluator
        self.others = (
            module("tau2.evaluator.evaluator_action").ActionEvaluator,
            module("tau2.evaluator.evaluator_communicate").CommunicateEvaluator,
        )
        self.task = module("tau2.data_model.tasks").Task
        messages = module("tau2.data_model.message")
        self.message = {
            "assistant": messages.AssistantMessage,
            "user": messages.UserMessage,
            "tool": messages.ToolMessage,
        }

    def database(self, domain: str, task: Any, messages: list[Any], *, solo: bool = False, **options: Any) -> float:
        """Give DB: 1 where both databases are equal."""
        build = self._module(f"tau2.domains.{domain}.environment").get_environment
        found = self.world.calculate_reward(
            build, task, messages, solo_mode=solo, env_kwargs=options, strict_replay=False
        )
        return float(found.db_check.db_reward)

    def parts(self, domain: str, task: Any, messages: list[Any], *, solo: bool) -> dict[str, float]:
        """Give DB, ACTION and COMMUNICATE."""
        action, communicate = (one.calculate_reward(task, messages).reward for one in self.others)
        database = self.database(domain, task, messages, solo=solo)
        return {"DB": database, "ACTION": action, "COMMUNICATE": communicate}


def tasks_of(domain: str, package: Path) -> Iterator[dict[str, Any]]:
    """Give a domain's tasks as τ² loads them: those of `tasks/task_*.json` where that folder is, else `tasks.json`."""
    folder = package.parent.parent / "data" / "tau2" / "domains" / domain
    files = sorted(folder.glob("tasks/task_*.json"))
    if files:
        yield from (json.loads(file.read_text(encoding="utf-8")) for file in files)
    else:
        yield from json.loads((folder / "tasks.json").read_text(encoding="utf-8"))


def variants(calls: Sequence[ToolCall], writes: Sequence[bool]) -> dict[str, list[ToolCall]]:
    """Give runs by name: all expected calls, none, writes alone, the last write left out or made twice, two swapped."""
    found = {
        "oracle": list(calls),
        "noop": [],
        "writes only": [call for call, does in zip(calls, writes, strict=True) if does],
    }
    places = [place for place, does in enumerate(writes) if does]
    if places:
        last = places[-1]
        found["last write dropped"] = [*calls[:last], *calls[last + 1 :]]
        found["last write twice"] = [*calls[: last + 1], *calls[last:]]
    if len(places) > 1:
        one, other = places[-2:]
        swapped = list(calls)
        swapped[one], swapped[other] = calls[other], calls[one]
        found["two writes swapped"] = swapped
    return found


def compared(
    domain: str, package: Path, chosen: Sequence[str] = (), theirs: Theirs | None = None
) -> Iterator[tuple[str, str, bool, bool]]:
    """Give (task, variant, their database check, ours) of each run; `chosen` variants alone, if any are."""
    theirs = theirs or Theirs(package)
    source = CheckoutSource(domain, package)
    replayer = Replayer(source)
    for stated in tasks_of(domain, package):
        task = Task.model_validate(stated)
        initial = beginning(task)
        logged = (initial.model_extra or {}).get(READ_LOG) if initial else None
        options = OPTIONS.get(domain, {}) | ({"read_log_allowlist": set(logged)} if logged else {})
        actions = (task.evaluation_criteria.actions if task.evaluation_criteria else None) or ()
        calls = [
            ToolCall(name=one.name, arguments=one.arguments, requestor=one.requestor, id=f"call_{place}")
            for place, one in enumerate(actions)
        ]
        for name, made in variants(calls, [source.mutates(call.name) for call in calls]).items():
            if chosen and name not in chosen:
                continue
            world = source.world()
            world.begin(initial)
            messages = []
            for call in made:
                content, failed = world.respond(call.name, call.requestor, call.arguments)
                asked = {"id": call.id, "name": call.name, "arguments": call.arguments, "requestor": call.requestor}
                messages += [
                    theirs.message[call.requestor](role=call.requestor, content=None, tool_calls=[asked]),
                    theirs.message["tool"](
                        id=call.id, role="tool", content=content, requestor=call.requestor, error=failed
                    ),
                ]
            expected = theirs.database(domain, theirs.task.model_validate(stated), messages, **options)
            yield task.id, name, expected == 1.0, replayer.replay(task, made).db_match


def main() -> int:
    """Print a row for each variant, and each run on which the two differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--domain", default="banking_knowledge")
    parser.add_argument("--variants", default="")
    options = parser.parse_args()
    package = package_of(Path(os.environ["TAU2_BENCH"]))
    counts: Counter[tuple[str, str]] = Counter()
    for task, name, theirs, ours in compared(options.domain, package, list(filter(None, options.variants.split(",")))):
        counts.update([(name, "n"), (name, f"theirs {theirs}"), (name, "agree" if theirs is ours else "differ")])
        if theirs is not ours:
            print(f"differ: {task} {name}: theirs {theirs}, ours {ours}")
    print(f"{'':20}{'n':>6}{'equal':>7}{'other':>7}{'agree':>7}{'differ':>8}")
    for name in dict.fromkeys(name for name, _ in counts):
        row = [counts[name, key] for key in ("n", "theirs True", "theirs False", "agree", "differ")]
        print(f"{name:20}{row[0]:>6}{row[1]:>7}{row[2]:>7}{row[3]:>7}{row[4]:>8}")
    return 1 if any(count for (_, key), count in counts.items() if key == "differ") else 0


if __name__ == "__main__":
    raise SystemExit(main())
