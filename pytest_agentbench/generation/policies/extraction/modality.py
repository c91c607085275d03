"""Whether a sentence states a rule, and how strictly: modal verbs, imperatives, limits and conditions."""

import re
from dataclasses import dataclass
from typing import Literal

from pytest_agentbench.generation.policies.extraction.language import Lexicon

Strength = Literal["must", "must_not", "may", "should", "states"]

_LABEL = re.compile(r"^(?:[^\s:.!?]+\s){0,3}[^\s:.!?]+:\s+(?=\S)")
_CLAUSE = re.compile(
    r"^(?:if|when|whenever|before|after|once|for|in|on|during|unless|as|where|while|upon|to|with|without|until|at|by"
    r"|si|quand|lorsque|lorsqu['’]|avant|après|dès|pour|en|à|au|aux|sur|sans|avec|jusqu['’]|en cas)\b[^,:]*[,:]\s*",
    re.IGNORECASE,
)
_ADVERB = re.compile(
    r"^(?!(?:app|comp|supp|rep|multip|re)ly\b)(?:always|then|first|second|third|please|next|finally|also|otherwise|instead|and|or|but|so|just|only|\w+ly|toujours"
    r"|puis|ensuite|enfin|d['’]abord|sinon|et|ou|alors|\w+ment(?=,)),?\s+",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*['’]?")
_BEGINS_WITH_CLAUSE = re.compile(r"^[^.]{0,200}?,\s")


@dataclass(frozen=True)
class Modality:
    """What a sentence does: `strength` None where it states no rule, `strong` where its words demand or allow."""

    strength: Strength | None
    strong: bool = False
    reason: str = ""


def modality(text: str, words: Lexicon) -> Modality:
    """Read one sentence; `reason` says why one that states no rule states none."""
    plain = text.strip()
    if plain.endswith("?") or (plain[:1] in '"“«' and plain[-1:] in '"”».'):
        return Modality(None, reason="a question or a quotation")
    if words.illustrations.match(plain):
        return Modality(None, reason="an example")
    orders = is_imperative(plain, words)
    if words.has("must_not", plain):
        # `say so and never claim success` asks for something, `never claim success` does not
        return Modality("must" if orders and not _forbids(plain, words) else "must_not", strong=True)
    if words.has("must", plain):
        return Modality("must", strong=True)
    if words.has("capability", plain):
        return Modality(None, reason="says what the agent is for")
    if orders:
        return Modality("must", strong=True)
    if words.has("should", plain):
        return Modality("should", strong=True)
    if words.has("may", plain):
        return Modality("may", strong=True)
    if _constrains(plain, words) and not _describes(plain, words):
        return Modality("states")
    return Modality(None, reason="describes and asks nothing")


def describes_parts(text: str, words: Lexicon) -> bool:
    """Whether a lead-in announces what something consists of, or what the agent is for: no rules stand below it."""
    plain = text.strip()
    if words.has("capability", plain):
        return True
    strong = any(words.has(kind, plain) for kind in ("must_not", "must", "should"))
    return not strong and not is_imperative(plain, words) and words.descriptive.search(plain) is not None


def _describes(text: str, words: Lexicon) -> bool:
    """Whether a statement says what something has, without a number or a condition that would limit it."""
    limits = words.measure.search(text) or re.search(r"\d", text) or words.has("condition", text)
    return not limits and words.descriptive.search(text) is not None and not re.search(r"\bonly\b", text)


def is_imperative(text: str, words: Lexicon) -> bool:
    """Whether a sentence, or what follows its label and opening clauses, begins with a verb that orders."""
    rest = text
    candidates = [rest]
    if label := _LABEL.match(rest):
        candidates.append(rest[label.end() :])
    return any(_orders(_opened(candidate), words) for candidate in candidates)


def opens_condition(text: str, words: Lexicon) -> bool:
    """Whether a lead-in (`…:`) announces conditions or cases, so that the list below it is one rule with it."""
    tail = " ".join(text.rstrip(" :").split()[-7:])
    return words.has("open_condition", tail) or is_bare_condition(text, words)


def is_bare_condition(text: str, words: Lexicon) -> bool:
    """Whether a lead-in is a condition alone, without what follows from it."""
    found = words.patterns["condition"].match(text.strip())
    # `for each day:` says whom the entries are about, and waits for no consequence
    if found is None or found.group().lower().startswith(("for", "pour")):
        return False
    return "," not in text and not is_imperative(text, words)


def ends_open(text: str, words: Lexicon) -> bool:
    """Whether a lead-in stops at a modal verb or a negation, so that each entry below it is the rest of a sentence."""
    tail = " ".join(text.rstrip(" :").split()[-3:])
    kinds = ("must_not", "must", "should", "may")
    return any(found.end() == len(tail) for kind in kinds for found in words.patterns[kind].finditer(tail))


def _forbids(text: str, words: Lexicon) -> bool:
    """Whether an order is one to leave something, from its first words on."""
    found = words.patterns["must_not"].search(_opened(text))
    return found is not None and found.start() <= 2


def _opened(text: str) -> str:
    """Cut the clauses and adverbs that a sentence opens with."""
    rest = text.lstrip("\"'“«([ ")
    for _ in range(3):
        cut = _CLAUSE.sub("", _ADVERB.sub("", rest, count=1), count=1)
        if cut == rest or not cut:
            break
        rest = cut
    return rest


def _orders(text: str, words: Lexicon) -> bool:
    found = _WORD.findall(text[:80])
    if not found:
        return False
    first = found[0].lower()
    if first in words.not_imperative or (len(found) == 1 and not text.rstrip().endswith((".", "!"))):
        return False
    second = found[1].lower() if len(found) > 1 else ""
    if first in words.imperatives:
        # `Order status is…` and `Change fees apply`: a noun before another noun and its verb
        return not (second and _is_noun_phrase(found, words))
    if words.name == "fr":
        return bool(re.fullmatch(r"(?:[a-zà-ÿ-]{3,}(?:er|ir|oir|ez)|[a-zà-ÿ]{2,}(?:dre|tre|ire|vre))", first)) and (
            not second or second in words.objects or second in words.stopwords
        )
    return second in words.objects and not first.endswith(("s", "ing", "ed", "ion")) and first not in words.stopwords


def _is_noun_phrase(found: list[str], words: Lexicon) -> bool:
    second = found[1].lower()
    if second in words.objects or second in words.stopwords:
        return second in {"is", "are", "was", "were", "will", "can", "may", "must", "should", "est", "sont", "peut"}
    verbs = {"is", "are", "was", "were", "will", "can", "may", "must", "should", "apply", "applies", "go", "goes"}
    return len(found) > 2 and found[2].lower() in verbs


def _constrains(text: str, words: Lexicon) -> bool:
    """Whether a statement limits what may happen: a limit, a consequence under a condition, an amount to come."""
    if words.has("limit", text) or words.has("exception", text) or words.has("practice", text):
        return True
    if words.measure.search(text) and words.has("future", text):
        return True
    opening = words.patterns["condition"].match(text)
    if opening and _BEGINS_WITH_CLAUSE.match(text):
        return True
    return words.has("condition", text) and (words.has("future", text) or words.has("negation", text))
