"""The user's lines: which one comes next, which were said, and lines that are calls of the user's own tools."""

import ast
from dataclasses import dataclass

from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.users.first_person import first_person


def lines_of(view: View) -> tuple[str, ...]:
    """Give the script; without one it is the goal in the first person."""
    says = tuple(line for line in view.says if line.strip())
    if says:
        return says
    return (first_person(view.goal),) if view.goal.strip() else ()


def spoken(messages: tuple[Message, ...]) -> tuple[str, ...]:
    """Give what the user said or called so far, one text per message."""
    return tuple(_trace(message) for message in messages if message.role == "user")


def call_of(line: str, view: View) -> ToolCall | None:
    """Read a line such as `toggle_wifi(on=True)` as a call of the user's own tool; None where it is text.

    Only a tool of the view and literal keyword arguments count.
    """
    names = {tool.name for tool in view.tools}
    name = line.strip().partition("(")[0]
    if name not in names:
        return None
    try:
        tree = ast.parse(line.strip(), mode="eval").body
        if not isinstance(tree, ast.Call) or tree.args:
            return None
        arguments = {keyword.arg: ast.literal_eval(keyword.value) for keyword in tree.keywords if keyword.arg}
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    return ToolCall(name=name, arguments=arguments, requestor="user")


@dataclass(frozen=True)
class Exchange:
    """What the agent said (`heard`), what the user said to it, and whether that was a line of the script."""

    heard: str
    said: str
    is_line: bool


class Script:
    """Remembers which of its own messages were lines; a history it did not make itself is matched by text."""

    def __init__(self) -> None:
        self._said: list[tuple[str, bool]] = []

    def position(self, lines: tuple[str, ...], said: tuple[str, ...]) -> int:
        """Give the index of the next line, in a conversation where the user said `said`."""
        if tuple(text for text, _ in self._said) != said:
            self._said = _matched(lines, said)
        return sum(is_line for _, is_line in self._said)

    def exchanges(self, messages: tuple[Message, ...]) -> tuple[Exchange, ...]:
        """Pair what the user said in `messages`, the ones that `position` was told of, with what it answered."""
        kinds = iter(self._said)
        heard: list[str] = []
        found: list[Exchange] = []
        for message in messages:
            if message.role == "user":
                said, is_line = next(kinds, (_trace(message), False))
                found.append(Exchange("\n".join(heard), said, is_line))
                heard = []
            elif message.role == "assistant" and message.text.strip():
                heard.append(message.text)
        return tuple(found)

    def remember(self, message: Message, *, is_line: bool) -> None:
        """Note that `message` is said now."""
        self._said.append((_trace(message), is_line))


def _trace(message: Message) -> str:
    return message.text or ",".join(call.name for call in message.tool_calls)


def _matched(lines: tuple[str, ...], said: tuple[str, ...]) -> list[tuple[str, bool]]:
    """Match a foreign history to the lines, in order; its first message counts as the first line."""
    following = 0
    matched: list[tuple[str, bool]] = []
    for index, text in enumerate(said):
        is_line = following < len(lines) and (index == 0 or _same_line(lines[following], text))
        following += is_line
        matched.append((text, is_line))
    return matched


def _same_line(line: str, text: str) -> bool:
    return " ".join(line.split()) == " ".join(text.split()) or line.strip().partition("(")[0] == text
