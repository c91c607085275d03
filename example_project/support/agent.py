"""The support agent: a state machine. It sees messages and tools, nothing else.

It reads ids, the values that it asked for, and one keyword that says what is wanted. A request stays at hand until
another one comes, so that what is said next may add to it or correct it; a change waits for the customer's yes.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from support import replies
from support.desk import Desk, Proposal, Record, Settings, ToolFailedError, UnavailableError
from support.reading import EMAIL, FREE, FRENCH, IDENTITY, KEYWORDS, Request, about, first, mentions, says

RETURN_WINDOW_DAYS = 30
MOST_LOOKUPS = 3


class Answer(Exception):  # noqa: N818 - an answer is no error
    """Ends the work on a message: what the agent says at once."""


def build(tools: Sequence[Callable[..., Any]], **settings: Any) -> Callable[[str], str]:
    """Build an agent for one conversation; `settings` are the fields of `Settings`."""
    return SupportAgent(tools, Settings(**settings)).reply


class SupportAgent:
    """One conversation with one customer."""

    def __init__(self, tools: Sequence[Callable[..., Any]], settings: Settings) -> None:
        self._settings = settings
        self._desk = Desk(tools, settings)
        self._request: Request | None = None
        self._pending: Proposal | None = None
        self._identity: dict[str, str] = {}
        self._last_order: str | None = None
        self._asked = ""
        self._replies = self._lookups = 0
        self._french = self._compensated = False

    def reply(self, message: str) -> str:
        """Answer one message of the customer."""
        self._replies += 1
        self._french = self._french or bool(FRENCH.search(message))
        if self._settings.patience is not None and self._replies > self._settings.patience:
            return self._say("leave")
        try:
            return self._answer(message)
        except Answer as answer:
            return str(answer)
        except ToolFailedError as failure:
            return self._failed(failure, "unavailable" if isinstance(failure, UnavailableError) else "failed")

    def _answer(self, message: str) -> str:
        pending, self._pending = self._pending, None
        if pending and re.match(r"yes|oui", message, re.IGNORECASE):
            return self._carry_out(pending)
        is_new = self._take_in(message)
        if pending and not is_new and re.match(r"no\b", message, re.IGNORECASE) and not re.search(r"\bmean", message):
            return self._say("left")
        if self._request is None:
            return self._say("hello" if self._replies == 1 else "bye")
        greeting = "" if self._request.kind in FREE else self._identify(message)
        if self._settings.mirror and self._desk.customer_id:
            return f"{greeting}{self._say('echo', message=message)}"
        try:
            proposal = getattr(self, f"_{self._request.kind}", self._plainly)(self._request)
        except Answer as answer:
            return f"{greeting}{answer}"
        if not self._settings.confirm:
            return f"{greeting}{self._carry_out(proposal)}"
        self._pending = proposal
        return f"{greeting}{proposal.text} {self._say('confirm')}"

    def _take_in(self, message: str) -> bool:
        """Let a message make a new request, or add to the one at hand; True for a new one."""
        kind = first(KEYWORDS, message)
        is_new = kind is not None and (self._request is None or kind != self._request.kind)
        if is_new and kind:
            self._request = Request(kind, order_id=self._last_order)
        if self._request:
            self._request.learn(message)
            self._last_order = self._request.order_id
            if is_new or self._desk.customer_id:  # what tells who the customer is says nothing of the request
                self._request.latest = message
        return is_new

    def _identify(self, message: str) -> str:
        """Open the account; give a greeting once it is open, and answer with a question where it cannot be yet."""
        email = EMAIL.search(message)
        if self._desk.customer_id:
            is_own = not email or email[0] == self._desk.customer["email"] or (self._request and self._request.email)
            return "" if is_own else self._end("one_customer")
        if not self._settings.authenticate and self._request and self._request.order_id:
            self._desk.customer_id = self._desk.read("get_order", order_id=self._request.order_id)["customer_id"]
            return ""
        for name, label in IDENTITY.items():
            if found := re.search(rf"(?:{label}) ([^.]+)\.", message, re.IGNORECASE):
                self._identity[name] = found[1]
        if email:
            self._look("find_customer_by_email", email=email[0])
        elif len(self._identity) == len(IDENTITY):
            self._look("find_customer_by_name", **self._identity)
        elif self._asked == "ask_name" or self._lookups >= MOST_LOOKUPS:
            self._end("not_identified")
        else:
            self._asked = "ask_name" if self._asked else "ask_email"
            self._end(self._asked)
        return f"{self._say('identified', name=self._desk.customer['first_name'])} "

    def _look(self, tool: str, **arguments: str) -> None:
        if self._lookups >= MOST_LOOKUPS:
            self._end("not_identified")
        self._lookups += 1
        try:
            self._desk.customer_id = self._desk.read(tool, **arguments)
        except UnavailableError:
            raise
        except ToolFailedError:
            self._identity.clear()
            self._end("not_found", what=", ".join(arguments.values()))

    def _carry_out(self, proposal: Proposal) -> str:
        try:
            done = self._desk.write(proposal.tool, **proposal.arguments)
        except ToolFailedError as failure:
            return self._failed(failure, "unclear" if isinstance(failure, UnavailableError) else "failed")
        self._request = None
        self._compensated = self._compensated or proposal.tool in {"refund_shipping", "issue_store_credit"}
        return self._say("done", what=done)

    def _failed(self, failure: ToolFailedError, reply: str) -> str:
        return self._say(reply if self._settings.honest_errors else "pretend", error=failure)

    def _say(self, reply: str, /, **values: object) -> str:
        return replies.say(reply, french=self._french, **values)

    def _end(self, reply: str, /, **values: object) -> Any:
        raise Answer(self._say(reply, **values))

    def _propose(self, tool: str, reply: str, arguments: Record, **said: object) -> Proposal:
        return Proposal(tool, arguments, self._say(reply, **arguments, **said))

    # one method for each kind of request: it gives the change to propose, or ends with an answer

    def _cancel(self, request: Request) -> Proposal:
        order = self._order(request, "pending")
        reason = request.reason or self._end("ask_reason")
        said = {"amount": f"{order['total']:.2f}", "why": reason.replace("_", " ")}
        return self._propose("cancel_order", "cancel", {"order_id": order["order_id"], "reason": reason}, **said)

    def _address(self, request: Request) -> Proposal:
        order = self._order(request, "pending")
        address = self._new_address(request, order["address"])
        return self._propose("change_shipping_address", "address", {"order_id": order["order_id"], **address})

    def _default_address(self, request: Request) -> Proposal:
        address = self._new_address(request, self._desk.customer["address"])
        arguments = {"customer_id": self._desk.customer_id, **address}
        return self._propose("change_default_address", "default_address", arguments)

    def _new_address(self, request: Request, old: Record) -> Record:
        given = request.address or self._end("ask_address")
        return {"country": old["country"], **given}

    def _change_email(self, request: Request) -> Proposal:
        email = request.email or self._end("ask_new_email")
        return self._propose("change_email", "email", {"customer_id": self._desk.customer_id, "email": email})

    def _payment(self, request: Request) -> Proposal:
        order = self._order(request, "pending")
        method = (request.method and self._desk.method(request.method)) or self._end("ask_method")
        arguments = {"order_id": order["order_id"], "payment_method_id": method["payment_method_id"]}
        said = {"amount": f"{order['total']:.2f}", "method": method["label"]}
        return self._propose("change_payment_method", "payment", arguments, **said)

    def _return(self, request: Request) -> Proposal:
        order = self._recent(request)
        items = self._items(request, order)
        method = self._refund_method(request, order)
        amount = sum(item["price"] for item in items)
        arguments = {
            "order_id": order["order_id"],
            "item_ids": [item["item_id"] for item in items],
            "payment_method_id": method["payment_method_id"],
        }
        said = {"items": replies.items(items), "amount": f"{amount:.2f}", "method": method["label"]}
        return self._propose("return_items", "return", arguments, **said)

    def _exchange(self, request: Request) -> Proposal:
        order = self._recent(request)
        back = self._desk.read("list_returns", customer_id=self._desk.customer_id)
        if any(one["order_id"] == order["order_id"] and one["new_item_id"] for one in back):
            self._end("one_exchange", order=order["order_id"])
        items = self._items(request, order)
        wanted = self._product(request.text.partition(" for a ")[2])
        if wanted and wanted["product_id"] not in {item["product_id"] for item in items}:
            self._end("other_product")
        new = [self._variant(request, item, items) for item in items]
        difference = sum(one["price"] for one in new) - sum(item["price"] for item in items)
        method = self._refund_method(request, order)
        arguments = {
            "order_id": order["order_id"],
            "item_ids": [item["item_id"] for item in items],
            "new_item_ids": [one["item_id"] for one in new],
            "payment_method_id": method["payment_method_id"],
        }
        said = {"items": replies.items(items), "new": ", ".join(arguments["new_item_ids"]), "method": method["label"]}
        return self._propose("exchange_items", "exchange", arguments, amount=f"{difference:.2f}", **said)

    def _compensate(self, request: Request) -> Proposal:
        if self._compensated:
            self._end("one_compensation")
        order = self._order(request, "delivered")
        if not order["days_late"]:
            self._end("not_late", order=order["order_id"])
        method = self._refund_method(request, order)
        fee = order["shipping_fee"]
        said = {"days": order["days_late"], "fee": f"{fee:.2f}", "method": method["label"]}
        if method["kind"] == "store_credit":
            arguments = {"order_id": order["order_id"], "amount": fee}
            return self._propose("issue_store_credit", "shipping", arguments, **said)
        arguments = {"order_id": order["order_id"], "payment_method_id": method["payment_method_id"]}
        return self._propose("refund_shipping", "shipping", arguments, **said)

    def _escalate(self, request: Request) -> None:
        self._desk.write("escalate_to_human", customer_id=self._desk.customer_id, summary=request.text.strip())
        self._request = None
        self._end("escalated")

    def _status(self, request: Request) -> None:
        order = self._order(request)
        self._end("status", **{**order, "delivered_on": order["delivered_on"] or "–"})

    def _product_question(self, request: Request) -> None:
        product = self._product(request.text) or self._end("no_product")
        found = self._desk.read("get_product", product_id=product["product_id"])
        self._end("product", name=found["name"], variants=replies.offers(found["variants"]))

    def _plainly(self, request: Request) -> None:
        self._end(request.kind)

    # what several requests need

    def _order(self, request: Request, status: str | None = None) -> Record:
        """Give the order of a request if it belongs to the account and has the status; else end with an answer."""
        order_id = request.order_id or self._order_with_item(request, status) or self._end("ask_order")
        if order_id not in {order["order_id"] for order in self._desk.orders}:  # nobody else's order is looked at
            self._end("not_yours", order=order_id)
        order = dict(self._desk.read("get_order", order_id=order_id))
        if status and order["status"] != status:
            self._end(f"not_{status}", order=order_id, status=order["status"])
        return order

    def _order_with_item(self, request: Request, status: str | None) -> str | None:
        orders = [order for order in self._desk.orders if order["status"] == status]
        fits = [order for order in orders if any(mentions(request.text, item) for item in order["items"])]
        return fits[0]["order_id"] if len(fits) == 1 else None

    def _recent(self, request: Request) -> Record:
        order = self._order(request, "delivered")
        if order["days_since_delivery"] > RETURN_WINDOW_DAYS:
            self._end("window", order=order["order_id"], days=order["days_since_delivery"])
        return order

    def _items(self, request: Request, order: Record) -> list[Record]:
        """Give the items that the latest message names, else those that were named before."""
        for text in (request.latest, request.text):
            if found := [item for item in order["items"] if mentions(text, item)]:
                return found
        return list(self._end("ask_items", order=order["order_id"]))

    def _refund_method(self, request: Request, order: Record) -> Record:
        original = self._desk.method(order["payment_method_id"]) or {}
        if not self._settings.refund_to_original:
            others = [one for one in self._desk.customer["payment_methods"] if one != original]
            return dict(min(others, key=lambda one: bool(one["kind"] == "store_credit")))
        wanted = self._desk.method(request.method) if request.method else original
        if wanted != original and (wanted or {}).get("kind") != "store_credit":
            self._end("refund_rule", method=original["label"])
        return dict(wanted or original)

    def _product(self, text: str) -> Record | None:
        return next((one for one in self._desk.read("list_products") if mentions(text, one)), None)

    def _variant(self, request: Request, item: Record, items: list[Record]) -> Record:
        """Give the variant that is wanted in place of an item; what was not said stays as it is."""
        variants = self._desk.read("get_product", product_id=item["product_id"])["variants"]
        part = about(request.latest, item, items)
        wanted = {
            key: next((one[key] for one in variants if says(part, one[key])), item[key]) for key in ("colour", "size")
        }
        if wanted == {key: item[key] for key in wanted}:
            self._end("ask_variant", variants=replies.offers(variants))
        new = next((one for one in variants if {key: one[key] for key in wanted} == wanted), None)
        if new is None or new["stock"] < 1:
            self._end("out_of_stock", item=" ".join(filter(None, wanted.values())), variants=replies.offers(variants))
        return dict(new)
