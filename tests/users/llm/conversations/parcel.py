"""What a customer of the desk can do itself."""

from typing import Any


def read_label(state: dict[str, Any]) -> str:
    """Read the label on the parcel that lies before you."""
    return str(state["label"]["on the parcel"]["text"])
