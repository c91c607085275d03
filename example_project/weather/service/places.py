"""The communes that the service knows: by name, by postcode, and the nearest to coordinates."""

import csv
import math
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

REACH_KM = 100.0
"""Coordinates farther from every known commune than this have no data."""


@dataclass(frozen=True, kw_only=True)
class Commune:
    """A commune; `altitude` in metres above the sea."""

    insee_code: str
    name: str
    postcode: str
    department: str
    latitude: float
    longitude: float
    altitude: int

    @property
    def metropolitan(self) -> bool:
        """Whether it lies in Europe: overseas departments have three digits."""
        return len(self.department) == 2


@cache
def communes() -> tuple[Commune, ...]:
    """Give all communes, by INSEE code (names and codes: Licence Ouverte; coordinates: GeoNames, CC BY)."""
    with (files("weather.service") / "communes.csv").open(encoding="utf-8") as file:
        return tuple(
            Commune(
                insee_code=row["insee_code"],
                name=row["name"],
                postcode=row["postcode"],
                department=row["department"],
                latitude=float(row["latitude"]),
                longitude=float(row["longitude"]),
                altitude=int(row["altitude"]),
            )
            for row in csv.DictReader(file)
        )


def find(query: str) -> Commune | None:
    """Find a commune by its name, whatever case, accents and hyphens, or by its postcode."""
    wanted = _plain(query)
    return next((place for place in communes() if wanted in (_plain(place.name), place.postcode)), None)


def nearest(latitude: float, longitude: float) -> Commune | None:
    """Give the commune nearest to coordinates, None where the nearest is out of reach."""
    place = min(communes(), key=lambda place: _distance(latitude, longitude, place))
    return place if _distance(latitude, longitude, place) <= REACH_KM else None


def departments() -> frozenset[str]:
    """Give the numbers of the metropolitan departments."""
    return frozenset(_departments(communes()))


def _departments(places: Iterable[Commune]) -> Iterable[str]:
    return (place.department for place in places if place.metropolitan)


def _distance(latitude: float, longitude: float, place: Commune) -> float:
    """Give kilometres along the great circle (haversine)."""
    a, b = math.radians(latitude), math.radians(place.latitude)
    step = math.radians(place.longitude - longitude)
    half = math.sin((b - a) / 2) ** 2 + math.cos(a) * math.cos(b) * math.sin(step / 2) ** 2
    return 2 * 6371.0 * math.asin(math.sqrt(min(half, 1.0)))


def _plain(text: str) -> str:
    bare = unicodedata.normalize("NFKD", text.casefold().replace("œ", "oe").replace("’", "'"))
    kept = (c if c.isalnum() or c == "'" else " " for c in bare if not unicodedata.combining(c))
    return " ".join("".join(kept).split())
