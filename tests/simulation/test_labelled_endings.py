"""How conversations end and who is to blame, against labels written from the documentation by somebody else."""

from collections import Counter
from pathlib import Path

import pytest

from tests.simulation.endings import Ending, label_of, load, replay

DATA = Path(__file__).parent / "data"
HALVES = ("development", "held_out")


@pytest.mark.parametrize(("half", "right"), [("development", 53), ("held_out", 45)])
def test_labelled_conversations_end_as_their_author_says(half: str, right: int) -> None:
    """So many of the 54 of each half close with the label's termination and blame; `-s` shows the matrix.

    The held-out half was scored once, when development was over: 83 %, short of the 95 % aimed for. The code was not
    changed for what it missed, so that the figure stands for conversations that nobody looked at.
    """
    cases = load(DATA / f"endings_{half}.json")
    ended = {case["id"]: replay(case) for case in cases}
    pairs = Counter((label_of(case), ended[case["id"]].ending) for case in cases)
    missed = [case for case in cases if label_of(case) != ended[case["id"]].ending]

    print(f"\n\n{half}: {len(cases) - len(missed)} of {len(cases)} as labelled\n{matrix(pairs)}")
    for case in missed:
        print(f"  {case['id']}: labelled {named(label_of(case))}, got {named(ended[case['id']].ending)}")
        print(f"    {ended[case['id']].reason}")

    assert len(cases) - len(missed) >= right, [case["id"] for case in missed]


def test_every_pair_is_labelled_at_least_four_times_in_both_languages() -> None:
    """Eighty conversations or more, four of every termination and blame that occurs, English and French."""
    cases = [case for half in HALVES for case in load(DATA / f"endings_{half}.json")]

    assert len(cases) >= 80
    assert min(Counter(map(label_of, cases)).values()) >= 4
    assert {language for language, n in Counter(case["language"] for case in cases).items() if n >= 40} == {"en", "fr"}
    assert len({case["id"] for case in cases}) == len(cases)


def matrix(pairs: Counter[tuple[Ending, Ending]]) -> str:
    """Draw labels as rows and answers as columns, which are numbered like the rows."""
    endings = sorted({ending for pair in pairs for ending in pair})
    rows = [f"{'':3}{'label':30}" + "".join(f"{number:>4}" for number in range(1, len(endings) + 1))]
    for number, label in enumerate(endings, start=1):
        counts = [pairs[label, answer] for answer in endings]
        rows.append(f"{number:<3}{named(label):30}" + "".join(f"{count or '·':>4}" for count in counts))
    return "\n".join(rows)


def named(ending: Ending) -> str:
    """Spell an ending out."""
    return " / ".join(ending)
