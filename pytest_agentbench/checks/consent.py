"""Whether a user said yes to a question of the agent; English and French.

Plain phrase lists, read sentence by sentence: a model would judge better and could not be reproduced.
"""

import re
from typing import Literal

from pytest_agentbench.core.spoken import plain

Answer = Literal["yes", "no", "reserved", "other"]
"""yes: agreed. no: refused. reserved: agreed with a condition or a change (`yes, but…`). other: neither."""

_SENTENCE = re.compile(r"[^.!?;\n]+(?:\.(?=\w)[^.!?;\n]*)*[.!?;]*")

_YES = re.compile(
    r"(?:(?:yes|yeah|yep|yup|ya|sure|ok(?:ay)?|of course|certainly|absolutely|definitely|correct|exactly|right|"
    r"confirmed|agreed|perfect|great|al+right|all right|please do|do it|y|"
    r"(?:that|this|it)(?:'s| is| all)? ?(?:all )?(?:sounds?|looks?|seems?|works?|is)? ?"
    r"(?:correct|right|fine|good|great|perfect|ok(?:ay)?|works?)|"
    r"(?!gard|laiss|conserv|attend|dites|expliqu)\w+ez-(?:la|le|les)|"
    r"i would(?:,| (?:like|love|appreciate) (?:that|it)(?= *[.!,]|$))|"
    r"i'd (?:like|love|appreciate) (?:that|it)(?= *[.!,]|$)|"
    r"(?:that|this|it)(?: would|'d) (?:be|work)|i guess so|i suppose so|why not(?=[.!,]|$)|pourquoi pas(?=[.!,]|$)|"
    r"(?:all )?(?:sounds?|looks?) (?:good|great|fine|right|correct|perfect)|works for me|fine by me|"
    r"all (?:the )?(?:details )?(?:are |is |looks? )?(?:correct|good|right)|i (?:do )?(?:confirm|agree|accept|approve)|"
    r"oui|ouais|ouep|mouais|d'accord|dac|entendu|volontiers|bien sur|bien entendu|tout a fait|exact(?:ement)?|"
    r"absolument|certainement|parfait|c'est (?:bon|ca|correct|exact|parfait|tout bon)|"
    r"ca (?:me )?(?:marche|va|convient)|(?:je )?(?:confirme|valide|accepte)|confirme|avec plaisir|"
    r"si(?=[,.!]|$)|allez-?y|vas-?y|faites(?:-le)?|fais-le)(?!\w))"
)
_COURTESY = re.compile(
    r"^(?:[\W_]*(?:thanks?(?: you)?(?: (?:so|very) much)?|merci(?: beaucoup)?|ah|oh|hm+|"
    r"well|eh bien|alors|please(?! do\b))\b)+"
)
_GO = re.compile(
    r"\b(?:go ahead|"
    r"(?:please|you can|you may|can you|let's|ready to|like to|want to) (?:now )?(?:proceed|continue|confirm)|"
    r"proceed with|(?:i|we) (?:do )?(?:confirm|agree|accept|approve)|please do (?:so|it|that)|do it|make it so|"
    r"(?:let's|i'll|i will) (?:go|do) (?:with|for|it|that)|i'll take (?:it|that|the)|allons-y|on y va|je prends|"
    r"allez-?y|vas-?y|(?:vous pouvez|tu peux|veuillez) (?:y aller|proceder|continuer|confirmer|valider)|"
    r"procedez|je (?:confirme|valide|accepte)|je suis d'accord|faites-le|fais-le)\b"
)
_NO = re.compile(
    r"(?:no|nope|nah|non|not|never|jamais|pas|negative|don't|do not|please don't|please do not|absolutely not|"
    r"ne|n'|surtout pas|stop|cancel that|wait|hold on|hang on|attend[sz]?|un instant|arrete[sz]?)\b"
)
_NEGATION = re.compile(
    r"\b(?:don't|do not|doesn't|didn't|not|never|without|before|until|unless|can't|cannot|won't|wouldn't|"
    r"ne|pas|jamais|sans|avant)\b|\bn'"
)
_REFUSAL = re.compile(
    r"\b(?:please )?(?:don't|do not) (?:do|go|proceed|make|send|continue|confirm|cancel|change|book|process|charge)\b|"
    r"\b(?:not|pas) (?:yet|now|right now|encore|maintenant|tout de suite)\b|"
    r"\bne (?:le |la |les )?(?:fai(?:s|tes)|procede[sz]?|confirme[sz]?|continue[sz]?|envoye[sz]?) (?:pas|rien)\b"
)
_RESERVATION = re.compile(
    r"\b(?:but|except|unless|only if|provided|on condition|however|"
    r"(?<!even )though|wait|hold on|hang on|instead|rather|"
    r"not sure|not certain|let me think|think about it|"
    r"mais|sauf|excepte|seulement si|a condition|toutefois|cependant|par contre|en revanche|attend[sz]?|plutot|"
    r"pas sur|pas certaine?|je vais reflechir|reflechir)\b"
)
_CHANGE = re.compile(
    r"\b(?:i'd (?:like|prefer|rather)|i (?:would|do) (?:like|prefer|rather)|i (?:want|prefer|need)|use|put|send|"
    r"make it|(?:can|could) (?:you|we|i)|je (?:voudrais|veux|prefere|prefererais)|j'aimerais|mettez|utilisez|"
    r"pouvez-vous)\b"
    r"[^.?!]*\b(?:instead|rather than|plutot|a la place)\b"
)
_CONDITION = re.compile(
    r"^\W*(?:(?:and|but|also|then|et|mais|aussi)[, ]+)*(?:if|in case|si|au cas ou)\b[^.?!]*"
    r"\b(?:prefer|rather|instead|prefere|prefererais|plutot)\b"
)
_ASKED_BACK = re.compile(
    r"\b(?:what|which|how|when|where|why|who|quel(?:le)?s?|combien|comment|quand|ou|pourquoi|qui|est-ce que)\b"
)

