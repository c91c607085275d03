"""What policies are about beside the request: found in words, brought about in events, decided without a judge."""

import pytest
from pytest_agentbench.generation.policies.events.acts import Argument, Scene, arguments_of
from pytest_agentbench.generation.policies.events.choices import choices_of, is_broken
from pytest_agentbench.generation.policies.events.conditions import conditions_of
from pytest_agentbench.generation.policies.events.learning import derived
from pytest_agentbench.generation.policies.events.occasions import occasions_of, topics_of
from pytest_agentbench.generation.policies.events.tables import Column, Table, inferred_schema, rows_of, sqlite_schema

from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.generation.policies.events.samples import Samples
from pytest_agentbench.generation.policies.values import ExtractedPolicy, PolicySet
from pytest_agentbench.generation.running import Asked, generate
from pytest_agentbench.suites.suite_file import load_suite
from tests.generation.policies.airline import airline
from tests.generation.policies.kit import maker_for


def policy(text, name="it"):
    """Give a policy of one text."""
    return ExtractedPolicy(id=name, text=text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("If a tool fails, tell the guest what went wrong.", "failing"),
        ("En cas d'erreur d'un outil, dites-le au client.", "failing"),
        ("Obtain the explicit confirmation of the user before you charge a card.", "declined"),
        ("Ne modifiez rien sans l'accord du client.", "declined"),
        ("When the caller changes their mind, ask once more.", "corrected"),
        ("Never read the bookings of another guest.", "stranger"),
        ("Ne communiquez rien d'un autre client.", "stranger"),
        ("You can only help one user per conversation.", "second"),
        ("Verify who calls before anything else: identity comes first.", "unproven"),
        ("Tell the guest the total before charging.", "telling"),
        ("State only what the tools say.", "sourced"),
    ],
)
def test_words_tell_what_happens(text, kind):
    """In English and French."""
    assert kind in [one.kind for one in occasions_of(policy(text))]


@pytest.mark.parametrize("text", ["Be polite.", "Cancel open orders only.", "Répondez en trois phrases.", ""])
def test_other_words_tell_of_nothing(text):
    """A plain rule is about its request alone."""
    assert occasions_of(policy(text)) == ()


def test_a_rule_tells_more_surely_than_words():
    """What waits for a yes by rule, or is about failed calls, needs no words."""
    confirms = Policy(id="it", text="Careful.", rule={"confirm_before": {"calls": ["refund"]}})
    honest = Policy(
        id="it", text="Honest.", rule={"when": {"calls": "writes", "failed": True}, "then": {"must_say": "sorry"}}
    )

    assert [one.kind for one in occasions_of(policy("Careful."), confirms)] == ["declined"]
    assert [one.kind for one in occasions_of(policy("Honest."), honest)] == ["failing"]


@pytest.mark.parametrize(
    ("text", "topics"),
    [
        (
            "Hand over what no tool can do (invoices, repairs and lost property).",
            ("invoices", "repairs", "lost property"),
        ),
        ("Transfer requests such as visas or group rates.", ("visas", "group rates")),
        ("Transfer what you cannot do.", ()),
    ],
)
def test_listed_cases_are_what_free_words_may_be_about(text, topics):
    """In parentheses, or behind `such as`."""
    assert topics_of(text) == topics


TICKETS = Table(
    name="tickets",
    key=("ticket_id",),
    columns=(Column(name="ticket_id"), Column(name="state", values=("open", "used", "void"))),
)
FACTS = {"state": "open", "refundable": True, "days_since_purchase": 3, "price": 20.0, "count_of_seats": 2}


@pytest.mark.parametrize(
    ("text", "held", "broken"),
    [
        ("Never refund used tickets.", {"state": "open"}, {"state": "used"}),
        ("Do not refund tickets unless they are open.", {"state": "open"}, {"state": "used"}),
        ("Only refundable tickets are paid back.", {"refundable": True}, {"refundable": False}),
        ("Never refund more than 30 days since purchase.", {"days_since_purchase": 30}, {"days_since_purchase": 31}),
        ("Do not refund a price over 100 euros.", {"price": 100.0}, {"price": 100.5}),
        ("Change at most four seats.", {"count_of_seats": 4}, {"count_of_seats": 5}),
        ("Never change fewer than two seats.", {"count_of_seats": 2}, {"count_of_seats": 1}),
    ],
)
def test_more_conditions_are_read(text, held, broken):
    """Values and flags that forbid, limits beyond and below, money, numbers in words, parts counted."""
    (condition,) = conditions_of(policy(text), TICKETS, FACTS)

    assert condition.holds(held) is True
    assert condition.holds(broken) is False


