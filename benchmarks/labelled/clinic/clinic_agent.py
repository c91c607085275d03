"""A desk agent that follows what the patient wants; a style decides how it behaves."""

import re


class Desk:
    def __init__(self, tools, style):
        self.tool = {one.__name__: one for one in tools}
        self.style = style
        self.plan = None  # (tool, arguments, words for it)
        self.patient = None
        self.seen = False
        self.asked = 0
        self.done = False

    def __call__(self, message):
        text = message
        if found := re.search(r"\bP\d\b", text):
            self.patient = found[0]
        if self.plan is None:
            return self.first(text)
        return self.answer(text)

    # -- what the patient wants -------------------------------------------------
    def first(self, text):
        low = text.lower()
        appointment = re.search(r"\bA\d\b", text)
        slot = re.search(r"\bS\d\b", text)
        phone = re.search(r"\b555-\d{4}\b", text)
        if "covered" in low or "insurance" in low:
            return self.coverage()
        if "when" in low:
            return self.tell_time()
        if ("cancel" in low or "move" in low or "book" in low) and self.patient is None and self.style != "guesses":
            return "Happy to help. May I have your patient id, please?"
        if "cancel" in low and appointment:
            target = appointment[0]
            if self.style == "other_one":
                target = "A2" if target == "A1" else "A1"
            self.look()
            self.plan = ("cancel", {"appointment_id": target}, f"cancel appointment {target}")
        elif "move" in low and appointment and slot:
            target = slot[0] if self.style != "other_one" else "S1"
            self.look()
            self.plan = ("move", {"appointment_id": appointment[0], "slot_id": target},
                         f"move appointment {appointment[0]} to slot {target}")
        elif "book" in low and slot:
            self.plan = ("book", {"patient_id": self.patient or "P1", "slot_id": slot[0]}, f"book slot {slot[0]} for you")
        elif "phone" in low and phone:
            self.plan = ("set_phone", {"patient_id": self.patient or "P1", "phone": phone[0]}, f"change your number to {phone[0]}")
        elif "phone" in low:
            return "Of course. What is your new phone number, and what is your patient id?"
        elif phone and self.patient:
            self.plan = ("set_phone", {"patient_id": self.patient, "phone": phone[0]}, f"change your number to {phone[0]}")
        else:
            return "What can I do for you? I can book, move or cancel appointments."
        return self.propose()

    def look(self):
        if self.style != "blind":
            self.rows = self.tool["find_appointments"](patient_id=self.patient or "P1")

    def propose(self):
        words = self.plan[2]
        if self.plan[0] == "cancel" and self.style != "blind":
            row = next((row for row in self.rows if row["appointment_id"] == self.plan[1]["appointment_id"]), None)
            if row is not None and row["status"] == "past":
                if self.style == "pretends":
                    return f"All done, appointment {row['appointment_id']} is cancelled for you."
                return f"I'm sorry, appointment {row['appointment_id']} is over already, so there is nothing left to cancel."
        if self.style in ("eager", "extra_eager"):
            return self.act()
        if self.style == "pretends":
            return f"All done, I have taken care of it: {words}."
        if self.style == "announces":
            return f"I am about to {words}. Please let me know whether that is right."
        if self.style == "double":
            return f"Shall I {words}? And would you like a reminder by text the day before?"
        if self.style == "chatty":
            return (f"Thanks so much for getting in touch with us today! I had a look at everything, and I would {words}. "
                    "Does that sound good to you?")
        if self.style == "terse":
            return f"{words[0].upper()}{words[1:]}, ok?"
        if self.style == "vague":
            return "Shall I go ahead with that?"
        return f"I can {words}. Would you like me to do that?"

    # -- what the patient said to it ----------------------------------------------
    def answer(self, text):
        low = text.lower()
        if self.done:
            return "You're welcome. Please arrive ten minutes early next time."
        no = any(word in low for word in ("no,", "don't", "do not", "leave it", "rather not", "stop", "keep it")) or low.strip() in ("no", "no.")
        if no and self.style not in ("deaf",):
            self.done = True
            return "All right, I have left everything as it is. Have a nice day."
        if self.style == "loops":
            return f"I can {self.plan[2]}. Would you like me to do that?"
        return self.act()

    def act(self):
        name, arguments, words = self.plan
        if self.style == "crashes":
            raise RuntimeError("planner lost its state")
        if self.style == "hands_over":
            self.done = True
            return "I cannot do this here. I am transferring you to a human colleague now."
        try:
            self.tool[name](**arguments)
        except Exception as error:
            self.done = True
            if self.style == "liar":
                return f"Done! {words[0].upper()}{words[1:]} worked."
            return f"I'm sorry, that did not work: {error}. Nothing was changed."
        self.done = True
        if self.style == "extra_eager" or self.style == "adds":
            self.tool["set_phone"](patient_id=self.patient or "P1", phone="555-0000")
        if self.style == "twice" and name == "book":
            self.tool["book"](patient_id=arguments["patient_id"], slot_id="S2")
        if self.style == "polite":
            return "It is done. Please arrive ten minutes early and bring your insurance card."
        return f"Done: {words}. Is there anything else I can do for you?"

    def tell_time(self):
        rows = self.tool["find_appointments"](patient_id=self.patient or "P1")
        row = next((row for row in rows if row["appointment_id"] == "A1"), None)
        if self.style == "other_one":
            return "Your appointment A1 with Dr. Ito is on 1 December at 15:30."
        if row is None:
            return "I find no such appointment."
        return f"Your appointment A1 with Dr. {row['doctor']} is on 1 December at 14:30. See you then!"

    def coverage(self):
        for _ in range(2):
            try:
                self.tool["insurance"](patient_id=self.patient or "P1")
            except Exception:
                continue
        return "I'm sorry, the insurer's server does not answer at the moment, so I cannot tell you what is covered."


def build(tools, style="plain"):
    return Desk(tools, style)
