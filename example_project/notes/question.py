"""What kind of question a message is, and what it is about; English and French, by structure rather "
"than by phrase."""

import re
from dataclasses import dataclass
from enum import Enum

from notes.ellipsis import substituted
from notes.text import fold, key_words


class Kind(Enum):
    """What a message asks for; the README describes each."""

    FACT = "fact"
    COMPARE = "compare"
    SEVERAL = "several"
    FOLLOW = "follow"
    OVERVIEW = "overview"
    WHERE = "where"
    FOLDER = "folder"


@dataclass(frozen=True, kw_only=True)
class Question:
    """A message taken apart: its kind, and the parts that are searched one by one."""

    text: str
    kind: Kind
    parts: tuple[str, ...]
    ordinal: int = 0


_AND = r"(?:and|with|to|versus|vs\.?|et|avec|a|à)"
_COMPARE = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"^(?P<rest>.*?\bdifferences?\b(?: in [\w' -]+?)?) between (?P<a>.+?) (?:and|&) (?P<b>.+?)[?.!]*$",
        r"^(?P<rest>.*?\bdiff[ée]rences?\b(?: d[e'’] ?[\w'’ -]+?)?) entre (?P<a>.+?) et (?P<b>.+?)[?.!]*$",
        rf"^(?:.*\b)?(?:compare|comparez|comparer|compares)\b (?P<a>.+?) {_AND} (?P<b>.+?)(?P<rest>)[?.!]*$",
        r"^(?P<rest>.*?)\b(?P<a>[\w'’+#.-]+(?: [\w'’+#.-]+)?) (?:vs\.?|versus) (?P<b>[\w'’+#. -]+?)[?.!]*$",
        r"^(?P<rest>(?:which|who|what|is it)\b.*?)[,:] (?P<a>[^,]+?),? or (?P<b>[^,?]+?)[?.!]*$",
        (
            r"^(?P<rest>(?:lequel|laquelle|lesquels|lesquelles|qui|quel\w*|est-ce)\b.*?)\s?[,:] "
            r"(?P<a>[^,]+?),? ou (?P<b>[^,?]+?)\s?[?.!]*$"
        ),
        r"^(?P<a>(?:is|are|does|do) .+?) (?P<rest>(?:more|less|fewer|\w+er)\b.*?) than (?P<b>.+?)[?.!]*$",
        r"^(?P<a>.+?) (?P<rest>(?:plus|moins)\b.*?) qu(?:e |['’])(?P<b>.+?)\s?[?.!]*$",
        r"^how (?:does|do) (?P<a>.+?) (?P<rest>compare) (?:to|with) (?P<b>.+?)[?.!]*$",
        (
            r"^(?:which|what|quel\w*|lequel|laquelle) (?:of|de|des|entre) (?P<a>.+?) (?:and|or|et|ou) "
            r"(?P<b>.+?) (?P<rest>(?:is|are|has|have|"
            r"was|does|do|can|takes?|needs?|est|sont|a|ont|peut|prend|doit) .+?)\s?[?.!]*$"
        ),
        (
            r"^(?:between|of|entre|de) (?P<a>.+?) (?:and|et) (?P<b>[^,]+?), (?P<rest>(?:which|who|what|lequel|"
            r"laquelle|qui|quel\w*)\b.+?)\s?[?.!]*$"
        ),
        (
            r"^(?P<rest>(?:which|who)\b .*?\b(?:\w+er|more|less|most|best|longest)\b)(?: of the "
            r"two)?[,:]? (?P<a>(?:the |a |an )?[\w'-]+(?: [\w'-]+){0,2}) or (?P<b>[^,?]+?)[?.!]*$"
        ),
    )
)
_OF = re.compile(r"^(.*\b(?:of|for|in|from|de|du|des|d'|d’|pour|dans)\b ?)(.+)$", re.IGNORECASE)
_JOINED_QUESTION = re.compile(
    r"(?:[,;]? (?:and|et|then|puis)|[;,]) (?=(?:also |aussi )?(?:(?:in |at |for |by |on |with |before |"
    r"after |until |since |under |to |of |from |à |de |en |par |pour |avant |après |depuis |jusqu'à |sous "
    r"|dans |sur )?(?:what|who|when|where|how|why|which|qui|quand|"
    r"combien|comment|où|pourquoi|quel|quelle|quels|quelles|lequel|laquelle|lesquels|lesquelles|"
    r"qu'est-ce)\b|à partir de))",
    re.IGNORECASE,
)
_COORDINATED = re.compile(
    r"^(?P<lead>(?:what(?:'s| is| are| was| were)|give me|tell me|how (?:long|much|many) "
    r"(?:is|are)|quel(?:le)?s? (?:est|sont|était)|"
    r"donne[- ]moi|quels sont)) (?P<x>(?:the |le |la |les |l['’])?[^,?]+?) (?:and|et) "
    r"(?P<y>(?:the |le |la |les |l['’])[^,?]+?)"
    r"(?P<of> (?:of|for|in|de|du|des|d['’]|pour) ?.+?)\s?[?.!]*$",
    re.IGNORECASE,
)
_SHARED = re.compile(
    r"^(?P<lead>(?:what|who|when|where|how|quel|quelle|quels|quelles|combien|qui|quand|"
    r"comment)\b.*\b(?:of|for|from|de|du|des|d['’]|pour)) ?"
    r"(?P<x>(?:the |le |la |les |l['’])?[\w'’ -]+?) (?:and|et) (?P<y>(?:of |for |de |du |des |"
    r"d['’]|pour )?[\w'’ -]+?)\s?[?.!]*$",
    re.IGNORECASE,
)
_FOLLOW = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        (
            r"^(?:the |my )?(?P<a>[\w' -]+?) notes? (?:links?|refers?|points?|leads?) to "
            r"(?:a|another|one) (?:other )?note\b(?P<b>.*)$"
        ),
        r"notes? (?:that |which )?(?P<a>.+?) (?:links?|refers?|points?|leads?) to\b(?P<b>.*)$",
        (
            r"notes? (?:is |are )?(?:linked|referenced|mentioned|referred to) (?:from|in|by|to|under|"
            r"at) (?P<a>.+?)(?P<b>(?: (?:say|says|about|on|for|give|gives|recommend)\b|[,?]).*|)$"
        ),
        (
            r"(?:link|reference) (?:in|from|of|under) (?P<a>.+?)(?P<b>(?: (?:say|says|and|about|to "
            r"find|for)\b|[,?:]).*|)$"
        ),
        r"note (?:vers|à) laquelle (?P<a>.+?) (?:renvoie|mène|conduit|pointe)\b(?P<b>.*)$",
        (
            r"note (?:qui est )?(?:liée|citée|référencée|mentionnée|indiquée)(?: depuis| dans| par| à|"
            r" sous)? (?P<a>.+?)(?P<b>(?: (?:sur|à propos|au sujet|dit|pour)\b|\s?[,?]).*|)$"
        ),
        r"(?:lien|renvoi) (?:de|du|dans|depuis) (?P<a>.+?)(?P<b>(?: (?:et|sur|à propos|pour)\b|\s?[,?:]).*|)$",
    )
)
_OVERVIEW = re.compile(
    r"\b(?:summari[sz]e|summary|overview|outline|gist|main points|key points|what do (?:my|"
    r"the) notes say about|what(?:'s| is) in (?:the|my) note|"
    r"tell me (?:everything|all) about|resum\w+|apercu|vue d'ensemble|grandes lignes|points cles|"
    r"que disent (?:mes|les) notes|que contient (?:la|ma) note|de quoi parle)\b"
)
_WHERE = re.compile(
    r"\b(?:(?:what|which) (?:\w+ )?notes?|(?:what|which) (?:files?|documents?|pages?) (?:\w+ ){0,2}(?:about|mention|"
    r"speak|talk|say|discuss|describe|explain|contain|cover|hold)\w*|in (?:what|which) (?:file|document|page)s?|"
    r"where (?:did|do|have) i|where (?:is|are) .*\b(?:mentioned|"
    r"discussed|described|explained)|"
    r"list (?:all )?(?:the |my )?notes|find (?:the |my |all )?notes?|quel(?:le)?s? "
    r"notes?|quel(?:le)?s? (?:fichiers?|documents?|pages?) (?:\w+ ){0,2}(?:parle|mention|dise|dit|trait|"
    r"contien|decri|"
    r"expliqu)\w*|dans quel(?:le)?s? (?:fichiers?|documents?|pages?)|ou (?:ai-je|est-ce que j'ai|parle)|trouve\w* "
    r"(?:les|mes|la) notes?)\b"
)
_FOLDER = re.compile(
    r"\b(?:folder|directory|dossier|repertoire)s?\b|\bhow many notes\b|\bcombien de notes\b|"
    r"\bwhat notes do i have\b|\bquelles notes ai-je\b"
)
_ORDINALS = (
    (1, r"first|1st|premier|premiere|1er|1ere"),
    (2, r"second|2nd|deuxieme|2e|2eme|seconde?"),
    (3, r"third|3rd|troisieme|3e|3eme"),
    (4, r"fourth|4th|quatrieme|4e|4eme"),
    (5, r"fifth|5th|cinquieme|5e|5eme"),
    (6, r"sixth|6th|sixieme"),
    (7, r"seventh|7th|septieme"),
    (8, r"eighth|8th|huitieme"),
    (-1, r"last|final|dernier|derniere"),
)
_ORDINAL_OF = re.compile(
    r"\b(?:the|le|la|l'|du|de la|au|a la) ?(?P<word>[\w']+) (?:one|step|stage|item|ingredient|"
    r"point|rule|phase|option|entry|thing|part|method|"
    r"etape|point|element|regle|methode|option|ingredient|chose|partie)\b|\b(?:et|and|what "
    r"about|pour) (?:the |le |la )(?P<alone>[\w']+)\s?[?.!]*$"
    r"|\b(?:step|etape|point) (?P<number>\d)\b"
)
_INSTRUCTION = re.compile(
    r"(?:^|(?<=[.?!,;] ))(?:and )?(?:please )?(?:cite|quote|give|name|tell me|cite[sz]?|"
    r"donne[sz]?|indique[sz]?)[^.?!]*\b(?:sources?|references?|citations?|"
    r"notes?|lines?|lignes?)\b[^.?!]*[.!?]*\s*",
    re.IGNORECASE,
)


