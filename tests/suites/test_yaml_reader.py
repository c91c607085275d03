"""YAML as suites read it: YAML 1.2 scalars, places, and errors with places."""

from pathlib import Path

import pytest

from pytest_agentbench.core.errors import Problem, SuiteError
from pytest_agentbench.spec.loading import read_document, read_yaml
from tests.tables import each

FILE = Path("f.yaml")


def problem(text: str) -> Problem:
    """Give the only problem of a text."""
    with pytest.raises(SuiteError) as caught:
        read_yaml(text, FILE)
    (found,) = caught.value.problems
    return found


@each(
    ("text", "value"),
    [
        ("01234", "01234"),
        ("12:30", "12:30"),
        ("no", "no"),
        ("on", "on"),
        ("2024-01-02", "2024-01-02"),
        ("1_000", "1_000"),
        ("0o17", 15),
        ("0x1F", 31),
        ("-7", -7),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("-.inf", float("-inf")),
        ("~", None),
        ("", None),
        ("True", True),
        ("'5'", "5"),
        ("!!str 5", "5"),
        ("!!float 5", 5.0),
        ("! 5", "5"),
    ],
)
def test_scalars_are_those_of_yaml_1_2(text: str, value: object) -> None:
    """Scalars that YAML 1.1 turns into other things stay what they look like."""
    found = read_yaml(f"a: {text}\n", FILE).value["a"]
    assert found == value
    assert type(found) is type(value)


def test_keys_are_text() -> None:
    """A key that looks like a number or a boolean is the text that was written."""
    assert read_yaml("1: a\ntrue: b\n", FILE).value == {"1": "a", "true": "b"}


def test_every_part_has_a_place() -> None:
    """Places are 1-based and tell keys from values, however deep they stand."""
    document = read_yaml("a:\n  - x: {y: 1}\n    z:   [2, 3]\n", FILE)
    deep = document.place(("a", 0, "x", "y"))
    assert deep is not None
    assert (deep.key_line, deep.key_column, deep.line, deep.column) == (2, 9, 2, 12)
    last = document.place(("a", 0, "z", 1))
    assert last is not None
    assert (last.line, last.column) == (3, 14)
    assert document.place(("a", 0, "nothing")) == document.place(("a", 0))


def test_aliases_repeat_a_value() -> None:
    """An alias stands for the value of its anchor."""
    assert read_yaml("a: &x {k: 1}\nb: *x\n", FILE).value == {"a": {"k": 1}, "b": {"k": 1}}


def test_a_billion_laughs_are_refused() -> None:
    """Aliases of aliases end before they fill the memory."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    assert "aliases repeat more than" in problem("\n".join(lines)).message


@each("text", ["[" * 10_000, "- " * 10_000, "{a: " * 10_000])
def test_deep_nesting_is_refused(text: str) -> None:
    """Nesting that would exhaust the stack is an error with a place."""
    found = problem(text)
    assert "nested deeper than 100 levels" in found.message
    assert found.line == 1


@each(
    ("text", "line", "column", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, 1, "the key 'a' is repeated, first on line 1"),
        ("a: [1\n", 2, 1, "the [ that opens on line 1, column 4 is not closed before the end of the file"),
        ("a: [x, {b: c}\nd: {e: 1}\n", 2, 1, "the [ that opens on line 1, column 4 is not closed before 'd: {e: 1}'"),
        ("- a: {b: 1\n  c: [x]\n", 2, 4, "the { that opens on line 1, column 6 is not closed before 'c: [x]'"),
        ("a: {b: [x}]\n", 1, 10, "the [ that opens on line 1, column 8 is not closed before '}]'"),
        ("a: *b\n", 1, 4, "the alias *b has no anchor before it"),
        ("a: &b [*b]\n", 1, 8, "the alias *b contains itself"),
        ("a: !!python/object:os.system x\n", 1, 4, "the tag '!!python/object:os.system' does not fit here"),
        ("a: !!int x\n", 1, 4, "the tag '!!int' does not fit here"),
        ("a: 1\n---\nb: 2\n", 2, 1, "a second document begins here"),
        ("a: {x: 1}\n<<: {y: 2}\n", 2, 1, "'<<' is not supported"),
        ("? [a]\n: b\n", 1, 3, "a key must be plain text"),
        ("a: " + "1" * 5000, 1, 4, "this number has too many digits"),
        ("a:\n\t- x\n", 2, 1, "this is not YAML"),
        ('a: 1\nb: "x\nc: 2\n', 2, 4, "this is not YAML: while scanning a quoted scalar"),
    ],
)
def test_what_is_not_read_says_where_and_why(text: str, line: int, column: int, message: str) -> None:
    """Each fault has its place and a message."""
    found = problem(text)
    assert message in found.message
    assert (found.line, found.column) == (line, column)


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("a:\n  - x\n - y\n", "check the indentation"),
        ("a:\n  - x: 1\n    y: 2\n   z: 3\n", "check the indentation"),
        ("a:\n\t- x\n", "indent with blanks, no tabs"),
        ("a: b: c\n", "put a text that holds a colon in quotes"),
        ("a: [b\n", "write ] where it ends, or a comma before its next entry"),
        ("a: {b: [x}]\n", "} closes another bracket: remove it, or write ] before it"),
    ],
)
def test_what_the_parser_says_has_a_cure(text: str, cure: str) -> None:
    """Its words alone tell nobody what to change."""
    assert cure in problem(text).hint


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a: \xff\n", "byte 0xff is not UTF-8"),
        (b"a: \0\n", "NUL byte"),
        (b"", "the file is empty"),
        (b" \n\n", "the file is empty"),
        ("a: 1".encode("utf-16"), "UTF-16"),
        (b"a: \x01\n", "this is not YAML"),
    ],
)
def test_bytes_that_are_not_text_are_readable_errors(tmp_path: Path, data: bytes, message: str) -> None:
    """Encodings other than UTF-8, control bytes and empty files are refused in words."""
    file = tmp_path / "f.yaml"
    file.write_bytes(data)
    with pytest.raises(SuiteError, match=message):
        read_document(file)


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    """A UTF-8 file with a byte order mark reads like one without."""
    file = tmp_path / "f.yaml"
    file.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read_document(file).value == {"a": 1}


def test_a_missing_file_is_a_readable_error(tmp_path: Path) -> None:
    """A file that is not there is refused in words."""
    with pytest.raises(SuiteError, match="cannot be read: No such file"):
        read_document(tmp_path / "none.yaml")
