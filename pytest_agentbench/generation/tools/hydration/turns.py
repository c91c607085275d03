"""The turns of a draft out of the calls that were made, what the user asks to be told, and what holds elsewhere.

A value to be told is a short one, under a name of its own, that is said in one way.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pytest_agentbench.core.json_values import JsonValue, is_number
from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.generation.draft import Stated, Turn, Wanted
from pytest_agentbench.generation.language.guard import told_apart
from pytest_agentbench.generation.language.plain import label_of, words_of
from pytest_agentbench.generation.tools.flows import found_at, is_same_value
from pytest_agentbench.generation.tools.hydration.arguments import Executed
from pytest_agentbench.generation.tools.hydration.stock import Stock, Unsteady
from pytest_agentbench.generation.tools.labels import is_identifier, labels_of, name_of, thing_of
from pytest_agentbench.generation.tools.probing.result_parser import inner, parsed
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.probing.verdicts import judge
from pytest_agentbench.validation.world_values import scalars

_DEEPEST = 2
"""Objects within an answer that are looked into: what lies deeper has no short name."""
_TEXT = re.compile(r"[^\W_][\w .'’@&/-]{1,38}[^\W_]")
_DATED = re.compile(r"\d{4}-\d{2}|\d{1,2}:\d{2}|T\d{2}")
_LEAST = 10
"""Smaller numbers are often written as words."""
_DECIMALS = 2
"""Decimals beyond which people round."""
_SHORTEST = 3
"""Letters of a word of a name: shorter ones are short for something."""


def wanted_of(
    result: JsonValue, known: list[JsonValue], tool: str, arguments: Mapping[str, JsonValue]
) -> Iterator[Wanted]:
    """Yield what a user may ask to be told of a tool's answer; `known` are values that are in use already.

    Two values of one name are left out, and so is a value that stands in the answer twice: it would be told by chance.
    A value is of what the tool is about, unless the arguments say that the answer is about another thing.
    """
    about = {words_of(thing_of(path, tool)) for path in arguments if is_identifier(name_of(path))}
    noun = words_of(tool).rpartition(" ")[2]
    is_noun = len(noun) >= _SHORTEST and (not about or noun in about)  # `sign_in` is about no *in*
    noun = noun if is_noun else ""
    whole = inner(result)
    is_only = isinstance(whole, list) and len(whole) == 1
    found = list(_scalars(whole[0], "0", 0) if is_only else _scalars(whole, "", 0))
    labels = labels_of(path for path, _ in found)
    names = Counter(labels.values())
    texts = Counter(plain(str(value)) for _, value in found)
    used = {plain(str(value)) for value in known}
    for path, value in found:
        text, label = spoken_form(value), labels[path]
        if text is None or names[label] > 1 or texts[plain(str(value))] > 1 or plain(text) in used:
            continue
        if all(word.isalpha() and len(word) >= _SHORTEST for word in label.split()) and plain(label) != plain(text):
            around = words_of(path.removeprefix("0.").rpartition(".")[0].rpartition(".")[2] or noun).split()
            # "the loan of the loans" says nothing more than "the loan"
            is_other = bool(around) and around[-1].removesuffix("s") != label.removesuffix("s")
            thing = around[-1] if " " not in label and is_other else ""
            yield Wanted(label=label, thing=thing, text=text, path=path)


def spoken_form(value: JsonValue) -> str | None:
    """Give a value as any agent would write it; None where agents differ (dates, codes with `_`, long decimals)."""
    if is_number(value):
        text = f"{value:.10f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
        return text if value >= _LEAST and len(text.partition(".")[2]) <= _DECIMALS else None
    if not isinstance(value, str) or "_" in value or _DATED.search(value) or not _TEXT.fullmatch(value):
        return None
    return value


def said_at(result: JsonValue, path: str) -> str | None:
    """Give how what stands at a path is said; None where nothing stands there, or agents differ."""
    found = next(found_at(result, path), None)
    return None if found is None else spoken_form(found.value)


def stands_at(value: JsonValue, path: str, result: JsonValue) -> bool:
    """Whether a value stands at a path of a result, whole or within the text there."""
    found = [one.value for one in found_at(result, path)]
    return any(is_same_value(one, value) or (isinstance(one, str) and str(value) in one) for one in found)


def _scalars(value: JsonValue, path: str, depth: int) -> Iterator[tuple[str, JsonValue]]:
    if not isinstance(value, Mapping) or depth > _DEEPEST:
        return
    for key, item in value.items():
        where = f"{path}.{key}" if path else str(key)
        if isinstance(item, Mapping):
            yield from _scalars(item, where, depth + 1)
        elif not isinstance(item, list) and words_of(str(key)):
            yield where, item


def turns_of_calls(made: Sequence[Executed], wanted: Sequence[Wanted], stock: Stock, first: int) -> list[Turn]:
    """Give the turns of the calls that one line asks for, of which the draft's call number `first` is the first one.

    What the user points at in a list by nothing but its place is shown first: the rest is a request of its own, but
    where the user speaks once.
    """
    parts: list[list[Executed]] = [[]]
    for one in made:
        begun = first + sum(map(len, parts[:-1]))
        unseen = [ref.source for ref in one.option.references if ref.count > 1 and begun <= ref.source]
        unseen = [at for at in unseen if at < begun + len(parts[-1]) and not _is_told_apart(made, one, first)]
        if unseen and not stock.once:
            at = unseen[-1] - begun
            parts[-1][at] = replace(parts[-1][at], asked=True)
            parts.append([])
        parts[-1].append(one)
    return [turn for part in parts for turn in _of_request(part, wanted if part is parts[-1] else (), stock)]


def _is_told_apart(made: Sequence[Executed], one: Executed, first: int) -> bool:
    """Whether words tell each thing apart that a call takes out of a list which this line has read."""
    several = [ref for ref in one.option.references if ref.count > 1 and ref.source >= first]
    return all(told_apart(made[ref.source - first].result, ref) for ref in several)


def _of_request(made: Sequence[Executed], wanted: Sequence[Wanted], stock: Stock) -> list[Turn]:
    """Give the turns of one request: what is asked for, and a yes before each change that needs one.

    What the user wants to be told stands in the answer of the last call.
    """
    groups: list[list[Executed]] = [[]]
    for one in made:
        if stock.rules.must_confirm(ToolCall(name=one.card.tool, arguments=one.arguments)):
            groups.append([])
        groups[-1].append(one)
    asked = tuple(one.model_copy(update={"call": len(groups[-1]) - 1}) for one in wanted)
    turns = [
        Turn(
            act="confirm" if place else "request",
            calls=tuple(one.planned for one in group),
            about=tuple(value for _, value in scalars(group[0].arguments)) if place else (),
            wanted=asked if place == len(groups) - 1 else (),
        )
        for place, group in enumerate(groups)
    ]
    schemas = [{parameter.path: parameter.schema_ for parameter in one.card.parameters} for one in made]
    states = [
        Stated(label=label_of(path, schemas[call].get(path)), value=value, argument=path, call=call)
        for call, one in enumerate(made)
        for path, value in one.option.said.items()
    ]
    pointed = {(one.source, one.path, one.argument) for call in made if call.asked for one in call.option.references}
    references = [
        ref.model_copy(update={"call": call})
        for call, one in enumerate(made)
        for ref in one.option.references
        if one.asked or (ref.source, ref.path, ref.argument) not in pointed  # nobody points at one thing twice
    ]
    return [turns[0].model_copy(update={"states": tuple(states), "references": tuple(references)}), *turns[1:]]


def numbered(turn: Turn) -> Turn:
    """Give a turn whose paths name the first entry of a list by its number, as drafts do: `item_ids.0`."""

    def of(path: str) -> str:
        return path.replace(".*", ".0")

    calls = [
        call.model_copy(update={"origins": {of(path): one for path, one in call.origins.items()}})
        for call in turn.calls
    ]
    states = [one.model_copy(update={"argument": of(one.argument)}) for one in turn.states]
    references = [one.model_copy(update={"argument": of(one.argument)}) for one in turn.references]
    return turn.model_copy(update={"calls": tuple(calls), "states": tuple(states), "references": tuple(references)})


async def unsteady_values(turns: Sequence[Turn], stock: Stock) -> set[Unsteady]:
    """Give the values that another environment has not; the calls are made again in a fresh one to find out.

    A call that fails there loses what it was given by results. Where environments do not open anew, none is known.
    """
    calls = [call for turn in turns for call in turn.calls]
    hands_on = any(one.call is not None for call in calls for one in call.origins.values())
    if not stock.world.resettable or not (hands_on or any(turn.wanted for turn in turns)):
        return set()
    lost: set[Unsteady] = set()
    results: list[JsonValue] = []
    async with stock.world.open() as opened:
        for turn in turns:
            first = len(results)
            for planned in turn.calls:
                name, slots = planned.call.name, read_slots(planned.call.arguments)
                taken = {path: (one.call, one.path) for path, one in planned.origins.items() if one.call is not None}
                gone = [path for path, (call, at) in taken.items() if not stands_at(slots.get(path), at, results[call])]
                answer = await opened.call(name, planned.call.arguments)
                if not gone and not planned.fails and judge(answer).verdict != "ok":
                    gone = list(taken)
                lost |= {(calls[taken[path][0]].call.name, name, path) for path in gone}
                results.append(parsed(answer.content))
            lost |= {
                (turn.calls[one.call].call.name, "", one.path)
                for one in turn.wanted
                if said_at(results[first + one.call], one.path) != one.text
            }
    return lost
