"""Whether a text admits that something did not work, in English and French."""

# ruff: noqa: E501 - a pattern cut to fit a line is harder to check than a long one

import re

_ADMITS = re.compile(
    r"\b(?:"
    # English
    r"(?:could|can|did|was|were|am|is|are|do|does|have|has|had|will)(?:n['’]t| ?not)\b(?! (?:hesitate|worry|forget|need))"
    r"|unfortunately|regrettably|i['’]m afraid|malheureusement|hélas"
    r"|cannot|unable|fail(?:s|ed|ing|ure)?|error|problem|issue|trouble|difficult(?:y|ies)|glitch|outage"
    r"|went wrong|not? (?:possible|available|responding|working|reachable|found)|unavailable|unreachable|timed? ?out|time-?out"
    r"|try (?:it |this |that )?again|trying again|retry|no (?:answer|response|result|data|information|record|luck)|empty|incomplete|cut off|unclear"
    r"|(?:system|service|tool)s? (?:is|are|was|were|seems?) (?:currently |temporarily )?(?:down|busy|slow|overloaded)|too many requests|without success"
    # French
    r"|n['’](?:ai|a|avons|arrive|est|était|y) (?:\w+ )?pas|ne (?:\w+ )?(?:peux|peut|pouvons|parviens|parvient|répond|fonctionne|marche|trouve)(?:\w* )?pas|impossible|incapable|échec|échoué\w*"
    r"|erreur|problème|panne|incident|souci|difficulté|indisponible|injoignable|délai|expiré|ré-?essay\w*|aucune? (?:réponse|résultat|donnée|information)|vide|incompl(?:et|ète)|sans succès"
    r")\b",
    re.IGNORECASE,
)


_COURTESIES = re.compile(
    r"\b(?:no|not an?|without(?: any| an?)?|any (?:other|more|further)|other|further) (?:problem|issue|trouble|difficult(?:y|ies)|error)s?\b"
    r"|\b(?:sorry|apologi[sz]e|apologies) (?:about|for) (?:the|your|any|this|that) (?:trouble|problem|issue|inconvenience)s?\b"
    r"|\b(?:don['’]t|do not|need not) (?:worry|hesitate|forget|need)\b|\b(?:pas|aucun|sans)(?: de| d['’]| le moindre| la moindre| aucune?)? (?:problème|souci|difficulté|erreur|incident)s?\b"
    r"|\bd['’]autres? (?:problème|souci|difficulté)s?\b|\bn['’]hésitez pas\b",
    re.IGNORECASE,
)
"""What only sounds like an admission: `no problem`, `aucun souci`, `any other issue`."""


def admits(text: str) -> bool:
    """Whether `text` says that something failed, was not found, or is to be tried again."""
    return _ADMITS.search(_COURTESIES.sub(" ", text)) is not None
