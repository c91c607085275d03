"""No planted secret reaches a file, and ordinary text stays as it is."""

import contextlib
import json
import unicodedata
from urllib.parse import quote, quote_plus

from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.core.audit import Audit
from pytest_agentbench.core.codec import dumps, loads
from pytest_agentbench.core.events import Event
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.core.verdict import Blame, CallExplanation, Finding, Flag, OtherFault, Unmeasured
from pytest_agentbench.results.redact import MARK, Redactor
from tests.results.make import result, wrong_refund
from tests.tables import each

SECRET = 'p4$$ "wörd"\\n\U0001f511/&x'

secrets = st.text(st.characters(exclude_categories=()), min_size=4, max_size=20).filter(
    lambda text: (
        len(text.strip()) >= 4
        and len(unicodedata.normalize("NFC", text)) >= 4
        and text.lower() not in {"true", "false", "none", "null"}
    )
)


def split(text):
    """Split characters beyond the BMP into lone surrogates, as UTF-16 halves arrive from some clients."""
    units = text.encode("utf-16-be", "surrogatepass")
    return "".join(chr(int.from_bytes(units[at : at + 2], "big")) for at in range(0, len(units), 2))


ENCODINGS = [
    str,
    split,
    json.dumps,
    lambda text: json.dumps(text, ensure_ascii=False),
    lambda text: json.dumps(json.dumps(json.dumps(text))),
    lambda text: json.dumps(split(text)).upper().replace("\\U", "\\u"),
    lambda text: quote(text.encode("utf-8", "surrogatepass"), safe=""),
    lambda text: quote_plus(text.encode("utf-8", "surrogatepass")),
    lambda text: unicodedata.normalize("NFD", text),
]


@each("encode", ENCODINGS[:5] + ENCODINGS[6:])
def test_a_secret_is_found_however_it_is_encoded(encode):
    """Raw, split, escaped once or thrice, percent-encoded or decomposed: the secret becomes the mark."""
    text = Redactor([SECRET]).text(f"before {encode(SECRET)} after")
    assert MARK in text
    assert "rd" not in text
    assert "p4" not in text


@given(secrets, st.text(max_size=10), st.text(max_size=10), st.sampled_from(ENCODINGS[:5]))
def test_no_planted_secret_survives_in_nested_json(secret, before, after, encode):
    """Wherever a secret is planted in JSON, it is neither in the written file nor in what is read back."""
    planted = before + encode(secret) + after
    value = {"a": [{planted: planted}, json.dumps({"inner": planted})], "b": {"c": planted}}
    written = dumps(Redactor([secret]).json(value))
    assert not holds(loads(written), secret)
    with contextlib.suppress(json.JSONDecodeError):  # a secret ending in a backslash may take a quote's escape along
        assert not holds(json.loads(loads(written)["a"][1]), secret)


def holds(value, secret):
    """Whether some string of a JSON value holds the secret, joined from surrogates or not."""
    if isinstance(value, dict):
        return any(holds(part, secret) for pair in value.items() for part in pair)
    if isinstance(value, list):
        return any(holds(part, secret) for part in value)
    return isinstance(value, str) and (secret in value or split(secret) in split(value))


@given(secrets, st.text())
def test_redacting_twice_changes_nothing_more(secret, text):
    """What was redacted once stays as it is."""
    redactor = Redactor([secret])
    once = redactor.text(text + secret)
    assert redactor.text(once) == once


