"""What the lines of scripted users mean, and where those stand that do not say it.

A plain line after the first that is no yes or no of its language has no label: what the user meant with it is not
known, and a rule that asks for consent cannot be measured there.
"""

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_agentbench.core.acts import ACT_KINDS, Line
from pytest_agentbench.core.misfit import Keys
from pytest_agentbench.core.python_source import parsed
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import ToolCall, Toolset, ToolSpec
from pytest_agentbench.spec.document import Document
from pytest_agentbench.spec.loading import read_document
from pytest_agentbench.suites.call_check import Finder
from pytest_agentbench.suites.language import Language, language_of

CHOICES = f'write `{{confirm: "…"}}` or another act in place of the words; acts: {", ".join(ACT_KINDS)}'
"""What to do about such a line."""

YES_BEFORE = "the user may say yes before such a line"
"""What happens where nobody knows that the next line is the answer."""

_WORDS = 60
"""Characters of a line that are shown."""


def labelled(lines: Sequence[Line], language: Language) -> tuple[Line, ...]:
    """Give the lines with what they mean, as far as it can be told: the file's label, a plain yes or no, the request.

    The first line is a request. A line that as a whole is one of the language's phrases is a yes or a no. Any other
    stays as it is.
    """
    return tuple(_labelled(line, language, is_first=not at) for at, line in enumerate(lines))


def _labelled(line: Line, language: Language, *, is_first: bool) -> Line:
    if line.act is not None:
        return line
    if is_first:
        return line.model_copy(update={"act": "request"})
    answer = language.answer(line.text)
    return line if answer is None else line.model_copy(update={"act": "confirm" if answer else "decline"})


def call_of(line: str, tools: Iterable[ToolSpec]) -> ToolCall | None:
    """Read a line such as `toggle_wifi(on=True)` as a call of the user's own tool; None where it is text.

    Only one of these tools and literal keyword arguments count.
    """
    name = line.strip().partition("(")[0]
    if name not in {tool.name for tool in tools}:
        return None
    try:
        tree = parsed(line.strip(), mode="eval").body
        if not isinstance(tree, ast.Call) or tree.args:
            return None
        arguments = {keyword.arg: ast.literal_eval(keyword.value) for keyword in tree.keywords if keyword.arg}
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    return ToolCall(name=name, arguments=arguments, requestor="user")


@dataclass(frozen=True, kw_only=True)
class Unlabelled:
    """A line without a label: the scenario whose line number `at`, from 0, it is."""

    suite: Suite
    scenario: Scenario
    at: int

    @property
    def text(self) -> str:
        """The words of the line."""
        return self.scenario.lines[self.at]

    @property
    def file(self) -> Path:
        """The file that holds the line."""
        return Path(self.scenario.file or self.suite.path)

    def found(self) -> tuple[Document, Keys] | None:
        """Read the file anew; give it with the path to the line, None where the scenario is not there any more."""
        form = form_of(self.suite, self.scenario)
        return (form[0], (*form[1], "says", self.at)) if form else None

    def place(self, root: Path) -> str:
        """Say where the line stands: file, seen from `root` where it lies below it, line and column."""
        name = self.file.relative_to(root) if self.file.is_relative_to(root) else self.file
        found = self.found()
        place = found[0].place(found[1]) if found else None
        return f"{name}:{place.line}:{place.column}" if place else f"{name}:{self.scenario.line}"

    def told(self, root: Path) -> str:
        """Say in a report where the line stands and what it says."""
        return f"{self.place(root)}: {printable(shorten(self.text, _WORDS))!r}"


def form_of(suite: Suite, scenario: Scenario) -> tuple[Document, Keys] | None:
    """Read a scenario's file anew; give it with the path to what is ours of the scenario, None where it is gone."""
    entry = Finder(suite.path).entry(scenario)
    if entry is None:
        return None
    file = entry.document.file_of(entry.path)  # of a suite that is extended, whose list stands there as a whole
    return (entry.document if file == entry.document.file else read_document(file)), entry.ours


_CONSENT = frozenset({"confirm_before", "confirmed"})
"""Operators of rules that read what the user agreed to."""


def reads_consent(suite: Suite) -> bool:
    """Whether a rule of the suite reads what the user agreed to: else a line without a label leaves nothing open."""
    return any(_mentions(policy.rule, _CONSENT) for policy in suite.policies)


def _mentions(form: object, keys: frozenset[str]) -> bool:
    if isinstance(form, Mapping):
        return not keys.isdisjoint(form) or any(_mentions(one, keys) for one in form.values())
    return isinstance(form, list | tuple) and any(_mentions(one, keys) for one in form)


def unlabelled(suite: Suite, toolset: Toolset, scenarios: Iterable[Scenario] | None = None) -> list[Unlabelled]:
    """Give the lines of a suite, or of these scenarios of it, that have no label; none where no script is played.

    A line that calls one of the user's own tools is no talk.
    """
    if suite.user.kind != "scripted" or suite.agent.kind == "transcripts":
        return []
    tools = toolset.of("user")
    found: list[Unlabelled] = []
    for scenario in suite.scenarios if scenarios is None else scenarios:
        said = [at for at, line in enumerate(scenario.says) if line.text.strip() and line.decision is None]
        if not any(scenario.says[at].act is None for at in said[1:]):
            continue
        language = language_of(scenario.language or suite.language, suite.root)
        parts = scenario.parts(said)
        lines = [line for part in parts for line in labelled([scenario.says[at] for at in part], language)]
        found += [
            Unlabelled(suite=suite, scenario=scenario, at=at)
            for at, line in zip(said, lines, strict=True)
            if line.act is None and call_of(line.text, tools) is None
        ]
    return found
