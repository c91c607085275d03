"""The command `agentbench`; each command is a module of this folder, loaded when it is asked for."""

import argparse
import io
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn, Protocol, cast

from pytest_agentbench import built_in

_EVERYDAY = {
    "init": "write a suite, a first scenario and a CI job for your agent",
    "doctor": "build a suite's agent, play a turn, and say what can be checked",
    "tools": "list the tools of a suite, as its module, service or server describes them",
    "generate": "write scenarios by a suite's recipe",
    "review": "accept, reject or edit generated scenarios, one after the other",
    "validate": "check a suite's scenarios without a model and without its agent",
    "explain": "say why a run of the last session did not pass, in words or as JSON",
    "report": "show the report of results files; several shards become one session",
    "compare": "compare two results files scenario by scenario",
    "import": "turn logs of other systems into a recorded suite, or into drafts of scenarios",
    "score": "score recorded conversations, however many, and report them",
    "proxy": "record, replay, count and bound the model calls of a program in any language",
    "schema": "print the JSON Schema of suite, scenario or results files",
    "completion": "print the script that completes names and options in bash, zsh or fish",
}
_RESEARCH = {
    "calibrate": "compare judges and rubrics with labelled conversations",
    "situations": "write labelled conversations of a suite, to calibrate judges on",
    **{name: purpose for name, (purpose, _) in built_in.COMMANDS.items()},
    "import-intellagent": "read IntellAgent's graphs, events, dialogues or results",
}
COMMANDS = {**_EVERYDAY, **_RESEARCH}
"""What each command is for, in one line; its module has the same name, `_` for `-`, or is named in `built_in`."""


INTERRUPTED = 130
"""The exit status after Ctrl-C, as shells have it: 128 and the signal's number."""

TERMINATED = 143
"""The exit status after SIGTERM, likewise."""

_MODULES = {"import": "import_logs"}
"""Modules that cannot have the name of their command."""


class Command(Protocol):
    """What the module of a command holds."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add what the command takes, and its description."""
        ...

    def run(self, options: argparse.Namespace) -> tuple[str, int]:
        """Do it: give what is printed, and the exit status."""
        ...


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; give its exit status.

    That is 0, 1 when what was asked for does not hold, 2 when the input is wrong, 130 after Ctrl-C. What a command says
    in `KEPT` is added then.
    """
    given = sys.argv[1:] if argv is None else list(argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a character that its encoding lacks, cp1252's for one, is escaped
            stream.reconfigure(errors="backslashreplace")
    command = _module(given[0]) if given and given[0] in COMMANDS else None
    try:
        options = _parser(given[0] if command else "", command).parse_args(given)
    except SystemExit as stop:  # argparse has printed usage or help
        return stop.code if isinstance(stop.code, int) else 2
    assert command is not None  # noqa: S101 - argparse has refused anything else

    from pytest_agentbench.core.errors import AgentBenchError  # noqa: PLC0415 - help and usage load nothing else
    from pytest_agentbench.core.text import printable  # noqa: PLC0415 - same

    status = 0
    # what code of the user's prints is no part of a document
    printing = redirect_stdout(sys.stderr) if getattr(options, "json", False) is True else nullcontext()
    try:
        with _ending_in_order(), printing:
            text, status = command.run(options)
        if options.output is None:
            print(text, flush=True)
        else:
            options.output.write_text(text + "\n", encoding="utf-8")
    except AgentBenchError as error:
        print(printable(str(error), newlines=True), file=sys.stderr)
        return 2
    except BrokenPipeError:  # whoever read it, such as `head`, has seen enough
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        return status
    except OSError as error:
        print(f"agentbench: {printable(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\nagentbench {given[0]}: interrupted{getattr(command, 'KEPT', '')}", file=sys.stderr)
        return INTERRUPTED
    return status


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """Let SIGTERM end a command by an exception, so that the servers that it started end with it."""

    def end(*_: object) -> NoReturn:
        raise SystemExit(TERMINATED)

    if threading.current_thread() is not threading.main_thread():  # no other may say what a signal does
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _module(name: str) -> Command:
    _, module = built_in.COMMANDS.get(name, ("", f"{__name__}.{_MODULES.get(name, name.replace('-', '_'))}"))
    return cast("Command", import_module(module))


def _parser(asked: str, command: Command | None) -> argparse.ArgumentParser:
    """Give a parser that knows every command by name, and the one asked for in full."""
    parser = _Parser(
        prog="agentbench",
        usage="agentbench [-h] [--version] COMMAND …",
        description=_listed("Work with agentbench suites and results.", _EVERYDAY, _RESEARCH),
        epilog="agentbench COMMAND --help shows the options of a command",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, help="print the version and exit")
    commands = parser.add_subparsers(
        prog="agentbench", dest="command", required=True, metavar="COMMAND", help=argparse.SUPPRESS
    )
    for name in COMMANDS:
        one = commands.add_parser(name)
        if command is not None and name == asked:
            _add_arguments(one, command)
            parser.options = [option for action in one._actions for option in action.option_strings]
    return parser


def arguments_of(name: str) -> Sequence[argparse.Action]:
    """Give all that a command takes."""
    parser = argparse.ArgumentParser(prog=f"agentbench {name}")
    _add_arguments(parser, _module(name))
    return parser._actions  # argparse lists them nowhere else


def _add_arguments(parser: argparse.ArgumentParser, command: Command) -> None:
    command.add_arguments(parser)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write to FILE instead of printing")


def _listed(purpose: str, everyday: Mapping[str, str], research: Mapping[str, str]) -> str:
    """Give the purpose of the whole and of each command, those of every day first."""
    width = max(map(len, (*everyday, *research))) + 2
    groups = (("every day", everyday), ("research and other benchmarks", research))
    lines = [[f"{title}:", *(f"  {name:{width}}{told}" for name, told in group.items())] for title, group in groups]
    return "\n\n".join([purpose, *("\n".join(group) for group in lines)])


class _Parser(argparse.ArgumentParser):
    """Says which command or option a mistyped one probably is."""

    options: Sequence[str] = ()
    """The options of the command that was asked for."""

    def error(self, message: str) -> NoReturn:
        """Print the usage and what is wrong, and exit with 2."""
        from pytest_agentbench.core.names import suggestion  # noqa: PLC0415 - help needs no package

        wrong = re.search(r"(?:invalid choice: '|unrecognized arguments: )([^\s'=]{1,60})", message)
        listed = re.findall(r"[\w-]{1,60}", message.partition("(choose from ")[2])
        allowed = self.options if wrong and wrong[1].startswith("-") else listed
        hint = suggestion(wrong[1], allowed) if wrong else ""
        super().error(f"{message} ({hint})" if hint else message)


class _Version(argparse.Action):
    """Prints the version; the package's data is read only then."""

    def __init__(self, option_strings: Sequence[str], dest: str, **keywords: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **keywords)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        """Print it and exit with 0."""
        from importlib.metadata import version  # noqa: PLC0415 - loads only when it is asked for

        print(f"agentbench {version('pytest-agentbench')}")
        parser.exit()
