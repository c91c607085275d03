"""How a cassette names runs: without the suite, whose path depends on where pytest was started."""

from typing import NamedTuple, Self

from pytest_agentbench.core.run import RunKey
from pytest_agentbench.core.values import JsonValue


class RunName(NamedTuple):
    """One attempt of a run of the cassette's suite; sorts as cassettes are sorted."""

    scenario: str
    variant: str
    trial: int
    attempt: int
    fault: str = ""

    @classmethod
    def of(cls, key: RunKey | None) -> Self:
        """Name a run; None is the session's own work."""
        return cls("", "", 0, 0) if key is None else cls(key.scenario, key.variant, key.trial, key.attempt, key.fault)

    @classmethod
    def read(cls, value: JsonValue) -> Self:
        """Read what `written` gave; raise `ValueError` for anything else."""
        if value is None:
            return cls.of(None)
        given: dict[str, JsonValue] = value if isinstance(value, dict) else {}
        whole = {"variant": "", "trial": 1, "attempt": 1, "fault": "", **given}
        texts = all(isinstance(whole.get(name), str) for name in ("scenario", "variant", "fault"))
        numbers = all(type(whole[name]) is int and whole[name] > 0 for name in ("trial", "attempt"))
        if not texts or not numbers or not whole["scenario"] or whole.keys() - {*cls._fields}:
            raise ValueError(
                f"`run` is {value!r}; it must be null or hold `scenario` (text) and, where not 1 or empty, "
                f"`variant` and `fault` (text), `trial` and `attempt` (from 1)"
            )
        return cls(**whole)

    def written(self) -> JsonValue:
        """Give the JSON form: null for the session, else an object without what has its usual value."""
        if not self.scenario:
            return None
        usual = {"variant": "", "trial": 1, "attempt": 1, "fault": ""}
        return {name: value for name, value in self._asdict().items() if usual.get(name) != value}

    def __str__(self) -> str:
        if not self.scenario:
            return "the session"
        label = "-".join(part for part in (self.variant, self.fault) if part)
        variant = f"[{label}]" if label else ""
        attempt = f", attempt {self.attempt}" if self.attempt > 1 else ""
        return f"{self.scenario}{variant}, trial {self.trial}{attempt}"
