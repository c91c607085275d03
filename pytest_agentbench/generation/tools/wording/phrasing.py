"""What a tool does for a user, in words, and how arguments and values are named (`weaving.py` makes requests of them).

A user does not know tools. It says what the description says the tool is for, as a request ("Look up an order." becomes
"please look up an order"), and names each value by the argument's description.
"""

import re
from collections.abc import Iterable, Mapping

from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation._reading.kinds import humanize
from pytest_agentbench.generation._reading.phrases.language import words
from pytest_agentbench.generation.tools.values import Card
from pytest_agentbench.generation.tools.wording.calendar import date_text, is_date
from pytest_agentbench.generation.tools.wording.tongue import Code, Person, Tongue
from pytest_agentbench.generation.tools.wording.tongue_en import ENGLISH
from pytest_agentbench.generation.tools.wording.tongue_fr import FRENCH
from pytest_agentbench.generation.tools.wording.trimming import trimmed, without_options

TONGUES: Mapping[Code, Tongue] = {"en": ENGLISH, "fr": FRENCH}

_SENTENCE = re.compile(r"^(.+?)(?:[.!?](?=\s|$)|[;:](?=\s)|\n|$)", re.DOTALL)
_ASIDE = re.compile(r"\s*\([^()]*\)|\s*\[[^\[\]]*\]|`+")
_EXAMPLES = re.compile(
    r",? ?\b(?:such as|e\.g\.|for example|for instance|including|comme|par exemple|notamment)\b.*", re.DOTALL
)
_TOKEN = re.compile(r"\b[A-Za-z]\w*_\w+\b|\b[a-z]+[A-Z]\w*\b")
_CLAUSE = re.compile(r"^(.+?)(?:[.,;:(\n]|\s[-–—]\s|$)", re.DOTALL)
_UNIT = re.compile(
    r" (?:in|en) (?:[a-zA-Z°/%³²µ]{1,4}|(?:decimal )?degrees|degrés(?: décimaux)?|percent|pour ?cent|seconds|minutes"
    r"|euros|metres|meters|mètres)$"
)
_FORMAT = re.compile(r" (?:as|in|au format|format) (?:the )?(?:YYYY|ISO|AAAA|DD|JJ|HH)\S*.*$", re.IGNORECASE)
_NO_NAME = re.compile(
    r"(?:only |leave out |pour ne |seulement |"
    r"for example|e\.g|one of|either|such as|as |par exemple|l['’]une? des?|parmi|tel|comme )",
    re.IGNORECASE,
)
"""What descriptions begin with that say what a value is like and not what it is."""
_ARTICLE = re.compile(
    r"^(?:(?:an?|the|your|its|their|un|une|le|la|les|son|sa|ses|leurs?)\s+|l['’])(?=\w)", re.IGNORECASE
)
_ROUTE = re.compile(r"(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) +/\S*")
"""What REST services have for a description where nobody wrote one."""
_PATTERN = re.compile(r"(?:,? (?:given|written|formatted|specified) as)?(?: (?:the|a|an))? \S*<[\w -]+>\S*")
"""How a value is to be written, which programs read: `given as <revision>:<path>`."""
_SENTENCE_END = re.compile(r"[.\n].*", re.DOTALL)
_LONG = 22
"""Words of a description that are said; more are an explanation."""
_READ = 600
"""Characters of a description that are read for what a user would say."""
_NAME = 5
"""Words that a name or a number in groups has at most."""
_LABEL = 6
"""Words of an argument's name; a longer description explains more than it names."""


