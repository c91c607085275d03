"""Requests in words: verbs of descriptions, names of arguments, which result a value comes from."""

from random import Random

import pytest

from pytest_agentbench.generation.tools.phrasing import (
    TONGUES,
    Reference,
    Wish,
    label_of,
    language_of,
    request,
    task_of,
)
from pytest_agentbench.generation.tools.values import Card, ParameterCard

EN, FR = TONGUES["en"], TONGUES["fr"]


@pytest.mark.parametrize(
    ("description", "task"),
    [
        ("Look up an order.", "look up an order"),
        ("Returns the weather forecast for a position (15 days).", "give me the weather forecast for a position"),
        ("Searches books by title and returns their ids", "search books by title and give me their ids"),
        ("This tool allows you to cancel a reservation", "cancel a reservation"),
        ("Current weather at a position", "give me current weather at a position"),
        ("Room availability", "give me the room availability"),
        ("Returns True if the member exists.", "tell me whether the member exists"),
        ("Geotags the picture", "geotag the picture"),
        ("Use this to find flights, e.g. to Rome", "find flights"),
        ("Get the `order_id` of a parcel", "get the order id of a parcel"),
        ("", "list open tickets"),
    ],
)
def test_an_english_description_becomes_what_a_user_asks_for(description: str, task: str) -> None:
    """The first sentence as an infinitive, without asides, examples and code; the tool's words where there is none."""
    assert task_of(Card(tool="list_open_tickets", declared_description=description), EN) == task


@pytest.mark.parametrize(
    ("description", "task"),
    [
        ("Recherche une commune par nom ou code postal.", "rechercher une commune par nom ou code postal"),
        ("Cet outil permet de réserver une chambre", "réserver une chambre"),
        ("Renvoie l'état d'un colis", "me donner l'état d'un colis"),
        ("Rafraîchit le cache", "rafraîchir le cache"),
        ("Créer un dossier", "créer un dossier"),
        ("Prévisions météo à 15 jours", "me donner ceci : prévisions météo à 15 jours"),
    ],
)
def test_a_french_description_becomes_what_a_user_asks_for(description: str, task: str) -> None:
    """Infinitives, third persons and nouns are understood."""
    assert task_of(Card(tool="outil", declared_description=description), FR) == task
    assert language_of([description]) == "fr"


def test_a_hostile_description_ends_up_as_plain_words() -> None:
    """Escape sequences and endless text of a server do not reach a user's line."""
    card = Card(tool="look", declared_description="Look\x1b[31m up\u202e a thing " + "x" * 100_000)

    task = task_of(card, EN)

    assert task.startswith("look up")
    assert "\x1b" not in task
    assert "\u202e" not in task
    assert len(task) < 1_000


def card_with(**descriptions: str) -> Card:
    """A card whose arguments have these descriptions."""
    parameters = [ParameterCard(path=path, schema_={"description": text}) for path, text in descriptions.items()]
    return Card(tool="search", declared_description="Search for places.", parameters=tuple(parameters))


def test_arguments_are_named_as_people_would() -> None:
    """A description that is a name is taken; one that explains, or that another argument has too, is not."""
    card = card_with(
        q="Town or postal code", lat="", checkIn="ISO date", checkOut="ISO date", n="The number of results, at most 10"
    )

    assert label_of(card, "q", EN) == "town or postal code"
    assert label_of(card, "lat", EN) == "latitude"
    assert label_of(card, "checkIn", EN) == "check in"
    assert label_of(card, "n", EN) == "number of results"


def test_a_request_says_every_value_and_which_result_is_meant() -> None:
    """A turn with two calls is one line: what is asked for, the values, where the others come from."""
    first = card_with(q="Town or postal code")
    second = Card(
        tool="forecast",
        declared_description="Returns the forecast for a position.",
        parameters=(
            ParameterCard(path="lat", schema_={"description": "Latitude"}),
            ParameterCard(path="days", schema_={"description": "Number of days"}),
        ),
    )
    wishes = [
        Wish(first, {"q": "Saint-Malo"}),
        Wish(second, {"days": 3}, Reference(places=(0,), count=4, taken=("lat",))),
    ]

    line = request(wishes, EN, Random(0), opens=True, asks_for="wind speed")

    assert "search for places (town or postal code: Saint-Malo)" in line
    assert "using the latitude of the first result (number of days: 3)" in line
    assert "tell me its wind speed" in line
    assert "forecast(" not in line


def test_a_closed_list_is_said_in_words() -> None:
    """An underscore in a value of a closed list is a space to people; in an identifier it is not."""
    card = Card(
        tool="book",
        declared_description="Book a seat.",
        parameters=(ParameterCard(path="cabin", schema_={"enum": ["basic_economy"]}), ParameterCard(path="user")),
    )

    line = request([Wish(card, {"cabin": "basic_economy", "user": "ada_1"})], EN, Random(0), opens=True)

    assert "cabin: basic economy" in line
    assert "user: ada_1" in line
