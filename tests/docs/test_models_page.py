"""The providers that the page on models lists are those that there are, and no page names a model that is gone."""

import re
from pathlib import Path

import pytest

from pytest_agentbench.core.providers import ALIASES, PROVIDERS
from pytest_agentbench.llm.prices import server_of
from pytest_agentbench.suites.suite_file import load_suite
from tests.docs.pages import DOCS, ROOT, pages
from tests.tables import each

RETIRED = (
    # developers.openai.com, "Deprecations", read 2026-11-24: shut down, or to be by April 2027
    *("gpt-3*", "gpt-4*", "chatgpt-4o*", "gpt-5", "gpt-5-*", "gpt-5.1", "gpt-5.1-*", "davinci*", "babbage*"),
    *("o1", "o1-mini", "o1-preview", "o1-pro", "o3", "o3-mini", "o3-pro", "o4-mini"),
    # platform.claude.com, "Model deprecations", read 2026-11-24
    *("claude-1*", "claude-2*", "claude-3*", "claude-instant*", "claude-sonnet-4-0", "claude-sonnet-4-2025*"),
    *("claude-opus-4-0", "claude-opus-4-1", "claude-opus-4-2025*"),
    # ai.google.dev, "Gemini deprecations", read 2026-11-24
    *("gemini-pro", "gemini-1*", "gemini-2.0*", "gemini-2.5-flash*", "gemini-2.5-pro*", "gemini-3-pro-preview"),
    # api-docs.deepseek.com, "Your First API Call", read 2026-11-24
    *("deepseek-chat", "deepseek-reasoner"),
)
"""Names, a star standing for whatever follows."""

_RETIRED = re.compile(
    r"(?<![\w.-])(?:"
    + "|".join(re.escape(name).replace(r"\*", r"[\w.-]*") for name in sorted(RETIRED, key=len, reverse=True))
    + r")(?:-\d[\d-]*)?(?![\w-]|\.\d)"
)

_AGEING = re.compile(
    r"(?<![\w-])(?:(?i:gpt-\d)|o[1-9](?:-(?:mini|pro|preview))?(?![\w.-])|claude-[a-z]*-?\d|gemini-\d|grok-\d)"
)
"""A name with a generation in it: sooner or later it is retired."""

_TEXTS = {".md", ".yaml", ".yml", ".json", ".jsonl", ".py", ".toml", ".sql", ".txt"}


def read_by_users() -> list[Path]:
    """Every text that shows how to use the product, recordings and prompts included."""
    shown = [
        *(ROOT / "example_project").rglob("*"),
        *(ROOT / "pytest_agentbench").rglob("*"),
        *DOCS.rglob("*"),
        *pages(),
    ]
    return sorted({file for file in shown if file.suffix in _TEXTS and ".agentbench" not in file.parts})


def retired_in(text: str) -> list[str]:
    """Name the retired models of a text; a dated name is that of its model."""
    return _RETIRED.findall(text)


def test_no_page_and_no_example_names_a_model_that_is_gone() -> None:
    """Nor one that has its successor's number in it: pages say `openai:MODEL`, or a name that is nobody's."""
    found = {}
    for file in read_by_users():
        text = file.read_text(encoding="utf-8", errors="replace")
        if names := retired_in(text) + (_AGEING.findall(text) if file.suffix == ".md" else []):
            found[file.relative_to(ROOT).as_posix()] = names

    assert found == {}


@each(
    ("text", "found"),
    [
        ("{model: gpt-4o-mini}", ["gpt-4o-mini"]),
        ("model=gpt-4o-mini-2024-07-18,", ["gpt-4o-mini-2024-07-18"]),
        ('"openai:gpt-5"', ["gpt-5"]),
        ("anthropic/claude-3-5-haiku-latest", ["claude-3-5-haiku-latest"]),
        ("It was claude-opus-4-1.", ["claude-opus-4-1"]),
        ("claude-3-7-20250219", ["claude-3-7-20250219"]),
        ("gpt-5.6-sol, claude-opus-4-8, o1x, foo1, proto3, order O1", []),
    ],
)
def test_names_are_found_whole(text: str, found: list[str]) -> None:
    """A successor is not its predecessor."""
    assert retired_in(text) == found


ROW = re.compile(r"^\| (`[a-z]+:[^|]*) \|([^|]*)\| `([^|]*)` \|", re.MULTILINE)
ROWS = ROW.findall((DOCS / "how-to" / "models.md").read_text(encoding="utf-8"))


def test_every_provider_is_listed_and_no_other() -> None:
    """By its names."""
    listed = [name for names, _, _ in ROWS for name in re.findall(r"`([a-z]+):", names)]

    assert sorted(listed) == sorted([*PROVIDERS, *ALIASES])


@pytest.mark.parametrize(("names", "keys", "address"), ROWS, ids=[names for names, _, _ in ROWS])
def test_three_lines_are_a_suite(tmp_path: Path, names: str, keys: str, address: str) -> None:
    """What the table says of key and address is what the suite has."""
    for name in re.findall(r"`([^`]+)`", names):
        lines = [f'llm: {{model: "{name}"}}', "agent: {openai: {system: Be brief.}}", "user: llm"]
        file = tmp_path / "agentbench.yaml"
        file.write_text("\n".join([*lines, "scenarios: [{id: a, goal: x}]"]), encoding="utf-8")

        suite = load_suite(file, environ={})

        assert suite.agent.openai is not None
        for spec in (suite.agent.openai.model, suite.user.model):
            assert spec is not None
            assert spec.key_variables == tuple(re.findall(r"`(\w+)`", keys))
            assert server_of(spec, {}).replace("${", "{") == address
