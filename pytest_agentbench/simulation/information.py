"""What a text adds to a conversation: values and words that nobody has said, small talk and waiting left out."""

import re
from functools import lru_cache

_WORD = re.compile(r"\w+")
_VALUE = re.compile(r"(?<!\w)[^\W\d]*\d\w*")
_DIGIT = re.compile(r"\d")
_SHORTEST = 3
_STEM = 5
"""Letters of a word that are compared, so that "confirm" and "confirmation" are one word."""

_FILLERS = frozenset(
    # ruff: noqa: SIM905 - a list of three hundred literals would be unreadable
    """
    the and but for not you your yours are was were has have had will would can could shall should may might must
    this that these those there here with from about into than then too very just also only even ever yet still soon
    what which who whom whose when where why how does did done doing its his her their our them they she him
    yes yeah yep okay all right alright sure fine well good great nice perfect understood exactly indeed course
    certainly absolutely thank thanks thankful please sorry apologies apologize apologise welcome hello bye goodbye
    wait waits waiting waited hold moment moments minute minutes second seconds patience patient patiently bear again
    now once one more other else anything something nothing everything further let know tell say said ask asked
    look looks looking looked check checks checking checked work works working see seeing happen happening
    don doesn didn isn won maybe perhaps guess think really hmm hum sort kind whatever again later
    get gets getting got going come coming back need needs want wants like help helps helping assist assistance
    day wonderful lovely pleasure happy glad enjoy care take
    les des une aux est sont ete été suis avez avons ont aviez aura sera serez pour par sur dans avec sans sous chez
    que qui quoi dont comme mais donc car alors ainsi aussi bien très plus moins encore toujours déjà juste bon bonne
    vous votre vos nous notre nos mon mes ton tes son ses leur leurs ils elle elles lui eux moi toi cela ceci cette ces
    oui non accord ok parfait entendu compris voilà certes merci prie plaît plait pardon désolé désolée excusez bonjour
    bonsoir revoir salut quel quelle quels quelles quand combien comment pourquoi où faire fait faites peux peut pouvez
    puis pourrais voulez veux souhaitez voudrais attends attend attendre attendez attente patience patient patiente
    patientez patienter instant instants moment minute minutes seconde secondes petit tout toute tous toutes suite
    vérifie vérifier vérifiez vérifié regarde regarder occupe cours train voir vois autre chose rien quelque besoin aide
    aider sais être trop vraiment peu euh pense crois tard verra verrai verrons journée
    soirée belle bientôt plaisir ravi ravie
    any anyone anybody new news update updates status progress result results already almost nearly shortly momentarily
    meanwhile while busy load loads loaded loading slow slowly process processes processed processing proceed handle
    handling handled request requests matter issue thing things stuff right away directly try tries trying tried finish
    finished finishing complete completed completely start started begin began done think thinking thought idea ideas
    consider considering decide decided deciding decision hesitate hesitating hesitant unsure undecided sure certain
    mind minds wonder wondering figure figuring remember recall ponder pondering dunno time times hurry rush worry
    worries problem problems long longer bit little lot much many well fine cool super awesome excellent fantastic
    brilliant appreciate appreciated grateful there here hey hiya dear sir madam hang tight stay stand stick sit tuned
    line both answer answers reply replies respond continue continues keep keeps mention cheers yup nope huh ugh
    oops err erm uhm umm uhh hah haha lol pleased delighted kind kindly same always often sometimes
    nouvelle nouvelles nouveau statut avancement résultat résultats presque bientôt tantôt pendant temps occupé occupée
    charge chargement lent lente lentement traite traiter traité traitement procède procéder procédons demande demandes
    demandé essaie essayer essaye essayons fini finis finir finit terminé terminer termine commence commencer commencé
    réfléchis réfléchir réfléchi réfléchit réflexion hésite hésiter hésitant hésitante hésitation décide décider décidé
    décision sûr sûre certain certaine certaines idée idées demandais rappelle souviens songe songer dire dis dit
    dites disais parler parle parlez répond réponds répondre réponse problème problèmes souci soucis long longue
    longtemps peine grave merveilleux super génial formidable excellent excellente magnifique impeccable nickel
    enfin euhm hmmm bah ben bof tiens allô coucou cher chère monsieur madame là-bas voici maintenant immédiatement
    directement continue continuer reste rester restez ligne même mêmes jamais souvent parfois chose choses presse
    give gives given gave giving hard easy tough difficult understand understood understands concern concerns reach
    reached reaching out donne donner donnez donné difficile dur facile simple comprends comprend comprendre comprenez
    hum humm euhm voyons laissez laisse question questions pas point ne me te se le la ce on si du au par etre être
    êtes sommes étais était étiez serais serait seriez ayez soyez aurais aurait auriez avait avais eu allez allons vais
    va vas vont aller irai pouvait pouvons peuvent pu faudra faut faudrait fallait dois doit devez devoir devons trop
    choisi choisis choisir choisissez arrive arrivé arrives arriver dessus dedans système systèmes ordinateur serveur
    connexion demandez réponses préfère préférer intéressant exact exactement effectivement naturellement évidemment
    system systems computer server connection screen choose chose chosen choosing pick picked picking choice choices
    roughly question questions am be been being me my mine we us if or as at by to of on in is it so no oh ah eh let's
    lets that's it's i'm i'll i've i'd you're you'll you've we're we'll don't didn't doesn't isn't can't won't
    absolument franchement honnêtement simplement seulement ailleurs retour revenir reviens revient recherche
    recherches chercher cherche cherchez trouve trouver trouvez find finding found search searching seek honest
    honestly actually basically anyway quickly quick fast faster rapidement rapide vite
    presser pressé hâte gentil gentille aimable volontiers heureux heureuse content contente prendre prenez
    """.split()
)
"""Words that keep a conversation going and say nothing, in English and French."""


class Known:
    """Everything said so far; tells whether a text adds to it."""

    def __init__(self) -> None:
        self._words: set[str] = set()

    def adds(self, text: str, *, words: int) -> bool:
        """Take notice of `text`; tell whether it holds an unseen value or enough unseen words.

        Enough are `words` of them, or more than half of all that a text says that is no question: "White." answers one.
        """
        said, values = content(text), values_in(text)
        unseen, new_values = said - self._words, values - self._words
        self._words |= unseen | new_values
        return (
            bool(new_values)
            or len(unseen) >= words
            or (len(said) < 2 * len(unseen) and not text.rstrip().endswith("?"))
        )


@lru_cache(maxsize=512)  # a message is held against those before and after it
def content(text: str) -> frozenset[str]:
    """Give the stems of the words of `text` that are more than small talk, values left out."""
    words = {word for word in _WORD.findall(text) if len(word) >= _SHORTEST} - _FILLERS
    if _DIGIT.search(text):
        words = {word for word in words if not _DIGIT.search(word)}
    return frozenset(word[:_STEM] for word in words if word.removesuffix("s") not in _FILLERS)


@lru_cache(maxsize=512)
def values_in(text: str) -> frozenset[str]:
    """Give the words of `text` that hold a digit."""
    return frozenset(_VALUE.findall(text)) if _DIGIT.search(text) else frozenset()
