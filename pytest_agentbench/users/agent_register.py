"""What only an agent says: offers of help, work done for a customer, requests for a customer's data."""

# ruff: noqa: E501 - a pattern cut to fit a line is harder to check than a long one

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from pytest_agentbench.users.segments import segments, unquoted

Kind = Literal["help", "work", "data"]
"""help: an offer. work: something done for the other side. data: a request for a customer's data."""

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
    r"how (?:can|may|could|might) (?:i|we) (?:be (?:useful|helpful)|make your day)",
    r"(?:i['’]m|i am|we['’]re|we are) (?:always |fully )?at your (?:service|disposal)",
    r"(?:do|would) you (?:need|like|want) (?:any |some |more |further )?(?:help|assistance) with (?!my|mine|the plates)(?:anything|something|that|this|your)",
    r"what (?:would you like|do you need|can i get) (?:help|assistance) with",
    r"(?:je suis|nous sommes|je reste|nous restons|je me tiens) (?:toujours |enti[èe]rement |bien sûr )?à votre (?:enti[èe]re |compl[èe]te )?(?:disposition|[ée]coute|service)",
    r"(?:comment|en quoi) (?:puis-je|pouvons-nous|pourrais-je|peut-on) (?:encore )?vous (?:[êe]tre (?:agr[ée]able|utile)|servir|aider|assister|renseigner)",
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
    r"(?:je|nous) (?:vais|allons|proc[èe]de|m['’]occupe|nous occupons|traite|traitons|v[ée]rifie|v[ée]rifions|consulte|consultons|enregistre|enregistrons|ouvre|mets à jour)(?: (?:maintenant|tout de suite|bien|donc|imm[ée]diatement|actuellement))* (?:(?:traiter|v[ée]rifier|consulter|enregistrer|ouvrir|mettre à jour|valider|annuler|modifier) )?(?:à |de |du )?(?:votre|vos) (?:demande|dossier|compte|commande|r[ée]servation|contrat|inscription|abonnement|fiche|informations|donn[ée]es|coordonn[ée]es)",
    r"(?:votre|vos) (?:demande|dossier|compte|commande|r[ée]servation|remboursement|inscription|abonnement) (?:est|sont|sera|seront) (?:bien |maintenant |d[ée]sormais )?(?:en cours|trait|enregistr|valid|pris|prise|annul|confirm|rembours|modifi|transmis)\w*",
    r"your (?:request|account|booking|reservation|file|refund|ticket|subscription|registration|claim) (?:is|will be|is now|is currently) (?:being |now )?(?:process|cancel|refund|updat|modif|verif|review|handl|register|activat|forward)\w*",
    r"(?:i|we)(?:['’]ll| will|['’]m| am|['’]re| are|['’]m going to)(?: now| just| currently| gladly| happily)* (?:process|check|verify|review|handl|updat|cancel|access|look(?:ing)? (?:up|into)|open|pull(?:ing)? up|register|forward)(?:e|ing)? your (?:request|account|order|booking|reservation|file|details|information|refund|ticket|subscription|registration|claim|records?|case|data)",
    r"(?:while|as) (?:i|we) (?:check|process|look (?:up|into)|look|verify|review|pull up|access|open|update|handle) your",
    r"(?:pendant que|le temps que) (?:je|nous) (?:v[ée]rifie|traite|consulte|recherche|regarde|ouvre|cherche|proc[èe]de|m['’]occupe)\w* (?:à |de )?(?:votre|vos)",
    r"(?:i|we)(?:['’]ve| have)(?: now| just| successfully| also)* (?:booked|reserved|arranged|scheduled|registered|cancell?ed|noted down|created|opened) (?:it |that |this |everything |a \w+ |an \w+ )?for you",
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
    """Give one pattern for all `phrases`, which finds whole words in lower-case text.

    Ignoring case takes several times as long, since then every phrase is tried at every word.
    """
    return re.compile(rf"(?<!\w)(?:{'|'.join(phrases)})(?!\w)")


_STRICT: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("help", compiled(HELPING)),
    ("work", compiled(SERVING)),
    ("data", compiled(ASKING)),
)
_LOOKING_UP: tuple[tuple[Kind, re.Pattern[str]], ...] = (("work", compiled(CHECKING)),)
_OWN = re.compile(
    r"\b(?:my (?!pleasure|apologies|colleague|system|end\b|side\b|team|supervisor|manager)|mine\b"
    r"|(?:mon|ma|mes) (?!coll[èe]gue|syst[èe]me|[ée]quipe|responsable|service|côt[ée]|plaisir)|(?:le|la|les) miens?\b)",
    re.IGNORECASE,
)
_BY = re.compile(
    r"^[^.?!:]{0,40}:\s|^[^.?!]{0,30}?\b(?:by \w+ing|en (?!attendant|cours)\w+ant|with my)\b", re.IGNORECASE
)
_WORD = re.compile(r"\w")
_READ = 4_000


@lru_cache(maxsize=512)
def agent_phrases(text: str, *, has_tools: bool = False) -> tuple[tuple[Kind, str], ...]:
    """Give what `text` says that only an agent says, in English or French, quotations left out.

    An offer of help that names one's own things, or how (*by bringing plates*), is a customer's. A user with tools of
    its own (`has_tools`) looks things up for the agent, too.
    """
    return tuple(_found(text, (*_STRICT, *(() if has_tools else _LOOKING_UP))))


def _found(text: str, patterns: tuple[tuple[Kind, re.Pattern[str]], ...]) -> Iterator[tuple[Kind, str]]:
    said = unquoted(text[:_READ])
    read = said if _WORD.search(said) else text[:_READ]
    for part in [segment.text for segment in segments(read)] or [read]:
        lowered = "".join(map(_lower, part)) if "İ" in part else part.lower()
        for kind, pattern in patterns:
            for match in pattern.finditer(lowered):
                if kind != "help" or not (_OWN.search(part) or _BY.search(part[match.end() :])):
                    yield kind, part[match.start() : match.end()]


def _lower(char: str) -> str:
    return char.lower()[0]  # the only letter that becomes two would shift all that follows
