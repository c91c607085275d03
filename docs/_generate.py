"""Write what the code knows into the documentation: the options of pytest and of the commands, and `llms.txt`.

Run `python docs/_generate.py` after an option, a command or a page changed; `tests/docs/test_generated.py` says when.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

from pytest_agentbench.cli import main

DOCS = Path(__file__).resolve().parent
CLI = DOCS / "reference" / "cli.md"
LLMS = DOCS / "llms.txt"
WIDE = {"COLUMNS": "1000", "NO_COLOR": "1"}
"""Variables under which no line of a help text is folded or coloured."""

_OPTION = re.compile(r"^  (?:-\w(?: \S+)?, )?(--[\w-]+)(?:[ =](\S.*?))?(?:  +(.*))?$")
_COMMAND = re.compile(r"^  +([a-z][\w-]*)  +(.*)$")


def write() -> None:
    """Write both files."""
    CLI.write_text(with_tables(CLI.read_text(encoding="utf-8")), encoding="utf-8")
    LLMS.write_text(llms(), encoding="utf-8")


def with_tables(page: str) -> str:
    """Give the page on the command line with its tables as they should be."""
    for name, rows in (("options of pytest", pytest_options()), ("commands", commands())):
        start, end = f"<!-- generated: {name} -->", "<!-- end -->"
        before, _, rest = page.partition(start)
        page = before + start + "\n" + "\n".join(rows) + "\n" + end + rest.partition(end)[2]
    return page


def pytest_options() -> list[str]:
    """Give a row for each option that the plugin adds to pytest."""
    rows = ["| option | |", "|---|---|"]
    for line in whole_lines(pytest_help()):
        found = _OPTION.match(line)
        if found and found[1].startswith("--agentbench"):
            value = f" {found[2].strip('{}')}" if found[2] else ""
            rows.append(f"| `{found[1]}{value}` | {found[3]} |".replace("NAME]|all", "NAME]\\|all"))
    return rows


def commands() -> list[str]:
    """Give a row for each command: what it does, and the options that it has."""
    rows = ["| command | | options |", "|---|---|---|"]
    for line in agentbench("--help"):
        if found := _COMMAND.match(line):
            name, purpose = found[1], found[2]
            options = [one[1] for one in map(_OPTION.match, agentbench(name, "--help")) if one]
            shown = " ".join(f"`{option}`" for option in options if option not in ("--help", "--output"))
            rows.append(f"| `agentbench {name}` | {purpose} | {shown} |")
    return rows


def llms() -> str:
    """Give the list of pages, in the order of the site, with the first sentence of each."""
    site = yaml.safe_load((DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8"))
    lines = [f"# {site['site_name']}", "", f"> {site['site_description']}"]
    for entry in site["nav"]:
        [(section, inside)] = entry.items()
        lines += ["", f"## {section}", ""]
        for page in [inside] if isinstance(inside, str) else inside:
            title, sentence = opening((DOCS / page).read_text(encoding="utf-8"))
            address = page.removesuffix("index.md").replace(".md", "/") or "."
            lines.append(f"- [{title}]({address}): {sentence}")
    return "\n".join(lines) + "\n"


def opening(page: str) -> tuple[str, str]:
    """Give the title of a page, and the first sentence below it."""
    title, *paragraphs = page.split("\n\n")
    text = next(part for part in paragraphs if not part.startswith(("#", "|", "!", "`" * 3)))
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(text.split())).replace("**", "")
    return title.removeprefix("# "), re.split(r"(?<=[.?:]) (?=[A-Z`1])", plain)[0]


def agentbench(*arguments: str) -> list[str]:
    """Give the lines that the command prints."""
    printed = io.StringIO()
    before = {name: os.environ.get(name) for name in WIDE}
    os.environ.update(WIDE)
    try:
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            main(list(arguments))
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
    return whole_lines(printed.getvalue())


def pytest_help() -> str:
    """Give what `pytest --help` prints with our plugin and no other, nor this repository's `conftest.py`."""
    command = [sys.executable, "-m", "pytest", "-p", "agentbench", "--noconftest", "--help"]
    told = {**WIDE, "PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(  # noqa: S603 - our own program
        command, capture_output=True, text=True, check=True, env=os.environ | told, cwd=DOCS
    ).stdout


def whole_lines(text: str) -> list[str]:
    """Give the lines of a help text, none of them folded after a long name."""
    return re.sub(r"(?m)^(  +-?-?[\w-]+[^\n]{17,})\n {20,}", r"\1  ", text).splitlines()


if __name__ == "__main__":
    write()
