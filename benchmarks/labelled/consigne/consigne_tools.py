"""Outils d'une consigne à bagages en gare."""

from datetime import date, timedelta

from pytest_agentbench import tool

PRICES = {"S": 4.5, "M": 6.5, "L": 9.0}
SHIPPING = {"France": 24.0, "UE": 39.0}


@tool(kind="read")
def list_rentals(state: dict, customer_id: str) -> list:
    """Liste les casiers loués par un client : taille, dernier jour payé, code d'ouverture.

    Tarif par jour : S 4,50, M 6,50, L 9,00.
    """
    return [{"rental_id": key, **row} for key, row in state["rentals"].items() if row["customer_id"] == customer_id]


@tool(kind="read")
def find_found_items(state: dict, word: str) -> list:
    """Cherche parmi les objets trouvés. Ils sont gardés 30 jours à partir du jour où ils ont été trouvés."""
    return [{"item_id": key, **row} for key, row in state["found"].items() if word.lower() in row["what"]]


@tool(kind="write")
def extend_rental(state: dict, rental_id: str, until: str) -> dict:
    """Prolonge une location jusqu'à un jour compris (AAAA-MM-JJ), au tarif du jour, débité tout de suite.

    Un casier se loue jusqu'au 26 juin au plus tard, puis la consigne est en travaux.
    """
    if rental_id not in state["rentals"]:
        raise LookupError(f"no rental {rental_id}")
    row, day = state["rentals"][rental_id], date.fromisoformat(until)
    if day > date(2026, 6, 26):
        raise ValueError("no rental after 2026-06-26")
    days = (day - date.fromisoformat(row["until"])).days
    row["until"] = until
    return {"rental_id": rental_id, "until": until, "days": days, "charged": days * PRICES[row["size"]]}


@tool(kind="write")
def close_rental(state: dict, rental_id: str, last_day: str) -> dict:
    """Met fin à une location à un jour donné (AAAA-MM-JJ). 60 % du prix des jours restants sont rendus sur la carte,
    en 5 jours ouvrés."""
    row = state["rentals"][rental_id]
    days = (date.fromisoformat(row["until"]) - date.fromisoformat(last_day)).days
    row["until"] = last_day
    return {"rental_id": rental_id, "until": last_day, "refund": round(days * PRICES[row["size"]] * 0.6, 2)}


@tool(kind="write")
def send_luggage(state: dict, rental_id: str, zone: str, city: str) -> dict:
    """Expédie le contenu d'un casier : 24,00 pour la France, 39,00 pour le reste de l'UE (zone : France ou UE). Hors
    UE, rien n'est expédié. Trois jours ouvrés en règle générale, sans garantie."""
    if zone not in SHIPPING:
        raise ValueError(f"zone {zone} is not served")
    state["shipments"][rental_id] = {"zone": zone, "city": city}
    return {"rental_id": rental_id, "city": city, "charged": SHIPPING[zone]}


@tool(kind="write")
def hold_item(state: dict, item_id: str, customer_id: str) -> dict:
    """Met un objet trouvé de côté au guichet, au nom du client. Gratuit ; à retirer dans les 30 jours, avec une pièce
    d'identité."""
    row = state["found"][item_id]
    if row["held_for"]:
        raise ValueError(f"{item_id} is held already")
    row["held_for"] = customer_id
    return {"item_id": item_id, "keep_until": str(date.fromisoformat(row["found_on"]) + timedelta(days=30))}


@tool(kind="write")
def resend_code(state: dict, rental_id: str) -> dict:
    """Renvoie le code d'ouverture par SMS au numéro enregistré."""
    state["codes_sent"][rental_id] = state["codes_sent"].get(rental_id, 0) + 1
    return {"rental_id": rental_id, "sms": "sent"}


@tool(kind="generic")
def hand_over(reason: str) -> str:
    """Passe la conversation à un collègue du guichet, ouvert de 7 h à 21 h."""
    return "handed over"
