"""What may be called to learn about it: everything where it can be undone, elsewhere what is declared harmless."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.environment.kinds import guessed_kind
from pytest_agentbench.generation.tools.graph.names import words
from pytest_agentbench.generation.tools.probing.destruction import sign_of_destruction
from pytest_agentbench.generation.tools.values import Cure

Effect = Literal["read", "write", "destructive", "unknown"]
"""What a call may do to the world."""

_DESTROYS = frozenset({
    "delete", "remove", "drop", "purge", "clear", "reset", "wipe", "destroy", "truncate", "erase", "flush", "revoke",
    "kill", "terminate", "shutdown", "uninstall", "overwrite", "format", "prune", "unlink", "rm", "trash", "forget",
    "undo", "revert", "rollback", "restore",
})  # fmt: skip
_CHANGES = frozenset({
    "create", "add", "insert", "update", "modify", "change", "set", "write", "send", "post", "put", "save", "cancel",
    "book", "pay", "refund", "transfer", "move", "rename", "delete", "remove", "assign", "close", "submit", "start",
    "stop", "run", "execute", "commit", "push", "merge", "checkout", "undo", "complete", "annotate", "edit", "apply",
    "upload", "register", "subscribe", "approve", "reject", "archive", "restore", "copy", "import", "sync", "deploy",
})  # fmt: skip
_MAKES = frozenset({
    "create", "add", "insert", "write", "put", "save", "make", "new", "copy", "edit", "update", "append", "move", "set",
    "apply", "format", "rename", "merge", "import", "register", "upload", "post", "modify", "start", "commit",
    "export", "sort",
})  # fmt: skip
_LOOKS = frozenset({
    "get", "return", "list", "fetch", "find", "search", "read", "show", "look", "query", "retrieve", "describe",
    "lookup", "give", "display", "tell", "check", "count", "compute", "calculate", "convert", "current", "forecast",
    "geocode", "translate", "view", "status",
    "renvoie", "retourne", "donne", "liste", "cherche", "recherche", "affiche", "fournit", "lit",
})  # fmt: skip
_OPENING = 6
"""Words of a description that say what a tool does."""
_FIRST = re.compile(r"[A-Za-zÀ-ÿ]+")


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What the user allows where nothing can be reset.

    `writes` allows calls of tools that write, `destructive` those that destroy. With `trust_annotations` what a server
    tells of its tools (readOnlyHint, GET) counts as declared. `allow` and `deny` name tools that are always, or never,
    called.
    """

    writes: bool = False
    destructive: bool = False
    trust_annotations: bool = False
    allow: frozenset[str] = frozenset()
    deny: frozenset[str] = frozenset()


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
        told = f"{why}; {reason}{hint}"
        return Permission(tool=spec.name, effect=effect, called=called, why=told, gently=gently, cure=cure)

    if spec.name in policy.deny:
        return decide(False, "denied by the user")
    if resettable:
        return decide(True, "called in a disposable environment")
    if spec.name in policy.allow:
        return decide(True, "allowed by name", gently=effect != "read" or bool(sign_of_destruction(spec)))
    if sign := sign_of_destruction(spec):
        if policy.destructive:
            return decide(True, "allowed by the user", gently=True)
        return decide(False, f"{sign}: not called where it cannot be undone", cure="generate.allow")
    if spec.kind == "unknown" or spec.kind_from == "name":
        reason = "nobody has declared that, and nothing can be reset"
        return decide(False, reason, cure="environment.writes" if effect == "write" else "environment.reads")
    if spec.kind_from == "annotation" and not policy.trust_annotations:
        reason = "the server says so, and nothing can be reset"
        return decide(False, reason, cure="generate.trust_annotations")
    if spec.kind in ("read", "generic"):
        return decide(True, "reads are called")
    if policy.writes:
        return decide(True, "allowed by the user", gently=True)
    return decide(False, "writes are not called where nothing can be reset", cure="generate.allow_writes")


def effect_of(spec: ToolSpec) -> tuple[Effect, str]:
    """Judge what a call does, and say by what: annotations, the kind, HTTP verbs, the name, then the description.

    Providers settle the kind from annotations and HTTP verbs; a destructive verb in the name of a tool that is not
    declared to read makes it destructive.
    """
    name_words = words(spec.name)
    destroys = next((word for word in name_words if word in _DESTROYS), None)
    if spec.destructive is True:
        return "destructive", "declared destructive"
    if destroys and (spec.kind != "read" or spec.kind_from == "name"):
        return "destructive", f"its name says {destroys!r}"
    if spec.kind != "unknown" and spec.kind_from != "name":
        return "write" if spec.kind == "write" else "read", f"its kind is {spec.kind!r}"
    guess = guessed_kind(spec.name)
    if guess != "unknown":
        return ("write" if guess == "write" else "read"), f"its name speaks of a {guess}"
    said = words(" ".join(_FIRST.findall(spec.description)))
    if any(word in _CHANGES or word in _DESTROYS for word in (*name_words, *said)):
        return "unknown", "its name or description speaks of changes"
    if any(word in _LOOKS for word in (*name_words, *said[:12])):
        return "read", "its description speaks of looking things up"
    return "unknown", "nothing says that it only reads"


def destroys(spec: ToolSpec) -> bool:
    """Whether a tool takes away what is there, by its name, or the first words about it; what overwrites makes, too.

    This is no question of what may be called, but of what is called last.
    """
    if _DESTROYS & set(words(spec.name)):
        return True
    said = words(" ".join(_FIRST.findall(spec.description)[:_OPENING]))
    changes = (_MAKES | _CHANGES | _LOOKS) & {*words(spec.name), *said}
    return spec.destructive is True and (bool(_DESTROYS & set(said)) or not changes)
