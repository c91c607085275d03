"""The register of an agent: phrases that offer help, which a user who says them has taken over from it."""

import re

_HELPING = (
    r"how (?:can|may|could) (?:i|we) (?:help|assist) you",
    r"(?:i['’]d|i would|i['’]ll|i will) be (?:happy|glad|delighted|pleased) to (?:help|assist)(?: you)?",
    r"(?:is there )?anything else (?:that )?i can (?:help|assist|do)",
    r"(?:i['’]m|i am) here to (?:help|assist)",
    r"what can i do for you",
    r"let me know (?:if|how) (?:i can|there['’]s anything i can) (?:help|assist)",
    r"(?:glad|happy) (?:i could|to have) (?:help|assist)",
    r"comment puis-je vous (?:aider|assister|être utile)",
    r"(?:en quoi|que) puis-je (?:vous (?:aider|être utile)|faire pour vous)",
    r"je (?:serais|suis|serai) (?:ravie?|heureux|heureuse|enchantée?) de vous (?:aider|assister)",
    r"(?:puis-je|je peux) vous aider (?:à|pour|avec) (?:autre chose|quelque chose)",
    r"n['’]hésitez pas (?:à|si) (?:me|vous)[^.?!]*(?:demander|contacter|besoin|question)",
    r"je (?:suis|reste) (?:là|à votre disposition)(?: pour vous aider)?",
)
_PATTERN = re.compile("|".join(rf"\b(?:{phrase})\b" for phrase in _HELPING), re.IGNORECASE)
_READ = 4_000


def offers_help(text: str) -> bool:
    """Tell whether `text` offers help as an agent does, in English or French."""
    return bool(_PATTERN.search(text[:_READ]))
