"""Requests in words: verbs of descriptions, names of arguments, which result a value comes from."""

from random import Random

import pytest

from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.values import Card, Handle, ParameterCard
from pytest_agentbench.generation.tools.wording.lines import request
from pytest_agentbench.generation.tools.wording.phrasing import TONGUES, label_of, language_of, task_of, tasks_text
from pytest_agentbench.generation.tools.wording.weaving import wish_text
from pytest_agentbench.generation.tools.wording.wishes import Reference, Wish

EN, FR = TONGUES["en"], TONGUES["fr"]


@pytest.mark.parametrize(
    ("description", "task"),
    [
        ("Look up an order.", "look up an order"),
        ("Returns the weather forecast for a position (15 days).", "give me the weather forecast for a position"),
        ("Searches books by title and returns their ids", "search books by title and give me their ids"),
        ("This tool allows you to cancel a reservation", "cancel a reservation"),
        ("Current weather at a position", "give me the current weather at a position"),
        ("Room availability", "give me the room availability"),
        ("Returns True if the member exists.", "tell me whether the member exists"),
        ("Geotags the picture", "geotag the picture"),
        ("What warnings mean", "tell me what warnings mean"),
        ("Warnings in force", "give me the warnings in force"),
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
        ("Prévisions météo à 15 jours", "me donner les prévisions météo à 15 jours"),
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
            ParameterCard(path="lon", schema_={"description": "Longitude"}),
            ParameterCard(path="days", schema_={"description": "Number of days"}),
        ),
    )
    wishes = [
        Wish(first, {"q": "Saint-Malo"}),
        Wish(second, {"days": 3}, Reference(places=(0,), count=4, taken=("lat", "lon"))),
    ]

    line = request(wishes, EN, Random(0), opens=True, asks_for="wind speed")

    assert "search for places matching Saint-Malo" in line
    assert "the forecast at the place of the first result" in line
    assert "3 days" in line
    assert "tell me the wind speed" in line
    assert "forecast(" not in line


def test_a_closed_list_is_said_in_words() -> None:
    """An underscore in a value of a closed list is a space to people; in an identifier it is not."""
    card = Card(
        tool="book",
        declared_description="Book a seat.",
        parameters=(ParameterCard(path="cabin", schema_={"enum": ["basic_economy"]}), ParameterCard(path="user")),
    )

    line = request([Wish(card, {"cabin": "basic_economy", "user": "ada_1"})], EN, Random(0), opens=True)

    assert "basic economy" in line
    assert "ada_1" in line


def card_of(description: str, **arguments: str) -> Card:
    """A tool with that description and those arguments."""
    return card_with(**arguments).model_copy(update={"declared_description": description})


ROOM = card_of("Describe a room: its price", room="Room number, for example 204")
ORDER = card_of("Cancel an order by its number.", order_id="Order number", reason="Reason for the cancellation")
WEATHER = card_of(
    "The weather of the next 15 days at GPS coordinates.", lat="Latitude in decimal degrees.", lon="Longitude."
)
WARNINGS = card_of("Warnings in force", domain="Number of a department, or 'all'.", lang="Language of the texts")
PARCEL = card_of("Donne le statut d'un colis.", numero="Numéro du colis, par exemple FR1041")
DEPOT = card_of("Décrit un dépôt : sa ville", code="Code du dépôt")
BOOKED = card_of("Cancel a booked appointment.", appointment="Number of the appointment")
KEYS = card_of("List the keys that a person holds.", person="Number of the person")
SESSION = card_of("Annule une séance.", seance="Code de la séance")
USER = card_of("Consulte l'abonnement d'un usager.", nom="Nom de l'usager")
PARIS = Handle(tool="geo", path="q", value="Paris", described="Name of a commune.", entry="g1", replaces=("lat", "lon"))


