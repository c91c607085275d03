"""A hook of mkdocs: fences hold words by which tests run them (`yaml file=a.yaml needs=mcp`); the site drops these."""

import re
from typing import Any

_FENCE = re.compile(r"^```(\w+) ([^\n`]+)$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Give each fence its language alone, and the name of its file as a title."""
    return _FENCE.sub(_plain, markdown)


def _plain(fence: re.Match[str]) -> str:
    named = re.search(r"file=(\S+)", fence[2])
    return f"```{fence[1]}" + (f' title="{named[1]}"' if named else "")
