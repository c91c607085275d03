"""Delivered orders: take items back, exchange them, make up for a late delivery."""

from support.actions.work import RETURN_WINDOW_DAYS, Record, Work, find_order, items_text, refund_method
from support.dialogue import Ask, Propose, Say, Step
from support.items import new_variant, pick_items, thing_in, things, words_about


def return_items(work: Work) -> Step:
    """Take back items within the return window and refund them."""
    order = _takeable(work, "returned")
    if not isinstance(order, dict):
        return order
    items = pick_items(work.request.words, order["items"])
    open_items = [item for item in items if not item["sent_back"]]
    if items and not open_items:
        return Say(work.say("already_back", order=order["order_id"], items=items_text(work, items)))
    if not open_items:
        return _ask_items(work, order)
    method = refund_method(work, order)
    if not isinstance(method, dict):
        return method
    said = {
        "order": order["order_id"],
        "items": items_text(work, open_items),
        "amount": work.voice.money(sum(item["price"] for item in open_items)),
        "method": work.voice.method(method),
    }
    arguments = {
        "order_id": order["order_id"],
        "item_ids": [item["item_id"] for item in open_items],
        "payment_method_id": method["payment_method_id"],
    }
    return Propose("return_items", arguments, work.say("return", **said), lambda _: work.say("return_done", **said))


def exchange_items(work: Work) -> Step:
    """Exchange items for other variants of the same products, all of an order at once."""
    order = _takeable(work, "exchanged")
    if not isinstance(order, dict):
        return order
    if any(item["sent_back"] and _was_exchanged(work, order, item) for item in order["items"]):
        return Say(work.say("one_exchange", order=order["order_id"]), reopen=True)
    pairs = _pairs(work, order)
    if not isinstance(pairs, list):
        return pairs
    return _exchange(work, order, pairs)


def compensate(work: Work) -> Step:
    """Refund the shipping fee of a late order, or credit it."""
    if "compensated" in work.memory.facts:
        return Say(work.say("one_compensation"))
    order = find_order(work, "delivered")
    if not isinstance(order, dict):
        return order
    if order["status"] != "delivered":
        return _not_delivered(work, order, "compensated")
    said = {"order": order["order_id"], "days": order["days_late"], "amount": work.voice.money(order["shipping_fee"])}
    if not order["days_late"]:
        dates = {"promised": order["promised_on"], "delivered": order["delivered_on"]}
        return Say(work.say("not_late", **said, **dates), reopen=True)
    method = refund_method(work, order)
    if not isinstance(method, dict):
        return method
    if method["kind"] == "store_credit":
        arguments = {"order_id": order["order_id"], "amount": order["shipping_fee"]}
        text = work.say("credit", **said)
        return Propose("issue_store_credit", arguments, text, lambda _: work.say("credit_done", **said))
    said["method"] = work.voice.method(method)
    arguments = {"order_id": order["order_id"], "payment_method_id": method["payment_method_id"]}
    text = work.say("shipping", **said)
    return Propose("refund_shipping", arguments, text, lambda _: work.say("shipping_done", **said))


def return_status(work: Work) -> Step:
    """Tell what was sent back so far."""
    returns = work.desk.read("list_returns", customer_id=work.desk.customer_id)
    if not returns:
        return Say(work.say("no_returns"))
    names = {item["item_id"]: work.voice.item(item) for order in work.desk.orders for item in order["items"]}
    methods = {m["payment_method_id"]: work.voice.method(m) for m in work.desk.customer["payment_methods"]}
    listed = [f"{r['order_id']} {names[r['item_id']]} → {methods[r['payment_method_id']]}" for r in returns]
    return Say(work.say("returns", returns="; ".join(listed)))


def _takeable(work: Work, deed: str) -> Record | Step:
    """Find the order, delivered and within the window, or tell why its items cannot come back."""
    order = find_order(work, "delivered")
    if not isinstance(order, dict):
        return order
    if order["status"] != "delivered":
        return _not_delivered(work, order, deed)
    if order["days_since_delivery"] > RETURN_WINDOW_DAYS:
        return Say(work.say("window", order=order["order_id"], days=order["days_since_delivery"]), reopen=True)
    return order


