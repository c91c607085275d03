"""What is called, and what never is."""

from pathlib import Path

from pytest_agentbench.core.tool import KindSource, ToolKind, ToolSpec
from pytest_agentbench.generation.tools.probing.safety import Policy, effect_of, permission
from tests.generation.tools.probed import card, probed, written
from tests.tables import each

TOOLS = """
from pathlib import Path

LOG = Path({log!r})

def _note(what):
    with LOG.open("a") as file:
        file.write(what + "\\n")

def get_item(item_id: str = "a") -> str:
    "Get an item."
    _note("get")
    return "an item"

def add_item(name: str) -> str:
    "Add an item."
    _note("add")
    return "added item 5"

def delete_item(item_id: str) -> str:
    "Delete an item."
    _note("delete")
    return "deleted"

def frobnicate(item_id: str) -> str:
    _note("frobnicate")
    return "done"
"""


def called(folder: Path, policy: Policy, **options: object) -> list[str]:
    """Probe with a policy and give what was called, in the order of the first calls."""
    log = folder / "log.txt"
    declared = {"reads": ["get_item"], "writes": ["add_item", "delete_item"]}
    probed(written(folder, TOOLS.format(log=str(log)), **declared, **options), policy=policy)
    return list(dict.fromkeys(log.read_text().split())) if log.exists() else []


def test_only_reads_are_called_where_nothing_can_be_undone(tmp_path: Path) -> None:
    """Without a state that opens anew, writes, deletions and what nobody can tell are left alone, as cards say."""
    log = tmp_path / "log.txt"

    cards = probed(written(tmp_path, TOOLS.format(log=str(log))))

    assert set(log.read_text().split()) == {"get"}
    for tool in ("add_item", "delete_item", "frobnicate"):
        assert card(cards, tool).probes == ()
        assert card(cards, tool).partial.startswith("not called")


def test_writes_are_called_when_the_user_allows_them_and_deletions_are_not(tmp_path: Path) -> None:
    """Allowing writes allows no deletion, and nothing of which nobody said what it does."""
    assert set(called(tmp_path, Policy(writes=True))) == {"get", "add"}


def test_deletions_are_called_when_they_are_named_or_allowed(tmp_path: Path) -> None:
    """A destructive tool needs its own word, and few calls are made of it."""
    log = tmp_path / "log.txt"

    cards = probed(written(tmp_path, TOOLS.format(log=str(log))), policy=Policy(allow=frozenset({"delete_item"})))

    assert set(log.read_text().split()) == {"get", "delete"}
    assert len(card(cards, "delete_item").probes) <= 4
    assert card(cards, "delete_item").partial == "probed with few calls, since they cannot be undone"


def test_everything_is_called_in_a_disposable_environment_deletions_last(tmp_path: Path) -> None:
    """Where each environment starts from the same state, all tools are probed."""
    assert called(tmp_path, Policy(), resettable=True)[-1] == "delete"


def test_what_is_denied_is_never_called(tmp_path: Path) -> None:
    """`deny` decides before everything else, reads included."""
    assert "get" not in called(tmp_path, Policy(deny=frozenset({"get_item"}), writes=True), resettable=True)


@each(
    ("kind", "kind_from", "destructive", "effect"),
    [
        ("read", "declared", None, "read"),
        ("generic", "declared", None, "read"),
        ("write", "annotation", None, "write"),
        ("write", "annotation", True, "destructive"),
        ("read", "name", None, "read"),
        ("unknown", "name", None, "unknown"),
    ],
)
def test_effects_are_what_is_declared(
    kind: ToolKind, kind_from: KindSource, destructive: bool | None, effect: str
) -> None:
    """A kind says what a call does, whoever settled it; an annotation of destruction beats it; no word counts."""
    spec = ToolSpec(
        name="purge", kind=kind, kind_from=kind_from, destructive=destructive, description="Returns what it deletes."
    )

    found, why = effect_of(spec)

    assert found == effect
    assert why


def test_a_declared_destruction_needs_a_word_too() -> None:
    """An annotation makes destructive what its name does not."""
    spec = ToolSpec(name="write_file", kind="write", destructive=True)

    assert not permission(spec, Policy(writes=True), resettable=False).called
    assert permission(spec, Policy(allow=frozenset({"write_file"})), resettable=False).called
    assert permission(spec, Policy(), resettable=True).called