def without_instructions(text: str) -> str:
    """Leave out a request to cite beside the question itself: every answer cites."""
    kept = _INSTRUCTION.sub("", text).strip(" ,;")
    return kept if key_words(kept) else text


def understand(text: str) -> Question:
    """Take a message apart."""
    folded = fold(text)
    ordinal = find_ordinal(folded)
    followed = _followed(text)
    if followed:
        return Question(text=text, kind=Kind.FOLLOW, parts=followed)
    if _FOLDER.search(folded):
        return Question(text=text, kind=Kind.FOLDER, parts=(text,))
    sides = _sides(text)
    if sides:
        return Question(text=text, kind=Kind.COMPARE, parts=sides)
    parts = _several(text)
    if len(parts) > 1:
        return Question(text=text, kind=Kind.SEVERAL, parts=parts)
    if _OVERVIEW.search(folded):
        return Question(text=text, kind=Kind.OVERVIEW, parts=(text,))
    if _WHERE.search(folded):
        return Question(text=text, kind=Kind.WHERE, parts=(text,))
    return Question(text=text, kind=Kind.FACT, parts=(text,), ordinal=ordinal)


def find_ordinal(folded: str) -> int:
    """Give the place in a list that a folded text asks for: 1 for the first, -1 for the last, 0 for none."""
    for match in _ORDINAL_OF.finditer(folded):
        if match["number"]:
            return int(match["number"])
        word = match["word"] or match["alone"]
        found = next((number for number, words in _ORDINALS if re.fullmatch(words, word)), 0)
        if found:
            return found
    return 0


