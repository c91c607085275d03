"""The weather agent: hears what is asked for and where, and looks it up. It sees messages and tools, nothing else."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from weather.geography import fold
from weather.hearing import Request, Spot, Wish, in_french, requests
from weather.settings import Settings
from weather.station import IncompleteError, NothingToSayError, Station, Tool
from weather.voice import Voice

_FAREWELL = ("bye", "thank", "that's all", "that is all", "merci", "au revoir", "c'est tout", "bonne journee")


def build(tools: Sequence[Tool], **settings: bool) -> Callable[[str], str]:
    """Build an agent for one conversation; `settings` are the fields of `Settings`."""
    return WeatherAgent(tools, Settings(**settings)).reply


class WeatherAgent:
    """One conversation. What a message leaves open is taken from the last request."""

    def __init__(self, tools: Sequence[Tool], settings: Settings) -> None:
        self._station = Station(tools, settings)
        self._french = False
        self._last = Request(wish=None, spot=None)
        self._open: list[Request] = []

    def reply(self, message: str) -> str:
        """Answer one message of the user."""
        heard = in_french(message)
        self._french = self._french if heard is None else heard
        voice = Voice(french=self._french)
        asked = [self._completed(request) for request in requests(message, asked=bool(self._open))]
        if self._open and asked and asked[0].spot:
            asked = [replace(request, spot=asked[0].spot) for request in self._open] + asked[1:]
        self._open = []
        said = [text for request in dict.fromkeys(asked) if (text := self._answer(request, voice))]
        return " ".join(dict.fromkeys(said)) or self._small_talk(message, voice)

    def _completed(self, request: Request) -> Request:
        """Fill in what is meant: the wish and the place of before, the forecast where only a day or a place is told."""
        last = self._last
        fallback = Wish.FORECAST if request.day is not None or request.spot else None
        wish = request.wish or last.wish or fallback
        self._last = replace(request, wish=wish, spot=request.spot or last.spot)
        return self._last

    def _answer(self, request: Request, voice: Voice) -> str:
        station, spot = self._station, request.spot
        if request.wish is Wish.MEANING:
            return self._told(lambda: station.meaning(voice, request.lang or voice.lang), voice)
        if spot is None or (spot.department and request.wish not in (Wish.ALERTS, Wish.BULLETIN)):
            self._open.append(request)
            return voice.say("ask_department" if request.wish in (Wish.ALERTS, Wish.BULLETIN) else "ask_place")
        return self._told(lambda: self._looked_up(request, spot, voice), voice)

    def _looked_up(self, request: Request, spot: Spot, voice: Voice) -> str:
        station = self._station
        if request.wish is Wish.NOW:
            return station.now(spot, voice)
        if request.wish is Wish.RAIN:
            return station.rain(spot, voice)
        if request.wish is Wish.ALERTS:
            return station.alerts(spot, voice)
        if request.wish is Wish.BULLETIN:
            return station.bulletin(spot, voice)
        if request.wish is Wish.PLACE:
            return station.place(spot, voice)
        return station.forecast(spot, request.day, voice)

    def _told(self, look_up: Callable[[], str], voice: Voice) -> str:
        try:
            return self._station.whole(look_up)
        except NothingToSayError as nothing:
            return str(nothing)
        except IncompleteError:
            return voice.say("incomplete")

    def _small_talk(self, message: str, voice: Voice) -> str:
        folded = fold(message)
        return voice.say("bye" if any(word in folded for word in _FAREWELL) else "hello")
