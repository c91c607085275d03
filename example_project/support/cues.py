"""Words by which a customer asks for something outright: an ordered list, in English and French, over folded text."""

from support.intents import Cue, Intent
from support.lexicon import METHOD_WORDS, THING_WORDS

_CHANGE = (
    r"(?:chang\w*|updat\w*|modif\w*|switch\w*|swap\w*|replac\w*|correct\w*|edit\w*|alter\w*|amend\w*|set|mov(?:e|ed|ing)|"
    r"remplac\w*|corrig\w*|mettre a jour|fix|transfer\w*)"
)
_MAIL = r"(?:e-?mails?|mails?|courriels?)"
_ADDRESS = rf"(?:(?<!mail )(?<!electronic )address(?:es)?|adresses?(?! (?:{_MAIL}|electronique|de courriel)))"
_ACCOUNT = (
    r"(?:account|profile|default|on file|records?|(?:my|personal) details|home address|compte|profil|par defaut|fiche|"
    r"dossier)"
)
_END = (
    r"(?:stop|drop|kill|abort|undo|forget|remove|delete|ditch|axe|bin|halt|terminate|discard|reverse|erase|"
    r"pull out of)"
)
_ENDED = (
    r"(?:stopped|dropped(?! off)|killed|aborted|undone|removed|deleted|ditched|halted|terminated|discarded|reversed)"
)
_FREIGHT = r"(?:shipping|shipment|delivery|postage|freight)"
_WHICH = r"\b(?:what|which|show|list|tell me|quel\w*)"
_SHIP = r"(?:(?:re-?ship|ship|deliver|send|sent|livr|expedi|envoy|achemin)\w*|go(?:es)?|(?:come|make its way)(?= to))"
_COMING = r"(?:com(?:e|es|ing)|arriv\w+|deliver\w*|get(?:s|ting)? here|be here|reach|show up|turn up)"
_ASKS = (
    r"\b(?:what(?:'s| is| was| are)|how (?:much|many)|quel\w*|combien)\b.*\b(?:fees?|total|days|frais|jours|reason)\b"
    r".*\b(?:orders?|commande|w\d{4})\b"
)
"""A question about an order's figures, which asks for nothing to be done."""

