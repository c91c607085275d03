"""What questions ask for, by their wording in English and French: a number, a time, a person, a reason, a list …"""

import re
from dataclasses import dataclass

from notes.text import fold


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives))


_FRENCH = _any(
    r"\b(?:le|la|les|des|du|une|est|sont|que|qui|quel(?:le)?s?|quoi|comment|combien|pourquoi|"
    r"quand|dans|pour|avec|sur|et|"
    r"mes|ma|mon|cette|ce|il|elle|de|au|aux|ou|en|tu|es|sur|ca|cela|donc|aussi|c'est|l'|d'|"
    r"qu'|n'|j'|s'|merci|bonjour)\b"
    r"|\b[ldnjsq]u?'"
)
_ENGLISH = _any(
    r"\b(?:the|a|an|is|are|was|were|what|who|when|where|which|how|why|do|does|did|of|in|on|for|and|or|to|it|its|my|"
    r"that|this|about|you|your|with|from|can|there|please|thanks|hello|one|them|they)\b"
)

NUMBER = re.compile(r"\d")
_DATE = _any(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b",
    r"\b(?:janvier|fevrier|mars|avril|mai|juin|juillet|aout|septembre|octobre|novembre|decembre)\b",
    r"\b\d{4}-\d{2}(?:-\d{2})?\b|\b(?:1[0-9]|20)\d{2}\b|\b\d{1,2}[:h]\d{2}\b|\b\d{1,2} ?(?:am|pm|h)\b",
    r"\b(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|lundi|mardi|mercredi|"
    r"jeudi|vendredi|samedi|dimanche)\b",
    r"\bversion\b|\bafter\b|\bbefore\b|\bapres\b|\bavant\b|\bwhen\b|\bquand\b|\blorsqu|\bonce\b|\bif\b|\bsi\b",
)
_DURATION = re.compile(
    r"(?<!\ba )(?<!\bat )(?<!\bvers )"
    r"\b(?:[\d.,]+|one|two|three|four|five|six|seven|eight|nine|ten|twelve|un|une|deux|trois|"
    r"quatre|cinq|sept|huit|neuf|dix|"
    r"douze|a|an|several|few|plusieurs|quelques)[ \u00a0-]?(?:(?:consecutive|calendar|business|working|"
    r"full|more) )?(?:ms|milliseconds?|s|secs?|"
    r"seconds?|secondes?|mins?|minutes?|"
    r"h|hours?|heures?|days?|jours?|nights?|nuits?|weeks?|semaines?|months?|mois|years?|ans?|"
    r"annees?|centur|siecles?)\b"
)
_PAGES = re.compile(r"\d ?(?:pages?|words?|lines?|characters?|mots|lignes?|caracteres?|chapters?|chapitres?)\b")
_AMOUNT = re.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|deux|trois|quatre|cinq|sept|huit|neuf|dix)\b"
)
_MONEY = re.compile(r"[€$£]|\b(?:eur|euros?|dollars?|usd|cents?|centimes?|pounds?|free|gratuit)\b")
_DEFAULT = re.compile(
    r"\bdefaults?\b(?: values?| \w+)?\s*(?:\b(?:is|are|to|true|false|null|none|undefined|infinity|"
    r"value)\b|[:=\d'\"`({\[])"
    r"|\b(?:by|the) default\b|\bpar defaut\b|\bdefaut\b"
)
_DEGREES = re.compile(r"\d ?°|\bdegrees?\b|\bdegres?\b|\d ?[kf]\b|\bcelsius\b|\bfahrenheit\b")
_DISTANCE = re.compile(r"\d[ \u00a0]?(?:[mck]?m|metres?|meters?|feet|ft|inch(?:es)?|miles?|kilomet\w+|centimet\w+)\b")
_REASON = _any(
    r"^why\b|^pourquoi\b|\breasons?\b|\braisons?\b",
    r"\bbecause\b|\bsince\b(?! (?:\d|january|february|march|april|may|june|july|august|september|october|november|"
    r"december))|\bso that\b|\bdue to\b|\btherefore\b|\bin order to\b|\bthis "
    r"(?:means|way|prevents|avoids)\b",
    r"\bcar\b|\bparce qu|\bpuisqu|\bafin\b|\bpour (?:que|eviter|\w+er)\b|\bgrace a\b|\ben "
    r"raison\b|\bdonc\b|\bto (?:avoid|prevent)\b",
    r"\bprevents?\b|\bavoids?\b|\bcauses?\b|\bevite\w*\b|\bempeche\w*\b|\botherwise\b|\bsinon\b|\bwithout\b|\bsans\b",
)
_NAME = re.compile(r"(?<![.!?:] )(?<!^)\b[A-ZÀ-Ý][\w'’-]+")
_CODE = re.compile(r"`[^`]+`|--?\w|\w+\(|\$ ")