_REQUEST = re.compile(
    r"\b(?:(?:please|kindly|just) (?:confirm|approve|reply|respond|say|type|answer)|"
    r"(?:can|could) you (?:please )?confirm|"
    r"(?:reply|respond|say|type|answer)(?: with)? \W{0,2}(?:yes|ok|confirm)|do you (?:confirm|agree|approve)|"
    r"i need your (?:confirmation|approval|consent|go-ahead)|your (?:explicit )?(?:confirmation|approval|go-ahead)|"
    r"once you (?:confirm|approve|agree)|"
    r"veuillez (?:\w+ )?confirmer|merci de confirmer|confirme[sz]|(?:repondez|dites|reponds|dis)(?: par)? \W{0,2}oui|"
    r"pouvez-vous (?:\w+ )?confirmer|votre (?:accord|confirmation)|si vous (?:etes d'accord|confirmez))"
)
_OFFER = re.compile(
    r"\b(?:let me know (?:if|whether)[^.?!]{0,40}(?:proceed|go ahead|like me|want me|correct|okay|ok\b)|"
    r"(?:if|whether) (?:you'd|you would|you|i|we) (?:like me to|want me to|should|may|can|agree)|"
    r"if (?:this|that|everything|all)[^.?!]{0,40}(?:correct|right|good|okay)|si vous le souhaitez)"
)
_INFORMATION = re.compile(
    r"^\W*(?:(?:and|also|then|so|et|alors|first|ok(?:ay)?|thanks?|thank you|merci|to \w+[^,]*)[, ]+)*"
    r"(?:what|which|who|whom|whose|when|where|why|how|"
    r"(?:can|could|would|will) you (?:please )?(?:\w+ )?"
    r"(?:provide|tell|give|share|send|specify|let me know|describe|check|try)|"
    r"may i (?:please )?(?:have|get|know|ask)|(?:can|could) i (?:please )?(?:have|get|know|ask)|"
    r"do you (?:have|know|remember|see|recall)|have you|did you|are you|is (?:there|your)|"
    r"(?:is|are|est-ce que|la|le|les|cette?|ces|does) [^?]{0,40}\b(?:yours|(?:under|in) your name|registered|linked|"
    r"a votre nom|la votre|le votre|les votres|vous appartien\w+)|"
    r"quel(?:le)?s?|combien|comment|quand|pourquoi|qui\b|ou\b|avez-vous|as-tu|connaissez-vous|etes-vous|"
    r"(?:pouvez|pourriez)-vous (?:\w+ )?(?:me |nous )?(?:donner|dire|indiquer|fournir|preciser|communiquer|rappeler)|"
    r"puis-je (?:avoir|savoir|connaitre))"
)
_MORE = re.compile(
    r"\b(?:(?:anything|something) (?:else|more)|(?:any )?other (?:questions?|requests?|concerns?)|"
    r"(?:need|require|have|with)(?: any| some)? (?:further|additional|more) (?:help|assistance|questions?|requests?)|"
    r"any (?:changes?|modifications?|part|adjustments?)|"
    r"(?:des|une?|d'autres) (?:changements?|modifications?)|autre (?:chose|question|demande|besoin)|besoin d'autre)"
)


_DETAIL = re.compile(
    r"\b(?:please (?:specify|provide|tell|give|share|choose|select|indicate|let me know (?:which|what))|"
    r"let me know (?:which|what)|(?:veuillez|merci de) (?:preciser|indiquer|fournir|choisir|donner))\b"
)
_ADDITION = re.compile(
    r"\b(?:also|additionally|as well|in addition|on top of that|one more thing|another thing|while you're at it|"
    r"aussi|egalement|en plus|de plus|par ailleurs|tant que vous y etes)\b"
)