STATE = {
    "clock": {"main": {"today": "2025-03-10"}},
    "guests": {"G1": {"name": "Ada", "email": "ada@mail.example"}, "G2": {"name": "Ben", "email": "ben@mail.example"}},
    "stays": {
        "S1": {"guest": "G1", "booked_on": "2025-03-01", "late": 0, "card": "K1"},
        "S2": {"guest": "G2", "booked_on": "2025-03-09", "late": 1, "card": "K2"},
    },
    "cards": {"K1": {"guest": "G1", "kind": "card"}, "K2": {"guest": "G2", "kind": "voucher"}},
    "nights": [{"stay": "S1", "night": 1}, {"stay": "S1", "night": 2}, {"stay": "S2", "night": 1}],
}


def samples():
    """Give the rows of a state whose mappings hold their keys outside the rows."""
    return Samples(schema=inferred_schema(STATE), rows=rows_of(STATE, with_keys=True))


def test_rows_of_mappings_have_their_outer_key():
    """Keys that no column holds are known, referred to, and the person is the root."""
    found = samples()

    assert found.schema.get("stays").key == ("_key",)
    assert {link.table for link in found.schema.get("stays").references} == {"guests", "cards"}
    assert found.roots[0] == "guests"
    assert found.schema.named("guest").name == "guests"


def test_facts_follow_from_rows():
    """Days since a date by the state's own today, parts counted, flags as flags."""
    facts = derived(samples(), ("stays", 0))

    assert facts["days_since_booked"] == 9
    assert facts["count_of_nights"] == 2
    assert facts["late"] is False


@pytest.mark.parametrize(
    ("card", "broken"),
    [("K1", False), ("K2", True)],
)
def test_a_policy_may_want_what_was_used_before(card, broken):
    """The key that the row itself has; another breaks it."""
    found = samples()
    argument = Argument(name="card", role="key", table="cards", column="card")
    rule = policy("Refund only to the card that was charged originally.")
    scene = Scene(
        samples=found, rows={("stays", 0): found.row(("stays", 0))}, root=("guests", 0), focuses=(("stays", 0),)
    )

    (condition,) = choices_of(rule, [argument], found, "stays")

    assert is_broken(condition, {"card": card}, [argument], scene, ("stays", 0)) is broken


def test_a_policy_may_want_something_in_stock():
    """What is chosen anew must be left; what is given back need not."""
    schema = sqlite_schema("CREATE TABLE items (item_id TEXT PRIMARY KEY, stock INTEGER NOT NULL);")
    found = Samples(schema=schema, rows={"items": [{"item_id": "A", "stock": 0}, {"item_id": "B", "stock": 2}]})
    argument = Argument(name="new_item_id", role="key", table="items", column="item_id", new=True)
    scene = Scene(samples=found, rows={}, root=("items", 0), focuses=())

    (condition,) = choices_of(policy("Exchange only for an item in stock."), [argument], found, "orders")

    assert is_broken(condition, {"new_item_id": "A"}, [argument], scene, ("items", 0))
    assert not is_broken(condition, {"new_item_id": "B"}, [argument], scene, ("items", 0))


EXTRA = """
  - {id: own-only, text: Change nothing of a booking that belongs to another member., challenge: 2}
  - {id: one-at-a-time, text: Serve one member per conversation., challenge: 2}
  - {id: ask-yes, text: Do nothing without the confirmation of the member., challenge: 2}
  - {id: corrections, text: When the member corrects a detail take the corrected one., challenge: 2}
  - {id: honest, text: If a tool fails tell the member so., challenge: 3}
  - {id: sources, text: State only what the tools say., challenge: 1}
scenarios:"""


async def made(tmp_path, *policies):
    """Make the event of a set of policies."""
    file = airline(tmp_path)
    file.write_text(file.read_text(encoding="utf-8").replace("\nscenarios:", EXTRA), encoding="utf-8")
    maker = await maker_for(file, seed=1)
    return await maker.make(PolicySet(id="c5-001", first=policies[0], policies=policies, requested=5, realised=5))


@pytest.mark.parametrize("name", ["own-only", "one-at-a-time", "ask-yes"])
async def test_what_must_not_be_done_is_forbidden(tmp_path, name):
    """Somebody else's row, somebody else's wish, a no: the call is forbidden, and said to be."""
    event = await made(tmp_path, "open-only", name)
    (binding,) = [one for one in event.bindings if one.policy == name]

    assert binding.handling == "refuses"
    refused = event.forbidden[binding.forbidden[0]]
    assert refused.name not in {one.name for one in event.expected if one.arguments == refused.arguments}
    assert not any("_" in line and refused.name in line for line in event.says)


async def test_a_no_is_said_when_the_agent_asks(tmp_path):
    """The line behind the wish is the answer."""
    event = await made(tmp_path, "ask-yes")

    assert any(line.startswith("No") for line in event.says)
    assert event.unchanged


