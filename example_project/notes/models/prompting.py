"""Prompts are template files; what others wrote is put between marks that nobody can guess from the text."""

import hashlib
import re
from functools import cache
from importlib.resources import files

_SLOT = re.compile(r"\{\{(\w+)\}\}")


def render(name: str, **values: str) -> str:
    """Fill the template `name` (such as `planner.v1`); raise `KeyError` for a slot without a value.

    The mark `nonce` depends on all values, so that the same request is the same text and no value can contain it.
    """
    joined = "\0".join(f"{key}={values[key]}" for key in sorted(values))
    nonce = f"<<{hashlib.sha256(joined.encode('utf-8', 'replace')).hexdigest()[:12]}>>"
    return _SLOT.sub(lambda slot: {**values, "nonce": nonce}[slot[1]], _template(name))


@cache
def _template(name: str) -> str:
    return (files("notes") / "models" / "prompts" / f"{name}.md").read_text(encoding="utf-8")
