"""What the service answers to each request: its seven operations, as they behave rather than as they are declared."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from weather.service.places import departments, find, nearest
from weather.service.sky import Sky
from weather.service.warnings import Warnings, dictionary


class RefusedError(Exception):
    """A request that is not answered: the HTTP status and what is said."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The world that is served. `broken_geocoder`: every search for a place finds nothing."""

    seed: int = 7
    today: date = date(2026, 3, 16)
    broken_geocoder: bool = False


class Answers:
    """Answers requests by path and query."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._sky = Sky(seed=settings.seed, today=settings.today)
        self._warnings = Warnings(seed=settings.seed, today=settings.today)
        self._operations: dict[str, Callable[[Mapping[str, str]], dict[str, Any]]] = {
            "/v1/places": self.search_places,
            "/v1/forecast": self.forecast,
            "/v1/observation": self.observation,
            "/v1/rain": self.rain_nowcast,
            "/v1/alerts": self.alerts,
            "/v1/bulletin": self.bulletin,
            "/v1/dictionary": self.warning_dictionary,
        }

    def to(self, path: str, query: Mapping[str, str]) -> dict[str, Any]:
        """Answer one request; raise `RefusedError` where there is no such path or the operation refuses."""
        operation = self._operations.get(path)
        if operation is None:
            raise RefusedError(404, "Not Found")
        return operation(query)

    def search_places(self, query: Mapping[str, str]) -> dict[str, Any]:
        """Look a place up; what is not known is an empty answer."""
        if not _required(query, "q"):
            raise RefusedError(500, "Unexpected Error")
        place = None if self._settings.broken_geocoder else find(query["q"])
        if place is None:
            return {}
        return {"latitude": place.latitude, "longitude": place.longitude, "insee_code": place.insee_code}

    def forecast(self, query: Mapping[str, str]) -> dict[str, Any]:
        """Give the days to come; coordinates without data are an empty answer."""
        place = nearest(*_coordinates(query))
        lang = query.get("lang", "fr")
        if lang not in {"fr", "en"}:
            raise RefusedError(400, "Incorrect value for key: lang")
        return self._sky.forecast(place, lang) if place else {}

    def observation(self, query: Mapping[str, str]) -> dict[str, Any]:
        """Give the conditions; `lang` is not looked at, coordinates without data are an empty answer."""
        place = nearest(*_coordinates(query))
        return self._sky.observation(place) if place else {}

    def rain_nowcast(self, query: Mapping[str, str]) -> dict[str, Any]:
        """Give the rain of the next hours; `lang` is not looked at."""
        place = nearest(*_coordinates(query))
        if place is None or not place.metropolitan:
            raise RefusedError(400, "No rain forecast outside metropolitan France")
        return self._sky.rain(place)

    def alerts(self, query: Mapping[str, str]) -> dict[str, Any]:
        """Give the warnings of a department; whatever is not a metropolitan department breaks the service."""
        department = _required(query, "domain")
        depth = query.get("depth", "0")
        if depth not in {"0", "1"}:
            raise RefusedError(400, "Incorrect value for key: depth")
        if department not in departments():
            raise RefusedError(500, "Incorrect type for key 'phenomenons_max_colors'")
        return self._warnings.alerts(department, depth=int(depth))

    def bulletin(self, query: Mapping[str, str]) -> dict[str, Any]:
        """Give the bulletin of a department, which has to be named."""
        department = _required(query, "domain")
        if department not in departments():
            raise RefusedError(500, "Unexpected Error")
        return self._warnings.bulletin(department)

    def warning_dictionary(self, query: Mapping[str, str]) -> dict[str, Any]:
        """Give the dictionary; every language but English is French."""
        return dictionary(query.get("lang"))


def _required(query: Mapping[str, str], key: str) -> str:
    if key not in query:
        raise RefusedError(400, f"Missing required key: {key}")
    return query[key]


def _coordinates(query: Mapping[str, str]) -> tuple[float, float]:
    return _number(query, "lat"), _number(query, "lon")


def _number(query: Mapping[str, str], key: str) -> float:
    try:
        number = float(_required(query, key))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise RefusedError(400, f"Incorrect type for key: {key}")
    return number
