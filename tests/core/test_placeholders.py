"""Templates of requests: what may stand in them, and what is wrong with one."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.core.placeholders import fill, fill_text, misplaced
from tests.tables import each

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_a_whole_placeholder_becomes_the_value_itself(value: Any) -> None:
    """Whatever JSON value stands behind a placeholder is put in unchanged, also when it looks like a placeholder."""
    assert fill({"a": ["$message"]}, {"message": value}) == {"a": [value]}


@given(st.text())
def test_values_are_not_filled_again(said: str) -> None:
    """A text that holds placeholders itself goes in as it is."""
    values = {"message": f"{said} $session", "session": "secret"}
    assert fill_text("<$message>", values) == f"<{said} $session>"


@each("text", ["pa$$word", "$5", "$", "$$", "a$b", "${X}", "$unknown.field", "$messagex"])
def test_what_is_no_known_placeholder_stays(text: str) -> None:
    """Secrets hold any character: only known names are replaced."""
    assert fill(text, {"message": "hi", "context": {}}) == text


def test_two_dollars_keep_a_known_name() -> None:
    """`$$message` is the literal `$message`."""
    assert fill("$$message is $message", {"message": "x"}) == "$message is x"


@each(
    ("form", "says"),
    [
        (
            {"body": {"text": ["$mesage"]}},
            [
                (
                    "body.text[0]: '$mesage' is no placeholder; there are $message, $messages, $session_id, $session, "
                    "$context, $tools, $results, $decisions, $now (did you mean '$message'?)"
                ),
                "body: the endpoint is never told what the user says (put $message or $messages into it)",
            ],
        ),
        (
            {"headers": {"X-Said": "so: $message"}},
            [
                (
                    "headers.X-Said: '$message' is no placeholder in headers; there are $session_id, $session, "
                    "$context, $now (a literal $ can come from a ${VARIABLE})"
                )
            ],
        ),
        (
            {"url": "http://host/$USER"},
            [
                (
                    "url: '$USER' is no placeholder; there are $session_id, $session, $context, $now "
                    "(a literal $ can come from a ${VARIABLE})"
                )
            ],
        ),
        (
            {"url": "http://127.0.0.1:{prot}/chat"},
            [
                (
                    "url: '{prot}' is no placeholder of an address; '{port}' is where `serve` listens "
                    "(did you mean '{port}'?)"
                )
            ],
        ),
        ({"url": "http://127.0.0.1:{port}/${PATH}"}, []),
        (
            {"reply": "a..b", "call": {"name": ".name"}, "calls": "calls.", "body": {"all": "$messages"}},
            [
                f"{key}: {value!r} is no path: a name is missing before, after or between dots "
                "(write it like choices.0.message.content)"
                for key, value in {"reply": "a..b", "calls": "calls.", "call.name": ".name"}.items()
            ],
        ),
        ({"call": {"name": "tool"}}, ["call: maps the parts of calls, but no calls are mapped (set `calls`)"]),
        (
            {"calls": "calls"},
            [
                (
                    "calls: the calls have no results, so they are made here, and the endpoint is never told what they "
                    "gave (put $results into the body; or, where the endpoint makes them itself, map `call.result` "
                    "('' where it does not tell))"
                )
            ],
        ),
    ],
)
def test_what_is_wrong_says_where_and_what_to_write(form: dict[str, Any], says: list[str]) -> None:
    """Every problem of the form is given at once, with its path, what is allowed and what to do."""
    assert [str(misfit) for misfit in misplaced({"url": "http://host", **form})] == says


@each(
    "form",
    [
        {},
        {"url": "http://host/$context.user.id", "headers": {"Authorization": "Bearer ${TOKEN}"}},
        {"body": {"m": "$$tools $message"}, "calls": "calls", "call": {"result": ""}},
        {"body": {"m": "$message", "r": "$results"}, "calls": "choices.0.message.tool_calls"},
    ],
)
def test_what_is_right_is_left_alone(form: dict[str, Any]) -> None:
    """Defaults, variables, escapes and fields of the context are no problems."""
    assert misplaced({"url": "http://host", **form}) == []
