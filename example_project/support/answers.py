"""What an answer amounts to: yes, no, never mind, I do not know."""

from support.text import either, fold

_YES = either(
    r"\b(?:yes|yep|yeah|yup|ya|sure|ok|okay|correct|go ahead|please do|confirm\w*|do it|do that|proceed|absolutely)\b",
    r"\b(?:definitely|of course|certainly|sounds (?:good|great|fine|right)|perfect|fine|right|exactly|agreed|great)\b",
    r"\b(?:works for me|good to go)\b",
    r"\b(?:oui|ouais|d'accord|allez-?y|vas-?y|c'est (?:bon|ca|exact|parfait|correct)|parfait|je confirme|exact\w*)\b",
    r"\b(?:bien sur|tout a fait|volontiers|ca marche|entendu|absolument|faites(?:-le)?|je valide)\b",
)
_NO = either(
    r"^\W*(?:no|nope|nah|non|not|never|stop|wait|hold on|attend\w*|surtout pas|pas)\b",
    r"\b(?:don't|dont|do not|rather not|not correct|not right|that's wrong|is wrong|not what)\b",
    r"\bne (?:faites|fais|changez) pas\b|\bce n'est pas\b|\barretez\b|\bn'annulez pas\b",
)
_NO_PROBLEM = either(r"\b(?:no|not a) (?:problem|worries|objection)", r"\bpas de (?:probleme|souci)")
_DROP = either(
    r"(?<!not )(?<!n't )(?<!not be )(?<!n't be )(?<!than )\b(?:keep|keeping|(?:hang|hold)(?:ing)? on to)"
    r" (?:it|them|the|that|this|my)\b",
    r"\b(?:rather|better|prefer to|'ll|will) not (?:return|send|give|cancel|change)\b",
    r"\bforget (?:it|about it|that)\b|\bleave it\b|\bnever ?mind\b",
    r"\bno thanks?(?: you)?\b|\btant pis\b|(?<!ne )\b(?:le|la|les|l') ?gard\w+(?! pas)|\blaisse[rz]?(?: tomber)?\b",
)
_NOT_KNOWN = either(
    r"\b(?:don't|dont|do not|didn't|can't|cannot|couldn't) (?:really |actually |currently |quite )?(?:know|remember)",
    r"\b(?:don't|dont|do not|didn't|can't|cannot|couldn't) (?:really |actually |currently )?(?:recall|have|find)",
    r"\bnot sure|\bno idea|\bforg[eo]t\w*|\bunsure|\bno longer have|\bno clue|\bhaven't got|\bunknown",
    r"\bje ne (?:sais|connais|me souviens|me rappelle|m'en souviens|l'ai|la connais|le connais|trouve|retrouve)",
    r"\bsais (?:pas|plus)|\baucune idee|\boublie\w*|\bje n'ai (?:pas|plus)",
)


def says_yes(text: str) -> bool:
    """Whether the customer agrees."""
    folded = fold(text)
    return bool(_NO_PROBLEM.search(folded)) or (bool(_YES.search(folded)) and not says_no(text))


def says_no(text: str) -> bool:
    """Whether the customer refuses or takes something back."""
    folded = fold(text)
    return drops(text) or (bool(_NO.search(folded)) and not _NO_PROBLEM.search(folded))


def drops(text: str) -> bool:
    """Whether the customer gives up what was asked for: “I'll keep it”, “forget it”, “tant pis”."""
    return bool(_DROP.search(fold(text)))


def does_not_know(text: str) -> bool:
    """Whether the customer cannot give what was asked."""
    return bool(_NOT_KNOWN.search(fold(text)))
