"""Secrets in the alphabets of base64 and hexadecimal digits, also inside something longer that was encoded."""

import base64
import re
from collections.abc import Iterator

SHORTEST = 4
"""Characters that a part must have to be looked for: fewer stand in any text."""

_ANY = r"[A-Za-z0-9+/_-]"
_SIGNS = {"+": r"(?:\+|-|%2[Bb]|\\{1,64}u002[bB])", "/": r"(?:\\{0,64}/|_|%2[Ff])"}
_PADDING = r"(?:=|%3[Dd]|\\{1,64}u003[dD]){0,2}"


def encoded(secret: str) -> Iterator[re.Pattern[str]]:
    """Give patterns of a secret in base64 (both alphabets, any padding, each place in a longer text), and in hex."""
    plain = secret.encode("utf-8", "surrogatepass")
    once = base64.b64encode(plain)
    for content in (plain, once, once.rstrip(b"=")):  # what is encoded twice is found as well
        for shift in range(3):
            if (part := _stable(content, shift)) and len(part) >= SHORTEST:
                signs = "".join(_SIGNS.get(char, char) for char in part)
                # a neighbour on either side holds the rest of the first and of the last byte
                yield re.compile(f"{_ANY if shift else ''}{signs}{_ANY}?{_PADDING}")
    yield re.compile(f"(?i:{'[: -]?'.join(f'{byte:02x}' for byte in plain)})")


def _stable(content: bytes, shift: int) -> str:
    """Give the digits of `content` that no byte around it changes, where `shift` bytes of its group precede."""
    length = shift + len(content)
    text = base64.b64encode(bytes(shift) + content).decode("ascii").rstrip("=")
    return text[(0, 2, 3)[shift] : len(text) if length % 3 == 0 else -1]
