"""The command `notes-agent`: ask a vault one question, talk with it, see what a conversation was about."""

import argparse
import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from notes import tools
from notes.agent import NotesAgent
from notes.graph import draw
from notes.library import Tool
from notes.llm import model_agent
from notes.memory.profile import Profile, ProfileError, erase
from notes.models.costs import CostLog
from notes.settings import Settings, SettingsError, read_settings
from notes.vault import Vault, VaultError

WORKERS = 4
"""Sub-tasks at one time: nobody compares the order of calls of two conversations here."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and give its exit status: 0, or 2 with a reason for what cannot be done."""
    options = _parser().parse_args(arguments)
    try:
        for line in options.run(options):
            print(_printable(line), flush=True)  # noqa: T201 - a command prints
    except (VaultError, SettingsError, ProfileError, ImportError, OSError) as error:
        print(f"notes-agent: {_printable(str(error))}", file=sys.stderr)  # noqa: T201 - same
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def entry() -> None:
    """Run the command and leave with its status."""
    sys.exit(main())


def bound_tools(vault: Vault) -> list[Tool]:
    """Give the eight tools over a vault, as an agent gets them."""
    members = [value for name, value in vars(tools).items() if inspect.isfunction(value) and name[0] != "_"]
    return [_bound(tool, vault) for tool in members if tool.__module__ == tools.__name__]


def _bound(tool: Callable[..., str], vault: Vault) -> Tool:
    return functools.wraps(tool)(functools.partial(tool, state=vault))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="notes-agent", description="Answers questions from a folder of notes.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    ask = commands.add_parser("ask", help="answer one question")
    chat = commands.add_parser("chat", help="talk; an empty line or the end of input ends it")
    graph = commands.add_parser("graph", help="draw the concepts of a conversation as one HTML file")
    for command in (ask, chat, graph):
        command.add_argument("vault", type=Path, help="folder of Markdown notes")
        command.add_argument("--config", help="YAML file of settings")
        command.add_argument("--costs", help="CSV file for the cost log")
        command.add_argument("--profile", help="JSON file that keeps the user's interests")
        command.add_argument("--base-url", help="an OpenAI-compatible server; without it rules play every role")
        command.add_argument("--model", default="", help="the model that plays the roles, with --base-url")
    ask.add_argument("question")
    graph.add_argument("--questions", type=Path, required=True, help="file with one question a line")
    graph.add_argument("-o", "--output", type=Path, required=True, help="HTML file to write")
    profile = commands.add_parser("profile", help="show or erase what is remembered about the user")
    profile.add_argument("action", choices=["show", "erase"])
    profile.add_argument("--profile", type=Path, required=True, help="its JSON file")
    ask.set_defaults(run=_ask)
    chat.set_defaults(run=_chat)
    graph.set_defaults(run=_graph)
    profile.set_defaults(run=_profile)
    return parser


def _agent(options: argparse.Namespace) -> NotesAgent:
    given = {name: value for name in ("costs", "profile") if (value := getattr(options, name))}
    settings = read_settings(options.config, **{"workers": WORKERS, **given})
    bound = bound_tools(Vault(options.vault))
    if options.base_url:
        return model_agent(bound, settings, base_url=options.base_url, model=options.model)
    return NotesAgent(bound, settings, log=_log(settings))


def _log(settings: Settings) -> CostLog:
    return CostLog(file=Path(settings.costs) if settings.costs else None)


def _ask(options: argparse.Namespace) -> Iterable[str]:
    yield _agent(options).reply(options.question)


def _chat(options: argparse.Namespace) -> Iterable[str]:
    agent = _agent(options)
    for line in sys.stdin:
        if not line.strip():
            return
        yield agent.reply(line.strip())


def _graph(options: argparse.Namespace) -> Iterable[str]:
    agent = _agent(options)
    if agent.memory is None:
        raise SettingsError("memory is false in the configuration: there are no concepts to draw")
    for line in options.questions.read_text(encoding="utf-8").splitlines():
        if line.strip():
            agent.reply(line.strip())
    options.output.write_text(draw(agent.memory.conceptual), encoding="utf-8")
    yield f"{options.output}: {len(agent.memory.conceptual.frequency)} concepts"


def _profile(options: argparse.Namespace) -> Iterable[str]:
    if options.action == "erase":
        yield "erased" if erase(options.profile) else "there was none"
    else:
        yield Profile.load(options.profile).text()


def _printable(text: str) -> str:
    """Give text without control characters: notes may hold what moves a terminal's cursor."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)
