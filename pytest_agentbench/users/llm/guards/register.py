"""Register: the reply speaks as the agent does, who helps, looks up, processes and asks for the customer's data."""

# ruff: noqa: E501 - a pattern cut to fit a line is harder to check than a long one

import re

from pytest_agentbench.core.conversation import View
from pytest_agentbench.users.llm.draft import Draft

_HELPING = (
    r"how (?:can|may|could|might) (?:i|we) (?:help|assist|be of (?:help|assistance|service))",
    r"(?:i['’]d|i would|i['’]ll|i will|i['’]m|i am) (?:be )?(?:more than )?(?:happy|glad|delighted|pleased) to (?:help|assist)(?: you)?",
    r"(?:anything|something) (?:else|more)? ?(?:that )?i can (?:help|assist|do for you)",
    r"(?:i['’]m|i am|we['’]re|we are) (?:always )?here to (?:help|assist)",
    r"(?:i|we)(?:['’]ll|['’]d| can| could| will| would)(?: \w+ly| also| then)? (?:help|assist) you|assist you (?:with|further)",
    r"what can (?:i|we) do for you",
    r"let me know (?:if|how) (?:i|we) can (?:help|assist|be of)",
    r"(?:glad|happy) (?:i|we) (?:could|was able to) (?:help|assist)|(?:glad|happy) to have (?:helped|assisted)",
    r"comment (?:puis-je|pouvons-nous|je peux|est-ce que je peux) vous (?:aider|assister|[êe]tre utile|renseigner)",
    r"(?:en quoi|que) (?:puis-je|pouvons-nous) (?:vous (?:aider|[êe]tre utile|renseigner)|faire pour vous)",
    r"je (?:serais|suis|serai) (?:ravie?|heureux|heureuse|enchantée?) de (?:pouvoir )?vous (?:aider|assister)",
    r"(?:puis-je|je peux|je vais|je pourrais|pouvons-nous|nous pouvons) (?:encore )?vous (?:aider|assister|renseigner)",
    r"(?:je suis|nous sommes) (?:l[àa]|à votre disposition) pour vous (?:aider|assister)",
    r"je reste à votre (?:entière )?disposition",
    r"(?:if|should) you (?:need|require|have) (?:any )?(?:further|more|additional|other) (?:help|assistance)",
    r"n['’]h[ée]sitez pas (?:à (?:me|nous) [^.?!]{2,40} )?si vous avez (?:encore )?(?:besoin d['’](?:autre chose|aide|assistance)|d['’]autres questions)",
)
"""Offers of help."""

_SERVING = (
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

_CHECKING = (
    r"(?:let me|i(?:['’]ll| will)|allow me to) (?:quickly |just |now |go ahead and )?(?:look (?:that|this|it|into (?:that|this|it)|up [\w ]{1,30}) ?(?:up )?|check (?:that|this|it|on that)|pull (?:that|this|it|up [\w ]{1,30}) ?(?:up )?|find (?:that|this|it)|process (?:that|this|it)|arrange (?:that|this|it)|take care of (?:that|this|it)|transfer you|connect you|verify (?:that|this|it)|assist|help)(?: \w+){0,3} for you",
    r"(?:laissez-moi|je vais) (?:vite |donc |tout de suite )?(?:v[ée]rifier|regarder|consulter|chercher|traiter|effectuer|annuler|rembourser) (?:cela|ça|ceci|votre|vos|le dossier)(?: pour vous)?",
)
"""Looking things up; who has tools of its own does that for the agent, too."""

_ASKING = (
    r"(?:could|can|would|may) (?:you|i|we) (?:please )?(?:provide|share|give me|have|confirm|verify|tell me)(?: me| us)?(?: with)? your (?:full name|first name|last name|name|e-?mail|phone number|order (?:number|id)|user ?id|account (?:number|id)|zip ?code|date of birth|reservation (?:number|id)|booking|confirmation)",
    r"please (?:provide|share|confirm|verify) (?:me )?(?:with )?your (?:full name|first name|last name|name|e-?mail|phone number|order (?:number|id)|user ?id|account (?:number|id)|zip ?code|date of birth|reservation (?:number|id)|booking|confirmation)",
    r"(?:pouvez|pourriez)-vous (?:me |nous )?(?:donner|fournir|indiquer|communiquer|confirmer|pr[ée]ciser) votre (?:nom|pr[ée]nom|adresse|e-?mail|num[ée]ro|identifiant|code postal|date de naissance)",
    r"(?:veuillez|merci de) (?:me |nous )?(?:donner|fournir|indiquer|communiquer|confirmer|pr[ée]ciser) votre (?:nom|pr[ée]nom|adresse|e-?mail|num[ée]ro|identifiant|code postal|date de naissance)",
)
"""Requests for a customer's data."""

_WORK = "{found!r} is what the agent says about its work; you are its customer"
_REASONS = (
    (_HELPING, "{found!r} offers help, as only the agent does; you are the one who wants something"),
    (_SERVING, _WORK),
    (_ASKING, "{found!r} asks for a customer's data, as only the agent does; you are the customer"),
)


def _compiled(phrases: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(rf"(?<!\w)(?:{phrase})(?!\w)" for phrase in phrases), re.IGNORECASE)


_PATTERNS = tuple((_compiled(phrases), reason) for phrases, reason in _REASONS)
_WITHOUT_TOOLS = (*_PATTERNS, (_compiled(_CHECKING), _WORK))
_READ = 4_000


def register(view: View, draft: Draft) -> str | None:
    """Find a phrase of the agent's role, in English or French, that is not a line of the scenario's own."""
    lines = " ".join(view.says).lower()
    for pattern, reason in _PATTERNS if view.tools else _WITHOUT_TOOLS:
        for match in pattern.finditer(draft.text[:_READ]):
            if match[0].lower() not in lines:
                return reason.format(found=match[0])
    return None
