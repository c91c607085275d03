"""Early stop: the reply closes while the agent still has to do, to say or to hear something."""

# ruff: noqa: E501, ISC004 - a pattern cut to fit a line is harder to check than a long one

import re

from pytest_agentbench.core.conversation import View
from pytest_agentbench.users.asked import asked
from pytest_agentbench.users.confirmation import asks_to_confirm
from pytest_agentbench.users.heard import hands_over, open_parts
from pytest_agentbench.users.llm.draft import Draft
from pytest_agentbench.users.llm.guards.heard import agent_texts, last_agent_text, used_tools_since
from pytest_agentbench.users.llm.guards.values import values_of
from pytest_agentbench.users.phrases import pattern
from pytest_agentbench.users.segments import segments

_WORKS = (
    r"(?:i['’]ll|i will|i am going to|i['’]m going to|let me)(?: now| first| just| quickly| also| then| go ahead and| proceed (?:to|with)| begin| start)*"
    r" (?:process\w*|cancel\w*|refund\w*|updat\w*|modif\w*|chang\w*|exchang\w*|book\w*|check\w*|look\w*|verif\w*|pull\w*|review\w*|search\w*|find\w*|submit\w*|apply\w*|enabl\w*|disabl\w*|send\w*|create\w*|reset\w*|issu\w*|arrang\w*|initiat\w*|calculat\w*|complet\w*|proceed\w*|get (?:this|that|it|started|back)|take care|do (?:this|that|it)|make (?:this|that|the|these|those))",
    r"(?:one|just a|give me a|a) (?:moment|second|minute),? (?:please|while)|(?:one|just a|give me a) (?:moment|second|minute)\b",
    r"please (?:hold on|wait|bear with|hold while)",
    r"(?:i['’]m|i am|we['’]re|we are) (?:now |currently |still )?(?:process|cancel|refund|updat|modif|chang|check|look|verif|review|submit|work)\w*ing\b",
    r"je vais (?:maintenant |donc |d['’]abord |tout de suite |vous )*(?:traiter|annuler|rembourser|modifier|changer|[ée]changer|r[ée]server|v[ée]rifier|regarder|consulter|chercher|envoyer|cr[ée]er|effectuer|proc[ée]der|lancer|faire|mettre à jour)",
    r"i(?:['’]ll| will) now \w+|je vais maintenant (?:vous )?\w+",
    r"je (?:v[ée]rifie|regarde|consulte|proc[èe]de|m['’]en occupe|lance|traite|annule|modifie)\b",
    r"une? (?:petite? )?(?:instant|moment|seconde|minute)(?:,? s['’]il vous plaît|\s*[.!…]|, je)|(?:veuillez|merci de) patienter",
)
"""What the agent says that it does now, or next."""

_LATER = re.compile(
    r"\b(?:once|after|if|when|unless|as soon as|before|in case|should you|would you|do you|shall i|if you['’]d like"
    r"|une fois|apr[èe]s|si|quand|d[èe]s que|lorsque|avant|souhaitez|voulez|dois-je)\b",
    re.IGNORECASE,
)
_WORKING = re.compile(rf"(?<!\w)(?:{'|'.join(_WORKS)})", re.IGNORECASE)
_REFUSES = re.compile(
    r"\b(?:no|nope|not|never ?mind|don['’]t|won['’]t|can['’]t|cannot|isn['’]t|leave (?:it|that|everything)|keep|rather|instead|forget it|pass|think about|later|another time"
    r"|that['’]?s (?:all|it|everything)|nothing else|that is all|all set|i['’]m good|i understand|non|pas|rien|laissez|laisse|tant pis|plus tard|garde|c['’]est tout|je comprends|je r[ée]fl[ée]chi\w*)\b",
    re.IGNORECASE,
)
_REQUESTS = re.compile(
    r"\b(?:please|pls|can you|could you|would you|will you|i(?:['’]d| would) (?:also )?like (?:you )?to (?!thank|say|think|wait|keep|leave|know)|i (?:also )?(?:want|need) you to|go ahead|proceed|let['’]s do|do it"
    r"|s['’]il vous plaît|svp|pouvez-vous|pourriez-vous|je (?:voudrais|souhaite|veux|souhaiterais) (?!vous remercier|r[ée]fl[ée]chir|attendre|garder|savoir)|allez-y|faites-le)\b",
    re.IGNORECASE,
)
_PROPOSES = re.compile(
    r"\b(?:would you like|do you want|do you wish|shall i|should i|may i|can i|could i|proceed|go ahead|yes ?/ ?no|yes or no|\(yes\)|[\"“]yes|do you (?:agree|accept|confirm)"
    r"|confirm (?!(?:that|if|whether) (?:it|everything|you|your|the|this|that)\b[^.?!]*\b(?:is|are|works?|working|can|have|has|see|did)\b)"
    r"|souhaitez-vous|voulez-vous|dois-je|puis-je|oui ou non|confirmez-vous|acceptez-vous|[êe]tes-vous d['’]accord)",
    re.IGNORECASE,
)
"""What a yes sets the agent to work on; whether something works now is no proposal."""

