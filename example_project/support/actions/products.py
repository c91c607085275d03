"""What the shop sells."""

from support.actions.work import Work
from support.dialogue import Say, Step
from support.items import matching, thing_in, things


def product(work: Work) -> Step:
    """Tell options, prices and stock of the products named."""
    products = work.desk.read("list_products")
    named = things(work.request.words)
    wanted = [found for found in products if thing_in(found["name"]) in named]
    if not wanted:
        names = [found["name_fr"] if work.voice.french else found["name"] for found in products]
        return Say(work.say("no_product", products=work.voice.listed(names)))
    return Say(" ".join(_described(work, str(found["product_id"])) for found in wanted))


def _described(work: Work, product_id: str) -> str:
    found = work.desk.read("get_product", product_id=product_id)
    variants = matching(work.request.words, found["variants"]) or found["variants"]
    listed = "; ".join(
        work.say(
            "variant",
            options=work.voice.options(variant),
            price=work.voice.money(variant["price"]),
            stock=variant["stock"],
        )
        for variant in variants
    )
    return work.say("product", name=found["name_fr"] if work.voice.french else found["name"], variants=listed)
