"""Whether an agent asks the user to confirm, and whether what it proposes differs from what the user wants."""

import re
from dataclasses import dataclass

from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.values import to_json
from pytest_agentbench.users.kinds import FREE, kind_of, label_of
from pytest_agentbench.users.known_info import Knowledge, text_of, values_in
from pytest_agentbench.users.phrases import is_stopword, pattern
from pytest_agentbench.users.segments import clip, segments
from pytest_agentbench.users.shapes import address_numbers, amounts, dates, methods, same_code

_FIELD = re.compile(r"^\W*(?P<label>[^\W\d_][\w '’/()-]{1,40}?)\**\s*[:=]\s*(?P<value>\S.*?)\W*$", re.MULTILINE)
_WORD = re.compile(r"[^\W_]{3,}")
_COMPARED = ("email", "phone")
_NEAR = 25


@dataclass(frozen=True)
class Difference:
    """What the agent proposes (`found`) beside what the user wants (`wanted`), of one kind."""

    kind: str
    found: str
    wanted: str


def asks_to_confirm(text: str) -> bool:
    """Tell whether `text` asks for a yes or a no about something that the agent would do or holds for true."""
    return bool(_confirming(text))


def confirming_question(text: str) -> str:
    """Give the sentences of `text` that ask for a yes or a no, as one text."""
    return " ".join(_confirming(text))


def _confirming(text: str) -> list[str]:
    return [
        segment.text
        for segment in segments(text)
        if pattern("confirmations").search(_without_closers(segment.text))
        and not (segment.question and pattern("starts_open").match(segment.text))
        and not pattern("alternatives").search(segment.text)
    ]


def _without_closers(text: str) -> str:
    return pattern("closers").sub(" ", pattern("offers_help").sub(" ", text))


def difference(text: str, view: View, known: Knowledge) -> Difference | None:
    """Compare what `text` proposes with the goal, the lines and the known values; None where nothing contradicts.

    A kind differs when the message names values of it and none is wanted, or when the confirming question itself
    names one that is not wanted. Instructions often state conditions: what they name is allowed, not demanded.
    Kinds that the user says nothing about never differ.
    """
    asking = _confirming(text)
    if not asking:
        return None
    question = " ".join(asking)
    allowed = clip(view.task_instructions)
    proposal = "\n".join(
        segment.text for segment in segments(text) if not _is_past(segment.text) or segment.text in asking
    )
    wanted = _wanted_text(view)
    return (
        _ids(proposal, question, known)
        or _fields(proposal, view)
        or _methods(proposal, wanted, allowed)
        or _amounts(proposal, wanted, allowed, known)
        or _addresses(proposal, wanted, allowed, known)
        or _dates(question, wanted, allowed)
    )


def _is_past(sentence: str) -> bool:
    return bool(pattern("completed").search(sentence))


def content_words(text: str) -> set[str]:
    """Give the words of `text` that carry content, cut to a common stem of six letters."""
    return {word.lower()[:6].rstrip("s") for word in _WORD.findall(clip(text)) if not is_stopword(word)}


def _wanted_text(view: View) -> str:
    parts = [view.goal, *view.says, view.known_info]
    parts.extend(f"{name}: {text_of(to_json(value))}" for name, value in view.knows.items())
    return "\n".join(clip(part) for part in parts)


def _ids(proposal: str, question: str, known: Knowledge) -> Difference | None:
    found, asked = values_in(proposal), values_in(question)
    for kind in found:
        if not kind.endswith("_id") and kind not in _COMPARED:
            continue
        wanted = [value for tier in (known.told, known.implied) for value in tier.get(kind, ())]
        plain = {same_code(value) for value in wanted}
        plain |= {same_code(value) for value in known.implied.get("any_id", ())} if kind.endswith("_id") else set()
        strange = _strange(found[kind], asked.get(kind, []), plain) if wanted else None
        if strange is not None:
            return Difference(kind, strange, wanted[0])
    return None


def _strange(found: list[str], asked: list[str], wanted: set[str]) -> str | None:
    if found and not any(same_code(value) in wanted for value in found):
        return found[0]
    return next((value for value in asked if same_code(value) not in wanted), None)


def _fields(proposal: str, view: View) -> Difference | None:
    """Compare `Label: value` lines with the scenario's own keys; shaped kinds are compared elsewhere."""
    own = {kind_of(str(name)): text_of(to_json(value)) for name, value in view.knows.items()}
    for match in _FIELD.finditer(proposal):
        kind = kind_of(match["label"])
        wanted = own.get(kind)
        if wanted is None or not kind.startswith(FREE):
            continue
        theirs, ours = match["value"].strip().lower(), wanted.strip().lower()
        if (
            theirs
            and ours
            and theirs not in ours
            and ours not in theirs
            and not content_words(theirs) & content_words(ours)
        ):
            return Difference(kind, match["value"].strip(), wanted)
    return None


def _methods(proposal: str, wanted: str, allowed: str) -> Difference | None:
    found, named = methods(proposal), methods(wanted)
    refused = {name for name in named if _only_refused(name, wanted)}
    accepted = named - refused
    if not found or found & (accepted | methods(allowed)) or not (accepted or found & refused):
        return None
    strange = min(found & refused or found)
    return (
        Difference("payment_method", strange, min(accepted)) if accepted else Difference("payment_method", strange, "")
    )


def _only_refused(method: str, wanted: str) -> bool:
    """Tell whether every clause that names `method` is a negated one."""
    clauses = [clause for clause in re.split(r"[.,;!?\n]|\bbut\b|\bmais\b", wanted) if method in methods(clause)]
    return bool(clauses) and all(
        any(match.start() < _first(method, clause) for match in pattern("negation").finditer(clause))
        for clause in clauses
    )


def _first(method: str, clause: str) -> int:
    return next((end for end in range(len(clause) + 1) if method in methods(clause[:end])), len(clause))


def _amounts(proposal: str, wanted: str, allowed: str, known: Knowledge) -> Difference | None:
    ours = [value for at, value in amounts(wanted) if not pattern("bounds").search(wanted[max(at - _NEAR, 0) : at])]
    ours += [value for text in known.get("amount") for _, value in amounts(f"${text}")]
    theirs = [value for _, value in amounts(proposal)]
    if len(set(theirs)) > 1:
        return None  # a breakdown: which of the amounts is the proposed one cannot be told
    fine = [*ours, *(value for _, value in amounts(allowed))]
    if not ours or not theirs or any(abs(a - b) < 0.005 for a in fine for b in theirs):
        return None
    return Difference("amount", f"{theirs[0]:g}", f"{ours[0]:g}")


def _addresses(proposal: str, wanted: str, allowed: str, known: Knowledge) -> Difference | None:
    found, ours = address_numbers(proposal), address_numbers(wanted)
    if not found or not ours or found & (ours | address_numbers(allowed)):
        return None
    full = next((value for value in known.get("address") if address_numbers(value) & ours), min(ours))
    return Difference("address", min(found), full)


def _dates(question: str, wanted: str, allowed: str) -> Difference | None:
    found, ours = dates(question), dates(wanted)
    if not found or not ours or set(found) & {*ours, *dates(allowed)}:
        return None
    return Difference("date", "{:02d}-{:02d}".format(*found[0]), "{:02d}-{:02d}".format(*ours[0]))


def describe(kind: str, value: str) -> str:
    """Give a wanted or proposed value with its name where the value alone would not say what it is."""
    return value if kind in {"payment_method", "amount"} else f"{label_of(kind)} {value}"
