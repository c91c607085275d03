"""What a user can point at in an answer: one thing in a text, and nothing where the text tells several."""

from pytest_agentbench.generation.tools.hydration.arguments import Executed, Option, options_of
from pytest_agentbench.generation.tools.values import Card, ParameterCard, Place, SemanticType, Taxonomy
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
