"""The words the agent knows, in English and French, without accents: reasons, things, colours, sizes, countries."""

import re
from collections.abc import Mapping


def words(text: str) -> frozenset[str]:
    """Give the words of a list written as text."""
    return frozenset(text.split())


def _alternatives(names: Mapping[str, tuple[str, ...]]) -> str:
    return "|".join(re.escape(word) for name, others in names.items() for word in (name, *others))


METHOD_WORDS = (
    r"(?:pay ?pal|gift ?cards?|gift ?vouchers?|store credit|shop credit|cards?|visa|mastercard|"
    r"cartes? cadeaux?|cheque cadeau|cartes?(?: bancaires?| bleues?)?|cb\b|avoir|credit (?:boutique|magasin))"
)

REASONS: dict[str, tuple[str, ...]] = {
    "ordered_by_mistake": (
        r"\bmistak\w+|\baccident\w*|\berror\b|\bwrong (?:one|item|product|thing|order|colou?r|size|click|button)",
        r"\bunintention\w+|\bmeant to order|\bdidn't mean|\btwice\b|\bclick\w*|\bcliqu\w*|\binadvertent\w*|\bslip\b",
        r"\bnever (?:meant|wanted|intended)|\b(?:didn't|did not) (?:want|intend) to (?:order|buy|place)|\bby accident",
        r"\bshould(?:n't| not|n't) have (?:ordered|bought)|\bdouble order|\bordered (?:it )?double",
        r"\berreur\b|\bmegarde\b|\binadvertance\b|\btrompe\w*|\bdeux fois|\bmauvais\w*|\bfausse manip\w*",
        r"\bjamais voulu|\bsans (?:le |l'|faire )?(?:vouloir|expres|avoir voulu)|\bpas (?:fait )?expres|\bpas voulu",
    ),
    "arrives_too_late": (
        r"\blate\b|\btoo slow|\btak\w+ (?:too|so) long|\bin time|\bon time|\bnot arrive|\bwon't (?:arrive|be here)",
        r"\bafter i(?:'ve| have)? (?:already )?(?:leave|left|go|gone)|\btoo far (?:off|away)",
        r"\btrop tard|\btrop long\w*|\ba temps\b|\bretard",
    ),
    "no_longer_needed": (
        r"\b(?:don't|dont|do not|no longer|not|isn't|aren't|never)\b.*\b(?:need\w*|require\w*|necessary|using|use)\b",
        r"\bno (?:longer (?:a |any )?)?(?:need|use)\b|\bunnecessary|\bneeded any|\bchanged my mind|\bchange of mind",
        r"\b(?:already|now) (?:have|got)\b|\belsewhere|\b(?:found|got|bought) (?:another|other|a better|one|it)\b",
        r"\b(?:plus|pas) (?:vraiment )?besoin|\bn'en ai plus|\bchange d'avis|\binutile|\bailleurs|\bdeja une?\b",
        r"\bplus (?:utile|necessaire)|\bne (?:me |m')?ser(?:t|vira)",
    ),
}
"""What a customer says for each reason that the shop accepts."""

THINGS: dict[str, tuple[str, ...]] = {
    "lamp": ("light", "lampe", "desklamp"),
    "sweater": ("jumper", "pullover", "pull", "jersey"),
    "shoe": ("trainer", "sneaker", "runner", "chaussure", "basket", "tennis"),
    "backpack": ("rucksack", "bag", "sac", "knapsack"),
    "bottle": ("flask", "gourde", "bouteille"),
    "grinder": ("mill", "moulin"),
    "headphone": ("headset", "casque", "earphone", "ecouteur"),
    "mat": ("tapis", "yogamat"),
    "kettle": ("bouilloire",),
    "jacket": ("raincoat", "coat", "anorak", "impermeable", "veste", "manteau"),
}
"""What the shop sells, in the singular, with other words for it."""

COLOURS: dict[str, tuple[str, ...]] = {
    "black": ("noir", "noire"),
    "white": ("blanc", "blanche"),
    "blue": ("bleu", "bleue"),
    "red": ("rouge",),
    "green": ("vert", "verte"),
    "grey": ("gray", "gris", "grise"),
    "steel": ("acier", "stainless", "inox", "silver", "metal"),
    "purple": ("violet", "violette", "lilac", "mauve"),
    "yellow": ("jaune",),
    "navy": ("marine",),
}

SIZES: dict[str, tuple[str, ...]] = {
    "S": ("small", "petit", "petite"),
    "M": ("medium", "moyenne"),
    "L": ("large", "grand", "grande"),
    "500 ml": ("500ml", "half litre", "half liter", "half-litre", "demi-litre", "demi litre", "50 cl"),
    "1 l": (
        "1l",
        "1 litre",
        "1-litre",
        "1 liter",
        "1-liter",
        "one litre",
        "one liter",
        "one-litre",
        "un litre",
        "d'un litre",
        "1000 ml",
    ),
}

THING_WORDS = _alternatives(THINGS)
OPTION_WORDS = rf"{_alternatives(COLOURS)}|{_alternatives(SIZES)}|size|taille|pointure|colou?r|couleur"
"""Alternatives of a pattern: whatever names a product, and whatever names a colour or a size."""

COUNTRIES: dict[str, tuple[str, ...]] = {
    "Austria": ("autriche", "osterreich"),
    "Belgium": ("belgique", "belgie"),
    "Canada": (),
    "France": (),
    "Germany": ("allemagne", "deutschland"),
    "Italy": ("italie", "italia"),
    "Norway": ("norvege",),
    "Spain": ("espagne", "espana"),
    "Switzerland": ("suisse", "schweiz"),
    "United Kingdom": ("royaume-uni", "royaume uni", "uk", "u.k.", "great britain", "england", "angleterre"),
    "United States": ("etats-unis", "usa", "u.s.a.", "us"),
}

SPELLINGS = words(
    """
    cancel cancelled canceled cancellation return returned exchange exchanged refund refunded replace address
    adresse order orders ordered payment shipping delivery delivered delivering credit paypal voucher invoice
    warranty repair change changed charge charged chance email emails instead sweater jumper kettle backpack
    rucksack bottle grinder headphones headphone jacket raincoat running shoes trainers black white green purple
    yellow steel small medium large larger later latter letter needed longer mistake account profile default
    status where there these those their three discount price prices available recommend annuler annulation
    annulez retourner retour renvoyer rembourser remboursement echanger echange commande commandes livraison
    paiement carte cadeau lampe bouilloire gourde moulin casque tapis impermeable chaussures noire blanche rouge
    verte grise facture garantie compte store stock street please thanks thank would could should about again
    which while still since found right great other another bought brought house postcode zipcode number confirm
    confirmed oldest older border place space slipping erreur besoin retard livrer livre livree envoyer bonjour
    merci voudrais voulais prendre rendre vendre cents
    """
)
"""Words that misspelt ones are mended to, and common ones that must not be mended away."""

FRENCH = words(
    """
    je j vous le la les ma mon mes une un des est et bonjour bonsoir merci commande pour avec oui non voudrais
    veux sur du de au aux il elle ce cette mais pas ne qui que quoi votre vos nous suis ai salut svp plait
    d'accord plutot est-ce voila moi aussi taille rouge noir bleu bleue par chez dans en fait adresse
    """
)
ENGLISH = words(
    """
    i you the my a an is and hello hi hey thanks thank order for with yes no would want like on of to it its
    this that but not who what your please me was have has can could do does from in be am i'm i'd it's nope yep
    yeah sure one
    """
)
"""Words that tell the two languages apart."""
