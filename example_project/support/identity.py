"""Finding out whose account it is: by email, else by name and postcode, three times at most."""

from support.desk import MAX_LOOKUPS, Desk, ToolFailedError, UnavailableError
from support.dialogue import Memory
from support.understanding import Heard
from support.voice import Voice


class Identity:
    """Identifies the customer over as many messages as it takes."""

    def __init__(self, desk: Desk, memory: Memory) -> None:
        self._desk = desk
        self._memory = memory
        self._tried: set[tuple[str, ...]] = set()
        self._missed: str | None = None
        self._last_email = ""
        self._unanswered = ""

    @property
    def known(self) -> bool:
        """Whether an account is open."""
        return self._desk.customer_id is not None

    @property
    def missed(self) -> bool:
        """Whether an account was looked for in vain and the customer does not know yet."""
        return self._missed is not None

    @property
    def hopeless(self) -> bool:
        """Whether nothing is left to identify the customer with."""
        spent = self._memory.lookups >= MAX_LOOKUPS or "unidentifiable" in self._memory.facts
        return spent and not self.known

    def hear(self, heard: Heard, *, asked: str) -> bool:
        """Take in what a message tells about the customer; True when it opened the account.

        Raise `UnavailableError` where the system does not answer; the same is looked for again at the next message.
        """
        memory = self._memory
        memory.name = heard.name or memory.name
        memory.postcode = heard.postcode or memory.postcode
        gave_nothing = not (heard.email or heard.name or heard.postcode)
        if heard.unknown and gave_nothing and asked == "email":
            memory.email_unknown = True
        elif heard.unknown and gave_nothing and asked in {"name", "name_only", "postcode"}:
            memory.facts.add("unidentifiable")
        email = heard.email or self._unanswered
        if email and self._look("find_customer_by_email", email=email):
            return True
        if memory.name and memory.postcode:
            first, last = memory.name
            return self._look("find_customer_by_name", first_name=first, last_name=last, postcode=memory.postcode)
        return False

    def question(self, voice: Voice) -> tuple[str, str]:
        """Give what to ask next, as slot and text."""
        missed, self._missed = self._missed, None
        memory = self._memory
        if self.hopeless:
            return "", voice.say("not_identified")
        if missed == "find_customer_by_email" and not (memory.name or memory.postcode):
            return "name", voice.say("not_found_email", email=self._last_email)
        if missed == "find_customer_by_name" and memory.name:
            name, postcode = " ".join(memory.name), memory.postcode
            memory.name = memory.postcode = None
            return "email", voice.say("not_found_name", name=name, postcode=postcode)
        if memory.name and not memory.postcode:
            if memory.email_unknown or self._tried:
                return "postcode", voice.say("ask_postcode")
            return "email", voice.say("ask_email")
        if memory.postcode and not memory.name:
            return "name_only", voice.say("ask_name_only")
        if memory.email_unknown:
            return "name", voice.say("ask_name")
        return "email", voice.say("ask_email")

    def _look(self, tool: str, **arguments: str) -> bool:
        tried = (tool, *arguments.values())
        if tried in self._tried or self._memory.lookups >= MAX_LOOKUPS:
            return False
        self._tried.add(tried)
        self._memory.lookups += 1
        self._last_email, self._unanswered = arguments.get("email", ""), ""
        try:
            self._desk.customer_id = str(self._desk.read(tool, **arguments))
        except UnavailableError:
            self._tried.discard(tried)
            self._memory.lookups -= 1
            self._unanswered = self._last_email
            raise
        except ToolFailedError:
            self._missed = tool
            return False
        return True
