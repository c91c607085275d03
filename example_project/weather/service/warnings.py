"""Weather warnings by department: the colour of each phenomenon, the bulletin in words, and the dictionary of both."""

import random
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

_PHENOMENA = {
    1: ("Vent violent", "Wind"),
    2: ("Pluie-inondation", "Rain-flood"),
    3: ("Orages", "Thunderstorms"),
    4: ("Crues", "Flood"),
    5: ("Neige-verglas", "Snow-ice"),
    6: ("Canicule", "Extreme high temperature"),
    7: ("Grand froid", "Extreme low temperature"),
    8: ("Avalanches", "Avalanches"),
    9: ("Vagues-submersion", "Coastal event"),
}
_COLOURS = {
    1: ("Vert", "Green", "#31aa35"),
    2: ("Jaune", "Yellow", "#fff600"),
    3: ("Orange", "Orange", "#ffb82b"),
    4: ("Rouge", "Red", "#cc0000"),
}
_SEASONS = {5: (11, 12, 1, 2, 3, 4), 6: (5, 6, 7, 8, 9), 7: (11, 12, 1, 2, 3), 8: (11, 12, 1, 2, 3, 4, 5)}
"""The months in which heat, cold and snow are warned of."""

_MOUNTAINS = frozenset({"04", "05", "06", "09", "31", "38", "64", "65", "66", "73", "74", "2A", "2B"})
_COASTS = frozenset({
    "06", "11", "13", "14", "17", "22", "29", "30", "33", "34", "35", "40", "44", "50", "56", "59", "62", "64", "66",
    "76", "80", "83", "85", "2A", "2B",
})  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Warnings:
    """The warnings of one world; the same seed and day give the same."""

    seed: int
    today: date

    def alerts(self, department: str, *, depth: int) -> dict[str, Any]:
        """Give the highest colour of each phenomenon, with `depth` 1 also since when."""
        entries: list[dict[str, Any]] = []
        for phenomenon, colour, begin, _ in self._course(department):
            entry: dict[str, Any] = {"phenomenon_id": phenomenon, "color_id": colour}
            if depth:
                entry["begin_time"] = begin
            entries.append(entry)
        return {
            "update_time": self._at(6),
            "end_validity_time": self._at(30),
            "phenomenons_max_colors": entries,
        }

    def bulletin(self, department: str) -> dict[str, Any]:
        """Give the course of the next 24 hours and what the forecasters say to it; always in French."""
        course = self._course(department)
        worst = max(colour for _, colour, _, _ in course)
        raised = [_PHENOMENA[phenomenon][0] for phenomenon, colour, _, _ in course if colour > 1]
        said = f"Vigilance pour : {', '.join(raised)}." if raised else "Pas de vigilance particulière."
        return {
            "color_max": worst,
            "timelaps": [
                {"phenomenon_id": phenomenon, "color_id": colour, "begin_time": begin, "end_time": end}
                for phenomenon, colour, begin, end in course
            ],
            "phenomenons_items": [
                {"phenomenon_id": phenomenon, "phenomenon_max_color_id": colour} for phenomenon, colour, _, _ in course
            ],
            "comments": {"title": f"Bulletin de vigilance du département {department}", "text": said},
        }

    def _course(self, department: str) -> list[tuple[int, int, str, str]]:
        """Give (phenomenon, colour, begin, end) for what can happen in a department."""
        dice = random.Random(f"{self.seed} {self.today} warnings {department}")  # noqa: S311 - weather, no secret
        course = []
        for phenomenon in _PHENOMENA:
            colour = dice.choices((1, 2, 3, 4), weights=(70, 20, 8, 2))[0]
            begin = dice.randrange(6, 20)
            if (phenomenon == 8 and department not in _MOUNTAINS) or (phenomenon == 9 and department not in _COASTS):
                continue
            if self.today.month not in _SEASONS.get(phenomenon, range(13)):
                colour = 1
            course.append((phenomenon, colour, self._at(begin), self._at(begin + dice.randrange(2, 10))))
        return course

    def _at(self, hour: int) -> str:
        return (datetime.combine(self.today, time(), UTC) + timedelta(hours=hour)).isoformat()


def dictionary(lang: str | None) -> dict[str, Any]:
    """Give what the numbers of phenomena and colours mean, in English where asked for, else in French."""
    column = 1 if lang == "en" else 0
    return {
        "phenomenons": [{"id": number, "name": names[column]} for number, names in _PHENOMENA.items()],
        "colors": [
            {"id": number, "level": number, "name": row[column], "hexaCode": row[2]} for number, row in _COLOURS.items()
        ],
    }
