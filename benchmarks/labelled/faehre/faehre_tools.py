"""Tools of a ferry office: departures to an island, bookings, cars and dogs on board."""

from pytest_agentbench import tool


@tool(kind="read")
def suche_abfahrten(state: dict, tag: str, nach: str) -> list:
    """Abfahrten eines Tages (JJJJ-MM-TT) zu einem Ort, mit freien Plätzen."""
    return [
        {"abfahrt": key, **row} for key, row in state["abfahrten"].items() if row["tag"] == tag and row["nach"] == nach
    ]


@tool(kind="read")
def zeige_buchung(state: dict, buchung: str) -> dict:
    """Eine Buchung ansehen."""
    if buchung not in state["buchungen"]:
        raise LookupError(f"keine Buchung {buchung}")
    row = state["buchungen"][buchung]
    fahrt = state["abfahrten"][row["abfahrt"]]
    shown = {name: value for name, value in row.items() if name != "stornierbar"}
    return {"buchung": buchung, **shown, "tag": fahrt["tag"], "zeit": fahrt["zeit"], "nach": fahrt["nach"]}


@tool(kind="write")
def umbuchen(state: dict, buchung: str, abfahrt: str) -> dict:
    """Eine Buchung auf eine andere Abfahrt legen. Kostet 5 Euro je Buchung."""
    row, neu = state["buchungen"][buchung], state["abfahrten"][abfahrt]
    if neu["frei"] < row["personen"]:
        raise ValueError(f"auf {abfahrt} sind nur noch {neu['frei']} Plätze frei")
    state["abfahrten"][row["abfahrt"]]["frei"] += row["personen"]
    neu["frei"] -= row["personen"]
    row["abfahrt"], row["preis"] = abfahrt, row["preis"] + 5
    return {"buchung": buchung, "abfahrt": abfahrt, "gebühr": 5, "preis": row["preis"]}


@tool(kind="write")
def stornieren(state: dict, buchung: str) -> dict:
    """Eine Buchung stornieren. Erstattet 80 Prozent; weniger als 24 Stunden vor der Abfahrt geht es nicht mehr."""
    row = state["buchungen"][buchung]
    if not row["stornierbar"]:
        raise ValueError("die Frist ist abgelaufen: weniger als 24 Stunden bis zur Abfahrt")
    row["status"] = "storniert"
    return {"buchung": buchung, "status": "storniert", "erstattung": round(row["preis"] * 0.8, 2)}


@tool(kind="write")
def hund_anmelden(state: dict, buchung: str) -> dict:
    """Einen Hund zu einer Buchung anmelden. Kostet 7,50 Euro."""
    row = state["buchungen"][buchung]
    row["hunde"], row["preis"] = row["hunde"] + 1, row["preis"] + 7.5
    return {"buchung": buchung, "hunde": row["hunde"], "aufpreis": 7.5, "preis": row["preis"]}


@tool(kind="write")
def fahrzeug_anmelden(state: dict, buchung: str, kennzeichen: str, meter: float) -> dict:
    """Ein Fahrzeug zu einer Buchung anmelden. Bis 4,50 m kostet es 31,50 Euro, darüber 44 Euro."""
    row = state["buchungen"][buchung]
    aufpreis = 31.5 if meter <= 4.5 else 44.0
    row["fahrzeug"], row["preis"] = kennzeichen, row["preis"] + aufpreis
    return {"buchung": buchung, "fahrzeug": kennzeichen, "aufpreis": aufpreis, "preis": row["preis"]}


@tool(kind="generic")
def an_schalter_geben(grund: str) -> str:
    """Das Gespräch an den Schalter im Hafen weitergeben."""
    return "der Schalter übernimmt"
