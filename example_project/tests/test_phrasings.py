"""The agent understands what is meant, however it is put: English and French, typos, corrections, odd formats."""

from typing import Any

import pytest

LIAM, CHLOE, AMARA = "liam.novak@example.com", "chloe.martin@example.com", "amara.okafor@example.com"
MATEO, JULIE, PRIYA, NOAH = (
    f"{name}@example.com" for name in ("mateo.rossi", "julie.lefevre", "priya.shah", "noah.berger")
)

CANCEL_1001 = ("cancel_order", {"order_id": "W1001", "reason": "no_longer_needed"})
CANCEL_1007 = ("cancel_order", {"order_id": "W1007", "reason": "ordered_by_mistake"})
CANCEL_1011 = ("cancel_order", {"order_id": "W1011", "reason": "ordered_by_mistake"})
CANCEL_1017 = ("cancel_order", {"order_id": "W1017", "reason": "ordered_by_mistake"})
RETURN_LAMP = ("return_items", {"order_id": "W1004", "item_ids": ["lamp-black"], "payment_method_id": "card_102"})
RETURN_BOTTLE = (
    "return_items",
    {"order_id": "W1002", "item_ids": ["bottle-steel-500ml"], "payment_method_id": "credit_101"},
)
SWEATER = {
    "order_id": "W1002",
    "item_ids": ["sweater-blue-m"],
    "new_item_ids": ["sweater-red-l"],
    "payment_method_id": "paypal_101",
}
COLOGNE = {"order_id": "W1017", "street": "Lindenallee 4", "city": "Cologne", "postcode": "50667", "country": "Germany"}
LYON = {"order_id": "W1005", "street": "27 rue Victor Hugo", "city": "Lyon", "postcode": "69002", "country": "France"}
GIFT_1009 = ("change_payment_method", {"order_id": "W1009", "payment_method_id": "gift_104"})
SHIPPING_1006 = ("refund_shipping", {"order_id": "W1006", "payment_method_id": "paypal_103"})

