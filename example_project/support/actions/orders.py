"""Pending orders: cancel them, send them elsewhere, charge them elsewhere; and what is to be known about any order."""

from support.actions.work import Record, Work, find_order, items_text, wrong_status
from support.dialogue import Ask, Propose, Say, Step
from support.entities import payment_hints
from support.items import things
from support.text import either, fold

_FEE = either(r"\b(?:shipping|delivery|postage)\b.*\b(?:fees?|costs?|charges?)\b", r"\bfrais\b")
_TOTAL = either(r"\b(?:total|price|amount)\b", r"\b(?:prix|montant)\b")
_SINCE = either(r"\bdays?\b.*\b(?:since|ago)\b", r"\bdepuis\b")
_LATE = either(r"\bdays? (?:late|overdue)\b|\bhow late\b", r"\bretard\b")


def cancel(work: Work) -> Step:
    """Cancel a pending order for one of the accepted reasons."""
    order = find_order(work, "pending")
    if not isinstance(order, dict):
        return order
    if order["status"] != "pending":
        return wrong_status(work, order, "cancel")
    request = work.request
    if request.reason is None and "reason" not in request.asked:
        request.asked.add("reason")
        return Ask("reason", work.say("ask_reason"))
    reason = request.reason or "no_longer_needed"
    said = {
        "order": order["order_id"],
        "items": items_text(work, order["items"]),
        "reason": work.voice.word(reason),
        "amount": work.voice.money(order["total"]),
        "method": _method_text(work, order["payment_method_id"]),
    }
    arguments = {"order_id": order["order_id"], "reason": reason}
    return Propose("cancel_order", arguments, work.say("cancel", **said), lambda _: work.say("cancel_done", **said))


def change_address(work: Work) -> Step:
    """Send a pending order to another address."""
    order = find_order(work, "pending")
    if not isinstance(order, dict):
        return order
    if order["status"] != "pending":
        return wrong_status(work, order, "change")
    address = work.request.address
    if not (address.street and address.city and address.postcode):
        return Ask("address", work.say("ask_address"))
    country = address.country or order["address"]["country"]
    arguments = {
        "order_id": order["order_id"],
        "street": address.street,
        "city": address.city,
        "postcode": address.postcode,
        "country": country,
    }
    said = {"order": order["order_id"], "address": f"{address.street}, {address.postcode} {address.city}, {country}"}
    text = work.say("address", **said)
    return Propose("change_shipping_address", arguments, text, lambda _: work.say("address_done", **said))


def change_payment(work: Work) -> Step:
    """Charge a pending order to another payment method of the customer."""
    order = find_order(work, "pending")
    if not isinstance(order, dict):
        return order
    if order["status"] != "pending":
        return wrong_status(work, order, "change")
    method = _new_method(work, order)
    if not isinstance(method, dict):
        return method
    said = {
        "order": order["order_id"],
        "amount": work.voice.money(order["total"]),
        "method": work.voice.chosen(method),
        "old": _method_text(work, order["payment_method_id"]),
    }
    arguments = {"order_id": order["order_id"], "payment_method_id": method["payment_method_id"]}
    return Propose(
        "change_payment_method", arguments, work.say("payment", **said), lambda _: work.say("payment_done", **said)
    )


def status(work: Work) -> Ask | Say:
    """Tell where an order stands; nothing is promised that the order does not say."""
    order = find_order(work, "shipped" if not work.memory.last_order else None)
    if not isinstance(order, dict):
        return order
    when = ""
    if order["status"] in {"pending", "shipped"}:
        when = work.say("when_promised", promised=order["promised_on"])
    if order["delivered_on"]:
        when = work.say("when_delivered", delivered=order["delivered_on"])
    if order["tracking"]:
        when += work.say("tracking", tracking=order["tracking"])
    said = {
        "order": order["order_id"],
        "items": items_text(work, order["items"]),
        "status": work.voice.word(order["status"]),
        "when": when,
        "method": _method_text(work, order["payment_method_id"]),
    }
    return Say(" ".join([work.say("status", **said), *_asked_for(work, order)]))


def _asked_for(work: Work, order: Record) -> list[str]:
    """Tell what the customer asked for beside where the order stands."""
    words = fold(work.request.words)
    told = []
    if _FEE.search(words):
        told.append(work.say("status_fee", amount=work.voice.money(order["shipping_fee"])))
    if _TOTAL.search(words):
        told.append(work.say("status_total", amount=work.voice.money(order["total"])))
    if _SINCE.search(words) and order["days_since_delivery"] is not None:
        told.append(work.say("status_since", days=order["days_since_delivery"]))
    if _LATE.search(words) and order["days_late"] is not None:
        told.append(work.say("status_late", days=order["days_late"]))
    return told


def clarify(work: Work) -> Step:
    """Tell what there is to know, and ask what is wanted; give up when that has been asked."""
    if "wish" in work.request.asked:
        return Say(work.say("lost"))
    work.request.asked.add("wish")
    order = find_order(work) if work.request.order_id or things(work.request.words) else None
    if order is None:
        return Ask("wish", work.say("ask_wish"))
    if not isinstance(order, dict):
        return order
    question = f"ask_wish_{order['status']}" if order["status"] in {"pending", "delivered"} else "ask_wish_order"
    return Ask("wish", f"{status(work).text} {work.say(question, order=order['order_id'])}")


def list_orders(work: Work) -> Step:
    """List the customer's orders."""
    return Say(work.say("orders", orders="; ".join(work.voice.order(order) for order in work.desk.orders)))


def _new_method(work: Work, order: Record) -> Record | Step:
    current = order["payment_method_id"]
    others = [
        method
        for method in work.desk.customer["payment_methods"]
        if method["payment_method_id"] != current and method["kind"] != "store_credit"
    ]
    hint = work.request.method
    listed = work.voice.listed([work.voice.method(method) for method in others])
    if hint is None:
        return Ask("method", work.say("ask_method", methods=listed))
    wanted = [method for method in work.desk.methods_like(hint) if method["payment_method_id"] != current]
    for other in [] if wanted else payment_hints(work.request.words)[::-1]:
        wanted = wanted or [method for method in work.desk.methods_like(other) if method in others]
    if len(wanted) == 1:
        return wanted[0]
    work.request.method = None
    if wanted:
        listed = work.voice.listed([work.voice.method(method) for method in wanted])
        return Ask("method", work.say("ask_method", methods=listed))
    if work.desk.methods_like(hint):
        return Say(work.say("same_payment", order=order["order_id"], method=_method_text(work, current)), reopen=True)
    return Say(work.say("no_method", methods=listed), reopen=True)


def _method_text(work: Work, payment_method_id: str) -> str:
    method = work.desk.method(payment_method_id)
    return work.voice.method(method) if method else payment_method_id
