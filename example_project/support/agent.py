"""The support agent: hears a message, works on what was asked, answers. It sees messages and tools, nothing else."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from support.actions import ACTIONS
from support.actions.work import Work
from support.desk import Desk, Tool, ToolFailedError, UnavailableError
from support.dialogue import ACCOUNT_FREE, Ask, Memory, Propose, Request, Say, Step
from support.entities import order_ids
from support.identity import Identity
from support.intents import Intent
from support.items import things
from support.segments import Segment
from support.settings import Settings
from support.settling import settle
from support.text import corrects, fold
from support.understanding import Heard, understand
from support.voice import Voice

_REFINABLE = {
    Intent.CHANGE_PAYMENT: frozenset({Intent.RETURN, Intent.EXCHANGE, Intent.COMPENSATE}),
    Intent.CHANGE_ADDRESS: frozenset({Intent.CHANGE_DEFAULT_ADDRESS}),
    Intent.CHANGE_DEFAULT_ADDRESS: frozenset({Intent.CHANGE_ADDRESS}),
    Intent.RETURN: frozenset({Intent.COMPENSATE}),
    Intent.PRODUCT: frozenset({Intent.EXCHANGE}),
}
"""What sounds like a request of its own may refine the one at hand: “refund it to my card instead”."""

_FAREWELL = (
    "bye",
    "thank",
    "thx",
    "that's all",
    "that is all",
    "that will be all",
    "merci",
    "au revoir",
    "c'est tout",
    "bonne journee",
)


def build(tools: Sequence[Tool], **settings: bool | int | None) -> Callable[[str], str]:
    """Build an agent for one conversation; `settings` are the fields of `Settings`."""
    return SupportAgent(tools, Settings(**settings)).reply  # type: ignore[arg-type]  # the suite names the fields


class SupportAgent:
    """One conversation with one customer."""

    def __init__(self, tools: Sequence[Tool], settings: Settings) -> None:
        self._settings = settings
        self._desk = Desk(tools, settings)
        self._memory = Memory()
        self._identity = Identity(self._desk, self._memory)

    def reply(self, message: str) -> str:
        """Answer one message of the customer."""
        memory = self._memory
        memory.replies += 1
        heard = self._hear(message)
        memory.french = heard.french
        voice = Voice(french=heard.french)
        if self._settings.patience is not None and memory.replies > self._settings.patience:
            return voice.say("leave")
        try:
            parts = self._identify(heard, voice)
            if self._settings.mirror and self._identity.known:
                return " ".join([*parts, voice.say("echo", message=message)])
            parts += [*self._take_in(heard, voice), *self._work(voice)]
        except UnavailableError as failure:
            parts = [self._failed(failure, voice)]
        except ToolFailedError as failure:
            memory.queue.clear()
            parts = [self._failed(failure, voice)]
        if not parts and (self._identity.missed or self._identity.hopeless):
            memory.awaiting, question = self._identity.question(voice)
            parts = [question]
        return self._without_loop(" ".join(parts), voice) or self._small_talk(heard, voice)

    def _without_loop(self, reply: str, voice: Voice) -> str:
        """Ask what is wanted instead of asking the same question again of a customer who said nothing new to it."""
        memory = self._memory
        details = memory.active.details if memory.active else ()
        stuck = reply == memory.last_reply and details == memory.last_details
        memory.last_reply, memory.last_details = reply, details
        if not (stuck and memory.active and self._identity.known):
            return reply
        memory.active.become(Intent.UNCLEAR)
        memory.pending = None
        return " ".join(self._work(voice))

    def _hear(self, message: str) -> Heard:
        memory = self._memory
        return understand(message, french=memory.french, identified=self._identity.known, awaiting=memory.awaiting)

    def _identify(self, heard: Heard, voice: Voice) -> list[str]:
        if self._identity.known:
            return self._defend(heard, voice)
        try:
            opened = self._identity.hear(heard, asked=self._memory.awaiting)
        except UnavailableError:
            self._take_in(heard, voice)  # what is wanted is done when the system answers again
            raise
        if opened:
            self._memory.awaiting = ""
            return [voice.say("identified", name=self._desk.customer["first_name"])]
        return []

    def _defend(self, heard: Heard, voice: Voice) -> list[str]:
        """Refuse to open a second account in the same conversation."""
        active = self._memory.active
        if active and active.intent is Intent.CHANGE_EMAIL:
            return []
        if heard.email and heard.email.lower() != self._desk.customer["email"].lower():
            return [voice.say("one_customer")]
        return []

    def _take_in(self, heard: Heard, voice: Voice) -> list[str]:
        """Turn what was heard into answers to open questions and into new requests."""
        memory = self._memory
        said: list[str] = []
        refined, new = self._sorted_out(heard)
        if heard.drops:
            new = [segment for segment in new if not segment.weak]
        if memory.pending:
            said = self._settle(heard, refined, voice, has_new=bool(new))
        elif memory.active:
            self._refine(refined, heard)
        elif memory.parked and heard.drops:
            memory.parked = None
            said = [voice.say("left")]
        elif memory.parked and not new and (heard.yes or memory.parked.learns_from(refined)):
            self._reopen()
            self._refine(refined, heard)
        if not (refined or new) and (order_ids(heard.text) or things(heard.text)):
            new = [Segment(Intent.UNCLEAR, heard.text)]
        memory.queue += [self._request(segment, heard) for segment in new]
        return said

    def _sorted_out(self, heard: Heard) -> tuple[str, list[Segment]]:
        """Split a message into what refines the request at hand and what is asked anew."""
        current = self._memory.active or self._memory.parked
        if current is None:
            return "", heard.requests
        refined = []
        new = []
        self._clear_up(current, heard)
        for segment in heard.segments:
            if self._refines(segment, current, agreed=heard.yes and not heard.no):
                refined.append(segment.text)
            else:
                new.append(replace(segment, intent=segment.intent or current.intent))
        return " ".join(refined), new

    def _clear_up(self, current: Request, heard: Heard) -> None:
        """Let what was only hinted at become what is now said to be wanted."""
        unclear = current.intent is Intent.UNCLEAR
        if current not in self._memory.queue or not (unclear or current.weak):
            return
        wish = next((segment for segment in heard.requests if unclear or not segment.weak), None)
        same_order = wish and (current.order_id is None or wish.order_id in {None, current.order_id})
        if wish and wish.intent and wish.intent not in ACCOUNT_FREE and same_order:
            current.become(wish.intent, weak=wish.weak)

    def _refines(self, segment: Segment, current: Request, *, agreed: bool) -> bool:
        """Whether a segment is about the request at hand; another order makes it a request of its own."""
        named = segment.order_id if current.order_id else None
        other_order = named is not None and named != current.order_id
        if segment.intent is None:
            return not (other_order and agreed)
        if segment.weak and self._memory.active:
            return True
        if segment.intent is current.intent:
            return not (other_order and (agreed or not corrects(segment.text)))
        return not other_order and current.intent in _REFINABLE.get(segment.intent, frozenset())

    def _settle(self, heard: Heard, refined: str, voice: Voice, *, has_new: bool) -> list[str]:
        """Take the answer to a proposed change: a yes carries it out, a no drops it, other details change it."""
        memory = self._memory
        proposal, memory.pending = memory.pending, None
        request = memory.active
        if proposal is None or request is None:
            return []
        self._refine(refined, heard)
        if request.intent is Intent.CHANGE_EMAIL:
            request.email = heard.email or request.email
        revised = self._step(request, voice)
        if not isinstance(revised, Propose) or revised.arguments != proposal.arguments:
            return []
        if heard.yes:
            memory.queue.pop(0)
            return [self._carry_out(proposal, voice, request)]
        if heard.no and not heard.drops and request.insists(refined) and not memory.insisted:
            memory.insisted = True
            return []
        if heard.no:
            memory.insisted = False
            memory.queue.pop(0)
            memory.parked = None if heard.drops else request
            return [] if has_new else [voice.say("left")]
        return []

    def _refine(self, text: str, heard: Heard) -> None:
        """Add what was heard to the request at hand."""
        memory = self._memory
        if memory.active:
            memory.active.absorb(text, slot=memory.awaiting)
            memory.active.email = heard.new_email or memory.active.email
        if self._identity.known:
            memory.awaiting = ""

    def _reopen(self) -> None:
        if self._memory.parked:
            self._memory.queue.insert(0, self._memory.parked)
            self._memory.parked = None

    def _request(self, segment: Segment, heard: Heard) -> Request:
        if segment.intent is None:
            raise ValueError("a segment without an intent asks for nothing")
        request = Request(segment.intent, weak=segment.weak)
        request.absorb(segment.text)
        request.email = heard.new_email if request.intent is Intent.CHANGE_EMAIL else None
        return request

    def _work(self, voice: Voice) -> list[str]:
        """Go on with the requests in order until the customer has to answer something."""
        memory = self._memory
        said: list[str] = []
        while memory.queue:
            request = memory.queue[0]
            if self._must_identify(request):
                slot, text = self._identity.question(voice)
                memory.awaiting = slot
                if not slot:
                    memory.queue.clear()
                return [*said, text]
            step = self._step(request, voice)
            if isinstance(step, Ask):
                memory.awaiting = step.slot
                return [*said, step.text]
            if isinstance(step, Propose) and self._settings.confirm:
                memory.pending = step
                return [*said, step.text, voice.say("confirm")]
            memory.queue.pop(0)
            said.append(self._carry_out(step, voice, request) if isinstance(step, Propose) else step.text)
            if isinstance(step, Say) and step.reopen:
                memory.parked = request
        return said

    def _step(self, request: Request, voice: Voice) -> Step:
        if self._identity.known:
            settle(request, self._desk)
        return ACTIONS[request.intent](Work(request, self._desk, voice, self._memory, self._settings))

    def _must_identify(self, request: Request) -> bool:
        if self._identity.known or request.intent in ACCOUNT_FREE:
            return False
        return self._settings.authenticate or request.order_id is None

    def _carry_out(self, proposal: Propose, voice: Voice, request: Request) -> str:
        try:
            value = self._desk.write(proposal.tool, **proposal.arguments)
        except ToolFailedError as failure:
            self._memory.parked = request
            return self._failed(failure, voice, writing=True)
        self._memory.parked = None
        if proposal.tool in {"refund_shipping", "issue_store_credit"}:
            self._memory.facts.add("compensated")
        return proposal.done(value)

    def _failed(self, failure: ToolFailedError, voice: Voice, *, writing: bool = False) -> str:
        if not self._settings.honest_errors:
            return voice.say("pretend")
        if isinstance(failure, UnavailableError):
            return voice.say("unclear" if writing else "unavailable", error=failure)
        return voice.say("failed", error=failure)

    def _small_talk(self, heard: Heard, voice: Voice) -> str:
        folded = fold(heard.text)
        if any(word in folded for word in _FAREWELL) or (heard.no and self._memory.replies > 1):
            return voice.say("bye")
        if self._memory.replies == 1:
            return voice.say("hello")
        return voice.say("lost")
