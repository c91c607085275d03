"""Files as documents: bytes become text, text becomes YAML, JSON or JSON lines."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_agentbench.core.errors import Problem, SuiteError
from pytest_agentbench.core.misfit import Keys
from pytest_agentbench.core.written import read_form
from pytest_agentbench.spec.document import Document
from pytest_agentbench.spec.json_text import read_json
from pytest_agentbench.spec.yaml_text import read_yaml

YAML_SUFFIXES = frozenset({".yaml", ".yml"})


def read_document(file: Path) -> Document:
    """Read a `.json` file as JSON and any other as YAML; raise `SuiteError` on whatever is wrong with it."""
    text = read_text(file)
    return read_json(text, file) if file.suffix.lower() == ".json" else read_yaml(text, file)


def read_part(document: Document, kind: Any, path: Keys = ()) -> Any:
    """Give what stands at `path` of a document as a model or a type; raise `SuiteError` with all that does not fit."""
    value = document.value
    for step in path:
        value = value[step]
    found, wrong = read_form(value, kind, path)
    if wrong:
        raise SuiteError([document.problem(one.path, one.message, one.hint, at_key=one.at_key) for one in wrong])
    return found


def read_lines(file: Path) -> Iterator[tuple[int, str]]:
    """Give (line number from 1, text) of each line that is not blank, without holding the whole file."""
    try:
        with file.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                data = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
                if data.strip():
                    yield number, _decode(data, file, first_line=number)
    except OSError as error:
        raise _unreadable(file, error) from None


def read_text(file: Path) -> str:
    """Read UTF-8 text, a byte order mark dropped; raise `SuiteError` on other encodings, NUL bytes, empty files."""
    try:
        data = file.read_bytes()
    except (OSError, ValueError) as error:
        raise _unreadable(file, error) from None
    text = _decode(data.removeprefix(b"\xef\xbb\xbf"), file, first_line=1)
    if not text.strip():
        raise SuiteError([Problem(file=file, message="the file is empty")])
    return text


def _decode(data: bytes, file: Path, *, first_line: int) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SuiteError([Problem(file=file, line=first_line, column=1, message="the file is UTF-16, not UTF-8")])
    nul = data.find(b"\0")
    if nul >= 0:
        raise SuiteError([_at(data, nul, file, first_line, "the file holds a NUL byte: it is not text")])
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"byte 0x{data[error.start]:02x} is not UTF-8: save the file as UTF-8"
        raise SuiteError([_at(data, error.start, file, first_line, message)]) from None


def _at(data: bytes, offset: int, file: Path, first_line: int, message: str) -> Problem:
    line = first_line + data.count(b"\n", 0, offset)
    column = offset - (data.rfind(b"\n", 0, offset) + 1) + 1
    return Problem(file=file, line=line, column=column, message=message)


def _unreadable(file: Path, error: Exception) -> SuiteError:
    reason = getattr(error, "strerror", None) or str(error)
    return SuiteError([Problem(file=file, message=f"the file cannot be read: {reason}")])