def _not_delivered(work: Work, order: Record, deed: str) -> Say:
    words = {"status": work.voice.word(order["status"]), "deed": work.voice.word(deed)}
    return Say(work.say("not_delivered", order=order["order_id"], **words), reopen=True)


def _ask_items(work: Work, order: Record) -> Ask:
    open_items = [item for item in order["items"] if not item["sent_back"]]
    return Ask("items", work.say("ask_items", order=order["order_id"], items=items_text(work, open_items)))


def _was_exchanged(work: Work, order: Record, item: Record) -> bool:
    returns = work.desk.read("list_returns", customer_id=work.desk.customer_id)
    return any(
        (back["order_id"], back["item_id"]) == (order["order_id"], item["item_id"]) and back["new_item_id"]
        for back in returns
    )


def _pairs(work: Work, order: Record) -> list[tuple[Record, Record]] | Step:
    """Pair the items to be exchanged with the variants wanted, or ask or tell what stands in the way."""
    words = work.request.words
    items = pick_items(words, order["items"])
    if not items:
        return Say(work.say("other_product"), reopen=True) if things(words) else _ask_items(work, order)
    if not set(things(words)) <= {thing_in(item["name"]) for item in order["items"]}:
        return Say(work.say("other_product"), reopen=True)
    pairs = []
    unnamed = []
    for item in items:
        product = work.desk.read("get_product", product_id=item["product_id"])
        variants = [{**variant, "name": item["name"], "name_fr": item["name_fr"]} for variant in product["variants"]]
        new, named = new_variant(words_about(words, item, items), item, variants)
        if named and (new is None or new["stock"] < 1):
            return _unavailable(work, item, new, variants)
        if new:
            pairs.append((item, new))
        else:
            unnamed.append((item, variants))
    if pairs:
        return pairs
    item, variants = unnamed[0]
    return Ask("variant", work.say("ask_variant", item=work.voice.item(item), variants=_in_stock(work, item, variants)))


def _exchange(work: Work, order: Record, pairs: list[tuple[Record, Record]]) -> Step:
    difference = round(sum(new["price"] - old["price"] for old, new in pairs), 2)
    method = refund_method(work, order)
    if difference > 0 and work.request.method:
        wanted = work.desk.methods_like(work.request.method)
        method = wanted[0] if len(wanted) == 1 else method
    if not isinstance(method, dict):
        return method
    phrase = "to_pay" if difference > 0 else "to_get" if difference < 0 else "no_difference"
    amount = work.voice.money(abs(difference))
    said = {
        "order": order["order_id"],
        "pairs": work.voice.listed(
            [work.say("pair", old=work.voice.item(old), new=work.voice.variant(new)) for old, new in pairs]
        ),
        "difference": work.say(phrase, amount=amount, method=work.voice.method(method)),
    }
    arguments = {
        "order_id": order["order_id"],
        "item_ids": [old["item_id"] for old, _ in pairs],
        "new_item_ids": [new["item_id"] for _, new in pairs],
        "payment_method_id": method["payment_method_id"],
    }
    text = work.say("exchange", **said)
    return Propose("exchange_items", arguments, text, lambda _: work.say("exchange_done", **said))


def _unavailable(work: Work, item: Record, new: Record | None, variants: list[Record]) -> Say:
    stock = _in_stock(work, item, variants)
    if new is None:
        return Say(work.say("no_variant", item=work.voice.item(item), variants=stock), reopen=True)
    return Say(work.say("out_of_stock", item=work.voice.item(new), variants=stock), reopen=True)


def _in_stock(work: Work, item: Record, variants: list[Record]) -> str:
    others = [variant for variant in variants if variant["stock"] > 0 and variant["item_id"] != item["item_id"]]
    return "; ".join(work.voice.options(variant) for variant in others)
