"""Reads the files that state starts from: YAML whose scalars are text unless they are plainly something else, or JSON.

YAML 1.1 would turn `01234` into 668, `12:30` into 750, `no` into False and dates into dates, and drop duplicate keys.
"""

import json
import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from pytest_agentbench.core.errors import EnvironmentFaultError


def read_text(file: Path) -> str:
    """Give a UTF-8 file's text; raise `EnvironmentFaultError` naming the file where it cannot be read."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise EnvironmentFaultError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise EnvironmentFaultError(f"{file}: not UTF-8: {error}") from error


def parse(text: str, file: Path) -> Any:
    """Parse JSON (by the suffix `.json`) or YAML; raise `EnvironmentFaultError` with file, line and column."""
    try:
        if file.suffix.lower() == ".json":
            return json.loads(text, object_pairs_hook=_unique)
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader subclass
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{file}:{mark.line + 1}:{mark.column + 1}" if mark else str(file)
        raise EnvironmentFaultError(f"{place}: {error.problem}") from error
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        raise EnvironmentFaultError(f"{file}: {error}") from error


class _Loader(yaml.SafeLoader):
    """YAML 1.2 core scalars, except that a number with a leading zero stays text; duplicate keys are errors."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Build a mapping with text keys."""
        result: dict[Hashable, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a key must be a text", key_node.start_mark)
            key = str(key_node.value)
            if key in result:
                raise yaml.constructor.ConstructorError(None, None, f"duplicate key {key!r}", key_node.start_mark)
            result[key] = self.construct_object(value_node, deep=True)
        return result


def _int(_loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    return int(node.value, 0)


def _float(_loader: yaml.SafeLoader, node: yaml.ScalarNode) -> float:
    text = node.value.lower()
    return float(text.replace(".", "") if text.endswith(("inf", "nan")) else text)


def _bool(_loader: yaml.SafeLoader, node: yaml.ScalarNode) -> bool:
    return bool(node.value.lower() == "true")


def _null(_loader: yaml.SafeLoader, _node: yaml.ScalarNode) -> None:
    return None


_SCALARS = (
    ("null", r"~|null|Null|NULL|", _null, ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", _bool, list("tTfF")),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+", _int, list("-+0123456789")),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        _float,
        list("-+0123456789."),
    ),
)
for _name, _pattern, _construct, _first in _SCALARS:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(f"^(?:{_pattern})$"), _first)
    _Loader.add_constructor(f"tag:yaml.org,2002:{_name}", _construct)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ValueError(f"duplicate key {key!r}")
        result[key] = value
    return result
