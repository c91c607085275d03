"""What a clause asks for: an ordered list of cues, in English and French, over folded text."""

import re
from dataclasses import dataclass
from enum import StrEnum

from support.lexicon import COLOURS, METHOD_WORDS
from support.text import fold, mend


class Intent(StrEnum):
    """What a customer can want."""

    OUT_OF_SCOPE = "out_of_scope"
    HUMAN = "human"
    CANCEL = "cancel"
    CHANGE_EMAIL = "change_email"
    COMPENSATE = "compensate"
    PROFILE = "profile"
    CHANGE_PAYMENT = "change_payment"
    CHANGE_DEFAULT_ADDRESS = "change_default_address"
    CHANGE_ADDRESS = "change_address"
    DISCOUNT = "discount"
    ADVICE = "advice"
    RETURN_STATUS = "return_status"
    EXCHANGE = "exchange"
    RETURN = "return"
    LIST_ORDERS = "list_orders"
    ORDER_STATUS = "order_status"
    PRODUCT = "product"


@dataclass(frozen=True)
class Cue:
    """Words that speak for an intent; `weak` ones count where nothing in the message is clearer."""

    intent: Intent
    words: tuple[str, ...]
    unless: str = r"(?!)"
    weak: bool = False

    def speaks(self, folded: str) -> bool:
        """Whether one of the words is in the text, and none that speaks against it."""
        return any(re.search(word, folded) for word in self.words) and not re.search(self.unless, folded)


_CHANGE = (
    r"(?:chang\w*|updat\w*|modif\w*|switch\w*|replac\w*|correct\w*|edit\w*|alter\w*|amend\w*|set|mov(?:e|ed|ing)|"
    r"remplac\w*|corrig\w*|mettre a jour|fix|transfer\w*)"
)
_MAIL = r"(?:e-?mails?|mails?|courriels?)"
_ADDRESS = rf"(?:(?<!mail )(?<!electronic )address(?:es)?|adresses?(?! (?:{_MAIL}|electronique|de courriel)))"
_ACCOUNT = r"(?:account|profile|default|on file|home address|compte|profil|par defaut|fiche)"
_WHICH = r"\b(?:what|which|show|list|tell me|quel\w*)"
_SHIP = r"(?:(?:re-?ship|ship|deliver|send|sent|livr|expedi|envoy|achemin)\w*|go(?:es)?)"
_COMING = r"(?:com(?:e|es|ing)|arriv\w+|deliver\w*|get(?:s|ting)? here|be here|reach|show up|turn up)"

_OPTIONS = "|".join(
    ["size", "taille", "colou?r", *(re.escape(word) for names in COLOURS.items() for word in (names[0], *names[1]))]
)