_ASKS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "duration",
        _any(
            r"\bhow long\b",
            r"\bcombien de (?:temps|jours|mois|semaines|minutes|heures|ans|annees)\b",
            r"\bduree\b",
            r"\bhow many (?:\w+ )?(?:seconds|minutes|hours|days|weeks|months|years)\b",
            r"\bduration\b",
        ),
    ),
    (
        "extent",
        _any(
            r"\blonger\b|\bshorter\b|\bfaster\b|\bslower\b|\bplus longtemps\b|\bplus (?:vite|rapide|"
            r"lent)\w*\b"
        ),
    ),
    ("default", _any(r"\bdefaults?\b|\bpar defaut\b")),
    (
        "temperature",
        _any(
            r"\bhow (?:hot|cold|warm|cool)\b",
            r"\btemperature\b",
            r"\bhotter\b|\bcolder\b|\bwarmer\b|\bplus (?:chaud|froid)\w*\b",
        ),
    ),
    (
        "length",
        _any(
            r"\bhow (?:tall|high|far|deep|wide|thick)\b",
            r"\b(?:taller|higher|deeper|wider)\b",
            r"\bquelle (?:hauteur|distance|profondeur|largeur|longueur)\b",
        ),
    ),
    (
        "money",
        _any(
            r"\bhow (?:expensive|much (?:does|do|did|is|are|was|were) .* cost)",
            r"\bcosts?\b|\bprices?\b|\bcout\w*\b|\bprix\b|\bcheaper\b|\bmore expensive\b|\b(?:plus|"
            r"moins) cher\w*\b",
        ),
    ),
    (
        "version",
        _any(
            r"\b(?:what|which|quelles?) (?:(?:\w+|est la|sont les)[ .]){0,2}versions?\b",
            r"\b(?:a|depuis) quelle version\b",
        ),
    ),
    (
        "number",
        _any(
            r"\bhow (?:many|much|far|big|tall|high|old|hot|cold|deep|wide|large|often|fast|heavy)\b",
            r"\bcombien\b",
            r"\bwhat (?:number|percentage|temperature|ratio|size|port|limit)\b",
            r"\bquel(?:le)?s? (?:est |sont )?(?:la |le |l')?(?:temperature|nombre|taille|pourcentage|"
            r"ratio|port|limite)\b",
            r"\bhow (?:soon|early|late)\b",
        ),
    ),
    (
        "time",
        _any(
            r"\bwhen\b",
            r"\bquand\b",
            r"\b(?:what|which|en quelle|quelle) (?:year|date|day|month|annee|jour)\b",
            r"\ba quelle heure\b",
            r"\bwhat time\b",
            r"\bquel (?:jour|mois)\b",
        ),
    ),
    ("person", _any(r"\bwho(?:m|se)?\b", r"\bqui\b(?! (?:est|sont) (?:le|la|les)? ?\w+ (?:que|dont))", r"\bpar qui\b")),
    (
        "reason",
        _any(r"\bwhy\b", r"\bpourquoi\b", r"\b(?:what|for what) reason\b", r"\bquelle raison\b", r"\bhow come\b"),
    ),
    ("place", _any(r"\bwhere\b", r"\bou\b (?:est|sont|se|a|ont|trouve|faut|puis|peut)", r"^ou\b", r"\bd'ou\b")),
    (
        "how",
        _any(
            r"\bhow (?:do|does|can|should|to|would|is|are|did)\b",
            r"\bcomment\b",
            r"\bwhich (?:command|option|flag|setting)\b",
            r"\bwhat (?:command|option|flag|setting)\b",
            r"\bquelle (?:commande|option)\b",
        ),
    ),
)

_LIST = _any(
    r"\bwhat (?:are|were) (?:all )?(?:the|my|its|their|some)?\b",
    r"\b(?:which|what) (?:\w+ ){0,4}(?:are there|exist|do (?:i|we|you) (?:need|have)|are (?:needed|"
    r"required|supported|available))\b",
    r"^(?:please )?(?:list|enumerate|name)\b|\blist (?:of|all|the|me)\b|\ball (?:the )?\w+s\b|"
    r"\bthe steps\b|\bingredients\b",
    r"\bquel(?:le)?s sont\b|\bquel(?:le)?s (?:\w+ ){1,3}(?:faut|sont|existe|y a)|^(?:liste|"
    r"enumere|cite|donne)\w*\b(?!.*source)"
    r"|\bliste des\b|\bles etapes\b|\betapes\b|\btous les\b|\btoutes les\b",
)
_DEFINITION = _any(
    r"^(?:and |so )?what(?:'s| is| are| was) (?:an? |the )?[\w' -]+\?*$",
    r"^(?:what does .* mean|define|what do you mean by)\b",
    r"\bqu'est[- ]ce (?:que|qu')|\bc'est quoi\b|\bdefini\w*\b|\bque signifie\b|\bveut dire\b",
)