_BY_AGENT = re.compile(
    r"\b(?:i|we|i['’]ll|we['’]ll|me to|us to|for you|je|nous|on)\b|(?<!\w)j['’]",
    re.IGNORECASE,
)
_OF_THE_PAST = re.compile(
    r"\b(?:did|have|has|had|was|were|could i|can i (?:help|do)|ai-je|avons-nous|a-t-(?:on|il|elle)|avez|ont|puis-je (?:encore )?(?:vous )?(?:aider|faire|[êe]tre))\b"
    r"|(?<!\w)(?:j['’]ai|nous avons|on a)\b",
    re.IGNORECASE,
)
_ORDERS = re.compile(
    r"(?<!\w)(?!excus|pardonn|laiss|pens|portez|passez (?:une|un)|gard|imagin|conserv|soyez|ayez)[\w']{2,}ez(?:-(?:moi|nous|le|la|les|lui|leur|y|en))+(?!\w)"
    r"|^\W*(?:yes|yeah|yep|sure|ok(?:ay)?|please|right|fine|great|perfect)[,!. ]+(?:please |then |just |do |so )*"
    r"(?:book|cancel|send|order|change|move|add|make|place|refund|return|exchange|reserve|charge|sign|register|put|ship|update|switch|remove|delete|activate|renew|extend|fix|apply|enrol|schedule|arrange|transfer|buy|take|upgrade|confirm|process|submit|close|open|block|try|do)"
    r" (?:\w+ ){0,4}?(?:it|that|this|them|me|us|those|these|one|both|all|the|my)(?!\w)",
    re.IGNORECASE,
)
"""Orders to do something, which a person gives who waits for it."""

_SENDS = re.compile(r"\b(?:send|e-?mail|envoyer|envoie)\w*$|\bnow \w+$|maintenant (?:vous )?\w+$", re.IGNORECASE)
_NOTICE = re.compile(
    r"\b(?:e-?mail(?:ed)? you|confirmation|receipt|summary|invoice|details by|r[ée]capitulatif|re[çc]u|facture|justificatif)\b",
    re.IGNORECASE,
)

_HAND_OVER = re.compile(
    r"\b(?:transfer\w*|escalat\w*|connect(?:ing)? you|human (?:agent|representative)|transf[ée]r\w*|conseill\w+|mettre en relation)\b",
    re.IGNORECASE,
)

_ASKS_WHICH = re.compile(
    r"(?:and |so |for |on |at |to |et |alors |pour |à |de )*(?:which|when|where|who|how (?:large|big|small|long|many|much|often|old|far|tall|wide|heavy)"
    r"|what (?!else|do you think|can i|may i|happened)|quel(?:le)?s?(?! autre)|combien|quand|où|qui)\b[^.!]*\?",
    re.IGNORECASE,
)
"""Questions for a value or a choice, whatever it is of."""

_NO = re.compile(r"(?:no|nope|nah|non)\b", re.IGNORECASE)

_NEAR_END = 3
"""Sentences at the end of a message in which a promise is still open; what stands before may be told as done after."""

_THANKS_AHEAD = re.compile(
    r"\b(?:please (?:let|leave|don['’]t|do not|keep|have|take|accept|tell)|i['’]d like to (?:thank|say)|i (?:just )?(?:want|wanted) to (?:thank|say))",
    re.IGNORECASE,
)


