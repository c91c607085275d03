"""OpenAI's Responses: items in, items out, and conversations that the server itself remembers."""

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_agentbench.core.json_values import JsonValue, to_json
from pytest_agentbench.llm.apis.api import (
    OPENAI,
    Api,
    Home,
    Ids,
    Redact,
    Replayed,
    bare,
    decided,
    dicts,
    formal,
    kept,
    written,
)
from pytest_agentbench.llm.apis.chat_completions import IRRELEVANT

_PREFIXES = {"message": "msg", "function_call": "fc", "reasoning": "rs"}
"""How the ids of items begin, which some clients look at."""

_ECHOED = frozenset(
    {
        "background", "instructions", "max_output_tokens", "max_tool_calls", "metadata", "parallel_tool_calls",
        "presence_penalty", "frequency_penalty", "previous_response_id", "prompt", "prompt_cache_key",
        "prompt_cache_retention", "reasoning", "safety_identifier", "store", "temperature", "text", "tool_choice",
        "tools", "top_logprobs", "top_p", "truncation", "user",
    }
)  # fmt: skip
"""What a response repeats of its request."""

_VOLATILE = frozenset({"id", "object", "created_at", "completed_at", "service_tier", "billing", *_ECHOED})
_TERMINAL = frozenset({"response.completed", "response.incomplete", "response.failed"})
_WORDS = frozenset(
    {
        "message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning",
        "item_reference", "input_text", "input_image", "input_file", "output_text", "refusal", "summary_text",
        "reasoning_text", "system", "developer", "user", "assistant", "completed", "incomplete",
    }
)  # fmt: skip
_TEXTS = {
    "output_text": ("response.output_text", "text"),
    "refusal": ("response.refusal", "refusal"),
    "reasoning_text": ("response.reasoning_text", "text"),
    "summary_text": ("response.reasoning_summary_text", "text"),
}
"""The events by which a part of a type grows, and what holds its text."""

Item = dict[str, Any]


