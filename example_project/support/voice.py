"""Words orders, items, money and the agent's phrases in the customer's language."""

import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

PHRASES: dict[str, dict[str, str]] = tomllib.loads((files("support") / "phrases.toml").read_text(encoding="utf-8"))
"""What the agent says: {phrase: {language: text}}."""

WORDS = {
    "black": "noir",
    "white": "blanc",
    "blue": "bleu",
    "red": "rouge",
    "green": "vert",
    "grey": "gris",
    "steel": "acier",
    "purple": "violet",
    "yellow": "jaune",
    "navy": "bleu marine",
    "size": "taille",
    "no_longer_needed": "plus besoin",
    "ordered_by_mistake": "commandée par erreur",
    "arrives_too_late": "arrive trop tard",
    "pending": "en attente",
    "shipped": "expédiée",
    "delivered": "livrée",
    "cancelled": "annulée",
    "gift card": "carte cadeau",
    "store credit": "avoir",
    "returned": "retournées",
    "exchanged": "échangées",
    "compensated": "dédommagées",
    "cancel": "annuler",
    "change": "modifier",
}
"""French for the shop's own words."""


class Voice:
    """Words things in one language."""

    def __init__(self, *, french: bool) -> None:
        self.french = french

    def say(self, phrase: str, **values: object) -> str:
        """Fill a phrase of the table."""
        return PHRASES[phrase]["fr" if self.french else "en"].format(**values)

    def word(self, word: str) -> str:
        """Word one of the shop's own terms."""
        return WORDS.get(word, word) if self.french else word.replace("_", " ")

    def money(self, amount: float) -> str:
        """Word an amount of euros."""
        return f"{amount:.2f}".replace(".", ",") + " €" if self.french else f"€{amount:.2f}"

    def item(self, item: Mapping[str, Any]) -> str:
        """Word an item: its name and options."""
        name = item["name_fr"] if self.french else item["name"]
        return f"{name} ({self.options(item)})"

    def options(self, variant: Mapping[str, Any]) -> str:
        """Word the options of a variant."""
        size = [f"{self.word('size')} {variant['size']}"] if variant["size"] else []
        return ", ".join([self.word(variant["colour"]), *size])

    def listed(self, words: Sequence[str]) -> str:
        """Join words as a list."""
        return ", ".join(words)

    def variant(self, variant: Mapping[str, Any]) -> str:
        """Word a variant, with its reference where the catalogue has its options in English alone."""
        return f"{self.options(variant)} (réf. {variant['item_id']})" if self.french else self.options(variant)

    def method(self, method: Mapping[str, Any]) -> str:
        """Word a payment method."""
        return self.word(str(method["label"])).replace("ending in", "finissant par" if self.french else "ending in")

    def chosen(self, method: Mapping[str, Any]) -> str:
        """Word a payment method, with its reference where the account has its name in English alone."""
        translated = self.french and str(method["label"]) in WORDS
        return f"{self.method(method)} ({method['payment_method_id']})" if translated else self.method(method)

    def order(self, order: Mapping[str, Any]) -> str:
        """Word an order in a list: number, items, status."""
        items = self.listed([self.item(item) for item in order["items"]])
        return f"{order['order_id']} ({items}, {self.word(order['status'])})"
