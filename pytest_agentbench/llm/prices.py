"""What a call cost, and the most that it can cost: by a given price, else by the table of genai-prices."""

import functools
import json
import os
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from pytest_agentbench.core.model import ModelSpec, Price
from pytest_agentbench.core.providers import PROVIDERS, PYDANTIC_AI, provider_of
from pytest_agentbench.core.proxies import is_loopback
from pytest_agentbench.llm.reply import OUTPUT_BOUND, OUTPUT_LIMITS, TokenCount
from pytest_agentbench.llm.wire import where

FILE_TOKENS = 20_000
"""The most that an image or another file in base64 is taken to hold, since its length says nothing."""

_FILE_MARKS = ('"data:', '"base64"')
"""What stands in a request that holds files: OpenAI's have URLs, Anthropic's the type of a source."""

_PER_MILLION = 1_000_000


def server_of(spec: ModelSpec, environ: Mapping[str, str] = os.environ) -> str:
    """Give the base URL that a role's calls go to: its own, else its provider's, else `OPENAI_BASE_URL`, else OpenAI's.

    What goes through pydantic-ai has no address that anybody knows; its provider's name stands for it.
    """
    if spec.transport == PYDANTIC_AI:
        return spec.provider or PYDANTIC_AI
    return spec.base_url or (provider_of(spec.provider) or PROVIDERS["openai"]).base_url(environ)


def _seller(spec: ModelSpec) -> str:
    """Give whom to price by: the provider where it is named and asked at its own address, else the address.

    Tables know providers by more of their addresses than one, and go by their names first.
    """
    row = provider_of(spec.provider)
    is_at_home = row is not None and row.needs_key and not spec.base_url and not os.environ.get(row.moved_by)
    return spec.provider if is_at_home else server_of(spec)


def cost_of(spec: ModelSpec, model: str, tokens: TokenCount) -> float | None:
    """Give US dollars for `tokens` of `model`, as the server called it; None where nobody knows the price.

    The spec's own price decides; else the genai-prices table does, by provider or server and by either name of the
    model. A server that the table does not know has no known prices, whatever its models are called.
    """
    if spec.price is not None:
        return _by_price(spec.price, tokens)
    server = _seller(spec)
    for name in dict.fromkeys(name.removeprefix(f"{spec.provider}:") for name in (model, spec.model)):
        if name and (cost := _by_table(server, name, tokens)) is not None:
            return cost
    return None


def worst_case(spec: ModelSpec, body: Mapping[str, Any], *, earlier: int = 0) -> float | None:
    """Give the most that posting `body` is taken to cost, in US dollars; None where nobody knows the price.

    The input is estimated generously (one token for three ASCII characters, two for each other one); the output is the
    limit that the body or the spec sets, else 8192 tokens, times the number of answers asked for. `earlier` tokens are
    those of a conversation that the server remembers.
    """
    bound = TokenCount(input=input_bound(body) + earlier, output=_output(spec, body))
    return cost_of(spec, str(body.get("model") or spec.model), bound)


def input_bound(body: Mapping[str, Any]) -> int:
    """Give more input tokens than any usual tokenizer makes of a request's messages, tools and schema."""
    # written out in one go where no file is in it: walking a long conversation takes five times as long
    text = json.dumps(body, ensure_ascii=False, default=str)
    return (_thirds(body) if any(mark in text for mark in _FILE_MARKS) else _text_thirds(text)) // 3 + 1


def check_priced(specs: Iterable[ModelSpec], *, has_cost_budget: bool, has_call_budget: bool) -> list[str]:
    """Name the models that a cost budget cannot bound, one line each; none where calls are bounded."""
    if not has_cost_budget or has_call_budget:
        return []
    probe = TokenCount(input=1, output=1)
    models = {(spec.model, where(server_of(spec))): None for spec in specs if cost_of(spec, spec.model, probe) is None}
    advice = "give the model a `price`, or bound the number of calls too"
    missing = "" if _table() else " (genai-prices, the extra `prices`, is not installed)"
    return [f"a cost budget needs a price for model {name!r} at {url}: {advice}{missing}" for name, url in models]


