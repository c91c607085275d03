"""Whether a sentence states a rule, and how strictly: modal verbs, imperatives, limits and conditions."""

import re
from dataclasses import dataclass
from typing import Literal

from pytest_agentbench.generation.policies.extraction.language import Lexicon

Strength = Literal["must", "must_not", "may", "should", "states"]

_LABEL = re.compile(r"^(?:[^\s:.!?]+\s){0,3}[^\s:.!?]+:\s+(?=\S)")
_ADVERB = re.compile(
    r"^(?!(?:app|comp|supp|rep|multip|re)ly\b)(?:always|then|first|second|third|please|next|finally|also|otherwise|instead|and|or|but|so|just|only|\w+ly|toujours"
    r"|puis|ensuite|enfin|d['’]abord|sinon|et|ou|alors|\w+ment(?=,)),?\s+",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*['’]?")
_ASIDE = re.compile(r",\s+(?:which|who|whose|qui|que|dont|où)\b[^,;:.]*", re.IGNORECASE)
"""A relative clause behind a comma: it tells more about something, and what it denies is no prohibition."""
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
    aside = _set_aside(plain, words)
    if aside:
        return Modality(None, reason=aside)
    orders = is_imperative(plain, words)
    if words.has("must_not", words.patterns["described"].sub("", _ASIDE.sub("", plain))):
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
    if words.frequency.match(plain) and not words.has("open_case", plain) and not words.has("bound", plain):
        return Modality(None, reason="says how often something happens")
    return _permission(plain, words) or _statement(plain, words)


def _set_aside(text: str, words: Lexicon) -> str:
    """Say what a sentence is that states no rule whatever its words; "" where it may."""
    if text.endswith("?") or (text[:1] in '"“«' and text[-1:] in '"”».'):
        return "a question or a quotation"
    if words.illustrations.match(text):
        return "an example"
    return "greets or thanks the reader" if words.courtesies.match(text) else ""


def _permission(text: str, words: Lexicon) -> Modality | None:
    """Read a sentence about what may be done; None where it is about something else."""
    if words.has("possible", text) and not _is_limited(text, words):
        return Modality(None, reason="says what is possible")
    return Modality("may", strong=True) if words.has("possible", text) or words.has("may", text) else None


def _statement(text: str, words: Lexicon) -> Modality:
    """Read a sentence without a verb of duty or permission."""
    if _instructs(text, words):
        return Modality("must", strong=True)
    if _constrains(text, words) and not _describes(text, words):
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
    limits = words.measure.search(text) or re.search(r"\d", text)
    limited = limits or words.has("condition", text) or words.has("bound", text)
    return not limited and words.descriptive.search(text) is not None


def _is_limited(text: str, words: Lexicon) -> bool:
    """Whether something limits what a sentence calls possible: a number, a condition, an exception, a negation."""
    return any(words.has(kind, text) for kind in ("limit", "condition", "exception", "negation"))


def _instructs(text: str, words: Lexicon) -> bool:
    """Whether a sentence tells its reader what is done, without a verb of duty (`You then ask for the name`)."""
    opened = _opened(text, words)
    if words.instructs.match(opened):
        return True
    first, _, rest = opened.partition(" ")
    verb = _WORD.findall(_ADVERB.sub("", rest, count=1)[:40])
    if first.lower() not in ("you", "vous") or not verb or verb[0].lower() in words.narrates:
        return False
    return verb[0].lower() in words.imperatives or (words.name == "fr" and verb[0].endswith("ez"))


def opens_with_clause(text: str, words: Lexicon) -> bool:
    """Whether a sentence begins with a clause that says when, where or for whom the rest of it holds."""
    return words.opening.match(_ADVERB.sub("", text.lstrip(), count=1)) is not None


def is_imperative(text: str, words: Lexicon) -> bool:
    """Whether a sentence, or what follows its label and opening clauses, begins with a verb that orders."""
    rest = text
    candidates = [rest]
    if label := _LABEL.match(rest):
        candidates.append(rest[label.end() :])
    return any(_orders(_opened(candidate, words), words) for candidate in candidates)


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
    found = words.patterns["must_not"].search(_opened(text, words))
    return found is not None and found.start() <= 2


def _opened(text: str, words: Lexicon) -> str:
    """Cut the clauses and adverbs that a sentence opens with."""
    rest = text.lstrip("\"'“«([ ")
    for _ in range(3):
        cut = words.opening.sub("", _ADVERB.sub("", rest, count=1), count=1)
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
    if words.name == "fr" and "-" in first:
        # `dites-le`: the pronoun hangs on the verb
        return first.partition("-")[0] in words.imperatives or first.partition("-")[0].endswith("ez")
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
