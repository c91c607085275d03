"""What the simulated user knows, with names: from `knows`, and from free text such as "You are Ada in zip 75001"."""

import re
from dataclasses import dataclass, field

from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.values import JsonValue, to_json
from pytest_agentbench.users.kinds import ANY_ID, FREE, kind_of, kinds_in
from pytest_agentbench.users.phrases import pattern
from pytest_agentbench.users.segments import READ_LIMIT, clip
from pytest_agentbench.users.shapes import (
    BARE_CODE,
    CODE,
    EMAIL,
    HASH_CODE,
    USERNAME,
    ZIP,
    codes_after,
    codes_by_noun,
    phones,
    street_starts,
)

_CAPITALISED = r"[A-ZÀ-Ý][\w'’-]+(?: (?:de |van |le |la )?[A-ZÀ-Ý][\w'’-]+){0,3}"
_NAMED = re.compile(
    rf"(?<!\w)(?i:you are|you['’]re|i am|(?:you|your|my) name is|called|named|vous êtes|tu es|je suis|vous vous appelez"
    rf"|je m['’]appelle|(?:votre|mon|ton) nom est)"
    r"(?:[ ,:]+(?:user|client|called|madame|monsieur|mr\.?|mrs\.?|ms\.?))?[ :]+"
    rf"(?P<name>{_CAPITALISED})(?P<after>.?)"
)
_LABELLED = re.compile(
    r"(?:^|(?<=[\s(,;-]))(?P<own>(?i:your|you|my|the|votre|vos|ton|ta|mon|ma|le|la|les|l['’])\s+)?(?P<label>[A-Za-zÀ-ÿ][^.,:;=\n\"()]{1,60}?)"
    r"\s*(?P<sign>\s(?:is|are|est|sont)\b\s*:?|[:=])\s*(?P<value>\S[^\n;]*)"
)
_LIVES = re.compile(
    r"(?<!\w)(?i:liv(?:e|es|ing)|resid(?:e|es|ing)|located|from|habit\w+|résid\w+)"
    rf"(?: [a-z]+){{0,2}}? ?(?i:in|at|à)? (?P<city>{_CAPITALISED})"
)
_JOINED = re.compile(r"(?:and|et|but|mais)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_VALUE_END = re.compile(r"\.(?:\s|$)|,\s|\s(?:and|et)\s(?:your|you|my|votre|vous|the)\b|\s\(")
_ID_GROUPS = (
    frozenset({"user_id", "customer_id", "account_id"}),
    frozenset({"reservation_id", "case_id"}),
)


@dataclass
class Knowledge:
    """Values by kind, in two tiers: `told` was given as known, `implied` stands in the goal or the lines."""

    told: dict[str, list[str]] = field(default_factory=dict)
    implied: dict[str, list[str]] = field(default_factory=dict)

    @property
    def free(self) -> tuple[str, ...]:
        """The kinds that only this scenario knows."""
        return tuple(kind for kind in self.told if kind.startswith(FREE))

    def source(self, kind: str) -> str:
        """Give the kind under which `get(kind)` found its values, `kind` itself where there are none."""
        for values in (self.told, self.implied):
            for other in (kind, *_stand_ins(kind, values)):
                if values.get(other):
                    return kind if other == ANY_ID else other
        return kind

    def get(self, kind: str) -> tuple[str, ...]:
        """Give the values of a kind: told first, then implied, then those of a kind that stands for it."""
        for values in (self.told, self.implied):
            for other in (kind, *_stand_ins(kind, values)):
                if values.get(other):
                    return tuple(values[other])
        if kind == "name":
            return _joined(self.get("first_name"), self.get("last_name"))
        return ()

    def all(self) -> tuple[str, ...]:
        """Give every told value."""
        return tuple(value for values in self.told.values() for value in values)


def knowledge_of(view: View) -> Knowledge:
    """Collect what `view` knows: `knows`, then `known_info`, then what the goal, lines and instructions imply."""
    known = Knowledge()
    for name, value in view.knows.items():
        _add_named(known.told, str(name), to_json(value))
    _read(view.known_info, known.told)
    if "name" not in known.told and not {"first_name", "last_name"} & known.told.keys():
        _name_from_username(known)
    for text in (view.goal, *view.says, view.task_instructions):
        _read(text, known.implied, labelled=False)
        for code in BARE_CODE.findall(clip(text)):
            if not any(code in found for found in known.implied.values()):
                _add(known.implied, ANY_ID, code)
    return known


def text_of(value: JsonValue) -> str:
    """Give a JSON value as the user says it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(text_of(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(text_of(item) for item in value.values())
    return "none" if value is None else str(value)


def values_in(text: str) -> dict[str, list[str]]:
    """Extract the values of `text` that shape or noun make certain, by kind."""
    found: dict[str, list[str]] = {}
    _read(text, found, labelled=False)
    return found


def _add_named(values: dict[str, list[str]], name: str, value: JsonValue) -> None:
    _add(values, kind_of(name), text_of(value))
    if isinstance(value, dict):
        for key, item in value.items():
            _add_named(values, str(key), item)


def _add(values: dict[str, list[str]], kind: str, value: str) -> None:
    value = value.strip(" \t'\"“”.,")
    bucket = values.setdefault(kind, [])
    if value and value not in bucket:
        bucket.append(value)


def _read(text: str, values: dict[str, list[str]], *, labelled: bool = True) -> None:
    """Read shaped, named and labelled values; text that is a story rather than facts is read without labels."""
    text = clip(text)
    for kind, expression in (("email", EMAIL), ("zip", ZIP)):
        for match in expression.finditer(text):
            _add(values, kind, match[0])
    for number in phones(text):
        _add(values, "phone", number)
    taken: set[str] = set()
    for kind, code in codes_by_noun(text):
        _add(values, kind, code)
        taken.add(code)
    for match in HASH_CODE.finditer(text):
        if match[0] not in taken:
            _add(values, ANY_ID, match[0])
    if labelled:
        _read_facts(text, values)


def _read_facts(text: str, values: dict[str, list[str]]) -> None:
    for match in _NAMED.finditer(text):
        if " " in match["name"] or (match["after"] in {",", ".", ""} and "name" not in values):
            _add(values, "name", match["name"])
    if not any(kind in values for kind in ("user_id", "customer_id")):
        for match in USERNAME.finditer(text):
            _add(values, "user_id", match[0])
    for start in street_starts(text):
        _add(values, "address", _SENTENCE.split(text[start:], maxsplit=1)[0])
    for match in _LIVES.finditer(text):
        _add(values, "city", match["city"])
    for sentence in _SENTENCE.split(text[:READ_LIMIT]):
        label = _LABELLED.search(sentence)
        if label and not _JOINED.match(label["label"]) and (label["own"] or label["sign"].strip() in {":", "="}):
            _read_labelled(label["label"], label["value"], values)


def _read_labelled(label: str, rest: str, values: dict[str, list[str]]) -> None:
    named = kinds_in(label)
    kind = kind_of(label)
    if kind.startswith(FREE) and len(named) == 1 and not named[0].startswith(("name", "address")):
        kind = named[0]
    if kind in {"email", "phone", "zip", "name"}:
        return  # read by shape above
    end = _VALUE_END.search(rest)
    value = rest[: end.start()] if end else rest
    if kind.endswith("_id"):
        code = re.search(rf"(?<!\w){CODE}", rest)
        value = code[0] if code else value.split(" ")[0]
        for other in codes_after(rest[code.end() :]) if code else ():
            _add(values, kind, other)
    elif kind == "address":
        value = rest.rstrip(". ")
    elif kind.startswith(FREE):
        words = kind.removeprefix(FREE).split()
        kind = FREE + " ".join(words[-2:])
        if pattern("negation").search(label):
            return
    _add(values, kind, value)


def _name_from_username(known: Knowledge) -> None:
    """Read `ada_roy_1234` as Ada Roy where nothing else names the user."""
    for value in known.told.get("user_id", ()):
        if USERNAME.fullmatch(value):
            _add(known.implied, "name", " ".join(part.capitalize() for part in value.split("_")[:-1]))


def _stand_ins(kind: str, values: dict[str, list[str]]) -> tuple[str, ...]:
    if kind in {"first_name", "last_name"}:
        return ("name",)
    if kind == ANY_ID:
        ids = tuple(other for other in values if other.endswith("_id"))
        return ids if len(ids) == 1 else ()
    if kind.endswith("_id"):
        group = next((group for group in _ID_GROUPS if kind in group), frozenset[str]())
        return (*sorted(group - {kind}), ANY_ID)
    return ()


def _joined(first: tuple[str, ...], last: tuple[str, ...]) -> tuple[str, ...]:
    return (f"{first[0]} {last[0]}",) if first and last else first or last