CASES: list[tuple[list[str], tuple[str, dict[str, Any]]]] = [
    ([f"Please call off order W1001, I don't want it anymore. {LIAM}", "I've no need for it"], CANCEL_1001),
    ([f"hi there, {LIAM}. order #1001 - scrap it, i no longer need the lamp"], CANCEL_1001),
    ([f"I've changed my mind about W-1001. Could you cancel that for me? My email's {LIAM}"], CANCEL_1001),
    (["I need to cancle my order w1001", LIAM, "changed my mind"], CANCEL_1001),
    (["Cancel my order please", f"it's {LIAM}", "I simply don't need it any longer"], CANCEL_1001),
    ([f"Would you be so kind as to void order number W1001? It's no longer required. Account: {LIAM}"], CANCEL_1001),
    ([f"My mail is {LIAM}. I don't need the desk lamp (W1001) after all, stop that order."], CANCEL_1001),
    ([f"W1007 was a mistake, I didn't mean to order it. Cancel please. {AMARA}"], CANCEL_1007),
    (["I want to cancel W1007", AMARA, "I bought it by accident"], CANCEL_1007),
    (["The grinder I ordered needs to be cancelled - ordered the wrong thing", AMARA], CANCEL_1007),
    ([f"Please send the lamp from W1004 back for me, it's broken. {CHLOE}"], RETURN_LAMP),
    (["I'd like a refund for the desk lamp", CHLOE], RETURN_LAMP),
    ([f"Can I bring back an item? It's the lamp in 1004. No, order 1004 I mean. {CHLOE}"], RETURN_LAMP),
    (
        ["Hello, Chloé Martin here, postcode 69003. The desk light of W1004 doesn't suit me, I want my money back."],
        RETURN_LAMP,
    ),
    (["I want to return something from order W1004", CHLOE, "the lamp"], RETURN_LAMP),
    (["i wanna retrun the yoga mat, sorry, the lamp, W1004", CHLOE], RETURN_LAMP),
    (
        [f"How do I give back the lamp I got with order W1004? I'm {CHLOE}", "Refund it to the card I paid with"],
        RETURN_LAMP,
    ),
    ([f"Return the steel flask of W1002 and give me shop credit for it, {LIAM}"], RETURN_BOTTLE),
    ([f"I'd like to send the bottle back (W1002). {LIAM}", "Actually, put it on store credit"], RETURN_BOTTLE),
    (["Return W1002 please", LIAM, "just the bottle", "no, as store credit"], RETURN_BOTTLE),
    ([f"Swap my jumper from W1002: red, large. {LIAM}"], ("exchange_items", SWEATER)),
    (
        [f"The sweater in W1002 is the wrong size, I need a L, and in red rather than blue. {LIAM}"],
        ("exchange_items", SWEATER),
    ),
    (["Exchange the sweater in W1002", LIAM, "red please", "no, red in size L"], ("exchange_items", SWEATER)),
    (
        [f"I'd prefer a different colour and size for my sweater, order W1002: green, no wait, red, size L. {LIAM}"],
        ("exchange_items", SWEATER),
    ),
    ([f"Can I trade the blue M sweater for a red L? It was order W1002, {LIAM}"], ("exchange_items", SWEATER)),
    (
        [f"Send W1017 to a different address: Lindenallee 4, 50667 Cologne. {NOAH}"],
        ("change_shipping_address", COLOGNE),
    ),
    (
        ["I've moved and need my lamp order delivered elsewhere", NOAH, "Lindenallee 4 in 50667 Cologne"],
        ("change_shipping_address", COLOGNE),
    ),
    (
        [f"The address of W1017 is wrong. It should be Lindenallee 4, Cologne, 50667, Germany. {NOAH}"],
        ("change_shipping_address", COLOGNE),
    ),
    (
        ["Could you redirect my parcel W1017 to Lindenallee 4 (50667 Cologne)? I'm Noah Berger, 80331"],
        ("change_shipping_address", COLOGNE),
    ),
    ([f"Put order W1009 on my gift card please. {MATEO}"], GIFT_1009),
    ([f"I want to switch the payment of W1009 to the gift card. {MATEO}"], GIFT_1009),
    (["Change how I pay for W1009", MATEO, "with the gift card"], GIFT_1009),
    ([f"Instead of my Visa, use the gift card for W1009. {MATEO}"], GIFT_1009),
    ([f"W1006 turned up late, I'd like to be compensated. {AMARA}"], SHIPPING_1006),
    (
        [f"My shoes came days after the promised date (W1006), do I get the delivery charge back? {AMARA}"],
        SHIPPING_1006,
    ),
    ([f"I paid for delivery and W1006 was still delayed. Refund the postage! {AMARA}"], SHIPPING_1006),
    (
        [f"My new email address is noah@new.example, the old one was {NOAH}. Please update it."],
        ("change_email", {"customer_id": "C107", "email": "noah@new.example"}),
    ),
    (
        ["I want a different email on my account", NOAH, "noah@new.example"],
        ("change_email", {"customer_id": "C107", "email": "noah@new.example"}),
    ),
    (
        [f"Please update my profile address to Lindenallee 4, 50667 Cologne. {NOAH}"],
        (
            "change_default_address",
            {
                "customer_id": "C107",
                "street": "Lindenallee 4",
                "city": "Cologne",
                "postcode": "50667",
                "country": "Germany",
            },
        ),
    ),
    (
        [f"Bonjour, merci d'annuler la commande W1011, je n'en ai plus besoin. {JULIE}"],
        ("cancel_order", {"order_id": "W1011", "reason": "no_longer_needed"}),
    ),
    (
        ["Je me suis trompée, il faut annuler ma commande n° 1011", JULIE],
        ("cancel_order", {"order_id": "W1011", "reason": "ordered_by_mistake"}),
    ),
    (
        ["Annulez W1011 svp", JULIE, "elle arrive trop tard"],
        ("cancel_order", {"order_id": "W1011", "reason": "arrives_too_late"}),
    ),
    ([f"La lampe de la commande W1004 ne me plaît pas, je voudrais être remboursée. {CHLOE}"], RETURN_LAMP),
    (["Je veux rendre la lampe", "je ne m'en souviens plus", "Chloé Martin, 69003"], RETURN_LAMP),
    ([f"Comment retourner le tapis, non pardon, la lampe (commande W1004) ? {CHLOE}"], RETURN_LAMP),
    (
        [f"J'ai déménagé : envoyez la commande W1005 au 27 rue Victor Hugo, 69002 Lyon. {CHLOE}"],
        ("change_shipping_address", LYON),
    ),
    (
        ["L'adresse de livraison de W1005 n'est pas bonne", CHLOE, "27 rue Victor Hugo à Lyon, 69002"],
        ("change_shipping_address", LYON),
    ),
    (
        [f"Je préférerais le pull en bleu, taille S, à la place du vert (W1012). Échange possible ? {JULIE}"],
        (
            "exchange_items",
            {
                "order_id": "W1012",
                "item_ids": ["sweater-green-m"],
                "new_item_ids": ["sweater-blue-s"],
                "payment_method_id": "paypal_105",
            },
        ),
    ),
    (
        [f"Commande W1012 livrée en retard : remboursez-moi la livraison s'il vous plaît. {JULIE}"],
        ("refund_shipping", {"order_id": "W1012", "payment_method_id": "paypal_105"}),
    ),
    (
        ["Ma commande W1012 est arrivée très en retard, je veux un dédommagement en avoir", JULIE],
        ("issue_store_credit", {"order_id": "W1012", "amount": 6.0}),
    ),
    (
        [f"Mon pull vert (W1012) est trop grand, je voudrais le même en bleu, taille S. {JULIE}"],
        (
            "exchange_items",
            {
                "order_id": "W1012",
                "item_ids": ["sweater-green-m"],
                "new_item_ids": ["sweater-blue-s"],
                "payment_method_id": "paypal_105",
            },
        ),
    ),
    (
        ["Pourriez-vous supprimer ma commande W1011 ? Je l'ai passée par mégarde.", JULIE],
        ("cancel_order", {"order_id": "W1011", "reason": "ordered_by_mistake"}),
    ),
    (
        ["I won't be home. Please have W1017 delivered at Lindenallee 4, 50667 Cologne.", NOAH],
        ("change_shipping_address", COLOGNE),
    ),
    ([f"Put my gift card towards order W1009. {MATEO}"], GIFT_1009),
    ([f"Somebody gave me a gift card and W1009 can come off that. {MATEO}"], GIFT_1009),
    ([f"W1007 should not have been ordered, get rid of it. {AMARA}", "by mistake"], CANCEL_1007),
    (["Please revoke W1016", NOAH, "sorry, W1017, which I bought by accident"], CANCEL_1017),
    ([f"Drop W1016 {NOAH}", "wrong number! W1017 is the one, placed by mistake, so drop that instead"], CANCEL_1017),
    (["About order 1007.", AMARA, "cancel it", "it was an accident"], CANCEL_1007),
    ([f"{CHLOE}. I'm not keeping the lamp out of W1004."], RETURN_LAMP),
    (["The lamp of 1004 is going back to you", CHLOE], RETURN_LAMP),
    (["I'd like rid of the water bottle from 1002, for store credit", LIAM], RETURN_BOTTLE),
    (
        [f"The blue sweater I got in W1002 is too small. Can I have it in L, and in red at that? {LIAM}"],
        ("exchange_items", SWEATER),
    ),
    ([f"Take the blue sweater back and give me a red one in L. W1002. {LIAM}"], ("exchange_items", SWEATER)),
    (["W1017 is headed for my old flat", NOAH, "Lindenallee 4, 50667 Cologne"], ("change_shipping_address", COLOGNE)),
    ([f"Destination of W1017: Lindenallee 4, 50667 Cologne. {NOAH}"], ("change_shipping_address", COLOGNE)),
    ([f"You were supposed to get W1006 here days before. {AMARA}", "I want what I paid for delivery"], SHIPPING_1006),
    ([f"W1006 took too long; the delivery fee, I expect that money returned. {AMARA}"], SHIPPING_1006),
    (
        [f"The address I log in with is {NOAH}, I'd like to use noah@new.example from now on"],
        ("change_email", {"customer_id": "C107", "email": "noah@new.example"}),
    ),
    ([f"La W1011, je n'ai jamais voulu la commander, merci de la supprimer. {JULIE}"], CANCEL_1011),
    (["je ne veux pas de la commande W1011, pouvez vous tout arreter ?", JULIE, "une fausse manip"], CANCEL_1011),
    ([f"J'aimerais que vous repreniez la lampe, commande W1004. {CHLOE}"], RETURN_LAMP),
    (
        [f"Je viens de changer de logement, le colis W1005 doit aller au 27 rue Victor Hugo, 69002 Lyon. {CHLOE}"],
        ("change_shipping_address", LYON),
    ),
]


@pytest.mark.parametrize(("lines", "change"), CASES, ids=[lines[0][:50] for lines, _ in CASES])
def test_makes_the_one_change_that_is_meant(shop, lines, change):
    """Whatever the words, exactly the change that is meant is made."""
    shop.talk(*lines)

    assert shop.changes == [change]