CUES: tuple[Cue, ...] = (
    Cue(
        Intent.OUT_OF_SCOPE,
        (
            r"\binvoices?\b",
            r"\bvat\b",
            r"\bfactures?\b",
            r"\bwarrant\w+",
            r"\brepair\w*",
            r"\bgaranties?\b",
            r"\brepar(?:er|ation)",
            r"\bwholesale|\bbulk\b|\bgrossiste|\ben gros\b",
            r"\bbusiness (?:order|account|customer)",
            r"\blawyer|\blegal\b|\bsue\b|\bavocat|\bjuridique",
            r"\b(?:job|vacanc\w+|career)s?\b|\bemploi\b|\bpartnership|\bpartenariat",
            r"\b(?:delete|close|remove|erase|cancel) (?:my|the) (?:\w+ )?account\b",
            r"\b(?:supprim\w+|ferm\w+|clotur\w+) (?:mon|le) compte\b",
            r"\b(?:delete|erase|supprim\w+)\b.*\b(?:data|donnees)",
        ),
    ),
    Cue(
        Intent.HUMAN,
        (
            r"\bhuman\b|\b(?:real|actual|living) person|\bhumain|\bvraie personne",
            r"\b(?:an|live|another) agent\b|\brepresentative|\bmanager|\bsupervisor|\bresponsable|\bun conseiller",
            r"\b(?:speak|talk|chat) (?:to|with)\b|\btransfer me|\bput me through|\bconnect me|\bparler (?:a|avec)\b",
            r"\bquelqu'un d'autre|\bsomeone else\b",
        ),
    ),
    Cue(
        Intent.CANCEL,
        (
            r"\bcancel\w*|\bannul\w*|\bcall(?:ing)? off|\bcall\b.*\boff\b|\bscrap\b|\bvoid\b|\bwithdraw\w*",
            r"\bback out|\bresili\w+",
            r"\b(?:stop|drop|kill|abort|undo|forget|get rid of)\b.*\b(?:order|purchase|w\d{4})",
            r"\btake\b.*\boff\b|\bsupprim\w+\b.*\bcommande",
        ),
    ),
    Cue(
        Intent.CHANGE_EMAIL,
        (
            rf"\b{_CHANGE}\b.*\b{_MAIL}\b",
            rf"\b(?:new|nouvel(?:le)?|another|different|other|autre)\b[^.]*\b{_MAIL}\b",
            rf"\b{_MAIL}\b.*\b{_CHANGE}\b",
            rf"\b(?:{_CHANGE}|use|using|utiliser)\b[^@]*\S+@\S+",
            rf"\b{_MAIL}\b(?: address)? (?:should|must|needs? to|has to|is to|to|devrait|doit)\b.*@",
        ),
    ),
    Cue(
        Intent.COMPENSATE,
        (
            r"\b(?:shipping|delivery|postage|shipment)\s+(?:fees?|costs?|charges?|price|money)|\bpostage\b",
            r"\bfrais (?:de )?(?:port|livraison|d'envoi|d'expedition)",
            r"\bcompens\w+|\bgoodwill|\bdedommag\w+|\bgeste commercial|\bmake up for",
            r"\brefund\w*\b.*\b(?:shipping|delivery)\b|\b(?:shipping|delivery)\b.*\brefund",
            r"\brembours\w+\b.*\b(?:livraison|port)\b",
            r"\b(?:paid|pay) for (?:shipping|delivery)",
        ),
    ),
    Cue(
        Intent.PROFILE,
        (
            rf"{_WHICH}\b.*\b(?:payment (?:methods?|options?)|cards?|{_ADDRESS}|{_MAIL})\b.*\b(?:have|file|account)\b",
            rf"{_WHICH}\b.*\b(?:moyens? de paiement|cartes?|{_ADDRESS}|{_MAIL})\b.*\b(?:avez|compte|enregistre\w*)\b",
        ),
    ),
    Cue(
        Intent.CHANGE_PAYMENT,
        (
            rf"\b(?:{_CHANGE}|different|other|another|autre)\b[^.]*\b(?:payment|pay|paying|paiement|{METHOD_WORDS})",
            rf"\b(?:pay|paying|charge|bill|put|use|used|using|apply|redeem|be paid)\b[^.]*\b{METHOD_WORDS}",
            rf"\b(?:payer|paye|regler|debite[rz]|prelever|facturer|utilis\w+|mett(?:ez|re)|passe[rz])\b[^.]*\b{METHOD_WORDS}",
            rf"\b{METHOD_WORDS}\b[^.]*\b(?:instead|to pay|payment|spend|redeem|for (?:my )?order|on (?:my )?order)",
            rf"\b{METHOD_WORDS}\b[^.]*\bpour (?:payer|regler|(?:ma |la )?commande)",
            rf"\bpayment\b[^.]*\b{METHOD_WORDS}|\bpaiement\b[^.]*\b{METHOD_WORDS}",
            r"\b(?:moyen|mode|methode) de paiement|\bpayment (?:method|option)|\b(?:change|switch)\b.*\bpay\b",
        ),
        unless=r"\b(?:refund\w*|return\w*|send|sending|give|giving|get|back|rembours\w*|renvo\w*|retour\w*|rendre)\b",
    ),
    Cue(
        Intent.CHANGE_DEFAULT_ADDRESS,
        (rf"\b{_ADDRESS}\b.*\b{_ACCOUNT}\b", rf"\b{_ACCOUNT}\b.*\b{_ADDRESS}\b", r"\bhome address\b"),
    ),
    Cue(
        Intent.CHANGE_ADDRESS,
        (
            rf"\b{_ADDRESS}\b|\b(?:re-?direct|re-?rout|forward)\w*",
            rf"\b{_SHIP}\b.*\b(?:to|elsewhere|somewhere else|au|aux|chez|ailleurs|vers)\b",
            rf"\b{_SHIP}\b.*\b(?:at|in)\b.*\b\d{{1,3}}\b",
            rf"\b{_SHIP}\b.*\b(?:another|different|other|autre) (?:place|location|endroit|lieu)",
            rf"\b{_SHIP}\b.*\ba (?:l'|cette|la|une|mon|ma|\d)|\bwhere\b.*\bshipped\b",
            r"\b(?:change|modify|update|edit|wrong)\b.*\b(?:where|destination|(?:delivery|shipping) details)",
        ),
        unless=rf"\bback\b|\brefund|\brembours|\bmoney\b|\b{METHOD_WORDS}|\bon time\b",
    ),
    Cue(
        Intent.DISCOUNT,
        (
            r"\bdiscount|\bcoupon|\bpromo\b|\bpromo\w*|\bprice match|\bcheaper\b|\breductions?\b|\bremise",
            r"\brabais|\bmoins cher",
            r"\b(?:knock|money|something|anything|bit|euros?|percent|%)\b.*\boff\b|\bspecial offer",
            r"\bbetter price|\bmatch\b.*\bprice",
        ),
    ),
    Cue(
        Intent.ADVICE,
        (
            r"\brecommend\w*|\bsuggest\w*|\bdo you think|\byour (?:opinion|advice|favou?rite)",
            r"\bwould you (?:choose|pick|buy|take|say|go for)",
            r"\b(?:which|what|one|colou?r|model)\b.*\b(?:better|best|nicer|nicest|prettier|prefer)\b",
            r"\bis better\b|\bbetter choice",
            r"\bworth (?:it|buying)|\bshould i (?:buy|get|choose|take|pick|go)|\bpensez-vous|\bchoisiriez",
            r"\bvotre (?:avis|preference)",
            r"\bconseill(?:ez|es|eriez)\b|\brecommand\w+|\b(?:est|serait) (?:le |la )?(?:mieux|meilleur\w*)",
            r"\bplus (?:joli|beau|belle)\w*",
        ),
    ),
    Cue(
        Intent.RETURN_STATUS,
        (
            r"\b(?:where|status|when|has|progress|what happened)\b.*\bmy (?:refund|return|exchange)",
            r"\b(?:ou en est|ou est|statut|quand)\b.*\bmon (?:remboursement|retour|echange)",
        ),
    ),
    Cue(
        Intent.EXCHANGE,
        (
            r"\bexchang\w*|\bswap\w*|\btrad(?:e|ing)\b|\bswitch\w*\b|\breplac\w+|\bechang\w*|\bremplac\w*",
            r"\bin place of\b",
            r"\b(?:different|another|other|bigger|smaller|larger|right|wrong) (?:size|colou?r|model|variant)",
            r"\b(?:autre|bonne|mauvaise|plus grande|plus petite) (?:taille|couleur|pointure)",
            r"\bchange\b.*\b(?:size|colou?r|for)\b|\bchang\w+ (?:le|la|les|mon|ma|mes|de|contre)\b",
        ),
    ),
    Cue(
        Intent.RETURN,
        (
            r"\breturn\w*|\bretour\w*|\brenvo(?:y|i)\w*|\brendre\b|\brends\b|\brapporter|\bramener",
            r"\breprendre|\breprenez",
            r"\b(?:send|sending|sent|bring|give|giving|hand|ship|take|taken|taking|post|mail)\b.*\bback\b",
            r"\bget rid of",
        ),
    ),
    Cue(
        Intent.LIST_ORDERS,
        (
            r"\b(?:all|list|recent|past|previous|show|see|what are)\b.*\borders\b",
            r"\bwhat (?:have|did) i (?:order|buy)|\border history",
            r"\b(?:liste|voir|toutes|quelles)\b.*\bcommandes\b|\bhistorique|\bqu'ai-je commande",
        ),
    ),
    Cue(
        Intent.ORDER_STATUS,
        (
            r"\bwhere(?:'s| is| are| has)\b|\bwhere\b.*\b(?:is|are)$|\bwhere\b.*\bw\d{4}\b|\bstatus\b",
            r"\btrack\w*|\bwhat's happening",
            rf"\bwhen\b.*\b{_COMING}|\bwhen (?:will|is|does|do|should|can i expect)|\bhow long\b",
            r"\bhas\b.*\b(?:shipped|left|arrived)\b",
            r"\b(?:expected|estimated|arrival|delivery) (?:arrival|delivery|date|day|time)|\beta\b",
            r"\bexpect (?:it|my|the)",
            r"\bou (?:est|en est|en sont|se trouve|sont)\b|\bsuivi\b|\bsuivre\b|\bstatut\b|\bquand\b",
            r"\bpas (?:encore )?recu",
            r"\b(?:haven't|have not|not yet|still not|never)\b.*\b(?:received|got|arrived)",
            r"\bguarantee\w*|\bpromise\b|\bgarantir|\bgarantissez|\bpromett\w+|\bdate (?:de livraison|d'arrivee)",
        ),
    ),
    Cue(
        Intent.PRODUCT,
        (
            r"\bprices?\b|\bhow much\b|\bcosts?\b|\bin stock|\bavailab\w+|\bdo you (?:have|sell|stock|carry)",
            r"\bcome in\b",
            r"\b(?:which|what) (?:other )?(?:colou?rs?|sizes?)|\bquel\w* (?:autres? )?(?:couleurs?|tailles?)",
            r"\bcombien|\bprix\b|\ben stock|\bdisponib\w+|\bavez-vous|\bvendez|\bcoute\w*|\bexiste\w*",
        ),
    ),
    Cue(
        Intent.CANCEL,
        (
            r"\b(?:don't|dont|do not|no longer|not)\b.*\b(?:want|need|require)\b|\bplus besoin",
            r"\bne (?:veux|voudrais|souhaite) plus|\bn'(?:en )?(?:veux|ai) plus",
        ),
        weak=True,
    ),
    Cue(
        Intent.COMPENSATE,
        (
            r"\b(?:late|later|overdue|delay\w*|slow)\b|\bretards?\b|\btardi\w+|\btrop tard\b|\btook (?:too|so) long",
            r"\b(?:not|n't)\b.*\bon time\b|\bafter the promised|\bpas (?:arrivee? )?a (?:temps|l'heure)",
        ),
        weak=True,
    ),
    Cue(
        Intent.RETURN,
        (
            r"\brefund\w*|\bmoney back|\breimburs\w*|\brembours\w*|\btrop (?:petite?|grande?)s?\b",
            r"\bbroken\b|\bdefective|\bdamaged|\bfaulty|\bcassee?\b|\bdefectueu\w+|\babimee?",
            r"\btoo (?:small|big|large|tight|loose)",
            r"\b(?:doesn't|does not|don't|didn't|isn't|not) (?:fit|suit|like|work|for me)",
            r"\bne (?:me )?(?:convient|plait|va|fonctionne) pas",
        ),
        weak=True,
    ),
    Cue(
        Intent.EXCHANGE,
        (
            r"\b(?:different|another|instead|rather|prefer\w*|replacement|autre|plutot|a la place|prefere\w*)\b",
            rf"\b(?:would|want|need|like|'d|voudrais|veux|aimerais|souhait\w+)\b.*\b(?:in|en)\b.*\b(?:{_OPTIONS})",
            r"\bshould (?:be|have been)\b",
        ),
        weak=True,
    ),
    Cue(Intent.CHANGE_ADDRESS, (r"\bmov(?:ed|ing)\b|\bdemenag\w+|\brelocat\w+|\bnew home\b",), weak=True),
    Cue(
        Intent.ORDER_STATUS,
        (
            r"\bwhen\b|\b(?:what|which) (?:date|day|time)\b|\bdate\b|\bquel jour\b",
            r"\b(?:check|info\w*|update|news|nouvelles|look up|details)\b.*\b(?:order|commande|parcel|colis|w\d{4})",
        ),
        weak=True,
    ),
)
"""Cues in the order in which they are tried."""


def intent_of(clause: str) -> tuple[Intent | None, bool]:
    """Tell what a clause asks for, and whether it only hints at it."""
    folded = mend(fold(clause))
    cue = next((cue for cue in CUES if cue.speaks(folded)), None)
    return (cue.intent, cue.weak) if cue else (None, False)