def task_of(card: Card, tongue: Tongue, person: Person = "user") -> str:
    """Say what a tool is for, as an infinitive phrase: `look up an order`, `rechercher une commune`.

    The service's `our vets` are `your vets` to its user. What changes something is not asked to be told: a fault is
    reported, and the report of it given.
    """
    text = card.declared_description.strip() or card.actual_description.strip() or card.trigger.strip()
    text = printable(shorten(text, _READ), newlines=True)  # descriptions are whatever a server sends
    text = "" if _ROUTE.fullmatch(text.strip()) else text
    text = re.sub(r"\be\. ?g\.", "for example", text)  # its points end no sentence
    sentence = _SENTENCE.match(text)
    said = _PATTERN.sub("", _EXAMPLES.sub("", _ASIDE.sub("", sentence[1] if sentence else "")))
    said = _TOKEN.sub(lambda token: humanize(token[0]), " ".join(said.split())).strip(" ,.-")
    for _ in range(3):
        for lead in tongue.leads:
            said = lead.sub("", said)
    spoken = _swapped(said, tongue.service).split() or _from_name(card.tool, tongue)
    asked = len(spoken) > 1 and spoken[1].lower() in tongue.questions
    task = _with_infinitive(spoken[:_LONG], tongue, {} if card.writes and not asked else tongue.gives)
    task = trimmed(tongue.needless.sub("", task), card, tongue)
    return _swapped(tongue.boolean.sub(tongue.whether, task), tongue.persons[person])


def _from_name(tool: str, tongue: Tongue) -> list[str]:
    """Say what a tool without a description is for: `create_bucket` creates a bucket, `get_buckets` gets buckets."""
    spoken = humanize(tool).split()
    if tongue.code == "en" and len(spoken) > 1 and not spoken[-1].endswith("s"):
        spoken.insert(1, "an" if spoken[1][0] in "aeiou" else "a")
    return spoken


def label_of(card: Card, path: str, tongue: Tongue) -> str:
    """Name an argument for people: by its description where that is a name, else by the words of its own name."""
    labels = {parameter.path: _label(parameter.path, parameter.schema_, tongue) for parameter in card.parameters}
    label = labels.get(path) or _spelt(path, tongue)
    same = [other for other, known in labels.items() if known == label and other != path]
    label = _spelt(path, tongue) if same else label
    return _of_thing(label, card, path, tongue) if label in tongue.identifying else label


def _of_thing(label: str, card: Card, path: str, tongue: Tongue) -> str:
    """Say what a bare `name` or `code` is of: what the argument is called, else what the tool is to find by it."""
    task = task_of(card, tongue)
    found = tongue.searches.match(task) or tongue.one_thing.match(task)
    own = _spelt(path, tongue)
    thing = "" if own in tongue.identifying or own == label else accented(own, task)
    thing = thing or (found.groupdict().get("noun") or "" if found else "")
    if not thing or tongue.identifying & set(thing.split()):
        return label
    whole = tongue.of_thing.format(what=label, thing=thing if tongue.code == "en" else with_article(thing, tongue))
    return contracted(whole, tongue)


def accented(words_: str, text: str) -> str:
    """Spell words as a text does, whose accents names of programs lack."""
    spelt = {plain(word): word for word in re.findall(r"[^\W\d_]+", text.lower())}
    return " ".join(spelt.get(plain(word), word) for word in words_.split())


def contracted(text: str, tongue: Tongue) -> str:
    """Contract what does not stand side by side: `de le` is `du`, `la école` is `l'école`."""
    for pattern, instead in tongue.contractions:
        text = pattern.sub(instead, text)
    return text


def name_of(path: str, description: str, tongue: Tongue) -> str:
    """Name a value for people by its description where that is a name, else by the words of its own name."""
    return _label(path, {"description": description}, tongue)


def with_article(what: str, tongue: Tongue) -> str:
    """Put the definite article before a noun phrase that has none; French ones are guessed from the noun's ending."""
    first = what.split(maxsplit=1)[0] if what.split() else ""
    if not first or first.lower() in tongue.determiners | tongue.questions or first[:2].lower() in ("l'", "l’", "d'"):
        return what
    if tongue.code == "en":
        return f"the {what}"
    noun = first.lower()
    if noun.endswith(("s", "x")) and noun not in tongue.singular:
        return f"les {what}"
    if noun[0] in "aeiouhéèêâî":
        return f"l'{what}"
    return f"{'la' if is_feminine(noun) else 'le'} {what}"


