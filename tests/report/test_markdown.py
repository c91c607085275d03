"""The Markdown report: short, the worst first, and nothing in it that an agent could have written as markup."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.core.text import printable
from pytest_agentbench.core.verdict import Finding
from pytest_agentbench.report.markdown import code, markdown_report
from tests.results.make import document, result, support_runs, unconfirmed
from tests.tables import each

MARKDOWN = pytest.importorskip("markdown_it")


def tokens(text: str) -> list:
    """Parse as GitHub does, inline tokens in place."""
    parser = MARKDOWN.MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough")
    return [one for token in parser.parse(text) for one in (token, *(token.children or ()))]


def test_it_says_the_result_then_gates_then_the_worst() -> None:
    """What decides comes first."""
    text = markdown_report(document(support_runs(), gates=["success >= 0.95"]))
    lines = text.splitlines()

    assert (
        lines[0]
        == "### ❌ agentbench `support`: 22 of 24 passed, 11 with something not measured (92 %, 95 % CI 74–98 %)"
    )
    assert any(line.startswith("| `policy be-polite` | 11 | `it has no rule` |") for line in lines)
    assert "| `be-polite` | – (12 not measured) | – | – |" in lines
    assert "| ❌ | `success >= 0.95` | `0.92 < 0.95` | 24 | 61 % |" in lines
    assert text.index("success >= 0.95") < text.index("#### Worst first (2 failed)") < text.index("By policy")
    assert text.index("two-orders-one-card") < text.index("exchange-after-window")
    assert "| `user-lost` | user | `STALLED: the scripted user cannot answer: 'Which colour?'` |" in lines


def test_a_passing_session_is_short() -> None:
    """Nothing is said of failures, and the tables are folded."""
    text = markdown_report(document([result(f"case-{number}") for number in range(40)]))

    assert text.startswith("### ✅ agentbench `support`: 40 of 40 passed (100 %")
    assert "Worst" not in text
    assert len(text) < 500


def test_changes_against_a_baseline_stand_above_failures() -> None:
    """What passes less often comes before what passes more often."""
    before = document([result(f"case-{number}", verdict="failed" if number == 1 else "passed") for number in range(12)])
    after = document([result(f"case-{number}", verdict="failed" if number > 3 else "passed") for number in range(12)])

    text = markdown_report(after, baseline=before)

    assert "92 % → 33 % over 12 scenarios (-58 points" in text
    assert text.index("| worse | `case-10` | 1/1 → 0/1 |") < text.index("| better | `case-1` | 0/1 → 1/1 |")
    assert text.index("#### Against the baseline") < text.index("#### Worst first")


@given(text=st.text(st.characters(codec=None) | st.sampled_from("`|\\<>&[]()!*_~#@:\n"), min_size=1))
def test_any_text_is_one_code_span_in_its_cell(text: str) -> None:
    """Neither backticks nor bars nor backslashes get out of it, and it reads as it was."""
    shown = code(text)
    if not shown:
        return

    parsed = tokens(f"| a | b |\n| --- | --- |\n| {shown} | end |\n")

    spans = [token.content for token in parsed if token.type == "code_inline"]
    assert len(spans) == 1
    assert [token.content for token in parsed if token.type == "text"] == ["a", "b", "end"]
    assert spans[0].replace("∖", "\\") == printable(text).strip().replace("∖", "\\")


HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "![x](http://evil.example)",
    "@everyone #1",
    "a|b",
    "</details>",
    "``` `",
    "\n# x",
)


@each("text", HOSTILE)
def test_hostile_texts_are_no_markup(text: str) -> None:
    """In names, findings, policies, tags and reasons they are code; the page's own elements are all there is."""
    told = Finding(check=f"policy:{text}", kind="policy", policy=text, passed=False, message=text, turn=1)
    runs = [
        result(f"a{text}", "failed", findings=(told,), tags=(text,), listed_policies=(text,), variant=text),
        result(f"b{text}", "error", "user", stop_reason=text, termination=None),
    ]

    before = document([result(f"a{text}", variant=text)])

    parsed = tokens(markdown_report(document(runs), baseline=before))

    markup = [token.content.strip() for token in parsed if token.type.startswith("html")]
    assert all(one.startswith(("<details", "</details>")) for one in markup)
    assert not [token for token in parsed if token.type in ("link_open", "image", "em_open", "strong_open")]
    assert [token.tag for token in parsed if token.type == "heading_open"] == ["h3", "h4", "h4", "h4"]
    assert "evil" not in "".join(token.content for token in parsed if token.type == "text")


def test_the_name_of_one_of_several_variants_stays_on_its_line() -> None:
    """Also where results of somebody else hold one that no suite could have."""
    text = markdown_report(document([result("a", variant="first"), result("a", variant="\x1b[31m\n# second")]))

    assert "\x1b" not in text
    assert "\n# second" not in text


def test_it_never_grows_past_what_github_takes() -> None:
    """Whole sections are left out from the end, and that is said."""
    runs = [unconfirmed(f"case-{number}-{'x' * 100}", tags=(f"tag-{number}",)) for number in range(400)]

    text = markdown_report(document(runs), limit=5_000)

    assert len(text) <= 5_000
    assert "The rest is left out to fit" in text
    assert "Worst first (400 failed)" in text
