"""What is read off a message: ids, values that were asked for, and one keyword that says what is wanted."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Record = dict[str, Any]

KEYWORDS = {
    "escalate": r"invoice|repair|warranty|legal|clos(?:e|ing) (?:my )?account",
    "human": r"human|person",
    "advice": r"recommend|opinion",
    "discount": r"discount",
    "status": r"where is|when will|when is|what is the",
    "cancel": r"cancel|annuler",
    "compensate": r"shipping fee|delivery fee|shipping costs|refund shipping|frais de livraison",
    "exchange": r"exchange|swap|échanger",
    "return": r"return|send back|take back|renvoyer",
    "change_email": r"email to",
    "default_address": r"address on my account|default address",
    "address": r"\bdeliver\b|(?:delivery|shipping) address|livrer",
    "payment": r"pay|charge|payer",
    "product_question": r"how much",
}
"""What says which request a message makes; the first that fits counts."""

FREE = {"product_question", "advice", "discount", "human"}
"""What is answered without knowing who asks."""

REASONS = {
    "no_longer_needed": r"no longer need",
    "ordered_by_mistake": r"mistake|erreur",
    "arrives_too_late": r"too late",
}
METHODS = {"gift_card": r"gift card|carte cadeau", "paypal": r"paypal", "store_credit": r"store credit|avoir"}
COLOURS = {"bleu": "blue", "rouge": "red", "vert": "green", "blanc": "white", "noir": "black"}

ORDER = re.compile(r"\bW\d{4}\b")
EMAIL = re.compile(r"[\w.]+@[\w.]+\w")
_POSTCODE = r"\d{5}|[A-Z]{1,2}\d \d[A-Z]{2}"
ADDRESS = re.compile(
    rf"(?:\bto|\bau|\bis|:) (?P<street>[^,]+), (?:(?P<postcode>{_POSTCODE}) (?P<city>[^,.?!]+?)|"
    rf"(?P<city_2>[^,]+), (?P<postcode_2>{_POSTCODE}))(?:, (?P<country>[A-Z][A-Za-z ]+))? ?(?:[.?!,]|$)"
)
IDENTITY = {"first_name": r"first name is|prénom :", "last_name": r"last name is|nom de famille :"} | {
    "postcode": r"postcode is|code postal :"
}
FRENCH = re.compile(r"\b(?:je|ma|mon|bonjour|commande)\b", re.IGNORECASE)


@dataclass
class Request:
    """What the customer wants, with everything that was said about it."""

    kind: str
    text: str = ""
    latest: str = ""
    order_id: str | None = None
    reason: str | None = None
    method: str | None = None
    email: str | None = None
    address: Record = field(default_factory=dict)

    def learn(self, message: str) -> None:
        """Take in a message; what it says replaces what was said before."""
        self.text = f"{self.text} {message}"
        self.order_id = next(reversed(ORDER.findall(message)), self.order_id)
        self.reason = first(REASONS, message) or self.reason
        digits = re.search(r"\b\d{4}\b", message)
        self.method = first(METHODS, message) or (digits[0] if digits else self.method)
        if "paid with" in message:
            self.method = None
        if new := re.search(rf"\b(?:to|is) ({EMAIL.pattern})", message):
            self.email = new[1]
        if found := ADDRESS.search(message.replace(", to ", ", ")):
            parts = {name.removesuffix("_2"): value for name, value in found.groupdict().items() if value}
            self.address = {name: parts[name] for name in ("street", "city", "postcode", "country") if name in parts}


def first(patterns: Mapping[str, str], text: str) -> str | None:
    """Give the first name whose pattern is in a text."""
    return next((name for name, pattern in patterns.items() if re.search(pattern, text, re.IGNORECASE)), None)


def mentions(text: str, thing: Record) -> bool:
    """Whether a text names an item or a product: by the last word of its English name or the first of its French."""
    nouns = {thing["name"].lower().split()[-1], thing["name_fr"].lower().split()[0]}
    return not nouns.isdisjoint(words(text))


def words(text: str) -> set[str]:
    """Give the words of a text in lower case, colours in English."""
    return {COLOURS.get(word, word) for word in re.findall(r"[\w-]+", text.lower())}


def says(text: str, value: object) -> bool:
    """Whether a text holds a colour or size."""
    return set(str(value).lower().split()) <= words(text)


def about(text: str, item: Record, items: list[Record]) -> str:
    """Give the part of a text that is about an item: from where it is named to where another one is."""
    parts = re.split(r" and | et ", text) if len(items) > 1 else [re.split(r" for | contre ", text)[-1]]
    return next((part for part in parts if mentions(part, item)), parts[0])
