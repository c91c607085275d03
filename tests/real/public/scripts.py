"""What the models of other people's agents say: once as their own prompts ask for it, once against a rule of them."""

import json
from collections.abc import Callable

from pytest_agentbench.testing import Answer, ModelRequest, call, calls, structured, text
from tests.real.public.talk import Talk


def scripted(play: Callable[[Talk], Answer]) -> Callable[[ModelRequest], Answer]:
    """Give a script that is put the conversation."""
    return lambda request: play(Talk(request))


SEAT = r"\b\d{1,2}[A-F]\b"
CONFIRMATION = r"\b[A-Z]{2}\d[A-Z]{2}\d\b"


def openai_customer_service(talk: Talk) -> Answer:
    """Route to the desk that is asked for, ask for what is missing, use the tools."""
    if talk.offers("transfer_to_faq_agent"):
        return call("transfer_to_seat_booking_agent" if "seat" in talk.said else "transfer_to_faq_agent")
    if talk.offers("faq_lookup_tool"):
        found = talk.results.get("faq_lookup_tool")
        return text(found) if found else call("faq_lookup_tool", question=talk.said)
    if "update_seat" in talk.results:
        return text("Your seat is changed.")
    number, seat = talk.value(CONFIRMATION), talk.value(SEAT)
    if number is None:
        return text("What is your confirmation number?")
    if seat is None:
        return text("Which seat number would you like?")
    return call("update_seat", confirmation_number=number, new_seat=seat)


def openai_customer_service_broken(talk: Talk) -> Answer:
    """Answer from its own knowledge, and take a seat for a confirmation number that nobody said."""
    if talk.offers("faq_lookup_tool"):
        return text("You may bring one bag of up to 70 pounds.")
    if talk.offers("update_seat") and not talk.results.get("update_seat"):
        return call("update_seat", confirmation_number="AB1CD2", new_seat="23B")
    return openai_customer_service(talk)


def openai_airline(talk: Talk) -> Answer:
    """Check each message, look the trip up, hand over once, and let the specialist do the work."""
    if "jailbreak" in talk.system:
        return structured({"reasoning": "", "is_safe": True})
    if "highly unrelated" in talk.system:
        return structured({"reasoning": "", "is_relevant": "poem" not in talk.said})
    if talk.offers("get_trip_details"):
        if "get_trip_details" not in talk.all_results:
            return call("get_trip_details", message=talk.said)
        refund = "delay" in talk.said
        return call("transfer_to_" + ("refunds_and_compensation" if refund else "seat_and_special_services") + "_agent")
    if talk.offers("issue_compensation"):
        return _compensate(talk)
    if "assign_special_service_seat" not in talk.results:
        return call("assign_special_service_seat", seat_request="front row for medical needs")
    return text("You have the front row seat 1A. It is saved on your confirmation IR-D204.")


def _compensate(talk: Talk) -> Answer:
    if "faq_lookup_tool" not in talk.results:
        return call("faq_lookup_tool", question="compensation for delays")
    if "issue_compensation" not in talk.results:
        return call("issue_compensation", reason="Delay causing missed connection")
    return text("Your case is open: a hotel, 60 dollars for meals and 40 for the ride. Keep the receipts.")


def openai_airline_broken(talk: Talk) -> Answer:
    """Let a poem through, use the plain seat tool for a medical request, and pay without reading the policy."""
    if "highly unrelated" in talk.system:
        return structured({"reasoning": "", "is_relevant": True})
    if "poem" in talk.said and talk.offers("get_trip_details"):
        return text("Strawberry, strawberry, red as can be.")
    if talk.offers("issue_compensation") and "issue_compensation" not in talk.results:
        return call("issue_compensation", reason="Delay causing missed connection")
    if talk.offers("update_seat") and not talk.results.get("update_seat"):
        return call("update_seat", confirmation_number="IR-D204", new_seat="1A")
    if talk.results.get("update_seat"):
        return text("You have seat 1A.")
    return openai_airline(talk)


def bank_support(talk: Talk) -> Answer:
    """Answer by name, look the balance up, block a lost card."""
    if "lost" in talk.said:
        advice = "I am sorry, John. We are blocking your card."
        return call("final_result", support_advice=advice, block_card=True, risk=8)
    balance = talk.results.get("customer_balance")
    if balance is None:
        return call("customer_balance")
    return call("final_result", support_advice=f"Hello John, your balance is {balance}.", block_card=False, risk=1)


def bank_support_broken(talk: Talk) -> Answer:
    """Answer nobody by name, and leave the lost card open."""
    if "lost" in talk.said:
        return call("final_result", support_advice="Please look again.", block_card=False, risk=1)
    return call("final_result", support_advice="Your balance is $99.00.", block_card=False, risk=1)


