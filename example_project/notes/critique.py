"""Messages about the last answer rather than about the notes: doubt, a request for the source, for more."""

import re
from dataclasses import dataclass
from enum import Enum

from notes.question import find_ordinal
from notes.text import fold, key_words
from notes.wording import WEAK


class Complaint(Enum):
    """What is wanted of the last answer."""

    DOUBT = "doubt"
    SOURCE = "source"
    MORE = "more"


@dataclass(frozen=True, kw_only=True)
class Critique:
    """What is wanted, and what the user holds against the answer."""

    complaint: Complaint
    claim: str = ""


_DOUBT = re.compile(
    r"\b(?:are|r) (?:you|u) (?:really |quite |absolutely |so )?(?:sure|certain|positive)|"
    r"^\W*(?:really|sure|seriously|certain)\b\W*$|"
    r"\bi (?:thought|think|believed|heard|read|remember(?:ed)?) (?:that )?(?:it|that|they|this|he|she)?|"
    r"\b(?:isn't|wasn't|aren't|isnt|shouldn't) (?:it|that|this|he|she|there)\b|\bthat(?:'s| "
    r"is| can't be| cannot be| doesn't| does not)(?: not)? (?:wrong|right|true|correct|seem "
    r"right|sound right|look right)|"
    r"\bis that (?:right|true|correct|really)|\b(?:double[- ]?check|check (?:it |that )?again|"
    r"check (?:it|that)\b|verify)|\b(?:look|search|try|read)(?: it| for it| there)?(?: up)? (?:once "
    r")?(?:again|more)\b|"
    r"\b(?:cherche|regarde|relis|essaie|verifie)[sz]?\b[^?.!]*\b(?:encore|de nouveau|a nouveau|mieux)\b|"
    r"\bi doubt\b|\byou(?:'re| are) (?:wrong|mistaken)|"
    r"\b(?:tu (?:en )?es|t'es|es[- ]tu|etes[- ]vous|vous (?:en )?etes) (?:vraiment |bien |absolument "
    r")?(?:surs?e?s?|certaine?s?)\b|^\W*(?:vraiment|sur|certain)\b\W*$|"
    r"\bje (?:croyais|pensais|crois|pense) (?:que|plutot|avoir)|\bce n'est pas plutot|"
    r"\bn'est-ce pas plutot|\bc'est (?:faux|bien vrai|vrai|exact|correct)|\best-ce (?:vrai|"
    r"exact|correct|juste)|"
    r"^\W*(?:ah bon|tiens|serieux|serieusement|hm+|huh|oh)\b\W*(?:$|\?|!|\.\.\.)|\bil me sembl\w+|\bon "
    r"m'a dit\b|\bj'aurais (?:dit|cru|parie)\b|"
    r"\b(?:my|a|our|mon|ma|notre|un|une) (?:colleague|boss|friend|teacher|teammate|coworker|collegue|ami|"
    r"amie|chef|prof)\w* "
    r"(?:says?|said|told|claims?|thinks?|swears?|dit|disait|pretend|affirme|jure)\b|\b(?:someone|somebody|"
    r"they|quelqu'un) "
    r"(?:told me|says?|said|dit|m'a dit|pretend)\b|\bi was told\b|\bi(?:'d| would) have (?:said|thought|guessed)\b|"
    r"\bc'(?:est|etait) pas\b|\bce n'(?:est|etait) pas\b|\bje (?:pensais|croyais)\b|\byou sure\b|\bi "
    r"(?:do not|don't|can't|cannot) believe\b|\bnot convinced\b|\bpas convaincue?\b|\bje n'y crois pas\b|"
    r"\bje ne (?:te|vous) crois pas\b|\bsur et certain\b|"
    r"\b(?:sounds|seems|looks) (?:wrong|odd|off|strange|low|high|too)\b|"
    r"\bverifie\w*|\bj'en doute|\btu te trompes|\bj'avais (?:lu|entendu)"
)
_SOURCE = re.compile(
    r"\b(?:cite|quote|give|show|name|what(?:'s| is| are)|which|your|the|a|"
    r"any)\b[^?.!]*\b(?:sources?|references?|citations?|passage|evidence)\b|^\W*(?:sources?|"
    r"references?)\b\W*$|"
    r"\bwhere(?:'s| is| does) (?:that|this|it) (?:come |taken )?from\b|\bwhere (?:does|do|did|is|exactly|"
    r"in the notes|have you|you)\b[^?.!]*\b(?:say|says|said|"
    r"written|stated|find|found|get|got|from|come|comes|read|see)\b(?![^?.!]* (?:about|of) )|"
    r"\b(?:cite[sz]?|citer|donne[sz]?|indique[sz]?|quelle(?:s)?|ta|ton|tes|votre|vos|la|"
    r"les)\b[^?.!]*\b(?:sources?|references?|citations?|passage|preuves?)\b|"
    r"\bd'ou (?:tiens|vient|sors|tires|tenez|viennent|tu|cela|ca)|\bou (?:est-ce|est ce|c'est|"
    r"cela est|as-tu|avez-vous|l'as-tu|est-il|exactement)\b[^?.!]*(?:ecrit|dit|lu|trouve|note|"
    r"indique|mentionne)|"
    r"\bwhich (?:note|lines?|section|file)\b(?: (?:says?|is that|exactly|did|was))|\bdans "
    r"quelle (?:note|section|ligne)\b|\bquelle (?:note|ligne|section)\b|\bprove it\b|\b(?:c'est|est-ce) "
    r"(?:ecrit|dit|marque|indique) ou\b|"
    r"\b(?:lu|vu|trouve|sors|tires?|tiens) (?:ca|cela) (?:ou|d'ou)\b|\bbased on what\b|\b(?:what|which) "
    r"(?:page|file|document|doc)\b"
    r"(?: (?:says?|is that|exactly|did|was))|\bdans quel(?:le)? (?:fichier|page|document)\b|\bsur quoi "
    r"(?:te|vous|tu)\b|\bback "
    r"(?:that|it) up\b"
)
_MORE = re.compile(
    r"\b(?:more|further|in) (?:details?|precise|precisely|specific|depth|detailed)\b|"
    r"\belaborate\b|\bbe (?:more )?(?:precise|specific|complete)\b|\btell me more\b|"
    r"\bexpand\b|\bis that all\b|\banything else\b|\bgo on\b|"
    r"\bplus de (?:details?|precisions?)|\b(?:plus|davantage) (?:precis|detaille|complet)|"
    r"\bdeveloppe\w*|\bprecise[rz]?\b|\bc'est tout\b|\brien d'autre|\bdis-m'en plus|\ben dire "
    r"plus|\bcomplete[rz]?\b"
)
_OPENS = re.compile(
    r"\W*(?:(?:and|but|since|until|in|at|for|with|et|mais|depuis|jusqu'a|a|en|pour|avec|par) )*"
    r"(?:what|which|who|when|where|why|how|quel|qui|quand|ou|pourquoi|comment|combien)\b"
)
_CLAIM = re.compile(
    r"\b(?:thought|think|believed?|heard|read|remember(?:ed)?|croyais|pensais|crois|pense|lu|"
    r"entendu)\b(?: that| que| qu'| plutot)* ?(?:it|that|they|this|he|she|c'etait|il|elle|"
    r"cela|ce)?(?: (?:was|is|were|took|takes|should be|etait|est|faisait|fallait))? "
    r"?(?P<claim>.+)$|"
    r"\b(?:isn't|wasn't|shouldn't) (?:it|that) (?:be )?(?:rather |actually )?(?P<tag>.+)$|"
    r"\bpas plutot (?P<plutot>.+)$"
)


