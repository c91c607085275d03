"""The notes agent's variants on documentation that nobody here wrote: the same table as over its own vault.

    npm pack fastify@5.12.8 && tar xzf fastify-5.12.8.tgz
    python -m benchmarks.notes_elsewhere package/docs [--questions FILE] [--variant NAME]

The questions, and the facts that answers have to hold, stand in `notes_elsewhere.yaml` (fastify),
`notes_libraries.yaml` (undici, pino, date-fns) and `notes_held_out.yaml` (npm, eslint-plugin-jsx-a11y, DSFR); each says
how its folder is made. They were written from the documentation and the agent's README, without a look at its code.
Nothing is installed or fetched. The folder is only read; suite and results stand in a temporary folder.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml  # noqa: TID253 - not on the start-up path of the plugin

HERE = Path(__file__).parent
EXAMPLE = HERE.parent / "example_project"
CHECKS = "bench.notes.checks"
ALLOWING = frozenset({"or", "or_source", "also_source"})
"""Keys of a question that allow other wordings and sources, or ask for a second one: `notes_told` checks these."""


def scenario(position: int, question: Mapping[str, Any]) -> dict[str, Any]:
    """Give one question as a scenario, with the checks that the example's own scenarios of its class have.

    It ends with thanks, so that an agent that asks back where it should answer fails instead of being left out.
    """
    facts = [*question["facts"]]
    told = [*(fact for fact in facts if fact), *question.get("also", ())]
    sources = [question["source"]] if "source" in question else []
    checks = []
    if ALLOWING & question.keys():
        told, sources, checks = [], [], ["benchmarks.notes_told:told"]
    elif question.get("none"):
        checks = [f"{CHECKS}:last_answer_admits_it"]
    elif question["class"] == "S3":
        checks = [f"{CHECKS}:one_fact_an_answer"]
    elif question["class"] == "S4":
        checks = [f"{CHECKS}:last_answer_says_it"]
        told, sources = sources + told, []
    return {
        "id": f"{question['class']}-{question['language']}-{position}",
        "says": [*question["says"], "Thank you." if question["language"] == "en" else "Merci."],
        "communicate": told + sources,
        "checks": checks,
        "tags": [f"class:{question['class']}", f"language:{question['language']}"],
    }


def suite(docs: Path, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Give the example's suite with the questions in place of its scenarios and `docs` in place of its vault."""
    own: dict[str, Any] = yaml.safe_load((EXAMPLE / "notes.agentbench.yaml").read_text(encoding="utf-8"))
    own["name"] = f"{asked['package']} {asked['version']}"
    own["environment"]["state"]["folder"] = str(docs.resolve())
    own["policies"] = []
    own["scenarios"] = [scenario(position, one) for position, one in enumerate(asked["questions"], start=1)]
    return own


def main() -> int:
    """Run all variants and print the table; give 0 where it could be printed, else 1 and what pytest said."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("docs", type=Path, help="folder with the documentation")
    parser.add_argument("--questions", type=Path, default=HERE / "notes_elsewhere.yaml")
    parser.add_argument("--variant", default="all")
    options = parser.parse_args()
    if not any(options.docs.rglob("*.md")):
        parser.error(f"there is no Markdown file below {str(options.docs)!r}")
    asked = yaml.safe_load(options.questions.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "elsewhere.agentbench.yaml"
        file.write_text(
            yaml.safe_dump(suite(options.docs, asked), allow_unicode=True, sort_keys=False), encoding="utf-8"
        )
        (Path(folder) / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--agentbench", file.name]
        said = subprocess.run(
            [*command, "--agentbench-variant", options.variant],
            cwd=folder,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join((str(EXAMPLE), str(HERE.parent))),
                "NOTES_QUESTIONS": str(options.questions.resolve()),
            },
            capture_output=True,
            text=True,
            check=False,
        ).stdout
    start = said.find("= agentbench:")
    print(said[said.rfind("\n", 0, start) + 1 :] if start >= 0 else said)
    return 0 if start >= 0 else 1


if __name__ == "__main__":
    sys.exit(main())
