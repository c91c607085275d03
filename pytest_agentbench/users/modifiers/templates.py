"""The texts of modifiers: instructions for the prompt, and questions beside the matter, read from versioned files."""

from functools import cache
from importlib.resources import files
from string import Template

from pytest_agentbench.core.modifier import ModifierName

VERSION = "v1"


def instruction(name: ModifierName, /, **values: str) -> str:
    """Fill the instruction of a modifier; a value that the template names must be given."""
    return Template(_read(f"{name}.{VERSION}.md")).substitute(values).strip()


def questions(language: str) -> tuple[str, ...]:
    """Give the questions beside the matter in a language (`en`, `fr`)."""
    return tuple(line for line in _read(f"questions.{language}.txt").splitlines() if line.strip())


@cache
def _read(name: str) -> str:
    return (files("pytest_agentbench.users.modifiers") / "prompts" / name).read_text(encoding="utf-8")
