"""The families of model servers that people use, each as its own public documentation and its users describe it.

Whoever wrote this table had not read the client. A source is where a row comes from: a page of documentation, an
issue or a pull request, read on 24 November 2026, many of them as excerpts.
"""

from typing import Any

from tests.llm.family_habits import (
    AZURE,
    AZURE_DENIAL,
    DEEPSEEK_FORM,
    DEEPSEEK_JSON,
    FILTERED,
    FOREIGN_ID,
    GEMINI_UNKNOWN,
    HIDDEN,
    MISTRAL,
    PLAIN,
    REASONING,
    SIGNATURE,
    absent,
    aloud,
    also,
    always,
    bare,
    bound,
    calls,
    choice,
    chunks,
    deepseek,
    empty,
    ends_with_eos,
    exhausted,
    filtered_answer,
    gemini_error,
    has_tools,
    judging,
    llama,
    message,
    mistral_flat,
    mistral_nested,
    unsigned,
    unthought,
    usage,
    warm,
    written_calls,
)
from tests.llm.family_model import THOUGHT
from tests.llm.family_server import KEY, RIGHTLY, UNREAD, Family, Refusal, error, flat

NAMELESS = {"error": {"code": "invalid_request_error", "message": "`temperature`", "type": "invalid_request_error"}}
"""What Anthropic's endpoint answers: no field names the parameter, only the message does."""

OPENAI_V1: dict[str, Any] = {"base": "/openai/v1", "target": "/openai/v1/chat/completions"}

