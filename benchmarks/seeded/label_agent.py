"""An agent that reads the labels of plain phrases (`Please cancel order. Order id: W1.`), and what can be wrong.

It is right by the rules that `RULES` states for the desks of this benchmark: it finds the person first, looks at a
thing before it changes it, asks for a yes, and refuses what is one too many. It shares no code with generation.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

Tool = Callable[..., Any]

BUGS: Mapping[str, str] = {
    "no_confirmation": "changes things without asking",
    "ignores_no": "takes a no for a yes",
    "skips_identity": "finds nobody before it changes things",
    "skips_look": "does not look at a thing before it changes it",
    "ignores_limit": "does a second time what may be done once",
    "wrong_amount": "takes ten more of each number",
    "wrong_row": "takes another thing of the same person",
    "double_write": "makes each change twice",
    "says_done": "says that it is done, and calls nothing",
    "half": "answers every other person with nothing but a greeting",
    "random": "calls any tool with any words of the message",
    "damages": "leaves out or spoils each change at the rate behind it: damages0.2",
}

RULES: Mapping[str, Any] = {
    "find": {"email": "find_customer_by_email"},
    "look": {"order_id": "get_order", "case_id": "get_case"},
    "once": [
        {"refund_shipping", "issue_store_credit"},
        {"exchange_items"},
        {"refund_case"},
    ],
}
READS = ("find", "list", "get", "show")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_LABEL = re.compile(r"(?:^|(?<=\. ))([A-Z][a-z0-9 ]*): ")
_REFERENCE = re.compile(r"the (?:(\w+) )?([a-z ]+?) of (?:your last answer|the (?:(\w+) )?answer to “(.+?)”)")


def build(tools: Sequence[Tool], bugs: str = "") -> Callable[[str], str]:
    """Build an agent for one conversation, with bugs named with commas between them."""
    return LabelAgent(tools, frozenset(filter(None, bugs.split(",")))).reply


class LabelAgent:
    """One conversation: the person found, the answers so far, and the change that waits for a yes."""

    def __init__(self, tools: Sequence[Tool], bugs: frozenset[str]) -> None:
        self._tools = {tool.__name__: tool for tool in tools}
        self._bugs = bugs
        self._rate = max((float(one.removeprefix("damages")) for one in bugs if one.startswith("damages")), default=0)
        self._answers: list[tuple[str, Any]] = []
        self._done: Counter[int] = Counter()
        self._pending: list[tuple[str, dict[str, Any]]] = []
        self._person = ""
        self._found = False
        self._deaf: bool | None = None
        self._wanted: list[str] = []

    def reply(self, message: str) -> str:
        """Answer one message of the user."""
        if said := self.greeting(message):
            return said
        if "random" in self._bugs:
            return self._at_random(message)
        if self._pending and message.startswith(("Yes", "No", "I have changed my mind")):
            agreed = message.startswith("Yes") or "ignores_no" in self._bugs
            steps, self._pending = self._pending, []
            return self._carry_out(steps) if agreed else "Then I leave everything as it is."
        self._pending = []
        return self._requests(message)

    def greeting(self, message: str) -> str:
        """Give all that a deaf agent says, "" where it is none to this person; the first message decides."""
        if self._deaf is None:
            self._deaf = "half" in self._bugs and sum(message.encode()) % 2 == 0
        return "Good day, and thank you for your message." if self._deaf else ""

    def _requests(self, message: str) -> str:
        """Do what is asked that only reads, and ask for a yes for the changes."""
        wanted = re.search(r"Please also tell me (.+)\.$", message)
        self._wanted = re.findall(r"the (\w[\w ]*?) of the", wanted[1]) if wanted else []
        begun = r"(?:Please (?!also tell me)(?:show me the )?|My request: )"
        asked = re.findall(rf"{begun}([^.:]+?\..*?)(?=Please |My request: |$)", message)
        told = [self._request(words, message) for words in asked]
        return " ".join(filter(None, told)) or "That is all, then. Goodbye."

    def _told(self, answer: Any) -> str:
        """Say what the user wanted to know of an answer."""
        found = [(name, one) for name in self._wanted for one in _under(answer, name.strip().replace(" ", "_"))[:1]]
        return "".join(f"The {name} is {one}. " for name, one in found)

    def _request(self, words: str, message: str) -> str:
        action, _, rest = words.partition(".")
        name = self._named(action)
        values = self._values(rest.strip())
        self._identify({**values, **self._values(message)})
        if name not in self._tools:
            return f"I cannot do this: {action}."
        arguments = self._arguments(name, values)
        if name.split("_")[0] in READS:
            answer = self._call(name, arguments)
            return f"{self._told(answer)}Here it is: {answer}."
        return self._change(name, arguments)

    def _named(self, action: str) -> str:
        """Give the tool that words mean: all of its name, or what stands behind *find*, *get* or *list*."""
        words = action.strip().replace(" ", "_")
        return next((name for name in self._tools if words in (name, name.partition("_")[2])), words)

    def _identify(self, values: Mapping[str, str]) -> None:
        for label, tool in RULES["find"].items():
            if label in values and tool in self._tools and not self._found and "skips_identity" not in self._bugs:
                self._found = True
                self._person = str(self._call(tool, {label: values[label].rstrip(".")}))

    def _change(self, name: str, arguments: dict[str, Any]) -> str:
        if not self._found and "skips_identity" not in self._bugs:
            return "I cannot do this as long as I do not know who you are."
        seen = ""
        for argument, tool in RULES["look"].items():
            if argument in arguments and tool in self._tools and "skips_look" not in self._bugs:
                seen = self._told(self._call(tool, {argument: arguments[argument]}))
        group = self._group(name)
        if group is not None and "ignores_limit" not in self._bugs:
            if self._done[group]:
                return f"{seen}I am sorry, I cannot do that a second time."
            if any(self._group(one) == group for one, _ in self._pending):
                return f"{seen}I am sorry, I cannot do both."
        if "no_confirmation" in self._bugs:
            return seen + self._carry_out([(name, arguments)])
        self._pending.append((name, arguments))
        said = ", ".join(f"{key.replace('_', ' ')} {_spoken(value)}" for key, value in arguments.items())
        return f"{seen}I would now do this: {name.replace('_', ' ')}, {said}. Shall I, yes or no?"

    def _group(self, name: str) -> int | None:
        return next((number for number, tools in enumerate(RULES["once"]) if name in tools), None)

    def _carry_out(self, steps: Iterable[tuple[str, dict[str, Any]]]) -> str:
        told = []
        for name, arguments in steps:
            if "says_done" in self._bugs:
                told.append("It is done.")
                continue
            given = damaged(self._spoilt(name, arguments), self._rate, f"{name}/{arguments}")
            if given is None:
                told.append("It is done.")
                continue
            before = len(self._answers)
            told.append(f"Done: {self._call(name, given)}.")
            if (group := self._group(name)) is not None:
                self._done[group] += len(self._answers) > before
            if "double_write" in self._bugs:
                self._call(name, given)
        return " ".join(told)

    def _spoilt(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Give the arguments as a bug has them: more of a number, or another thing that an answer holds."""
        given = dict(arguments)
        if "wrong_amount" in self._bugs:
            given = {
                key: value + 10 if isinstance(value, int | float) and not isinstance(value, bool) else value
                for key, value in given.items()
            }
        if "wrong_row" in self._bugs:
            for key, value in given.items():
                others = [one for one in self._seen(key) if one != value]
                if others and key.endswith("_id"):
                    given[key] = others[0]
                    break
        return given

    def _seen(self, key: str) -> list[Any]:
        """Give the values under a key that tools give of the person, after a look at what is listed."""
        if self._person:
            for tool, argument in (("list_orders", "customer_id"), ("get_customer", "customer_id")):
                if tool in self._tools:
                    self._call(tool, {argument: _first(self._person)})
        return list(dict.fromkeys(value for _, answer in self._answers for value in _under(answer, key)))

    def _call(self, name: str, arguments: dict[str, Any]) -> Any:
        try:
            answer = self._tools[name](**arguments)
        except Exception as error:  # noqa: BLE001 - a tool may refuse with any error
            return f"it was refused, {error}"
        self._answers.append((name, answer))
        return answer

    def _values(self, text: str) -> dict[str, str]:
        parts = _LABEL.split(text)
        return {
            label.lower().replace(" ", "_"): re.sub(r"\.?\s*(?:Please .*)?$", "", value)
            for label, value in zip(parts[1::2], parts[2::2], strict=True)
        }

    def _arguments(self, name: str, values: Mapping[str, str]) -> dict[str, Any]:
        types = get_type_hints(self._tools[name])
        known = {key: value for key, value in values.items() if key in types}
        return {key: _as(types[key], self._meant(key, value)) for key, value in known.items()}

    def _meant(self, key: str, value: str) -> Any:
        """Give what a reference points at in an answer, any other value as it is."""
        found = _REFERENCE.fullmatch(value)
        if not found:
            return value
        ordinal, _, number, action = found.groups()
        answers = [answer for name, answer in self._answers if not action or name == self._named(action)]
        if not answers:
            return value
        answer = answers[_ORDINALS.index(number)] if number in _ORDINALS[: len(answers)] else answers[-1]
        rows = _under(answer, key) or ([answer] if isinstance(answer, str | int) else [])
        return rows[min(_ORDINALS.index(ordinal) if ordinal in _ORDINALS else 0, len(rows) - 1)] if rows else value

    def _at_random(self, message: str) -> str:
        chance = random.Random(message)
        words = [word.strip(".,:") for word in message.split()] or ["none"]
        for name in chance.sample(sorted(self._tools), min(3, len(self._tools))):
            types = {
                key: one for key, one in get_type_hints(self._tools[name]).items() if key not in ("return", "state")
            }
            self._call(name, {key: _as(one, chance.choice(words)) for key, one in types.items()})
        return "It is done."


