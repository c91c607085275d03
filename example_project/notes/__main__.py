"""The command `notes-agent`: ask a folder of notes, one question a line."""

import argparse
import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from notes import tools
from notes.agent import SettingsError, notes_agent
from notes.graph import draw
from notes.memory import ProfileError
from notes.vault import Vault, VaultError


def main(arguments: Sequence[str] | None = None) -> int:
    """Answer each line of the input; give 0, or 2 with a reason for what cannot be done."""
    options = _parser().parse_args(arguments)
    try:
        settings = {"model": options.model, "costs": options.costs, "profile": options.profile}
        agent = notes_agent(bound(Vault(options.vault)), base_url=options.base_url, **settings)
        if agent.memory and agent.memory.semantic.off:
            print(f"notes-agent: {agent.memory.semantic.off}", file=sys.stderr)  # noqa: T201 - a command prints
        for line in map(str.strip, sys.stdin):
            if line:
                print(_printable(agent.reply(line)["content"]), flush=True)  # noqa: T201 - same
        if options.graph and agent.memory:
            options.graph.write_text(draw(agent.memory.concepts), encoding="utf-8")
    except (VaultError, SettingsError, ProfileError, OSError) as error:
        print(f"notes-agent: {_printable(str(error))}", file=sys.stderr)  # noqa: T201 - same
        return 2
    return 0


def bound(vault: Vault) -> list[Callable[..., str]]:
    """Give the eight tools over a vault, as an agent gets them: without `state`."""
    members = inspect.getmembers(tools, inspect.isfunction)
    public = (tool for name, tool in members if tool.__module__ == tools.__name__ and name[0] != "_")
    return [_bound(tool, vault) for tool in public]


def _bound(tool: Callable[..., str], vault: Vault) -> Callable[..., str]:
    call = functools.wraps(tool)(functools.partial(tool, state=vault))
    shown = [one for one in inspect.signature(tool).parameters.values() if one.name != "state"]
    call.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    return call


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="notes-agent", description="Answers questions from a folder of notes.")
    parser.add_argument("vault", type=Path, help="folder of Markdown notes")
    parser.add_argument("--model", default="language-model", help="the model that plays every role")
    parser.add_argument("--base-url", default="", help="an OpenAI-compatible server; else OPENAI_BASE_URL, else OpenAI")
    parser.add_argument("--costs", default="", help="CSV file for the cost log")
    parser.add_argument("--profile", default="", help="JSON file that keeps the user's interests; delete it to forget")
    parser.add_argument("--graph", type=Path, help="HTML file to draw the concepts of the conversation in")
    return parser


def _printable(text: str) -> str:
    """Give text without control characters: notes may hold what moves a terminal's cursor."""
    return "".join(one if one.isprintable() or one == "\n" else "\N{REPLACEMENT CHARACTER}" for one in text)


if __name__ == "__main__":
    sys.exit(main())
