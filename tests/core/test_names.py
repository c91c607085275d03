"""What a mistyped name probably meant."""

from pytest_agentbench.core.names import suggestion
from tests.tables import each


@each(
    ("name", "allowed", "meant"),
    [
        ("polcies", ["policies", "policy"], "did you mean 'policies'?"),
        ("polices", ["policies"], "did you mean 'policies'?"),
        ("policy", ["name", "policies"], "did you mean 'policies'?"),
        ("policies", ["policy", "name"], "did you mean 'policy'?"),
        ("node", ["nobody", "noddies"], ""),
        ("expcet", ["expect"], "did you mean 'expect'?"),
        ("Expect", ["expect"], "did you mean 'expect'?"),
        ("xyz", ["id", "says"], ""),
        ("ab", ["id"], ""),
        ("x", ["y"], ""),
        ("scenario", ["scenarios", "state"], "did you mean 'scenarios'?"),
        ("anything", [], ""),
    ],
)
def test_names_within_two_edits_are_suggested(name: str, allowed: list[str], meant: str) -> None:
    """A close name is suggested, a far or very short one is not."""
    assert suggestion(name, allowed) == meant
