"""What values are called in plain words: the words of identifiers, and nothing else."""

from collections.abc import Iterable

from pytest_agentbench.core.names import IDENTIFIERS
from pytest_agentbench.generation.language.plain import words_of
from pytest_agentbench.generation.tools.graph.name_match import words

NAMES = frozenset({"name", "nom", "surname", "firstname", "lastname", "prenom"})
"""Words of columns that hold what people are called."""
_ROLES = frozenset({
    "customer", "client", "user", "member", "guest", "patient", "passenger", "tenant", "owner", "employee", "student",
    "account", "subscriber", "household", "adherent", "abonne", "proprietaire", "locataire", "eleve", "utilisateur",
})  # fmt: skip
"""What columns are called that say whose a row is."""


def name_of(path: str) -> str:
    """Give the last name on a dotted path: `order_id` of `order_id`, of `order.order_id` and of `order_id.*`."""
    parts = [part for part in path.split(".") if part and part != "*" and not part.isdigit()]
    return parts[-1] if parts else path


def label_of(path: str) -> str:
    """Give the plain name of a value: *order id* for `order_id` and `orderId`."""
    return words_of(name_of(path))


def labels_of(paths: Iterable[str]) -> dict[str, str]:
    """Give the plain name of each value; where two have the same last name, the name around it stands before."""
    every = list(paths)
    short = {path: label_of(path) for path in every}
    found = {}
    for path in every:
        parts = [part for part in path.split(".") if part and part != "*" and not part.isdigit()]
        is_double = [short[other] for other in every].count(short[path]) > 1 and len(parts) > 1
        found[path] = " ".join(map(label_of, parts[-2:])) if is_double else short[path]
    return found


def thing_of(path: str, tool: str) -> str:
    """Give the noun by which the thing that an argument takes is pointed at: *order* for `order_id`.

    An argument that is only called `id` is of what stands around it, or of what the tool is about; a `key` or a `code`
    is called so.
    """
    if "." not in path and not _is_bare(name_of(path)) and not set(words(name_of(path))) - IDENTIFIERS:
        return label_of(path)
    for name in (name_of(path), *reversed(path.split(".")[:-1]), tool):
        if telling := [word for word in words(name) if word not in IDENTIFIERS and word != "*"]:
            return " ".join(telling[-1:] if name == tool else telling)
    return label_of(path)


def _is_bare(name: str) -> bool:
    """Whether a name says no more than that it tells things apart: `id`, `ids`, `uuid`."""
    return not set(words(name)) - {"id", "ids", "uuid"}


def pointed_at(where: str, path: str, tool: str) -> str:
    """Give the noun by which a value at `where` in an answer is pointed at for an argument: *order*, *postal code*.

    Where the answer calls it otherwise than the argument does, and tells what it is, the answer's word is taken.
    """
    own = name_of(where) if where else ""
    telling = set(words(own)) - IDENTIFIERS if own and not own.isdigit() else set()
    is_alike = not telling or telling == set(words(name_of(path))) - IDENTIFIERS
    return thing_of(path, tool) if is_alike else label_of(own)


def is_identifier(name: str) -> bool:
    """Whether a name says that a value tells one thing from others: its last word does."""
    return bool(words(name)) and words(name)[-1] in IDENTIFIERS


def is_role(name: str) -> bool:
    """Whether a value is called as people are: `guest`, `customer_id`, `member name`."""
    named = [word for word in words(name) if word not in IDENTIFIERS and word not in NAMES]
    return len(named) == 1 and named[0] in _ROLES