WEAK = frozenset(
    fold(
        "take takes took taking need needs needed make makes made making do done work works "
        "working happen happens cost "
        "kind type types way ways thing things time times number amount name names named called "
        "use used invented invent inventor "
        "created create creator introduced introduce proposed propose developed develop "
        "developer wrote write written author "
        "built build founded founder found discovered discover described describe long big much "
        "many tall high far old hot "
        "often first main exist exists available possible tell give show explain mean means "
        "please difference compare better "
        "prend prendre prennent fait faire font faut falloir besoin temps nombre sorte type "
        "facon maniere chose nom appelle "
        "invente inventer inventeur cree creer createur construit construire propose proposer "
        "developpe ecrit ecrire auteur "
        "fonde decouvert decrit existe existent utilise sert servir signifie coute couter mettre "
        "mets met durer dure place "
        "held hold holds allow allows allowed get gets set sets list lists recommended recommend "
        "recommande reason raison "
        "contain contains contained contient contenir hold which "
        "longer shorter more less fewer bigger smaller higher lower cheaper expensive faster "
        "slower hotter colder taller larger "
        "lieu longtemps vite rapide cher chere grand grande petit petite haut haute early late soon "
        "taken given kept should must "
        "temperature duration duree price prices prix far apart "
        "step steps etape etapes ingredient ingredients current currently default defaut year "
        "annee date jour day month mois "
        "value values valeur valeurs doit doivent precise preciser come came carry carries carried porte "
        "portent go goes "
        "put emet same two both deux ensemble"
    ).split()
)
"""Words that a question's wording brings along and that notes often put otherwise: they help, but need "
"not be there."""


_LEAD = re.compile(
    r"\W*(?:(?:and|but|so|et|mais|donc)\W+)?(?:(?:in|at|on|for|to|with|from|by|of|since|until|a|de|d'|dans|"
    r"pour|avec|par|en|depuis|jusqu'a) ?)?(?:what|which|who\w*|where|when|why|how|"
    r"quel\w*|qui|ou|quand|pourquoi|comment|combien)\b"
)
_CLAUSE = re.compile(r"\b(?:when|where|who|whom|whose|why|quand|pourquoi)\b")
_COUNTED = re.compile(r"\b(?:how many|combien d[e']|(?:more|fewer|most|plus de|moins de)) ?(?P<noun>[\w'-]+)")
_HEAD = re.compile(
    r"\b(?:what (?:are|were)|which are|list|name|enumerate|quel(?:le)?s (?:sont|etaient)|liste[zr]?|"
    r"enumere[zr]?|donne[zr]?) (?:all |toutes |tous )?"
    r"(?:(?:the|my|its|their|his|her|our|some|les|mes|ses|leurs|nos|des) )?(?P<noun>[\w'-]+)"
)


def counted(question: str) -> str:
    """Give the noun that a question counts: `pages` in “How many pages …?”; "" for none."""
    match = _COUNTED.search(fold(question))
    return match["noun"] if match else ""


def listed_noun(question: str) -> str:
    """Give the noun whose list a question wants: `objections` in “What are the objections to …?”; "" for none."""
    match = _HEAD.search(fold(question))
    return match["noun"] if match else ""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What kind of answer a question wants; `kind` is "" for anything."""

    kind: str = ""
    listed: bool = False
    defined: bool = False


def asked(question: str) -> Asked:
    """Read what a question wants."""
    folded = _without_clauses(fold(question).strip())
    kind = next((name for name, pattern in _ASKS if pattern.search(folded)), "")
    listed = bool(_LIST.search(folded)) and kind not in {"duration", "time", "person", "reason", "money"}
    return Asked(kind=kind, listed=listed, defined=not kind and bool(_DEFINITION.search(folded)))


def _without_clauses(folded: str) -> str:
    """Leave out the question words of subordinate clauses: “What are the rules when it rains?” asks for rules."""
    lead = _LEAD.match(folded)
    return folded[: lead.end()] + _CLAUSE.sub(" ", folded[lead.end() :]) if lead else folded


def answers(kind: str, text: str) -> bool:
    """Whether a text has what an answer of this kind needs: a figure, a name, a reason."""
    folded = fold(text)
    tests = {
        "extent": lambda: _DURATION.search(folded) or _DISTANCE.search(folded) or _PAGES.search(folded),
        "duration": lambda: _DURATION.search(folded),
        "money": lambda: _MONEY.search(folded) and NUMBER.search(folded),
        "default": lambda: _DEFAULT.search(folded),
        "temperature": lambda: _DEGREES.search(folded),
        "length": lambda: _DISTANCE.search(folded),
        "number": lambda: _AMOUNT.search(folded),
        "version": lambda: NUMBER.search(folded),
        "time": lambda: _DATE.search(folded),
        "person": lambda: _NAME.search(text),
        "reason": lambda: _REASON.search(folded),
        "place": lambda: _NAME.search(text),
        "how": lambda: _CODE.search(text),
    }
    return bool(tests[kind]()) if kind in tests else True


def names_said(text: str) -> list[str]:
    """Give the names in a text, folded: what has a capital inside a sentence."""
    return [fold(name) for name in _NAME.findall(text)]


def is_french(text: str, *, default: bool) -> bool:
    """Whether a text is French rather than English, by function words and accents; `default` where nothing tells."""
    folded = fold(text)
    accents = sum(character in "éèêàâçùûîïôœ" for character in text.lower())
    french, english = len(_FRENCH.findall(folded)) + accents, len(_ENGLISH.findall(folded))
    return default if french == english else french > english
