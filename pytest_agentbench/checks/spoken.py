"""Whether a text says something, however it spells letters, spaces and numbers."""

import re
import unicodedata

_QUOTES = str.maketrans({"‘": "'", "’": "'", "ʼ": "'", "“": '"', "”": '"', "«": '"', "»": '"', "‐": "-", "‑": "-"})
_MARKUP = re.compile(r"[*`]+|(?<!\w)_+|_+(?!\w)")
_SPACES = re.compile(r"\s+")
_SPACED_NUMBER = re.compile(r"(?<![\d.,])\d{1,3}(?:[ ']\d{3})+(?!\d)")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_CURRENCIES = "usd|eur|gbp|chf|cad|aud|jpy"


def says(info: str, text: str) -> bool:
    """Whether `text` says `info`; both are brought to `plain` form first.

    A number is found only as a whole: neither inside a longer number nor before its decimals (54 is not said by
    154 nor by 54.04). An info that is nothing but a number is not found behind a letter either (54 in W54), save
    behind a currency code. A blank info is said by any text.
    """
    wanted = plain(info)
    pattern = re.escape(wanted)
    if wanted[:1].isdigit():
        pattern = r"(?<!\d)(?<!\d\.)" + pattern
    if wanted[-1:].isdigit():
        pattern += r"(?!\d)(?!\.\d)"
    if _NUMBER.fullmatch(wanted):
        pattern = rf"(?:(?<![a-z])|(?<=\b(?:{_CURRENCIES})))" + pattern
    return re.search(pattern, plain(text)) is not None


def plain(text: str) -> str:
    """Bring `text` to lower case, without accents, markup and repeated spaces, quotes straight, numbers canonical.

    Numbers lose thousands separators and trailing zeros: `1,628.00`, `1 628,00` and `1.628,00` become `1628`;
    `54,04` becomes `54.04`; `1,628` is read as a thousand and more.
    """
    letters = unicodedata.normalize("NFKD", text.translate(_QUOTES))
    letters = "".join(char for char in letters if not unicodedata.combining(char)).translate(_QUOTES)
    spaced = _SPACES.sub(" ", _MARKUP.sub("", letters.casefold())).strip()
    joined = _SPACED_NUMBER.sub(lambda found: re.sub(r"[ ']", "", found[0]), spaced)
    return _NUMBER.sub(lambda found: _number(found[0]), joined)


def _number(token: str) -> str:
    """Spell one number canonically: no thousands separators, `.` before the decimals, no trailing zeros."""
    whole, mark, decimals = _split(token)
    if not mark:
        return whole
    decimals = decimals.rstrip("0")
    return f"{whole}.{decimals}" if decimals else whole


def _split(token: str) -> tuple[str, str, str]:
    """Split a token into whole part, decimal mark (or nothing) and decimals; what is no number stays whole."""
    marks = [char for char in token if char in ".,"]
    if not marks:
        return token, "", ""
    last = marks[-1]
    groups = re.split("[.,]", token)
    if len(set(marks)) == 2:
        if marks.count(last) > 1:
            return token, "", ""
        return "".join(groups[:-1]), last, groups[-1]
    thousands = 1 <= len(groups[0]) <= 3 and groups[0][0] != "0" and all(len(group) == 3 for group in groups[1:])
    if thousands and (last == "," or len(marks) > 1):
        return "".join(groups), "", ""
    if len(marks) > 1:
        return token, "", ""
    return groups[0], last, groups[1]
