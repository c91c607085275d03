"""What the agent keeps in mind during a conversation, and the steps by which a request goes on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from support import entities
from support.addresses import Address, parse_address
from support.intents import Intent
from support.items import colours, sizes, things
from support.text import corrects

ACCOUNT_FREE = frozenset({Intent.PRODUCT, Intent.ADVICE, Intent.DISCOUNT, Intent.HUMAN})
"""What can be answered without knowing who asks."""


@dataclass
class Request:
    """One thing that the customer wants, with everything said about it so far."""

    intent: Intent
    weak: bool = False
    words: str = ""
    order_id: str | None = None
    method: str | None = None
    reason: str | None = None
    address: Address = field(default_factory=Address)
    email: str | None = None
    asked: set[str] = field(default_factory=set)

    def absorb(self, text: str, *, slot: str = "") -> None:
        """Take in what `text` says about this request; later mentions replace earlier ones."""
        found = entities.order_ids(text)
        self.order_id = found[-1] if found else self.order_id
        if slot == "order":
            self.order_id = entities.bare_order_id(text) or self.order_id
        self.method = entities.payment_hint(text) or self.method
        if self.intent is Intent.CANCEL:
            self.reason = entities.reason(text) or self.reason
        if self.intent in {Intent.CHANGE_ADDRESS, Intent.CHANGE_DEFAULT_ADDRESS}:
            self.address = parse_address(text).over(self.address)
        replaces = self.intent is not Intent.EXCHANGE and corrects(text) and things(text)
        self.words = text if replaces else f"{self.words} {text}".strip()

    def become(self, intent: Intent, *, weak: bool = False) -> None:
        """Turn out to be about something else, with all that was said so far."""
        words, self.words = self.words, ""
        self.intent, self.weak = intent, weak
        self.absorb(words)

    @property
    def details(self) -> tuple[object, ...]:
        """All that was learnt about it so far; the same again means that the customer was not understood."""
        named = (*things(self.words), *colours(self.words), *sizes(self.words))
        return self.intent, self.order_id, self.method, self.reason, self.address, self.email, named

    def insists(self, text: str) -> bool:
        """Whether a no comes with what is wanted instead: a method, an option, an address, an email."""
        named = entities.payment_hint(text) or colours(text) or sizes(text) or parse_address(text).street
        return bool(named or (self.intent is Intent.CHANGE_EMAIL and entities.EMAIL.search(text)))

    def learns_from(self, text: str) -> bool:
        """Whether `text` holds a detail of a request: an order, items, options, a method, an address."""
        address = parse_address(text)
        found = (entities.order_ids(text), entities.payment_hint(text), things(text), colours(text), sizes(text))
        return any(found) or bool(address.street or address.postcode)


@dataclass(frozen=True)
class Ask:
    """A question that has to be answered before the request can go on; `slot` names what is asked."""

    slot: str
    text: str


@dataclass(frozen=True)
class Propose:
    """A change that waits for the customer's yes; `done` tells what was done from the tool's value."""

    tool: str
    arguments: Mapping[str, Any]
    text: str
    done: Callable[[Any], str]


@dataclass(frozen=True)
class Say:
    """The end of a request; `reopen` keeps it at hand, for the customer may decide otherwise."""

    text: str
    reopen: bool = False


Step = Ask | Propose | Say


@dataclass
class Memory:
    """The state of one conversation."""

    french: bool = False
    queue: list[Request] = field(default_factory=list)
    awaiting: str = ""
    pending: Propose | None = None
    parked: Request | None = None
    insisted: bool = False
    last_order: str | None = None
    replies: int = 0
    lookups: int = 0
    name: tuple[str, str] | None = None
    postcode: str | None = None
    email_unknown: bool = False
    last_reply: str = ""
    last_details: tuple[object, ...] = ()
    facts: set[str] = field(default_factory=set)

    @property
    def active(self) -> Request | None:
        """The request that is being worked on."""
        return self.queue[0] if self.queue else None
