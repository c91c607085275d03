"""What may be called to learn about it: reads; writes where they can be undone; destructive ones only when told."""

import re
from dataclasses import dataclass
from typing import Literal

from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.environment.kinds import guessed_kind
from pytest_agentbench.environment.romance_verbs import changes_besides, destroying
from pytest_agentbench.generation.tools.graph.names import words

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
    """What the user allows.

    `writes` allows calls that change what cannot be reset, `destructive` those that destroy it. `allow` and `deny`
    name tools that are always, or never, called.
    """

    writes: bool = False
    destructive: bool = False
    allow: frozenset[str] = frozenset()
    deny: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Permission:
    """Whether a tool may be called, as what, and why; `gently` asks for few calls, since they cannot be undone."""

    tool: str
    effect: Effect
    called: bool
    why: str
    gently: bool = False


def permission(spec: ToolSpec, policy: Policy, *, resettable: bool) -> Permission:
    """Decide whether a tool may be called.

    Its effect is judged by `effect_of`. Reads are called. Writes, destructive calls and what nobody can tell are
    called where the environment can be reset, or where the policy allows them; `deny` decides before everything.
    """
    effect, why = effect_of(spec)

    def decide(called: bool, reason: str, *, gently: bool = False) -> Permission:
        return Permission(tool=spec.name, effect=effect, called=called, why=f"{why}; {reason}", gently=gently)

    if spec.name in policy.deny:
        return decide(False, "denied by the user")
    if effect == "read":
        return decide(True, "reads are called")
    if resettable:
        return decide(True, "called in a disposable environment")
    if spec.name in policy.allow:
        return decide(True, "allowed by name", gently=True)
    if effect == "destructive":
        reason = "allowed by the user" if policy.destructive else "never called where it cannot be undone"
        return decide(policy.destructive, reason, gently=True)
    if policy.writes:
        return decide(True, "allowed by the user", gently=True)
    return decide(False, "not called, since the environment cannot be reset and writes are not allowed")


def effect_of(spec: ToolSpec) -> tuple[Effect, str]:
    """Judge what a call does, and say by what: annotations, the kind, HTTP verbs, the name, then the description.

    Providers settle the kind from annotations and HTTP verbs; a destructive verb in the name of a tool that is not
    declared to read makes it destructive.
    """
    name_words = words(spec.name)
    destroys = next((word for word in name_words if word in _DESTROYS), None) or destroying(name_words)
    if spec.destructive is True:
        return "destructive", "declared destructive"
    if destroys and spec.kind != "read":
        return "destructive", f"its name says {destroys!r}"
    if spec.kind in ("read", "generic"):
        return "read", f"its kind is {spec.kind!r}"
    if spec.kind == "write":
        return "write", "its kind is 'write'"
    guess = guessed_kind(spec.name, spec.description)
    if guess != "unknown":
        where = "name" if guessed_kind(spec.name) == guess else "description"
        return ("write" if guess == "write" else "read"), f"its {where} speaks of a {guess}"
    if changes_besides(spec.description):
        return "unknown", "its description speaks of changes"
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
    if _DESTROYS & set(words(spec.name)) or destroying(words(spec.name)):
        return True
    said = words(" ".join(_FIRST.findall(spec.description)[:_OPENING]))
    changes = (_MAKES | _CHANGES | _LOOKS) & {*words(spec.name), *said}
    return spec.destructive is True and (bool(_DESTROYS & set(said)) or not changes)
