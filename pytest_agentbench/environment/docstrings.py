"""What a docstring says about a function and its parameters: Google, NumPy, Sphinx and Epydoc styles."""

import inspect
from functools import lru_cache


@lru_cache(maxsize=1_000)
def split_docstring(text: str | None) -> tuple[str, dict[str, str]]:
    """Give the description (without sections) and {parameter: its text}; whoever reads the text changes neither."""
    if not text or not text.strip():
        return "", {}
    import docstring_parser  # noqa: PLC0415 - only suites with Python tools need it

    try:
        read = docstring_parser.parse(text)
    except Exception:  # noqa: BLE001 - besides its ParseError, odd texts (`: :param`) make it raise whatever it trips over
        return inspect.cleandoc(text), {}
    parameters: dict[str, str] = {}
    for parameter in read.params:
        told = " ".join((parameter.description or "").split())
        for name in parameter.arg_name.split(","):  # NumPy describes several of one type at once
            parameters[name.strip().lstrip("*")] = told
    return (read.description or "").strip(), parameters
