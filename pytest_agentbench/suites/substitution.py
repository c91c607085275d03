"""`${VAR}` in texts of suite and scenario files: values of the process environment."""

import re
from collections.abc import Mapping
from dataclasses import replace

from pytest_agentbench.core.errors import Problem
from pytest_agentbench.core.json_values import JsonValue, with_texts
from pytest_agentbench.core.misfit import Keys
from pytest_agentbench.core.names import suggestion
from pytest_agentbench.spec.document import Document

_VARIABLE = re.compile(r"(\$?)\$\{([^}]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")

_IDENTIFIED = frozenset({"scenarios", "policies", "rubric", "criteria"})
"""What has ids of its own; an `id` elsewhere, such as in the arguments of a call, is a value like any other."""

_SHORTEST_SECRET = 3
"""Shorter values are not masked in messages: they would blot out half the text."""


class Substitution:
    """Replaces variables document by document, and remembers the values (`secrets`) and what was wrong."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._used: dict[str, str] = {}
        self.problems: list[Problem] = []

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values put in so far, in the order of their names."""
        return tuple(dict.fromkeys(value for _, value in sorted(self._used.items()) if value))

    def apply(self, document: Document) -> Document:
        """Give the document with every `${VAR}` replaced; `$${` stands for a literal `${`."""
        return replace(document, value=self._value(document.value, document, ()))

    def mask(self, value: JsonValue) -> JsonValue:
        """Give `value` with the secrets in its texts replaced by the variables they came from."""
        longest_first = sorted(self._used.items(), key=lambda pair: -len(pair[1]))

        def masked(text: str) -> str:
            for name, secret in longest_first:
                if len(secret) >= _SHORTEST_SECRET:
                    text = _masked(text, secret, f"${{{name}}}")
            return text

        return with_texts(value, masked)

    def mask_problem(self, problem: Problem) -> Problem:
        """Give a problem that shows no secret."""
        return replace(problem, message=self.mask(problem.message), hint=self.mask(problem.hint))

    def _value(self, value: JsonValue, document: Document, path: Keys) -> JsonValue:
        if isinstance(value, str):
            return self._text(value, document, path) if "${" in value else value
        if isinstance(value, dict):
            return {key: self._value(item, document, (*path, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self._value(item, document, (*path, index)) for index, item in enumerate(value)]
        return value

    def _text(self, text: str, document: Document, path: Keys) -> str:
        def put(match: re.Match[str]) -> str:
            if match[1]:
                return match[0][1:]
            name = match[2]
            if _identifies(path):
                message = f"${{{name}}} in a name: it is written to every result, where values of variables are hidden"
                self.problems.append(document.problem(path, message, "spell it out, or write $${ for a literal ${"))
            elif not _NAME.match(name):
                message = f"${{{name}}} does not name a variable"
                self.problems.append(document.problem(path, message, "write $${ for a literal ${"))
            elif name not in self._environ and path[-1:] == ("api_key",):
                return match[0]  # whoever replays recorded answers needs no key
            elif name not in self._environ:
                message = f"the environment variable {name!r} is not set"
                hint = suggestion(name, self._environ) or "set it, or write $${ for a literal ${"
                self.problems.append(document.problem(path, message, hint))
            else:
                self._used[name] = self._environ[name]
                return self._environ[name]
            return match[0]

        return _VARIABLE.sub(put, text)


def _masked(text: str, secret: str, name: str) -> str:
    """Put a name in place of a secret, also where a message shows it in quotes, or cut it off (`…`)."""
    for form in dict.fromkeys((secret, repr(secret)[1:-1])):
        text = text.replace(form, name)
        first, *parts = text.split("…")
        for part in parts:
            shown = next((n for n in range(len(form), _SHORTEST_SECRET - 1, -1) if first.endswith(form[:n])), 0)
            first = f"{first[: len(first) - shown]}{name if shown else ''}…{part}"
        text = first
    return text


def _identifies(path: Keys) -> bool:
    """Whether a text is what results are filed under: the id of a scenario, policy or criterion, a suite's name."""
    return path == ("name",) or (
        path[-1:] == ("id",) and {part for part in path[:-1] if isinstance(part, str)} <= _IDENTIFIED
    )