def _by_price(price: Price, tokens: TokenCount) -> float:
    cached = min(tokens.cached, tokens.input)
    rate = price.input if price.cached_input is None else price.cached_input
    return ((tokens.input - cached) * price.input + cached * rate + tokens.output * price.output) / _PER_MILLION


def _by_table(server: str, model: str, tokens: TokenCount) -> float | None:
    # what goes into a cache has a price of its own, which nothing but the table knows
    price = None if tokens.written else _flat_price(server, model)
    if price is not None:
        return _by_price(price, tokens)
    found = _looked_up(server, model, tokens) if _is_listed(server, model) else None
    return None if found is None else float(found.total_price)


@functools.lru_cache(maxsize=256)
def _is_listed(server: str, model: str) -> bool:
    """Whether the table has a price at all: searching it in vain takes as long as a call takes otherwise."""
    return _looked_up(server, model, TokenCount(input=1, output=1)) is not None


@functools.lru_cache(maxsize=256)
def _flat_price(server: str, model: str) -> Price | None:
    """Give the table's price where it is the same for every call: looking it up takes a hundred times as long."""
    found = _looked_up(server, model, TokenCount(input=1, output=1))
    if found is None or isinstance(found.model.prices, list):  # a list depends on the time
        return None
    price = found.model_price
    rates = [getattr(price, name, None) for name in ("input_mtok", "output_mtok", "cache_read_mtok")]
    if not all(rate is None or isinstance(rate, Decimal) for rate in rates):  # others depend on the length
        return None
    paid, written, cached = (None if rate is None else float(rate) for rate in rates)
    return Price(input=paid or 0.0, output=written or 0.0, cached_input=cached)


def _looked_up(server: str, model: str, tokens: TokenCount) -> Any:
    """Give what genai-prices calculates, or None where it has no price."""
    if _is_here(server) or (table := _table()) is None:
        return None
    usage = table.Usage(
        input_tokens=tokens.input,
        output_tokens=tokens.output,
        cache_read_tokens=min(tokens.cached, tokens.input),
        cache_write_tokens=tokens.written,
    )
    try:
        where = {"provider_api_url": server} if "://" in server else {"provider_id": server}
        found = table.calc_price(usage, model, **where)
    except (LookupError, ValueError):
        return None
    # the table lists models without any price, which would come out as free
    return found if getattr(found.model_price, "input_mtok", None) is not None else None


def _is_here(server: str) -> bool:
    """Whether a server is this machine's own, which no table lists; importing it would hold up all runs."""
    try:
        return is_loopback(urlsplit(server).hostname or "")
    except ValueError:
        return False


@functools.cache
def _table() -> Any:
    """Give the module `genai_prices`, or None where it is not installed."""
    try:
        import genai_prices  # noqa: PLC0415 - an optional extra, and slow to import
    except ImportError:
        return None
    return genai_prices


def _output(spec: ModelSpec, body: Mapping[str, Any]) -> int:
    given = (body.get(name) for name in OUTPUT_LIMITS)
    bounds = [value for value in given if isinstance(value, int) and value > 0]
    answers = body.get("n")
    times = max(answers, 1) if isinstance(answers, int) else 1
    return (bounds[0] if bounds else spec.max_tokens or OUTPUT_BOUND) * times


def _thirds(value: object) -> int:
    """Give the estimate of a JSON value in thirds of a token, what its keys and signs take included."""
    if isinstance(value, str):
        if value.startswith("data:"):
            return min(len(value), 3 * FILE_TOKENS)
        return _text_thirds(value) + 3
    if isinstance(value, Mapping):
        if value.get("type") == "base64" and isinstance(data := value.get("data"), str):
            return 60 + min(len(data), 3 * FILE_TOKENS)
        return 6 + sum(len(str(key)) + 4 + _thirds(item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return 3 + sum(map(_thirds, value))
    return 8


def _text_thirds(text: str) -> int:
    """Give the estimate of a text in thirds of a token: a third for an ASCII character, two tokens for another."""
    ascii_length = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    return ascii_length + 6 * (len(text) - ascii_length)