def early_stop(view: View, draft: Draft) -> str | None:
    """Find a close in the first message, with a request or a yes in it, before promised work, or past a question.

    A close as OUT-OF-SCOPE may leave a question open, one as TRANSFER only needs that the agent handed over.
    """
    if draft.closing is None:
        return None
    heard = last_agent_text(view)
    if not any(message.role == "user" for message in view.messages):
        return "you close in your first message; say what you want"
    if draft.closing == "OUT-OF-SCOPE":
        return None
    if draft.closing == "TRANSFER" or hands_over(heard):
        handed = hands_over(heard) or any(hands_over(text) for text in agent_texts(view))
        return None if handed else "the agent has not handed you over; answer it"
    if request := _request(draft.text, heard):
        return f"you close in the message that asks for or agrees to something ({request!r}); wait for the result"
    if used_tools_since(view):
        return None
    if promise := _promise(heard):
        return f"the agent has still to do what it promised ({promise!r}); wait for the result"
    if asked(heard) and (value := next(values_of(draft.text), None)):
        return f"you close in the message that gives {value.text!r}; wait for what the agent does with it"
    if _REFUSES.search(draft.text):
        return None
    waiting = _waiting(heard, is_told=bool(draft.text))
    return f"the agent waits for an answer ({waiting!r}); give it before you close" if waiting else None


def _request(text: str, heard: str) -> str | None:
    """Give the sentence that asks for something, or agrees to what the agent asked for."""
    parts = segments(text)
    for index, part in enumerate(parts, start=1):
        body = _THANKS_AHEAD.sub(" ", part.text)
        answers_itself = index < len(parts) and _NO.match(parts[index].text)
        orders = _REQUESTS.search(body) or (_ORDERS.search(body) and _unanswered(heard))
        if (part.question and not answers_itself) or (orders and not _LATER.search(body)):
            return part.text
    if parts and pattern("agreements").match(parts[0].text) and any(_proposes(part) for part in _unanswered(heard)):
        return parts[0].text
    return None


def _proposes(question: str) -> bool:
    """Tell whether a yes to `question` sets the agent to work: it says so, or asks about what the agent would do."""
    if _PROPOSES.search(question):
        return True
    asks_yes_or_no = "?" in question[-4:] and not pattern("starts_open").match(question)
    return asks_yes_or_no and bool(_BY_AGENT.search(question)) and not _OF_THE_PAST.search(question)


def _promise(heard: str) -> str | None:
    """Give the sentence near the end of the agent's message that says what it does now; a condition promises nothing."""
    for part in reversed(segments(heard)[-_NEAR_END:]):
        works = [found[0] for found in _WORKING.finditer(part.text)]
        if works and not _LATER.search(part.text) and not part.question and not _only_notifies(works, part.text):
            return part.text
    return None


def _only_notifies(works: list[str], text: str) -> bool:
    """Tell whether all that is promised is a notice of what was done, for which nobody waits in a conversation."""
    return bool(_NOTICE.search(text)) and all(_SENDS.search(found) for found in works)


def _waiting(heard: str, *, is_told: bool) -> str | None:
    """Give what waits for an answer: any question, but only a proposal or a value asked for where something is told.

    An offer to hand over may be left unanswered.
    """
    parts = [part for part in _unanswered(heard) if not _offers_hand_over(part, heard)]
    is_asked = bool(asked(heard))
    needed = [
        part
        for part in parts
        if not is_told or _PROPOSES.search(part) or _asks_value(part, is_asked) or _ASKS_WHICH.match(part)
    ]
    return needed[-1] if needed else None


def _asks_value(part: str, is_asked: bool) -> bool:
    """Tell whether `part` asks for a value, or for "these details" where the message asks for some."""
    refers = pattern("requests").search(part) and pattern("back_reference").search(part)
    return bool(asked(part)) or (is_asked and bool(refers))


def _offers_hand_over(part: str, heard: str) -> bool:
    """Tell whether `part`, or the sentence that it refers to ("would you like me to do that?"), is such an offer."""
    texts = [segment.text for segment in segments(heard)]
    before = texts[texts.index(part) - 1] if part in texts[1:] and pattern("back_reference").search(part) else ""
    return bool(_HAND_OVER.search(part) or _HAND_OVER.search(before))


def _unanswered(heard: str) -> list[str]:
    """Give the sentences that ask something; "anything else?" does not."""
    return [part for part in open_parts(heard) if "?" in part or asked(part) or asks_to_confirm(part)]