def find_place(folded: str) -> int:
    """Give the place in the conversation that a folded text asks for: 1 for “first”, -1 for “last”, 0 for none."""
    if re.search(
        r"\bau debut\b|\bd'abord\b|\bat the (?:very )?(?:start|beginning)\b|\bto begin with\b|\binitially\b", folded
    ):
        return 1
    for number, words in _ORDINALS:
        if re.search(rf"\b(?:{words})\b", folded):
            return number
    return 0


_SAME_OF = re.compile(
    r"^.*\b(?:celle|celui|celles|ceux|that|those|the (?:one|same)) "
    r"(?:de la |de l'|du |des |de |d'|of |for )(?P<other>.+)$",
    re.IGNORECASE,
)


_ASKING = re.compile(
    r"(?:(?:in|at|for|by|on|with|from|à|de|en|par|pour) )?(?:what about|how about|what|who|when|where|how|"
    r"why|which one|which|"
    r"qui|quand|combien|comment|où|pourquoi|quelles?|quels?|lequel|laquelle|lesquels|lesquelles)\b ?",
    re.IGNORECASE,
)


def _filled_in(part: str, first: str) -> str:
    """Give a later part its noun from the first: “…, and what is that of B?” after “What is the size of A?”."""
    same, attribute = _SAME_OF.match(part), _OF.match(first)
    if same and attribute:
        return substituted(first, same["other"]) or f"{attribute[1]}{same['other']}"
    short = _ASKING.match(part)
    return (substituted(first, part[short.end() :]) if short else "") or part


