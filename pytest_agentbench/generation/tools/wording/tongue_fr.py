"""French: verbs that tools are described with, and what users of generated scenarios say."""

# ruff: noqa: E501 - word lists read better unbroken

import re

from pytest_agentbench.generation._reading.phrases.language import words
from pytest_agentbench.generation.tools.wording.tongue import Tongue

_VERBS = """
accepter activer actualiser analyser encaisser résumer retrouver régler prêter régulariser afficher ajouter annuler appliquer approuver archiver assigner bloquer calculer charger
chercher classer cloturer clôturer commander comparer compter confirmer consulter convertir copier corriger créer débloquer
décrire définir demander déplacer désactiver donner écrire effacer emprunter enregistrer envoyer estimer évaluer exécuter
exporter extraire faire fermer filtrer finaliser fournir générer géocoder importer indiquer inscrire interroger lancer lire
lister localiser louer mesurer mettre modifier montrer noter notifier obtenir ouvrir partager payer planifier prendre
préparer programmer prolonger proposer publier rechercher récupérer réduire refuser relancer rembourser remplacer rendre
renommer renouveler renvoyer réserver restituer restaurer retirer retourner saisir sauvegarder sélectionner signaler suivre
supprimer télécharger tester traduire transférer transformer trier trouver valider vérifier verser voir
"""

