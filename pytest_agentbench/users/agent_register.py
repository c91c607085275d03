"""What only an agent says: offers of help, work done for a customer, requests for a customer's data."""

# ruff: noqa: E501 - a pattern cut to fit a line is harder to check than a long one

import re

HELPING = (
    r"how (?:can|may|could|might) (?:i|we) (?:help|assist|be of (?:help|assistance|service))",
    r"(?:i['’]d|i would|i['’]ll|i will|i['’]m|i am) (?:be )?(?:more than )?(?:happy|glad|delighted|pleased) to (?:help|assist)(?: you)?",
    r"(?:anything|something) (?:else|more)? ?(?:that )?i can (?:help|assist|do for you)",
    r"(?:i['’]m|i am|we['’]re|we are) (?:always )?here to (?:help|assist)",
    r"(?:i|we)(?:['’]ll|['’]d| can| could| will| would)(?: \w+ly| also| then)? (?:help|assist) you|assist you (?:with|further)",
    r"what can (?:i|we) do for you",
    r"let me know (?:if|how) (?:i|we) can (?:help|assist|be of)",
    r"would you like (?:anything|something) else(?= *[.?!])",
    r"(?:glad|happy) (?:i|we) (?:could|was able to) (?:help|assist)|(?:glad|happy) to have (?:helped|assisted)",
    r"comment (?:puis-je|pouvons-nous|je peux|est-ce que je peux) vous (?:aider|assister|[êe]tre utile|renseigner)",
    r"(?:en quoi|que) (?:puis-je|pouvons-nous) (?:encore )?(?:vous (?:aider|[êe]tre utile|renseigner)|faire (?:d['’]autre )?pour vous)",
    r"(?:ravie?|heureux|heureuse|content|contente) d['’]avoir pu (?:vous )?(?:aider|[êe]tre utile|renseigner)",
    r"(?:souhaitez|d[ée]sirez|voulez)-vous autre chose",
    r"je (?:serais|suis|serai) (?:ravie?|heureux|heureuse|enchantée?) de (?:pouvoir )?vous (?:aider|assister)",
    r"(?:puis-je|je peux|je vais|je pourrais|pouvons-nous|nous pouvons) (?:encore )?vous (?:aider|assister|renseigner)",
    r"(?:je suis|nous sommes) (?:l[àa]|à votre disposition) pour vous (?:aider|assister)",
    r"je reste à votre (?:entière )?disposition",
    r"(?:if|should) you (?:need|require|have) (?:any )?(?:further|more|additional|other) (?:help|assistance)",
    r"n['’]h[ée]sitez pas (?:à (?:me|nous) [^.?!]{2,40} )?si vous avez (?:encore )?(?:besoin d['’](?:autre chose|aide|assistance)|d['’]autres questions)",
)
"""Offers of help."""

SERVING = (
    r"i(?:['’]ll| will| can| am going to|['’]m going to) (?:now )?(?:transfer|connect|escalate) (?:you|your)",
    r"(?:let me|i(?:['’]ll| will| can)) (?:now |go ahead and )?(?:process|cancel|refund|update|modify|exchange|look up|pull up|locate|verify|access|review|reset) your",
    r"i(?:['’]ve| have)(?: now| just| successfully)* (?:processed|cancell?ed|refunded|updated|modified|exchanged|located|verified|reset|submitted|issued) your",
    r"(?:i|we)(?:['’]ve| have)(?: now| just| successfully)* (?:processed|issued|submitted|registered) (?:the|a) (?:[\w-]+ )?(?:refund|return|exchange|cancellation|request)",
    r"(?:j['’]ai|nous avons) (?:bien |donc )?(?:effectu[ée]|trait[ée]|enregistr[ée]|valid[ée]|proc[ée]d[ée]) (?:[àa]u? )?(?:le |la |l['’]|votre )(?:remboursement|retour|annulation|demande|[ée]change)",
    r"your (?:\w+ ){1,4}(?:has|have) been (?:successfully )?(?:processed|cancell?ed|refunded|updated|modified|exchanged|verified|submitted|issued|reset)",
    r"(?:thank you|thanks) for (?:contacting|calling|reaching out|choosing|being a valued)",
    r"(?:apologi[sz]e|sorry|apologies) for (?:the|any) (?:inconvenience|trouble|delay) (?:you|this (?:has|may|might|have)|caused|to you)",
    r"je (?:vous|m['’]en) (?:occupe (?:tout de suite|imm[ée]diatement)|transf[èe]re|mets en (?:relation|contact))",
    r"(?:votre|vos) (?:[\w'’]+ ){1,4}(?:a|ont) (?:bien )?été (?:bien )?(?:annul|trait|rembours|modifi|mis|enregistr|valid|effectu)\w*",
    r"merci (?:de nous avoir contact|d['’]avoir contact|d['’]avoir appel|de votre appel)\w*",
    r"(?:veuillez|nous vous prions d['’]) ?(?:nous )?excuser (?:pour )?(?:la gêne|le d[ée]sagr[ée]ment|ce d[ée]sagr[ée]ment)",
)
"""Work for the other side, and thanks and excuses in the name of the service."""