def critique(message: str) -> Critique | None:
    """Read a message as one about the last answer; None where it asks about something of its own."""
    folded = fold(message).strip()
    if _DOUBT.search(folded):
        kind = Complaint.DOUBT
    elif _SOURCE.search(folded):
        kind = Complaint.SOURCE
    elif _MORE.search(folded) and len(_own(folded)) < 3 and not find_ordinal(folded):
        kind = Complaint.MORE
    else:
        return None
    claim = _claimed(folded) if kind is Complaint.DOUBT else ""
    left = _own(_MORE.sub(" ", _SOURCE.sub(" ", _DOUBT.sub(" ", folded))))
    if not claim and len(left) > 3:
        return None
    return Critique(complaint=kind, claim=claim)


def apart(message: str) -> tuple[str, str]:
    """Cut a message into what it says about the last answer and a question of its own after that; "" for none."""
    pieces = re.split(r"(?<=[.!?])\s+", message.strip())
    last = pieces[-1]
    if len(pieces) < 2 or not last.endswith("?") or critique(last) or not _OPENS.match(fold(last)):
        return message, ""
    before = " ".join(pieces[:-1])
    return (before, last) if critique(before) else (message, "")


def _claimed(folded: str) -> str:
    sentence = next((part for part in re.split(r"(?<=[.!?])\s+", folded) if _CLAIM.search(part)), "")
    match = _CLAIM.search(sentence)
    text = next((group for group in match.groups() if group), "") if match else ""
    figures = re.findall(r"\d[\w.,:-]*", folded)
    return text.strip(" ?!.,") or (figures[-1].strip(".,:-") if figures else "")


def _own(text: str) -> list[str]:
    """Give the words of a message that may name a subject of its own."""
    usual = {
        "source",
        "sources",
        "sure",
        "certain",
        "line",
        "lines",
        "exact",
        "quote",
        "exactly",
        "answer",
        "reponse",
        "sur",
        "reference",
        "section",
    }
    return [word for word in key_words(text) if word not in WEAK | usual]
