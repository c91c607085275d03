"""What model servers refuse, ignore and add to their answers: the habits that the table of families is made of.

Messages are in words of ours, since nobody may decide anything by them; shapes, codes and fields are the servers'.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from tests.llm.family_model import THOUGHT, Asked, Said
from tests.llm.family_server import Dressing, Refusal, error


def _refuses(name: str, code: str = "unsupported_parameter") -> Refusal:
    """Refuse a parameter as OpenAI does, which names it."""
    body = error(f"Unsupported parameter: '{name}'.", param=name, code=code)
    return Refusal(when=lambda asked: asked.sent(name), body=body)


def always(asked: Asked) -> bool:
    """Hold of every request."""
    return True


def warm(asked: Asked) -> bool:
    """Hold of a temperature other than the default."""
    return asked.body.get("temperature") not in {None, 1}


def _loose(schema: object) -> bool:
    """Tell whether an object of a schema leaves open what it may hold, which strict mode forbids."""
    if isinstance(schema, list):
        return any(map(_loose, schema))
    if not isinstance(schema, dict):
        return False
    properties = schema.get("properties")
    open_ended = isinstance(properties, dict) and (
        schema.get("additionalProperties") is not False or set(schema.get("required", ())) != set(properties)
    )
    return open_ended or any(_loose(part) for part in schema.values())


def _strict_and_loose(asked: Asked) -> bool:
    given = (asked.body.get("response_format") or {}).get("json_schema") or {}
    return bool(given.get("strict")) and _loose(given["schema"])


_OPENAI = {
    *("model", "messages", "max_tokens", "max_completion_tokens", "temperature", "top_p", "seed", "stop", "n", "tools"),
    *("tool_choice", "parallel_tool_calls", "response_format", "reasoning_effort", "stream", "stream_options", "user"),
    *("verbosity", "metadata", "store", "logprobs", "top_logprobs", "presence_penalty", "frequency_penalty"),
}
_STRANGE = Refusal(when=lambda asked: bool(set(asked.body) - _OPENAI), body=error("Unrecognized request argument."))
_LOOSE = Refusal(when=_strict_and_loose, body=error("Invalid schema for response_format.", param="response_format"))
_WORDLESS = Refusal(
    when=lambda asked: asked.form == "json_object" and "json" not in asked.words.lower(),
    body=error("'messages' must contain the word 'json'.", param="messages"),
)
PLAIN = (_STRANGE, _LOOSE, _WORDLESS)
_COOL = Refusal(
    when=warm,
    body=error("'temperature' does not support this value.", param="temperature", code="unsupported_value"),
)
REASONING = (*PLAIN, _refuses("max_tokens"), _COOL, _refuses("parallel_tool_calls"))


def _adds(place: Callable[[dict[str, Any]], dict[str, Any]], fields: dict[str, Any]) -> Dressing:
    def add(made: dict[str, Any], asked: Asked, said: Said) -> None:
        place(made).update(fields)

    return add


def message(**fields: Any) -> Dressing:
    """Add these fields to each message."""
    return _adds(lambda made: made["choices"][0]["message"], fields)


def choice(**fields: Any) -> Dressing:
    """Add these fields to each choice."""
    return _adds(lambda made: made["choices"][0], fields)


def usage(**fields: Any) -> Dressing:
    """Add these fields to the usage."""
    return _adds(lambda made: made["usage"], fields)


def also(**fields: Any) -> Dressing:
    """Add these fields to the completion."""
    return _adds(lambda made: made, fields)


HIDDEN = usage(completion_tokens_details={"reasoning_tokens": 18}, prompt_tokens_details={"cached_tokens": 0})


def bound(asked: Asked) -> int:
    """Give how many tokens an answer may take; 0 where nothing bounds it."""
    return int(asked.body.get("max_completion_tokens") or asked.body.get("max_tokens") or 0)


def exhausted(needed: int) -> Dressing:
    """Say nothing where the bound leaves no more than the thoughts take, as reasoning models of OpenAI do."""

    def cut(made: dict[str, Any], asked: Asked, said: Said) -> None:
        spent = bound(asked)
        if 0 < spent <= needed:
            made["choices"][0] |= {"message": {"role": "assistant", "content": ""}, "finish_reason": "length"}
            made["usage"] |= {"completion_tokens": spent, "completion_tokens_details": {"reasoning_tokens": spent}}

    return cut


def aloud(before: str, after: str) -> Dressing:
    """Put thoughts into the content, save where a grammar lets the model write nothing but data."""

    def think(made: dict[str, Any], asked: Asked, said: Said) -> None:
        if not said.constrained:
            message = made["choices"][0]["message"]
            message["content"] = f"{before}{THOUGHT}{after}{message['content'] or ''}"

    return think


def absent(name: str) -> Dressing:
    """Leave a field of the message out where it says nothing."""

    def leave(made: dict[str, Any], asked: Asked, said: Said) -> None:
        message = made["choices"][0]["message"]
        if message[name] is None:
            del message[name]

    return leave


def empty(made: dict[str, Any], asked: Asked, said: Said) -> None:
    """Write an empty text where there is none."""
    message = made["choices"][0]["message"]
    message["content"] = message["content"] or ""


def ends_with_eos(made: dict[str, Any], asked: Asked, said: Said) -> None:
    """Name the sign that the model ended with, where others say that it stopped."""
    if said.call is None:
        made["choices"][0]["finish_reason"] = "eos"


def bare(made: dict[str, Any], asked: Asked, said: Said) -> None:
    """Leave out all of a completion that is no choice."""
    for name in set(made) - {"choices"}:
        del made[name]


def filtered_answer(made: dict[str, Any], asked: Asked, said: Said) -> None:
    """Keep back what the agent says of the second order."""
    if asked.role == "agent" and "W2" in asked.words:
        made["choices"][0] |= {"message": {"role": "assistant"}, "finish_reason": "content_filter"}


def calls(**fields: Any) -> Dressing:
    """Add these fields to each call."""

    def add(made: dict[str, Any], asked: Asked, said: Said) -> None:
        for call in made["choices"][0]["message"].get("tool_calls", ()):
            call.update(fields)

    return add


def chunks(made: dict[str, Any], asked: Asked, said: Said) -> None:
    """Give the content as Mistral's reasoning models do: a list of thoughts and texts."""
    if said.call is None and not said.constrained:
        thoughts = {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]}
        made["choices"][0]["message"]["content"] = [thoughts, {"type": "text", "text": said.content}]


