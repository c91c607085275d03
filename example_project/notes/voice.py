"""Words what the agent says itself, in the language of the question."""

import tomllib
from importlib.resources import files

PHRASES: dict[str, dict[str, str]] = tomllib.loads((files("notes") / "phrases.toml").read_text(encoding="utf-8"))
"""What the agent says: {phrase: {language: text}}."""


class Voice:
    """Words things in one language."""

    def __init__(self, *, french: bool) -> None:
        self.french = french

    def say(self, phrase: str, **values: object) -> str:
        """Fill a phrase of the table."""
        return PHRASES[phrase]["fr" if self.french else "en"].format(**values)