@pytest.mark.parametrize(
    ("wish", "before", "said"),
    [
        (Wish(ROOM, {"room": "204"}), "", "describe room 204"),
        (Wish(ROOM, {}, Reference((0,), 4, ("room",))), "find free rooms", "describe the first room"),
        (Wish(ROOM, {}, Reference((1,), 4, ("room",))), "list bookings", "describe the room of the second result"),
        (Wish(ROOM, {}, Reference((), 1, ("room",))), "look up a booking", "describe that room"),
        (
            Wish(ORDER, {"order_id": "W1", "reason": "late"}),
            "",
            "cancel order W1. The reason for the cancellation is late.",
        ),
        (
            Wish(WEATHER, {"lat": 48.859, "lon": 2.347}, None, PARIS),
            "",
            "give me the weather of the next 15 days in Paris",
        ),
        (
            Wish(WEATHER, {"lat": 48.86, "lon": 2.35}),
            "",
            "give me the weather of the next 15 days at latitude 48.86, longitude 2.35",
        ),
        (
            Wish(WEATHER, {}, Reference((), 1, ("lat", "lon"))),
            "find a place",
            "give me the weather of the next 15 days there",
        ),
        (Wish(WARNINGS, {"domain": "14"}), "", "give me the warnings in force for department 14"),
        (
            Wish(WARNINGS, {}, Reference((), 1, ("domain",))),
            "find a place",
            "give me the warnings in force for its department",
        ),
        (Wish(WARNINGS, {"lang": "de"}), "", "give me the warnings in force in German"),
        (Wish(BOOKED, {"appointment": "AP7"}), "", "cancel appointment AP7"),
        (Wish(KEYS, {"person": "P11"}), "", "list the keys that person P11 holds"),
    ],
)
def test_values_are_woven_into_what_is_asked_for(wish: Wish, before: str, said: str) -> None:
    """Where a description mentions a thing its value stands; places and languages are said by name."""
    assert wish_text(wish, EN, before=before) == said


@pytest.mark.parametrize(
    ("wish", "before", "said"),
    [
        (Wish(PARCEL, {"numero": "FR1041"}), "", "me donner le statut du colis FR1041"),
        (
            Wish(PARCEL, {}, Reference((1,), 3, ("numero",))),
            "lister les colis",
            "me donner le statut du deuxième colis",
        ),
        (Wish(DEPOT, {"code": "D12"}), "", "décrire le dépôt D12"),
        (Wish(SESSION, {}, Reference((0,), 3, ("seance",))), "lister les séances", "annuler la première séance"),
        (Wish(USER, {"nom": "Le Goff"}), "", "consulter l'abonnement de l'usager Le Goff"),
        (Wish(DEPOT, {}, Reference((), 1, ("code",))), "me donner le statut d'un colis", "décrire ce dépôt"),
    ],
)
def test_french_articles_follow_the_noun(wish: Wish, before: str, said: str) -> None:
    """`d'un colis` becomes `du colis FR1041`."""
    assert wish_text(wish, FR, before=before) == said


@pytest.mark.parametrize(
    ("tool", "description", "task"),
    [
        ("create_bucket", "POST /buckets", "create a bucket"),
        ("get_buckets", "GET /buckets", "get buckets"),
        ("patch_entry", "PATCH /books/{book_id}/entries/{id}", "patch an entry"),
        ("show", "Show a commit, or a file given as <revision>:<path>.", "show me a commit, or a file"),
    ],
)
def test_routes_and_patterns_are_for_programs(tool: str, description: str, task: str) -> None:
    """A REST tool that nobody described goes by its name; how a value is to be written is not said."""
    card = Card(tool=tool, declared_description=description)

    assert task_of(card, TONGUES["en"]) == task


