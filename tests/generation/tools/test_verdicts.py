"""What answers mean, whatever their error flag says."""

from pytest_agentbench.generation.tools.data_types import Verdict
from pytest_agentbench.generation.tools.probing.verdicts import is_silent, judge
from pytest_agentbench.generation.tools.world import Answer
from tests.tables import each


@each(
    ("content", "verdict"),
    [
        ('{"id": 5}', "ok"),
        ("Done.", "ok"),
        ("Task '99' does not exist", "ok"),
        ("Aucune tâche.", "ok"),
        ('{"id": 1, "error": null}', "ok"),
        ('{"job": 7, "name": "nightly", "owner": "ada", "exit": 2, "error": "exit 2"}', "ok"),
        ('{"errors": [], "data": {"x": 1}}', "ok"),
        ("[0, 0]", "ok"),
        ("The book 'Error: a love story' is not available in print, but as an e-book.\nIt costs 5.", "ok"),
        ("Error: Task '99' not found", "refused"),
        ('{"result": "Error: Task 99 not found"}', "refused"),
        ("MCP error -32602: Invalid arguments for tool read_file", "refused"),
        ('{"success": false, "message": "no such order"}', "refused"),
        ('{"error": {"code": 404, "message": "unknown key"}}', "refused"),
        ('{"status": 404, "title": "Not Found"}', "refused"),
        ('{"detail": [{"loc": ["q"], "msg": "field required"}]}', "refused"),
        ('{"errors": ["a", "b"]}', "refused"),
        ('{"error": "HTTP 500: whatever"}', "broken"),
        ("Traceback (most recent call last):\n  File x", "broken"),
        ("{}", "empty"),
        ("null", "empty"),
        ("  ", "empty"),
        ("[]", "empty"),
        ('{"results": [], "total": 0}', "empty"),
        ("Error: HTTP 401: token expired", "environment"),
    ],
)
def test_an_answer_without_a_flag_is_judged_by_its_form(content: str, verdict: Verdict) -> None:
    """Failures that are reported as successes are failures, and emptiness is no success; sentences are not read."""
    assert judge(Answer(content=content)).verdict == verdict


@each(
    ("content", "verdict"),
    [
        ("HTTP 500: {}", "broken"),
        ("HTTP 422: q is too long", "refused"),
        ("Error: KeyError: 'W9'", "broken"),
        ("HTTP 403 Forbidden", "environment"),
        ("HTTP 503: try later", "environment"),
        ("Error: ConnectionRefusedError: [Errno 111]", "environment"),
        ("whatever", "refused"),
    ],
)
def test_a_flagged_failure_is_somebodys(content: str, verdict: Verdict) -> None:
    """The tool's own fault, the input's, or the environment's."""
    assert judge(Answer(content=content, error=True)).verdict == verdict


def test_silence_is_an_empty_answer_that_says_nothing() -> None:
    """An empty list says that there is nothing; an empty object says nothing."""
    assert is_silent("{}")
    assert is_silent("null")
    assert not is_silent("[]")
    assert not is_silent('{"results": []}')


def test_what_hangs_or_ends_is_broken() -> None:
    """No answer is no refusal."""
    assert judge(Answer(content="no answer within 1 s", error=True, hung=True)).verdict == "broken"
    assert judge(Answer(content="x", error=True, crashed=True)).verdict == "broken"
    assert judge(Answer(content="x", error=True, unreachable=True)).verdict == "environment"
