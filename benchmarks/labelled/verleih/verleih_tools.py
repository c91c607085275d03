"""Ein Werkzeugverleih: Geräte, Kunden, Ausleihen in SQLite."""

from pytest_agentbench import tool


def _row(state, sql, *values):
    row = state.execute(sql, values).fetchone()
    if row is None:
        raise LookupError("nicht gefunden")
    return dict(row)


@tool(kind="read")
def geraet(state, geraet_id: str) -> dict:
    """Ein Gerät ansehen."""
    return _row(state, "SELECT * FROM geraete WHERE id = ?", geraet_id)


@tool(kind="read")
def ausleihen(state, kunde_id: str) -> list:
    """Die Ausleihen eines Kunden."""
    return [dict(row) for row in state.execute("SELECT * FROM ausleihen WHERE kunde_id = ? ORDER BY id", (kunde_id,))]


@tool(kind="write")
def ausleihe_anlegen(state, kunde_id: str, geraet_id: str, tage: int) -> dict:
    """Ein Gerät ausleihen."""
    item = _row(state, "SELECT * FROM geraete WHERE id = ?", geraet_id)
    if item["frei"] < 1:
        raise ValueError(f"{geraet_id} ist nicht frei")
    state.execute("UPDATE geraete SET frei = frei - 1 WHERE id = ?", (geraet_id,))
    done = state.execute(
        "INSERT INTO ausleihen (kunde_id, geraet_id, tage, preis, offen) VALUES (?, ?, ?, ?, 1)",
        (kunde_id, geraet_id, tage, tage * item["tagespreis"]),
    )
    return {"ausleihe_id": done.lastrowid, "preis": tage * item["tagespreis"]}


@tool(kind="write")
def verlaengern(state, ausleihe_id: int, tage: int) -> dict:
    """Eine Ausleihe um Tage verlängern."""
    row = _row(state, "SELECT * FROM ausleihen WHERE id = ?", ausleihe_id)
    state.execute("UPDATE ausleihen SET tage = tage + ? WHERE id = ?", (tage, ausleihe_id))
    return {"ausleihe_id": ausleihe_id, "tage": row["tage"] + tage}


@tool(kind="write")
def stornieren(state, ausleihe_id: int) -> str:
    """Eine Ausleihe stornieren."""
    row = _row(state, "SELECT * FROM ausleihen WHERE id = ?", ausleihe_id)
    if not row["offen"]:
        raise ValueError("die Ausleihe ist schon beendet")
    state.execute("UPDATE ausleihen SET offen = 0 WHERE id = ?", (ausleihe_id,))
    return "storniert"
