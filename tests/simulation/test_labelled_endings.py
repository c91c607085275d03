"""How conversations end and who is to blame, against labels written from the documentation by somebody else."""

from collections import Counter
from pathlib import Path

from benchmarks.endings import is_right, missed, scored, table
from tests.simulation.endings import label_of, load
from tests.tables import each

DATA = Path(__file__).parent / "data"
HALVES = ("development", "held_out")
FILES = sorted(DATA.glob("endings_*.json*"))


@each("path", FILES, ids=[path.stem for path in FILES])
def test_labelled_conversations_end_as_their_author_says(path: Path) -> None:
    """At least 95 % of each file are right (see `benchmarks.endings`), and no agent is blamed wrongly; `-s` shows all.

    All three are development by now.
    """
    played = scored(load(path))

    print(f"\n\n{table(path.stem, played)}\n{missed(played)}")
    right = sum(is_right(*one) for one in played)
    assert right >= 0.95 * len(played), missed(played)
    blamed = [case["id"] for case, ended in played if ended.ending[1] == "agent" and label_of(case)[1] != "agent"]
    assert not blamed


def test_every_pair_is_labelled_at_least_four_times_in_both_languages() -> None:
    """Eighty conversations or more, four of every termination and blame that occurs, English and French."""
    cases = [case for half in HALVES for case in load(DATA / f"endings_{half}.json")]

    assert len(cases) >= 80
    assert min(Counter(map(label_of, cases)).values()) >= 4
    assert {language for language, n in Counter(case["language"] for case in cases).items() if n >= 40} == {"en", "fr"}
    assert len({case["id"] for case in cases}) == len(cases)
