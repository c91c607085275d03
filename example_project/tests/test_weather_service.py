"""The weather service answers over HTTP, the same in every process, and not always as its document declares."""

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from datetime import date
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

import pytest
from weather.service.answers import Answers, RefusedError, Settings
from weather.service.places import communes, departments
from weather.service.server import WeatherServer

Ask = Callable[..., tuple[int, Any]]


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """Ask a running service; give status and body."""
    with WeatherServer(Settings()) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()

        def ask_it(path: str, **query: object) -> tuple[int, Any]:
            try:
                with urllib.request.urlopen(f"{server.url}/v1/{path}?{urlencode(query)}") as answer:  # noqa: S310 - ours
                    return answer.status, json.load(answer)
            except urllib.error.HTTPError as error:
                return error.code, json.load(error)

        yield ask_it
        server.shutdown()


def test_places_are_found_by_name_and_postcode(ask: Ask) -> None:
    """Case, accents and hyphens make no difference."""
    found = {"latitude": 45.434, "longitude": 4.39, "insee_code": "42218"}

    assert (
        ask("places", q="Saint-Étienne") == ask("places", q="saint etienne") == ask("places", q="42000") == (200, found)
    )


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("places", {"q": "Atlantis"}),
        ("places", {"q": "99999"}),
        ("forecast", {"lat": 90, "lon": 2}),
        ("observation", {"lat": 0, "lon": 0}),
    ],
)
def test_what_is_not_known_is_an_empty_success(ask: Ask, path: str, query: dict[str, Any]) -> None:
    """Unknown places and coordinates without data are answered with {}."""
    assert ask(path, **query) == (200, {})


@pytest.mark.parametrize(
    ("path", "query", "refused"),
    [
        ("places", {"q": ""}, (500, "Unexpected Error")),
        ("bulletin", {}, (400, "Missing required key: domain")),
        ("bulletin", {"domain": "971"}, (500, "Unexpected Error")),
        *(
            ("alerts", {"domain": domain}, (500, "Incorrect type for key 'phenomenons_max_colors'"))
            for domain in ("france", "France", "971", "75 ", "", "20")
        ),
        ("alerts", {"domain": "75", "depth": 2}, (400, "Incorrect value for key: depth")),
        ("rain", {"lat": 4.938, "lon": -52.335}, (400, "No rain forecast outside metropolitan France")),
        ("forecast", {"lat": "north", "lon": 2}, (400, "Incorrect type for key: lat")),
        ("forecast", {"lat": 48}, (400, "Missing required key: lon")),
        ("nowhere", {}, (404, "Not Found")),
    ],
)
def test_refusals(ask: Ask, path: str, query: dict[str, Any], refused: tuple[int, str]) -> None:
    """What the service refuses, and what it breaks on."""
    status, detail = refused

    assert ask(path, **query) == (status, {"detail": detail})


def test_every_metropolitan_department_has_warnings(ask: Ask) -> None:
    """Ninety-six of them, Corsica's two among them, the overseas ones not."""
    assert len(departments()) == 96
    assert all(ask("alerts", domain=number)[0] == ask("bulletin", domain=number)[0] == 200 for number in departments())


def test_languages_count_where_they_do(ask: Ask) -> None:
    """The forecast has two, the dictionary takes English alone for another, the others stay French."""
    paris = {"lat": 48.859, "lon": 2.347}

    assert ask("forecast", **paris) != ask("forecast", **paris, lang="en")
    assert ask("dictionary", lang="de") == ask("dictionary") != ask("dictionary", lang="en")
    assert ask("observation", **paris) == ask("observation", **paris, lang="en")
    assert ask("rain", **paris) == ask("rain", **paris, lang="en")


def test_the_description_of_a_day_ends_before_the_forecast(ask: Ask) -> None:
    """Fifteen days, ten of them described, though the document requires it of all."""
    _, answer = ask("forecast", lat=43.703, lon=7.266)

    assert ["weather12H" in day for day in answer["daily_forecast"]] == [True] * 10 + [False] * 5


def test_rain_codes_do_not_tell_how_hard_it_rains() -> None:
    """Code 2 is weak rain here and moderate rain there."""
    answers = Answers(Settings())
    said = {
        (step["rain"], step["desc"])
        for place in communes()
        if place.metropolitan
        for step in answers.to("/v1/rain", {"lat": str(place.latitude), "lon": str(place.longitude)})["forecast"]
    }

    assert {(1, "Temps sec"), (2, "Pluie faible"), (2, "Pluie modérée")} <= said
    assert {desc for code, desc in said if code == 1} == {"Temps sec"}


def test_the_same_seed_and_day_give_the_same_weather() -> None:
    """Another seed or day gives another one."""
    query = {"lat": "48.859", "lon": "2.347"}
    worlds = [Settings(), Settings(), Settings(seed=8), Settings(today=date(2026, 7, 1))]

    first, again, *others = [Answers(world).to("/v1/forecast", query) for world in worlds]

    assert first == again
    assert first not in others


def test_a_broken_geocoder_finds_nothing() -> None:
    """A success without content for every place, and the one error that it has."""
    answers = Answers(Settings(broken_geocoder=True))

    assert answers.to("/v1/places", {"q": "Paris"}) == {}
    with pytest.raises(RefusedError, match="Unexpected Error"):
        answers.to("/v1/places", {"q": ""})


def test_no_insee_code_is_a_postcode() -> None:
    """Else what one operation gives would lead another one astray."""
    assert not {place.insee_code for place in communes()} & {place.postcode for place in communes()}


def test_the_document_names_every_operation() -> None:
    """Its paths are those that are answered."""
    document = json.loads((files("weather.service") / "openapi.json").read_text(encoding="utf-8"))
    names = {operation["get"]["operationId"]: path for path, operation in document["paths"].items()}

    assert names.keys() == {
        "search_places",
        "forecast",
        "observation",
        "rain_nowcast",
        "alerts",
        "bulletin",
        "warning_dictionary",
    }
    assert all(answered("/v1" + path) for path in names.values())
    assert not answered("/v1/nowhere")


def answered(path: str) -> bool:
    """Whether there is an operation at a path, whatever it says to a request without a query."""
    try:
        Answers(Settings()).to(path, {})
    except RefusedError as refusal:
        return refusal.status != 404
    return True
