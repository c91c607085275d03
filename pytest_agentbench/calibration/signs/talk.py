"""Signs in what is said: a user who is not content, raw output, questions for what was said already."""

# ruff: noqa: E501 - a pattern cut to fit a line is harder to check than a long one

import re
from collections.abc import Iterator

from pytest_agentbench.calibration.signs.reading import Reading, codes, flat

_COMPLAINS = re.compile(
    r"\b(?:"
    # English
    r"not (?:what|happy|satisfied|good|right|helpful|acceptable|pleased|amused|it)|isn['’]?t (?:what|right|helpful)|n['’]t (?:help|understand|make sense|work)|not (?:help|understand|listen|notice)"
    r"|(?:un|dis)(?:happy|satisfied|appointed|appointing|acceptable|helpful|readable|believable)|annoy\w+|frustrat\w+|irritat\w+|angry|upset|useless|ridiculous\w*|terrible|awful|horrible|rubbish|nonsense|gibberish|waste of"
    r"|misunderst\w+|wrong|incorrect|incomplete|confus\w+|jargon|complicated|made (?:this|that|it) up|making (?:this|that|it) up|never asked|no (?:solution|use|longer trust)|told you|already (?:said|told)|forget everything|no answer at all|left out|over the top|what a mess|hopeless|pathetic|glitch|joke|disgrace\w*|fed up|bother"
    # French
    r"|pas (?:du tout|content|contente|satisfait\w*|ce que|normal|acceptable|compris|rempli)|ne (?:m['’]aide|comprends|me (?:plaît|sert|convient)|fonctionne)|mécontent\w*|déç\w+|décevant\w*|agac\w+|énerv\w+|frustr\w+|inutile|inacceptable|ridicule\w*|faux|fausse|erreur|inexact\w*|incomplet\w*|illisible|incompréhensible|charabia|compliqué\w*|compliquer|mal compris|invent\w+|déjà dit|plus confiance|rien à voir|aucune réponse|scandal\w+|nul|lamentable|honteu\w+|c['’]est du vol|n['’]importe quoi|ras le bol|avocat|absurde"
    r")\b",
    re.IGNORECASE,
)
_CONTENT = re.compile(
    r"\b(?:thanks?|thank you|perfect|great|excellent|merci|parfait|super|formidable|génial)\b", re.IGNORECASE
)
_AGREES = re.compile(
    r"\b(?:ok|okay|fine|alright|all right|right|sure|good|nice|lovely|cool|brilliant|wonderful|cheers|ta|understood|got it|makes sense|no problem|no worries|fair enough|never ?mind|appreciat\w+|that['’]s all|bye|have a"
    r"|d['’]accord|entendu|compris|très bien|c['’]est bon|bien|bonne (?:journée|soirée)|tant pis|pas grave|pas de (?:souci|problème)|au revoir|ça marche|ça va|nickel|impec\w*|top)\b",
    re.IGNORECASE,
)
_YES = re.compile(
    r"\b(?:yes|yep|yeah|please|go ahead|do it|oui|ouais|allez-y|volontiers|vas-y|faites)\b", re.IGNORECASE
)
_LEAVES = re.compile(
    r"\b(?:forget it|i['’]ll (?:just )?(?:go|call|ring|phone|try|use|do it myself|find|take my)\b.{0,40}\b(?:elsewhere|else|instead|myself|bank|competitor|somewhere)|speak to (?:a|your) (?:manager|human|person|supervisor)|give me a (?:human|person)"
    r"|time wasted|wast(?:ed|ing) (?:my|\w+ \w+ of my)|complain\w*|unbelievable|you['’]ve got to be kidding|are you (?:kidding|serious|even)|on purpose|laisse[zr]? tomber|je laisse tomber|me plaindre|plainte|un responsable|perdu? (?:mon|de) temps|vous vous moquez|pénible|insupportable|(?:ne )?reviendrai pas|plus jamais|never again|won['’]t be (?:back|using)|vous ne comprenez|vous n['’]avez (?:rien|pas) compris)\b",
    re.IGNORECASE,
)
_SHARPLY = re.compile(r"\b(?:no thanks|thanks for nothing|merci pour rien|non merci)\b", re.IGNORECASE)
_RAW = re.compile(r'\{\s*"[^"]+"\s*:|\[\s*\{|Traceback \(most recent|^\s*at \w+\.\w+\(', re.MULTILINE)
_ASKS = re.compile(r"\?|\b(?:please|could you|merci de|veuillez|pourriez|donne[rz])\b", re.IGNORECASE)
_MANY_PATHS = 8
_PATH = re.compile(r"\b\w+(?:\.\w+|\[\d+\])+\b\s*:?=")


def dissatisfied(reading: Reading) -> Iterator[str]:
    """Find a user who ends on a complaint."""
    if not reading.user or not reading.agent:
        return
    index, text = reading.user[-1]
    if index < reading.agent[0][0]:  # what the user came with is no complaint about the agent
        return
    found = _SHARPLY.search(text) or _COMPLAINS.search(text) or _LEAVES.search(text)
    if found and not (_CONTENT.search(text) and not _SHARPLY.search(text)):
        yield f"the user ends on a complaint: {found[0]!r}"


def is_content(text: str) -> bool:
    """Whether a user's words say thanks or take what was said as it is, and complain of nothing."""
    sharp = _SHARPLY.search(text) or _LEAVES.search(text)
    return not sharp and bool(_CONTENT.search(text) or (_AGREES.search(text) and not _COMPLAINS.search(text)))


def thanks(text: str) -> bool:
    """Whether a user's words say thanks or praise, and not sharply."""
    return _CONTENT.search(text) is not None and _SHARPLY.search(text) is None


def takes_it(text: str) -> bool:
    """Whether a user's words agree to something."""
    return bool(_AGREES.search(text) or _YES.search(text))


def raw_output(reading: Reading) -> Iterator[str]:
    """Find answers of tools that are passed on as they are, or listed field by field."""
    for _, text in reading.agent:
        if found := _RAW.search(text):
            yield f"raw output is shown: {text[found.start() : found.start() + 40]!r}"
            return
        if len(_PATH.findall(text)) >= _MANY_PATHS:
            yield "an answer is listed field by field"
            return


def nothing_said(reading: Reading) -> Iterator[str]:
    """Find messages of the agent's without a single word."""
    for _, text in reading.agent:
        if not re.search(r"\w", text):
            yield f"the agent says {text.strip()!r}"
            return


def asked_again(reading: Reading) -> Iterator[str]:
    """Find values that the user had to give twice since the agent asked."""
    said = ""
    for position, (index, text) in enumerate(reading.user):
        between = [asked for at, asked in reading.agent if position and reading.user[position - 1][0] < at < index]
        if any(_ASKS.search(asked) for asked in between):
            echoed = flat("\n".join(between))  # what the agent names itself it only wants confirmed
            again = [
                code
                for code in codes(text)
                if len(flat(code)) > 1 and flat(code) in flat(said) and flat(code) not in echoed
            ]
            if again and len(flat(text)) < 10 * len(flat(again[0])):
                yield f"the user was asked for {again[0]!r} again"
                return
        said += f"\n{text}"
