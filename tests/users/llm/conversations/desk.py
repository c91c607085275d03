"""A desk that refunds orders: its agent asks for the order, says what it would do, waits, does it, and asks on."""

import re
from collections.abc import Callable
from typing import Any

WORDS: dict[str, dict[str, str]] = {
    "en": {
        "which": "Hello. What is the number of your order, please?",
        "offer": "I have order {id} here. I would refund {amount} euros to your card. Shall I do that?",
        "done": "Order {id} is refunded, {amount} euros. Is there anything else that you need?",
        "unknown": "I do not find an order {id}. Could you look the number up again, please?",
        "only": "I can only refund orders here. Is there another order that you want refunded?",
    },
    "de": {
        "which": "Guten Tag. Wie lautet Ihre Bestellnummer?",
        "offer": "Die Bestellung {id} liegt mir vor. Ich würde {amount} Euro auf Ihre Karte erstatten. Ist das recht?",
        "done": "Bestellung {id} ist erstattet, {amount} Euro. Kann ich sonst noch etwas für Sie tun?",
        "unknown": "Eine Bestellung {id} finde ich nicht. Können Sie die Nummer noch einmal prüfen?",
        "only": "Hier kann ich nur Bestellungen erstatten. Soll ich eine weitere erstatten?",
    },
    "es": {
        "which": "Hola. ¿Cuál es el número de su pedido?",
        "offer": "Veo el pedido {id}. Le devolvería {amount} euros a su tarjeta. ¿Lo hago?",
        "done": "El pedido {id} está devuelto, {amount} euros. ¿Necesita algo más?",
        "unknown": "No encuentro el pedido {id}. ¿Puede comprobar el número?",
        "only": "Aquí solo puedo devolver pedidos. ¿Quiere devolver otro?",
    },
    "ja": {
        "which": "こんにちは。ご注文番号を教えていただけますか。",
        "offer": "ご注文{id}を確認しました。{amount}ユーロをカードに返金いたしますが、よろしいですか。",
        "done": "ご注文{id}の返金、{amount}ユーロが完了しました。ほかにご用件はございますか。",
        "unknown": "ご注文{id}が見つかりません。番号をもう一度ご確認いただけますか。",
        "only": "こちらでは返金のみ承っております。ほかに返金をご希望のご注文はございますか。",
    },
}
_ORDER = re.compile(r"[A-Z]\d{4}")


def build(tools: list[Callable[..., Any]], context: dict[str, Any]) -> Callable[[str], str]:
    """Give the agent of one conversation."""
    call = {tool.__name__: tool for tool in tools}
    words = WORDS[context["language"]]
    offered: list[str] = []
    done: list[str] = []

    def reply(message: str) -> str:
        named = [order for order in _ORDER.findall(message) if order not in done]
        if named and named[0] not in offered:
            order = call["get_order"](order_id=named[0])
            if not order:
                return words["unknown"].format(id=named[0])
            offered.append(named[0])
            return words["offer"].format(id=named[0], amount=order["amount"])
        if len(offered) > len(done):
            done.append(offered[-1])
            made = call["refund"](order_id=offered[-1])
            return words["done"].format(id=offered[-1], amount=made["amount"])
        return words["only" if done else "which"]

    return reply