def written_calls(made: dict[str, Any], asked: Asked, said: Said) -> None:
    """Leave calls in the text, as a server does that has no parser for them."""
    if said.call is not None:
        written = json.dumps({"name": said.call[0], "arguments": said.call[1]})
        message = {"role": "assistant", "content": f"<tool_call>\n{written}\n</tool_call>", "tool_calls": []}
        made["choices"][0] |= {"message": message, "finish_reason": "stop"}


def _unlike(known: set[str], message_keys: set[str] | None = None) -> Any:
    """Give what finds the places of fields that a server does not know."""

    def places(asked: Asked) -> list[list[Any]]:
        found: list[list[Any]] = [["body", name] for name in asked.body if name not in known]
        for index, message in enumerate(asked.messages):
            strange = set(message) - message_keys if message_keys else set()
            found += [["body", "messages", index, message["role"], name] for name in sorted(strange)]
        return found

    return places


MISTRAL = _unlike(
    {
        *("model", "messages", "temperature", "top_p", "max_tokens", "stream", "stop", "random_seed", "tools", "n"),
        *("response_format", "tool_choice", "presence_penalty", "frequency_penalty", "prediction", "prompt_mode"),
        *("parallel_tool_calls", "safe_prompt", "reasoning_effort", "metadata"),
    },
    {"role", "content", "tool_calls", "tool_call_id", "name", "prefix"},
)


def _mistral_detail(asked: Asked) -> list[dict[str, Any]]:
    return [
        {"type": "extra_forbidden", "loc": place, "msg": "Not permitted.", "input": None} for place in MISTRAL(asked)
    ]


def mistral_nested(asked: Asked) -> dict[str, Any]:
    """Give the error that holds its detail within its message."""
    detail = {"detail": _mistral_detail(asked)}
    return {"object": "error", "message": detail, "type": "invalid_request_error", "param": None, "code": None}


