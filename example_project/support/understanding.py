"""From a message to what it asks for: requests, each with the words that belong to it, and facts about the customer."""

from dataclasses import dataclass

from support import answers, entities, names
from support.intents import Intent
from support.own_email import own_and_new
from support.segments import Segment, segments_of

_BESIDE = 30
"""Characters after a name within which a postcode is the customer's, whatever other address there is."""

_WITH_ADDRESS = frozenset({Intent.CHANGE_ADDRESS, Intent.CHANGE_DEFAULT_ADDRESS})


@dataclass(frozen=True)
class Heard:
    """A message, understood without knowing anything about the shop."""

    text: str
    french: bool
    segments: tuple[Segment, ...]
    email: str | None
    new_email: str | None
    name: tuple[str, str] | None
    postcode: str | None
    yes: bool
    no: bool
    unknown: bool
    drops: bool

    @property
    def requests(self) -> list[Segment]:
        """The segments that ask for something."""
        return [segment for segment in self.segments if segment.intent]

    @property
    def rest(self) -> str:
        """The words that ask for nothing by themselves."""
        return " ".join(segment.text for segment in self.segments if not segment.intent)


def understand(message: str, *, french: bool, identified: bool, awaiting: str) -> Heard:
    """Read a message, given the language so far, whether the customer is known, and which value was asked for."""
    identifying = not identified and awaiting in {"email", "name", "name_only", "postcode"}
    segments, about_self = segments_of(message, introducing=identifying, identified=identified)
    changes_email = any(segment.intent is Intent.CHANGE_EMAIL for segment in segments)
    email, new_email = own_and_new(
        message, changes=changes_email, identified=identified, asked_new=awaiting == "new_email"
    )
    other_address = any(segment.intent in _WITH_ADDRESS for segment in segments)
    postcodes = entities.postcodes(about_self)
    name = names.full_name(message, asked=identifying)
    if not postcodes and (identifying or (name and not other_address)):
        postcodes = entities.postcodes(message)
    if not postcodes and name:
        postcodes = entities.postcodes(message.partition(name[1])[2][:_BESIDE])
    return Heard(
        text=message,
        french=entities.is_french(message, before=french),
        segments=tuple(segments),
        email=email,
        new_email=new_email,
        name=name,
        postcode=postcodes[0] if postcodes else None,
        yes=answers.says_yes(message),
        no=answers.says_no(message),
        unknown=answers.does_not_know(message),
        drops=answers.drops(message),
    )