@each(
    "key",
    [
        "sk-proj-abcdEFGH1234567890",
        "Bearer abc.def-123456",
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        "password=hunter2x",
        "db_password=hunter2x",
        "password: hunter2!",
        '{"api_key": "k3y-of-mine"}',
        '{\\"api_key\\": \\"k3y-of-mine\\"}',
        "Authorization: Basic dXNlcjpwYXNz",
        "postgres://bob:hunter2x@db/prod",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_what_looks_like_a_key_is_hidden(key):
    """Common shapes of keys need not be told."""
    text = Redactor().text(f"see {key} there")
    assert MARK in text
    for part in ("hunter2", "k3y", "abcd", "123456", "IOSF", "dXNl", "MIIE", "eyJz"):
        assert part not in text


@each(
    "text",
    [
        "mia.li3818@example.com",
        "order #W7449508, item 4900990404",
        "user mia_li_3668, reservation NO6JO3, gift_card_4009692",
        "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
        "task-12345678901234567890",
        "To reset your password: click the link below, please.",
        "The bearer certificate is basic information.",
        "https://example.com/a:b?c=d@e",
        "Your secret santa is at 12:30",
        "",
    ],
)
def test_ordinary_text_stays(text):
    """Ids, addresses, links and prose about passwords are not touched."""
    assert Redactor(["s3cret-value"]).text(text) == text


def test_short_and_ordinary_values_are_no_secrets():
    """A secret of three characters, or one that says true, would blank out half of every transcript."""
    assert Redactor(["abc", "true", ""]).text("abc is true") == "abc is true"


def test_numbers_and_named_values_are_hidden():
    """A numeric secret and whatever stands under `password` are hidden, other numbers stay."""
    value = Redactor(["987654"]).json({"pin": 987654, "n": 12, "password": "x", "user": {"api_key": 7}, "ok": True})
    assert value == {"pin": MARK, "n": 12, "password": MARK, "user": {"api_key": MARK}, "ok": True}


def test_a_result_keeps_its_identity():
    """Words are redacted; keys, hashes, verdicts and policies are not, even where they hold the secret."""
    given_result = wrong_refund("card_2-case", error="card_2 leaked", scenario_hash="card_2")
    redacted = Redactor(["card_2"]).result(given_result)
    assert redacted.key == given_result.key
    assert redacted.scenario_hash == "card_2"
    assert redacted.error == f"{MARK} leaked"
    assert redacted.calls[1].differing == {"method": ("paypal_1", MARK)}
    assert "card_2" not in dumps([redacted.findings, redacted.calls])


def test_a_clean_result_is_unchanged():
    """Nothing is lost where there is nothing to hide."""
    assert Redactor(["s3cret-value"]).result(wrong_refund()) == wrong_refund()
    assert Redactor().result(result()) == result()


def test_typed_answers_events_and_names_of_agents_hold_no_secret():
    """What comes with a message is redacted as its words are."""
    event = Event(kind="guardrail", name="s3cret-value")
    call = ToolCall(name="pay", by="s3cret-value")
    message = Message(
        role="assistant", tool_calls=(call,), by="s3cret-value", events=(event,), output={"code": "s3cret-value"}
    )
    assert "s3cret-value" not in dumps(Redactor(["s3cret-value"]).transcript(Transcript(messages=(message,))))


def test_a_transcript_still_joins_calls_with_results():
    """A secret in a call id is hidden on both sides alike."""
    transcript = Transcript(
        messages=(
            Message(role="assistant", tool_calls=(ToolCall(name="f", id="x-s3cret", arguments={"a": "s3cret"}),)),
            Message(role="tool", tool_call_id="x-s3cret", content="got s3cret"),
        )
    )
    redacted = Redactor(["s3cret"]).transcript(transcript)
    assert redacted.trajectory[0].result.content == f"got {MARK}"
    assert "s3cret" not in dumps(redacted)


def test_what_is_said_beside_a_finding_is_redacted_too():
    """The other fault, the parts that were not measured and their cures hold words of tools and agents as well."""
    key = "sk-live-0123456789abcdef"
    whole = result(
        also=(OtherFault(blame=Blame.ENVIRONMENT, reason=f"broke with {key}"),),
        unmeasured=(Unmeasured(part="policy ask", why=f"the user said {key}", cure=f"label {key}"),),
        findings=(Finding(check="policy:ask", kind="policy", passed=None, message=key, cure=f"label {key}"),),
    )

    assert key not in Redactor([key]).result(whole).model_dump_json()


def test_what_an_auditor_saw_is_redacted_and_still_an_audit():
    """Quotes, values, items and reasons hold words of the run; kinds and ids of policies stay."""
    key = "sk-live-0123456789abcdef"
    told = {"turn": 2, "quote": f"it is {key}"}
    seen = Audit.model_validate(
        {
            "claims": [
                {
                    **told,
                    "kind": "figure",
                    "values": [key],
                    "denies": False,
                    "corrected": False,
                    "support": "call",
                    "call": 1,
                }
            ],
            "consents": [{**told, "call": 1, "consent": "given"}],
            "goal_items": [{**told, "item": key, "status": "open", "reason": "user"}],
            "policies": [{**told, "policy": "ask", "status": "kept", "reason": key}],
            "user_turns": [{**told, "kind": "leaks"}],
            "tool_use": {**told, "use": "right"},
            "agent_appropriate": {**told, "shows": True},
            "user_satisfied": {**told, "shows": True},
        }
    )
    flag = Flag(turn=2, kind="claim", quote=key, message=f"says {key}")
    whole = result(audit=seen, flags=(flag,), disputed=f"turn 3: {key}")

    redacted = Redactor([key]).result(whole)

    assert key not in redacted.model_dump_json()
    assert redacted.audit is not None
    assert Audit.model_validate(redacted.audit.model_dump()) == redacted.audit
    assert (redacted.audit.goal_items[0].reason, redacted.audit.policies[0].policy) == ("user", "ask")


def test_names_of_agents_in_a_result_are_redacted():
    """An agent may be called by what it works with."""
    key = "s3cret-value"
    call = CallExplanation(status="matched", tool="pay", by=key)

    assert key not in Redactor([key]).result(result(calls=(call,), agents=(key,))).model_dump_json()


def test_the_beginning_of_an_escaped_secret_that_was_cut_is_hidden():
    """`p"w…` stands as `p\\"w…` in JSON that was shortened."""
    redactor = Redactor(['p"w-x7Kqx7Kqx7Kq'])

    assert redactor.text('said {"key": "p\\"w-x7Kqx…') == 'said {"key": "***…'


def test_the_beginning_of_a_secret_that_was_cut_is_hidden():
    """Texts are shortened before they are redacted; a few characters that happen to begin a secret are not enough."""
    redactor = Redactor(["Tr0ub4dor&3-horse"])
    assert redactor.text("db://u:Tr0ub4dor&… and more") == "db://u:***… and more"
    assert redactor.text("ends with Tr0… and Tr0ub…") == "ends with Tr0… and ***…"
