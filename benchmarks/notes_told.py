"""Whether answers hold facts that may be worded in several ways, and cite one of several notes that say the same.

The suite's own checks know one wording and one source. Where a question of `notes_elsewhere` allows others, this check
stands in for them, with the same meaning: in conversations (S3) the first fact from the first answer on, the second
from the second; after a doubt (S4) the last one in the last answer; everything else in any answer.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml  # noqa: TID253 - not on the start-up path of the plugin
from bench.notes import checks

from pytest_agentbench import Finding
from pytest_agentbench.core.run import Run

QUESTIONS = "NOTES_QUESTIONS"
"""Environment variable with the path of the file that holds the questions."""


def told(run: Run) -> Iterator[Finding]:
    """Find for each fact and each source whether it was told where it was due."""
    question = _asked(run.scenario.id)
    answers = checks._answers(run)
    facts = [str(fact) for fact in question["facts"]]
    others = question.get("or", {})
    for number, fact in enumerate(facts):
        if fact:
            since = number if question["class"] == "S3" else 0
            yield _finding(fact, [fact, *others.get(fact, ())], answers[since:])
    for fact in map(str, question.get("also", ())):
        yield _finding(fact, [fact, *others.get(fact, ())], answers)
    if question["class"] == "S4" and any(facts):
        last = [*(fact for fact in facts if fact), *map(str, question.get("also", ()))][-1]
        yield _finding(last, [last, *others.get(last, ())], answers[-1:])
    if "source" in question:
        yield _finding(question["source"], [question["source"], *question.get("or_source", ())], answers)
    if question.get("also_source"):
        yield _finding(question["also_source"][0], question["also_source"], answers)


def _finding(expected: str, wordings: list[str], answers: list[str]) -> Finding:
    said = "\n".join(answers)
    plain = checks._plain(said)
    passed = any(checks._plain(str(wording)) in plain for wording in wordings)
    message = f"the agent said {said!r}"
    return Finding(check="told", kind="check", passed=passed, message=message, expected=expected)


def _asked(scenario: str) -> Mapping[str, Any]:
    asked = yaml.safe_load(Path(os.environ[QUESTIONS]).read_text(encoding="utf-8"))
    number = int(scenario.rpartition("-")[2])
    question: Mapping[str, Any] = asked["questions"][number - 1]
    return question
