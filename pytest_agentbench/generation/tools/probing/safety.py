"""What may be called to learn about it: everything where it can be undone, elsewhere what is declared harmless.

What a tool does is what is declared of it, or was seen (`session.ProbedTool.effect`). Words that speak of destruction
are a veto where nothing can be undone, and never a permission: they err on the side of leaving a tool alone.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.generation.tools.data_types import Cure
from pytest_agentbench.generation.tools.graph.name_match import words

Effect = Literal["read", "write", "destructive", "unknown"]
"""What a call may do to the world."""

_DESTROYS = frozenset({
    "delete", "remove", "erase", "purge", "wipe", "destroy", "drop", "truncate", "overwrite", "revoke", "terminate",
    "kill", "reset", "flush", "prune", "uninstall", "unlink", "clear", "undo", "restore",
})  # fmt: skip
"""Words of names after which a tool is called last, where all can be undone."""
_SPEAKS_OF_IT = re.compile(
    r"(?:delet|remov|eras|purg|wip(?:e|ing)|destroy|destruct|truncat|overwrit|revok|terminat|uninstall|irrevers)"
    r"[a-z]*|(?:flush|prune|reset|drop|kill|clear|unlink|expunge|undo|restor|trash|obliterat)(?:s|e[sd]?|ped|p?ing)?"
    r"|permanently|undone|sql|command|cmd|script|shell|eval|exec|execute",
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_DEEPEST = 8


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What the user allows where nothing can be reset.

    `writes` allows calls of tools that write. With `trust_annotations` what a server
    tells of its tools (readOnlyHint, GET) counts as declared. `allow` and `deny` name tools that are always, or never,
    called: the agent may not have those that tell the suite its state.
    """

    writes: bool = False
    trust_annotations: bool = False
    allow: frozenset[str] = frozenset()
    deny: frozenset[str] = frozenset()


def policy_of(suite: Suite) -> Policy:
    """Give what the recipe of a suite allows; nothing without one."""
    recipe = suite.generate
    if recipe is None:
        return Policy()
    allow = frozenset(recipe.allow)
    deny = _telling_the_state(suite) - allow
    return Policy(writes=recipe.allow_writes, trust_annotations=recipe.trust_annotations, allow=allow, deny=deny)


def _telling_the_state(suite: Suite) -> frozenset[str]:
    """Name the tools that read the state for the suite, where the agent's own service may not have them."""
    state, http = suite.environment.state, suite.agent.http
    if state is None or state.kind != "tools" or http is None or not http.makes_calls:
        return frozenset()
    return frozenset(call if isinstance(call, str) else next(iter(call)) for call in state.options["tools"])


@dataclass(frozen=True, kw_only=True)
class Permission:
    """Whether a tool may be called, as what, and why; `gently` asks for few calls, since they cannot be undone.

    `cure` is the key of the suite that would have it called, "" where it is, or where the user said no.
    """

    tool: str
    effect: Effect
    called: bool
    why: str
    gently: bool = False
    cure: Cure = ""


def line_for(cure: Cure, tools: Sequence[str]) -> str:
    """Write what would have these tools called as a line that can be pasted into the suite."""
    part, _, key = cure.partition(".")
    names = f"[{', '.join(tools)}]"
    return f"{part}: {{{key}: {'true' if key in ('trust_annotations', 'allow_writes') else names}}}"


def permission(spec: ToolSpec, policy: Policy, *, resettable: bool) -> Permission:
    """Decide whether a tool may be called; `deny` decides before everything.

    Where the environment can be reset, all tools are called. Elsewhere those whose kind is declared: by the user, or by
    the server where its annotations are trusted; never by a guess. A sign of destruction beats a declaration, and only
    the tool's name in `allow` beats that.
    """
    effect, why = effect_of(spec)

    def decide(called: bool, reason: str, *, gently: bool = False, cure: Cure = "") -> Permission:
        hint = f"; `{line_for(cure, [spec.name])}` allows it" if cure else ""
        return Permission(
            tool=spec.name, effect=effect, called=called, why=f"{why}; {reason}{hint}", gently=gently, cure=cure
        )

    if spec.name in policy.deny:
        return decide(False, f"it tells the state; `{line_for('generate.allow', [spec.name])}` has it called, too")
    if resettable:
        return decide(True, "called in a disposable environment")
    if spec.name in policy.allow:
        return decide(True, "allowed by name", gently=effect != "read" or bool(sign_of_destruction(spec)))
    if sign := sign_of_destruction(spec):
        return decide(False, f"{sign}: not called where it cannot be undone", cure="generate.allow")
    if spec.kind == "unknown" or spec.kind_from == "name":
        reason = "nobody has declared that, and nothing can be reset"
        return decide(False, reason, cure="environment.writes" if spec.kind == "write" else "environment.reads")
    if spec.kind_from == "annotation" and not policy.trust_annotations:
        reason = "the server says so, and nothing can be reset"
        return decide(False, reason, cure="generate.trust_annotations")
    if spec.kind in ("read", "generic"):
        return decide(True, "reads are called")
    if policy.writes:
        return decide(True, "allowed by the user", gently=True)
    return decide(False, "writes are not called where nothing can be reset", cure="generate.allow_writes")


def effect_of(spec: ToolSpec) -> tuple[Effect, str]:
    """Say what a call does and by what that is known: annotations, HTTP methods, the declared kind.

    Where the suite only guesses it from the name, that orders the calls and allows none.
    """
    if spec.destructive is True:
        return "destructive", "declared destructive"
    if spec.kind == "unknown":
        return "unknown", "nothing says that it only reads"
    effect: Effect = "write" if spec.kind == "write" else "read"
    return effect, f"its name speaks of a {effect}" if spec.kind_from == "name" else f"its kind is {spec.kind!r}"


def sign_of_destruction(spec: ToolSpec) -> str:
    """Name what makes a tool suspicious, its own declaration first; "" where nothing does."""
    if spec.destructive is True:
        return "it is declared destructive"
    told = [("name", spec.name), ("description", spec.description)]
    for place, text in (*told, *(("arguments", text) for text in _texts_of(spec.parameters))):
        if word := next((word for word in _WORD.findall(text) if _SPEAKS_OF_IT.fullmatch(word.lower())), ""):
            return f"its {place} says {word!r}"
    return ""


def is_called_last(spec: ToolSpec) -> bool:
    """Whether a tool's name says that it takes something away: where all can be undone, it is called after the others.

    A server's word for it says too little: by MCP's default whatever writes may destroy.
    """
    return bool(_DESTROYS & set(words(spec.name)))


def _texts_of(schema: object, depth: int = 0) -> Iterator[str]:
    """Give the names of arguments, what is told of them, and the texts that they allow."""
    if isinstance(schema, list) and depth < _DEEPEST:
        for item in schema:
            yield from _texts_of(item, depth + 1)
    if not isinstance(schema, Mapping) or depth >= _DEEPEST:
        return
    for key, value in schema.items():
        if key == "properties" and isinstance(value, Mapping):
            yield from map(str, value)
            for inner in value.values():
                yield from _texts_of(inner, depth + 1)
        elif key in ("enum", "const", "description", "title"):
            yield from (text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str))
        elif isinstance(value, Mapping | list):
            yield from _texts_of(value, depth + 1)
