"""Reads the files that state starts from: YAML or JSON, as suite files are read."""

from pathlib import Path

from pytest_agentbench.core.errors import EnvironmentFaultError, SuiteError
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.spec.document import Document, read_json
from pytest_agentbench.spec.loading import read_yaml


def read_text(file: Path) -> str:
    """Give a UTF-8 file's text; raise `EnvironmentFaultError` naming the file where it cannot be read."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise EnvironmentFaultError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise EnvironmentFaultError(f"{file}: not UTF-8: {error}") from error


def parse(text: str, file: Path) -> JsonValue:
    """Parse JSON (by the suffix `.json`) or YAML; raise `EnvironmentFaultError` with file, line and column."""
    return parse_document(text, file).value


def parse_document(text: str, file: Path) -> Document:
    """Parse as `parse` does, and keep where everything stands."""
    try:
        return (read_json if file.suffix.lower() == ".json" else read_yaml)(text, file)
    except SuiteError as error:
        raise EnvironmentFaultError(str(error)) from None