CUES: tuple[Cue, ...] = (
    Cue(
        Intent.OUT_OF_SCOPE,
        (
            r"\binvoices?\b|\breceipts?\b|\b(?:the|a|my|another) bill\b(?! to\b)|\bvat\b|\btax\b",
            r"\bfactures?\b|\bduplicata|\bjustificatif|\bproof of purchase",
            r"\bwarrant\w+|\brepair\w*|\bgaranties?\b|\brepar(?:er|ation)",
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
            r"\bhumans?\b|\b(?:real|actual|living|live|proper) (?:person|people|somebody|someone)|\bhumaine?\b",
            r"\b(?:someone|somebody|anyone|anybody) (?:real|human|i can)|\ba person\b|\bvraie personne",
            r"\bune personne\b",
            r"\b(?:bot|robot|machine|chatbot)s?\b",
            r"\b(?:an|live|another) agent\b|\brepresentative|\bmanager|\bsupervisor|\bresponsable|\bun conseiller",
            r"\b(?:speak|talk|chat) (?:to|with)\b|\btransfer me|\bput me through|\bconnect me|\bparler (?:a|avec)\b",
            r"\bquelqu'un d'autre|\bsomeone else\b",
        ),
    ),
    Cue(
        Intent.CANCEL,
        (
            r"\bcancel\w*|\bannul\w*|\bcall(?:ed|ing|s)? off|\bcall\b.*\boff\b|\bscrap(?:ped)?\b|\bvoid\w*",
            r"\bwithdraw\w*",
            r"\bback(?:ing)? out|\bresili\w+|\brevok\w+|\brescind\w*|\bpull(?:ing)? the plug|\bnix\b|\bdisregard",
            rf"\b{_END}\b.*\b(?:orders?|purchase|w\d{{4}}|everything|delivery of)",
            rf"\b{_END} (?:it|this|that|them|those|these)\b",
            rf"\b(?:orders?|purchase|w\d{{4}}|it|that|this|one) (?:\w+ )?(?:\w+ )?(?:be )?{_ENDED}\b",
            r"\brid of (?:my |the |this |that )?(?:orders?|purchase|w\d{4})",
            r"\btake (?:w\d{4}|it|that|my order) off\b",
            r"\b(?:supprim|stopp|arret|interromp|retir|bloqu|renonc|abandonn)\w*\b.*\b(?:commande|w\d{4}|tout|achat)",
            r"\b(?:la|le|l'|les) ?(?:supprim|stopp|arret|interromp|retir|bloqu|abandonn)\w*",
            r"\blaisse\w* tomber .*w\d{4}",
        ),
        unless=r"\bforget it\b|\bstop(?:ped)? (?:working|send)",
    ),
    Cue(
        Intent.CHANGE_EMAIL,
        (
            rf"\b{_CHANGE}\b.*\b{_MAIL}\b",
            rf"\b(?:new|nouvel(?:le)?|another|different|other|autre)\b[^.]*\b{_MAIL}\b",
            rf"\b{_MAIL}\b.*\b{_CHANGE}\b",
            rf"\b(?:{_CHANGE}\b[^@]*\b(?:to|with|by|into|par|en|vers|pour)|use|using|utiliser)\b:? \S+@\S+",
            rf"\b{_MAIL}\b(?: address)? (?:should|must|needs? to|has to|is to|to|devrait|doit)\b.*@",
        ),
    ),
    Cue(
        Intent.COMPENSATE,
        (
            rf"\b{_FREIGHT}\s+(?:fees?|costs?|charges?|prices?|money)|\bpostage\b",
            r"\bfrais (?:de )?(?:port|livraison|d'envoi|d'expedition)",
            r"\bcompens\w+|\bgoodwill|\bdedommag\w+|\bgeste commercial|\bmake up for",
            rf"\b(?:refund\w*|reimburs\w*|back|credit\w*)\b.*\b{_FREIGHT}\b(?! (?:address|date))",
            rf"\b{_FREIGHT}\b(?! (?:address|date)).*\b(?:refund\w*|reimburs\w*|returned|back|free)\b",
            r"\b(?:rembours|rend|recuper|restitu|rest?itu)\w*\b.*\b(?:livraison|port|envoi|expedition)\b",
            rf"\b(?:paid|pay|charged|spent|costs?|fees?|money) (?:me )?(?:for|on|of) (?:the |its |my )?{_FREIGHT}",
            r"\b(?:paid|charged|fees?|costs?) (?:\w+ )?(?:for|to) (?:[hg][ae][vt]e? it )?(?:ship|deliver|send)\w*",
            r"\bpaye\w*\b.*\b(?:livraison|port|envoi|expedition)\b",
        ),
        unless=rf"\b(?:address|adresse)\b|{_ASKS}",
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
            rf"\b{_ADDRESS}\b|\b(?:re-?direct|re-?rout|forward|divert|redirig|reachemin)\w*",
            rf"\b{_SHIP}\b.*\b(?:to(?! me\b)|elsewhere|somewhere else|au|aux|chez|ailleurs|vers)\b",
            r"\b(?:where|isn't where|not where) i (?:now )?live\b|\b(?:go|come|end up) (?:somewhere|elsewhere)",
            rf"\b{_SHIP}\b.*\b(?:at|in)\b.*\b\d{{1,3}}\b",
            rf"\b{_SHIP}\b.*\b(?:another|different|other|autre) (?:place|location|endroit|lieu)",
            rf"\b{_SHIP}\b.*\ba (?:l'|cette|la(?! place)|une|mon|ma|\d)|\bwhere\b.*\bshipped\b",
            r"\b(?:change|modify|update|edit|wrong)\b.*\b(?:where|destination|(?:delivery|shipping) details)",
        ),
        unless=rf"\bback\b|\brefund|\brembours|\bmoney\b|\b{METHOD_WORDS}|\bon time\b|\bsupposed to\b",
    ),
    Cue(
        Intent.DISCOUNT,
        (
            r"\bdiscount|\bcoupon|\bpromo\b|\bpromo\w*|\bprice match|\bcheaper\b|\breductions?\b|\bremise",
            r"\brabais|\bmoins cher",
            r"\b(?:knock|money|something|anything|bit|euros?|percent|%)\b.*\boff\b|\bspecial offer",
            r"\bbetter price|\bmatch\b.*\bprice|\b(?:a|some|any) vouchers?\b|\b(?:percent|per cent|%) off",
            r"\bbon de reduction|\bcode promo|\b(?:un|petit) geste\b",
        ),
    ),
    Cue(
        Intent.ADVICE,
        (
            r"\brecommend\w*|\bsuggest\w*|\bdo you think|\byour (?:opinion|advice|favou?rite)",
            r"\bwould you (?:choose|pick|buy|say|go for)",
            r"\b(?:which|what|one|colou?r|model)\b.*\b(?:better|best|nicer|nicest|prettier|prefer)\b",
            r"\b(?:help me|can't|cannot|hard to) (?:to )?(?:decide|choose|pick)|\baidez-moi a choisir",
            r"\bis better\b|\bbetter choice|\byour (?:pick|choice|taste)\b",
            r"\b(?:which|what)\b.*\b(?:you|people) (?:\w+ )?(?:like|love|choose|pick|take|prefer|go for)(?! back)",
            r"\bif it (?:was|were) you\b|\bif you (?:had|were|could) .*\b(?:choose|pick|me|buy)",
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
            r"\bexchang\w*(?! for (?:\w+ )?(?:store |shop )?(?:credit|money|refund))|\bswap\w*|\btrad(?:e|ed|ing)\b",
            r"\bswitch\w*\b|\breplac\w+|\bechang\w*|\bremplac\w*|\btroqu\w+",
            r"\bin place of\b",
            r"\b(?:different|another|other|bigger|smaller|larger|right|wrong) (?:size|colou?r|model|variant)",
            r"\b(?:autre|bonne|mauvaise|plus grande|plus petite) (?:taille|couleur|pointure)",
            r"\bchange\b.*\b(?:size|colou?r)\b|\bchang\w+ (?:de |la )?(?:taille|couleur|pointure)",
            rf"\bchang\w+\b.*\b(?:{THING_WORDS})s?\b.*\b(?:for|to|into|contre|pour|par|en)\b",
        ),
        unless=r"\bfor (?:\w+ )?(?:(?:store|shop) credit|money|a refund)|\b(?:in|en) e(?:x)?change\b|\bchanged my mind",
    ),
    Cue(
        Intent.RETURN,
        (
            r"\breturn\w*|\bretour\w*|\brenvo(?:y|i)\w*",
            r"\b(?:rendre|rends|rendrai|rapporter|ramener|restituer|reprise)\b",
            r"\brepren\w+",
            r"\b(?:sen[dt]|g[io]v(?:e|en)|gave|hand|ship|t[ao]k(?:e|en|ing)|took|post|mail|go|bring)(?:s|ing|ed|es)?\b.*\bback\b",
            r"\b(?:hand|bring|send|post) (?:it|them|this|the \w+|my \w+) (?:back|in)\b",
            r"\btake (?:it|them) off my hands",
        ),
        unless=rf"\b(?:money|fees?|costs?|charges?|amount|paid|{_FREIGHT})\b.*\b(?:back|returned)\b"
        r"|\bback (?:my|the) money|\bnot (?:return|send|give)\b",
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
            rf"\btrack\w*|\bwhat's happening|{_ASKS}",
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
            r"\bprices?\b|\bpriced\b|\bhow (?:much|expensive)\b|\bcosts?\b|\bin stock|\bavailab\w+",
            r"\bdo you (?:have|sell|stock|carry)|\bset me back\b",
            r"\b(?:what|how much) (?:would|will|do|must) i (?:have to )?pay",
            r"\bcome in\b|\bgoing for\b|\btarifs?\b",
            r"\b(?:which|what) (?:other )?(?:colou?rs?|sizes?)|\bquel\w* (?:autres? )?(?:couleurs?|tailles?)",
            r"\bcombien|\bprix\b|\ben stock|\bdisponib\w+|\bavez-vous|\bvendez|\bcoute\w*|\bexiste\w*",
        ),
    ),
)
"""Cues in the order in which they are tried."""
