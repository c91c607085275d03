"""What every action works with, and the questions that many of them have: which order, which payment method."""

from dataclasses import dataclass
from typing import Any

from support.desk import Desk
from support.dialogue import Ask, Memory, Request, Say
from support.items import thing_in, things
from support.settings import Settings
from support.voice import Voice

RETURN_WINDOW_DAYS = 30

Record = dict[str, Any]


@dataclass(frozen=True)
class Work:
    """A request on the desk."""

    request: Request
    desk: Desk
    voice: Voice
    memory: Memory
    settings: Settings

    def say(self, phrase: str, **values: object) -> str:
        """Word a phrase in the customer's language."""
        return self.voice.say(phrase, **values)


def find_order(work: Work, status: str | None = None) -> Record | Ask | Say:
    """Find the order that a request is about, preferring those with `status`; ask where it is not clear."""
    request = work.request
    if work.desk.customer_id is None and request.order_id:
        work.desk.customer_id = str(work.desk.order(request.order_id)["customer_id"])
    request.order_id = request.order_id or _guess_order(work, status)
    if request.order_id is None:
        return _ask_order(work)
    if not work.desk.owns(request.order_id):
        return Say(work.say("not_yours", order=request.order_id), reopen=True)
    work.memory.last_order = request.order_id
    return work.desk.order(request.order_id)


def refund_method(work: Work, order: Record) -> Record | Say:
    """Give the method that money goes back to: the original one unless store credit is asked for."""
    original = work.desk.method(order["payment_method_id"]) or {}
    if not work.settings.refund_to_original:
        others = [method for method in work.desk.customer["payment_methods"] if method != original]
        return dict(min(others, key=lambda method: bool(method["kind"] == "store_credit")))
    hint = work.request.method
    if hint in {None, "original"}:
        return original
    wanted = work.desk.methods_like(str(hint))
    if original in wanted:
        return original
    if wanted and wanted[0]["kind"] == "store_credit":
        return wanted[0]
    work.request.method = None
    return Say(work.say("refund_rule", method=work.voice.method(original)), reopen=True)


def items_text(work: Work, items: list[Record]) -> str:
    """List items in the customer's language."""
    return work.voice.listed([work.voice.item(item) for item in items])


def wrong_status(work: Work, order: Record, deed: str) -> Say:
    """Tell that an order is past changing."""
    status = work.voice.word(order["status"])
    return Say(work.say("not_pending", order=order["order_id"], status=status, deed=work.voice.word(deed)), reopen=True)


def _guess_order(work: Work, status: str | None) -> str | None:
    orders = work.desk.orders
    named = set(things(work.request.words))
    if named:
        orders = [order for order in orders if named & {thing_in(item["name"]) for item in order["items"]}] or orders
    fitting = [order for order in orders if status in {None, order["status"]}]
    last = work.memory.last_order
    if any(order["order_id"] == last for order in fitting):
        return last
    for candidates in (fitting, orders):
        if len(candidates) == 1:
            return str(candidates[0]["order_id"])
    return None


def _ask_order(work: Work) -> Ask:
    if "order" in work.request.asked:
        listed = "; ".join(work.voice.order(order) for order in work.desk.orders)
        return Ask("order", work.say("choose_order", orders=listed))
    work.request.asked.add("order")
    return Ask("order", work.say("ask_order"))
