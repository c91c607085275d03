"""Which failures are tried again and when: jitter, Retry-After in all its forms, patience."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.core.errors import SendError
from pytest_agentbench.llm.chat import Retries
from pytest_agentbench.llm.http_errors import embedded_error, retry_after, status_error
from tests.llm.virtual import Time
from tests.tables import each


def waits(error: SendError, retries: int, chance: float) -> list[float]:
    """Give all waits until the call has failed."""
    deciding = Retries(retries, random=lambda: chance, now=Time().now)
    found = [deciding.after(error) for _ in range(retries)]
    with pytest.raises(SendError, match=f"tried {retries + 1} times"):
        deciding.after(error)
    return found


def test_waits_double_up_to_a_bound_and_are_random() -> None:
    """Full jitter: anything from nothing to 0.5, 1, 2, … 30 s."""
    error = SendError("no", status=500, again=True)

    assert waits(error, 8, 1.0) == [0.5, 1, 2, 4, 8, 16, 30, 30]
    assert waits(error, 3, 0.5) == [0.25, 0.5, 1]
    assert waits(error, 3, 0.0) == [0, 0, 0]


def test_the_server_may_ask_for_a_longer_wait_within_a_minute() -> None:
    """`Retry-After` beside a status that is no rate limit is followed, up to 60 s."""
    assert waits(SendError("no", status=500, again=True, retry_after=20), 2, 1.0) == [20, 20]
    assert waits(SendError("no", status=500, again=True, retry_after=9999), 1, 1.0) == [60]


def test_a_rate_limit_uses_no_retry_until_patience_ends() -> None:
    """Asked to slow down, a call with no retries goes on for as long as its patience."""
    time = Time()
    deciding = Retries(0, random=lambda: 1.0, now=time.now, patience=100)
    error = SendError("slow down", status=429, again=True, retry_after=30)
    for _ in range(3):
        assert deciding.after(error) == 0
        time.at += 30

    with pytest.raises(SendError, match=r"slow down \(tried 4 times in 90\.0 s\)") as raised:
        deciding.after(error)

    assert (raised.value.status, raised.value.retry_after) == (429, 30)


def test_what_cannot_help_is_raised_as_it_is() -> None:
    """A refusal for good says nothing about tries; a failure without retries says that it was tried once."""
    deciding = Retries(0, random=lambda: 1.0, now=Time().now)

    with pytest.raises(SendError, match=r"^bad key$"):
        deciding.after(SendError("bad key", status=401))
    with pytest.raises(SendError, match=r"^down \(tried once\)$"):
        Retries(0, random=lambda: 1.0, now=Time().now).after(SendError("down", status=500, again=True))


NOON = "Fri, 20 Nov 2026 12:00:00 GMT"
NOON_UNIX = 1795176000.0


@each(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "0"}, 0),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7),
        ({"retry-after": "Fri, 20 Nov 2026 12:00:30 GMT"}, 30),
        ({"retry-after": "Fri, 20 Nov 2026 12:00:30 GMT", "date": "Fri, 20 Nov 2026 12:00:20 GMT"}, 10),
        ({"retry-after": "Fri, 20 Nov 2026 11:00:00 GMT"}, 0),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1e300"}, None),
        ({"retry-after": "a while"}, None),
    ],
)
def test_retry_after_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    """Milliseconds, seconds, or a date, which the server's own clock is held against."""
    assert retry_after(headers, wall=NOON_UNIX) == seconds


@given(st.text(), st.text(), st.text())
def test_hostile_headers_never_raise(milliseconds: str, seconds: str, date: str) -> None:
    """Whatever a server writes there, a wait is a number of seconds or None."""
    found = retry_after({"retry-after-ms": milliseconds, "retry-after": seconds, "date": date}, wall=0)

    assert found is None or found >= 0


@each("override", ["true", "false"])
def test_the_server_decides_about_sending_again(override: str) -> None:
    """`x-should-retry` wins over the status."""
    status = 400 if override == "true" else 500

    error = status_error(status, {"x-should-retry": override}, b"", where="here", wall=0)

    assert error.again is (override == "true")


@given(st.integers(100, 599), st.binary(max_size=300))
def test_any_answer_with_a_status_becomes_a_printable_error(status: int, content: bytes) -> None:
    """Bytes that are no text, escape sequences and odd statuses are told safely."""
    message = str(status_error(status, {}, content, where="here", wall=0))

    assert message.isprintable()
    assert str(status) in message


def test_an_error_sent_as_a_good_answer_is_one() -> None:
    """Gateways put the error of the server behind them into an answer with status 200."""
    found = embedded_error({"error": {"message": "\x1b[31mfull", "code": 503}}, where="here")

    assert found is not None
    assert (found.status, found.again, str(found)) == (503, True, "here answered with an error: 'full'")
    assert embedded_error({"error": None, "choices": [{}]}, where="here") is None


def test_a_status_given_as_code_is_no_word_for_what_is_wrong() -> None:
    """llama.cpp repeats the status and names the error as its type."""
    body = b'{"error": {"code": 400, "message": "too long", "type": "exceed_context_size_error", "n_ctx": 2048}}'

    error = status_error(400, {}, body, where="here", wall=0)

    assert (error.code, error.again) == ("exceed_context_size_error", False)
