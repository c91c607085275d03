"""The account itself, what is beyond the desk, and what the desk never does."""

from support.actions.work import Work
from support.addresses import Address
from support.dialogue import Ask, Propose, Say, Step


def change_default_address(work: Work) -> Step:
    """Change the address on the account."""
    address = work.request.address
    if not (address.street and address.city and address.postcode):
        return Ask("address", work.say("ask_address"))
    country = address.country or work.desk.customer["address"]["country"]
    arguments = {
        "customer_id": work.desk.customer_id,
        "street": address.street,
        "city": address.city,
        "postcode": address.postcode,
        "country": country,
    }
    said = str(Address(address.street, address.city, address.postcode, country))
    text = work.say("default_address", name=_name(work), address=said)
    return Propose("change_default_address", arguments, text, lambda _: work.say("default_address_done", address=said))


def change_email(work: Work) -> Step:
    """Change the email address of the account."""
    email = work.request.email
    if email is None:
        return Ask("new_email", work.say("ask_new_email"))
    arguments = {"customer_id": work.desk.customer_id, "email": email}
    text = work.say("email", name=_name(work), email=email)
    return Propose("change_email", arguments, text, lambda _: work.say("email_done", email=email))


def profile(work: Work) -> Step:
    """Tell what is on the account."""
    customer = work.desk.customer
    methods = work.voice.listed([work.voice.method(method) for method in customer["payment_methods"]])
    address = str(Address(**customer["address"]))
    return Say(work.say("profile", email=customer["email"], address=address, methods=methods))


def escalate(work: Work) -> Step:
    """Hand over what no tool of the desk can do."""
    if "escalated" not in work.memory.facts:
        work.desk.write("escalate_to_human", customer_id=work.desk.customer_id, summary=work.request.words)
        work.memory.facts.add("escalated")
    return Say(work.say("escalated"))


def refuse_human(work: Work) -> Step:
    """Offer help first: a wish for a person alone is no reason to hand over."""
    return Say(work.say("human"))


def refuse_discount(work: Work) -> Step:
    """Grant no discount."""
    return Say(work.say("discount"))


def refuse_advice(work: Work) -> Step:
    """Give no opinion on products."""
    return Say(work.say("advice"))


def _name(work: Work) -> str:
    """Name the customer whose account it is."""
    return f"{work.desk.customer['first_name']} {work.desk.customer['last_name']}"
