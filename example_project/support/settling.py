"""What a wish amounts to that was only hinted at, in the light of the order that it is about."""

from support.addresses import parse_address
from support.desk import Desk
from support.dialogue import Request
from support.entities import payment_hint, reason
from support.intents import Intent
from support.items import colours, new_options, sizes, thing_in, things
from support.text import either, fold

_SETTLED = frozenset({Intent.CANCEL, Intent.RETURN, Intent.EXCHANGE, Intent.CHANGE_PAYMENT, Intent.UNCLEAR})
_MONEY = either(r"\b(?:money|refund\w*|argent|rembours\w*)\b")
_OPEN = frozenset({"pending", "shipped"})


def settle(request: Request, desk: Desk) -> None:
    """Make of a hint what its order allows: what is not wanted is cancelled before delivery, and returned after it."""
    if request.intent not in _SETTLED:
        return
    order_id = request.order_id or _only_order(request, desk)
    if order_id is None or not desk.owns(order_id):
        return
    order = desk.order(order_id)
    if not (request.weak or request.intent is Intent.UNCLEAR or _means_another(request)):
        return
    intent = _before_delivery(request) if order["status"] in _OPEN else _after_delivery(request, order["items"])
    if order["status"] != "cancelled" and intent is not request.intent:
        request.become(intent, weak=intent is Intent.UNCLEAR)
        request.order_id = order_id


def _before_delivery(request: Request) -> Intent:
    address = parse_address(request.words)
    if address.street and address.postcode:
        return Intent.CHANGE_ADDRESS
    if request.method or payment_hint(request.words):
        return Intent.CHANGE_PAYMENT
    if request.intent is Intent.RETURN or (request.intent is Intent.UNCLEAR and reason(request.words)):
        return Intent.CANCEL
    named = things(request.words) or colours(request.words) or sizes(request.words)
    return Intent.UNCLEAR if request.intent is Intent.EXCHANGE and not named else request.intent


def _after_delivery(request: Request, items: list[dict[str, object]]) -> Intent:
    if request.intent is not Intent.CHANGE_PAYMENT and any(new_options(request.words, item, items) for item in items):
        return Intent.EXCHANGE
    return Intent.RETURN if request.intent in {Intent.CANCEL, Intent.CHANGE_PAYMENT} else request.intent


def _means_another(request: Request) -> bool:
    """Whether it is “put the money on my card”, which may be a refund, or “take it all back”, which may cancel."""
    if request.intent is Intent.RETURN and request.order_id:
        return not things(request.words)
    return request.intent is Intent.CHANGE_PAYMENT and bool(_MONEY.search(fold(request.words)))


def _only_order(request: Request, desk: Desk) -> str | None:
    named = set(things(request.words))
    found = [order for order in desk.orders if named & {thing_in(item["name"]) for item in order["items"]}]
    return str(found[0]["order_id"]) if len(found) == 1 else None
