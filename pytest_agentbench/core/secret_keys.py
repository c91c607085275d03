"""Which names say that what stands under them is a secret, and texts without secrets."""

from collections.abc import Iterable, Iterator, Mapping

from pytest_agentbench.core.names import letters_of

MASK = "***"
"""What stands for a secret: shorter than any secret, so that no secret can hide in it."""

_SHORTEST = 6
"""Characters from which a secret is taken out of a text: a shorter one would take words apart."""

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
    words = letters_of(key)
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


def hide(text: str, secrets: Iterable[str]) -> str:
    """Take secrets of at least 6 characters out of a text: services quote the keys they refuse."""
    for secret in secrets:
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, "[hidden]")
    return text
