"""What the refusal of a request means by its status, code and field, and what to do about it."""

from collections.abc import Collection

from pytest_agentbench.core.errors import SendError, with_hint
from pytest_agentbench.core.model import ModelSpec

REFUSING = frozenset({400, 422})
"""Statuses of requests that a server does not take as they are."""

VALUES = frozenset({"invalid_value", "integer_above_max_value", "integer_below_min_value", "decimal_above_max_value"})
"""Codes that object to a value: another name would not help."""

UNRELATED = frozenset({"content_filter", "content_policy_violation", "moderation_blocked", "model_not_found"})
"""Codes of refusals that no parameter is the reason of."""

_DENYING = frozenset({401, 403})

_SIZES = frozenset(
    {"context_length_exceeded", "exceed_context_size_error", "string_above_max_length", "array_above_max_length"}
)
"""Codes that name a parameter for its size: a shorter request may be taken."""

_LENGTHS = frozenset({"input_tokens"})
"""What servers name for its size though no request has it."""


def is_too_long(error: SendError) -> bool:
    """Whether a server refused a request for its length."""
    return error.status in REFUSING and (error.code in _SIZES or error.param in _LENGTHS)


def is_denied(error: Exception) -> bool:
    """Whether a server does not let in who asked, as it will not the next time."""
    return isinstance(error, SendError) and error.status in _DENYING


def advised(error: SendError, spec: ModelSpec, keys: Collection[str]) -> SendError:
    """Give a refusal with what to do about it; `keys` are those of the suite that it may mean."""
    error.args = (with_hint(str(error), _hint(error, spec, keys)),)
    return error


def _hint(error: SendError, spec: ModelSpec, keys: Collection[str]) -> str:
    if is_denied(error):
        return f"{_credentials(spec)}; set `api_key`, `headers` or `base_url` of this model"
    named = ", ".join(f"`{key}`" for key in sorted(keys))
    if is_too_long(error):
        lower = "lower `max_tokens`, " if "max_tokens" in keys else ""
        return f"too long for the context of the model: {lower}shorten the scenario, or name one with a longer context"
    if error.status not in REFUSING or error.code in UNRELATED or not keys:
        return ""
    if error.param:
        return f"the suite sets {named} for this model: set another value, or name another model"
    return f"no field is named; it may mean what the suite sets for this model: {named}"


def _credentials(spec: ModelSpec) -> str:
    """Say where the key came from, never which it is."""
    if spec.api_key:
        return "the key was that of `api_key`"
    if not spec.key_variables:
        return "no key was sent"
    return f"the key was that of {' or '.join(spec.key_variables)} in the environment, if it is set"
