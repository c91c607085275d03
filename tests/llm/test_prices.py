"""Prices: by the role's own price, by the table of genai-prices, or not known."""

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.core.model import ModelSpec, Price
from pytest_agentbench.core.providers import PROVIDERS
from pytest_agentbench.llm import prices
from pytest_agentbench.llm.prices import check_priced, cost_of, input_bound, worst_case
from pytest_agentbench.llm.reply import TokenCount
from tests.tables import each

needs_table = pytest.mark.skipif("not __import__('importlib.util').util.find_spec('genai_prices')")
GIVEN = ModelSpec(model="own", price=Price(input=2.0, output=10.0, cached_input=0.5))


@pytest.fixture(autouse=True)
def _openai(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test depends on where the environment sends calls."""
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def test_a_given_price_decides() -> None:
    """Cached tokens have a price of their own, and are among the input."""
    cost = cost_of(GIVEN, "whatever", TokenCount(input=1_000_000, output=100_000, cached=400_000))

    assert cost == pytest.approx(0.6 * 2.0 + 0.4 * 0.5 + 0.1 * 10.0)


def test_cached_tokens_cost_what_others_do_without_a_price_of_their_own() -> None:
    """An absent cached price is the input price, and more cached than read counts once."""
    spec = ModelSpec(model="own", price=Price(input=2.0, output=0.0))

    assert cost_of(spec, "own", TokenCount(input=500_000, output=0, cached=900_000)) == pytest.approx(1.0)


@needs_table
@pytest.mark.parametrize("model", ["gpt-4o-mini", "gpt-4o-mini-2024-07-18"])
def test_the_table_knows_models_by_their_ids(model: str) -> None:
    """A dated id costs what the table says of the model: 0.15 and 0.60 USD per million tokens."""
    cost = cost_of(ModelSpec(model="gpt-4o-mini"), model, TokenCount(input=1_000_000, output=1_000_000))

    assert cost == pytest.approx(0.75)


@needs_table
def test_the_name_asked_for_counts_where_the_server_answers_with_another() -> None:
    """A deployment's own name falls back to the model that the role names."""
    assert cost_of(ModelSpec(model="gpt-4o-mini"), "deployment-7", TokenCount(input=10, output=10)) is not None


@needs_table
@pytest.mark.parametrize(
    ("model", "url", "known"),
    [
        ("openai/gpt-4o", "https://openrouter.ai/api/v1", True),
        ("openai/gpt-4o", "", False),
        ("gpt-4o", "http://127.0.0.1:8000/v1", False),
        ("no-such-model", "", False),
    ],
)
def test_the_server_decides_which_names_are_known(model: str, url: str, known: bool) -> None:
    """What is not in the server's own list, or at a server that the table does not know, has no known price."""
    cost = cost_of(ModelSpec(model=model, base_url=url), model, TokenCount(input=10, output=10))

    assert (cost is not None) == known
    assert cost != 0


@needs_table
@pytest.mark.parametrize(
    ("model", "more", "known"),
    [
        ("gemini:gemini-3.5-flash", {}, True),
        ("bedrock:amazon.nova-lite-v1:0", {}, True),
        ("bedrock:amazon.nova-lite-v1:0", {"transport": "pydantic_ai"}, True),
        ("xai:grok-4", {}, True),
        ("xai:grok-4", {"base_url": "http://127.0.0.1:1/v1"}, False),
        ("azure:desk", {}, False),
        ("ollama:grok-4", {}, False),
    ],
)
def test_a_provider_sells_under_its_own_prices(model: str, more: dict[str, Any], known: bool) -> None:
    """By its name, whatever its address is here; not at an address of one's own, and not what one serves oneself."""
    spec = ModelSpec.named(model, **more)

    assert (cost_of(spec, spec.model, TokenCount(input=1000, output=1000)) is not None) == known


@needs_table
def test_the_environment_says_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """With `OPENAI_BASE_URL` elsewhere, OpenAI's prices do not hold."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")

    assert cost_of(ModelSpec(model="gpt-4o"), "gpt-4o", TokenCount(input=10, output=10)) is None


@needs_table
def test_the_short_way_agrees_with_the_table() -> None:
    """For every model of OpenAI's and of OpenRouter's list, ours is what genai-prices calculates."""
    from genai_prices import Usage, calc_price
    from genai_prices.data import providers

    compared = 0
    for provider, url in (("openai", PROVIDERS["openai"].url), ("openrouter", "https://openrouter.ai/api/v1")):
        for model in next(one for one in providers if one.id == provider).models:
            ours = cost_of(
                ModelSpec(model=model.id, base_url=url), model.id, TokenCount(input=300_000, output=678, cached=1000)
            )
            if ours is None:
                continue
            usage = Usage(input_tokens=300_000, output_tokens=678, cache_read_tokens=1000)
            theirs = calc_price(usage, model.id, provider_api_url=url)
            assert ours == pytest.approx(float(theirs.total_price)), model.id
            compared += 1
    assert compared > 100


def test_without_the_table_prices_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """genai-prices is an extra: without it only given prices are known."""
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    for cached in (prices._table, prices._flat_price):
        cached.cache_clear()
    try:
        assert cost_of(ModelSpec(model="gpt-4o"), "gpt-4o", TokenCount(input=10, output=10)) is None
        assert "extra `prices`" in check_priced([ModelSpec(model="x")], has_cost_budget=True, has_call_budget=False)[0]
    finally:
        for cached in (prices._table, prices._flat_price):
            cached.cache_clear()


@each(
    ("body", "output"),
    [
        ({}, 8192),
        ({"max_tokens": 100}, 100),
        ({"max_tokens": 100, "max_completion_tokens": 50}, 50),
        ({"max_tokens": 100, "n": 3}, 300),
        ({"max_output_tokens": 7}, 7),
        ({"num_predict": 50_000}, 50_000),
        ({"max_tokens": "many"}, 8192),
    ],
)
def test_the_worst_case_allows_for_the_longest_answer(body: dict[str, Any], output: int) -> None:
    """The output limit counts, for every answer asked for; without one 8192 tokens."""
    spec = ModelSpec(model="own", price=Price(input=0.0, output=1.0))

    assert worst_case(spec, body) == pytest.approx(output / 1e6)


def test_the_roles_own_limit_counts_where_the_body_has_none() -> None:
    """`max_tokens` of the role bounds the answer."""
    spec = ModelSpec(model="own", max_tokens=10, price=Price(input=0.0, output=1.0))

    assert worst_case(spec, {"messages": []}) == pytest.approx(1e-5)


def test_the_worst_case_of_an_unpriced_model_is_unknown() -> None:
    """Unknown is never 0."""
    assert worst_case(ModelSpec(model="own", base_url="http://127.0.0.1:1/v1"), {"messages": []}) is None


@given(st.text(max_size=200))
def test_the_input_bound_is_above_what_byte_pairs_give(text: str) -> None:
    """A tokenizer of four ASCII characters a token, one and a half tokens for any other, stays below."""
    ascii_length = sum(char.isascii() for char in text)

    assert input_bound({"messages": [{"role": "user", "content": text}]}) > ascii_length / 4 + 1.5 * (
        len(text) - ascii_length
    )


def test_a_picture_is_not_counted_by_its_length() -> None:
    """A megabyte of image data does not look like a third of a million tokens."""
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 10**6}}

    assert input_bound({"messages": [{"role": "user", "content": [image]}]}) < 21_000


def test_a_picture_in_anthropics_form_is_not_counted_by_its_length_either() -> None:
    """Its data stand beside the type of their source."""
    source = {"type": "base64", "media_type": "image/png", "data": "A" * 10**6}
    message = {"role": "user", "content": [{"type": "image", "source": source}]}

    assert 20_000 < input_bound({"system": "Be brief.", "messages": [message]}) < 21_000


@each("said", [{"input": "x" * 3000}, {"instructions": "x" * 3000}, {"system": "x" * 3000}])
def test_all_that_a_request_says_is_input(said: dict[str, Any]) -> None:
    """Whatever the API calls it; what a server remembers of the conversation comes to it."""
    spec = ModelSpec(model="own", price=Price(input=1.0, output=0.0))

    assert worst_case(spec, said) == pytest.approx(1000e-6, rel=0.02)
    assert worst_case(spec, said, earlier=5000) == pytest.approx(6000e-6, rel=0.02)


def test_what_goes_into_a_cache_has_its_own_price() -> None:
    """Anthropic's costs more than other input; a price that the user gave knows no difference."""
    pytest.importorskip("genai_prices")
    spec = ModelSpec(model="claude-sonnet-4-5", base_url="https://api.anthropic.com/v1")
    plain, written = TokenCount(input=1000, output=0), TokenCount(input=1000, output=0, written=1000)

    costs = [cost_of(spec, spec.model, tokens) for tokens in (plain, written)]

    assert costs[0] is not None
    assert costs[1] == pytest.approx(1.25 * costs[0])
    given = spec.model_copy(update={"price": Price(input=1.0, output=0.0)})
    assert cost_of(given, spec.model, written) == cost_of(given, spec.model, plain)


def test_a_cost_budget_names_each_model_that_it_cannot_bound() -> None:
    """One line per model and server; a price or a call budget settles it."""
    unknown = ModelSpec(model="local", base_url="http://127.0.0.1:1/v1")

    (problem,) = check_priced([GIVEN, unknown, unknown], has_cost_budget=True, has_call_budget=False)

    assert "'local'" in problem
    assert "http://127.0.0.1:1/v1" in problem
    assert "`price`" in problem
    assert check_priced([unknown], has_cost_budget=True, has_call_budget=True) == []
    assert check_priced([unknown], has_cost_budget=False, has_call_budget=False) == []


def test_prices_are_loaded_when_first_needed() -> None:
    """Importing the module does not import the table."""
    import subprocess

    code = "import sys, pytest_agentbench.llm.prices; sys.exit('genai_prices' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=Path(__file__).parent).returncode == 0


@each("answers", [0, -3])
def test_a_request_for_no_answers_counts_as_one(answers: int) -> None:
    """What a body says of its answers never makes a worst case smaller."""
    assert worst_case(GIVEN, {"n": answers, "max_tokens": 10**6}) == pytest.approx(10.0, rel=1e-3)
