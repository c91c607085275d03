"""What a model wrote as the user: the text for the agent, and the marker that closes the conversation."""

import re
from typing import Literal

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.thoughts import parted

Closing = Literal["STOP", "TRANSFER", "OUT-OF-SCOPE"]
"""STOP: the user is done. TRANSFER: the agent handed over. OUT-OF-SCOPE: the scenario does not say how to go on."""

_MARKER = r"[*_`]{0,3}#{2,4} ?(?P<name>STOP|TRANSFER|OUT[- _]OF[- _]SCOPE) ?#{2,4}[*_`]{0,3}"
_AT_END = re.compile(rf"\s*{_MARKER}[\s.!]*\Z", re.IGNORECASE)
_DECIDING = re.compile(r"\s*[*_`]{0,3}#{2,4} ?(?P<name>APPROVE|REJECT) ?#{2,4}[*_`]{0,3}[\s.!]*\Z", re.IGNORECASE)
_ANYWHERE = re.compile(r"[*_`]{0,3}#{2,4} ?[A-Z][A-Z _-]{1,30}#{2,4}[*_`]{0,3}", re.IGNORECASE)
_TAIL = 80
"""Characters at the end in which the closing marker is looked for."""


class Draft(Model):
    """A reply before it is sent: `text` without what is not for the agent, the marker at its end, markers inside.

    `approves` is what it decides about a call that waits, None where it does not say.
    """

    text: str = ""
    closing: Closing | None = None
    approves: bool | None = None
    stray: tuple[str, ...] = ()

    @property
    def sendable(self) -> str:
        """The text with every marker taken out."""
        return re.sub(r"[ \t]{2,}", " ", _ANYWHERE.sub("", self.text)).strip() if self.stray else self.text


def read_draft(text: str, *, decides: bool = False) -> Draft:
    """Take thoughts and the marker at its end apart from the text; other markers are `stray`.

    Only a reply that `decides` about a call may be marked with it.
    """
    rest = parted(text)[0].strip()
    closing: Closing | None = None
    if decides and (found := _DECIDING.search(rest, max(len(rest) - _TAIL, 0))):
        rest, approves = rest[: found.start()].rstrip(), found["name"].upper() == "APPROVE"
        return Draft(text=rest, approves=approves, stray=tuple(_ANYWHERE.findall(rest)))
    if found := _AT_END.search(rest, max(len(rest) - _TAIL, 0)):
        closing = _closing(found["name"])
        rest = rest[: found.start()].rstrip()
    return Draft(text=rest, closing=closing, stray=tuple(_ANYWHERE.findall(rest)))


def _closing(name: str) -> Closing:
    upper = name.upper()
    if upper == "STOP":
        return "STOP"
    return "TRANSFER" if upper == "TRANSFER" else "OUT-OF-SCOPE"
