"""Faulty replies of simulated users, by rule and language, in the words that such users use.

They follow the descriptions of faults that simulators are known for, and recorded ones. The author of the rules wrote
them, after the rules, and mended five misses by them: they hold what was reached, and prove nothing new.
`POSITIVES` is what the rules must find, the drafts of `SOUND` what they must leave alone.
"""

# ruff: noqa: E501 - what somebody says stands on one line

from dataclasses import dataclass, field
from typing import Any

from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.users.llm.draft import Draft, read_draft

ENGLISH: dict[str, Any] = {
    "persona": "You are an impatient office worker.",
    "goal": "You want to return the desk lamp of your order W1001 and get the money back.",
    "known_info": "You are Ada Roy in zip code 75001. Your email is ada.roy@example.com.",
    "unknown": ("You do not remember your user id",),
    "task_instructions": (
        "If the agent tells you that the return is not possible, ask for a repair instead. You do not want to pay for "
        "the shipping, and you only agree when the agent confirms that it is free. You are polite but brief."
    ),
}
FRENCH: dict[str, Any] = {
    "persona": "Vous êtes une employée de bureau pressée.",
    "goal": "Vous voulez renvoyer la lampe de bureau de votre commande W1001 et être remboursée.",
    "known_info": "Vous êtes Ada Roy, code postal 75001. Votre adresse e-mail est ada.roy@example.com.",
    "unknown": ("Vous ne vous souvenez pas de votre identifiant",),
    "task_instructions": (
        "Si l'agent vous dit que le retour n'est pas possible, demandez une réparation à la place. Vous ne voulez pas "
        "payer les frais de port, et vous n'acceptez que si l'agent confirme que c'est gratuit. Vous restez polie."
    ),
}
KNOWS = {
    "name": "Ada Roy",
    "zip": "75001",
    "email": "ada.roy@example.com",
    "phone": "+33 6 12 34 56 78",
    "card": "4411",
}


