"""The system prompt of the model that plays the user: the template filled with what the view holds."""

from collections.abc import Sequence

from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.values import to_json
from pytest_agentbench.users.known_info import text_of
from pytest_agentbench.users.llm.template import render

TEMPLATE = "user.v1"
"""The template in force; a changed prompt is a new file, since recorded answers belong to the old one."""


def system_prompt(view: View, instructions: Sequence[str] = (), *, language: str = "") -> str:
    """Fill the template; `instructions` say how the user behaves beyond what the scenario tells.

    `language` is a code like `fr` or `pt-BR`. A code that has no English name, and none, leave it to the notes.
    """
    named_language = _in_english(language)
    named = [f"{str(name).replace('_', ' ')}: {text_of(to_json(value))}" for name, value in view.knows.items()]
    # our own scenarios hold what is known by name, and once more as the text that the task's format asks for
    told = [line.strip() for line in view.known_info.splitlines() if line.strip() and line.strip() not in named]
    unknown = [line.strip() for item in view.unknown for line in item.splitlines() if line.strip()]
    values = {
        "persona": view.persona or "",
        "goal": view.goal,
        "lines": "\n".join(f"{number}. {line}" for number, line in enumerate(view.says, start=1)),
        "known": "\n".join([*told, *(f"- {fact}" for fact in named)]),
        "unknown": "\n".join(f"- {line}" for line in dict.fromkeys(unknown)),
        "instructions": view.task_instructions,
        "behaviours": "\n".join(f"- {instruction}" for instruction in instructions),
        "tools": "yes" if view.tools else "",
        "language": named_language,
        "unnamed_language": "" if named_language else "yes",
    }
    return render(TEMPLATE, values)


def _in_english(language: str) -> str:
    from babel import Locale, UnknownLocaleError  # noqa: PLC0415 - most suites name no language

    try:
        return Locale.parse(language.replace("-", "_")).get_display_name("en") or "" if language else ""
    except (UnknownLocaleError, ValueError):  # the path of a file of the suite's own
        return ""
