"""French conversations of sound users, by the author of the guard rails: no rule may find fault with a turn."""

# ruff: noqa: E501 - what somebody says stands on one line, with French punctuation

from collections.abc import Iterator
from typing import Any

from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.users.llm.draft import Draft, read_draft

Talk = tuple[dict[str, Any], tuple[str, ...]]
"""What the user knows, and a conversation that alternates, the user first."""

TALKS: tuple[Talk, ...] = (
    (
        {
            "persona": "Vous êtes retraité, bavard mais courtois.",
            "goal": "Vous voulez échanger les chaussures de la commande C-2291 contre une pointure 43, sinon être remboursé.",
            "known_info": "Vous êtes Paul Mercier, 14 rue des Acacias, 69003 Lyon. Votre e-mail est paul.mercier@orange.fr.",
            "unknown": ("Vous ne connaissez pas votre numéro de client",),
            "task_instructions": "Si l'agent vous propose un bon d'achat, refusez. Si la pointure n'existe pas, demandez le remboursement sur votre carte.",
        },
        (
            "Bonjour, j'ai reçu une paire de chaussures trop petites et j'aimerais les échanger.",
            "Bonjour ! Quel est votre numéro de client ?",
            "Ah, ça, je ne l'ai pas sous la main. Vous pouvez me retrouver autrement ?",
            "Bien sûr, avec votre nom et votre adresse e-mail.",
            "Paul Mercier, et mon adresse est paul.mercier@orange.fr.",
            "Merci Monsieur Mercier. De quelle commande s'agit-il ?",
            "C'est la commande C-2291. Il me faudrait du 43.",
            "Malheureusement le 43 est épuisé. Je peux vous proposer un bon d'achat de 60 euros.",
            "Non merci, pas de bon d'achat. Dans ce cas je préfère être remboursé sur ma carte.",
            "Très bien. Je procède au remboursement de 59,90 € sur votre carte. Confirmez-vous ?",
            "Oui, je confirme, s'il vous plaît.",
            "C'est fait : le remboursement de 59,90 € a été effectué et arrivera sous 5 jours. Puis-je vous aider pour autre chose ?",
            "Non, ce sera tout. Merci pour votre patience, et bonne journée !\n###STOP###",
        ),
    ),
    (
        {
            "persona": "Vous êtes une jeune mère pressée.",
            "goal": "Vous voulez déplacer votre réservation d'hôtel H77Q2 du 12 au 14 juin vers le week-end suivant.",
            "known_info": "Vous êtes Inès Caron. Votre téléphone est le 06 12 45 78 90.",
            "task_instructions": "Vous acceptez jusqu'à 30 euros de frais. Vous voulez un lit bébé si c'est gratuit.",
        },
        (
            "Bonjour, je dois décaler un séjour réservé chez vous, c'est possible ?",
            "Bonjour, bien sûr. Pouvez-vous me communiquer le numéro de réservation ?",
            "H77Q2.",
            "Merci. Je vérifie cela, un instant s'il vous plaît.",
            "D'accord, merci.",
            "J'ai trouvé : du 12 au 14 juin, chambre double. Quelles sont les nouvelles dates ?",
            "Le week-end d'après, donc du 19 au 21 juin.",
            "C'est possible avec 25 euros de frais de modification. Souhaitez-vous que je modifie la réservation ?",
            "25 euros, ça me va. Et est-ce qu'on peut avoir un lit bébé sans supplément ?",
            "Oui, le lit bébé est gratuit. Je modifie donc la réservation et j'ajoute le lit bébé ?",
            "Oui, faites comme ça.",
            "Votre réservation H77Q2 a été déplacée du 19 au 21 juin avec un lit bébé. Les 25 euros seront débités à l'arrivée.",
            "Parfait, merci beaucoup ! ###STOP###",
        ),
    ),
    (
        {
            "goal": "Votre connexion internet ne marche plus depuis ce matin et vous voulez qu'elle soit rétablie.",
            "known_info": "Vous êtes Karim Haddad, ligne 01 44 55 66 77.",
            "task_instructions": "Vérifiez votre box quand l'agent le demande. Si rien n'aide, demandez un technicien.",
            "tools": (ToolSpec(name="check_box", description="Montre les voyants de la box", requestor="user"),),
        },
        (
            "Bonjour, je n'ai plus internet depuis ce matin, c'est très gênant pour mon travail.",
            "Je suis désolé. Quel est le numéro de la ligne ?",
            "Le 01 44 55 66 77.",
            "Merci. Pouvez-vous regarder de quelle couleur est le voyant de la box ?",
            "Je viens de regarder, le voyant est rouge.",
            "Essayez de la redémarrer, s'il vous plaît, puis dites-moi si le voyant change.",
            "Je l'ai redémarrée mais c'est toujours rouge. Je commence à perdre patience…",
            "Je comprends. Je peux vous transférer à un technicien. Le souhaitez-vous ?",
            "Oui, je veux bien parler à un technicien.",
            "Je vous transfère à un technicien, restez en ligne.",
            "Merci. ###TRANSFER###",
        ),
    ),
    (
        {
            "persona": "Vous êtes étudiante, vous tutoyez volontiers.",
            "goal": "Tu veux prolonger trois livres empruntés et savoir si tu dois payer une amende.",
            "known_info": "Ton numéro de carte est 20881934. Tu t'appelles Zoé Lambert.",
            "task_instructions": "Si l'amende dépasse 5 euros, proteste poliment une fois puis accepte.",
        },
        (
            "Salut ! Je voudrais prolonger mes livres si possible.",
            "Bonjour, quel est ton numéro de carte ?",
            "20881934",
            "Merci Zoé. Tu as trois livres, dont un en retard. L'amende est de 6,40 euros.",
            "Ah mince, 6,40 c'est beaucoup pour deux jours de retard, non ? Il n'y a pas moyen de la réduire ?",
            "Désolé, le règlement ne le permet pas.",
            "Bon, tant pis, je paierai. Et pour la prolongation, on peut faire les trois ?",
            "Deux peuvent être prolongés jusqu'au 3 juillet, le troisième est réservé par un autre lecteur. Je prolonge les deux ?",
            "Oui, prolonge ces deux-là. Je rendrai l'autre demain.",
            "C'est fait, les deux livres sont prolongés jusqu'au 3 juillet. Autre chose ?",
            "Non, c'est bon, merci pour ton aide ! ###STOP###",
        ),
    ),
    (
        {
            "goal": "Vous voulez contester un prélèvement de 89,90 euros du 4 mars que vous ne reconnaissez pas.",
            "known_info": "Vous êtes Hélène Vasseur, née le 17 avril 1969. Les quatre derniers chiffres de votre carte sont 7715.",
            "unknown": ("Vous ne vous souvenez pas de votre identifiant de connexion",),
            "task_instructions": "Ne donnez jamais le numéro complet de la carte. Demandez combien de temps cela prendra.",
        },
        (
            "Bonjour, il y a sur mon compte un prélèvement que je ne reconnais pas et je voudrais le contester.",
            "Bonjour Madame, pourriez-vous me donner votre identifiant ?",
            "Je ne m'en souviens plus, je suis désolée. Qu'est-ce que je peux vous donner à la place ?",
            "Votre nom, votre date de naissance et les quatre derniers chiffres de la carte.",
            "Hélène Vasseur, 17/04/1969, et la carte finit par 7715.",
            "Merci. De quel prélèvement s'agit-il ?",
            "Celui du 4 mars, de 89,90 euros.",
            "Je vois. Pour ouvrir le dossier il me faut le numéro complet de votre carte.",
            "Je préfère ne pas le donner. Il n'y a pas une autre façon de faire ?",
            "Si, je peux ouvrir le dossier sans. Voulez-vous que je le fasse ?",
            "Oui, merci. Cela prendra combien de temps ?",
            "Le dossier D-5521 est ouvert, comptez dix jours ouvrés. Vous recevrez une réponse par courrier.",
            "Très bien, je note le dossier D-5521. Au revoir et merci.\n###STOP###",
        ),
    ),
    (
        {
            "persona": "Vous écrivez en style télégraphique.",
            "goal": "Vous voulez résilier votre abonnement de gaz parce que vous déménagez fin août.",
            "says": ("Je veux résilier mon contrat de gaz", "oui", "Et le remboursement du dépôt de garantie ?"),
            "knows": {"numéro de contrat": "GZ-400-118", "nouvelle adresse": "8 place Carnot, 44000 Nantes"},
            "task_instructions": "Vous ne souhaitez pas de contrat à la nouvelle adresse.",
        },
        (
            "Bonjour. Je veux résilier mon contrat de gaz.",
            "Bonjour, quel est votre numéro de contrat et votre date de départ ?",
            "Contrat GZ-400-118. Départ fin août.",
            "Souhaitez-vous ouvrir un contrat à votre nouvelle adresse ?",
            "Non, pas besoin.",
            "Je résilie donc le contrat GZ-400-118 au 31 août. C'est bien cela ?",
            "Oui.",
            "Votre contrat est résilié au 31 août.",
            "Et le dépôt de garantie, il sera remboursé ?",
            "Oui, sous 30 jours, par virement. À quelle adresse envoyer la facture finale ?",
            "8 place Carnot, 44000 Nantes.",
            "C'est noté. Tout est en ordre. Y a-t-il autre chose ?",
            "###STOP###",
        ),
    ),
)


def drafts() -> Iterator[tuple[View, Draft]]:
    """Give every turn of a user with what it knows then."""
    for fields, texts in TALKS:
        messages = tuple(Message(role="assistant" if at % 2 else "user", content=text) for at, text in enumerate(texts))
        for at in range(0, len(texts), 2):
            yield View(messages=messages[:at], **fields), read_draft(texts[at])