_GIVES = {
    "renvoyer": "me donner", "retourner": "me donner", "fournir": "me donner", "donner": "me donner",
    "afficher": "me montrer", "montrer": "me montrer", "indiquer": "m'indiquer", "lister": "me montrer",
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
        forms[verb] = verb
        if verb.endswith("er"):
            forms |= {verb[:-1]: verb, verb[:-1] + "z": verb, verb[:-2] + "ez": verb}
    return forms | _IRREGULAR


FRENCH = Tongue(
    code="fr",
    verbs=words(_VERBS),
    forms=_forms(),
    gives=_GIVES,
    service={
        "notre": "votre", "nos": "vos", "nous": "vous", "votre": "mon", "vos": "mes",
    },
    persons={
        "user": {},
        "you": {"me": "vous", "m'": "vous ", "mon": "votre", "ma": "votre", "mes": "vos", "votre": "leur", "vos": "leurs"},
        "third": {"me": "lui", "m'": "lui ", "mon": "son", "ma": "sa", "mes": "ses", "votre": "leur", "vos": "leurs"},
    },
    needless=re.compile(r"\b(?:existantes?|donnée?s?) (?=[a-z])(?!)"),
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
    singular=words("poids prix mois temps cours pays corps avis accès colis devis choix taux bus fils procès succès progrès reçus bois repas permis français anglais"),
    wants="me donner {what}",
    wants_one="me montrer {what}",
    articles_of_one=words("un une"),
    again="de ",
    conjoined=words("entre contre outre comme même toute chaque notre votre autre cette quelque"),
    boolean=re.compile(r"^me donner (?:true|vrai|un booléen)(?: qui indique)? si ", re.IGNORECASE),
    whether="me dire si ",
    asks=("Pouvez-vous {task} ?", "Bonjour, pourriez-vous {task} ?", "Bonjour, pouvez-vous {task} ?", "Pourriez-vous {task} ?"),
    asks_again=("Pouvez-vous aussi {task} ?", "Ensuite, pourriez-vous {task} ?", "Pourriez-vous maintenant {task} ?"),
    chain="{first}, puis {second}",
    follows=("Puis pourriez-vous {task} ?", "Après cela, pouvez-vous {task} ?", "Et enfin, pourriez-vous {task} ?"),
    questions=words("comment où quand quel quelle quels quelles qui pourquoi combien si ce"),
    asks_question="me dire {what}",
    identifying=words("numéro numero numéros identifiant code référence reference nom clé cle id matricule"),
    joining=words("ou et"),
    prepositions=frozenset(),
    features=frozenset(),
    matching="correspondant à {value}",
    searches_several=re.compile(r"^(?:trouver|retrouver|rechercher|chercher|lister) (?:(?:des|les) )?(?:[\w-]+ )?[\w-]+s\b"),
    searching=words("q requete requête recherche texte terme termes mot mots nom titre query name"),
    searches=re.compile(r"^(?:trouver|retrouver|rechercher|chercher|localiser|géocoder|consulter) (?P<object>(?P<article>une?|le|la|l['’]) ?(?P<noun>[\w-]+))\b"),
    of_noun=re.compile(r"^(?P<head>[\w -]+?) (?:(?P<article>du|de la|de l['’]|d['’]une|d['’]un|des|de|d['’]) ?)(?P<noun>[\w-]+(?: [\w-]+)?)$"),
    number_of_other=re.compile(r"^(?:numéro|code|référence) (?:de |d['’])(?!suivi|série|téléphone|identification|référence|client|la |l['’])(?P<by>[\w-]+)$", re.IGNORECASE),
    thing_by="{thing} de {by} {value}",
    amount=re.compile(r"^(?:(?:le )?nombre|combien|quantité) (?:de |d['’])(?P<noun>[\w-]+s)(?P<after> (?:de|en) plus| supplémentaires)?$"),
    relative=re.compile(r" (?:qui |que |qu['’]|dont |où |(?:à|dans|sur|pour|par|avec) (?:laquelle|lequel|qui) |à (?=\w+(?:er|ir|re)\b)).*$"),
    listing=re.compile(r"^[\w'’-]+(?:, [\w'’-]+)+,? ou [\w'’-]+$"),
    people_words=words("prénom famille complet"),
    units=words("jours nuits heures minutes secondes semaines mois ans années"),
    marks=words("code numéro identifiant référence id"),
    some_thing=re.compile(r"(?:(?<=d['’])|(?<![\w'’]))(?:(?P<article>une?) )(?P<noun>[\w-]+)(?= (?:de|du|des|à|au|pour|par|avec|dans|sur|dont|qui|que|et|loué|réservé)\b| d['’]|,|$)"),
    makes=words("créer ajouter inscrire ouvrir enregistrer"),
    called="« {value} »",
    towards=frozenset(),
    made=re.compile(r"(?!)"),
    one_thing=re.compile(r"(?!)"),
    by_query=re.compile(r"(?!)"),
    statement=re.compile(r"(?!)"),
    searches_in=re.compile(r"(?!)"),
    for_text="pour {value}",
    looking="je cherche {value}",
    some=r"\b(?:quelques|plusieurs|tant de|des|n)(?P<more> autres)? {noun}\b",
    as_many="autant de {noun}",
    mention=r"(?<!\w)(?P<article>une?|les?|la|l['’]|cet(?:te)?|ce|votre|mon|ma|chaque|du|au)(?:(?<=['’])| ){noun}(?![\w-])(?: [a-zà-ÿ]{{2,}}(?:é|ée|ue)(?![\w-]))?",
    by_noun=r" (?:par|avec|selon|d['’]après|contenant)(?: (?:son|sa|leur|leurs|le|la|les|un|une))*(?P<by>(?: [\w'’-]+){{0,2}}? {noun})\b",
    by_rest=re.compile(r" (?:par|selon) (?:leur |le |la |un |une )?[\w-]+$"),
    unsaid=re.compile(r" pour (?:quelques|plusieurs) [\w-]+s$"),
    optional=re.compile(r"(?!)"),
    looks=words("chercher rechercher trouver retrouver lister consulter voir vérifier me m'indiquer compter signaler"),
    condition=re.compile(r" (?:qui (?:n['’]|ne )?(?:est|sont|a|ont|peut|peuvent|doit|doivent)|dont (?:tous|toutes|aucune?)) [\w'’ -]+?(?=$|,| (?:et|pour|à|par|avec|dans|chez|au) )"),
    state=re.compile(r"\b(?:pas|encore|déjà|plus|peut|peuvent|doit|doivent|tous|toutes|aucune?)\b"),
    limit=re.compile(r",? (?:au (?:plus|moins|maximum|minimum)|dans la limite de) (?:\d+|une?|deux|trois|quatre|cinq|six|dix|douze)\b(?: (?!et\b|de\b|pour\b|à\b|par\b|dans\b)[\w%-]+){0,3}(?: (?:plus tard|avant|après))?"),
    provided=re.compile(r",? (?:(?:sauf|à moins|à condition|pourvu|pour|afin) (?:que|qu['’]|si|de)|si (?:le|la|les|elle|il)\b) ?.*$"),
    means=re.compile(r" (?:par|avec|via|au moyen de) (?:(?:la|le|les|sa|son|ses|ma|mon|mes) |l['’])[\w-]+(?: [\w-]+){0,2} (?:enregistrée?s?|mémorisée?s?|habituel(?:le)?s?)(?=$|,)"),
    second=re.compile(r",? (?:et|puis|et puis) (?P<verb>[\w-]+) (?:(?:les?|la|une?|des|son|sa|ses|leurs?|tout|chaque|votre)\b|l['’])"),
    same_thing=re.compile(r"(?!)"),
    optionally=re.compile(r",? (?:éventuellement|facultativement) (?P<rest>[^,]*)"),
    infinitive=re.compile(r"[\w-]{2,}(?:er|ir|re)"),
    by_any=re.compile(r" (?:par|selon|d['’]après) (?:son |sa |leur |le |la |un |une |l['’])?(?P<by>[\w-]+(?: (?:de |d['’])?[\w-]+)?)$", re.IGNORECASE),
    bare_plural=r"^(?P<verb>[\w-]+) (?:des|de|les) {noun}\b",
    one_found=re.compile(r"(?!)"),
    found="",
    some_date=re.compile(r"\b(?P<before>)(?:une date|un jour|une autre date|un autre jour)(?: (?:donnée?|précise?|voulue?|ultérieure?|antérieure?))?\b"),
    date_label=words("date jour quand"),
    on_date="{value}",
    months=(
        "janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre",
        "décembre",
    ),
    first_day="1er",
    day_and_time="{day} à {time}",
    definite=words("le la les l' du au votre"),
    alternatives=re.compile(r", (?P<every>(?:tous|toutes|tout|chaque)\b[^,]*?) ou (?P<one>[^,]*)$"),
    longer=(re.compile(r"(?!)"), ""),
    by_identity=re.compile(r" (?:par|avec|selon|d['’]après|à partir de) (?:son|sa|leur|le|la|un|une)?(?: ?[\w-]+)? ?(?:identifiant|numéro|code|référence|nom|clé)\b", re.IGNORECASE),
    or_else=re.compile(r"\0,? ou (?:(?:pour|par|de|du|dans|à) )?(?:une?|les?|la|l['’]|son|sa)? ?(?:[\w-]+)(?: postale?)?"),
    articles={
        "un": ("le", "ce"), "le": ("le", "ce"), "ce": ("le", "ce"), "cet": ("le", "cet"), "une": ("la", "cette"),
        "la": ("la", "cette"), "cette": ("la", "cette"), "du": ("du", "de ce"), "au": ("au", "à ce"), "de la": ("la", "cette"),
        "d'une": ("la", "cette"), "d'un": ("le", "ce"),
    },
    contractions=(
        (re.compile(r"\bd['’](?=(?:le|la|ce|cet|cette|l['’])\b)"), "de "),
        (re.compile(r"\b(?:le|la) (?=[aeiouhéèêâî])"), "l'"),
        (re.compile(r"\bde le\b"), "du"),
        (re.compile(r"\bà le\b"), "au"),
        (re.compile(r"\bdu (?=[aeiouhéèêâî])"), "de l'"),
        (re.compile(r"\bau (?=[aeiouhéèêâî])"), "à l'"),
        (re.compile(r"\bce (?=[aeiouhéèêâî])"), "cet "),
        (re.compile(r"\bde (?=[aeiouéèêâî])"), "d'"),
    ),
    position=re.compile(r"\b(?:à|aux|pour|de|des|autour de|près de|en|sur|d['’])(?: ?(?:des|les|une?|la|l['’]|le))? ?(?:coordonnées|position|point|lieu|endroit|emplacement|latitude(?: et (?:la )?longitude)?)(?: (?:GPS|géographiques?|donnée?s?))?\b", re.IGNORECASE),
    position_words=words("lat latitude lon lng longitude"),
    in_place="à {value}",
    at_place="à {value}",
    there="à cet endroit",
    there_of="au lieu du {which} résultat",
    for_value="pour {value}",
    for_that="pour {this} {noun}",
    for_its="pour {this} {noun}",
    for_it="avec cela",
    for_nth="pour le {which} résultat",
    nth_noun="{the} {which} {noun}",
    noun_of_nth="{the} {noun} du {which} résultat",
    noun_of_both="le {which} {noun} du {of} résultat",
    by_value=" avec {noun} {value}",
    asides=(
        (re.compile(r"^où (?P<it>(?:le |la |les |l['’]).+)$"), "{it} ici : {value}"),
        (re.compile(r"^pourquoi .+$"), "la raison : {value}"),
        (re.compile(r"^comment (?P<it>(?:le |la |les |l['’]).+)$"), "{it} ainsi : {value}"),
        (re.compile(r"^(?P<it>.+) en (?P<unit>[a-zà-ÿ]{3,}s|pour cent)$"), "{it} : {value} {unit}"),
    ),
    whether_aside=(
        (re.compile(r"^(?:si l'on doit )?(?P<what>(?:inclure|afficher|envoyer|garder|ajouter|utiliser|ignorer)\b.*)$"), "merci de {what}", "merci de ne pas {what}"),
        (re.compile(r"^(?P<what>.*)$"), "{what}, s'il vous plaît", "pas de {what}, s'il vous plaît"),
    ),
    attributes=words("nom prénom téléphone adresse titre courriel"),
    with_that="avec {this} {noun}",
    is_value="{label} est {value}",
    are_values="{label} sont {value}",
    aside="{label} : {value}",
    plural=re.compile(r"^(?:les|mes|vos)\b"),
    number_of="nombre de {what}",
    code_of="numéro de {what}",
    languages={
        "en": "anglais", "fr": "français", "de": "allemand", "es": "espagnol", "it": "italien", "pt": "portugais",
        "nl": "néerlandais", "pl": "polonais", "sv": "suédois", "da": "danois", "fi": "finnois", "cs": "tchèque", "el": "grec",
        "ru": "russe", "ar": "arabe", "tr": "turc", "ja": "japonais", "zh": "chinois", "ko": "coréen", "ro": "roumain",
    },
    language_label=re.compile(r"\blangues?\b"),
    in_language="en {value}",
    into_one="en {value}",
    from_into="de {source} vers {target}",
    from_language=words("source origine original originale départ"),
    into_language=words("cible vers destination arrivée traduction"),
    some_languages=re.compile(r"\b(?:(?:pour|dans) une (?:paire|combinaison) de langues|entre deux langues|d['’]une langue (?:à|vers) (?:une|l['’]) ?autre)\b"),
    denial=re.compile(r"(?:pas|non|ne|aucune?|jamais|rien|personne|sans)\b", re.IGNORECASE),
    tells="{task}, et me dire {what}",
    of_thing="{what} de {thing}",
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
    situation="L'utilisateur demande à un assistant de {tasks}.",
    entities="La demande porte sur {values}.",
    no_entities="La demande ne nomme rien de particulier.",
    goal="Vous demandez à l'assistant de {tasks}.",
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