def _followed(text: str) -> tuple[str, ...]:
    for pattern in _FOLLOW:
        match = pattern.search(text)
        if match and key_words(match["a"]):
            lead, rest = text[: match.start()], re.split(r"[.:] (?=\S)", match["b"])[-1]
            return match["a"].strip(" ,?"), f"{lead} {rest}".strip(" ,?")
    return ()


def _sides(text: str) -> tuple[str, ...]:
    """Give one question for each side of a comparison."""
    for pattern in _COMPARE:
        match = pattern.match(text.strip())
        if match is None:
            continue
        first, second = match["a"].strip(" ,"), match["b"].strip(" ,")
        if not (key_words(first) and key_words(second)):
            continue
        attribute = _OF.match(first)
        same = _SAME_OF.match(f" {second}")
        if same:
            second = substituted(first, same["other"]) or f"{attribute[1] if attribute else ''}{same['other']}"
        elif attribute and not match["rest"].strip() and len(second.split()) <= 3 and key_words(attribute[1]):
            second = f"{attribute[1]}{second}"
        rest = match["rest"].strip()
        return f"{rest} {first}".strip(), f"{rest} {second}".strip()
    return ()


def _several(text: str) -> tuple[str, ...]:
    pieces = [piece.strip() for piece in re.findall(r"[^?]+\??", text) if key_words(piece)]
    parts = [part.strip(" ,;") for piece in pieces for part in _JOINED_QUESTION.split(piece) if key_words(part)]
    if len(parts) > 1:
        return (parts[0], *(_filled_in(part, parts[0]) for part in parts[1:]))
    match = _COORDINATED.match(text.strip())
    if match:
        return f"{match['lead']} {match['x']}{match['of']}?", f"{match['lead']} {match['y']}{match['of']}?"
    match = _SHARED.match(text.strip())
    if match and key_words(match["lead"]) and key_words(match["x"]) and key_words(match["y"]):
        lead = match["lead"]
        return f"{lead} {match['x']}?", f"{lead} {match['y']}?"
    return (text,)
