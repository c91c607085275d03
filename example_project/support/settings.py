"""What can be changed about the agent: the defaults are right, every other value is a bug seen in real agents."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the agent behaves; the defaults are the careful agent."""

    authenticate: bool = True
    """False: an order number is taken as proof of identity."""

    confirm: bool = True
    """False: changes are made without asking."""

    refund_to_original: bool = True
    """False: refunds go to the first other payment method on the account."""

    swap_arguments: bool = False
    """True: pairs of arguments of the same type change places."""

    patience: int | None = None
    """After this many replies the agent takes its leave, finished or not."""

    mirror: bool = False
    """True: requests are echoed politely instead of worked on."""

    honest_errors: bool = True
    """False: a tool's error is reported as success."""
