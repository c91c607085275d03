"""The families of model servers that people use, each as its own public documentation and its users describe it.

Whoever wrote this table had not read the client. A source is the page that a row comes from; all were read on 24
November 2026. Messages are in words of ours: nobody may decide anything by them. Shapes, codes and fields are theirs.
"""

import json
import re
from typing import Any

from tests.llm.family_model import THOUGHT, Asked, Said
from tests.llm.family_server import KEY, Dressing, Family, Refusal, error



def _refuses(name: str, code: str = "unsupported_parameter") -> Refusal:
    """Refuse a parameter as OpenAI does, which names it."""
    body = error(f"Unsupported parameter: '{name}'.", param=name, code=code)
    return Refusal(when=lambda asked: asked.sent(name), body=body)


def _warm(asked: Asked) -> bool:
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
_PLAIN = (_STRANGE, _LOOSE, _WORDLESS)
_COOL = Refusal(
    when=_warm,
    body=error("'temperature' does not support this value.", param="temperature", code="unsupported_value"),
)
_REASONING = (*_PLAIN, _refuses("max_tokens"), _COOL, _refuses("parallel_tool_calls"))


def _message(**fields: Any) -> Dressing:
    """Add these fields to each message."""
    return lambda made, asked, said: made["choices"][0]["message"].update(fields)


def _choice(**fields: Any) -> Dressing:
    """Add these fields to each choice."""
    return lambda made, asked, said: made["choices"][0].update(fields)


def _usage(**fields: Any) -> Dressing:
    """Add these fields to the usage."""
    return lambda made, asked, said: made["usage"].update(fields)


def _also(**fields: Any) -> Dressing:
    """Add these fields to the completion."""
    return lambda made, asked, said: made.update(fields)


_HIDDEN = _usage(completion_tokens_details={"reasoning_tokens": 18}, prompt_tokens_details={"cached_tokens": 0})


def _exhausted(needed: int) -> Dressing:
    """Say nothing where the bound leaves no more than the thoughts take, as reasoning models of OpenAI do."""

    def cut(made: dict[str, Any], asked: Asked, said: Said) -> None:
        bound = asked.body.get("max_completion_tokens") or asked.body.get("max_tokens")
        if bound is None or bound > needed:
            return
        made["choices"][0] |= {"message": {"role": "assistant", "content": ""}, "finish_reason": "length"}
        made["usage"] |= {"completion_tokens": bound, "completion_tokens_details": {"reasoning_tokens": bound}}

    return cut


def _aloud(before: str, after: str) -> Dressing:
    """Put thoughts into the content, save where a grammar lets the model write nothing but data."""

    def think(made: dict[str, Any], asked: Asked, said: Said) -> None:
        if not said.constrained:
            message = made["choices"][0]["message"]
            message["content"] = f"{before}{THOUGHT}{after}{message['content'] or ''}"

    return think


def _absent(name: str) -> Dressing:
    """Leave a field of the message out where it says nothing."""

    def leave(made: dict[str, Any], asked: Asked, said: Said) -> None:
        message = made["choices"][0]["message"]
        if message[name] is None:
            del message[name]

    return leave


def _empty(made: dict[str, Any], asked: Asked, said: Said) -> None:
    """Write an empty text where there is none."""
    message = made["choices"][0]["message"]
    message["content"] = message["content"] or ""


def _calls(**fields: Any) -> Dressing:
    """Add these fields to each call."""

    def add(made: dict[str, Any], asked: Asked, said: Said) -> None:
        for call in made["choices"][0]["message"].get("tool_calls", ()):
            call.update(fields)

    return add


def _chunks(made: dict[str, Any], asked: Asked, said: Said) -> None:
    """Give the content as Mistral's reasoning models do: a list of thoughts and texts."""
    if said.call is None and not said.constrained:
        thoughts = {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]}
        made["choices"][0]["message"]["content"] = [thoughts, {"type": "text", "text": said.content}]


def _written_calls(made: dict[str, Any], asked: Asked, said: Said) -> None:
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


