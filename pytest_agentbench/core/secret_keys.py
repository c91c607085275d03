"""Which names say that what stands under them is a secret."""

import re
from collections.abc import Iterator, Mapping

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

_OLD = frozenset({"password", "passwd", "passphrase", "secret", "apikey", "authorization"})
_SECRETS = _OLD | {"pwd", "passcode", "pin", "token", "credential", "credentials", "cookie", "otp", "cvv", "cvc"}
_KEYS = frozenset({"api", "private", "secret", "access", "auth", "encryption", "signing", "client"})
"""What a key is that opens something: `api_key`; a `sort_key` opens nothing."""

_PLACES = frozenset({"page", "next", "continuation", "sync", "cursor", "stop", "bos", "eos", "pad"})
"""What a token is that only says where one is: `next_page_token`."""

ENDINGS = ("password", "passwd", "passphrase", "passcode", "pwd", "pin", "secret", "apikey", "authorization", "token",
           "credentials", "credential", "cookie", "otp", "cvv", "cvc", "key")  # fmt: skip
"""How such names end, in lower case, before any digits."""


def names_secret(key: str, *, loosely: bool = False) -> bool:
    """Whether a key, in snake, kebab or camel case, names a secret: its last word decides, `token_count` does not.

    `loosely` counts only what nobody hands from call to call: a session's `token` is what an agent must go on with.
    """
    words = [word.lower() for word in _WORDS.findall(key)]
    if not words:
        return False
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last == "key":
        return before in _KEYS
    if last == "token":
        return before in {"access", "refresh", "auth"} if loosely else before not in _PLACES
    return last in (_OLD if loosely else _SECRETS)


def keyed(value: object, *, inside: bool = False) -> Iterator[str]:
    """Yield the texts and numbers of a value, as text, that stand under keys which name a secret."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from keyed(item, inside=isinstance(key, str) and names_secret(key))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from keyed(item, inside=inside)
    elif inside and isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)
