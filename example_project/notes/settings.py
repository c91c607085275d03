"""What can be configured about the agent; a variant is a choice of these and nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import yaml


class SettingsError(ValueError):
    """A setting is unknown or has an impossible value; the message names it and what is allowed."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the agent works; the defaults are the full agent."""

    reading: Literal["section", "full"] = "section"
    """full: every note that is consulted is read whole."""

    planner: bool = True
    """False: a message is one search, whatever it asks."""

    memory: bool = True
    """False: every message stands alone."""

    reflection: bool = True
    """False: the first draft is the answer."""

    mode: Literal["flexible", "strict"] = "flexible"
    """strict: a plan stops at its first failed sub-task."""

    retries: int = 2
    """How often a failed sub-task is tried again (paper §4.3.2)."""

    workers: int = 1
    """How many sub-tasks may run at one time; with more than one the order of calls may differ between runs."""

    threshold: float = 0.7
    """Score from which a draft is accepted (paper §6.2)."""

    rounds: int = 3
    """How many drafts are judged at most (paper §8.1)."""

    memory_tokens: int = 800
    """What memory may add to a turn, in tokens (paper §7.3)."""

    semantic: Literal["words", "embeddings"] = "words"
    """embeddings: sentence embeddings find what was said before, instead of BM25."""

    costs: str | None = None
    """CSV file with one row a model call."""

    profile: str | None = None
    """JSON file that keeps the user's interests."""

    models: Mapping[str, str] | None = None
    """The model of each role: planner, answer, memory, critic; `default` for the rest."""

    seconds: float = 120
    """How long a model may take for an answer."""

    price: tuple[float, float] = (0.0, 0.0)
    """US dollars for a million tokens given to the models and a million tokens they give; rules cost nothing."""


def read_settings(config: str | Path | None = None, **given: Any) -> Settings:
    """Give the settings of a YAML file with the given ones over them; raise `SettingsError` for what they cannot be."""
    return _checked({**(_from_file(Path(config)) if config else {}), **given})


def _from_file(file: Path) -> dict[str, Any]:
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingsError(f"{file}: cannot be read as YAML: {error}") from error
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise SettingsError(f"{file}: must be a mapping of settings, found {type(data).__name__}")
    return {str(key): value for key, value in data.items()}


def _checked(given: dict[str, Any]) -> Settings:
    known = {item.name: item for item in fields(Settings)}
    unknown = sorted(given.keys() - known)
    if unknown:
        raise SettingsError(f"unknown setting {unknown[0]!r}; the settings are {', '.join(known)}")
    for name, (test, allowed) in _ALLOWED.items():
        if name in given and not test(given[name]):
            raise SettingsError(f"{name} is {given[name]!r}; it must be {allowed}")
    return Settings(**{**given, **({"price": tuple(given["price"])} if "price" in given else {})})


def _whole(least: int) -> Any:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _flag(value: object) -> bool:
    return isinstance(value, bool)


_ALLOWED: dict[str, tuple[Any, str]] = {
    "reading": (lambda value: value in ("section", "full"), "section or full"),
    "planner": (_flag, "true or false"),
    "memory": (_flag, "true or false"),
    "reflection": (_flag, "true or false"),
    "mode": (lambda value: value in ("flexible", "strict"), "flexible or strict"),
    "retries": (_whole(0), "a whole number from 0"),
    "workers": (_whole(1), "a whole number from 1"),
    "threshold": (
        lambda value: _number(value) and 0 <= value <= 1,
        "a number from 0 to 1",
    ),
    "rounds": (_whole(1), "a whole number from 1"),
    "memory_tokens": (_whole(0), "a whole number from 0"),
    "semantic": (lambda value: value in ("words", "embeddings"), "words or embeddings"),
    "costs": (lambda value: value is None or isinstance(value, str), "a path"),
    "profile": (lambda value: value is None or isinstance(value, str), "a path"),
    "seconds": (lambda value: _number(value) and value > 0, "a number of seconds above 0"),
    "price": (
        lambda value: (
            isinstance(value, list | tuple) and len(value) == 2 and all(_number(one) and one >= 0 for one in value)
        ),
        "two numbers from 0: US dollars a million tokens given, and got",
    ),
    "models": (
        lambda value: value is None or (isinstance(value, Mapping) and all(isinstance(v, str) for v in value.values())),
        "a mapping of roles to models",
    ),
}
