"""What the agent sees as its session: a new id in every run, and one name for it in whatever is recorded."""

from typing import Any
from uuid import uuid4


def new_session_id() -> str:
    """Give an id that no run has had and nobody can foresee: whatever outlives a session remembers by it."""
    return uuid4().hex


class SessionName:
    """The id of a run's session in what is recorded: there it is `known_as` a name that is the same every time.

    An agent may tell its model which session it is in, and the model may answer with it.
    """

    def __init__(self, session_id: str, *, known_as: str) -> None:
        self._id = session_id
        self._name = known_as

    def recorded(self, value: dict[str, Any]) -> dict[str, Any]:
        """Give a request or an answer as it is recorded and compared."""
        return _replaced(value, self._id, self._name)

    def played(self, value: dict[str, Any]) -> dict[str, Any]:
        """Give a recorded answer as the session of now would have been answered."""
        return _replaced(value, self._name, self._id)


def _replaced(value: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    """Replace a text wherever it stands, keys included; give the very `value` where it stands nowhere."""

    def changed(part: Any) -> Any:
        if isinstance(part, str):
            return part.replace(old, new)
        if isinstance(part, dict):
            return {changed(key): changed(item) for key, item in part.items()}
        if isinstance(part, list | tuple):
            return [changed(item) for item in part]
        return part

    return changed(value) if old and old in repr(value) else value