def is_feminine(noun: str) -> bool:
    """Guess the gender of a French noun from its ending; about nine in ten are right."""
    return noun.endswith(_FEMININE) or (noun.endswith("e") and not noun.endswith(_MASCULINE))


_FEMININE = ("tion", "sion", "té", "ure", "ette", "ance", "ence", "ie", "ude", "ée", "eur de", "aison", "qualité")
_MASCULINE = (
    "age", "isme", "iste", "ège", "ème", "code", "compte", "service", "groupe", "nombre", "titre", "texte", "livre",
    "article", "véhicule", "mode", "type", "montant", "membre", "site", "terme", "motif", "rôle", "contrôle", "centre",
)  # fmt: skip


def value_text(value: JsonValue, tongue: Tongue, *, is_listed: bool = False) -> str:
    """Say a value as a person would; `is_listed` values are of a closed list, whose `_` are spaces to people."""
    if isinstance(value, bool):
        return tongue.yes if value else tongue.no
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, list):
        return tongue.joined.join(value_text(item, tongue, is_listed=is_listed) for item in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{humanize(str(key))} {value_text(item, tongue)}" for key, item in value.items())
    text = str(value)
    if is_listed:
        return text.replace("_", " ")
    if is_date(text):
        return date_text(text, tongue)
    is_long = len(text.split()) > 2 and re.search(r"[a-zß-ÿ]{2}", text) is not None
    return f'"{text}"' if is_long or re.search(r"[,()?!;:\n]", text) or text != text.strip() else text


def is_prose(text: str) -> bool:
    """Whether a text is more than a name or a code."""
    bare = text.strip('"')
    parts = bare.split()
    return not parts or len(parts) > _NAME or parts[0][0].islower() or re.search(r"[,()?!;:\n]", bare) is not None


def tasks_text(cards: Iterable[Card], tongue: Tongue, person: Person) -> str:
    """Join what several tools are for, each once, as they stand behind `asked to` or `demande de`."""
    tasks = list(dict.fromkeys(without_choices(task_of(card, tongue, person), tongue) for card in cards))
    if len(tasks) < 2:
        return "".join(tasks)
    tasks[1:] = [f"{tongue.again}{task}" for task in tasks[1:]]
    return f"{', '.join(tasks[:-1])}{tongue.joined}{tasks[-1]}"


def without_choices(task: str, tongue: Tongue) -> str:
    """Leave out the half of `all of them or those of a town` that says something of its own."""
    return without_options(tongue.alternatives.sub(r", \g<every>", task), tongue)


def language_of(texts: Iterable[str]) -> Code:
    """Tell the language of descriptions by their small words; English where nothing tells."""
    found = re.findall(r"[a-zà-ÿ]+", " ".join(texts).lower())
    french = sum(word in _FRENCH for word in found)
    english = sum(word in _ENGLISH for word in found)
    return "fr" if french > english else "en"


_FRENCH = words("un une le la les l des du de d et en pour par avec dans sur est sont au aux ce cette qui que à é où")
_ENGLISH = words("a an the of and in for by with on is are to this that which from it its at or as")


def _swapped(text: str, words: Mapping[str, str]) -> str:
    """Put words in the place of others, all at once."""
    if not words:
        return text
    either = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    pattern = re.compile(rf"(?<![\w'’-])(?:{either})(?:(?<=')|(?![\w'’-]))", re.IGNORECASE)
    return pattern.sub(lambda match: words[match[0].lower()], text)


def _with_infinitive(spoken: list[str], tongue: Tongue, gives: Mapping[str, str]) -> str:
    first, rest = spoken[0].lower().strip(",:"), spoken[1:]
    verb = tongue.forms.get(first)
    if verb is None:
        verb = _unknown_verb(first, rest, tongue)
    if verb is None:
        is_name = spoken[0].isupper() and len(spoken[0]) > 1
        what = " ".join([spoken[0] if is_name else first, *rest])
        if first in tongue.questions:
            return tongue.asks_question.format(what=what)
        wants = tongue.wants_one if first in tongue.articles_of_one and rest else tongue.wants
        return wants.format(what=with_article(what, tongue))
    return " ".join([gives.get(verb, verb), *_coordinated(rest, tongue)])


def _coordinated(spoken: list[str], tongue: Tongue) -> list[str]:
    """Give the same form to verbs that follow `and`, `or`, `then`: `creates and returns a ticket`."""
    said: list[str] = []
    for place, word in enumerate(spoken):
        is_next = 0 < place < len(spoken) - 1 and spoken[place - 1].lower() in _JOINTS
        verb = tongue.forms.get(word.lower()) if is_next else None
        if is_next and verb is None and tongue.code == "fr" and word.lower() not in tongue.conjoined:
            verb = _unknown_verb(word.lower(), spoken[place + 1 :], tongue)
        said.append(tongue.gives.get(verb, verb) if verb else word)
    return said


_JOINTS = words("and or then et ou puis")


_OPEN = re.compile(r"è([bcdglnrt]|gn|tr|br|gl)er$")
"""The open vowel of `énumère`, which its infinitive closes."""


def _unknown_verb(first: str, rest: list[str], tongue: Tongue) -> str | None:
    """Take a word before a determiner for a verb: `geotags the picture`, `rafraîchit le cache`."""
    if not rest or (first.endswith("s") and rest[0].lower() == "that"):  # things that are so and so
        return None
    if rest[0].lower().split("'")[0].split("’")[0] not in tongue.determiners or first in tongue.determiners:
        return None
    if tongue.code == "en":
        return first[:-1] if first.endswith("s") and not first.endswith("ss") else first
    if first.endswith(("er", "ir", "re")) and not first.endswith("ère"):
        return first
    return (
        _OPEN.sub(r"é\1er", f"{first}r") if first.endswith("e") else f"{first[:-1]}r" if first.endswith("it") else None
    )


def _label(path: str, schema: Mapping[str, JsonValue], tongue: Tongue) -> str:
    spelt = _spelt(path, tongue)
    described = schema.get("description")
    told = printable(shorten(described, _READ), newlines=True).strip() if isinstance(described, str) else ""
    clause = _CLAUSE.match(told)
    text = _ARTICLE.sub("", _EXAMPLES.sub("", _ASIDE.sub("", clause[1])).strip()) if clause else ""
    text = _FORMAT.sub("", _UNIT.sub("", text))
    if _NO_NAME.match(text):
        return spelt
    spoken = text.split()
    if tongue.listing.match(_SENTENCE_END.sub("", told)) or tongue.joining & set(spelt.split()):
        return spelt
    if not 1 <= len(spoken) <= _LABEL or _TOKEN.search(text) or '"' in text:
        return spelt
    if all(word.lower().strip("'’-") in tongue.vague for word in spoken):
        return spelt
    if spoken[0].lower() in tongue.prepositions and spelt not in tongue.prepositions:
        return f"{spelt} {text[0].lower()}{text[1:]}"
    if spoken[0].lower() in tongue.questions and len(spoken) < 3:  # `how many`, `why`
        return spelt
    if spoken[0].lower() == "whether" and schema.get("type", "boolean") != "boolean":  # one of several ways
        return spelt
    return text if text[:2].isupper() else text[0].lower() + text[1:]


def _spelt(path: str, tongue: Tongue) -> str:
    """Spell the words of a name out: `checkInDate`, `num_guests`, `lat`."""
    last = next((part for part in reversed(path.split(".")) if part != "*"), path)
    return " ".join(tongue.abbreviations.get(word, word) for word in humanize(last).split()) or last
