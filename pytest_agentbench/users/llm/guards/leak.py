"""Leak: the reply shows what stands behind the user, its instructions, its role, or a marker inside the text."""

# ruff: noqa: E501 - a pattern cut to fit a line is harder to check than a long one

import re

from pytest_agentbench.core.conversation import View
from pytest_agentbench.users.llm.draft import Draft
from pytest_agentbench.users.phrases.language import words

_BEHIND = (
    r"system prompt",
    r"role[- ]?play(?:s|ing|ed)?",
    r"simulat(?:ed|ing) (?:a |the )?(?:user|customer|client|person|conversation)|(?:user|customer) simulat(?:or|ion)",
    r"this (?:is a|whole) simulation|in this simulation",
    r"my (?:persona|prompt|backstory|(?:task|given) instructions)",
    r"(?:my (?:scenario|script|prompt|persona|instructions)|(?:the|this) (?:scenario|script|persona))(?: that)? (?:says?|states?|tells?|asks?|does(?: not|n['’]t)|do(?: not|n['’]t)|gives?|given|provided|specif\w+|instructs?|requires?)",
    r"(?:was|were|am|been|i['’]m) (?:instructed|prompted|programmed) (?:to|not to)",
    r"(?:according to|based on|per|as per|following) (?:my (?:task |given )?|the (?:task|given) )instructions",
    r"as an? (?:ai|artificial intelligence|(?:large )?language model)\b|i(?:['’]m| am) an? (?:ai|(?:large )?language model|bot)\b",
    r"(?:known|unknown|task)[_ ](?:info|instructions)",
    r"(?:in|out of|break(?:ing)?|stay(?:ing)? in) character",
    r"mon (?:persona|prompt)",
    r"(?:le|ce|mon) (?:sc[ée]nario|script|prompt|persona|rôle)(?: qui)? (?:dit|indique|pr[ée]cise|ne|demande|fourni|pr[ée]voit)",
    r"mes (?:instructions|consignes) (?:disent|indiquent|pr[ée]cisent|ne|me|demandent|sont)",
    r"(?:selon|d['’]apr[èe]s|conform[ée]ment à) mes (?:instructions|consignes)",
    r"jeux? de rôle",
    r"(?:utilisateur|client) simul[ée]|(?:je|j['’]) ?(?:simule|joue le rôle)",
    r"en tant qu['’](?:ia|intelligence artificielle)|en tant que mod[èe]le de langage|je suis une? (?:ia|intelligence artificielle|mod[èe]le de langage)\b",
    r"on m['’]a (?:demand[ée]|dit|ordonn[ée]) de (?:jouer|ne pas r[ée]v[ée]ler|simuler)",
)
_BEHIND_SCENES = re.compile(rf"(?<!\w)(?:{'|'.join(_BEHIND)})", re.IGNORECASE)
_LABEL = re.compile(
    r"^\W{0,3}(?:user|customer|client|assistant|agent|thoughts?|reasoning|utilisateur|pens[ée]e)(?: (?:response|reply))?\W{0,2}\s?:",
    re.IGNORECASE | re.MULTILINE,
)
_TAG = re.compile(
    r"</?\s?(?:agent_message|persona|goal|lines|known|unknown|instructions|behaviour|scenario|think(?:ing)?)\s?>",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"“«][^\"”»\n]{8,400}[\"”»]|(?<!\w)['‘][^'’\n]{8,400}['’](?!\w)")
_WORD = re.compile(r"[\w'’]+")
_SECOND_PERSON = words("you your you're you’re yourself vous votre vos tu ton ta tes")
_THE_AGENT = re.compile(r"\bthe agent\b|(?<!\w)l['’]agent\b")
_RUN = 7
"""Words in a row that are a quotation of the instructions, where they speak to the user."""

_LONG_RUN = 25
"""Words in a row that are one wherever they speak of."""

_READ = 4_000


def leak(view: View, draft: Draft) -> str | None:
    """Find a stray marker, a label, a tag, words about prompt and role, or instructions quoted word by word.

    Words that the agent, the lines or the goal use are nothing behind the scenes. Seven words of the instructions in a
    row are a quotation where they address the user, 25 in any case; what stands there in quotation marks is meant
    to be said.
    """
    text = draft.text[:_READ]
    if draft.stray:
        return f"{draft.stray[0]!r} stands inside the text; a marker may only stand at the very end"
    if found := _LABEL.search(text) or _TAG.search(text):
        return f"{found[0]!r} is not something a person writes in a chat; write the message alone"
    for found in _BEHIND_SCENES.finditer(text):
        if found[0].lower() not in _open_to_all(view):
            return f"{found[0]!r} speaks of what stands behind you; the agent must not learn of it"
    quoted = _quoted(text, view)
    return f"{quoted!r} quotes your instructions word by word; use your own words" if quoted else None


def _quoted(text: str, view: View) -> str | None:
    """Give a run of words that stands in the instructions and nowhere else that the user may quote."""
    if not view.task_instructions.strip():
        return None
    source = _words(_QUOTED.sub(" ", view.task_instructions))
    runs = {tuple(source[at : at + _RUN]) for at in range(len(source) - _RUN + 1)}
    reply = _words(text) if runs else []
    at = 0
    while at <= len(reply) - _RUN:
        if tuple(reply[at : at + _RUN]) not in runs:
            at += 1
            continue
        end = at + _RUN
        while end < len(reply) and tuple(reply[end - _RUN + 1 : end + 1]) in runs:
            end += 1
        run = reply[at:end]
        telling = len(run) >= _LONG_RUN or not _SECOND_PERSON.isdisjoint(run) or _THE_AGENT.search(" ".join(run))
        if telling and f" {' '.join(run)} " not in _elsewhere(view):
            return " ".join(run)
        at = end
    return None


def _open_to_all(view: View) -> str:
    return " ".join([view.goal, *view.says, *(message.text for message in view.messages)]).lower()


def _elsewhere(view: View) -> str:
    """Give the words that the user may say again: its lines, and what was said."""
    return f" {' '.join(_words(' '.join([*view.says, *(message.text for message in view.messages)])))} "


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
