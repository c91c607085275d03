"""Flights between a few airports, for who knows how airports and currencies are called; some rules are not declared."""

from typing import Literal

AIRPORTS = {
    code: {"airport": name, "country": country}
    for code, name, country in [
        ("AMS", "Amsterdam Schiphol", "NL"),
        ("CDG", "Paris Charles de Gaulle", "FR"),
        ("FRA", "Frankfurt", "DE"),
        ("LHR", "London Heathrow", "GB"),
        ("LIS", "Lisbon", "PT"),
        ("MAD", "Madrid Barajas", "ES"),
        ("OSL", "Oslo Gardermoen", "NO"),
        ("ZRH", "Zurich", "CH"),
    ]
}
DAYS = ("monday", "wednesday", "friday")
FLIGHTS = {
    f"XA-{number}": {"flight": f"XA-{number}", "origin": origin, "destination": destination, "weekday": day}
    for number, (origin, destination, day) in enumerate(
        ((one, other, day) for one in AIRPORTS for other in AIRPORTS for day in DAYS if one != other), start=4410
    )
}
RATES = {"EUR": 1.0, "CHF": 0.94, "NOK": 11.6, "GBP": 0.86}


def airport_info(airport: str, language: str = "en") -> dict:
    """Describe an airport.

    Args:
        airport: IATA code of the airport
        language: Language of the answer
    """
    return AIRPORTS.get(airport, {})


def find_flights(origin: str, destination: str, weekday: str | None = None) -> dict:
    """Find flights from one airport to another.

    Args:
        origin: IATA code of the airport that the flight leaves
        destination: IATA code of the airport that it flies to
        weekday: Day of the week, any if not given
    """
    if origin == destination:
        raise ValueError("a flight leads elsewhere")
    if weekday is None:
        raise ValueError("missing required key: weekday")
    found = [
        one
        for one in FLIGHTS.values()
        if (one["origin"], one["destination"], one["weekday"]) == (origin, destination, weekday.lower())
    ]
    if not found:
        raise LookupError("no flights found")
    return {"flights": found}


def get_fare(flight: str, cabin: Literal["economy", "business"] = "economy", bags: int = 0) -> dict:
    """Get the fare of a flight, in euros.

    Args:
        flight: Number of the flight
        cabin: Cabin to fly in
        bags: Pieces of luggage, from 0 to 4
    """
    if flight not in FLIGHTS:
        raise LookupError(f"no flight {flight}")
    if not 0 <= bags <= 4:
        raise ValueError("0 to 4 bags")
    if cabin == "economy" and bags > 2:
        raise RuntimeError("HTTP 500: Unexpected Error")
    base = 90.0 + int(flight[-2:])
    return {"fare": base * (2.5 if cabin == "business" else 1) + 30 * max(bags - 1, 0)}


def convert_price(amount: float, currency: str) -> dict:
    """Convert a price in euros to another currency.

    Args:
        amount: Price in euros
        currency: ISO 4217 code of the currency
    """
    if currency not in RATES:
        raise LookupError(f"no rate for {currency}")
    return {"amount": round(amount * RATES[currency], 2), "currency": currency}
