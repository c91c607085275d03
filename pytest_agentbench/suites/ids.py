"""Scenario ids as pytest shows them and file systems bear them."""

import hashlib
import re
import unicodedata

from pytest_agentbench.core.text import ascii_slug

MAX_LENGTH = 100
"""Longer ids are cut, a hash of the whole at their end."""

_RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})


def scenario_slug(text: str) -> str:
    """Reduce an id to at most 100 characters of `[A-Za-z0-9_.-]` without `..`.

    A hash keeps ids apart whose letters ASCII cannot show, and ids that were cut.
    """
    slug = re.sub(r"\.{2,}", ".", ascii_slug(text))
    if any(not char.isascii() and char.isalnum() for char in unicodedata.normalize("NFKD", text)):
        slug = f"{slug}-{_hash(text)[:6]}"
    if len(slug) > MAX_LENGTH:
        slug = f"{slug[: MAX_LENGTH - 9].rstrip('-.')}-{_hash(text)[:8]}"
    return slug


def is_reserved(slug: str) -> bool:
    """Whether some operating system refuses files of this name."""
    return slug.split(".", 1)[0].lower() in _RESERVED


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