RETURNED = card_of(
    "Take a unit back and close its hire.", contract="The hire contract", hours="What the hour meter shows"
)
KEPT = card_of("Keep a parcel for some more days.", tracking="", days="")
FOUND = card_of("Find a trade or private customer by phone number.", phone="Phone number")
FREE = card_of("Free consultation times of a vet on a day.", vet="Staff number of the vet", day="The day as YYYY-MM-DD")
DEPOTS = card_of("Our depots, all of them or those of a town.", town="Name of the town")
FROZEN = card_of(
    "Suspendre un abonnement jusqu'à une date.", numero="Numéro de l'abonnement", jusque="Date de reprise, AAAA-MM-JJ"
)
RENTED = card_of("Rendre un casier loué.", casier="Numéro du casier")


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        (
            Wish(RETURNED, {"contract": "HC-870", "hours": 310}),
            "take a unit back and close its hire. The hire contract is HC-870 and the hour meter shows 310.",
        ),
        (Wish(KEPT, {"tracking": "PX-1043", "days": 3}), "keep parcel PX-1043 for 3 more days"),
        (Wish(FOUND, {"phone": "+44 7700 900014"}), "find the customer with the phone number +44 7700 900014"),
        (
            Wish(FREE, {"vet": "V2", "day": "2026-12-07"}),
            "give me the free consultation times of vet V2 on 7 December 2026",
        ),
        (Wish(DEPOTS, {"town": "Skelmer"}), "give me your depots, those of the town Skelmer"),
        (Wish(DEPOTS, {}), "give me your depots, all of them"),
    ],
)
def test_a_line_says_values_as_people_do(wish: Wish, said: str) -> None:
    """Codes stand behind their things, dates are words, and what has no place in the request is said after it."""
    assert wish_text(wish, EN) == said


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        (
            Wish(FROZEN, {"numero": "AB690", "jusque": "2026-12-01"}),
            "suspendre l'abonnement AB690 jusqu'au 1er décembre 2026",
        ),
        (
            Wish(FROZEN, {"numero": "AB690"}, Reference((), 1, ("jusque",))),
            "suspendre l'abonnement AB690 jusqu'à cette date",
        ),
        (Wish(RENTED, {"casier": "K12"}), "rendre le casier K12"),
    ],
)
def test_a_french_line_says_values_as_people_do(wish: Wish, said: str) -> None:
    """Dates are contracted with what stands before them, and what a thing is known to be is left out."""
    assert wish_text(wish, FR) == said


def test_a_change_is_reported_and_an_answer_told() -> None:
    """`Report that …` of a tool that writes is no wish to be told something; the service's words are turned round."""
    fault = Card(tool="report", declared_description="Report that a unit is broken.", writes=True)
    status = Card(tool="status", declared_description="Report the status of our units.", writes=False)

    assert task_of(fault, EN) == "report that a unit is broken"
    assert task_of(status, EN) == "tell me the status of your units"
    assert task_of(status, EN, "you") == "tell you the status of their units"


@pytest.mark.parametrize(
    ("description", "argument", "task"),
    [
        ("Cancel a stay that has not begun yet.", "", "cancel a stay"),
        ("Move a course to a later day, at most 30 days later.", "", "move a course to a later day"),
        ("Mark a bike that is broken.", "", "mark a bike that is broken"),
        ("List the keys that a person holds.", "", "list the keys that a person holds"),
        ("Cancel a ticket and refund the buyer.", "Number of the ticket", "cancel a ticket"),
        ("Close a box and move the rest to another.", "Box for the rest", "close a box and move the rest to another"),
        ("Pay an invoice with the card on file.", "", "pay an invoice"),
        ("Pay an invoice with the card on file.", "Card to pay with", "pay an invoice with the card on file"),
        ("A guest with their stays", "", "show me a guest with their stays"),
        ("Annule un cours et recrédite la carte.", "Numéro du cours", "annuler un cours et recréditer la carte"),
        ("Annule un cours payé et recrédite l'élève.", "Numéro du cours", "annuler un cours payé"),
        ("Énumère les cours d'un élève.", "", "énumérer les cours d'un élève"),
        ("Réserve un livre dont tous les exemplaires sont sortis.", "", "réserver un livre"),
        ("Règle une note par la carte enregistrée.", "", "régler une note"),
    ],
)  # fmt: skip
def test_a_wish_is_the_first_clause_of_a_description(description: str, argument: str, task: str) -> None:
    """Conditions, limits, side effects and means are the tool's own; what an argument is for is asked for."""
    named = argument or "Number"
    card = Card(
        tool="do",
        declared_description=description,
        parameters=(ParameterCard(path="carte" if "carte" in task else "no", schema_={"description": named}),),
    )

    assert task_of(card, TONGUES[language_of([description])]) == task


def test_what_may_be_left_out_is_said_only_with_its_value() -> None:
    """`optionally only those of a kind` is part of a request that names the kind, and of no other."""
    card = Card(
        tool="find",
        declared_description="Find guides for a town, optionally only those of a language.",
        parameters=(ParameterCard(path="language"),),
    )

    line = request([Wish(card, {"language": "fr"})], EN, Random(0), opens=True)

    assert "French" in line
    assert "optionally" not in line
    assert tasks_text([card], EN, "you") == "find guides for a town"


