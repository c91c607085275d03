"""The weather agent: a state machine that reads a keyword, a place, a department and a day, and looks it up."""

import re
import tomllib
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any

PHRASES = tomllib.loads((files("weather") / "phrases.toml").read_text(encoding="utf-8"))

KEYWORDS = {
    "bulletin": r"bulletin",
    "meaning": r"\bmean|signifient",
    "alerts": r"warnings?\b|vigilance",
    "rain": r"\brain\b",
    "now": r"conditions",
    "place_question": r"find|se trouve",
    "forecast": r"forecast|weather|temps",
}
"""What says which question a message asks; the first that fits counts."""

PLACE = re.compile(r"(?:\bin|\bfor|\bat|\bplace|\bis|\bà) ([A-ZÉ][\w'’-]+|\d{5})")
POINT = re.compile(r"(-?\d+\.?\d*), (?:longitude )?(-?\d+\.?\d*)")
DEPARTMENT = re.compile(r"(?:department |département |\()(\d\d[\dAB]?)\b")
LANGUAGES = {"English": "en", "French": "fr", "German": "de", "Spanish": "es", "Italian": "it"}
OUTAGE = re.compile(r"\b(?:429|5\d\d)\b|timed? ?out|unavailable|connection", re.IGNORECASE)


class NothingToSayError(Exception):
    """What was asked for is not to be had; the message says so to the user."""


def build(tools: Sequence[Callable[..., Any]], *, swap_coordinates: bool = False) -> Callable[[str], str]:
    """Build an agent for one conversation; with `swap_coordinates` latitude and longitude change places: the bug."""
    return WeatherAgent(tools, swap=swap_coordinates).reply


