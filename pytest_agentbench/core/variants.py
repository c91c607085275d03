"""Variants of agents that are no code: keywords that replace parts of what the suite says about them."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.errors import SuiteFaultError, with_hint
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.names import suggestion
from pytest_agentbench.core.providers import PYDANTIC_AI, inherited, misspelt, reached
from pytest_agentbench.core.suite import HttpAgentSpec, OpenAIAgentSpec
from pytest_agentbench.core.wording import misfits_of

M = TypeVar("M", bound=Model)


def vary_chat(spec: OpenAIAgentSpec, keywords: Mapping[str, object]) -> OpenAIAgentSpec:
    """Give the chat agent of a variant; its keywords are those of the agent and of its model.

    A price goes with its model: another model without a price of its own has none. A variant on another server takes
    over nothing that belongs to the agent's. Raise `SuiteFaultError` for a keyword or a value that does not fit.
    """
    if not keywords:
        return spec
    own = [name for name in OpenAIAgentSpec.model_fields if name != "model"]
    _refuse_unknown("a chat model", keywords, [name for name in list(ModelSpec.keys()) if name != "provider"] + own)
    about_model = {name: value for name, value in keywords.items() if name not in own}
    if keywords.get("model", spec.model.model) != spec.model.model:
        about_model = {"price": None, **about_model}
    model = _elsewhere(spec.model, about_model)
    return _replaced(spec.model_copy(update={"model": model}), {k: v for k, v in keywords.items() if k in own})


def _elsewhere(spec: ModelSpec, keywords: Mapping[str, object]) -> ModelSpec:
    """Replace fields of a model, which may then be another provider's."""
    wrong = misspelt(str(keywords.get("model", ""))) if not (spec.base_url or keywords.get("base_url")) else None
    if wrong and keywords.get("transport", spec.transport) != PYDANTIC_AI:
        raise SuiteFaultError(with_hint(*wrong))
    given = {name: getattr(spec, name) for name in spec.model_fields_set}
    varied = reached(
        {**keywords, "transport": keywords.get("transport", spec.transport)}, has_server=bool(spec.base_url)
    )
    if "transport" not in keywords:
        del varied["transport"]
    return _replaced(ModelSpec.model_construct(**inherited(given, varied)), varied)


def vary_http(spec: HttpAgentSpec, keywords: Mapping[str, object]) -> HttpAgentSpec:
    """Give the HTTP agent of a variant; raise `SuiteFaultError` for a keyword or a value that does not fit."""
    _refuse_unknown("an agent behind HTTP", keywords, list(HttpAgentSpec.keys()))
    return _replaced(spec, keywords)


def _refuse_unknown(what: str, keywords: Mapping[str, object], allowed: list[str]) -> None:
    unknown = [name for name in keywords if name not in allowed]
    if unknown:
        message = f"the variant sets {', '.join(map(repr, unknown))}, but {what} has only {', '.join(allowed)}"
        raise SuiteFaultError(with_hint(message, suggestion(unknown[0], allowed)))


def _replaced(spec: M, keywords: Mapping[str, object]) -> M:
    """Replace fields; a mapping in place of a mapping is merged into it key by key."""
    # what nobody set stays unset: a key's variable, for one, is only insisted on where it was named
    values: dict[str, Any] = {name: getattr(spec, name) for name in spec.model_fields_set}
    for name, value in keywords.items():
        before = getattr(spec, name)
        is_merged = isinstance(value, Mapping) and isinstance(before, Mapping)
        values[name] = {**before, **value} if is_merged else value  # type: ignore[dict-item]  # checked above
    try:
        return type(spec).model_validate(values)
    except ValidationError as error:
        wrong = "; ".join(map(str, misfits_of(error)))
        raise SuiteFaultError(f"the variant does not fit its agent: {wrong}") from None
