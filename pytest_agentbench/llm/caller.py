"""Who calls a model: a role within a run, or a role of the session's own."""

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.run import RunKey


class Caller(Model):
    """What calls are counted, budgeted and replayed under; `run` None is work that belongs to no run.

    `role` is `agent`, `user`, `judge`, …
    """

    role: str
    run: RunKey | None = None

    def __str__(self) -> str:
        return f"{self.run or 'session'}/{self.role}"
