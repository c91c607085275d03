"""Whether a tool reads or writes: as declared, as the suite says, as seen, or guessed from a verb in its name."""

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import NamedTuple

from pytest_agentbench.core.names import letters_of, listing
from pytest_agentbench.core.suite import EnvironmentSpec
from pytest_agentbench.core.tool import KindSource, ToolKind, Toolset, ToolSpec

_READS = frozenset({
    "browse", "check", "compare", "count", "describe", "display", "examine", "fetch", "find", "get", "has",
    "inspect", "is", "list", "load", "lookup", "look", "preview", "query", "read", "retrieve", "scan", "search",
    "select", "show", "status", "view",
})  # fmt: skip
_WRITES = frozenset({
    "activate", "add", "append", "apply", "approve", "archive", "assign", "book", "cancel", "change", "clear",
    "close", "confirm", "create", "deactivate", "delete", "disable", "dismiss", "drop", "edit", "enable",
    "exchange", "grant", "insert", "issue", "lock", "mark", "modify", "move", "open", "order", "pay", "place",
    "post", "purchase", "put", "record", "refund", "register", "reject", "remove", "rename", "renew", "replace",
    "reschedule", "reserve", "reset", "resume", "return", "revoke", "save", "schedule", "send", "set", "start",
    "stop", "submit", "subscribe", "suspend", "toggle", "unlock", "unsubscribe", "update", "upload", "upsert",
    "withdraw", "write",
})  # fmt: skip
_GENERIC = frozenset({
    "calculate", "compute", "convert", "echo", "escalate", "format", "handover", "think",
})  # fmt: skip


class KindLists(NamedTuple):
    """The tools that a suite says read or write, and those that were `seen` to write."""

    reads: Sequence[str] = ()
    writes: Sequence[str] = ()
    seen: Sequence[str] = ()

    def kind_of(
        self, name: str, told: ToolKind | None = None, source: KindSource = "name", *, prefix: str = ""
    ) -> tuple[ToolKind, KindSource]:
        """Settle a tool's kind, and say what did: the suite's lists, else what its `source` told, that it was seen to
        write, or a guess. `prefix` is put before its name.
        """
        full = f"{prefix}{name}"
        if full in self.writes or full in self.reads:
            return "write" if full in self.writes else "read", "declared"
        if told and not (source == "name" and full in self.seen):
            return told, source
        return ("write", "seen") if full in self.seen else (guessed_kind(name), "name")

    def declared(self, name: str, declared: object) -> tuple[ToolKind, KindSource]:
        """Settle the kind of a tool that may declare it, and then knows best."""
        if declared == "read" or declared == "write" or declared == "generic":  # noqa: PLR1714 - narrows the type
            return declared, "declared"
        return self.kind_of(name)

    def settled(self, spec: ToolSpec, told: ToolKind | None, source: KindSource, *, prefix: str = "") -> ToolSpec:
        """Give a tool with its kind settled by `kind_of`."""
        kind, settled_by = self.kind_of(spec.name, told, source, prefix=prefix)
        return spec.model_copy(update={"kind": kind, "kind_from": settled_by})


NO_LISTS = KindLists()
"""Those of a suite that says nothing of kinds."""


def guessed_kind(name: str) -> ToolKind:
    """Guess a kind from the first English verb in the name; else `unknown`.

    A write joined by *or* or *and* (`get_or_create`) decides, since the tool may do it.
    """
    words = letters_of(name)
    if any(left in ("or", "and") and right in _WRITES for left, right in pairwise(words)):
        return "write"
    for word in words:
        for kind, verbs in (("read", _READS), ("write", _WRITES), ("generic", _GENERIC)):
            if word in verbs:
                return kind  # type: ignore[return-value]  # the literals above are kinds
    return "unknown"


def brings_own_tools(spec: EnvironmentSpec) -> bool:
    """Whether nobody describes the agent's tools."""
    return not spec.tools and spec.offered is None


def named_in(spec: EnvironmentSpec) -> tuple[str, ...]:
    """Give the tools that a suite names, by its scenarios or by what it says of their kinds."""
    return (*spec.named, *spec.reads, *spec.writes)


def own_tools(spec: EnvironmentSpec) -> tuple[ToolSpec, ...]:
    """Describe the tools that the agent brings along, where the suite names none: it says no more than their kind.

    A tool that some scenario expects or forbids writes where its name says so. Its name alone settles nothing.
    """
    if not brings_own_tools(spec):
        return ()
    kinds: dict[str, tuple[ToolKind, KindSource]] = {
        **{name: ("write", "name") for name in spec.named if guessed_kind(name) == "write"},
        **dict.fromkeys(spec.reads, ("read", "declared")),
        **dict.fromkeys(spec.writes, ("write", "declared")),
    }
    anything = {"type": "object", "additionalProperties": True}
    return tuple(
        ToolSpec(name=name, kind=kind, kind_from=source, parameters=anything) for name, (kind, source) in kinds.items()
    )


def guesses_told(names: Collection[str]) -> str:
    """Say what the names of tools were taken to mean, in a line that can be pasted into the suite; "" without names."""
    kinds: dict[ToolKind, list[str]] = {"read": [], "write": [], "generic": [], "unknown": []}
    for name in sorted(names):
        kinds[guessed_kind(name)].append(name)
    reads, writes = [*kinds["read"], *kinds["generic"]], kinds["write"]
    told = [
        f"{listing(names)} {verb}{'s' if len(names) == 1 else ''}"
        for names, verb in ((writes, "write"), (reads, "read"))
        if names
    ]
    if not told:
        return ""
    keys = [f"{key}: [{', '.join(names)}]" for key, names in (("writes", writes), ("reads", reads)) if names]
    return (
        f"nobody describes the agent's tools, so it is guessed from their names that {' and '.join(told)}; "
        f"say it in the suite: `environment: {{{', '.join(keys)}}}`"
    )


def unknown_kinds(spec: EnvironmentSpec, toolset: Toolset) -> tuple[str, ...]:
    """Name the tools of which nobody can tell whether they write: nothing settles it, and no state shows it."""
    if spec.state is not None or spec.offered is not None:
        return ()
    return tuple(dict.fromkeys(tool.name for tool in toolset if tool.kind == "unknown"))


def ask_for_kinds(names: Sequence[str]) -> str:
    """Ask for the kinds of tools, in a line that can be pasted into the suite."""
    does = "reads or writes" if len(names) == 1 else "read or write"
    return (
        f"nothing says whether {listing(names)} {does}, so calls besides the expected ones are not judged; write into "
        f"the suite `environment: {{reads: [{', '.join(names)}]}}`, those that change something under `writes` instead"
    )