_MISTRAL = _unlike(
    {
        *("model", "messages", "temperature", "top_p", "max_tokens", "stream", "stop", "random_seed", "tools", "n"),
        *("response_format", "tool_choice", "presence_penalty", "frequency_penalty", "prediction", "prompt_mode"),
        *("parallel_tool_calls", "safe_prompt", "reasoning_effort", "metadata"),
    },
    {"role", "content", "tool_calls", "tool_call_id", "name", "prefix"},
)


def _mistral_detail(asked: Asked) -> list[dict[str, Any]]:
    return [
        {"type": "extra_forbidden", "loc": place, "msg": "Not permitted.", "input": None} for place in _MISTRAL(asked)
    ]


def _mistral_nested(asked: Asked) -> dict[str, Any]:
    detail = {"detail": _mistral_detail(asked)}
    return {"object": "error", "message": detail, "type": "invalid_request_error", "param": None, "code": None}


def _mistral_flat(asked: Asked) -> dict[str, Any]:
    detail = _mistral_detail(asked)
    return {"object": "Error", "detail": detail, "message": detail, "type": "invalid_request_error", "code": 3001}


def _foreign_id(asked: Asked) -> bool:
    made = [call["id"] for one in asked.messages for call in one.get("tool_calls") or ()]
    return any(re.fullmatch("[a-zA-Z0-9]{9}", name) is None for name in made)


