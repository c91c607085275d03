"""The script of a user: its lines with what they mean, which of them were said, and lines that call its own tools."""

import ast
from collections.abc import Callable, Iterable, Sequence

from pytest_agentbench.core.acts import ActKind, Line
from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.tool import ToolCall, ToolSpec
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.suites.language import Language
from pytest_agentbench.users.wants import codes_in

ANSWERS: frozenset[ActKind | None] = frozenset({"confirm", "decline"})
"""What answers a question for consent."""


def labelled(lines: Sequence[Line], language: Language) -> tuple[Line, ...]:
    """Give the lines with what they mean, as far as it can be told: the file's label, a plain yes or no, the request.

    The first line is a request. A line that as a whole is one of the language's phrases is a yes or a no. Any other
    stays as it is.
    """
    return tuple(_labelled(line, language, is_first=not at) for at, line in enumerate(lines))


def _labelled(line: Line, language: Language, *, is_first: bool) -> Line:
    if line.act is not None:
        return line
    if is_first:
        return line.model_copy(update={"act": "request"})
    answer = language.answer(line.text)
    if answer is None:
        return line
    return line.model_copy(update={"act": "confirm" if answer else "decline"})


def call_of(line: str, tools: Iterable[ToolSpec]) -> ToolCall | None:
    """Read a line such as `toggle_wifi(on=True)` as a call of the user's own tool; None where it is text.

    Only one of these tools and literal keyword arguments count.
    """
    names = {tool.name for tool in tools}
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


class Script:
    """The lines of one conversation; each is said once, answers when they are asked for, the others in order."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = tuple(lines)
        self._left = list(range(len(self.lines)))

    @property
    def left(self) -> tuple[Line, ...]:
        """The lines that were not said yet."""
        return tuple(self.lines[at] for at in self._left)

    def take(self) -> Line:
        """Say the next line."""
        return self.lines[self._left.pop(0)]

    def take_answer(self, fits: Callable[[tuple[object, ...]], bool]) -> Line | None:
        """Say the first confirm or decline line whose values fit the question, None where there is none.

        One with `about` may be asked for before lines that come first, unless they are labelled as another request,
        condition or withdrawal. One without belongs to the line before it, so it is said in its turn: its values are
        the ids of that line.
        """
        for place, at in enumerate(self._left):
            line = self.lines[at]
            about = line.about if line.about is not None else self._matter(at)
            if line.act in ANSWERS and (line.about or not place) and fits(about):
                del self._left[place]
                return line
            if line.act in ("request", "condition", "withdraw"):
                return None
        return None

    def _matter(self, at: int) -> tuple[object, ...]:
        """Give the ids of the closest line before an answer that has any, back to the answer before it."""
        for line in reversed(self.lines[:at]):
            if line.act in ANSWERS or (codes := codes_in(line.text)):
                return () if line.act in ANSWERS else tuple(codes.values())
        return ()

    def resume(self, messages: Sequence[Message]) -> None:
        """Take the lines that were said in messages which this script did not make as said; the first counts as one."""
        for number, message in enumerate(message for message in messages if message.role == "user"):
            said = plain(message.text or ",".join(call.name for call in message.tool_calls))
            for place, at in enumerate(self._left):
                text = plain(self.lines[at].text)
                if text == said or text.partition("(")[0] == said or (number == 0 and at == 0):
                    del self._left[place]
                    break
