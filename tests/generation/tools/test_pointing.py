"""What a user can point at in an answer: one thing in a text, and nothing where the text tells several."""

import json

from pytest_agentbench.generation.argument_names import entries
from pytest_agentbench.generation.language.plain import SaidReference
from pytest_agentbench.generation.tools.data_types import Card, ParameterCard, Place, SemanticType, Taxonomy
from pytest_agentbench.generation.tools.hydration.arguments import Executed, Option, options_of
from tests.tables import each

LOT = SemanticType(
    id="lot",
    produced=(Place(tool="withdraw", path="", pattern=r"lot (\d+)"),),
    consumed=(Place(tool="move", path="lot"),),
)
MOVE = Card(tool="move", parameters=(ParameterCard(path="lot", schema_={"type": "integer"}, declared_required=True),))


@each(
    ("answer", "pointed"),
    [("Withdrawn from lot 507.", 1), ("Request 76 for 5 seeds of lot 507 is withdrawn.", 0)],
)
def test_one_number_of_a_text_is_pointed_at_and_one_of_several_is_not(answer: str, pointed: int) -> None:
    before = Executed(Card(tool="withdraw"), Option({}), answer)

    options = options_of(MOVE, [before], Taxonomy(types=(LOT,)), [])

    assert [one.arguments for one in options if one.references] == [{"lot": 507}] * pointed


@each(("sections", "pointed"), [(["A", "B"], 0), (["A"], 3)])
def test_a_thing_within_a_list_is_counted_among_all_of_its_kind(sections: list[str], pointed: int) -> None:
    """The second cup's only section is the second one of the answer where each cup has one, and else nobody's."""
    cups = [[{"code": f"{cup}{one}"} for one in (sections if cup == "X" else ["A"])] for cup in "XYZ"]
    answer = json.dumps([{"cup": cup, "sections": rows} for cup, rows in zip("XYZ", cups, strict=True)])
    enter = Card(tool="enter", parameters=(ParameterCard(path="section", schema_={"type": "string"}),))
    kind = SemanticType(
        id="section",
        produced=(Place(tool="list_cups", path="*.sections.*.code"),),
        consumed=(Place(tool="enter", path="section"),),
    )

    options = options_of(enter, [Executed(Card(tool="list_cups"), Option({}), answer)], Taxonomy(types=(kind,)), [])

    assert len([one for one in options if one.references]) == pointed


def test_the_only_entry_of_a_list_is_found_by_any_word_of_its_name() -> None:
    """What is left of the papers is a paper, too; the codes around it are not meant."""
    answer = {"claim": "C26-0404", "policy": "HC/7719", "papers_missing": ["photos"]}

    assert list(entries(answer, SaidReference(label="paper", thing="paper"))) == ["photos"]