_VERIFIES = re.compile(
    r"\b(?:confirm(?:e[rz])?|verif(?:y|ier|iez))(?: (?:if|whether|that|si|que))? (?:"
    r"you(?:'re| are| were) (?!sure|ok|okay|happy|ready|fine|good|satisfied|agree|request|ask|look|aware|certain|will|"
    r"comfortable|still)|you (?:can )?see|you use|vous (?:etes (?!sur|d'accord|pret|certain)|utilisez|voyez)|"
    r"(?:your|votre) (?:(?:full|first|last|current|own) )?(?:name|phone|telephone|e-?mail|user ?id|identity|identite|"
    r"zip|postcode|date of birth|date de naissance|account|compte|nom|prenom|adresse e-?mail|adresse|courriel|"
    r"(?:customer|order|reservation|booking) "
    r"(?:id|number)|numero)(?: (?:number|address|code|de \w+))?"
    r"(?= *(?:[.?!,;]|$|is|and|or|so|to|by|with|on|for|of|first|before|et|ou|pour|de)))"
)
"""A request to confirm who or what the user is, which asks for no permission."""

_ANNOUNCED = re.compile(
    r"\b(?:(?:i|we)(?:'ll| will| am going to|'m going to| are going to)|let's|let us|je vais|nous allons)"
    r"(?: now| then| just| next| go ahead and| maintenant| donc| ensuite)* "
    r"(?!check|look|verify|see|need|be able|be happy|wait|transfer|review|find|try|ask|help|"
    r"assist|verifier|regarder|chercher|attendre|aider|voir)\w+"
)
_CHOICE = re.compile(
    r"\b(?:which (?:one|of|option|would|do|should|flight|item)|what would you (?:like|prefer)|"
    r"would you (?:like|prefer)|do you (?:want|prefer)|how would you like|"
    r"please (?:choose|select|confirm which|let me know (?:which|how))|"
    r"(?:lequel|laquelle|quelle? (?:option|solution)|preferez-vous|souhaitez-vous|voulez-vous|que preferez))\b"
)
_OPTIONS = re.compile(
    r"(?:^|\n)\s*(?:\d+[.)]|[-*•])\s.*\n(?:.*\n)*?\s*(?:\d+[.)]|[-*•])\s|\b(?:or|ou)\b", re.IGNORECASE
)
_CONDITIONAL = re.compile(r"\b(?:if|once|after|when|unless|before|should you|si|des que|une fois|apres|quand)\b")
_ORDER = re.compile(
    r"\b(?:please (?!let|tell|note|confirm|check|explain|provide|show|advise|wait|hold|give|look|see|double)\w+|"
    r"i(?:'d| would) (?:like|prefer|want) [^.?!]*\bplease|"
    r"^\W*(?!let|tell|hold|wait|leave|keep|give)\w+ (?:it|that|them|this|both|all|the|my)\b[^.?!]*\bplease|"
    r"(?!dites|laissez|attendez|expliquez|donnez|montrez)\w+ez-(?:la|le|les|en)|"
    r"i(?:'ll| will) (?:take|have|go|choose)|"
    r"go with|let's (?:do|go|use|take|add|book)|je (?:prends|choisis)|"
    r"(?:prenez|reservez|ajoutez|faites|annulez|changez|choisissez|mettez|utilisez|commandez|remboursez))\b"
)
_WISH = re.compile(
    r"\b(?:i(?:'d| would) (?:like|prefer|want)|i (?:want|choose|prefer|pick)|je (?:voudrais|veux|souhaite|prefere)|"
    r"j'aimerais) "
)
_FIRST = re.compile(
    r"\bbefore (?:(?:you|we|i) \w+|(?:finali[sz]|confirm|proceed|book|charg|process|mak|do|commit|decid|go|agree|"
    r"chang|cancel|pay)\w*ing)|\bavant (?:de |d'|que |tout)"
)
"""What must come before the change: no yes yet."""


