"""The agent's hands: it calls the tools, remembers what it read, and knows whose account is open."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from support.settings import Settings

Tool = Callable[..., Any]

MAX_LOOKUPS = 3
"""How often an account is looked for in one conversation."""

_TWINS = {
    "find_customer_by_name": ("first_name", "last_name"),
    "change_shipping_address": ("street", "city"),
    "change_default_address": ("street", "city"),
    "exchange_items": ("item_ids", "new_item_ids"),
}
"""Arguments of one type that stand side by side: the ones that a careless caller swaps."""


_OUTAGE = re.compile(
    r"^(?:429|5\d\d)\b|timed? ?out|too many requests|rate limit|server error|unavailable|overloaded|connection",
    re.IGNORECASE,
)
"""How errors begin or read that are about the system and not about what was asked of it."""

_NEVER_EMPTY = ("find_", "get_")
"""Tools that answer with something or refuse: nothing at all is no answer of theirs."""


class ToolFailedError(Exception):
    """A tool did not do what it was asked; the message is the tool's."""


class UnavailableError(ToolFailedError):
    """The system behind a tool does not answer, so that nothing is known of what was asked."""


class Desk:
    """One customer's visit: the tools, the open account, and what was read since the last change."""

    def __init__(self, tools: Sequence[Tool], settings: Settings) -> None:
        self._tools = {tool.__name__: tool for tool in tools}
        self._settings = settings
        self._read: dict[str, Any] = {}
        self.customer_id: str | None = None

    def read(self, name: str, **arguments: Any) -> Any:
        """Call a reading tool, once until something changes, and once more where the system does not answer.

        Raise `ToolFailedError` with the tool's error, `UnavailableError` where there is still no answer.
        """
        key = json.dumps([name, arguments], sort_keys=True)
        if key not in self._read:
            try:
                self._read[key] = self._answer(name, arguments)
            except UnavailableError:
                self._read[key] = self._answer(name, arguments)
        return self._read[key]

    def write(self, name: str, **arguments: Any) -> Any:
        """Call a changing tool and forget what was read; raise what `read` raises.

        It is not called again where the system does not answer: it may have done what it was asked.
        """
        self._read.clear()
        return self._call(name, arguments)

    @property
    def customer(self) -> dict[str, Any]:
        """The open account."""
        return dict(self.read("get_customer", customer_id=self.customer_id))

    @property
    def orders(self) -> list[dict[str, Any]]:
        """The orders of the open account, oldest first."""
        return list(self.read("list_orders", customer_id=self.customer_id))

    def order(self, order_id: str) -> dict[str, Any]:
        """An order in detail."""
        return dict(self.read("get_order", order_id=order_id))

    def owns(self, order_id: str) -> bool:
        """Whether an order belongs to the open account; nobody else's order is looked at to find out."""
        return any(order["order_id"] == order_id for order in self.orders)

    def method(self, payment_method_id: str) -> dict[str, Any] | None:
        """A payment method of the open account."""
        methods = self.customer["payment_methods"]
        return next((method for method in methods if method["payment_method_id"] == payment_method_id), None)

    def methods_like(self, hint: str) -> list[dict[str, Any]]:
        """The payment methods of the open account that a kind or four digits can mean."""
        methods = self.customer["payment_methods"]
        return [method for method in methods if hint == method["kind"] or (hint.isdigit() and hint in method["label"])]

    def _answer(self, name: str, arguments: dict[str, Any]) -> Any:
        """Call a tool; raise `UnavailableError` where nothing came that can be an answer of its."""
        value = self._call(name, arguments)
        if name.startswith(_NEVER_EMPTY) and not value:
            raise UnavailableError(f"{name} gave no answer")
        return value

    def _call(self, name: str, arguments: dict[str, Any]) -> Any:
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
