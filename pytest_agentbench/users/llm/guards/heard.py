"""What a guard rail reads in a view: the texts that each party spoke last."""

from pytest_agentbench.core.conversation import View

__all__ = ["agent_texts", "last_agent_text", "used_tools_since", "user_texts"]


def agent_texts(view: View) -> tuple[str, ...]:
    """Give the agent's texts in order."""
    return tuple(message.text for message in view.messages if message.role == "assistant" and message.text.strip())


def user_texts(view: View) -> tuple[str, ...]:
    """Give the user's own texts in order."""
    return tuple(message.text for message in view.messages if message.role == "user" and message.text.strip())


def last_agent_text(view: View) -> str:
    """Give all that the agent said since the user's last text; empty where the user spoke last."""
    heard: list[str] = []
    for message in reversed(view.messages):
        if message.role == "user" and message.text.strip():
            break
        if message.role == "assistant" and message.text.strip():
            heard.append(message.text)
    return "\n".join(reversed(heard))


def used_tools_since(view: View) -> bool:
    """Tell whether the user used a tool of its own since the agent spoke last."""
    for message in reversed(view.messages):
        if message.role == "assistant":
            return False
        if message.role == "tool" or message.tool_calls:
            return True
    return False
