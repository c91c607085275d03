"""The agent's hands: it calls the tools, remembers where places are, and puts answers into words."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from weather.geography import department_of
from weather.hearing import Spot
from weather.settings import Settings
from weather.voice import Voice

Tool = Callable[..., Any]

GREEN = 1
"""The colour of phenomena without a warning."""


_OUTAGE = re.compile(
    r"\b(?:429|5\d\d)\b|timed? ?out|too many requests|server error|unavailable|connection", re.IGNORECASE
)
"""How errors read that are about the service and not about what was asked of it."""


class IncompleteError(Exception):
    """An answer broke off: parts that are always there are missing."""


class NothingToSayError(Exception):
    """What was asked for is not to be had; the message says so to the user."""


class Station:
    """One conversation's calls."""

    def __init__(self, tools: Sequence[Tool], settings: Settings) -> None:
        self._tools = {tool.__name__: tool for tool in tools}
        self._settings = settings
        self._places: dict[str, Mapping[str, Any]] = {}
        self._dictionaries: dict[str, Mapping[str, Any]] = {}

    def whole(self, look_up: Callable[[], str]) -> str:
        """Give what `look_up` gives, from answers asked for anew where one broke off.

        Raise `IncompleteError` where one does again, and what `look_up` raises.
        """
        for _ in range(2):
            try:
                return look_up()
            except (IncompleteError, KeyError, IndexError, TypeError):
                self._places.clear()
                self._dictionaries.clear()
        raise IncompleteError

    def place(self, spot: Spot, voice: Voice) -> str:
        """Tell where a place is; coordinates are of the commune that the forecast there names."""
        name = spot.name or str(self._at("forecast", spot, voice)["position"]["name"])
        found = self._found(name, voice)
        lat, lon = voice.number(found["latitude"]), voice.number(found["longitude"])
        return voice.say("place", name=name, lat=lat, lon=lon, insee=found["insee_code"])

    def forecast(self, spot: Spot, day: int | None, voice: Voice) -> str:
        """Tell a day of the forecast, or all of it in short."""
        answer = self._at("forecast", spot, voice, lang=voice.lang)
        days, position = answer["daily_forecast"], answer["position"]
        name = voice.say("at_altitude", name=_name(spot, answer), altitude=position["alti"])
        if day is not None and day >= len(days):
            raise NothingToSayError(voice.say("too_far", count=len(days)))
        if day is not None:
            told = days[day]
            rain = voice.number(told["precipitation"])
            return voice.say("day", name=name, date=told["dt"], sky=_sky(told), rain=rain, **_range([told], voice))
        following = _range([days[1]], voice)
        return voice.say(
            "days",
            name=name,
            count=len(days),
            wet=sum(told["precipitation"] > 0 for told in days),
            sky=_sky(days[1]),
            next_low=following["low"],
            next_high=following["high"],
            **_range(days, voice),
        )

    def now(self, spot: Spot, voice: Voice) -> str:
        """Tell the current conditions."""
        answer = self._at("observation", spot, voice)
        return voice.say(
            "now",
            name=_name(spot, answer),
            temperature=voice.number(answer["T"]),
            sky=answer["weather_description"].lower(),
            wind=voice.number(answer["wind_speed"]),
            direction=answer["wind_direction"],
            zone=answer["timezone"],
        )

    def rain(self, spot: Spot, voice: Voice) -> str:
        """Tell the rain of the next three hours; only code 1 is known to be dry weather."""
        answer = self._at("rain_nowcast", spot, voice)
        wet = [(step, entry) for step, entry in enumerate(answer["forecast"]) if entry["rain"] > 1]
        if not wet:
            return voice.say("dry", name=_name(spot, answer))
        worst = max(wet, key=lambda pair: pair[1]["rain"])[1]["desc"].lower()
        minutes, start = 5 * len(wet), 5 * wet[0][0]
        return voice.say("wet", name=_name(spot, answer), minutes=minutes, start=start, worst=worst)

    def alerts(self, spot: Spot, voice: Voice) -> str:
        """Tell the warnings of a department, worded by the dictionary."""
        department = self.department(spot, voice)
        answer = self._call("alerts", department, voice, domain=department)
        raised = [entry for entry in answer["phenomenons_max_colors"] if entry["color_id"] > GREEN]
        if not raised:
            return voice.say("green", department=department)
        phenomena, colours = self._words(voice)
        told = [f"{phenomena[entry['phenomenon_id']]} ({colours[entry['color_id']].lower()})" for entry in raised]
        return voice.say("alerts", department=department, warnings=", ".join(told))

    def bulletin(self, spot: Spot, voice: Voice) -> str:
        """Tell the bulletin of a department."""
        department = self.department(spot, voice)
        answer = self._call("bulletin", department, voice, domain=department)
        colour = self._words(voice)[1][answer["color_max"]].lower()
        told = answer["comments"]
        return voice.say("bulletin", department=department, title=told["title"], text=told["text"], colour=colour)

    def meaning(self, voice: Voice, lang: str) -> str:
        """Tell what colours and phenomena there are, by their names in a language; who asks is told what holds now."""
        self._dictionaries.pop(lang, None)
        phenomena, colours = self._words(voice, lang)
        return voice.say("meaning", colours=", ".join(colours.values()), phenomena=", ".join(phenomena.values()))

    def department(self, spot: Spot, voice: Voice) -> str:
        """Give the department of a spot: as named, that of the commune, or that of the forecast's position."""
        if spot.department:
            return spot.department
        if spot.coordinates:
            return str(self._at("forecast", spot, voice)["position"]["dept"])
        return department_of(self._found(spot.name, voice)["insee_code"])

    def _words(self, voice: Voice, lang: str = "") -> tuple[dict[int, str], dict[int, str]]:
        wanted = lang or voice.lang
        if wanted not in self._dictionaries:
            self._dictionaries[wanted] = self._call("warning_dictionary", "", voice, lang=wanted)
        answer = self._dictionaries[wanted]
        phenomena = {entry["id"]: entry["name"] for entry in answer["phenomenons"]}
        return phenomena, {entry["id"]: entry["name"] for entry in answer["colors"]}

    def _at(self, tool: str, spot: Spot, voice: Voice, **arguments: Any) -> Mapping[str, Any]:
        """Call a tool that takes coordinates."""
        if spot.coordinates:
            lat, lon = spot.coordinates
            name = f"{lat}, {lon}"
        else:
            found, name = self._found(spot.name, voice), spot.name
            lat, lon = found["latitude"], found["longitude"]
        if self._settings.swap_coordinates:
            lat, lon = lon, lat
        answer: Mapping[str, Any] = self._call(tool, name, voice, lat=lat, lon=lon, **arguments)
        if not answer:
            raise NothingToSayError(voice.say("no_data", name=name))
        return answer

    def _found(self, name: str, voice: Voice) -> Mapping[str, Any]:
        if name not in self._places:
            self._places[name] = self._call("search_places", name, voice, q=name)
        if not self._places[name]:
            raise NothingToSayError(voice.say("unknown_place", name=name))
        return self._places[name]

    def _call(self, tool: str, name: str, voice: Voice, **arguments: Any) -> Any:
        """Call a tool, once more where the service does not answer; raise `NothingToSayError` with its error."""
        try:
            answer = self._asked(tool, arguments)
        except Exception as error:
            raise NothingToSayError(voice.say("failed", name=name or tool, error=error)) from error
        if isinstance(answer, str) and answer:
            raise IncompleteError
        return answer

    def _asked(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        try:
            return self._tools[tool](**arguments)
        except Exception as error:
            if not isinstance(error, TimeoutError | ConnectionError) and not _OUTAGE.search(str(error)):
                raise
        return self._tools[tool](**arguments)


def _name(spot: Spot, answer: Mapping[str, Any]) -> str:
    """Name a spot: as the user did, else as the answer does."""
    if spot.name or spot.coordinates is None:
        return spot.name
    position = answer.get("position")
    return str(position["name"]) if position else "{}, {}".format(*spot.coordinates)


def _sky(day: Mapping[str, Any]) -> str:
    """Describe a day as the start of a sentence; the last days of a forecast come without a description."""
    return f"{day['weather12H']['desc'].lower()}, " if "weather12H" in day else ""


def _range(days: Sequence[Mapping[str, Any]], voice: Voice) -> dict[str, str]:
    low, high = min(day["T"]["min"] for day in days), max(day["T"]["max"] for day in days)
    return {"low": voice.number(low), "high": voice.number(high)}