CHECKING = (
    r"(?:let me|i(?:['’]ll| will)|allow me to) (?:quickly |just |now |go ahead and )?(?:look (?:that|this|it|into (?:that|this|it)|up [\w ]{1,30}) ?(?:up )?|check (?:that|this|it|on that)|pull (?:that|this|it|up [\w ]{1,30}) ?(?:up )?|find (?:that|this|it)|process (?:that|this|it)|arrange (?:that|this|it)|take care of (?:that|this|it)|transfer you|connect you|verify (?:that|this|it)|assist|help)(?: \w+){0,3} for you",
    r"(?:laissez-moi|je vais) (?:vite |donc |tout de suite )?(?:v[ée]rifier|regarder|consulter|chercher|traiter|effectuer|annuler|rembourser) (?:cela|ça|ceci|votre|vos|le dossier)(?: pour vous)?",
)
"""Looking things up; who has tools of its own does that for the agent, too."""

ASKING = (
    r"(?:could|can|would|may) (?:you|i|we) (?:please )?(?:provide|share|give me|have|confirm|verify|tell me)(?: me| us)?(?: with)? your (?:full name|first name|last name|name|e-?mail|phone number|(?:order|customer|client|member(?:ship)?|case|file|contract|policy|reference) (?:number|id)|user ?id|account (?:number|id)|zip ?code|date of birth|reservation (?:number|id)|booking|confirmation)",
    r"please (?:provide|share|confirm|verify) (?:me )?(?:with )?your (?:full name|first name|last name|name|e-?mail|phone number|(?:order|customer|client|member(?:ship)?|case|file|contract|policy|reference) (?:number|id)|user ?id|account (?:number|id)|zip ?code|date of birth|reservation (?:number|id)|booking|confirmation)",
    r"(?:pouvez|pourriez)-vous (?:me |nous )?(?:donner|fournir|indiquer|communiquer|confirmer|pr[ée]ciser) votre (?:nom|pr[ée]nom|adresse|e-?mail|num[ée]ro|identifiant|code postal|date de naissance)",
    r"(?:veuillez|merci de) (?:me |nous )?(?:donner|fournir|indiquer|communiquer|confirmer|pr[ée]ciser) votre (?:nom|pr[ée]nom|adresse|e-?mail|num[ée]ro|identifiant|code postal|date de naissance)",
    r"what(?:['’]s| is) your (?:(?:order|customer|client|account|member(?:ship)?|booking|reservation|contract|policy) (?:number|id)|user ?id|date of birth|zip ?code)",
    r"quel(?:le)? est votre (?:num[ée]ro (?:de |d['’]|du )?(?:commande|client|compte|dossier|contrat|r[ée]servation|abonn[ée])|date de naissance|code postal)",
)
"""Requests for a customer's data."""


def compiled(phrases: tuple[str, ...]) -> re.Pattern[str]:
    """Give one pattern for all `phrases`, which finds whole words in any case."""
    return re.compile("|".join(rf"(?<!\w)(?:{phrase})(?!\w)" for phrase in phrases), re.IGNORECASE)