@dataclass(frozen=True)
class Example:
    """A reply to a conversation that alternates, the user's text first; it is empty where the agent opened."""

    language: str
    reply: str
    said: tuple[str, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def view(self) -> View:
        """What the user knows when it replies."""
        fields = {**(ENGLISH if self.language == "en" else FRENCH), **self.extra}
        roles = ("user", "assistant")
        messages = tuple(
            Message(role="user" if roles[at % 2] == "user" else "assistant", content=text)
            for at, text in enumerate(self.said)
            if text
        )
        return View(messages=messages, **fields)

    @property
    def draft(self) -> Draft:
        """The reply as it is checked."""
        return read_draft(self.reply)


def _en(reply: str, *said: str, **extra: Any) -> Example:
    return Example("en", reply, said, extra)


def _fr(reply: str, *said: str, **extra: Any) -> Example:
    return Example("fr", reply, said, extra)


_OPEN = ("Hi, I want to return a lamp.",)
_OUVRE = ("Bonjour, je voudrais renvoyer une lampe.",)

POSITIVES: dict[str, tuple[Example, ...]] = {
    "echo": (
        _en(
            "Thank you, Ada. I have found your order W1001 with the desk lamp, which was delivered last week.",
            *_OPEN,
            "Thank you, Ada. I have found your order W1001 with the desk lamp, which was delivered last week.",
        ),
        _en(
            "I'd like to return the desk lamp from my order and get my money back, please.",
            "I'd like to return the desk lamp from my order and get my money back, please.",
            "Sure. Which payment method should I refund?",
        ),
        _en(
            "Your return has been requested. You will receive an email with instructions on how to return the item. Thanks!",
            *_OPEN,
            "Your return has been requested. You will receive an email with instructions on how to return the item.",
        ),
        _en(
            "To return the lamp, please provide your order number and the reason for the return. Okay.",
            *_OPEN,
            "To return the lamp, please provide your order number and the reason for the return.",
        ),
        _en(
            "Hi, I want to return the lamp I bought because it does not work.",
            "Hi, I want to return the lamp that I bought because it does not work.",
            "I am sorry to hear that. What is your email address?",
        ),
        _fr(
            "Merci Ada. J'ai bien trouvé votre commande W1001 avec la lampe de bureau livrée la semaine dernière.",
            *_OUVRE,
            "Merci Ada. J'ai bien trouvé votre commande W1001 avec la lampe de bureau livrée la semaine dernière.",
        ),
        _fr(
            "Je voudrais renvoyer la lampe de bureau de ma commande et être remboursée, s'il vous plaît.",
            "Je voudrais renvoyer la lampe de bureau de ma commande et être remboursée, s'il vous plaît.",
            "Bien sûr. Sur quel moyen de paiement ?",
        ),
        _fr(
            "Votre retour est enregistré. Vous allez recevoir un e-mail avec les instructions pour renvoyer l'article. Merci !",
            *_OUVRE,
            "Votre retour est enregistré. Vous allez recevoir un e-mail avec les instructions pour renvoyer l'article.",
        ),
        _fr(
            "Pour renvoyer la lampe, merci d'indiquer votre numéro de commande et le motif du retour. D'accord.",
            *_OUVRE,
            "Pour renvoyer la lampe, merci d'indiquer votre numéro de commande et le motif du retour.",
        ),
        _fr(
            "Bonjour, je veux renvoyer la lampe que j'ai achetée parce qu'elle ne marche pas.",
            "Bonjour, je veux renvoyer la lampe que j'ai achetée car elle ne marche pas.",
            "Désolé. Quelle est votre adresse e-mail ?",
        ),
    ),
    "register": (
        _en("Hello! How can I assist you today?", "", "Hi! How can I help you today?"),
        _en("Sure, let me look that up for you. One moment please.", *_OPEN, "I need to find your order."),
        _en(
            "Thank you for providing that information. Could you please confirm your email address so I can locate your account?",
            *_OPEN,
            "My system shows order W1001.",
        ),
        _en(
            "You're welcome! If there's anything else I can help you with, feel free to ask.",
            *_OPEN,
            "Thanks for your patience, the refund is on its way.",
        ),
        _en(
            "I have processed the refund for your desk lamp. You should see it within 5 to 7 business days.",
            *_OPEN,
            "Shall I refund the lamp?",
        ),
        _en("I'd be happy to help you with your return! May I have your order number?", *_OPEN, "Okay, what is next?"),
        _fr("Bonjour ! Comment puis-je vous aider aujourd'hui ?", "", "Bonjour, que puis-je faire pour vous ?"),
        _fr("Bien sûr, laissez-moi vérifier cela pour vous. Un instant.", *_OUVRE, "Je dois retrouver votre commande."),
        _fr(
            "Merci pour ces informations. Pourriez-vous me confirmer votre adresse e-mail afin que je retrouve votre dossier ?",
            *_OUVRE,
            "Je vois la commande W1001.",
        ),
        _fr(
            "Je vous en prie ! N'hésitez pas à me contacter si vous avez besoin d'autre chose.",
            *_OUVRE,
            "Merci, le remboursement est en cours.",
        ),
        _fr(
            "J'ai bien effectué le remboursement de votre lampe, vous le recevrez sous 5 jours.",
            *_OUVRE,
            "Dois-je rembourser la lampe ?",
        ),
    ),
    "leak": (
        _en("I only agree when the agent confirms that it is free.", *_OPEN, "Shall I send the label for 5 dollars?"),
        _en("According to my instructions, I should ask for a repair now.", *_OPEN, "A return is not possible."),
        _en("I'm sorry, but my persona does not have a user id.", *_OPEN, "What is your user id?"),
        _en(
            "As an AI language model I do not own a lamp, but in this scenario I want to return it.",
            *_OPEN,
            "Who are you?",
        ),
        _en("Yes, that works. ###STOP### Thank you very much!", *_OPEN, "The refund is on its way."),
        _en("User: Yes, please send me the label.", *_OPEN, "Shall I send the label?"),
        _en("The scenario doesn't mention a phone number, so I cannot say.", *_OPEN, "What is your phone number?"),
        _en(
            "I was told not to reveal my user id unless asked, and in this simulation I do not have one.",
            *_OPEN,
            "What is your user id?",
        ),
        _fr(
            "Vous n'acceptez que si l'agent confirme que c'est gratuit.",
            *_OUVRE,
            "Dois-je envoyer l'étiquette pour 5 euros ?",
        ),
        _fr(
            "D'après mes instructions, je dois maintenant demander une réparation.",
            *_OUVRE,
            "Le retour n'est pas possible.",
        ),
        _fr("Désolée, mon persona n'a pas d'identifiant.", *_OUVRE, "Quel est votre identifiant ?"),
        _fr("En tant qu'IA je n'ai pas de lampe, mais je joue le rôle d'une cliente.", *_OUVRE, "Qui êtes-vous ?"),
        _fr("Oui, parfait. ###STOP### Merci beaucoup !", *_OUVRE, "Le remboursement est parti."),
        _fr("Le scénario ne précise pas de numéro de téléphone.", *_OUVRE, "Quel est votre numéro de téléphone ?"),
    ),
    "invention": (
        _en("My order number is #W8834412.", *_OPEN, "What is your order number?"),
        _en("Sure, my phone number is 555-201-7788.", *_OPEN, "What is your phone number?"),
        _en("It's ada_roy_4821.", *_OPEN, "What is your user id?"),
        _en("I was born on March 3rd, 1988.", *_OPEN, "What is your date of birth?"),
        _en("My email is ada1988@mail.com and the zip code is 10012.", *_OPEN, "Email and zip code, please."),
        _en("I live at 42 Baker Street.", *_OPEN, "What is your address?"),
        _en("My name is Emma Smith.", *_OPEN, "What is your name?"),
        _en("The tracking code is 1Z999AA10123456784, I bought it on 05/14.", *_OPEN, "Do you have a tracking code?"),
        _fr("Mon numéro de commande est le 88344120.", *_OUVRE, "Quel est votre numéro de commande ?"),
        _fr("Oui, c'est le 06 44 55 66 77.", *_OUVRE, "Quel est votre numéro de téléphone ?"),
        _fr("Mon identifiant est ada_roy_4821.", *_OUVRE, "Quel est votre identifiant ?"),
        _fr("Je suis née le 3 mars 1988.", *_OUVRE, "Quelle est votre date de naissance ?"),
        _fr("Mon adresse e-mail est ada1988@mail.fr.", *_OUVRE, "Quelle est votre adresse e-mail ?"),
        _fr("J'habite 42 rue des Lilas.", *_OUVRE, "Quelle est votre adresse ?"),
        _fr("Je m'appelle Emma Durand.", *_OUVRE, "Quel est votre nom ?"),
    ),
    "early_stop": (
        _en(
            "Yes, please go ahead with the return. ###STOP###",
            *_OPEN,
            "I can return the lamp and refund 40 dollars. Do you want me to proceed (yes/no)?",
        ),
        _en("Great, thank you! ###STOP###", *_OPEN, "Thanks for confirming. I will now process the return for you."),
        _en("Okay, thanks. ###STOP###", *_OPEN, "Let me check whether the lamp can be returned. One moment, please."),
        _en("###STOP###", *_OPEN, "Could you tell me your order number?"),
        _en("My email is ada.roy@example.com. ###STOP###", *_OPEN, "Which email address is on the account?"),
        _en("Hi, I want to return a lamp. ###STOP###", "", "Hi! How can I help you today?"),
        _en("Thanks. Could you also tell me when the money arrives? ###STOP###", *_OPEN, "The lamp has been returned."),
        _en("Thank you. ###TRANSFER###", *_OPEN, "Which order is it?"),
        _fr(
            "Oui, allez-y. ###STOP###",
            *_OUVRE,
            "Je peux enregistrer le retour et rembourser 40 euros. Souhaitez-vous que je procède ?",
        ),
        _fr("Parfait, merci ! ###STOP###", *_OUVRE, "Merci. Je vais maintenant enregistrer le retour de la lampe."),
        _fr(
            "D'accord, merci. ###STOP###",
            *_OUVRE,
            "Je vérifie si la lampe peut être renvoyée. Un instant, s'il vous plaît.",
        ),
        _fr("###STOP###", *_OUVRE, "Pouvez-vous me donner votre numéro de commande ?"),
        _fr(
            "Merci. Pouvez-vous aussi me dire quand l'argent arrive ? ###STOP###",
            *_OUVRE,
            "Le retour a été enregistré.",
        ),
        _fr("Merci. ###TRANSFER###", *_OUVRE, "De quelle commande s'agit-il ?"),
    ),
    "at_once": (
        _en(
            "Hi, I'm Ada Roy, zip 75001, email ada.roy@example.com, phone +33 6 12 34 56 78, card 4411, and I want to return a lamp.",
            knows=KNOWS,
        ),
        _en(
            "Hello! My name is Ada Roy. My email is ada.roy@example.com, my zip code is 75001 and my card ends in 4411. Phone: +33 6 12 34 56 78. I need a refund.",
            "",
            "Hi! How can I help you today?",
            knows=KNOWS,
        ),
        _en(
            "I want to return a lamp. Ada Roy, ada.roy@example.com, 75001.",
            known_info="You are Ada Roy in zip code 75001. Your email is ada.roy@example.com.",
        ),
        _en("Return my lamp please (Ada Roy / 75001 / ada.roy@example.com / +33 6 12 34 56 78).", knows=KNOWS),
        _en(
            "Good morning, Ada Roy here, I live in 75001, you can reach me at ada.roy@example.com. It is about a lamp.",
            known_info="You are Ada Roy in zip code 75001. Your email is ada.roy@example.com.",
        ),
        _fr(
            "Bonjour, je suis Ada Roy, 75001, ada.roy@example.com, téléphone +33 6 12 34 56 78, carte 4411, je veux renvoyer une lampe.",
            knows=KNOWS,
        ),
        _fr(
            "Bonjour ! Je m'appelle Ada Roy. Mon e-mail : ada.roy@example.com, code postal 75001, carte 4411, téléphone +33 6 12 34 56 78. Je veux être remboursée.",
            "",
            "Bonjour, que puis-je faire pour vous ?",
            knows=KNOWS,
        ),
        _fr("Je veux renvoyer une lampe. Ada Roy, ada.roy@example.com, 75001."),
        _fr("Retour de ma lampe svp (Ada Roy / 75001 / ada.roy@example.com / +33 6 12 34 56 78).", knows=KNOWS),
        _fr("Bonjour, ici Ada Roy, j'habite au 75001, mon adresse est ada.roy@example.com. C'est pour une lampe."),
    ),
}

SOUND: tuple[Example, ...] = (
    _en("Hi, I'd like to return a lamp from one of my orders."),
    _en("My name is Ada Roy and my zip code is 75001.", *_OPEN, "What are your name and zip code?"),
    _en(
        "I'm sorry, I don't remember my user id. Can you find me by email instead? It's ada.roy@example.com",
        *_OPEN,
        "What is your user id?",
    ),
    _en("Yes, please go ahead.", *_OPEN, "I can return the lamp of order W1001. Shall I proceed?"),
    _en(
        "No, that's all. Thanks for your help! ###STOP###",
        *_OPEN,
        "The lamp has been returned and 40 dollars are on their way. Is there anything else?",
    ),
    _en("Thank you. ###TRANSFER###", *_OPEN, "You are being transferred to a human agent. Please hold on."),
    _en("Great. Was there anything else? No, I think that was all. ###STOP###", *_OPEN, "The return is booked."),
    _en("Then please leave it as it is. ###STOP###", *_OPEN, "I'm sorry, that lamp cannot be returned."),
    _en("###STOP###", *_OPEN, "The return is done. If you need anything else, let me know."),
    _en("Let me check my mailbox. Yes, the label is there.", *_OPEN, "Did you get the label?"),
    _en(
        "No thanks, then I'd rather keep it. ###STOP###",
        *_OPEN,
        "The return costs 5 dollars. Would you like to proceed?",
    ),
    _en("I don't have that. ###OUT-OF-SCOPE###", *_OPEN, "I need the serial number, else I cannot go on. What is it?"),
    _en("The one with 512GB and 8 hours of battery, up to $120, I need 2 of them by 5pm.", *_OPEN, "Which one?"),
    _fr("Bonjour, je voudrais renvoyer une lampe, s'il vous plaît."),
    _fr("Ada Roy, code postal 75001.", *_OUVRE, "Quel est votre nom et votre code postal ?"),
    _fr(
        "Je ne me souviens pas de mon identifiant. Mon e-mail est ada.roy@example.com.",
        *_OUVRE,
        "Quel est votre identifiant ?",
    ),
    _fr("Oui, allez-y s'il vous plaît.", *_OUVRE, "Je peux enregistrer le retour. Souhaitez-vous que je procède ?"),
    _fr(
        "Non, c'est tout, merci beaucoup. ###STOP###",
        *_OUVRE,
        "Le retour a été enregistré. Avez-vous besoin d'autre chose ?",
    ),
    _fr("Merci. ###TRANSFER###", *_OUVRE, "Je vous transfère à un conseiller."),
    _fr("Non merci, je la garde. ###STOP###", *_OUVRE, "Le retour coûte 5 euros. Souhaitez-vous que je procède ?"),
)
"""Replies with which no rule may find fault."""
