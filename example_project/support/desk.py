"""The agent's hands: it calls the tools, remembers what it read, and knows whose account is open."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Record = dict[str, Any]

_TWINS = {
    "find_customer_by_name": ("first_name", "last_name"),
    "change_shipping_address": ("street", "city"),
    "change_default_address": ("street", "city"),
    "exchange_items": ("item_ids", "new_item_ids"),
}
"""Arguments of one type that stand side by side: the ones that a careless caller swaps."""

_OUTAGE = re.compile(
    r"^(?:429|5\d\d)\b|timed? ?out|too many requests|rate limit|unavailable|overloaded|connection", re.I
)
"""How errors read that are about the system and not about what was asked of it."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the agent behaves: the defaults are right, every other value is a bug seen in real agents."""

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


@dataclass(frozen=True)
class Proposal:
    """A change that waits for the customer's yes."""

    tool: str
    arguments: Record
    text: str


class ToolFailedError(Exception):
    """A tool did not do what it was asked; the message is the tool's."""


class UnavailableError(ToolFailedError):
    """The system behind a tool does not answer, so that nothing is known of what was asked."""


class Desk:
    """One customer's visit: the tools, the open account, and what was read since the last change."""

    def __init__(self, tools: Sequence[Callable[..., Any]], settings: Settings) -> None:
        self._tools = {tool.__name__: tool for tool in tools}
        self._settings = settings
        self._read: dict[str, Any] = {}
        self.customer_id: str | None = None

    def read(self, name: str, **arguments: Any) -> Any:
        """Call a reading tool, once until something changes, and once more where the system does not answer."""
        key = json.dumps([name, arguments], sort_keys=True)
        if key not in self._read:
            try:
                self._read[key] = self._answer(name, arguments)
            except UnavailableError:
                self._read[key] = self._answer(name, arguments)
        return self._read[key]

    def write(self, name: str, **arguments: Any) -> Any:
        """Call a changing tool, once: where the system does not answer, it may have done what it was asked."""
        self._read.clear()
        return self._call(name, arguments)

    @property
    def customer(self) -> Record:
        """The open account."""
        return dict(self.read("get_customer", customer_id=self.customer_id))

    @property
    def orders(self) -> list[Record]:
        """The orders of the open account, oldest first."""
        return list(self.read("list_orders", customer_id=self.customer_id))

    def method(self, hint: str) -> Record | None:
        """Give the payment method of the open account that an id, a kind or four digits mean."""
        methods = self.customer["payment_methods"]
        fits = (one for one in methods if hint in (one["payment_method_id"], one["kind"]) or hint in one["label"])
        return next(fits, None)

    def _answer(self, name: str, arguments: Record) -> Any:
        value = self._call(name, arguments)
        if not value and name.startswith(("find_", "get_")):  # these answer with something, or refuse
            raise UnavailableError(f"{name} gave no answer")
        return value

    def _call(self, name: str, arguments: Record) -> Any:
        if self._settings.swap_arguments and name in _TWINS:
            first, second = _TWINS[name]
            arguments = {**arguments, first: arguments[second], second: arguments[first]}
        try:
            return self._tools[name](**arguments)
        except Exception as error:
            said = str(error).removeprefix("Error: ")
            if isinstance(error, TimeoutError | ConnectionError) or _OUTAGE.search(said):
                raise UnavailableError(said) from error
            raise ToolFailedError(said) from error