def mistral_flat(asked: Asked) -> dict[str, Any]:
    """Give the error that holds its detail at the top."""
    detail = _mistral_detail(asked)
    return {"object": "Error", "detail": detail, "message": detail, "type": "invalid_request_error", "code": 3001}


def _foreign_id(asked: Asked) -> bool:
    made = [call["id"] for one in asked.messages for call in one.get("tool_calls") or ()]
    return any(re.fullmatch("[a-zA-Z0-9]{9}", name) is None for name in made)


FOREIGN_ID = Refusal(
    when=_foreign_id,
    body={"object": "error", "message": "Bad id.", "type": "invalid_function_call", "param": None, "code": "3280"},
)

_GEMINI = _unlike(
    {
        *("model", "messages", "temperature", "top_p", "max_tokens", "max_completion_tokens", "n", "stop", "stream"),
        *("stream_options", "tools", "tool_choice", "response_format", "reasoning_effort", "parallel_tool_calls"),
        "extra_body",
    }
)


def gemini_error(message: str, **details: Any) -> list[dict[str, Any]]:
    """Give an error as Google's endpoint does, in a list."""
    return [{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT", **details}}]


def _gemini_unknown(asked: Asked) -> list[dict[str, Any]]:
    told = [{"description": f'Unknown name "{place[-1]}": Cannot find field.'} for place in _GEMINI(asked)]
    details = [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": told}]
    return gemini_error("\n".join(one["description"] for one in told), details=details)


GEMINI_UNKNOWN = Refusal(when=lambda asked: bool(_GEMINI(asked)), body=_gemini_unknown)
SIGNATURE = {"google": {"thought_signature": "c2lnbmVk"}}


def unsigned(asked: Asked) -> bool:
    """Tell whether a call came back without the signature that it was given with."""
    made = [call for one in asked.messages for call in one.get("tool_calls") or ()]
    return any(call.get("extra_content") != SIGNATURE for call in made)


def unthought(asked: Asked) -> bool:
    """Tell whether the thoughts before a call were not passed back."""
    return any(one.get("tool_calls") and one.get("reasoning_content") != THOUGHT for one in asked.messages)


def deepseek(message: str) -> dict[str, Any]:
    """Give an error as DeepSeek does, which names no parameter."""
    return error(message, code="invalid_request_error")


DEEPSEEK_FORM = Refusal(
    when=lambda asked: asked.form == "json_schema", body=deepseek("This response_format type is unavailable now")
)
DEEPSEEK_JSON = Refusal(
    when=lambda asked: asked.form == "json_object" and "json" not in asked.words.lower(),
    body=deepseek("Prompt must contain the word 'json' to use response_format of type 'json_object'."),
)

_FILTERS = {"hate": {"filtered": False, "severity": "safe"}, "violence": {"filtered": False, "severity": "safe"}}
FILTERED: dict[str, Any] = {
    "error": {
        "message": "The prompt was filtered.",
        "type": None,
        "param": "prompt",
        "code": "content_filter",
        "status": 400,
        "innererror": {
            "code": "ResponsibleAIPolicyViolation",
            "content_filter_result": {**_FILTERS, "jailbreak": {"filtered": True, "detected": True}},
        },
    }
}
AZURE = (
    also(prompt_filter_results=[{"prompt_index": 0, "content_filter_results": _FILTERS}]),
    choice(content_filter_results=_FILTERS),
    message(refusal=None, annotations=[]),
    HIDDEN,
)
AZURE_DENIAL = {"error": {"code": "401", "message": "Access denied due to invalid subscription key."}}


def judging(asked: Asked) -> bool:
    """Hold of what judges ask."""
    return asked.role == "judge"


def llama(message: str, kind: str, code: int, **more: Any) -> dict[str, Any]:
    """Give an error as llama.cpp does, whose code is the status."""
    return {"error": {"code": code, "message": message, "type": kind, **more}}


def has_tools(asked: Asked) -> bool:
    """Hold of requests that offer tools."""
    return bool(asked.body.get("tools"))