FAMILIES = (
    Family(
        name="openai",
        source="openai-java issue 139, scaleway docs commit b33aef9 (what strict mode asks of a schema)",
        refusals=PLAIN,
        dressings=(message(refusal=None, annotations=[]), also(system_fingerprint="fp", service_tier="default")),
    ),
    Family(
        name="openai-reasoning",
        source="chuk-llm issue 3, AI SDK issue 6034, llama_index issue 20865 (bodies of the 400s)",
        refusals=REASONING,
        dressings=(message(refusal=None, annotations=[]), HIDDEN),
    ),
    Family(
        name="openai-thinks-long",
        source="covan pull request 112 (1,408 tokens of thoughts for 120 of an answer)",
        refusals=REASONING,
        dressings=(exhausted(1500), HIDDEN),
    ),
    Family(
        name="openai-exhausted",
        source="apiyi docs, Why does a reasoning model return empty content; you.com docs, Inference Router Reasoning",
        refusals=REASONING,
        dressings=(exhausted(1500),),
        llm={"max_tokens": 50},
        line=("max_tokens",),
        cure={"max_tokens": 4000},
    ),
    Family(
        name="openai-effort-with-tools",
        source="openai-openapi issue 541, pipecat issue 4043 (function tools with reasoning_effort)",
        refusals=(
            *REASONING,
            Refusal(
                when=lambda asked: has_tools(asked) and asked.body.get("reasoning_effort") not in {None, "none"},
                body=error("Function tools with reasoning_effort are not supported.", param="reasoning_effort"),
            ),
        ),
        llm={"effort": "low"},
        line=("effort",),
        cure={"effort": "none"},
    ),
    Family(
        name="openai-overflow",
        source="crewAI-examples issue 121, chathub issue 126 (param messages, code context_length_exceeded)",
        refusals=(
            Refusal(
                when=judging,
                body=error("Maximum context length is 900.", param="messages", code="context_length_exceeded"),
            ),
        ),
        line=("context",),
        verdicts=UNREAD,
    ),
    Family(
        name="azure-deployment",
        source="BAML reference, azure-openai (path, api-version, api-key); BotSharp issue 386 (body of the 401)",
        base="/openai/deployments/large-1?api-version=2024-10-21",
        target="/openai/deployments/large-1/chat/completions?api-version=2024-10-21",
        header="api-key",
        scheme="",
        denial=AZURE_DENIAL,
        refusals=PLAIN,
        dressings=AZURE,
        line=(" 401 ", "api_key"),
        cure={"headers": {"api-key": KEY}},
    ),
    Family(
        name="azure-v1",
        source="Microsoft Learn, v1 API of Azure OpenAI; openai-node docs/azure.md (standard client, bearer)",
        base="/openai/v1/",
        target="/openai/v1/chat/completions",
        denial=AZURE_DENIAL,
        refusals=REASONING,
        dressings=AZURE,
    ),
    Family(
        name="azure-filter",
        source=".NET Studio AI, Fix Azure OpenAI content filter error (innererror); reprinted bodies (param prompt)",
        **OPENAI_V1,
        denial=AZURE_DENIAL,
        refusals=(Refusal(when=lambda asked: asked.role == "agent" and "W2" in asked.words, body=FILTERED),),
        dressings=AZURE,
        spare=7,  # a run that is the provider's fault is played again
        verdicts=RIGHTLY | {"s2": "error provider FINISHED"},
    ),
    Family(
        name="azure-filter-of-the-answer",
        source="developersdigest.tech, Azure OpenAI 200 finish_reason: content_filter (no content)",
        **OPENAI_V1,
        denial=AZURE_DENIAL,
        dressings=(*AZURE, filtered_answer),
        spare=7,  # a run that is the provider's fault is played again
        verdicts=RIGHTLY | {"s2": "error provider FINISHED"},
    ),
    Family(
        name="anthropic",
        source="Claude docs, OpenAI SDK compatibility (response_format, strict, seed and others are ignored)",
        base="/v1/",
        ignored=frozenset({"response_format"}),
        dressings=(usage(completion_tokens_details=None, prompt_tokens_details=None),),
    ),
    Family(
        name="anthropic-no-temperature",
        source="picoclaw issue 2939 (the error names no param); aido release 1.4.2 (which models)",
        base="/v1/",
        refusals=(Refusal(when=warm, body=NAMELESS),),
        ignored=frozenset({"response_format"}),
        line=("temperature",),
        cure={"temperature": 1},
    ),
    Family(
        name="gemini",
        source="ChatterUI issue 227 (errors in a list, fields unknown); adk-python issue 951 (no ids of calls)",
        base="/v1beta/openai/",
        target="/v1beta/openai/chat/completions",
        refusals=(GEMINI_UNKNOWN,),
        dressings=(absent("content"), calls(id="")),
    ),
    Family(
        name="gemini-thinking",
        source="continue pull request 8865 (extra_content); opensquilla issue 225 (body of the 400)",
        base="/v1beta/openai",
        target="/v1beta/openai/chat/completions",
        refusals=(
            GEMINI_UNKNOWN,
            Refusal(when=unsigned, body=gemini_error("Function call is missing a thought_signature.")),
        ),
        dressings=(absent("content"), calls(extra_content=SIGNATURE)),
    ),
    Family(
        name="bedrock",
        source="Amazon Bedrock, Invoke a model with the OpenAI Chat Completions API; BrowserOS issue 167 (<reasoning>)",
        **OPENAI_V1,
        dressings=(aloud("<reasoning>", "</reasoning>"), message(refusal=None)),
    ),
    Family(
        name="mistral",
        source="eca issues 231 and 233, LiteLLM issue 30835 (422 with a detail, also of messages; ids of nine signs)",
        refusals=(Refusal(when=lambda asked: bool(MISTRAL(asked)), status=422, body=mistral_nested), FOREIGN_ID),
        dressings=(message(prefix=False), empty),
    ),
    Family(
        name="mistral-reasoning",
        source="braintrust-sdk issue 1857 (content as thinking and text); php-mistral issue 76 (detail at the top)",
        refusals=(Refusal(when=lambda asked: bool(MISTRAL(asked)), status=422, body=mistral_flat), FOREIGN_ID),
        dressings=(message(prefix=False), chunks),
    ),
    Family(
        name="groq",
        source="GroqDocs, Structured Outputs; Vane issue 980 (400); AI SDK pull request 16540 (JSON with tools)",
        **OPENAI_V1,
        refusals=(
            Refusal(
                when=lambda asked: asked.form == "json_schema",
                body=error("This model does not support response format `json_schema`.", param="response_format"),
            ),
            Refusal(
                when=lambda asked: bool(asked.form) and has_tools(asked),
                body=error("json mode cannot be combined with tool/function calling"),
            ),
        ),
        dressings=(usage(queue_time=0.1, total_time=0.2), also(x_groq={"id": "req"}), message(reasoning=THOUGHT)),
    ),
    Family(
        name="groq-tool-use-failed",
        source="groq-typescript issue 28, picoclaw issue 748 (tool_use_failed with a failed_generation)",
        **OPENAI_V1,
        refusals=(
            Refusal(
                when=lambda asked: asked.role == "agent",
                once=True,
                body={
                    "error": {
                        "message": "Failed to call a function.",
                        "type": "invalid_request_error",
                        "code": "tool_use_failed",
                        "failed_generation": "<function=refund>",
                    }
                },
            ),
        ),
        spare=1,  # the run is played again, from the first word of the user
        line=("tool_use_failed",),
    ),
    Family(
        name="cerebras",
        source="claude-code-router issue 708 (json_schema), free-claude-code issue 1136 (reasoning_content)",
        refusals=(
            Refusal(
                when=lambda asked: asked.form == "json_schema",
                body=error("Unsupported JSON schema fields.", param="response_format", code="wrong_api_format")[
                    "error"
                ],
            ),
            Refusal(
                when=lambda asked: any("reasoning_content" in one for one in asked.messages),
                body=flat("Unsupported property.", param="validation_error", code="wrong_api_format"),
            ),
        ),
        dressings=(message(reasoning=THOUGHT), absent("content"), also(time_info={"total_time": 0.1})),
    ),
    Family(
        name="openrouter",
        source="OpenRouter docs, Errors and Debugging (200 with an error in the body); Standardized finish reasons",
        base="/api/v1",
        target="/api/v1/chat/completions",
        refusals=(
            Refusal(
                when=always,
                once=True,
                status=200,
                body={
                    "error": {
                        "code": 502,
                        "message": "Provider error",
                        "metadata": {"provider_name": "P"},
                    },
                    "user_id": "user",
                },
            ),
        ),
        dressings=(
            also(provider="P"),
            choice(native_finish_reason="end_turn", error=None),
            message(reasoning=THOUGHT, reasoning_details=[{"type": "reasoning.text", "text": THOUGHT}], refusal=None),
        ),
    ),
    Family(
        name="deepseek",
        source="llm-exe issue 662 (json_schema refused, param null); DeepSeek API references, JSON Output",
        refusals=(DEEPSEEK_FORM, DEEPSEEK_JSON),
        dressings=(usage(prompt_cache_hit_tokens=0, prompt_cache_miss_tokens=120),),
        spare=1,  # nothing is named: our temperature is tried first, as gateway-no-param needs
        cure={"structured": "tool"},
    ),
    Family(
        name="deepseek-thinking",
        source="DeepSeek API docs, Thinking Mode; oai-compatible-copilot issue 215, awesome-deepseek issue 598",
        refusals=(
            DEEPSEEK_FORM,
            DEEPSEEK_JSON,
            Refusal(when=lambda asked: asked.forced, body=deepseek("This model does not support this tool_choice")),
            Refusal(when=unthought, body=deepseek("The reasoning_content must be passed back to the API.")),
        ),
        dressings=(message(reasoning_content=THOUGHT), HIDDEN, empty),
        spare=1,  # nothing is named: our temperature is tried first, as gateway-no-param needs
        cure={"structured": "json"},
    ),
    Family(
        name="vllm",
        source="vLLM docs, Tool Calling, Reasoning Outputs; vllm engine/protocol.py (extra fields are ignored)",
        header="",
        dressings=(
            message(reasoning=THOUGHT, reasoning_content=THOUGHT, refusal=None, function_call=None),
            choice(stop_reason=None, token_ids=None),
            also(prompt_logprobs=None, kv_transfer_params=None),
        ),
    ),
    Family(
        name="vllm-think-tags",
        source="vLLM docs, Reasoning Outputs (--reasoning-parser); llama.cpp pull request 16394 (unparsed thoughts)",
        header="",
        dressings=(aloud("<think>\n", "\n</think>\n\n"),),
    ),
    Family(
        name="vllm-think-unopened",
        source="DeepSeek-R1 issue 526, vLLM issue 13125 (the template opens the tag, the model only closes it)",
        header="",
        dressings=(aloud("", "\n</think>\n\n"),),
    ),
    Family(
        name="vllm-no-tool-parser",
        source="vLLM docs, Tool Calling; vllm engine/protocol.py (ErrorInfo: param may be null, code is a number)",
        header="",
        refusals=(
            Refusal(
                when=lambda asked: has_tools(asked) and not asked.named,
                body=error("--enable-auto-tool-choice must be set", code=400, kind="BadRequestError"),
            ),
        ),
        line=("--enable-auto-tool-choice",),
    ),
    Family(
        name="vllm-no-tool-parser-flat",
        source="OpenManus issue 331 (vLLM 0.6: the error stands at the top of the body)",
        header="",
        refusals=(
            Refusal(
                when=lambda asked: has_tools(asked) and not asked.named,
                body=flat("--enable-auto-tool-choice must be set", code=400, kind="BadRequestError"),
            ),
        ),
        line=("--enable-auto-tool-choice",),
    ),
    Family(
        name="vllm-overflow",
        source="VLLMValidationError in forks of vLLM (a prompt that is too long: param input_tokens)",
        header="",
        refusals=(
            Refusal(
                when=judging,
                body=error("maximum context length", param="input_tokens", code=400, kind="BadRequestError"),
            ),
        ),
        line=("context",),
        verdicts=UNREAD,
    ),
    Family(
        name="vllm-no-room",
        source="VLLMValidationError in forks of vLLM and their tests (a bound that is too large: param max_tokens)",
        header="",
        refusals=(
            Refusal(
                when=lambda asked: bound(asked) > 4000,
                body=error("the bound is too large", param="max_tokens", code=400, kind="BadRequestError"),
            ),
        ),
        llm={"max_tokens": 100_000},
        line=("max_tokens",),
        cure={"max_tokens": 2000},
    ),
    Family(
        name="calls-as-text",
        source="mlx-openai-server issue 83, vLLM issue 43104 (calls that no parser took out of the content)",
        header="",
        dressings=(written_calls,),
        line=("parser",),
    ),
    Family(
        name="llama-cpp",
        source="llama.cpp, tools/server/README.md (reasoning_content, timings, grammar from json_schema)",
        header="",
        dressings=(message(reasoning_content=THOUGHT), also(timings={"prompt_n": 1}), absent("content")),
    ),
    Family(
        name="llama-cpp-overflow",
        source="llama.cpp pull request 15780: exceed_context_size_error with n_prompt_tokens and n_ctx",
        header="",
        refusals=(
            Refusal(
                when=judging,
                body=llama("exceeds the context", "exceed_context_size_error", 400, n_prompt_tokens=1407, n_ctx=900),
            ),
        ),
        line=("context",),
        verdicts=UNREAD,
    ),
    Family(
        name="llama-cpp-no-jinja",
        source="llama.cpp, tools/server/README.md (--jinja); LLMKube issue 126 (500)",
        header="",
        refusals=(Refusal(when=has_tools, status=500, body=llama("use the --jinja flag", "server_error", 500)),),
        llm={"retries": 0},
        line=("--jinja",),
    ),
    Family(
        name="lm-studio",
        source="LM Studio bug tracker, issues 189 and 307 (error is a text); linguito issue 21 (tool_choice)",
        header="",
        refusals=(
            Refusal(when=lambda asked: asked.form == "json_object", body={"error": "must be 'json_schema' or 'text'"}),
            Refusal(when=lambda asked: asked.named, body={"error": "Invalid tool_choice type: 'object'."}),
        ),
        dressings=(empty, also(stats={}, system_fingerprint="model")),
    ),
    Family(
        name="ollama",
        source="Ollama docs, OpenAI compatibility (supported request fields); openai/openai.go (field reasoning)",
        header="",
        ignored=frozenset({"tool_choice"}),
        dressings=(empty, message(reasoning=THOUGHT), calls(index=0), also(system_fingerprint="fp_ollama")),
    ),
    Family(
        name="xai",
        source="LiteLLM issue 6610 (code and error are texts, response_format unsupported); uni-api issue 105",
        refusals=(
            Refusal(
                when=lambda asked: bool(asked.form),
                body={"code": "Client specified an invalid argument", "error": "response_format is unsupported."},
            ),
        ),
        dressings=(message(reasoning_content=THOUGHT, refusal=None), usage(num_sources_used=0)),
        spare=1,  # nothing is named: our temperature is tried first, as gateway-no-param needs
        cure={"structured": "tool"},
    ),
    Family(
        name="cohere",
        source="Cohere docs, Using Cohere models via the OpenAI SDK; strands docs, Cohere (stream_options refused)",
        base="/compatibility/v1",
        target="/compatibility/v1/chat/completions",
        denial={"id": "1", "message": "invalid api token"},
        refusals=(Refusal(when=lambda asked: asked.sent("stream_options"), body={"id": "1", "message": "invalid"}),),
        dressings=(absent("content"), also(created=None)),
    ),
    Family(
        name="together",
        source="openai-dotnet pull request 267, vespa pull request 33327 (finish reason eos)",
        dressings=(
            ends_with_eos,
            choice(seed=1, text=None),
            also(prompt=[]),
        ),
    ),
    Family(
        name="omlx",
        source="omlx issue 2066: spaces before the JSON keep the connection alive",
        padding=" \n  \n",
    ),
    Family(
        name="gateway-drops-fields",
        source="LiteLLM docs, Drop Unsupported Params (drop_params: true); it keeps no more of the answer than it must",
        dressings=(bare,),
        ignored=frozenset({"response_format", "tool_choice"}),
    ),
    Family(
        name="gateway-no-param",
        source="LiteLLM pull request 33738 (UnsupportedParamsError through the proxy: param null, code a text)",
        refusals=(Refusal(when=warm, body=error("UnsupportedParamsError", code="400")),),
        line=("temperature",),
        cure={"temperature": 1},
    ),
    Family(
        name="gateway-html",
        source="none: any web application firewall, which answers with a page of its own",
        refusals=(
            Refusal(
                when=always,
                status=403,
                content_type="text/html; charset=utf-8",
                body="<html><head><title>Request blocked</title></head><body><h1>Blocked</h1></body></html>",
            ),
        ),
        line=(" 403 ",),
    ),
)
"""One row for each family, in the order in which people meet them."""