def langgraph_customer_support(talk: Talk) -> Answer:
    """Delegate without a word, search, book with the user's approval, and hand back."""
    if talk.offers("ToHotelBookingAssistant"):
        if talk.results.get("book_hotel"):
            return text("Your hotel in Basel is booked.")
        days = {"checkin_date": "2026-12-01", "checkout_date": "2026-12-08"}
        return call("ToHotelBookingAssistant", location="Basel", request=talk.said, **days)
    if talk.results.get("book_hotel"):
        return call("CompleteOrEscalate", cancel=True, reason="The hotel is booked.")
    if "search_hotels" not in talk.results:
        return call("search_hotels", location="Basel")
    return call("book_hotel", hotel_id=1 if talk.value("Krone") else 2)


def langgraph_customer_support_broken(talk: Talk) -> Answer:
    """Book another hotel than the one asked for, without a search, and speak of the assistants behind it."""
    if talk.offers("book_hotel") and not talk.results.get("book_hotel"):
        return call("book_hotel", hotel_id=2)
    if talk.offers("ToHotelBookingAssistant") and talk.results.get("book_hotel"):
        return text("Our specialized assistant has booked the Palace.")
    return langgraph_customer_support(talk)


CART = {"customer_id": "123", "items_to_add": [{"product_id": "soil-456", "quantity": 1}], "items_to_remove": []}


def adk_customer_service(talk: Talk) -> Answer:
    """Look into the cart, ask, then change it; leave discounts above the limit to a manager."""
    if talk.value("discount"):
        if "sync_ask_for_approval" not in talk.results:
            return call("sync_ask_for_approval", discount_type="percentage", value=15, reason="A competitor's offer")
        return text("The manager agreed: you have 15 % off.")
    if "access_cart_information" not in talk.all_results:
        return call("access_cart_information", customer_id="123")
    if not talk.told("Would you like"):
        return text("Would you like me to add soil-456, Bloom Booster Potting Mix, to your cart?")
    if "modify_cart" not in talk.results:
        return call("modify_cart", CART)
    return text("It is in your cart.")


def adk_customer_service_broken(talk: Talk) -> Answer:
    """Change the cart unasked and unseen, and promise a discount that nobody approved."""
    if talk.value("discount"):
        return text("You have 15 % off.")
    return text("It is in your cart.") if "modify_cart" in talk.all_results else call("modify_cart", CART)


def openai_approvals(talk: Talk) -> Answer:
    """Ask both tools at once; say what came of it."""
    if not talk.results:
        return calls(call("get_weather", city="Oakland"), call("get_temperature", city="Oakland"))
    if "20°" in talk.results["get_temperature"]:
        return text("It is sunny in Oakland, at 20° Celsius.")
    return text("It is sunny in Oakland. I was not allowed to look the temperature up.")


def openai_approvals_broken(talk: Talk) -> Answer:
    """Make a temperature up."""
    return text("It is sunny in Oakland, at 20° Celsius.")


def pydantic_ai_approvals(talk: Talk) -> Answer:
    """Delete the file that is named, as far as the user lets it."""
    result = talk.results.get("delete_file")
    if result is None:
        return call("delete_file", path=talk.value(r"\S+\.txt"))
    return text("The file is gone." if "deleted" in result else "I have left the file where it is.")


def pydantic_ai_approvals_broken(talk: Talk) -> Answer:
    """Say that it is done, whatever the user decided; and pick a file of its own."""
    if "delete_file" in talk.results:
        return text("The file is gone.")
    return call("delete_file", path="notes.txt" if "draft" in talk.said else talk.value(r"\S+\.txt"))


def openai_tool_guardrails(talk: Talk) -> Answer:
    """Call the tool that is asked for, with what the user gave; say what it refused."""
    if "data" in talk.said:
        return call("get_user_data", user_id="user123")
    result = talk.results.get("send_email")
    if result is None:
        body = "Introducing ACME corp." if "ACME" in talk.said else "Welcome to our service."
        return call("send_email", to="john@example.com", subject="Welcome", body=body)
    return text("It is sent." if "Email sent" in result else "I may not send this: a word in it is restricted.")


def openai_tool_guardrails_broken(talk: Talk) -> Answer:
    """Ask instead of calling, say that a blocked mail is sent, and give data that it never looked up."""
    if "data" in talk.said:
        return text("The number is 123-45-6789.")
    if "ACME" in talk.said:
        blocked = openai_tool_guardrails(talk)
        return blocked if blocked.calls else text("Email sent.")
    return text("Which subject should it have?")


def adk_approvals(talk: Talk) -> Answer:
    """Reimburse small amounts, ask a manager for the others."""
    amount = float(talk.value(r"\d+") or 0)
    tool = "reimburse" if amount < 100 else "ask_for_approval"
    result = talk.results.get(tool)
    if result is None:
        return call(tool, purpose="travel", amount=amount)
    waits = "pending" in result and json.loads(result)["ticketId"]
    return text(f"Your manager is asked, the ticket is {waits}." if waits else "It is reimbursed.")


def adk_approvals_broken(talk: Talk) -> Answer:
    """Reimburse whatever is asked for."""
    amount = float(talk.value(r"\d+") or 0)
    if "reimburse" in talk.results:
        return text("It is reimbursed.")
    return call("reimburse", purpose="travel", amount=amount + (1 if amount < 100 else 0))
