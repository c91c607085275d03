"""Readings of places and districts, reads only: silence for the unknown, a narrow region, idle arguments, a cap."""

import json
from typing import Annotated, Literal

from pydantic import Field

STATIONS = {
    "paris": {"name": "Paris", "latitude": 48.857, "longitude": 2.351, "district": "75"},
    "lyon": {"name": "Lyon", "latitude": 45.758, "longitude": 4.835, "district": "69"},
    "marseille": {"name": "Marseille", "latitude": 43.296, "longitude": 5.381, "district": "13"},
}
Lat = Annotated[float, Field(ge=-90, le=90, description="Latitude in degrees")]
Lon = Annotated[float, Field(ge=-180, le=180, description="Longitude in degrees")]


def locate_station(place: str) -> str:
    """Look up the station of a place."""
    found = STATIONS.get(place.strip().lower())
    return json.dumps(found or {})


def read_sensor(lat: Lat, lon: Lon, lang: str = "en") -> dict:
    """Get the current reading at a point, in a language."""
    return {"temperature": round(20 - abs(lat) / 5 + lon / 90, 1), "sky": "clear" if lon > 0 else "cloudy"}


def rain_here(lat: Lat, lon: Lon) -> dict:
    """Get the rain at a point."""
    if not (41 < lat < 52 and -5 < lon < 10):
        raise ValueError("no coverage at this point")
    return {"rain": [int(lat * 10 + step) % 3 for step in range(12)]}


def outlook(
    lat: Lat, lon: Lon, days: Annotated[int, Field(ge=1, le=14, description="How many days, 1 to 14")] = 3
) -> dict:
    """Get the outlook for the next days at a point."""
    return {"days": [{"day": day, "high": round(lat / 3 + lon + day, 1)} for day in range(min(days, 7))]}


def district_alerts(district: str = "75") -> dict:
    """Get the alerts of a district, by its number ('75') or for all ('country')."""
    if not (len(district) == 2 and district.isdigit() and 1 <= int(district) <= 95):
        raise RuntimeError("HTTP 500: Unexpected Error")
    return {"alerts": [{"phenomenon": int(district) % 5, "colour": int(district) % 4 + 1}]}


def district_report(district: str | None = None) -> dict:
    """Get the written report of a district; without one, of the capital's."""
    if district is None:
        raise ValueError("HTTP 400: Missing required key: district")
    if not (len(district) == 2 and district.isdigit() and 1 <= int(district) <= 95):
        raise ValueError("HTTP 404: district not found")
    return {"report": f"Quiet in {district}.", "issued": f"2026-03-16T0{int(district) % 10}:00:00"}


def glossary(
    language: Literal["en", "fr", "de", "es"] = "fr", kind: Literal["colours", "phenomena"] = "colours"
) -> dict:
    """Get the words that alerts use."""
    words = {"colours": ["green", "red"], "phenomena": ["wind", "flood"]}
    french = {"colours": ["vert", "rouge"], "phenomena": ["vent", "crue"]}
    return {"words": (words if language == "en" else french)[kind]}
