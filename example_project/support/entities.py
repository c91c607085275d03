"""The facts in a message: emails, order numbers, postcodes, payment methods, reasons, and its language."""

import re
from collections.abc import Sequence

from support.lexicon import ENGLISH, FRENCH, REASONS
from support.text import either, fold, mend

EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
POSTCODE = re.compile(r"\b\d{5}\b|\b[A-Z]{1,2}\d[A-Z\d]?\s?\d[A-Z]{2}\b", re.IGNORECASE)
_AT = r"\s*(?:\(at\)|\[at\]|\bat\b|\barobase\b)\s*"
_SPOKEN_EMAIL = re.compile(rf"([\w.+-]+){_AT}([\w-]+)\s*(?:\bdot\b|\bpoint\b)\s*([a-z]{{2,3}})\b", re.IGNORECASE)
_ORDER_WORD = r"(?:\borders?|\bcommandes?|\bnumber|\bnumero|\bn[°o]\.?|#)"
_ORDER = either(r"\bw[\s#°-]*(\d{4})\b", rf"{_ORDER_WORD}[\s:#°-]*(?:is |est (?:la )?)?[\s#:]*w?-?(\d{{4}})\b")
_DIGITS = re.compile(r"\b\d{4}\b")
_CARD_DIGITS = either(
    r"\b(?:end(?:s|ing)?(?: in| with| on)?|(?:last|final) (?:four )?digits(?: are)?|card|visa|mastercard)\s*(\d{4})\b",
    r"\b(?:finit par|finissant par|se terminant par|termine par|carte)\s*(\d{4})\b|\*+\s*(\d{4})\b",
)
_GIFT_CARD = either(r"\bgift[ -]?(?:card|voucher|certificate)s?|\bcartes?[ -]cadeaux?|\bcheque cadeau|\bgiftcard")
_METHODS = {
    "original": either(
        r"\boriginal\w*|\bsame (?:method|card|way|account)|\bd'origine|\bmeme (?:carte|moyen|compte)|\bd'achat",
        r"\b(?:method|card|way|account|one) (?:that )?i (?:\w+ )?(?:paid|used)",
        r"\b(?:what|how) i (?:\w+ )?(?:paid with|paid$|used)",
        r"\b(?:was|were) used (?:for|to|when)\b|\b(?:paid|payed) with\b|\b(?:utilisee?|servi) (?:pour|a)\b",
    ),
    "gift_card": _GIFT_CARD,
    "store_credit": either(
        r"\b(?:store|shop|your|account)[ -]credit|\b(?:as|in|to|for|into) (?:a )?credit\b(?! ?card)|\bbon d'achat",
        r"\b(?:credit|put)\b.*\bmy store account|\b(?:en|un|d'un|forme d'|mon) ?avoir|\bcredit (?:boutique|magasin)",
    ),
    "paypal": either(r"\bpay ?pal"),
    "card": either(r"\bvisa\b|\bmaster ?card|\bcard\b|\bcarte\b|\bcb\b"),
}
_WANTED = either(r"\b(?:ne|n') ?(?:la |le |les |l')?(?:veux|voudrais|voulais|souhaite|desire|garde|garderai|ai)\s+$")
_FILLERS = r"(?:(?:to|on|with|the|my|a|in|en|de|du|la|le|les|sur|ma|mon|avec|par|from|order|commande)\s+)*"
_EXCLUDED = re.compile(
    rf"\b(?:not|instead of|in place of|rather than|pas|au lieu d[eu]|plutot que)\s+{_FILLERS}"
    r"[\w-]+(?:(?: card)?(?: ending)?(?: in)?\s\d+)?"
)


def emails(text: str) -> list[str]:
    """Find email addresses, also spelt “name at example dot com”."""
    spoken = [f"{name}@{domain}.{end}" for name, domain, end in _SPOKEN_EMAIL.findall(text)]
    return [found.rstrip(".") for found in EMAIL.findall(text)] or spoken


def order_ids(text: str) -> list[str]:
    """Find order numbers in whatever form, as `W1001`, each once, in order."""
    found = [f"W{first or second}" for first, second in _ORDER.findall(without_negated(fold(text)))]
    return list(dict.fromkeys(found))


def bare_order_id(text: str) -> str | None:
    """Find the four digits that answer the question for an order number."""
    found = order_ids(text) or [f"W{digits}" for digits in _DIGITS.findall(text)]
    return found[-1] if found else None


def postcodes(text: str) -> list[str]:
    """Find German, French, Italian and British postcodes."""
    return [found.upper() for found in POSTCODE.findall(EMAIL.sub(" ", text))]


def payment_hint(text: str) -> str | None:
    """Find which payment method is meant: a kind, `original`, or the last four digits; the last mention counts."""
    folded = _GIFT_CARD.sub("giftcard", without_negated(fold(text)))
    digits = _CARD_DIGITS.search(folded)
    if digits:
        return next(group for group in digits.groups() if group)
    kinds = payment_hints(text)
    if "original" in kinds and "store_credit" not in kinds[kinds.index("original") :]:
        return "original"
    return kinds[-1] if kinds else None


def payment_hints(text: str) -> list[str]:
    """Find every kind of payment method that is named, in order."""
    folded = _GIFT_CARD.sub("giftcard", without_negated(fold(text)))
    places = [(match.end(), kind) for kind, pattern in _METHODS.items() for match in pattern.finditer(folded)]
    return [kind for _, kind in sorted(places)]


def reason(text: str) -> str | None:
    """Find which of the accepted reasons for a cancellation is given."""
    folded = mend(fold(text))
    return next((name for name, words in REASONS.items() if either(*words).search(folded)), None)


def without_negated(folded: str) -> str:
    """Blank what is excluded: “not the mat”; but “je ne veux pas de la lampe” is about the lamp."""
    return _EXCLUDED.sub(
        lambda match: match.group() if _WANTED.search(folded[: match.start()]) else " " * len(match.group()), folded
    )


def is_french(text: str, *, before: bool) -> bool:
    """Whether a message is French; what was spoken `before` stands where the words do not tell."""
    words = re.findall(r"[a-z]+(?:['-][a-z]+)*", EMAIL.sub(" ", fold(text)).replace("j'", "j ").replace("l'", "le "))
    french, english = _count(words, FRENCH), _count(words, ENGLISH)
    return before if french == english else french > english


def _count(words: Sequence[str], known: frozenset[str]) -> int:
    return sum(word in known for word in words)