_FOREIGN_ID = Refusal(
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


def _gemini_error(message: str, **details: Any) -> list[dict[str, Any]]:
    return [{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT", **details}}]


def _gemini_unknown(asked: Asked) -> list[dict[str, Any]]:
    told = [{"description": f'Unknown name "{place[-1]}": Cannot find field.'} for place in _GEMINI(asked)]
    details = [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": told}]
    return _gemini_error("\n".join(one["description"] for one in told), details=details)


_GEMINI_UNKNOWN = Refusal(when=lambda asked: bool(_GEMINI(asked)), body=_gemini_unknown)
_SIGNATURE = {"google": {"thought_signature": "c2lnbmVk"}}


def _unsigned(asked: Asked) -> bool:
    made = [call for one in asked.messages for call in one.get("tool_calls") or ()]
    return any(call.get("extra_content") != _SIGNATURE for call in made)


def _unthought(asked: Asked) -> bool:
    """Tell whether the thoughts before a call were not passed back."""
    return any(one.get("tool_calls") and one.get("reasoning_content") != THOUGHT for one in asked.messages)


def _deepseek(message: str) -> dict[str, Any]:
    return error(message, code="invalid_request_error")


_DEEPSEEK_FORM = Refusal(
    when=lambda asked: asked.form == "json_schema", body=_deepseek("This response_format type is unavailable now")
)
_DEEPSEEK_JSON = Refusal(
    when=lambda asked: asked.form == "json_object" and "json" not in asked.words.lower(),
    body=_deepseek("Prompt must contain the word 'json' to use response_format of type 'json_object'."),
)

_FILTERS = {"hate": {"filtered": False, "severity": "safe"}, "violence": {"filtered": False, "severity": "safe"}}
_FILTERED: dict[str, Any] = {
    "error": {
        **{"message": "The prompt was filtered.", "type": None, "param": "prompt", "code": "content_filter"},
        "status": 400,
        "innererror": {
            "code": "ResponsibleAIPolicyViolation",
            "content_filter_result": {**_FILTERS, "jailbreak": {"filtered": True, "detected": True}},
        },
    }
}
_AZURE = (
    _also(prompt_filter_results=[{"prompt_index": 0, "content_filter_results": _FILTERS}]),
    _choice(content_filter_results=_FILTERS),
    _message(refusal=None, annotations=[]),
    _HIDDEN,
)
_AZURE_DENIAL = {"error": {"code": "401", "message": "Access denied due to invalid subscription key."}}


def _judging(asked: Asked) -> bool:
    return asked.role == "judge"


def _llama(message: str, kind: str, code: int, **more: Any) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "type": kind, **more}}


def _has_tools(asked: Asked) -> bool:
    return bool(asked.body.get("tools"))


FAMILIES = (
    Family(
        name="openai",
        source="OpenAI API reference, Create chat completion; Structured model outputs",
        refusals=_PLAIN,
        dressings=(_message(refusal=None, annotations=[]), _also(system_fingerprint="fp", service_tier="default")),
    ),
    Family(
        name="openai-reasoning",
        source="OpenAI, Reasoning models; langchain issue 29704, AI SDK issue 6034 (bodies of the 400s)",
        refusals=_REASONING,
        dressings=(_message(refusal=None, annotations=[]), _HIDDEN),
        facts=3,
    ),
    Family(
        name="openai-thinks-long",
        source="OpenAI, Reasoning models: leave room for thoughts; covan pull request 112 (1,408 tokens of thoughts)",
        refusals=_REASONING,
        dressings=(_exhausted(1500), _HIDDEN),
        facts=3,
    ),
    Family(
        name="openai-exhausted",
        source="OpenAI, Reasoning models: finish_reason length with an empty content",
        refusals=_REASONING,
        dressings=(_exhausted(1500),),
        facts=3,
        llm={"max_tokens": 50},
        line=("max_tokens", "50"),
        cure={"max_tokens": 4000},
    ),
    Family(
        name="openai-effort-with-tools",
        source="openai-openapi issue 541, pipecat issue 4043 (function tools with reasoning_effort)",
        refusals=(
            *_REASONING,
            Refusal(
                when=lambda asked: _has_tools(asked) and asked.body.get("reasoning_effort") not in {None, "none"},
                body=error("Function tools with reasoning_effort are not supported.", param="reasoning_effort"),
            ),
        ),
        facts=3,
        llm={"effort": "low"},
        line=("effort",),
        cure={"effort": "none"},
    ),
    Family(
        name="openai-overflow",
        source="OpenAI, Error codes: context_length_exceeded",
        refusals=(
            Refusal(
                when=_judging,
                body=error("Maximum context length is 900.", param="messages", code="context_length_exceeded"),
            ),
        ),
        line=("context",),
        verdicts={"s1": "passed", "s2": "passed", "s3": "passed"},
    ),
    Family(
        name="azure-deployment",
        source="Azure OpenAI REST API reference (path, api-version, api-key); BotSharp issue 386 (body of the 401)",
        base="/openai/deployments/large-1?api-version=2024-10-21",
        target="/openai/deployments/large-1/chat/completions?api-version=2024-10-21",
        header="api-key",
        scheme="",
        denial=_AZURE_DENIAL,
        refusals=_PLAIN,
        dressings=_AZURE,
        line=("401", "api_key"),
        cure={"headers": {"api-key": KEY}},
    ),
    Family(
        name="azure-v1",
        source="Azure OpenAI in Foundry Models v1 API; openai-node docs/azure.md (standard client, bearer)",
        base="/openai/v1/",
        target="/openai/v1/chat/completions",
        denial=_AZURE_DENIAL,
        refusals=_REASONING,
        dressings=_AZURE,
        facts=3,
    ),
    Family(
        name="azure-filter",
        source="Azure OpenAI, Content filtering: 400 content_filter with param prompt and an innererror",
        base="/openai/v1",
        target="/openai/v1/chat/completions",
        denial=_AZURE_DENIAL,
        refusals=(Refusal(when=lambda asked: asked.role == "agent" and "W2" in asked.words, body=_FILTERED),),
        dressings=_AZURE,
        verdicts={"s1": "passed", "s2": "error", "s3": "failed"},
    ),
    Family(
        name="anthropic",
        source="Claude docs, OpenAI SDK compatibility (response_format, strict, seed and others are ignored)",
        base="/v1/",
        ignored=frozenset({"response_format"}),
        dressings=(_usage(completion_tokens_details=None, prompt_tokens_details=None),),
        facts=1,
    ),
    Family(
        name="anthropic-no-temperature",
        source="Claude docs, Messages: temperature is deprecated for newer models; RooCode issue 12162",
        base="/v1/",
        refusals=(
            Refusal(when=_warm, body=error("`temperature` is deprecated for this model.", code="invalid_request_error")),
        ),
        ignored=frozenset({"response_format"}),
        facts=2,
        line=("temperature",),
        cure={"temperature": 1},
    ),
    Family(
        name="gemini",
        source="Gemini API, OpenAI compatibility; ChatterUI issue 227 (errors in a list); adk issue 951 (no ids of calls)",
        base="/v1beta/openai/",
        target="/v1beta/openai/chat/completions",
        refusals=(_GEMINI_UNKNOWN,),
        dressings=(_absent("content"), _calls(id="")),
    ),
    Family(
        name="gemini-thinking",
        source="Gemini API, Thought signatures, OpenAI compatibility; oai-compatible-copilot issue 49",
        base="/v1beta/openai",
        target="/v1beta/openai/chat/completions",
        refusals=(
            _GEMINI_UNKNOWN,
            Refusal(when=_unsigned, body=_gemini_error("Function call is missing a thought_signature.")),
        ),
        dressings=(_absent("content"), _calls(extra_content=_SIGNATURE)),
    ),
    Family(
        name="bedrock",
        source="Amazon Bedrock, Invoke a model with the OpenAI Chat Completions API; BrowserOS issue 167 (<reasoning>)",
        base="/openai/v1",
        target="/openai/v1/chat/completions",
        dressings=(_aloud("<reasoning>", "</reasoning>"), _message(refusal=None)),
    ),
    Family(
        name="mistral",
        source="Mistral API reference; eca issue 231 and opencode issue 1680 (422 with a detail, ids of nine characters)",
        refusals=(Refusal(when=lambda asked: bool(_MISTRAL(asked)), status=422, body=_mistral_nested), _FOREIGN_ID),
        dressings=(_message(prefix=False), _empty),
    ),
    Family(
        name="mistral-reasoning",
        source="Mistral docs, Reasoning (content as thinking and text chunks); php-mistral issue 76 (detail at the top)",
        refusals=(Refusal(when=lambda asked: bool(_MISTRAL(asked)), status=422, body=_mistral_flat), _FOREIGN_ID),
        dressings=(_message(prefix=False), _chunks),
    ),
    Family(
        name="groq",
        source="GroqDocs, Structured Outputs and API reference; AI SDK pull request 16540 (JSON with tools)",
        base="/openai/v1",
        target="/openai/v1/chat/completions",
        refusals=(
            Refusal(
                when=lambda asked: asked.form == "json_schema",
                body=error("This model does not support response format `json_schema`.", param="response_format"),
            ),
            Refusal(
                when=lambda asked: bool(asked.form) and _has_tools(asked),
                body=error("json mode cannot be combined with tool/function calling"),
            ),
        ),
        dressings=(_usage(queue_time=0.1, total_time=0.2), _also(x_groq={"id": "req"}), _message(reasoning=THOUGHT)),
        facts=1,
    ),
    Family(
        name="groq-tool-use-failed",
        source="GroqDocs, Tool use: tool_use_failed with failed_generation, to be tried again",
        base="/openai/v1",
        target="/openai/v1/chat/completions",
        refusals=(
            Refusal(
                when=lambda asked: asked.role == "agent",
                once=True,
                body={
                    "error": {
                        **{"message": "Failed to call a function.", "type": "invalid_request_error"},
                        **{"code": "tool_use_failed", "failed_generation": "<function=refund>"},
                    }
                },
            ),
        ),
        facts=1,
        line=("tool_use_failed",),
    ),
    Family(
        name="openrouter",
        source="OpenRouter docs, Errors and Debugging (200 with an error in the body); Standardized finish reasons",
        base="/api/v1",
        target="/api/v1/chat/completions",
        refusals=(
            Refusal(
                when=lambda asked: True,
                once=True,
                status=200,
                body={
                    "error": {"code": 502, "message": "Provider error", "metadata": {"provider_name": "P", "raw": "{}"}},
                    "user_id": "user",
                },
            ),
        ),
        dressings=(
            _also(provider="P"),
            _choice(native_finish_reason="end_turn", error=None),
            _message(reasoning=THOUGHT, reasoning_details=[{"type": "reasoning.text", "text": THOUGHT}], refusal=None),
        ),
        facts=1,
    ),
    Family(
        name="deepseek",
        source="DeepSeek API docs, JSON Output and Create Chat Completion; llm-exe issue 662 (no json_schema, no param)",
        refusals=(_DEEPSEEK_FORM, _DEEPSEEK_JSON),
        dressings=(_usage(prompt_cache_hit_tokens=0, prompt_cache_miss_tokens=120),),
        facts=1,
        line=("structured",),
        cure={"structured": "tool"},
    ),
    Family(
        name="deepseek-thinking",
        source="DeepSeek API docs, Thinking Mode: reasoning_content goes back with calls; oai-compatible-copilot issue 215",
        refusals=(
            _DEEPSEEK_FORM,
            _DEEPSEEK_JSON,
            Refusal(when=lambda asked: asked.forced, body=_deepseek("This model does not support this tool_choice")),
            Refusal(when=_unthought, body=_deepseek("The reasoning_content must be passed back to the API.")),
        ),
        dressings=(_message(reasoning_content=THOUGHT), _HIDDEN, _empty),
        facts=2,
        line=("structured",),
        cure={"structured": "json"},
    ),
    Family(
        name="vllm",
        source="vLLM docs, OpenAI-compatible server, Tool calling, Reasoning outputs (field reasoning)",
        header="",
        dressings=(
            _message(reasoning=THOUGHT, reasoning_content=THOUGHT, refusal=None, function_call=None),
            _choice(stop_reason=None, token_ids=None),
            _also(prompt_logprobs=None, kv_transfer_params=None),
        ),
    ),
    Family(
        name="vllm-think-tags",
        source="vLLM docs, Reasoning outputs: without --reasoning-parser thoughts stay in the content",
        header="",
        dressings=(_aloud("<think>\n", "\n</think>\n\n"),),
    ),
    Family(
        name="vllm-think-unopened",
        source="DeepSeek-R1 model card: the chat template writes <think>, the model only closes it",
        header="",
        dressings=(_aloud("", "\n</think>\n\n"),),
    ),
    Family(
        name="vllm-no-tool-parser",
        source="vLLM docs, Tool calling; langchain4j issue 3475 (body of the 400, code as a number, param null)",
        header="",
        refusals=(
            Refusal(
                when=lambda asked: _has_tools(asked) and not asked.named,
                body=error("--enable-auto-tool-choice must be set", code=400, kind="BadRequestError"),
            ),
        ),
        line=("--enable-auto-tool-choice",),
    ),
    Family(
        name="calls-as-text",
        source="vLLM docs, Tool calling (Hermes format); what a server without a parser for it leaves in the content",
        header="",
        dressings=(_written_calls,),
        line=("parser",),
    ),
    Family(
        name="llama-cpp",
        source="llama.cpp, tools/server/README.md (reasoning_content, timings, grammar from json_schema)",
        header="",
        dressings=(_message(reasoning_content=THOUGHT), _also(timings={"prompt_n": 1}), _absent("content")),
    ),
    Family(
        name="llama-cpp-overflow",
        source="llama.cpp pull request 15780: exceed_context_size_error with n_prompt_tokens and n_ctx",
        header="",
        refusals=(
            Refusal(
                when=_judging,
                body=_llama("exceeds the context", "exceed_context_size_error", 400, n_prompt_tokens=1407, n_ctx=900),
            ),
        ),
        line=("context",),
        verdicts={"s1": "passed", "s2": "passed", "s3": "passed"},
    ),
    Family(
        name="llama-cpp-no-jinja",
        source="llama.cpp, docs/function-calling.md; LLMKube issue 126 (500: tools need --jinja)",
        header="",
        refusals=(Refusal(when=_has_tools, status=500, body=_llama("use the --jinja flag", "server_error", 500)),),
        llm={"retries": 0},
        line=("--jinja",),
    ),
    Family(
        name="lm-studio",
        source="LM Studio bug tracker, issues 189 and 307 (error is a text); linguito issue 21 (tool_choice as an object)",
        header="",
        refusals=(
            Refusal(when=lambda asked: asked.form == "json_object", body={"error": "must be 'json_schema' or 'text'"}),
            Refusal(when=lambda asked: asked.named, body={"error": "Invalid tool_choice type: 'object'."}),
        ),
        dressings=(_empty, _also(stats={}, system_fingerprint="model")),
    ),
    Family(
        name="ollama",
        source="Ollama docs, OpenAI compatibility (supported request fields); openai/openai.go (field reasoning)",
        header="",
        ignored=frozenset({"tool_choice"}),
        dressings=(_empty, _message(reasoning=THOUGHT), _calls(index=0), _also(system_fingerprint="fp_ollama")),
    ),
    Family(
        name="xai",
        source="xAI docs, Chat; LiteLLM issue 6610 (code and error are texts, response_format unsupported)",
        refusals=(
            Refusal(
                when=lambda asked: bool(asked.form),
                body={"code": "Client specified an invalid argument", "error": "response_format is unsupported."},
            ),
        ),
        dressings=(_message(reasoning_content=THOUGHT, refusal=None), _usage(num_sources_used=0)),
        facts=1,
        line=("structured",),
        cure={"structured": "tool"},
    ),
    Family(
        name="cohere",
        source="Cohere docs, Using Cohere models via the OpenAI SDK; strands docs, Cohere (stream_options refused)",
        base="/compatibility/v1",
        target="/compatibility/v1/chat/completions",
        denial={"id": "1", "message": "invalid api token"},
        refusals=(Refusal(when=lambda asked: asked.sent("stream_options"), body={"id": "1", "message": "invalid"}),),
        dressings=(_absent("content"), _also(created=None)),
    ),
    Family(
        name="together",
        source="Together docs, OpenAI compatibility; openai-dotnet pull request 267 (finish reason eos)",
        dressings=(
            lambda made, asked, said: made["choices"][0].update(finish_reason="tool_calls" if said.call else "eos"),
            _choice(seed=1, text=None),
            _also(prompt=[]),
        ),
    ),
    Family(
        name="gateway-drops-fields",
        source="LiteLLM docs, Drop Unsupported Params (drop_params: true)",
        ignored=frozenset({"response_format", "tool_choice"}),
        facts=1,
    ),
    Family(
        name="gateway-no-param",
        source="LiteLLM pull request 33738 (UnsupportedParamsError through the proxy: param null, code a text)",
        refusals=(Refusal(when=_warm, body=error("UnsupportedParamsError", code="400")),),
        facts=1,
        line=("temperature",),
        cure={"temperature": 1},
    ),
    Family(
        name="gateway-html",
        source="MDN, 403 Forbidden; what web application firewalls answer with: a page in place of JSON",
        refusals=(
            Refusal(
                when=lambda asked: True,
                status=403,
                content_type="text/html; charset=utf-8",
                body="<html><head><title>Request blocked</title></head><body><h1>Blocked</h1></body></html>",
            ),
        ),
        line=("403",),
    ),
)
"""One row for each family, in the order in which people meet them."""

BY_NAME = {family.name: family for family in FAMILIES}

OF_THE_SUITE: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("openai-reasoning", {"temperature": 0}, "temperature"),
    ("azure-v1", {"temperature": 0}, "temperature"),
    ("anthropic-no-temperature", {"temperature": 0}, "temperature"),
    ("gateway-no-param", {"temperature": 0}, "temperature"),
    ("mistral", {"seed": 7}, "seed"),
    ("mistral-reasoning", {"seed": 7}, "seed"),
    ("gemini", {"seed": 7}, "seed"),
)
"""Families, what a suite itself sets that they refuse, and the key that the report must name."""
