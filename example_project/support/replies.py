"""What the agent says, in English and French; words in braces are filled in."""

from typing import Any

REPLIES = {
    "hello": ("Welcome to the support desk. How can I help you?", "Bienvenue. Comment puis-je vous aider ?"),
    "bye": ("You are welcome. Goodbye!", "Je vous en prie. Au revoir !"),
    "lost": (
        "I am sorry, I did not understand. I can cancel and change orders, take back or exchange items, and more.",
        "Désolé, je n'ai pas compris. Je peux annuler ou modifier une commande, reprendre ou échanger un article.",
    ),
    "identified": ("Thank you, {name}, I have found your account.", "Merci {name}, j'ai trouvé votre compte."),
    "ask_email": ("What is the email address of your account?", "Quelle est l'adresse e-mail de votre compte ?"),
    "ask_name": (
        "What are your first name, your last name and the postcode of your account?",
        "Quels sont votre prénom, votre nom de famille et le code postal de votre compte ?",
    ),
    "not_found": (
        "I found no account for {what}. What are your first name, your last name and your postcode?",
        "Je ne trouve pas de compte pour {what}. Quels sont votre prénom, votre nom de famille et votre code postal ?",
    ),
    "not_identified": (
        "Without your email address, or your name and postcode, I cannot open an account, so I cannot help with this.",
        "Sans votre adresse e-mail, ou vos nom et code postal, je ne peux pas ouvrir de compte ni vous aider.",
    ),
    "one_customer": (
        "I can only help with your own account in this conversation, not with anyone else's.",
        "Je ne peux m'occuper que de votre propre compte dans cette conversation.",
    ),
    "ask_order": ("What is the order number?", "Quel est le numéro de commande ?"),
    "not_yours": (
        "Order {order} is not an order of your account, so I cannot tell you anything about it or change it.",
        "La commande {order} n'appartient pas à votre compte : je ne peux ni vous renseigner ni la modifier.",
    ),
    "confirm": ("Shall I go ahead? (yes/no)", "Puis-je le faire ? (oui/non)"),
    "left": ("All right, I have changed nothing.", "D'accord, je n'ai rien changé."),
    "failed": (
        "I am sorry, this did not work and nothing was changed. The system says: {error}.",
        "Désolé, cela n'a pas fonctionné et rien n'a été changé. Le système répond : « {error} ».",
    ),
    "unavailable": (
        "I am sorry, our system is unavailable at the moment, so I could not look that up. Nothing was changed.",
        "Désolé, notre système est indisponible pour le moment, je n'ai donc rien pu consulter. Rien n'a été changé.",
    ),
    "unclear": (
        "I am sorry, our system did not answer, so I cannot tell whether this was done. The system says: {error}.",
        "Désolé, notre système n'a pas répondu : impossible de dire si c'est fait. Le système répond : « {error} ».",
    ),
    "pretend": ("All done, that went through successfully.", "C'est fait, tout s'est bien passé."),
    "done": ("Done: {what}", "C'est fait : {what}"),
    "ask_reason": (
        "What is the reason: no longer needed, ordered by mistake, or arrives too late?",
        "Quel est le motif : plus besoin, commandée par erreur, ou arrive trop tard ?",
    ),
    "not_pending": (
        "Order {order} is {status}, not pending, so I cannot change it any more.",
        "La commande {order} n'est plus en attente ({status}) : je ne peux plus la modifier.",
    ),
    "not_delivered": (
        "Order {order} is {status}; this is possible for delivered orders only.",
        "La commande {order} n'est pas livrée ({status}) : ce n'est possible qu'après la livraison.",
    ),
    "cancel": (
        "I will cancel order {order_id} (reason: {why}) and refund {amount} euros to the method it was paid with.",
        "Je vais annuler la commande {order_id} (motif : {why}) et rembourser {amount} euros.",
    ),
    "ask_address": (
        "What is the new address (street and number, postcode, city)?",
        "Quelle est la nouvelle adresse (numéro et rue, code postal, ville) ?",
    ),
    "address": (
        "I will send order {order_id} to {street}, {postcode} {city}, {country}.",
        "Je vais envoyer la commande {order_id} à : {street}, {postcode} {city}, {country}.",
    ),
    "default_address": (
        "I will set the address of your account to {street}, {postcode} {city}, {country}.",
        "Je vais enregistrer l'adresse de votre compte : {street}, {postcode} {city}, {country}.",
    ),
    "ask_new_email": ("What is the new email address?", "Quelle est la nouvelle adresse e-mail ?"),
    "email": (
        "I will change the email address of your account to {email}.",
        "Je vais remplacer l'adresse e-mail de votre compte par {email}.",
    ),
    "ask_method": ("Which payment method do you mean?", "Quel moyen de paiement voulez-vous utiliser ?"),
    "payment": (
        "I will charge the {amount} euros of order {order_id} to {method}.",
        "Je vais débiter les {amount} euros de la commande {order_id} sur {method}.",
    ),
    "refund_rule": (
        "A refund can only go to the original payment method, {method}, or to store credit.",
        "Un remboursement ne peut aller que sur le moyen de paiement d'origine, {method}, ou en avoir.",
    ),
    "window": (
        "Order {order} was delivered {days} days ago; the limit is 30 days, so I cannot take it back.",
        "La commande {order} a été livrée il y a {days} jours ; le délai est de 30 jours.",
    ),
    "ask_items": (
        "Which items of order {order} do you mean?",
        "Quels articles de la commande {order} voulez-vous dire ?",
    ),
    "return": (
        "I will take back {items} from order {order_id} and refund {amount} euros to {method}.",
        "Je vais reprendre {items} de la commande {order_id} et rembourser {amount} euros sur {method}.",
    ),
    "exchange": (
        "I will exchange {items} for {new} in order {order_id}; the difference of {amount} euros goes to {method}.",
        "Je vais échanger {items} contre {new} (commande {order_id}) ; différence de {amount} euros, {method}.",
    ),
    "one_exchange": (
        "Order {order} already had its one exchange, so I cannot exchange anything else in it.",
        "La commande {order} a déjà été échangée une fois : aucun autre échange n'est possible.",
    ),
    "ask_variant": (
        "Which colour or size would you like? In stock: {variants}.",
        "Quelle couleur ou taille voulez-vous ? En stock : {variants}.",
    ),
    "out_of_stock": (
        "{item} is out of stock. In stock: {variants}.",
        "{item} n'est plus en stock. En stock : {variants}.",
    ),
    "other_product": (
        "An exchange is only possible for another variant of the same product.",
        "Un échange n'est possible que contre une autre version du même produit.",
    ),
    "shipping": (
        "Order {order_id} arrived {days} days late. I will refund its shipping fee of {fee} euros to {method}.",
        "La commande {order_id} a {days} jours de retard. Je vais rembourser les frais de {fee} euros sur {method}.",
    ),
    "not_late": (
        "Order {order} did not arrive late, so its shipping fee cannot be refunded.",
        "La commande {order} n'est pas arrivée en retard : les frais de livraison ne peuvent pas être remboursés.",
    ),
    "one_compensation": ("I can compensate one order per conversation.", "Je ne dédommage qu'une commande à la fois."),
    "status": (
        (
            "Order {order_id} is {status}; promised for {promised_on}, delivered: {delivered_on}; "
            "shipping fee: {shipping_fee:.2f} euros, tracking: {tracking}."
        ),
        "La commande {order_id} : {status} ; prévue pour le {promised_on}, livrée : {delivered_on} ; suivi {tracking}.",
    ),
    "product": ("{name}: {variants}.", "{name} : {variants}."),
    "no_product": ("We do not sell that.", "Nous ne vendons pas cela."),
    "discount": (
        "I am sorry, I cannot give discounts or match prices.",
        "Désolé, je ne peux accorder ni remise ni alignement de prix.",
    ),
    "advice": (
        "I cannot recommend one product over another; I can tell you prices, options and stock.",
        "Je ne peux pas recommander un produit plutôt qu'un autre ; je peux donner les prix et le stock.",
    ),
    "human": (
        "I can take care of orders, returns and your account myself. Tell me what you need.",
        "Je m'occupe moi-même des commandes, des retours et de votre compte. Dites-moi ce qu'il vous faut.",
    ),
    "escalated": (
        "This is beyond what I can do here, so I have passed it on; a colleague will write to you.",
        "Cela dépasse ce que je peux faire ; j'ai transmis votre demande, un collègue vous écrira.",
    ),
    "echo": ("I understand: “{message}” Thank you for telling me.", "Je comprends : « {message} » Merci."),
    "leave": ("Thank you for contacting us. Goodbye!", "Merci de votre message. Au revoir !"),
}


def say(reply: str, /, *, french: bool, **values: object) -> str:
    """Fill a reply in, in the customer's language."""
    return REPLIES[reply][french].format(**values)


def items(things: list[dict[str, Any]]) -> str:
    """List items with their ids."""
    return ", ".join(f"{one['name']} ({one['item_id']})" for one in things)


def offers(variants: list[dict[str, Any]]) -> str:
    """List the variants that are in stock, with their prices."""
    return "; ".join(
        f"{' '.join(filter(None, (one['colour'], one['size'])))} {one['price']:.2f} euros ({one['stock']} in stock)"
        for one in variants
        if one["stock"]
    )
