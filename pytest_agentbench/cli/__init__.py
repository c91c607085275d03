"""The command `agentbench`; each command is a module of this folder, loaded when it is asked for."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

COMMANDS = {
    "calibrate": "hold judges and rubrics against labelled conversations",
    "compare": "compare two results files scenario by scenario",
    "convert": "turn a τ-bench v1 task list into scenarios",
    "doctor": "build a suite's agent, play one turn, and say what can be seen of it",
    "export": "write a suite's scenarios as τ²-bench tasks (JSON)",
    "generate": "write scenarios by a suite's recipe",
    "import": "turn logs of other systems into a recorded suite, or into drafts of scenarios",
    "import-intellagent": "read IntellAgent's graphs, events, dialogues or results",
    "init": "write a suite, a first scenario and a CI job for your agent",
    "parity": "hold our τ²-bench verdicts against recorded ones",
    "proxy": "record, replay, meter and bound the model calls of a program in any language",
    "report": "show results files, the shards of one session as one",
    "review": "accept, reject or edit generated scenarios, one after the other",
    "schema": "print the JSON Schema of suite or scenario files",
    "score": "judge recorded conversations, as many as there are, and report them",
    "situations": "write labelled conversations of a suite, to calibrate judges on",
    "tools": "list a suite's tools as what executes them does",
    "validate": "check a suite's scenarios without a model and without its agent",
}
"""What each command is for, in one line; its module has the same name, `_` for `-`."""


INTERRUPTED = 130
"""The exit status after Ctrl-C, as shells have it: 128 and the signal's number."""

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
    command = _module(given[0]) if given and given[0] in COMMANDS else None
    try:
        options = _parser(given[0] if command else "", command).parse_args(given)
    except SystemExit as stop:  # argparse has printed usage or help
        return stop.code if isinstance(stop.code, int) else 2
    assert command is not None  # noqa: S101 - argparse has refused anything else

    from pytest_agentbench.core.errors import AgentBenchError  # noqa: PLC0415 - help and usage load nothing else
    from pytest_agentbench.core.text import printable  # noqa: PLC0415 - same

    try:
        text, status = command.run(options)
        if options.output is None:
            print(text)
        else:
            options.output.write_text(text + "\n", encoding="utf-8")
    except AgentBenchError as error:
        print(printable(str(error), newlines=True), file=sys.stderr)
        return 2
    except OSError as error:
        print(f"agentbench: {printable(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\nagentbench {given[0]}: interrupted{getattr(command, 'KEPT', '')}", file=sys.stderr)
        return INTERRUPTED
    return status


def _module(name: str) -> Command:
    return cast("Command", import_module(f"{__name__}.{_MODULES.get(name, name.replace('-', '_'))}"))


def _parser(asked: str, command: Command | None) -> argparse.ArgumentParser:
    """Give a parser that knows every command by name, and the one asked for in full."""
    parser = argparse.ArgumentParser(prog="agentbench", description="Work with agentbench suites and results.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, told in COMMANDS.items():
        one = commands.add_parser(name, help=told)
        if command is not None and name == asked:
            command.add_arguments(one)
            one.add_argument("-o", "--output", type=Path, metavar="FILE", help="write there instead of printing")
    return parser
