"""What is asked of a model: everything that decides its answer, and nothing else."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

OUTPUT_LIMITS = ("max_completion_tokens", "max_tokens", "max_output_tokens", "n_predict", "num_predict")
"""Parameters by which servers take a bound on the length of an answer."""

OUTPUT_BOUND = 8192
"""Tokens that an answer may take where neither suite nor role bounds it: thoughts and a long answer fit into it."""


@dataclass(frozen=True, kw_only=True)
class ChatRequest:
    """A chat completion to ask for, in the OpenAI format; keys, headers and timeouts are the transport's affair.

    `messages`, `tools`, `tool_choice` and `response_format` are what the OpenAI API takes under these names.
    """

    model: str
    messages: tuple[dict[str, Any], ...]
    tools: tuple[dict[str, Any], ...] = ()
    tool_choice: str | dict[str, Any] | None = None
    response_format: dict[str, Any] | None = None
    temperature: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    effort: str | None = None
    extra_body: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def body(self) -> dict[str, Any]:
        """The JSON body to post, not to be changed; what is not set is left out."""
        body: dict[str, Any] = {"model": self.model, "messages": list(self.messages)}
        if self.tools:
            body["tools"] = list(self.tools)
        for name in ("tool_choice", "response_format", "temperature", "seed", "max_tokens"):
            if (value := getattr(self, name)) is not None:
                body[name] = value
        if self.effort is not None:
            body["reasoning_effort"] = self.effort
        return {**body, **self.extra_body}
