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
    found = _SHARPLY.search(text) or _COMPLAINS.search(text)
    if found and not (_CONTENT.search(text) and not _SHARPLY.search(text)):
        yield f"the user ends on a complaint: {found[0]!r}"


def raw_output(reading: Reading) -> Iterator[str]:
    """Find answers of tools that are passed on as they are, or listed field by field."""
    for _, text in reading.agent:
        if found := _RAW.search(text):
            yield f"raw output is shown: {text[found.start() : found.start() + 40]!r}"
            return
        if len(_PATH.findall(text)) >= _MANY_PATHS:
            yield "an answer is listed field by field"
            return


def asked_again(reading: Reading) -> Iterator[str]:
    """Find values that the user had to give twice since the agent asked."""
    said = ""
    for position, (index, text) in enumerate(reading.user):
        if position and any(
            _ASKS.search(asked) for at, asked in reading.agent if reading.user[position - 1][0] < at < index
        ):
            again = [code for code in codes(text) if len(flat(code)) > 1 and flat(code) in flat(said)]
            if again and len(flat(text)) < 10 * len(flat(again[0])):
                yield f"the user was asked for {again[0]!r} again"
                return
        said += f"\n{text}"
