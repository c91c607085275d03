"""The forms in which a secret may come back, and the keys under which one stands."""

import base64
import html
import json
import random
import re
import time
from collections.abc import Callable
from urllib.parse import quote

import pytest

from pytest_agentbench.core.secret_keys import keyed, names_secret
from pytest_agentbench.results.redact import MARK, Redactor
from tests.tables import each

SECRET = "xK9/+?>ab&Zq 7~Ü3"
PLAIN = "hunter2hunter2x"


def b64(text: str) -> str:
    """Encode a text."""
    return base64.b64encode(text.encode()).decode()


FORMS: dict[str, Callable[[str], str]] = {
    "raw": str,
    "json": json.dumps,
    "json in json": lambda text: json.dumps(json.dumps({"a": text})),
    "json unicode": lambda text: json.dumps(text, ensure_ascii=False),
    "repr": repr,
    "url": lambda text: quote(text, safe=""),
    "url lower": lambda text: re.sub(r"%..", lambda found: found[0].lower(), quote(text, safe="")),
    "html": html.escape,
    "backwards": lambda text: text[::-1],
    "base64": b64,
    "base64 without padding": lambda text: b64(text).rstrip("="),
    "base64 urlsafe": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "base64 urlsafe without padding": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "base64 in a url": lambda text: quote(b64(text), safe=""),
    "base64 in json of PHP": lambda text: b64(text).replace("/", "\\/"),
    "base64 of user:secret": lambda text: b64(f"user:{text}"),
    "base64 of an email and it": lambda text: b64(f"ada@example.org:{text}"),
    "base64 with one before": lambda text: b64(f"1{text}"),
    "base64 with two before": lambda text: b64(f"12{text}"),
    "base64 with one behind": lambda text: b64(f"{text}1"),
    "base64 with two behind": lambda text: b64(f"{text}12"),
    "base64 in the middle": lambda text: b64(f'{{"key": "{text}", "n": 1}}'),
    "base64 twice": lambda text: b64(b64(text)),
    "base64 in a data address": lambda text: f"data:text/plain;base64,{b64(text)}",
    "basic authorization": lambda text: f"Basic {b64(f'{text}:')}",
    "hex": lambda text: text.encode().hex(),
    "HEX": lambda text: text.encode().hex().upper(),
    "hex with colons": lambda text: text.encode().hex(":"),
    "in a word": lambda text: f"abc{text}def",
    "in a path": lambda text: f"/tmp/{text}/x",
    "twice": lambda text: f"{text}{text}",
    "as a key": lambda text: json.dumps({text: 1}),
    "with blanks around": lambda text: f"  {text}\n",
}


@each("secret", [SECRET, PLAIN, "pa55"])
@each("form", FORMS)
def test_a_known_secret_is_hidden_in_every_form(form: str, secret: str) -> None:
    """What stands around it stays."""
    given = FORMS[form](secret)

    redacted = Redactor([secret]).text(f"before {given} after")

    assert redacted.startswith("before ")
    assert redacted.endswith(" after")
    assert MARK in redacted
    left = redacted.removeprefix("before ").removesuffix(" after").replace(MARK, "")
    assert secret not in left
    assert len(left) <= len(given) - len(secret)


def test_random_secrets_are_hidden_in_random_base64() -> None:
    """At each alignment, between random bytes, no six characters of what encodes the secret alone are left."""
    draw = random.Random(7)
    for _ in range(300):
        secret = "".join(draw.choices("abcXYZ0189/+-_!", k=draw.randint(8, 24)))
        before, behind = draw.randbytes(draw.randint(0, 9)), draw.randbytes(draw.randint(0, 9))
        whole = base64.b64encode(before + secret.encode() + behind).decode()

        left = Redactor([secret]).text(whole)

        assert MARK in left, (secret, whole)
        assert sum(map(len, left.split(MARK))) <= len(base64.b64encode(before + behind)) + 4


