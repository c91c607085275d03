"""Le suivi de colis d'un transporteur."""

COLIS = {
    numero: {"numero": numero, "statut": statut, "depot": depot, "poids": poids}
    for numero, statut, depot, poids in [
        ("FR1041", "en transit", "D12", 12.5),
        ("FR1042", "livré", "D15", 14.2),
        ("FR1077", "au dépôt", "D12", 30.0),
        ("FR1090", "en transit", "D18", 11.8),
    ]
}
DEPOTS = {
    code: {"code": code, "ville": ville, "responsable": responsable}
    for code, ville, responsable in [
        ("D12", "Nantes", "Lucie Ferrand"),
        ("D15", "Limoges", "Hervé Colin"),
        ("D18", "Dijon", "Sonia Petit"),
    ]
}


def suivre_colis(numero: str) -> dict:
    """Donne le statut d'un colis, son poids et le dépôt où il se trouve.

    Args:
        numero: Numéro du colis, par exemple FR1041
    """
    if numero not in COLIS:
        raise ValueError(f"colis {numero} inconnu")
    return COLIS[numero]


def decrire_depot(code: str) -> dict:
    """Décrit un dépôt : sa ville et son responsable.

    Args:
        code: Code du dépôt
    """
    if code not in DEPOTS:
        raise ValueError(f"dépôt {code} inconnu")
    return DEPOTS[code]


def lister_colis(depot: str) -> list[dict]:
    """Liste les colis qui se trouvent dans un dépôt.

    Args:
        depot: Code du dépôt, par exemple D12
    """
    return [colis for colis in COLIS.values() if colis["depot"] == depot]


def signaler_probleme(numero: str, motif: str, *, state: dict) -> str:
    """Signale un problème sur un colis.

    Args:
        numero: Numéro du colis
        motif: Motif du signalement, par exemple retard
    """
    if numero not in COLIS:
        raise ValueError(f"colis {numero} inconnu")
    dossier = f"S{300 + len(state['signalements'])}"
    state["signalements"][dossier] = {"numero": numero, "motif": motif}
    return f"Le dossier {dossier} est ouvert pour le colis {numero}."
