"""What the agent says, in the language it is spoken to."""

import tomllib
from importlib.resources import files

PHRASES: dict[str, dict[str, str]] = tomllib.loads((files("weather") / "phrases.toml").read_text(encoding="utf-8"))
"""What the agent says: {phrase: {language: text}}."""


class Voice:
    """Words things in one language."""

    def __init__(self, *, french: bool) -> None:
        self.french = french

    @property
    def lang(self) -> str:
        """The language as the service calls it."""
        return "fr" if self.french else "en"

    def say(self, phrase: str, **values: object) -> str:
        """Fill a phrase of the table."""
        return PHRASES[phrase][self.lang].format(**values)

    def number(self, number: float) -> str:
        """Write a number: French has a comma."""
        return str(number).replace(".", ",") if self.french else str(number)
