"""`agentbench completion`: what lets a shell complete the command's names and options."""

import argparse
import shlex
from collections.abc import Iterator, Mapping, Sequence

from pytest_agentbench.cli import COMMANDS, arguments_of

SHELLS = ("bash", "zsh", "fish")

_BASH = """\
_agentbench() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" options=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{commands}" -- "$word"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{cases}
  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}}
complete -o filenames -F _agentbench agentbench
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes, and how it is used."""
    parser.description = (
        "bash: agentbench completion bash > ~/.local/share/bash-completion/completions/agentbench. "
        "zsh: the same for zsh, into a file that ~/.zshrc sources. "
        "fish: agentbench completion fish > ~/.config/fish/completions/agentbench.fish"
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Give the script and the exit status 0."""
    taken = {name: _options(name) for name in COMMANDS}
    if options.shell == "fish":
        return "\n".join(_fish(taken)), 0
    script = _bash(taken)
    return f"autoload -U +X bashcompinit && bashcompinit\n{script}" if options.shell == "zsh" else script, 0


def _options(name: str) -> dict[str, str]:
    """Give the long options of a command, each with what it is for."""
    return {
        option: action.help or ""
        for action in arguments_of(name)
        for option in action.option_strings
        if option.startswith("--") and action.help != argparse.SUPPRESS
    }


def _bash(taken: Mapping[str, Sequence[str] | Mapping[str, str]]) -> str:
    cases = "\n".join(f'    {name}) options="{" ".join(options)}" ;;' for name, options in taken.items())
    return _BASH.format(commands=" ".join(taken), cases=cases).rstrip()


def _fish(taken: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    for name, options in taken.items():
        yield f"complete -c agentbench -n __fish_use_subcommand -f -a {name} -d {shlex.quote(COMMANDS[name])}"
        for option, told in options.items():
            seen = shlex.quote(f"__fish_seen_subcommand_from {name}")
            yield f"complete -c agentbench -n {seen} -l {option[2:]} -d {shlex.quote(' '.join(told.split()))}"
