"""Notes are taken apart by a real parser, whatever they hold."""

import sysconfig
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from notes.library import Passage
from notes.markdown import parse
from notes.statements import statements

INSTALLED = sorted(Path(sysconfig.get_path("purelib")).rglob("*.md"))[:120]
"""Documentation that came with packages: nobody here wrote it. The benchmark takes thousands of files."""


def headings(text: str) -> list[tuple[int, int]]:
    """Give (line, level) of each top-level heading by the parser's own tokens."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    return [(t.map[0] + 1, int(t.tag[1:])) for t in tokens if t.type == "heading_open" and t.level == 0 and t.map]


@pytest.mark.skipif(not INSTALLED, reason="no package here brings Markdown")
def test_structure_is_that_of_the_parser_on_markdown_nobody_here_wrote():
    """Same headings in the same lines; sections are in order, inside the note, and cover it without overlap."""
    for file in INSTALLED:
        text = file.read_bytes().decode("utf-8", "replace")
        document = parse(text)
        if not document.front_matter:
            assert [(one.line, one.level) for one in document.headings] == headings(text), file
        covered = [line for leaf in document.leaves for line in range(leaf.line, leaf.end + 1)]
        assert covered == list(range(1, len(document.lines) + 1)), file


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(
                ["# a", "## b", "a\n===", "- x", "1. y", "```", "~~~", "---", "**t**", "#t u", "| a | b |", "|---|---|"]
            ),
            st.sampled_from(["> q", "    code", "[[l]]", "![i](p)", "<div>", "", "[a]: b", "\\", "\ufeff", "\r"]),
            st.text(max_size=12),
        ),
        max_size=25,
    ).map("\n".join)
)
@example("---\nkey: value\n---\n# t")
@example("---\n---\n")
@example("**a**\n**b**")
def test_any_text_is_taken_apart(text):
    """Nothing raises, sections stay inside the note and leaves cover it."""
    document = parse(text)

    count = len(document.lines)
    for section in document.sections:
        assert 1 <= section.line <= section.end <= count
    covered = [line for leaf in document.leaves for line in range(leaf.line, leaf.end + 1)]
    assert covered == list(range(1, count + 1))
    for one in statements(Passage(path="a.md", first=1, title="", lines=document.lines)):
        assert 1 <= one.line <= one.end <= count
    assert all(1 <= link.line <= count for link in document.links)


def test_links_of_every_kind_with_their_lines():
    """Markdown links, references, wiki links and images; what stands in code is none."""
    text = "a [one](b%20c.md#part) and\n[[Two#Part|two]] ![alt](p.png) `[[no]]`\n\n"
    text += "```\n[[no]]\n```\n\n[three][r]\n\n[r]: d.md"

    found = [(link.kind, link.target, link.part, link.line) for link in parse(text).links]

    assert found == [
        ("link", "b c.md", "part", 1),
        ("image", "p.png", "", 2),
        ("wiki", "Two", "Part", 2),
        ("link", "d.md", "", 8),
    ]


def test_front_matter_is_a_section_and_no_heading():
    """Only what looks like fields counts: a rule at the top does not swallow the text."""
    assert [s.kind for s in parse("---\ntitle: x\n---\n# t\n").sections] == ["front", "heading"]
    assert [s.title for s in parse("---\nJust text.\n\n---\n# t\n").headings] == ["t"]


def test_a_long_stretch_under_one_heading_is_cut_into_blocks():
    """A single title over hundreds of lines would make every section the whole note."""
    text = "# Title\n\n" + "\n\n".join(f"Paragraph {number} says something." for number in range(40))

    assert len(parse(text).sections) == 41
    assert len(parse("# Title\n\nShort.\n").sections) == 1


@pytest.mark.parametrize(
    "text",
    ["> " * 5_000, "[" * 20_000, "*" * 20_000, "- " * 3_000, "`" * 20_000, "|" * 20_000, "[a](" * 5_000, "\n" * 50_000],
    ids=["quotes", "brackets", "stars", "lists", "ticks", "bars", "links", "blanks"],
)  # fmt: skip
def test_hostile_text_takes_bounded_time(text):
    """Nothing a note can hold keeps the agent busy."""
    begun = time.process_time()

    document = parse(text)
    statements(Passage(path="a.md", first=1, title="", lines=document.lines))
    assert document.sections is not None
    assert document.links is not None

    assert time.process_time() - begun < 5
