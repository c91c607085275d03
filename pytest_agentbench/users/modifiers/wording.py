"""What people say who lack a value, press for speed, change their mind or want more: patterns in English and French."""

# ruff: noqa: E501 - a pattern cut to fit a line is harder to check than a long one

import re
from functools import cache

from pytest_agentbench.users.phrases import either

_WORDING: dict[str, tuple[str, ...]] = {
    "lacking": (
        r"(?:do not|don['’]?t|did not|didn['’]?t|cannot|can['’]?t|could not|couldn['’]?t) (?:\w+ ){0,3}?(?:have|know|remember|recall|find|locate|access|see|give|provide)",
        r"(?:have|['’]ve) (?:no idea|no clue|forgotten|lost|misplaced|no (?:\w+ ){0,3}(?:id|number|code|reference|details?|record))",
        r"(?:not|\w*n['’]t|un)[ -]?(?:\w+ )?(?:sure|certain)",
        r"forgot(?:ten)?",
        r"no idea",
        r"no longer have",
        r"not (?:at hand|on me|with me|handy|available)",
        r"unable to (?:find|recall|remember|provide|locate)",
        r"without (?:my|the|that|an?y?) (?:\w+ ){0,3}(?:id|number|code|reference)",
        r"do not have|don['’]?t have|haven['’]?t got",
        r"ne? (?:me |m['’])?(?:l['’]|la |le |les )?(?:ai|souviens|rappelle|connais|sais|retrouve|trouve|peux|parviens|possède|dispose)[^.!?]{0,25}?(?:pas|plus|aucune?)",
        r"n['’](?:en )?(?:ai|arrive) (?:pas|plus|aucune?)|n['’]est pas à portée|oubli[ée]e?|perdue?|aucune idée|pas sous la main|plus sous la main|je ne (?:sais|l['’]ai) (?:pas|plus)|pas sûre?",
    ),
    "fillers": (
        r"handy|right now|at (?:the|this) moment|(?:at|to|on) hand|off the top of my head|with me|on me|sorry|unfortunately|here|either|anymore|really|it|that|this|one|in front of me|exactly|today|yet|sure|certain",
        r"sous la main|en ce moment|maintenant|désolée?|pardon|sur moi|avec moi|non plus|par cœur|malheureusement|ça|cela|tête|exactement|vraiment|sûre?",
    ),
    "thanking": (r"(?:thank|thanks|appreciate|great)[^.!?]*[.!?]", r"(?:merci|remercie)[^.!?]*[.!?]"),
    "pressing": (
        r"hurry|rush(?:ed|ing)?",
        r"quick(?:ly|er)?",
        r"fast(?:er)?",
        r"as soon as possible|a\.?s\.?a\.?p\.?",
        r"right away|immediately|at once",
        r"urgent(?:ly)?|pressing",
        r"(?:do not|don['’]?t|not|no|haven['’]?t|little|short on|out of|running out of|wast(?:e|ing)(?: (?:of|my))?) (?:\w+ ){0,4}?(?:time|all day|forever)",
        r"speed (?:\w+ ){0,2}?up|speed this|pick up the pace",
        r"how (?:much longer|long (?:is|will|does|do|am|must))",
        r"(?:taking|takes|took|wait(?:ed|ing)?) (?:\w+ ){0,2}?(?:long|forever|ages|all day)",
        r"come on|let['’]?s (?:go(?! ahead| with| for| through| over| back)|get (?:on with|moving|going))|get (?:this|it) (?:all )?(?:done|over with)|get on with (?:it|this)|move (?:this|it|things) along|get to the point",
        r"(?:i|we)(?:['’](?:m|re))?(?: \w+){0,3} (?:late for|busy|running late|in a hurry)|pressed for time|tight schedule|time is (?:short|tight|money|running)|today,? please|^just (?:do|fix|get|send|cancel|tell|give|book|change|sort|process) (?:it|this|me|that)",
        r"vite|rapide(?:ment)?|press[ée]e?s?|dép[êe]chez|dépêch\w+|urgent|urgence|tout de suite|immédiatement|au plus tôt|dès que possible|accélér\w+|gagne[rz]? du temps|perd(?:re|s|ez)? (?:mon |de |du )?temps|en retard",
        r"pas (?:le |toute |beaucoup de |que ça |tout mon )(?:temps|journée)|peu de temps|combien de temps (?:encore|ça)|ça (?:traîne|dure|prend du temps)|allez(?:,| !|-y,)|toute la journée|on avance|abrég\w+",
    ),
    "patient": (
        r"(?:no|not in a|without|don['’]t|do not) (?:\w+ )?(?:rush|hurry|urgent)",
        r"thank\w*[^.!?]*(?:quick|fast|prompt)\w*",
        r"(?:quick|fast)(?:est)? (?:questions?|flights?|trip|charger|charging|delivery|shipping|internet|speed|return|data|one|option|connection)",
        r"(?:that|this) was (?:quick|fast)",
        r"(?:internet|data|download|connection|mobile)[^.!?]{0,30}(?:fast|quick|speed)\w*",
        r"take your time|speed up to|so (?:that )?(?:i|we) can[^.!?]*",
        r"(?:fast|quick)\w* (?:internet|data|speed|connection|mobile)",
        r"fastest",
        r"pas (?:pressée?|d['’]urgence|urgent)|prenez votre temps|merci[^.!?]*(?:rapide|rapidité)\w*|question rapide|rien ne presse",
    ),
    "changing": (
        r"actually",
        r"instead",
        r"chang(?:e|ed|ing) my mind",
        r"on second thought",
        r"rather",
        r"never ?mind",
        r"wait",
        r"scratch that",
        r"(?:let['’]s|i['’]d|i would|i['’]ll) (?:prefer|go with|go for|take)",
        r"prefer",
        r"after all",
        r"reconsider\w*",
        r"no,",
        r"not (?:the )?",
        r"forget (?:about )?(?:it|that)",
        r"what if|could (?:i|we|you)",
        r"finalement|en fait|plutôt|changé d['’]avis|réflexion faite|tout compte fait|à la réflexion|préfère|attendez|non,|laisse[zr]? tomber|en fin de compte|au lieu",
    ),
    "further": (
        r"also|as well|in addition|additionally|furthermore|besides|then|finally|after (?:that|this)|lastly|another|one more|next",
        r"aussi|[ée]galement|en plus|en outre|ensuite|puis|enfin|après (?:ça|cela)|autre chose|par ailleurs",
    ),
    "conditional": (
        r"(?:but |and |so )?(?:if|once|when|whenever|unless|in case|as soon as|only|after)",
        r"(?:mais |et )?(?:si|quand|lorsque|dès que|une fois|à moins|après|s['’]il)",
    ),
    "wishes": (
        r"want|need|would like|['’]d like|wish|ask|request|add|cancel|change|return|exchange|book|check|know|get|update|find out|have",
        r"voulez|veux|veut|souhait\w+|besoin|aimer\w+|demand\w+|ajout\w+|annul\w+|chang\w+|savoir|réserv\w+|vérifi\w+|modifi\w+",
    ),
}


@cache
def wording(name: str) -> re.Pattern[str]:
    """Compile one group of phrases over all languages: lacking, fillers, thanking, pressing, patient, changing,
    further, conditional, wishes."""
    return either(*_WORDING[name])