def damaged(arguments: Mapping[str, Any], rate: float, seed: str) -> dict[str, Any] | None:
    """Give the arguments of a change as they are, or at a rate None (left out) or with one of them spoilt."""
    chance = random.Random(f"{seed}/{rate}")
    if not arguments or chance.random() >= rate:
        return dict(arguments)
    if chance.random() < 0.5:
        return None
    name = chance.choice(sorted(arguments))
    return {**arguments, name: _other(arguments[name])}


def _other(value: Any) -> Any:
    if isinstance(value, list):
        return [*map(_other, value[:1]), *value[1:]]
    if isinstance(value, int | float):
        return value + 10
    return f"{value}0"


def _under(answer: Any, key: str) -> list[Any]:
    """Give all values under a key in an answer, in order."""
    if isinstance(answer, dict):
        own = [answer[key]] if key in answer else []
        return own + [one for value in answer.values() for one in _under(value, key)]
    if isinstance(answer, list | tuple):
        return [one for value in answer for one in _under(value, key)]
    return []


def _first(person: str) -> str:
    found = re.search(r"[A-Z]+\d+", person)
    return found[0] if found else person


def _spoken(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _as(kind: Any, value: Any) -> Any:
    """Give a value as a tool's argument takes it, as it is where it does not fit."""
    kind = next((one for one in get_args(kind) if one is not type(None)), kind) if get_origin(kind) is Union else kind
    try:
        if get_origin(kind) is list:
            inner = (get_args(kind) or (str,))[0]
            return [_as(inner, one) for one in (value if isinstance(value, list) else str(value).split(", "))]
        if kind in (int, float) and get_origin(kind) is not Literal:
            return kind(float(value))
    except ValueError:
        return value
    return value
