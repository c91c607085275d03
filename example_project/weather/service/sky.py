"""The weather itself: seeded, so that a place has the same weather in every process started with the same seed."""

import math
import random
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from weather.service.places import Commune

DAYS = 15
DESCRIBED_DAYS = 10
"""The description of a day's weather ends before the forecast does; the document does not say so."""

_SKIES = {
    "fr": ("Ensoleillé", "Éclaircies", "Couvert", "Averses", "Pluie"),
    "en": ("Sunny", "Bright spells", "Overcast", "Showers", "Rain"),
}
_ZONES = {
    "971": "America/Guadeloupe",
    "972": "America/Martinique",
    "973": "America/Cayenne",
    "974": "Indian/Reunion",
    "976": "Indian/Mayotte",
}
_RAIN = {1: ("Temps sec",), 2: ("Pluie faible", "Pluie modérée"), 3: ("Pluie modérée",), 4: ("Pluie forte",)}
"""What a code of the rain forecast is described as: no document says it, and code 2 is described in two ways."""


@dataclass(frozen=True, kw_only=True)
class Sky:
    """The weather of one world."""

    seed: int
    today: date

    def observation(self, place: Commune) -> dict[str, Any]:
        """Give the conditions of the moment; always in French."""
        dice = self._dice("observation", place)
        temperature = self._mean(place, 0) + dice.uniform(-2, 2)
        return {
            "T": round(temperature, 1),
            "wind_speed": round(dice.expovariate(1 / 4), 1),
            "wind_direction": dice.randrange(0, 360),
            "weather_description": _SKIES["fr"][self._sky(place, 0)],
            "timezone": _ZONES.get(place.department, "Europe/Paris"),
        }

    def forecast(self, place: Commune, lang: str) -> dict[str, Any]:
        """Give the days from today on."""
        return {"position": position(place), "daily_forecast": [self._day(place, day, lang) for day in range(DAYS)]}

    def rain(self, place: Commune) -> dict[str, Any]:
        """Give the rain of the next three hours in steps of five minutes; always in French."""
        dice = self._dice("rain", place)
        wet = self._sky(place, 0) >= 3
        code, steps = (2 if wet else 1), []
        start = datetime.combine(self.today, time(9), UTC)
        for step in range(36):
            if wet and dice.random() < 0.3:
                code = min(max(code + dice.choice((-1, 1)), 1), 4)
            at = int((start + timedelta(minutes=5 * step)).timestamp())
            steps.append({"dt": at, "rain": code, "desc": dice.choice(_RAIN[code])})
        return {
            "position": {key: value for key, value in position(place).items() if key != "alti"},
            "quality": dice.randrange(0, 3),
            "forecast": steps,
        }

    def _day(self, place: Commune, day: int, lang: str) -> dict[str, Any]:
        dice = self._dice(f"day {day}", place)
        sky = self._sky(place, day)
        mean, spread = self._mean(place, day), dice.uniform(2, 6)
        forecast: dict[str, Any] = {
            "dt": (self.today + timedelta(days=day)).isoformat(),
            "T": {"min": round(mean - spread, 1), "max": round(mean + spread, 1)},
            "precipitation": round(dice.uniform(0.5, 12), 1) if sky >= 3 else 0.0,
        }
        if day < DESCRIBED_DAYS:
            forecast["weather12H"] = {"desc": _SKIES[lang][sky]}
        return forecast

    def _sky(self, place: Commune, day: int) -> int:
        return self._dice(f"sky {day}", place).choices(range(5), weights=(4, 4, 3, 2, 2))[0]

    def _mean(self, place: Commune, day: int) -> float:
        """Give a day's mean temperature in °C: season, latitude, altitude (6.5 °C a kilometre), and chance."""
        if not place.metropolitan:
            return 27 + self._dice(f"mean {day}", place).uniform(-1.5, 1.5)
        season = -math.cos(2 * math.pi * ((self.today + timedelta(days=day)).timetuple().tm_yday - 15) / 365)
        base = 12 + 8 * season - 0.5 * (place.latitude - 46) - 6.5 * place.altitude / 1000
        return base + self._dice(f"mean {day}", place).uniform(-4, 4)

    def _dice(self, what: str, place: Commune) -> random.Random:
        return random.Random(f"{self.seed} {self.today} {what} {place.insee_code}")  # noqa: S311 - weather, no secret


def position(place: Commune) -> dict[str, Any]:
    """Give a place as the forecasts name it."""
    return {"name": place.name, "dept": place.department, "alti": place.altitude}
