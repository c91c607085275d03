"""A goal or a fact told to the user ("You want to return it") as the user says it ("I want to return it")."""

import re

from pytest_agentbench.users.phrases import language_of
from pytest_agentbench.users.segments import clip


def first_person(text: str) -> str:
    """Turn second person into first, simply; text in another person stays as it is."""
    said = " ".join(clip(text).split())
    for source, replacement in language_of(said).first_person:
        said = re.sub(source, replacement, said, flags=re.IGNORECASE)
    return said[:1].upper() + said[1:]