@each(
    "key",
    [
        "token", "pin", "pwd", "password", "secret", "api_key", "authorization", "apiKey", "API_KEY", "api-key",
        "APIKEY", "sessionToken", "session_token", "user_pin", "userPin", "db_password", "password2",
        "client_secret", "Authorization", "accessToken", "x-auth-token", "private_key", "secretKey", "passcode", "otp",
        "cvv", "credentials", "set-cookie",
    ],
)  # fmt: skip
def test_what_stands_under_such_a_key_is_hidden(key: str) -> None:
    """In values and in texts that hold JSON, at any depth, numbers too; quotes inside are no end of it."""
    hide = Redactor()
    value = "ab\"c\\d'e"

    assert names_secret(key)
    assert hide.json({key: value, "n": 1}) == {key: MARK, "n": 1}
    assert hide.json({key: 4711}) == {key: MARK}
    assert hide.json({key: ["x1", 2]}) == {key: [MARK, MARK]}
    assert json.loads(hide.text(json.dumps({key: value, "n": "x"}))) == {key: MARK, "n": "x"}
    assert json.loads(hide.text(json.dumps({key: 4711, "n": "x"}))) == {key: MARK, "n": "x"}
    deep = json.loads(hide.text(json.dumps({"a": json.dumps({"b": json.dumps({key: value, "n": "x"})})})))
    assert json.loads(json.loads(deep["a"])["b"]) == {key: MARK, "n": "x"}
    assert "c" not in hide.text(repr({key: "'c"})).replace(key, "")
    assert hide.text(f"f({key}=4711, n=2)") == f"f({key}={MARK}, n=2)"
    assert hide.text(f'f({key}="47 11", n=2)') == f'f({key}="{MARK}", n=2)'
    assert hide.text(f"https://x.org/?{key}=abc&n=1") == f"https://x.org/?{key}={MARK}&n=1"
    assert list(keyed({"a": [{key: "v"}]})) == ["v"]


@each(
    "key",
    [
        "token_count", "pinned", "tokens", "max_tokens", "pin_code_length", "spinning", "shipping", "secret_santa_day",
        "password_reset_at", "sort_key", "key", "primary_key", "next_page_token", "pageToken", "authorized", "author",
        "cookies_accepted", "opinion", "pushpin", "tokenizer",
    ],
)  # fmt: skip
def test_keys_that_only_contain_such_a_word_stay(key: str) -> None:
    """The last word decides: reports stay readable."""
    value = {key: "abc 123", "n": [1]}

    assert not names_secret(key)
    assert Redactor().json(value) == value
    assert Redactor().text(json.dumps(value)) == json.dumps(value)
    assert Redactor().text(f"f({key}=12345)") == f"f({key}=12345)"


def test_what_the_suite_spells_itself_is_no_secret() -> None:
    """A wrong PIN beside the expected one can be read, another customer's cannot."""
    hide = Redactor(public=["4711", "4712"])

    assert hide.json({"pin": "4711"}) == {"pin": "4711"}
    assert hide.text('verify(pin="4712"), {"pin": 4711}, {"pin": "9999"}') == (
        f'verify(pin="4712"), {{"pin": 4711}}, {{"pin": "{MARK}"}}'
    )


def test_a_recorded_call_can_be_played_again() -> None:
    """A session's token is an argument that the next run needs; a password, and a known secret, are not kept for it."""
    call = {"function": {"name": "pay", "arguments": '{"token": "t-1", "password": "p-1", "key": "known-secret"}'}}

    kept = Redactor(["known-secret"]).json(call)["function"]["arguments"]

    assert json.loads(kept) == {"token": "t-1", "password": MARK, "key": MARK}


@pytest.mark.slow
def test_redacting_much_is_not_slow() -> None:
    """A megabyte of JSON, of words and of quotes takes less than two seconds each."""
    hide = Redactor([SECRET, PLAIN])
    rows = json.dumps([{"token_count": n, "name": "x" * 20, "pin": n} for n in range(16_000)])
    quotes = "\"'\\" * 300_000 + "token"
    for text in (rows, quotes, "a pin and a token " * 55_000, '"token": "' * 90_000, "pin_" * 250_000):
        begun = time.process_time()
        hide.text(text)
        assert time.process_time() - begun < 2, text[:20]
