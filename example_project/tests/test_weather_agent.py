"""What the weather agent hears, asks, looks up and says."""

from collections.abc import Callable
from typing import Any

import pytest
from weather.agent import build
from weather.hearing import Request, Spot, Wish, in_french, requests
from weather.service.answers import Answers, RefusedError, Settings

Talk = Callable[..., tuple[list[str], list[tuple[str, dict[str, Any]]]]]

OPERATIONS = ("search_places", "forecast", "observation", "rain_nowcast", "alerts", "bulletin", "warning_dictionary")


@pytest.fixture
def talk() -> Talk:
    """Say lines to a new agent; give its replies and the calls it made."""

    def say(*lines: str, broken: bool = False, **settings: bool) -> Any:
        answers = Answers(Settings(broken_geocoder=broken))
        calls: list[tuple[str, dict[str, Any]]] = []

        def tool(name: str) -> Callable[..., Any]:
            def call(**arguments: Any) -> Any:
                calls.append((name, arguments))
                try:
                    return getattr(answers, name)({key: str(value) for key, value in arguments.items()})
                except RefusedError as refusal:
                    raise RuntimeError(refusal.detail) from refusal

            call.__name__ = name
            return call

        agent = build([tool(name) for name in OPERATIONS], **settings)
        return [agent(line) for line in lines], calls

    return say


@pytest.mark.parametrize(
    ("text", "wish", "spot", "day"),
    [
        ("What is the weather in Lyon tomorrow?", Wish.FORECAST, Spot(name="Lyon"), 1),
        ("Will it rain in Brest?", Wish.RAIN, Spot(name="Brest"), None),
        ("Quel temps fera-t-il après-demain à La Rochelle ?", Wish.FORECAST, Spot(name="La Rochelle"), 2),
        ("Il pleut à Saint-Jean-de-Luz ?", Wish.RAIN, Spot(name="Saint-Jean-de-Luz"), None),
        ("Conditions actuelles à 48.86, 2.35 ?", Wish.NOW, Spot(coordinates=(48.86, 2.35)), None),
        ("latitude 48.86 and longitude -2.35: forecast?", Wish.FORECAST, Spot(coordinates=(48.86, -2.35)), None),
        ("Any warnings for department 2A?", Wish.ALERTS, Spot(department="2A"), None),
        ("Le bulletin de vigilance du département du Rhône", Wish.BULLETIN, Spot(department="69"), None),
        ("Vigilance dans les Côtes-d'Armor ?", Wish.ALERTS, Spot(department="22"), None),
        ("What does orange mean?", Wish.MEANING, None, None),
        ("The forecast for Nice in 12 days, please", Wish.FORECAST, Spot(name="Nice"), 12),
        ("Could you find the place Bar-le-Duc?", Wish.PLACE, Spot(name="Bar-le-Duc"), None),
        ("Please find that place.", Wish.PLACE, None, None),
        (
            "Now please give me the rain in Nancy, and tell me the name of the commune.",
            Wish.RAIN,
            Spot(name="Nancy"),
            None,
        ),
    ],
)
def test_hears_what_where_and_when(text: str, wish: Wish, spot: Spot | None, day: int | None) -> None:
    """English and French, names, postcodes, coordinates and departments."""
    assert requests(text) == [Request(wish=wish, spot=spot, day=day)]


def test_hears_in_which_language_names_are_wanted() -> None:
    """A language is no place."""
    assert requests("Tell me what warnings mean in German.") == [Request(wish=Wish.MEANING, spot=None, lang="de")]


@pytest.mark.parametrize(
    ("text", "french"), [("Bonjour, quel temps fait-il ?", True), ("Is it raining?", False), ("Lyon", None)]
)
def test_hears_the_language(text: str, french: bool | None) -> None:
    """A bare name tells no language."""
    assert in_french(text) is french


def test_looks_places_up_before_their_weather(talk: Talk) -> None:
    """A place is looked up once; what a message leaves open is taken from the last."""
    replies, calls = talk("What is the weather in Lyon tomorrow?", "And the current conditions?", "Any warnings?")

    assert [name for name, _ in calls] == [
        "search_places",
        "forecast",
        "observation",
        "alerts",
        "warning_dictionary",
    ]
    assert calls[1][1] == {"lat": 45.749, "lon": 4.848, "lang": "en"}
    assert calls[3][1] == {"domain": "69"}
    assert replies[0] == "Lyon (173 m), 2026-03-17: sunny, 8.1 to 12.6 °C, 0.0 mm of rain."


def test_asks_for_what_is_missing_and_goes_on_with_the_answer(talk: Talk) -> None:
    """The request that was open is answered."""
    replies, calls = talk("I need the forecast.", "Grenoble")

    assert replies[0].startswith("For which place is that?")
    assert [name for name, _ in calls] == ["search_places", "forecast"]


def test_several_places_in_one_message(talk: Talk) -> None:
    """One answer for each."""
    _, calls = talk("Donnez-moi la vigilance des départements 75, 44 et 13, s'il vous plaît.")

    assert [arguments["domain"] for name, arguments in calls if name == "alerts"] == ["75", "44", "13"]


def test_says_what_it_does_not_find(talk: Talk) -> None:
    """An empty answer is not taken for weather, and nothing is asked of coordinates that are not known."""
    replies, calls = talk("What is the forecast for Atlantis?", "Il pleut à Paris ?", broken=True)

    assert replies == ["I do not find a place called Atlantis.", "Je ne trouve pas de lieu nommé Paris."]
    assert {name for name, _ in calls} == {"search_places"}


def test_says_what_the_service_refuses(talk: Talk) -> None:
    """The reason is the service's."""
    replies, _ = talk("Will it rain in Cayenne?")

    assert replies == ["That is not available for Cayenne: No rain forecast outside metropolitan France."]


def test_the_inverted_variant_swaps_latitude_and_longitude(talk: Talk) -> None:
    """Everywhere, which the service answers with nothing."""
    replies, calls = talk("What is the weather in Lyon tomorrow?", swap_coordinates=True)

    assert calls[1] == ("forecast", {"lat": 4.848, "lon": 45.749, "lang": "en"})
    assert replies == ["There are no weather data for Lyon."]


def test_small_talk(talk: Talk) -> None:
    """A greeting is answered, and so are thanks."""
    replies, calls = talk("Hello!", "Thanks, bye!", "Merci, au revoir")

    assert [reply[:7] for reply in replies] == ["Hello! ", "You are", "Je vous"]
    assert calls == []
