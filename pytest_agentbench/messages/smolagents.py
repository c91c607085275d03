"""Steps of a smolagents agent's memory, as objects or as `get_full_steps()` writes them."""

from pytest_agentbench.core.misfit import Keys
from pytest_agentbench.messages.assembly import Assembly, read_call
from pytest_agentbench.messages.content import field, is_list, result_text, text_field

FINAL = "final_answer"
"""The tool through which a smolagents agent speaks."""

_OF_MESSAGES = ("content", "parts", "messages", "tool_calls", "function_call")
"""Fields that no step has which begins with a task or a system prompt."""


def is_step(item: object) -> bool:
    """Whether `item` is a step of a memory: a task, an action, a plan, a system prompt."""
    if text_field(item, "role") or text_field(item, "type"):
        return False
    if isinstance(field(item, "step_number"), int) and field(item, "timing") is not None:
        return True
    if text_field(item, "plan") and field(item, "timing") is not None:
        return True
    if field(item, "id") is not None or any(field(item, name) is not None for name in _OF_MESSAGES):
        return False
    return any(isinstance(field(item, name), str) for name in ("task", "system_prompt"))


def read_step(item: object, at: Keys, into: Assembly) -> None:
    """Read a step. The calls of one step have one observation, which is the result of each."""
    if isinstance(prompt := field(item, "system_prompt"), str):
        into.begin("system")
        into.say(prompt)
    elif isinstance(task := field(item, "task"), str):
        into.begin("user")
        into.say(task)
        into.say("[image]" * len(field(item, "task_images") or ()))
    elif isinstance(plan := field(item, "plan"), str):
        into.begin("assistant")
        into.think(plan)
    else:
        _read_action(item, at, into)


def _read_action(item: object, at: Keys, into: Assembly) -> None:
    into.begin("assistant")
    if isinstance(thought := field(item, "model_output"), str):
        into.think(thought)
    listed = field(item, "tool_calls")
    calls = [read_call(call, (*at, "tool_calls", n)) for n, call in enumerate(listed if is_list(listed) else ())]
    tools = [call for call in calls if call.name != FINAL]
    for call in tools:
        into.call(call)
    error = field(item, "error")
    told = text_field(error, "message") if error is not None else text_field(item, "observations")
    for call in tools:
        into.answer(told, call_id=call.id, failed=error is not None, name=call.name)
    final = next((call for call in calls if call.name == FINAL), None)
    if field(item, "is_final_answer") is True or final is not None:
        into.begin("assistant")
        given = field(item, "action_output")
        if given is None and final is not None:
            given = final.arguments.get("answer", final.raw)
        into.say(result_text(given))
