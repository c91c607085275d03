"""What an MCP tool answers keeps its structure: a list stays one, however the server spread it."""

from typing import Any

from pytest_agentbench.environment.mcp_server import result_of
from tests.tables import each

W1, W2 = '{"id": "W1"}', '{"id": "W2"}'


@each(
    ("texts", "structured", "content"),
    [
        ([W1, W2], {"result": [{"id": "W1"}, {"id": "W2"}]}, '[{"id":"W1"},{"id":"W2"}]'),
        ([W1], {"result": [{"id": "W1"}]}, '[{"id":"W1"}]'),
        ([], {"result": []}, "[]"),
        (["W1", "W2"], {"result": ["W1", "W2"]}, '["W1","W2"]'),
        (["1", "2"], {"result": [1, 2]}, "[1,2]"),
        (["1", "2"], {"result": ["1", "2"]}, '["1","2"]'),
        ([W1, W2], None, '[{"id":"W1"},{"id":"W2"}]'),
        (["Found:", W1], None, f"Found:\n{W1}"),
        (["1", "2"], None, "1\n2"),
        ([W1], None, W1),
        ([W1], {"id": "W1"}, W1),
        (["shipped"], {"result": "shipped"}, "shipped"),
        (["2 orders"], {"orders": [{"id": "W1"}, {"id": "W2"}]}, '2 orders\n{"orders":[{"id":"W1"},{"id":"W2"}]}'),
        (['{"orders": []}'], {"orders": []}, '{"orders": []}'),
    ],
)
def test_lists_keep_their_elements(texts: list[str], structured: Any, content: str) -> None:
    """One element is a list of one, none is an empty list; text that is no list is left as it is."""
    answer: dict[str, Any] = {"content": [{"type": "text", "text": text} for text in texts]}
    if structured is not None:
        answer["structuredContent"] = structured

    assert result_of(answer).content == content