class WeatherAgent:
    """One conversation. What a message leaves open is taken from the question before."""

    def __init__(self, tools: Sequence[Callable[..., Any]], *, swap: bool) -> None:
        self._tools = {tool.__name__: tool for tool in tools}
        self._swap = swap
        self._lang = "en"
        self._kind = self._department = ""
        self._place: str | tuple[float, float] = ""
        self._places: dict[Any, dict[str, Any]] = {}

    def reply(self, message: str) -> str:
        """Answer one message of the user."""
        self._lang = "fr" if re.search(r"\b(?:le|les|quel|quelle|que|se)\b", message) else self._lang
        parts = re.split(r",? and then |[.?] (?=Then )", message)
        said = dict.fromkeys(text for part in parts for text in self._answers(part))
        return " ".join(said) or self._say("hello")

    def _answers(self, part: str) -> list[str]:
        """Answer one question for each place that it names, or for the place of before."""
        kind = next((name for name, word in KEYWORDS.items() if re.search(word, part)), self._kind)
        self._kind = kind
        point, department = POINT.search(part), DEPARTMENT.search(part)
        places: list[Any] = [(float(point[1]), float(point[2]))] if point else PLACE.findall(part)
        if department or places:
            self._department = department[1] if department else ""
        if kind in ("alerts", "bulletin") and self._department:
            places = [""]
        if kind == "meaning":
            places = [""]
        texts = []
        for place in places or [self._place]:
            self._place = place or self._place
            try:
                texts.append(getattr(self, f"_{kind}")(part) if kind else "")
            except NothingToSayError as nothing:
                texts.append(str(nothing))
        return [text for text in texts if text]

    def _forecast(self, part: str) -> str:
        answer = self._at("forecast", lang=self._lang)
        days, position = answer["daily_forecast"], answer["position"]
        found = re.search(r"(?:in|dans) (\d+) (?:days|jours)", part)
        day = int(found[1]) if found else 1
        if day >= len(days):
            return self._say("too_far", count=len(days))
        told = days[day]
        sky = f"{told['weather12H']['desc'].lower()}, " if "weather12H" in told else ""
        name = self._say("at_altitude", name=self._name(answer), altitude=position["alti"])
        return self._say("day", name=name, date=told["dt"], sky=sky, rain=told["precipitation"], **told["T"])

    def _place_question(self, _: str) -> str:
        place = self._at("forecast")["position"]["name"] if isinstance(self._place, tuple) else self._place
        self._place = str(place)
        return self._say("place", **{**self._found(), "name": place})

    def _now(self, _: str) -> str:
        answer = self._at("observation")
        return self._say("now", name=self._name(answer), **answer)

    def _rain(self, _: str) -> str:
        answer = self._at("rain_nowcast")
        wet = [entry["desc"].lower() for entry in answer["forecast"] if entry["rain"] > 1]  # 1 is dry weather
        return self._say("wet" if wet else "dry", name=self._name(answer), minutes=5 * len(wet), first=[*wet, ""][0])

    def _alerts(self, _: str) -> str:
        department = self._of_department()
        entries = self._call("alerts", domain=department)["phenomenons_max_colors"]
        raised = [entry for entry in entries if entry["color_id"] > 1]  # 1 is green
        if not raised:
            return self._say("green", department=department)
        phenomena, colours = self._words(self._lang)
        told = [f"{phenomena[one['phenomenon_id']]} ({colours[one['color_id']].lower()})" for one in raised]
        return self._say("alerts", department=department, warnings=", ".join(told))

    def _bulletin(self, _: str) -> str:
        department = self._of_department()
        answer = self._call("bulletin", domain=department)
        colour = self._words(self._lang)[1][answer["color_max"]].lower()
        return self._say("bulletin", department=department, colour=colour, **answer["comments"])

    def _meaning(self, part: str) -> str:
        lang = next((code for name, code in LANGUAGES.items() if name in part), self._lang)
        phenomena, colours = self._words(lang)
        return self._say("meaning", colours=", ".join(colours.values()), phenomena=", ".join(phenomena.values()))

    def _words(self, lang: str) -> tuple[dict[int, str], dict[int, str]]:
        answer = self._call("warning_dictionary", lang=lang)
        first, second = ({one["id"]: one["name"] for one in answer[key]} for key in ("phenomenons", "colors"))
        return first, second

    def _of_department(self) -> str:
        if not self._department:
            is_point = isinstance(self._place, tuple)
            code = self._at("forecast")["position"]["dept"] if is_point else self._found()["insee_code"]
            self._department = code[: 3 if code.startswith("97") else 2]
        return self._department

    def _at(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that takes coordinates."""
        if isinstance(self._place, tuple):
            lat, lon = self._place
        else:
            found = self._found()
            lat, lon = found["latitude"], found["longitude"]
        lat, lon = (lon, lat) if self._swap else (lat, lon)
        answer = self._call(tool, lat=lat, lon=lon, **arguments)
        return answer or self._end("no_data", name=self._name({}))

    def _found(self) -> dict[str, Any]:
        if not self._place:
            self._end("ask_place")
        if self._place not in self._places:
            self._places[self._place] = self._call("search_places", q=self._place)
        return self._places[self._place] or self._end("unknown_place", name=self._place)

    def _name(self, answer: dict[str, Any]) -> str:
        return self._place if isinstance(self._place, str) else answer.get("position", {}).get("name", f"{self._place}")

    def _call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool, once more where the service does not answer; an error ends the answer with its reason."""
        for is_last in (False, True):
            try:
                answer = self._tools[tool](**arguments)
            except Exception as error:
                if is_last or not OUTAGE.search(str(error)):
                    raise NothingToSayError(self._say("failed", name=self._name({}) or tool, error=error)) from error
            else:
                if isinstance(answer, dict):
                    return answer
        return self._end("incomplete")

    def _say(self, reply: str, /, **values: Any) -> str:
        return str(PHRASES[reply][self._lang].format(**values))

    def _end(self, reply: str, /, **values: Any) -> Any:
        raise NothingToSayError(self._say(reply, **values))