def test_french_tasks_stand_behind_their_preposition() -> None:
    """*Demande d'annuler ..., de lui montrer ...*: each further task has a preposition of its own."""
    cards = [
        Card(tool="a", declared_description="Annule un cours"),
        Card(tool="b", declared_description="Liste les cours"),
    ]

    assert tasks_text(cards, FR, "third") == "annuler un cours et de lui montrer les cours"


@pytest.mark.parametrize(
    ("description", "arguments", "given", "said"),
    [
        (
            "Get a price for a text.",
            {"source": {"enum": ["en", "fr"]}, "target": {"enum": ["en", "fr"]}},
            {"source": "en", "target": "fr"},
            "get a price for a text from English into French",
        ),
        (
            "Find helpers for a pair of languages.",
            {"src_lang": {"description": "Language of the letter"}, "to": {"enum": ["en", "de"]}},
            {"src_lang": "de", "to": "en"},
            "find helpers from German into English",
        ),
        (
            "Free rooms of a house",
            {"from": {"description": "First day to look at", "format": "date"}},
            {"from": "2026-12-08"},
            "give me the free rooms of a house from 8 December 2026",
        ),
        (
            "Order a cake",
            {"client_id": {"description": "The client who pays."}},
            {"client_id": "C-4"},
            "order a cake for client C-4",
        ),
        (
            "Search clients by name or town",
            {"q": {"description": "Name or town, at least 3 letters"}},
            {"q": "B12"},
            "search clients matching B12",
        ),
        (
            "Cancel a tour",
            {"why": {"description": "Why it is off"}},
            {"why": "rain"},
            "cancel a tour. The reason: rain.",
        ),
        ("Cancel a tour", {"reason": {"enum": ["not_paid", "ill"]}}, {"reason": "not_paid"}, "The reason: not paid."),
        ("Book a tour", {"guideId": {}, "note": {}}, {"guideId": "G-1", "note": "calm"}, "for guide G-1"),
        (
            "Book a tour",
            {"note": {"description": "For the guide"}},
            {"note": "by the gate, please"},
            "Note for the guide: by the gate, please.",
        ),
        (
            "Price a text",
            {"words": {"description": "Number of words of the original"}},
            {"words": 900},
            "price a text for 900 words",
        ),
    ],
)
def test_values_are_said_as_people_say_them(
    description: str, arguments: dict[str, dict[str, object]], given: dict[str, JsonValue], said: str
) -> None:
    """Languages by name and with their direction, days behind their preposition, no names that only programs know."""
    parameters = tuple(ParameterCard(path=path, schema_=schema) for path, schema in arguments.items())

    text = wish_text(Wish(Card(tool="do", declared_description=description, parameters=parameters), given), EN)

    assert said in text


@pytest.mark.parametrize(
    ("description", "argument", "value", "said"),
    [
        ("Réserve un cours à l'école", ("jour", "Jour du cours"), "2026-12-03", "un cours pour le 3 décembre 2026 à"),
        ("Donne le solde d'une famille", ("d", "Numéro de dossier de la famille"), "F-3", "de la famille du dossier"),
        ("Donne le statut d'un colis", ("d", "Numéro de suivi du colis"), "T-3", "du colis T-3"),
    ],
)  # fmt: skip
def test_french_values_are_said_as_people_say_them(
    description: str, argument: tuple[str, str], value: str, said: str
) -> None:
    """A day is what a thing is for; the number of a file is no number of a family."""
    card = Card(
        tool="faire",
        declared_description=description,
        parameters=(ParameterCard(path=argument[0], schema_={"description": argument[1]}),),
    )

    assert said in request([Wish(card, {argument[0]: value})], FR, Random(0), opens=True)


def test_a_day_is_referred_to_as_one() -> None:
    """What is called `deliverOn` or `from` is a day to people."""
    card = Card(
        tool="order",
        declared_description="Order a cake.",
        parameters=(ParameterCard(path="deliverOn", schema_={"description": "Day of delivery", "format": "date"}),),
    )

    line = wish_text(Wish(card, {}, Reference(taken=("deliverOn",))), EN)

    assert line == "order a cake for that day"
