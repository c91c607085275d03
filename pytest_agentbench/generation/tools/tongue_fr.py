"""French: verbs that tools are described with, and what users of generated scenarios say."""

# ruff: noqa: E501 - word lists read better unbroken

import re

from pytest_agentbench.generation.tools.tongue import Tongue
from pytest_agentbench.users.phrases.language import words

_VERBS = """
accepter activer actualiser afficher ajouter annuler appliquer approuver archiver assigner bloquer calculer charger
chercher classer cloturer clôturer commander comparer compter confirmer consulter convertir copier corriger créer débloquer
décrire définir demander déplacer désactiver donner écrire effacer emprunter enregistrer envoyer estimer évaluer exécuter
exporter extraire faire fermer filtrer finaliser fournir générer géocoder importer indiquer inscrire interroger lancer lire
lister localiser louer mesurer mettre modifier montrer noter notifier obtenir ouvrir partager payer planifier prendre
préparer programmer prolonger proposer publier rechercher récupérer réduire refuser relancer rembourser remplacer rendre
renommer renouveler renvoyer réserver restituer restaurer retirer retourner saisir sauvegarder sélectionner signaler suivre
supprimer télécharger tester traduire transférer transformer trier trouver valider vérifier verser voir
"""

_REPLACED = {
    "renvoyer": "me donner", "retourner": "me donner", "fournir": "me donner", "donner": "me donner",
    "afficher": "me montrer", "montrer": "me montrer", "récupérer": "récupérer", "indiquer": "m'indiquer",
}  # fmt: skip

_IRREGULAR = {
    "crée": "créer", "obtient": "obtenir", "fournit": "fournir", "ouvre": "ouvrir", "lit": "lire", "écrit": "écrire",
    "met": "mettre", "prend": "prendre", "rend": "rendre", "traduit": "traduire", "extrait": "extraire", "suit": "suivre",
    "décrit": "décrire", "inscrit": "inscrire", "convertit": "convertir", "réduit": "réduire", "fait": "faire",
    "définit": "définir", "renvoie": "renvoyer", "envoie": "envoyer", "paie": "payer", "paye": "payer", "voit": "voir",
    "saisit": "saisir", "restitue": "restituer", "transfère": "transférer", "génère": "générer", "libère": "libérer",
}  # fmt: skip

_HEDGES = r"\b(?:peut[- ]être|probablement|sans doute|éventuellement|possiblement|semble(?:nt)?|pourrait|pourraient)\b"


def _forms() -> dict[str, str]:
    forms: dict[str, str] = {}
    for verb in _VERBS.split():
        said = _REPLACED.get(verb, verb)
        forms[verb] = said
        if verb.endswith("er"):
            forms |= {verb[:-1]: said, verb[:-1] + "z": said, verb[:-2] + "ez": said}
    forms |= {form: _REPLACED.get(verb, verb) for form, verb in _IRREGULAR.items()}
    return forms


FRENCH = Tongue(
    code="fr",
    verbs=words(_VERBS),
    forms=_forms(),
    leads=tuple(
        re.compile(pattern, re.IGNORECASE)
        for pattern in (
            r"^cet(?:te)? (?:outil|fonction|opération|commande) (?:permet (?:de |d['’])|sert à )?",
            r"^(?:outil|fonction|opération) (?:pour|permettant de|permettant d['’]|qui) ?",
            r"^(?:permet|permettant) (?:de |d['’])",
            r"^sert à ",
            r"^utilis\w+ (?:cet outil )?pour ",
            r"^pour (?=\w+(?:er|ir|re) )",
        )
    ),
    determiners=words("un une le la les l des du de d ce cet cette ces son sa ses leur leurs tous toutes chaque votre vos"),
    wants="me donner ceci : {what}",
    boolean=re.compile(r"^me donner (?:true|vrai|un booléen)(?: qui indique)? si ", re.IGNORECASE),
    whether="me dire si ",
    asks=("Pouvez-vous {task} ?", "Bonjour, pourriez-vous {task} ?", "J'aimerais vous demander de {task}."),
    asks_again=("Pouvez-vous aussi {task} ?", "Ensuite, pourriez-vous {task} ?", "Pourriez-vous maintenant {task} ?"),
    chain="{first}, puis {second}",
    refers="en prenant dans ce résultat : {what}",
    refers_first="en prenant dans le premier résultat : {what}",
    refers_nth="en prenant dans le {which} résultat : {what}",
    refers_of="en prenant dans le {which} élément du {of} résultat : {what}",
    refers_plainly="avec ce que cela donne",
    tells="{task}, et m'en donner la valeur « {what} »",
    ordinals=(
        "premier", "deuxième", "troisième", "quatrième", "cinquième", "sixième", "septième", "huitième", "neuvième",
        "dixième",
    ),
    nth="{n}e",
    yes="oui",
    no="non",
    joined=" et ",
    label="{label} : {value}",
    answer="{facts}.",
    answer_nothing="C'est fait.",
    step="Je reprends {values} du résultat pour l'étape suivante.",
    closings=("Merci, c'est tout ce qu'il me fallait.", "Parfait, merci de votre aide.", "Très bien, merci et au revoir."),
    summary_one="On demande à l'agent de {task}, {calls} fois dans une même conversation.",
    summary_many="On demande à l'agent de {tasks}, dans une même conversation avec {calls} appels.",
    situation="L'utilisateur veut qu'un assistant l'aide à {tasks}.",
    entities="La demande porte sur {values}.",
    no_entities="La demande ne nomme rien de particulier.",
    goal="Vous voulez que l'assistant vous aide à {tasks}.",
    goal_entities="Cela concerne {values}.",
    manners=(
        "Vous êtes poli et présentez une demande après l'autre.",
        "Vous êtes bref et allez droit au but.",
        "Vous êtes aimable et remerciez l'agent quand il vous a aidé.",
        "Vous êtes un peu pressé, mais vous répondez à chaque question.",
        "Vous êtes soigneux et attendez qu'une demande soit traitée avant la suivante.",
    ),
    known_name="Vous vous appelez {name}.",
    known_value="Votre {label} : {value}.",
    forgotten="Vous ne vous souvenez pas de ceci : {label}.",
    abbreviations={
        "q": "recherche", "lat": "latitude", "lon": "longitude", "lng": "longitude", "nb": "nombre", "num": "numéro",
        "dept": "département", "qte": "quantité", "qté": "quantité", "adr": "adresse", "desc": "description",
        "tel": "téléphone", "ref": "référence", "min": "minimum", "max": "maximum", "lang": "langue", "no": "numéro",
    },
    vague=words("date iso format nombre texte valeur chaîne id identifiant aaaa mm jj entier optionnel le la un de"),
    hedges=re.compile(_HEDGES, re.IGNORECASE),
    first_names=(
        "Alice", "Bruno", "Camille", "Denis", "Élise", "Fabien", "Gisèle", "Hugo", "Inès", "Julien", "Lucie", "Marc",
        "Nadia", "Olivier", "Pauline", "Rémi", "Sophie", "Thomas", "Valérie", "Yann",
    ),
    last_names=(
        "Arnaud", "Bertin", "Carlier", "Delmas", "Étienne", "Faure", "Girard", "Huet", "Jacquet", "Lambert", "Marchand",
        "Noël", "Perrin", "Renaud", "Simon", "Tessier", "Vidal",
    ),
)  # fmt: skip
