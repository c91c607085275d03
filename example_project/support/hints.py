"""Words that hint at a wish: they count where nothing in a message is clearer, and the order decides what they mean."""

from support.intents import Cue, Intent
from support.lexicon import OPTION_WORDS, THING_WORDS

_PERSONAL = r"\b(?:my|mon|ma|mes|order\w*|command\w*|bought|received|got|recue?s?|achete\w*|achat|sold|w\d{4})\b"

HINTS: tuple[Cue, ...] = (
    Cue(
        Intent.CHANGE_ADDRESS,
        (
            r"\b(?:mov(?:ed|ing)|demenag\w+|relocat\w+|elsewhere|ailleurs)\b",
            r"\b(?:new|nouve(?:l|lle|au)) (?:home|place|house|flat|apartment|domicile|logement|appartement|maison)\b",
            r"\b(?:somewhere|someplace) (?:else|different|new)\b",
            r"\bchang\w+ (?:de |d')(?:logement|appartement|domicile)",
            r"\b(?:where|isn't where|not where) i (?:now )?live\b|\bno longer live|\bdon't live|\blive (?:there|at)\b",
            r"\b(?:wrong|different|another|old) (?:place|destination|location)\b",
            r"\b(?:old|former) (?:flat|home|house|apartment)\b|\bautre (?:endroit|lieu)\b",
        ),
        unless=r"\brefund|\bmoney\b|\brembours",
    ),
    Cue(
        Intent.CHANGE_PAYMENT,
        (r"\bpay\w*\b (?:\w+ )?(?:another way|different\w*|otherwise|autrement)",),
    ),
    Cue(
        Intent.COMPENSATE,
        (
            r"\b(?:late|later|overdue|delay\w*|slow)\b|\bretards?\b|\btardi\w+|\btrop tard\b",
            r"\btook (?:too|so|way|much)",
            r"\b(?:not|n't)\b.*\b(?:on|in) time\b|\bafter the promised|\bpas (?:arrivee? )?a (?:temps|l'heure)",
            r"\bbehind schedule|\blonger than|\btoo long\b|\b(?:was|were|is) supposed to (?:be|get|come|arrive|reach)",
            r"\bshould(?:'ve| have) (?:come|arrived|got|gotten|reached|been (?:here|delivered))",
            r"\b(?:days?|weeks?) (?:after|behind|past|too)\b|\bovershot|\bmissed the (?:promised|delivery)",
            r"\b(?:jours?|semaines?) (?:de plus|de trop|apres|trop)\b|\btrop long\w*|\bplus longtemps que\b",
        ),
    ),
    Cue(
        Intent.CANCEL,
        (
            r"\b(?:don't|dont|do not|no longer|not|never|no)\b.*\b(?:want\w*|need\w*|requir\w*|use|interested)\b",
            r"\bchanged my mind|\bchange d'avis|\b(?:not|n't) (?:\w+ )?(?:go ahead|go through|proceed)\b",
            r"\b(?:don't|dont|do not|not to) (?:send|ship|deliver|process|dispatch)\b",
            r"\bplus besoin",
            r"\b(?:ne|n')\b.*\b(?:veux|voudrais|souhaite|voulu|voulais|ai|desire)\b.*\b(?:plus|pas|jamais)",
            r"\b(?:ne|n')(?: en)? ?(?:veux|ai|souhaite|voudrais) (?:plus|pas|jamais)",
            r"\bn'(?:envoyez|expediez|livrez) pas",
            r"\b(?:ordered|bought|placed|commande\w*|passee?)\b.*\b(?:by (?:mistake|accident)|par (?:erreur|megarde))",
            r"\brid of\b|\bdebarrass\w+|\bne (?:pas|plus) (?:l'|la )?(?:expedier|envoyer|livrer|donner suite)\b",
            r"\b(?:want|get|pull) out of\b",
        ),
    ),
    Cue(
        Intent.RETURN,
        (
            r"\brefund\w*|\bmoney\b.*\bback\b|\breimburs\w*|\brembours\w*|\btrop (?:petite?|grande?)s?\b",
            r"\bfor (?:a |my |some )?(?:store|shop) credit|\bback\b|\breturn\w*",
            r"\b(?:collect|pick) (?:it|them|that) up",
            r"\bbroken\b|\bdefective|\bdamaged|\bfaulty|\bcassee?\b|\bdefectueu\w+|\babimee?",
            r"\btoo (?:small|big|large|tight|loose|heavy|loud)",
            r"\b(?:not|n't|won't be|ne|pas) (?:\w+ )?(?:keep|gard)\w*",
            r"\bne (?:la |le |les |l')?(?:\w+ )?(?:\w+ )?(?:gard\w+)",
            r"\b(?:doesn't|does not|don't|didn't|isn't|not) (?:fit|suit|like|work|for me|happy|satisfied)",
            r"\bdisappoint\w+|\bunhappy\b|\bdecue?\b|\bne (?:me |m')?(?:convient|plait|va|fonctionne) pas",
        ),
    ),
    Cue(
        Intent.EXCHANGE,
        (
            r"\b(?:different|another|replacement|autre|in exchange)\b",
            r"\b(?:change|modifier|changer) (?:it|them|this|that|ca|cela)\b",
        ),
        unless=r"\bfor\b.*\b(?:credit|money|refund)|\banother (?:way|day|time)",
    ),
    Cue(
        Intent.EXCHANGE,
        (
            r"\b(?:instead|rather|sooner|prefer\w*|plutot|a la place|au lieu|prefere\w*|better|mieux)\b",
            r"\b(?:would|want\w*|need|like|'d|can|could|may|take|hop(?:ed|ing)|wish\w*|give|send)\b|->|→",
            r"\b(?:voudrais|veux|voulais|aimerais|souhait\w+|faut|peu\w+|pourr\w+|donne\w*|envoy\w+)\b",
            r"\bshould(?:'ve)? (?:be|have been|been)\b|\bmeant to be\b|\bsuppose\w* to be\b|\baurait du\b",
        ),
        also=rf"\b(?:{OPTION_WORDS})\b",
        unless=_PERSONAL + r".*\?$|\bhow much|\bprices?\b|\bcosts?\b|\bstock\b|\bcombien|\bprix\b",
    ),
    Cue(
        Intent.ORDER_STATUS,
        (
            r"\bwhen\b|\b(?:what|which) (?:date|day|time)\b|\bdate\b|\bquel(?:le)? (?:jour|date)\b",
            r"\b(?:check|info\w*|update|news|nouvelles|look up|details)\b.*\b(?:order|commande|parcel|colis|w\d{4})",
            r"\b(?:any|des) (?:news|nouvelles)\b|\bhappen\w*\b",
        ),
    ),
    Cue(
        Intent.ADVICE,
        (
            r"\b(?:which|what|quel\w*|lequel|laquelle)\b.*\b(?:you|vous)\b",
            r"\bif you (?:had|were)\b",
            rf"\b(?:{OPTION_WORDS}) (?:or|ou) (?:the |le |la |un |une )?(?:{OPTION_WORDS})\b.*\?",
        ),
    ),
    Cue(
        Intent.PRODUCT,
        (r"\?\W*$",),
        also=rf"\b(?:{THING_WORDS})s?\b",
        unless=_PERSONAL + r"|\b(?:want|need|refund|swap|change)\b",
    ),
)
"""Hints in the order in which they are tried."""
