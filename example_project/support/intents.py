"""What a customer can want, and the words that tell."""

import re
from dataclasses import dataclass
from enum import StrEnum


class Intent(StrEnum):
    """What a customer can want; `UNCLEAR` is a wish that is still to be asked for."""

    OUT_OF_SCOPE = "out_of_scope"
    HUMAN = "human"
    CANCEL = "cancel"
    CHANGE_EMAIL = "change_email"
    COMPENSATE = "compensate"
    PROFILE = "profile"
    CHANGE_PAYMENT = "change_payment"
    CHANGE_DEFAULT_ADDRESS = "change_default_address"
    CHANGE_ADDRESS = "change_address"
    DISCOUNT = "discount"
    ADVICE = "advice"
    RETURN_STATUS = "return_status"
    EXCHANGE = "exchange"
    RETURN = "return"
    LIST_ORDERS = "list_orders"
    ORDER_STATUS = "order_status"
    PRODUCT = "product"
    UNCLEAR = "unclear"


@dataclass(frozen=True)
class Cue:
    """Words that speak for an intent, unless others speak against it; `also` must be among them as well."""

    intent: Intent
    words: tuple[str, ...]
    unless: str = r"(?!)"
    also: str = ""

    def speaks(self, folded: str) -> bool:
        """Whether one of the words is in the text, and none that speaks against it."""
        said = any(re.search(word, folded) for word in self.words)
        return said and bool(re.search(self.also, folded)) and not re.search(self.unless, folded)
