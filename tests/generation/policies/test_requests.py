"""Requests and refusals on a service that nothing was built with: things in places, for nights, found by a phone."""

import json

import pytest
import yaml
from pytest_agentbench.generation.policies.events.acts import Argument, Proposal, Said
from pytest_agentbench.generation.policies.events.conditions import limits_on

from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.generation.policies.events.requests import Speech, described
from pytest_agentbench.generation.running import Asked, generate

TOOLS = '''
def trunks_of(state: dict, phone: str) -> list[dict]:
    """List the trunks of a traveller by phone number."""
    return [dict(one, pin=None) for one in state["trunks"].values() if one["phone"] == phone]


def get_trunk(state: dict, tag: str) -> dict:
    """Details of one trunk."""
    return {name: value for name, value in state["trunks"][tag].items() if name != "pin"}


def shift_trunk(state: dict, tag: str, shelf: str) -> str:
    """Move a trunk to another shelf."""
    if state["shelves"][shelf]["trunk"] or tag not in state["trunks"]:
        raise ValueError("that does not work")
    for one in state["shelves"].values():
        if one["trunk"] == tag:
            one["trunk"] = None
    state["shelves"][shelf]["trunk"] = tag
    state["trunks"][tag]["shelf"] = shelf
    return "moved"


def extend_stay(state: dict, tag: str, nights: int) -> dict:
    """Store a trunk for some more nights (1-6)."""
    if not 1 <= nights <= 6:
        raise ValueError("1 to 6 nights")
    state["trunks"][tag]["stay_nights"] += nights
    return {"tag": tag}
'''
RULES = """# Left luggage

- Ask for the phone number before you tell anything about a trunk.
- Never tell a traveller about trunks of another phone number.
- Move a trunk only after the traveller has confirmed the new shelf.
- A trunk can be moved at most twice a day.
- Only move trunks within the same hall.
- You may extend the stay by at most 6 nights in total.
- If the stay of a trunk is more than 5 nights already, refuse to extend it.
- Do not give the trunk pin in the chat.
"""
RECIPE = """
agent: luggage:build
environment: {tools: luggage, state: {json: state.json}}
generate: {from: policies, document: rules.md, count: 12, seed: 5, out: made}
scenarios: [made/scenarios/*.yaml]
"""
HALLS = ("East", "West")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Twelve scenarios of the service, and the state that it starts from."""
    folder = tmp_path_factory.mktemp("luggage")
    (folder / "luggage.py").write_text(TOOLS)
    (folder / "rules.md").write_text(RULES)
    (folder / "agentbench.yaml").write_text(RECIPE)
    trunks = {
        f"TR-{310 + 7 * at}": {
            "tag": f"TR-{310 + 7 * at}",
            "phone": f"+44 7700 90061{at % 3}",
            "shelf": f"{HALLS[at % 2][0]}-{at}",
            "stay_nights": 2 + at % 2,
            "pin": str(5100 + 37 * at),
        }
        for at in range(6)
    }
    shelves = {one["shelf"]: {"hall": HALLS[at % 2], "trunk": tag} for at, (tag, one) in enumerate(trunks.items())}
    shelves |= {f"{hall[0]}-{at}": {"hall": hall, "trunk": None} for hall in HALLS for at in (20, 21)}
    (folder / "state.json").write_text(json.dumps({"trunks": trunks, "shelves": shelves}))
    generate(Asked(suite=folder / "agentbench.yaml"), environ={}, told=lambda _: None)
    files = sorted((folder / "made" / "scenarios").glob("*.yaml"))
    return folder, [yaml.safe_load(one.read_text()) for one in files], shelves


def calls(scenario, name, key="expect"):
    """Give the arguments of a scenario's calls of a tool."""
    return [one[name] for one in scenario.get(key, ()) if name in one]


def words_of(line):
    """Give the words of a line of a script, which may stand under what is meant by it."""
    return [line] if isinstance(line, str) else list(line.values())


def test_requests_name_the_thing_and_vary(made):
    """Both writing tools are asked for, tag and value in words; a tool that only calls tell to read finds who asks."""
    _, scenarios, _ = made

    said = [" ".join(word for line in one["says"] for word in words_of(line)) for one in scenarios]

    assert len(scenarios) == 12
    assert {name for one in scenarios for call in one["expect"] for name in call} >= {"shift_trunk", "extend_stay"}
    for scenario, words in zip(scenarios, said, strict=True):
        for arguments in calls(scenario, "extend_stay"):
            assert f"trunk {arguments['tag']} for {arguments['nights']} more night" in words
        for arguments in calls(scenario, "shift_trunk"):
            assert f"trunk {arguments['tag']} to shelf {arguments['shelf']}" in words
        assert "stay," not in words
        assert calls(scenario, "trunks_of") == [{"phone": scenario["knows"]["phone"]}]


def test_a_place_elsewhere_is_refused_and_one_nearby_is_not(made):
    """`within the same hall` is read off the place that the trunk has and the one that it is to have."""
    _, scenarios, shelves = made

    for scenario in scenarios:
        for call in calls(scenario, "shift_trunk"):
            now = scenario["state"]["trunks"][call["tag"]]["shelf"]
            halls = {**shelves, **scenario["state"]["shelves"]}
            assert halls[now]["hall"] == halls[call["shelf"]]["hall"]


@pytest.mark.parametrize(
    ("text", "noun", "limits"),
    [
        ("No more than three packs go out at once.", "packs", [3]),
        ("You may extend it by at most 7 days in total.", "extra_days", [7]),
        ("If it was kept for more than 5 days, refuse.", "days", []),
        ("Never lend more than 4 books.", "books", [4]),
        ("At most 7 days.", "guests", []),
    ],
)
def test_limits_on_what_is_asked_for(text, noun, limits):
    """A limit counts where its unit is what is asked for; one on what there is already is another matter."""
    assert limits_on(text, noun) == limits


@pytest.mark.parametrize(
    ("description", "words"),
    [
        ("Move a booking to another table.", "move booking BK-7 to table T4"),
        ("Put a booking on hold for a guest at another table.", "put booking BK-7 on hold for me at table T4"),
        ("Takes the booking of the guest, checks whether it may be moved at all, and then moves it where told.", None),
    ],
)
def test_descriptions_word_requests_where_they_are_written_for_people(description, words):
    """Values stand behind their nouns, a guest speaks of itself; what explains a tool to an agent is no request."""
    spec = ToolSpec(
        name="move_booking",
        description=description,
        kind="write",
        parameters={"properties": {"booking": {"type": "string"}, "table": {"type": "string"}}},
    )
    arguments = tuple(Argument(name=name, role="key", table=f"{name}s", column="id") for name in ("booking", "table"))
    said = (Said(argument="booking", how="which", text="BK-7"), Said(argument="table", how="to", text="T4"))
    proposal = Proposal(tool="move_booking", arguments={"booking": "BK-7", "table": "T4"}, said=said)

    request = described(
        proposal, Speech(tools={spec.name: spec}, arguments={spec.name: arguments}, asking="guests"), "en"
    )

    assert (request.task if request else None) == words
