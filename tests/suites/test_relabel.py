"""A line of a script given its label in its file: only that line changes, or nothing does."""

import json
from pathlib import Path

import pytest

from pytest_agentbench.spec.loading import read_document
from pytest_agentbench.suites.relabel import ByHandError, write_act
from pytest_agentbench.suites.scenario_files import read_scenario_file

SAYS = ("says", 1)


def labelled(file: Path, path: tuple[str | int, ...] = SAYS) -> str:
    """Label a line *confirm*; give the file's new text."""
    write_act(read_document(file), path, "confirm")
    return file.read_bytes().decode("utf-8")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("- fine by me", '- {confirm: "fine by me"}'),
        ("-   fine by me   # as ever", '-   {confirm: "fine by me"}   # as ever'),
        ("- 'it''s fine'", "- {confirm: 'it''s fine'}"),
        ('- "fine: \\"yes\\""', '- {confirm: "fine: \\"yes\\""}'),
        ('- a "b" \\ c, {d}: e', None),  # a mapping, which is no plain line
        ('- a "b" \\ c, {d} e', '- {confirm: "a \\"b\\" \\\\ c, {d} e"}'),
        ("- fine\n    by me\n\n    so", '- {confirm: "fine\n    by me\n\n    so"}'),
        ("- 'fine\n    by me'", "- {confirm: 'fine\n    by me'}"),
        ("- !!str fine", "- {confirm: !!str fine}"),
        ("- &yes fine", '- {confirm: &yes fine}'),
        ("- été 😀 ?", '- {confirm: "été 😀 ?"}'),
        ("- &yes fine\ngoal: *yes", '- {confirm: &yes fine}\ngoal: *yes'),
    ],
)  # fmt: skip
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_only_the_line_changes(tmp_path: Path, written: str, expected: str | None, newline: str) -> None:
    """Quotes, comments, spaces, line ends and the byte order mark stay as they are."""
    file = tmp_path / "s.yaml"
    text = "\ufeff# my scenario\nid:   a\nsays:\n- Refund W1\n{}\nknows: {{a: 1}}  # end".replace("\n", newline)
    before = text.format(written.replace("\n", newline)).encode()
    file.write_bytes(before)

    if expected is None:
        with pytest.raises(ByHandError):
            labelled(file)
        assert file.read_bytes() == before
        return
    assert labelled(file) == text.format(expected.replace("\n", newline))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("says: [Refund W1, fine by me , Bye]", 'says: [Refund W1, {confirm: "fine by me"} , Bye]'),
        ("{id: a, says: [Refund W1, 'fine']}", "{id: a, says: [Refund W1, {confirm: 'fine'}]}"),
        ('says: ["a",\n  "b"\n]', 'says: ["a",\n  {confirm: "b"}\n]'),
    ],
)
def test_lists_in_brackets(tmp_path: Path, before: str, after: str) -> None:
    """The same, within a line."""
    file = tmp_path / "s.yaml"
    file.write_text(before)

    assert labelled(file) == after


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("says:\n- a\n- |\n  fine\n  by me\n", "it is a block of text"),
        ("says:\n- a\n- >-\n  fine\n", "it is a block of text"),
        ("goal: &yes fine\nsays: [a, *yes]\n", "more than this line would change"),
        ("old: &all [a, fine]\nsays: *all\n", "more than this line would change"),
    ],
)
def test_what_cannot_be_changed_is_left_alone(tmp_path: Path, text: str, why: str) -> None:
    """Blocks, aliases and tags are for people, who are told why."""
    file = tmp_path / "s.yaml"
    file.write_text(text)

    with pytest.raises(ByHandError, match=why):
        labelled(file)
    assert file.read_text() == text


def test_json_and_json_lines(tmp_path: Path) -> None:
    """JSON keeps its spaces, and other lines of a file of lines stay as they are."""
    one, lines = tmp_path / "s.json", tmp_path / "s.jsonl"
    one.write_text('[{"id": "a",\n  "says": ["x",  "f\\u00e9 \\"in\\"e" ]}]\n')
    lines.write_text('{"id": "a"}\n\n{"id" : "b", "says": ["x", "y"]}\r\n{"id": "c"}')

    assert labelled(one, (0, *SAYS)) == '[{"id": "a",\n  "says": ["x",  {"confirm": "f\\u00e9 \\"in\\"e"} ]}]\n'
    entry = next(one for one in read_scenario_file(lines) if one.value["id"] == "b")
    write_act(entry.document, (*entry.path, *SAYS), "decline")

    assert lines.read_bytes() == b'{"id": "a"}\n\n{"id" : "b", "says": ["x", {"decline": "y"}]}\r\n{"id": "c"}'


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path, suffix: str) -> None:
    """Somebody's editor saved it while we asked."""
    file = tmp_path / f"s{suffix}"
    file.write_text(json.dumps({"says": ["a", "fine"]}))
    document = read_document(file)
    for says in (["a", "new", "fine"], ["a"], {"b": 1}):
        changed = json.dumps({"says": says})
        file.write_text(changed)

        with pytest.raises(ByHandError, match="the file has changed"):
            write_act(document, SAYS, "confirm")
        assert file.read_text() == changed