def read_answer(text: str) -> Answer:
    """Say what a reply to a question for permission amounts to.

    A reply agrees by opening with a yes, or by an explicit go-ahead anywhere that is not negated. An opening no wins
    unless an explicit go-ahead follows (*no changes, go ahead*). A reservation in the sentence that agrees, or at the
    start of the next when that sentence is a bare yes, makes it *reserved*; so does a question back (*ok, how much?*).
    An explicit go-ahead in a later sentence without a reservation settles it; another way that is asked for before
    the go-ahead, or a condition with another wish anywhere, does not.
    """
    sentences = _sentences(text)
    if not sentences:
        return "other"
    gone_ahead = next((index for index, sentence in enumerate(sentences) if _goes_ahead(sentence)), None)
    opening = _opening(sentences[0])
    if any(_REFUSAL.search(sentence) for sentence in sentences):
        return "no" if gone_ahead is None and not _YES.match(opening) else "reserved"
    if _NO.match(opening):
        return "yes" if gone_ahead is not None and not _RESERVATION.search(sentences[gone_ahead]) else "no"
    if any(_FIRST.search(sentence) for sentence in sentences):
        return "reserved"
    if gone_ahead is not None and any(_CONDITION.search(sentence) for sentence in sentences[1:]):
        return "reserved"
    if _YES.match(opening):
        settled = any(_goes_ahead(later) and not _RESERVATION.search(later) for later in sentences[1:])
        return "reserved" if _is_reserved(sentences) and not settled else "yes"
    if gone_ahead is None:
        return "other"
    asked_first = any(_CHANGE.search(sentence) for sentence in sentences[:gone_ahead])
    return "reserved" if asked_first or _RESERVATION.search(sentences[gone_ahead]) else "yes"


def asks_permission(text: str) -> bool:
    """Whether a message asks for a yes: a question or a request to confirm that is not a question for information.

    *Is there anything else?* and *any changes?* ask for nothing in particular; a yes to them permits nothing.
    """
    return any(_asks(sentence) for sentence in _sentences(text))


def asks_detail(text: str) -> bool:
    """Whether a message asks for a value, such as which card to use, and for nothing else."""
    sentences = _sentences(text)
    return not any(map(_asks, sentences)) and any(
        _DETAIL.search(sentence) or (sentence.endswith("?") and _INFORMATION.match(sentence)) for sentence in sentences
    )


def announces(text: str) -> bool:
    """Whether a message says what the agent does next and leaves the user to object: *I will book it now.*"""
    sentences = _sentences(text)
    return any(_ANNOUNCED.search(sentence) and not _CONDITIONAL.search(sentence) for sentence in sentences)


def offers_choice(text: str) -> bool:
    """Whether a message spells several ways out and asks which one."""
    return _OPTIONS.search(text) is not None and any(_CHOICE.search(sentence) for sentence in _sentences(text))


def orders(text: str) -> str:
    """Give the sentences of a reply that order something without a condition: *please book that one*."""
    return _unconditional(text, _ORDER)


def wishes(text: str) -> str:
    """Give the sentences of a reply that say what the user wants, without a condition: *I'd like to book that one*."""
    return _unconditional(text, _WISH)


def proposals(text: str) -> str:
    """Give the sentences of a message that ask for a yes."""
    return "\n".join(filter(_asks, _sentences(text)))


def _unconditional(text: str, pattern: re.Pattern[str]) -> str:
    return "\n".join(
        sentence
        for sentence in _sentences(text)
        if pattern.search(sentence)
        and not _RESERVATION.search(pattern.split(sentence, maxsplit=1)[-1])
        and not _CONDITIONAL.search(sentence)
        and not sentence.endswith("?")
    )


def _asks(sentence: str) -> bool:
    if _VERIFIES.search(sentence):
        return _REQUEST.search(_VERIFIES.sub(" ", sentence).replace("can you", " ")) is not None
    if _REQUEST.search(sentence):
        return True
    if _MORE.search(sentence):
        return False
    return bool(_OFFER.search(sentence)) or (sentence.endswith("?") and not _INFORMATION.match(sentence))


def additions(text: str) -> str:
    """Give the sentences of a reply that ask for something more: *also*, *as well*, *one more thing*."""
    return "\n".join(sentence for sentence in _sentences(text) if _ADDITION.search(sentence))


def _sentences(text: str) -> list[str]:
    # line ends part sentences, and `plain` would make them spaces
    lines = [plain(line) for line in text.splitlines()]
    return [found.strip() for line in lines for found in _SENTENCE.findall(line) if found.strip(" .!?;")]


def _opening(sentence: str) -> str:
    """Drop what people say before they answer: thanks, an interjection."""
    return _COURTESY.sub("", sentence.lstrip("\"'( -")).lstrip(" ,.!-—:") or sentence


def _goes_ahead(sentence: str) -> bool:
    found = _GO.search(sentence)
    if found is None:
        return False
    before = sentence[: found.start()].rsplit(",", 1)[-1]
    return _NEGATION.search(before) is None


def _is_reserved(sentences: list[str]) -> bool:
    first = sentences[0]
    if _RESERVATION.search(first):
        return True
    if first.endswith("?") and _ASKED_BACK.search(first) and not _goes_ahead(first):
        return True
    bare = len(first.split()) <= 3
    return bare and len(sentences) > 1 and _RESERVATION.match(sentences[1]) is not None
