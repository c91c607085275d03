"""What can be changed about the agent: the default is right, the other value is a bug seen in real agents."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the agent behaves."""

    swap_coordinates: bool = False
    """True: latitude and longitude change places in every call."""