class ResponsesApi(Api):
    """Implements `Api` for `POST …/v1/responses`."""

    name = "responses"
    path = "responses"
    noun = "response"
    items = "input"
    known = frozenset(
        {
            "model", "input", "instructions", "tools", "tool_choice", "text", "reasoning", "temperature",
            "max_output_tokens", "previous_response_id",
        }
    )  # fmt: skip
    home: Home = OPENAI

    def deciding(self, body: Mapping[str, Any], ids: Ids) -> dict[str, JsonValue]:
        """Give what decides a response: no ids of items, calls by position, earlier responses by what `ids` says."""
        request = decided(body, IRRELEVANT)
        if isinstance(given := request.get("input"), str | list):
            request["input"] = _renamed([_told(item, ids) for item in _items(given)])
        if isinstance(earlier := request.get("previous_response_id"), str):
            request["previous_response_id"] = ids.get(earlier, earlier)
        return request

    def item(self, item: JsonValue, redact: Redact) -> JsonValue:
        """Give an item without secrets; its type and role, and the types of its parts, stay."""
        return _redacted(item, redact)

    def reduced(self, answer: Mapping[str, Any], redact: Redact) -> dict[str, JsonValue]:
        """Give a redacted response without ids, times, and what it repeats of its request.

        The ids of calls stay, since an agent repeats them, and that of an item whose encrypted content is bound to it.
        """

        def output(items: JsonValue) -> JsonValue:
            return [_redacted(_kept(item), redact) for item in items] if isinstance(items, list) else None

        def status(value: JsonValue) -> JsonValue:
            return value if value in ("completed", "incomplete") else None

        return kept(bare(to_json(answer), _VOLATILE), redact, {"output": output, "status": status})

    def restored(self, stored: Mapping[str, JsonValue], key: str) -> dict[str, JsonValue]:
        """Give the `response` of what `reduced` gave."""
        answer: dict[str, JsonValue] = {
            "id": f"resp_{key}",
            "object": "response",
            "created_at": 0,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "parallel_tool_calls": True,
            "temperature": None,
            "tool_choice": "auto",
            "tools": [],
            "top_p": None,
            **stored,
        }
        output = stored.get("output")
        answer["output"] = [
            _restored(item, _item_id(item, key, index)) if isinstance(item, dict) else item
            for index, item in enumerate(output if isinstance(output, list) else [])
        ]
        return answer

    def ids(self, answer: Mapping[str, Any], key: str) -> dict[str, str]:
        """Map the ids of a response and of its items."""
        ids = {str(answer.get("id")): f"resp_{key}"}
        output = answer.get("output")
        for index, item in enumerate(output if isinstance(output, list) else []):
            if isinstance(item, dict) and isinstance(item.get("id"), str):
                ids[item["id"]] = _item_id(_kept(item), key, index)
        return ids

    def is_whole(self, answer: Mapping[str, Any]) -> bool:
        """Whether there is an output that is not still being made, and that has not failed."""
        status = answer.get("status", "completed")
        return isinstance(answer.get("output"), list) and status in ("completed", "incomplete")

    def live(self, body: Mapping[str, Any], replayed: Replayed) -> dict[str, Any] | None:
        """Give a request with the conversation that it names, and without the ids of items that no server has."""
        if not replayed:
            return None
        invented = {str(item.get("id")) for _, answer in replayed.values() for item in dicts(answer.get("output"))}
        whole = _spelled_out(body, replayed)
        items = [_real(item, invented) for item in _items(whole.get("input"))]
        told = [item for item in items if item is not None]
        return None if whole is body and told == _items(body.get("input")) else {**whole, "input": told}

    def assembly(self) -> "ResponseAssembly":
        """Begin to put a streamed response together."""
        return ResponseAssembly()

    def is_last(self, event: Mapping[str, Any]) -> bool:
        """Whether the response is complete, incomplete or failed."""
        return event.get("type") in tuple(_TERMINAL)

    def events(self, answer: Mapping[str, Any], *, with_usage: bool) -> Iterator[bytes]:
        """Give a response as its events, numbered: it begins, each item grows and is done, the whole comes last."""
        begun = {**answer, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
        listed = [{"type": f"response.{what}", "response": begun} for what in ("created", "in_progress")]
        for index, item in enumerate(dicts(answer.get("output"))):
            listed += _item_events(item, index)
        ending = "incomplete" if answer.get("status") == "incomplete" else "completed"
        listed.append({"type": f"response.{ending}", "response": dict(answer)})
        for number, event in enumerate(listed):
            yield written({**event, "sequence_number": number})


class ResponseAssembly:
    """Finds the whole response in the last event of its stream, and its items in their own events."""

    def __init__(self) -> None:
        self._whole: dict[str, Any] | None = None
        self._items: dict[int, dict[str, Any]] = {}
        self._broken = False

    def add(self, event: Mapping[str, Any], /) -> None:
        """Add one event."""
        kind, response, item = event.get("type"), event.get("response"), event.get("item")
        if kind == "error" or event.get("error"):
            self._broken = True
        elif kind == "response.output_item.done" and isinstance(item, dict):
            index = event.get("output_index")
            self._items[index if isinstance(index, int) else len(self._items)] = item
        elif kind in tuple(_TERMINAL) and isinstance(response, dict):
            self._whole = response

    def whole(self) -> dict[str, Any] | None:
        """Give the response of the last event; where that leaves its output out, what the items' own events said."""
        if self._broken or self._whole is None or self._whole.get("status") == "failed":
            return None
        if isinstance(self._whole.get("output"), list):
            return self._whole
        return {**self._whole, "output": [item for _, item in sorted(self._items.items())]}


def _items(given: object) -> list[Any]:
    """Give an input as items; a text is what the user says."""
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    return given if isinstance(given, list) else []


def _spelled_out(body: Mapping[str, Any], replayed: Replayed) -> Mapping[str, Any]:
    """Give a request with the conversation in its input, as far back as it was replayed."""
    named = body.get("previous_response_id")
    if not isinstance(named, str) or named not in replayed:
        return body
    asked, answer = replayed[named]
    before = _spelled_out(asked, replayed)
    whole = {**body, "input": [*_items(before.get("input")), *dicts(answer.get("output")), *_items(body.get("input"))]}
    del whole["previous_response_id"]
    earlier = before.get("previous_response_id")
    return {**whole, "previous_response_id": earlier} if earlier else whole


def _real(item: Any, invented: set[str]) -> Any:
    """Give an item without an id that was made up; None for thoughts whose content only the server had."""
    if not isinstance(item, dict) or not isinstance(named := item.get("id"), str) or named not in invented:
        return item
    if item.get("encrypted_content"):  # its id is its own
        return item
    if item.get("type") in ("reasoning", "item_reference"):
        return None
    return {name: value for name, value in item.items() if name != "id"}


def _told(item: JsonValue, ids: Ids) -> JsonValue:
    """Give an item of a request without what decides nothing; what stands for an item elsewhere is named anew."""
    if not isinstance(item, dict):
        return item
    kind = item.get("type")
    told = bare(item, () if kind == "item_reference" else ("id", "status", "encrypted_content"))
    if kind == "message":
        del told["type"]
    for name in ("id", "approval_request_id"):
        if isinstance(named := told.get(name), str):
            told[name] = ids.get(named, named)
    for name in ("content", "summary"):
        if isinstance(parts := told.get(name), list):
            told[name] = [bare(part) if isinstance(part, dict) else part for part in parts]
    return told


def _renamed(items: list[JsonValue]) -> list[JsonValue]:
    """Name calls and their outputs by the place of the call, or of its output where an earlier response made it."""
    names: dict[str, str] = {}
    renamed = []
    for item in items:
        if isinstance(item, dict) and isinstance(key := item.get("call_id"), str):
            is_output = str(item.get("type")).endswith("_output")
            name = names.setdefault(key, f"earlier-{len(names) + 1}" if is_output else f"call-{len(names) + 1}")
            renamed.append({**item, "call_id": name})
        else:
            renamed.append(item)
    return renamed


def _redacted(item: JsonValue, redact: Redact) -> JsonValue:
    def part(one: JsonValue) -> JsonValue:
        return formal(one, redact, _WORDS, {})

    return formal(item, redact, _WORDS, {"content": part, "summary": part})


def _kept(item: JsonValue) -> JsonValue:
    """Give an item of an answer as it is kept."""
    if not isinstance(item, dict):
        return item
    kept = bare(item, () if item.get("encrypted_content") else ("id",))
    if kept.get("status") == "completed":
        del kept["status"]
    for name in ("content", "summary"):
        if isinstance(parts := kept.get(name), list):
            kept[name] = [bare(part) if isinstance(part, dict) else part for part in parts]
    return kept


def _item_id(item: JsonValue, key: str, index: int) -> str:
    if isinstance(item, dict) and isinstance(own := item.get("id"), str):
        return own
    kind = item.get("type") if isinstance(item, dict) else None
    return f"{_PREFIXES.get(kind, 'item') if isinstance(kind, str) else 'item'}_{key}{index}"


def _restored(item: Item, identity: str) -> Item:
    """Give an item with what clients insist on."""
    restored = {**item, "id": identity}
    if item.get("type") == "reasoning":
        return {**restored, "summary": item.get("summary", [])}
    restored.setdefault("status", "completed")
    if item.get("type") == "message":
        content = item.get("content")
        restored["content"] = [
            {"annotations": [], "logprobs": [], **part}
            if isinstance(part, dict) and part.get("type") == "output_text"
            else part
            for part in (content if isinstance(content, list) else [])
        ]
    return restored


def _item_events(item: Item, index: int) -> Iterator[dict[str, Any]]:
    """Give the events of one item: it is added empty, grows, and is done."""
    place = {"item_id": item.get("id"), "output_index": index}
    begun = {**item, "status": "in_progress"}
    growing: list[dict[str, Any]] = []
    if item.get("type") == "function_call":
        begun["arguments"] = ""
        arguments = {"arguments": item.get("arguments"), "name": item.get("name")}
        delta = {"type": "response.function_call_arguments.delta", **place, "delta": item.get("arguments")}
        growing = [delta, {"type": "response.function_call_arguments.done", **place, **arguments}]
    else:
        for name, where, what in (
            ("summary", "summary_index", "response.reasoning_summary_part"),
            ("content", "content_index", "response.content_part"),
        ):
            if isinstance(item.get(name), list):
                begun[name] = []
                for number, part in enumerate(dicts(item[name])):
                    growing += _part_events(part, {**place, where: number}, what)
    yield {"type": "response.output_item.added", "output_index": index, "item": begun}
    yield from growing
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _part_events(part: Mapping[str, Any], place: Mapping[str, Any], what: str) -> Iterator[dict[str, Any]]:
    kind = part.get("type")
    name, key = _TEXTS.get(kind, ("", "")) if isinstance(kind, str) else ("", "")
    extra: dict[str, Any] = {"logprobs": []} if kind == "output_text" else {}
    yield {"type": f"{what}.added", **place, "part": {**part, **({key: ""} if key else {})}}
    if name:
        yield {"type": f"{name}.delta", **place, "delta": part.get(key), **extra}
        yield {"type": f"{name}.done", **place, key: part.get(key), **extra}
    yield {"type": f"{what}.done", **place, "part": dict(part)}