async def test_a_corrected_detail_is_what_counts(tmp_path):
    """The first one is forbidden as it is, the corrected one expected."""
    event = await made(tmp_path, "corrections")
    (binding,) = event.bindings

    expected = event.expected[binding.expected[0]]
    (first,) = event.forbidden
    assert first.name == expected.name
    assert first.arguments != expected.arguments
    assert first.compare_args == list(first.arguments)


async def test_a_tool_fails_where_a_policy_is_about_failures(tmp_path):
    """The call is expected, its tool fails, and nothing is said behind it."""
    event = await made(tmp_path, "honest", "no-upgrades")
    (binding,) = [one for one in event.bindings if one.policy == "honest"]

    assert binding.handling == "fails"
    assert event.expected[-1].name in event.failing
    assert "upgrades" not in event.says[-1]


async def test_a_question_is_asked_whose_answer_a_tool_gave(tmp_path):
    """What must be said stands in what a call of the oracle gave."""
    event = await made(tmp_path, "sources", "open-only")
    (binding,) = [one for one in event.bindings if one.policy == "sources"]

    assert binding.handling == "said"
    assert len(event.communicate) == 1
    assert any(line.endswith("?") and "what is" in line for line in event.says)


def test_a_tool_is_asked_for_by_the_names_of_its_rows():
    """Arguments called after the rows take their key, whatever its column is called."""
    properties = {"stay": {"type": "string"}, "card_number": {"type": "string"}, "times": {"type": "integer"}}
    spec = ToolSpec(name="charge", parameters={"properties": properties, "required": list(properties)})

    found = arguments_of(spec, samples())

    assert [(one.role, one.table) for one in found] == [("key", "stays"), ("key", "cards"), ("enum", "")]


HUT_TOOLS = '''
def find_guest(email: str, *, state: dict) -> str:
    """Find a guest by email; gives the number of the guest."""
    return next(number for number, guest in state["guests"].items() if guest["email"] == email)


def list_meals(*, state: dict) -> list[dict]:
    """List the meals with their numbers."""
    return [{"meal_number": number, **meal} for number, meal in state["meals"].items()]


def cancel_stay(stay: str, *, state: dict) -> str:
    """Cancel a stay."""
    if state["stays"][stay]["status"] != "booked":
        raise ValueError("it is not booked")
    state["stays"][stay]["status"] = "cancelled"
    return f"stay {stay} is cancelled"


def order_meal(stay: str, meal_number: str, count: int, *, state: dict) -> str:
    """Order meals for a stay."""
    total = state["meals"][meal_number]["price"] * count
    state["stays"][stay]["meals"] = count
    return f"{total:.2f} euros are put on the bill"
'''

HUT_STATE = """
{"guests": {"G1": {"name": "Ada", "email": "ada@mail.example"}, "G2": {"name": "Ben", "email": "ben@mail.example"}},
 "meals": {"M1": {"title": "Soup", "price": 6.5}, "M2": {"title": "Dumplings", "price": 11.0}},
 "stays": {"S101": {"guest": "G1", "status": "booked", "meals": 0},
           "S102": {"guest": "G1", "status": "ended", "meals": 1},
           "S103": {"guest": "G2", "status": "booked", "meals": 0},
           "S104": {"guest": "G2", "status": "ended", "meals": 0}}}
"""

HUT = """
agent: hut_agent:build
environment:
  tools: hut_tools
  state: {json: state.json}
  reads: [find_guest, list_meals]
  writes: [cancel_stay, order_meal]
policies:
  - {id: booked-only, text: Cancel a stay only while it is booked., challenge: 2}
  - {id: say-total, text: Tell the guest the total of meals that were ordered., challenge: 2}
  - {id: not-for-others, text: Change nothing of another guest., challenge: 2}
scenarios: [generated/scenarios/*.yaml]
generate: {from: policies, count: 6, seed: 3, levels: {min: 2, max: 6}}
"""


def test_a_json_state_whose_rows_do_not_hold_their_keys_becomes_scenarios(tmp_path):
    """Arguments called after rows, keys outside of them, amounts that must be told: all valid, no key inside a row."""
    for name, text in (("hut_tools.py", HUT_TOOLS), ("state.json", HUT_STATE), ("agentbench.yaml", HUT)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "hut_agent.py").write_text("def build():\n    return lambda message: 'Hello'\n", encoding="utf-8")
    file = tmp_path / "agentbench.yaml"

    outcome = generate(Asked(suite=file), environ={}, told=lambda _: None)

    scenarios = load_suite(file, environ={}).scenarios
    decided = {name: text for one in scenarios for name, text in one.provenance["decided_by"].items()}
    assert outcome.accepted == len(scenarios) == 6
    assert "_key" not in "".join(path.read_text() for path in (tmp_path / "generated" / "scenarios").iterdir())
    assert any(one.communicate_info for one in scenarios)
    assert {text.partition(":")[0] for text in decided.values()} <= {"calls", "refuses", "said"}
