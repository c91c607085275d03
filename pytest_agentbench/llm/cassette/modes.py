"""What a cassette is used for."""

from enum import StrEnum


class Mode(StrEnum):
    """What becomes of a request, and of its answer."""

    OFF = "off"
    """Asked live; nothing is read or written."""
    REPLAY = "replay"
    """Answered from the cassette or not at all."""
    RECORD = "record"
    """Answered from the cassette where it can be; what is missing is asked live and kept."""
    REFRESH = "refresh"
    """Asked live and kept; what was recorded of the runs that were played is replaced."""

    @property
    def reads(self) -> bool:
        """Whether answers come from the cassette."""
        return self in {Mode.REPLAY, Mode.RECORD}

    @property
    def writes(self) -> bool:
        """Whether answers go into the cassette."""
        return self in {Mode.RECORD, Mode.REFRESH}
