"""What a docstring says about a function and its parameters: Google, NumPy and Sphinx styles."""

import inspect
import re

_SECTION = re.compile(
    r"^(Args|Arguments|Parameters|Params|Returns|Return|Raises|Yields|Examples?|Notes?|See Also):?\s*$", re.IGNORECASE
)
_PARAMETERS = ("args", "arguments", "parameters", "params")
_GOOGLE = re.compile(r"^(\s*)\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_NUMPY = re.compile(r"^(\w+)\s*(?::.*)?$")
_SPHINX = re.compile(r"^\s*:(?:param|parameter|arg|argument)\s+(?:[^:]*\s)?(\w+)\s*:\s*(.*)$")
_SPHINX_FIELD = re.compile(r"^\s*:(?:param|parameter|arg|argument|type|returns?|rtype|raises?)\b")


def split_docstring(text: str | None) -> tuple[str, dict[str, str]]:
    """Give the description (without sections) and {parameter: its text}."""
    description: list[str] = []
    parameters: dict[str, str] = {}
    section: list[str] | None = None
    sections: list[tuple[str, list[str]]] = []
    current = ""
    for line in inspect.cleandoc(text or "").splitlines():
        heading = _SECTION.match(line)
        sphinx = _SPHINX.match(line)
        if heading:
            section = []
            current = ""
            sections.append((heading.group(1).lower(), section))
        elif sphinx:
            current = sphinx.group(1)
            parameters[current] = sphinx.group(2)
            section = []
        elif _SPHINX_FIELD.match(line):
            current, section = "", []
        elif current and line.strip():
            parameters[current] = f"{parameters[current]} {line.strip()}".strip()
        elif section is not None:
            section.append(line)
        else:
            description.append(line)
    for name, lines in sections:
        if name in _PARAMETERS:
            parameters.update(_numpy(lines) if lines and set(lines[0].strip()) == {"-"} else _google(lines))
    return "\n".join(description).strip(), parameters


def _google(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    name, depth = "", -1
    for line in lines:
        entry = _GOOGLE.match(line)
        if entry and (depth < 0 or len(entry.group(1)) <= depth):
            depth, name = len(entry.group(1)), entry.group(2)
            found[name] = entry.group(3).strip()
        elif name and line.strip():
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found


def _numpy(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    name = ""
    for line in lines[1:]:
        entry = _NUMPY.match(line)
        if entry:
            name = entry.group(1)
            found[name] = ""
        elif name and line.strip():
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found
