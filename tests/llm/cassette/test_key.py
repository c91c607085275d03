"""Requests that ask the same have one key, and others have another."""

import copy
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.llm.cassette.record_replay import Keys
from pytest_agentbench.results.redact import Redactor
from tests.tables import each

PLAIN = Keys(Redactor().json)

texts = st.text(st.characters(exclude_categories=()), max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
calls = st.lists(st.tuples(st.sampled_from(["look", "refund"]), texts), max_size=3)
turns = st.lists(st.tuples(texts, calls), max_size=4)


def conversation(turns, ids):
    """Build messages in which each call is answered; `ids` gives the calls their ids."""
    messages = []
    for text, called in turns:
        messages.append({"role": "user", "content": text})
        named = [(next(ids), name, arguments) for name, arguments in called]
        if named:
            made = [
                {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
                for id_, name, arguments in named
            ]
            messages.append({"role": "assistant", "content": None, "tool_calls": made})
            messages.extend({"role": "tool", "tool_call_id": id_, "content": arguments} for id_, _, arguments in named)
    return {"model": "m", "messages": messages}


def numbered(prefix):
    """Give ids without end."""
    number = 0
    while True:
        number += 1
        yield f"{prefix}{number}"


def shuffled(value, random):
    """Copy a value with the keys of its objects in another order."""
    if isinstance(value, dict):
        items = list(value.items())
        random.shuffle(items)
        return {key: shuffled(item, random) for key, item in items}
    return [shuffled(item, random) for item in value] if isinstance(value, list) else value


def key(body, keys=PLAIN):
    """Give the key of a request."""
    return keys.asked(body).key


@given(turns, st.dictionaries(texts, values, max_size=4), st.integers())
def test_the_order_of_keys_makes_no_difference(turns, extra, seed):
    """However a client orders the members of its objects, the key is the same, and reading changes nothing."""
    body = {**conversation(turns, numbered("c")), "tools": [extra]}
    before = copy.deepcopy(body)

    assert key(body) == key(shuffled(body, random.Random(seed)))
    assert repr(body) == repr(before)


@given(turns)
def test_ids_of_tool_calls_make_no_difference(turns):
    """Ids that a server made anew lead to the same key and to the same line in the file."""
    one = PLAIN.asked(conversation(turns, numbered("call_a")))
    other = PLAIN.asked(conversation(turns, numbered("toolu_Zz9")))

    assert one == other


@given(turns, turns)
def test_what_was_said_makes_a_difference(one, other):
    """Two conversations have one key only if they are one conversation."""
    asked = [conversation(turns, numbered("c")) for turns in (one, other)]

    assert (key(asked[0]) == key(asked[1])) == (PLAIN.asked(asked[0]).request == PLAIN.asked(asked[1]).request)


@given(turns, st.dictionaries(texts, values, max_size=3))
def test_what_was_written_has_the_key_it_was_written_with(turns, extra):
    """Reading a request from the file gives the key that it had as a body, for any text and number."""
    asked = PLAIN.asked({**conversation(turns, numbered("c")), "tools": [extra]})

    assert PLAIN.recorded(asked.request).key == asked.key


def test_answers_given_to_the_wrong_calls_make_a_difference():
    """Positions tell which call a result answers."""
    called = [{"id": id_, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id_ in "ab"]
    first, second = ({"role": "tool", "tool_call_id": id_, "content": "x"} for id_ in "ab")
    start = [{"role": "assistant", "tool_calls": called}]

    assert key({"messages": [*start, first, second]}) != key({"messages": [*start, second, first]})


def test_ids_that_a_server_uses_twice_are_told_apart():
    """Servers that name calls after their function still get the results of each call in order."""
    called = [{"id": "f", "type": "function", "function": {"name": "f", "arguments": "{}"}}] * 2
    results = [{"role": "tool", "tool_call_id": "f", "content": text} for text in "xy"]
    request = PLAIN.asked({"messages": [{"role": "assistant", "tool_calls": called}, *results]}).request

    assert [call["id"] for call in request["messages"][0]["tool_calls"]] == ["call-1", "call-2"]
    assert [message["tool_call_id"] for message in request["messages"][1:]] == ["call-1", "call-2"]


@each(
    ("one", "other", "same"),
    [
        ({"temperature": 1}, {"temperature": 1.0}, True),
        ({"temperature": 0.0}, {"temperature": -0.0}, True),
        ({"temperature": 0.2}, {"temperature": 0.7}, False),
        ({"temperature": 1}, {"temperature": True}, False),
        ({"temperature": float("nan")}, {"temperature": float("nan")}, True),
        ({"temperature": float("inf")}, {"temperature": float("nan")}, False),
        ({"seed": 2**60}, {"seed": 2**60 + 1}, False),
        ({"tools": []}, {}, True),
        ({"seed": None}, {}, True),
        ({"stream": True, "user": "u1"}, {"user": "u2"}, True),
        ({"response_format": {"type": "json_object"}}, {}, False),
        ({"top_p": 0.5}, {}, False),
        ({"tools": [{"name": "a"}, {"name": "b"}]}, {"tools": [{"name": "b"}, {"name": "a"}]}, False),
    ],
)
def test_parameters(one, other, same):
    """Numbers count by value, what decides only how an answer is sent does not count."""
    start = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}

    assert (key({**start, **one}) == key({**start, **other})) is same


def test_what_some_clients_spell_out_makes_no_difference():
    """A message sent back with its nulls and empty lists is the message without them."""
    bare = {"role": "assistant", "content": "hi"}

    assert key({"messages": [bare]}) == key({"messages": [{**bare, "refusal": None, "tool_calls": []}]})


def test_ignored_patterns_make_no_difference():
    """What a pattern matches counts nowhere, neither in messages nor in arguments; all else does."""
    keys = Keys(Redactor().json, [r"\d{4}-\d\d-\d\dT[\d:]+", r"(?<=ticket )\w+"])

    def asked(text):
        return key({"messages": [{"role": "user", "content": text}]}, keys)

    assert asked("It is 2026-01-02T10:11:12, ticket a1.") == asked("It is 2027-05-06T01:02:03, ticket b22.")
    assert asked("It is 2026-01-02T10:11:12.") != asked("It was 2026-01-02T10:11:12.")


def test_a_pattern_that_is_none_is_named():
    """A broken pattern is an error that names it."""
    with pytest.raises(SuiteFaultError, match=r"cassette\.ignore: '\(' is not a regular expression"):
        Keys(Redactor().json, ["("])


@given(st.sampled_from(["{}", '{{"password": "{}"}}', "Bearer {} x", "key={}&x=1"]))
def test_a_fork_with_other_secrets_asks_the_same(form):
    """Keys are made over redacted requests, so that whoever replays needs no secret; the same for what was redacted."""
    bodies = [
        {"model": "m", "messages": [{"role": "user", "content": form.format(secret)}], "api_key": secret}
        for secret in ("s3cret-of-the-maker", "dummy-of-the-fork", "***")
    ]
    keys = [Keys(Redactor([secret]).json) for secret in ("s3cret-of-the-maker", "dummy-of-the-fork", "none-here")]

    assert len({key(body, maker) for body, maker in zip(bodies, keys, strict=True)}) == 1


def test_a_secret_that_is_an_ordinary_word_leaves_the_form_of_a_request():
    """Roles and the names of parameters stay what they are where a database user is called `user`."""
    request = Keys(Redactor(["user", "model"]).json).asked(
        {"model": "m", "messages": [{"role": "user", "content": "a user"}]}
    )

    assert request.request == {"model": "m", "messages": [{"role": "user", "content": "a ***"}]}


odd_calls = st.lists(st.dictionaries(st.sampled_from(["id", "function"]), values, max_size=2), max_size=2)
odd_messages = st.fixed_dictionaries(
    {}, optional={"role": values, "tool_calls": values | odd_calls, "tool_call_id": values}
)


@given(st.dictionaries(st.sampled_from(["messages", "tools"]), values | st.lists(odd_messages, max_size=3)))
def test_any_body_has_a_key(body):
    """What is no chat completion is kept by its content as well."""
    assert key(body) == key(copy.deepcopy(body))
