"""English: verbs that tools are described with, and what users of generated scenarios say."""

# ruff: noqa: E501 - word lists read better unbroken

import re

from pytest_agentbench.generation._reading.phrases.language import words
from pytest_agentbench.generation.tools.wording.tongue import Tongue

_VERBS = """
accept activate add adjust aggregate analyse analyze annotate append apply approve archive assign authenticate authorize
book browse build calculate call cancel change check checkout clean clear clone close collect combine commit compare
complete compute configure confirm connect convert copy count create crop deactivate decline decode define delete deliver
deploy describe detect determine diff disable disconnect display download draft draw edit emit enable encode enroll ensure
enumerate estimate evaluate execute expand explain export extend extract fetch file filter find finish fix format forward generate geocode get give grant
group highlight hold identify import index inform initialize insert inspect install integrate investigate invite issue join
keep label launch leave lend link list load locate lock log look lower make manage map mark match measure merge modify
monitor move name navigate note notify obtain open order organize parse patch pause pay perform pick place plan poll
populate post predict prepare preview price print process produce profile prolong provide prune publish pull purchase push
put query quote raise rank rate read rebook rebuild receive recommend record redeem reduce refresh refund register reject
release remind remove rename render renew rent reorder repeat replace reply report request reschedule reserve reset resize
resolve restart restore resume retrieve return reverse review revoke rotate route run sample save scan schedule search
select sell send serve set settle share ship show sign simulate sort split stage start stop store stream strike submit
subscribe subtract suggest sum summarize suspend switch sync tag take tell test toggle tokenize top trace track transfer
translate trigger trim unassign undo unlock unsubscribe unzip update upgrade upload validate verify view visit void wait
watch withdraw work wrap write zip
"""

_GIVES = {
    "return": "give me", "provide": "give me", "give": "give me", "retrieve": "get", "fetch": "get", "obtain": "get",
    "display": "show me", "show": "show me", "output": "give me", "report": "tell me", "tell": "tell me",
    "query": "look up", "produce": "give me", "perform": "do",
}  # fmt: skip

_HEDGES = r"\b(?:possibly|perhaps|likely|probably|might|maybe|may be|could be|presumably|seems?|apparently)\b"


def _third(verb: str) -> str:
    """Give the third person of a verb: returns, searches, copies."""
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return verb + "es"
    return verb[:-1] + "ies" if verb.endswith("y") and verb[-2] not in "aeiou" else verb + "s"


def _gerund(verb: str) -> str:
    """Give the form in -ing: returning, making, getting."""
    if verb.endswith("e") and not verb.endswith("ee"):
        return verb[:-1] + "ing"
    doubled = re.fullmatch(r"[^aeiou]*[aeiou][bdgmnprt]", verb)
    return verb + (verb[-1] if doubled else "") + "ing"


def _forms() -> dict[str, str]:
    forms: dict[str, str] = {}
    for verb in _VERBS.split():
        forms |= {verb: verb, _third(verb): verb, _gerund(verb): verb}
    return forms


ENGLISH = Tongue(
    code="en",
    verbs=words(_VERBS),
    forms=_forms(),
    gives=_GIVES,
    service={"our": "your", "ours": "yours", "we": "you", "us": "you", "your": "my", "yours": "mine"},
    persons={
        "user": {},
        "you": {"me": "you", "my": "your", "mine": "yours", "your": "their", "you": "them"},
        "third": {"me": "the user", "my": "the user's", "mine": "the user's", "your": "their", "you": "them"},
    },
    needless=re.compile(r"\b(?:multiple|existing|one or more|specific|specified|given) (?=[a-z])"),
    leads=tuple(
        re.compile(pattern, re.IGNORECASE)
        for pattern in (
            r"^(?:this|the) (?:tool|function|endpoint|operation|method|api|command)(?: can)? ",
            r"^(?:a|an)? ?(?:simple |helper )?(?:tool|function|endpoint|operation|command) (?:that|which|to|for) ",
            r"^(?:tool|function|endpoint|api) (?:to|for|that) ",
            r"^(?:use|call) (?:this|it)(?: tool| function)? (?:to|for|when you (?:need|want) to|in order to) ",
            r"^(?:is |can be )?(?:used|useful|handy) (?:to|for|when you (?:need|want) to) ",
            r"^(?:allows?|lets?|enables?|helps?) (?:(?:you|us|users?|the user|an? \w+|one|agents?|the agent) )?(?:to )?",
            r"^you can ",
            r"^(?:in order )?to (?=[a-z])",
        )
    ),
    determiners=words("a an the all any every each this that these those its their your his her our my one some several everything anything"),
    singular=words("status address access"),
    wants="give me {what}",
    wants_one="show me {what}",
    articles_of_one=words("a an one"),
    again="",
    conjoined=frozenset(),
    boolean=re.compile(r"^(?:give me |get )(?:true|1|yes|a boolean)(?: value)? (?:if|when|whether|indicating if) ", re.I),
    whether="tell me whether ",
    asks=("Please {task}.", "Could you {task}?", "Hi, can you {task}?", "I'd like you to {task}.", "Hello, could you {task}?"),
    asks_again=("Now please {task}.", "Next, could you {task}?", "Please also {task}.", "Thanks. Could you also {task}?"),
    chain="{first}, and then {second}",
    follows=("Then please {task}.", "After that, please {task}.", "Finally, please {task}."),
    questions=words("what how where when which who whom whose why whether if"),
    asks_question="tell me {what}",
    identifying=words("number numbers id ids identifier code codes reference name names no key keys uuid slug token handle hash ref"),
    joining=words("or and"),
    prepositions=words("from to at in on for by with of until till since between before after via into onto under about"),
    features=words("type kind category status state priority level colour color size role reason description text note"),
    matching="matching {value}",
    searches_several=re.compile(r"^(?:find|search|search for|look up|look for|list|get) (?:(?!for\b)[\w-]+ ){0,2}?[\w-]+s\b"),
    searching=words("q query search text term terms keyword keywords words phrase name title"),
    searches=re.compile(r"^(?:find|search|search for|look up|look for|locate|geocode|get|retrieve) (?P<object>(?:an?|the|one) (?P<noun>[\w-]+))\b"),
    of_noun=re.compile(r"^(?P<head>[\w -]+?) (?:of|for) (?:an? |the |your |this |each |any )?(?P<noun>[\w-]+(?: [\w-]+)?)$"),
    number_of_other=re.compile(r"(?!)"),
    thing_by="{thing} {value}",
    amount=re.compile(r"^(?:the )?(?:(?:number|count|quantity|amount) of|how many) (?P<more>more )?(?P<noun>[\w-]+s)(?P<after> more)?(?: (?:of|in) (?:the|an?|each) [\w-]+)?$"),
    relative=re.compile(r" (?:to (?=[a-z]+$)|to (?:be )?[a-z]+$|that |which |who |whose |where |when |(?:on|at|for|in|from|to|under|by|with) which ).*$"),
    listing=re.compile(r"^[\w'-]+(?:, [\w'-]+)+,? or [\w'-]+$"),
    people_words=words("full first last family given middle maiden"),
    units=words("days nights hours minutes seconds weeks months years"),
    marks=words("path file filename tracking serial barcode sku isbn vin plate id code number reference no identifier ref key"),
    some_thing=re.compile(r"\b(?:an?|one) (?:[\w-]+ )??(?P<noun>[\w-]+)(?= (?:of|to|at|in|for|from|by|with|that|which|and|on|into|as)\b|,|$)"),
    makes=words("create register add open start make new insert enroll submit book file"),
    called="called {value}",
    towards=words("switch"),
    made=re.compile(r"^(?:create|register|add|open|start|make|insert|set up) (?P<article>an?|the) (?:(?:new|further|additional) )?(?P<noun>[\w-]+)\b"),
    one_thing=re.compile(r"^(?!(?:give|get|show|tell) me\b)[\w-]+ (?P<article>an?|the|one) (?:(?:new|single) )?(?P<noun>[\w-]+)(?= (?:of|to|at|in|for|from|by|with|that|and|on|into)\b|,|$)"),
    by_query=re.compile(r" (?:based on|by|using|with|matching|for) (?:an?|the|some) (?:search |free )?(?:query|text|term|terms|keywords?|phrase)\b"),
    statement=re.compile(r"(?:is|are|was|were|has|have|[a-z]{2,}(?:[^s]s|ed)) [\w'’-]+"),
    searches_in=re.compile(r"^(?:search|query|browse|look in|look through) (?:the|your|my)\b"),
    for_text="for {value}",
    looking="I am looking for {value}",
    some=r"\b(?:some|several|so many|that many|many|a number of|a few|n|x)(?P<more> more)? {noun}\b",
    as_many="that many {noun}",
    mention=r"\b(?P<article>an?|the|one|this|that|any|your|each|every|another)(?: (?:given|single|specific|particular|certain|existing|specified))*(?: (?!(?:of|for|to|in|by|with|at|on|and|or|from|an?|the|its|is|are)\b)[\w-]+)? {noun}(?![\w-])",
    by_noun=r" (?:by|with|matching|containing|using)(?: (?:its|his|her|their|the|an?|one|full|exact|given))*(?P<by>(?: [\w-]+){{0,2}}? {noun}(?: (?:number|code|name|id|address))?)\b",
    by_rest=re.compile(r" (?:by|with|in|from) (?:[\w-]+ (?:of|in) )?(?:their|its|the|a|an)? ?[\w-]+$"),
    unsaid=re.compile(r" for (?:some|several|a few|a number of)(?: more)? [\w-]+s$"),
    optional=re.compile(r",? (?:from|with|for|by|in|on|using|and) (?:an? )?optional(?: (?!\0)[\w-]+){1,3}?(?=$|,| (?:from|with|for|by|in|on|using|and|to) )(?!\0)"),
    looks=words("find search list look get show give tell check count see browse view report flag mark declare"),
    condition=re.compile(r" (?:that|which|who) (?:is|are|was|were|has|have|can|could|may|must)(?:n't)? [\w'’ -]+?(?=$|,| (?:and|for|to|by|from|with|at|on|in|into|as) )"),
    state=re.compile(r"\b(?:yet|still|already|longer|not|can|could|may|must)\b|n't\b"),
    limit=re.compile(r",?(?: (?:for|of|in|by|with|within))? (?:at (?:most|least)|up to|no (?:more|later|less|earlier|fewer) than|a maximum of) (?:\d+|one|two|three|four|five|six|ten|twelve)\b(?: (?!and\b|for\b|of\b|to\b|by\b|from\b|with\b|at\b|on\b|in\b)[\w%-]+){0,3}"),
    provided=re.compile(r",? (?:if|unless|provided(?: that)?|as long as|so that) (?:it|they|he|she|its|their|there|the|an?|nobody|nothing|no)\b.*$"),
    means=re.compile(r" (?:(?:by|with|via|using|through) (?:the|a|your|my|their|his|its) (?:registered|saved|stored|usual) [\w-]+(?: [\w-]+)?|(?:by|with|via|using|through|from|to) (?:the|a|your|my|their|his|its) (?:[\w-]+ ){1,3}on (?:file|record))(?=$|,)"),
    second=re.compile(r",? (?:and|then|and then) (?P<verb>[\w-]+) (?:the|an?|its|his|her|their|any|all|every|your|my)\b"),
    same_thing=re.compile(r"\b(?:it|them|him|one)\b"),
    optionally=re.compile(r",? optionally (?P<rest>[^,]*)"),
    infinitive=re.compile(r"[a-z]+[^s\W]"),  # between a conjunction and a determiner, what is no plural is a verb
    by_any=re.compile(r" by (?:its |his |her |their |the |an? )?(?P<by>[\w-]+(?: [\w-]+)?)$", re.IGNORECASE),
    bare_plural=r"^(?P<verb>[\w-]+) {noun}\b",
    one_found=re.compile(r"^(?P<verb>find|look up|look for|search for|locate|get|identify) (?:an?|one) (?:[\w-]+ or (?!an?\b)[\w-]+ )?(?=\w)"),
    found="{verb} the ",
    some_date=re.compile(r"\b(?P<before>(?:on|for|until|till|from|since|before|after|by|of|to|at) )?(?:an?|any|some|one|another|the given|a given|a certain|a particular|an? (?:later|earlier|new|other|different)) (?:date|day)\b"),
    date_label=words("date day when"),
    on_date="on {value}",
    months=(
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ),
    first_day="1",
    day_and_time="{day} at {time}",
    definite=words("the your"),
    alternatives=re.compile(r", (?P<every>(?:all|every|any|either|both)\b[^,]*?) or (?P<one>[^,]*)$"),
    longer=(re.compile(r" for (?:a while )?longer$"), "for {value} more {noun}"),
    by_identity=re.compile(r" (?:by|with|from|using|given) (?:its|his|her|their|the|an?|unique)?(?: ?[\w-]+)? ?(?:ids?|numbers?|identifiers?|codes?|references?|names?|keys?)\b", re.IGNORECASE),
    or_else=re.compile(r"\0,? or (?:(?:for|of|at|by|in|with) )?(?:an?|the|its|all|another)? ?(?:[\w-]+)(?: of [\w -]+)?"),
    articles={"": ("the", "that")},
    contractions=((re.compile(r"\bthat that\b"), "that this"),),
    position=re.compile(r"\b(?:at|for|of|around|near|from|to|by|in|on) (?:(?:an?|the|any|some|given|specific|certain|your) )*(?:(?:GPS|geographic|geographical|exact|decimal) )*(?:coordinates?|position|location|point|place|latitude(?: and longitude)?)\b(?: and longitude)?", re.IGNORECASE),
    position_words=words("lat latitude lon lng long longitude"),
    in_place="in {value}",
    at_place="at {value}",
    there="there",
    there_of="at the place of the {which} result",
    for_value="for {value}",
    for_that="for {this} {noun}",
    for_its="for its {noun}",
    for_it="with that",
    for_nth="for the {which} one",
    nth_noun="the {which} {noun}",
    noun_of_nth="the {noun} of the {which} result",
    noun_of_both="the {which} {noun} of the {of} result",
    by_value=" with the {noun} {value}",
    asides=(
        (re.compile(r"^what (?P<it>(?:the|an?|your|its) .+?) (?P<is>is about|is called|is for)$"), "{it} {is} {value}"),
        (re.compile(r"^what (?P<it>(?:the|an?|your|its) .+?) (?P<is>[a-z]+s)$"), "{it} {is} {value}"),
        (re.compile(r"^who (?P<it>the .+?) (?P<is>is|are) for$"), "{it} {is} for {value}"),
        (re.compile(r"^where (?P<it>the .+? (?:go|goes|is sent|are sent|is delivered|are delivered))$"), "{it} to {value}"),
        (re.compile(r"^why .+$"), "the reason: {value}"),
        (re.compile(r"^how (?P<it>the .+? (?:pays|is paid))$"), "{it} by {value}"),
        (re.compile(r"^who (?P<is>[a-z]+s (?:it|this|that|them))$"), "{value} {is}"),
        (re.compile(r"^(?P<it>.+) in (?P<unit>[a-z]{3,}s|percent)$"), "the {it} is {value} {unit}"),
    ),
    whether_aside=(
        (re.compile(r"^(?:whether to )?(?P<what>(?:include|show|send|keep|add|use|skip|allow|ignore|overwrite|force|return)\b.*)$"), "please {what}", "please do not {what}"),
        (re.compile(r"^(?P<what>.*)$"), "{what}, please", "not {what}, please"),
    ),
    attributes=words("name surname email e-mail phone title address number email address phone number"),
    with_that="with {this} {noun}",
    is_value="{label} is {value}",
    are_values="{label} are {value}",
    aside="{label}: {value}",
    plural=re.compile(r"(?<![su])s(?= of | for | to |$)|^(?:children|people|men|women)\b"),
    number_of="number of {what}",
    code_of="{what} number",
    languages={
        "en": "English", "fr": "French", "de": "German", "es": "Spanish", "it": "Italian", "pt": "Portuguese", "nl": "Dutch",
        "pl": "Polish", "sv": "Swedish", "da": "Danish", "fi": "Finnish", "no": "Norwegian", "cs": "Czech", "el": "Greek",
        "ru": "Russian", "ar": "Arabic", "tr": "Turkish", "ja": "Japanese", "zh": "Chinese", "ko": "Korean", "hu": "Hungarian",
        "ro": "Romanian", "uk": "Ukrainian",
    },
    language_label=re.compile(r"\blanguages?\b"),
    in_language="in {value}",
    into_one="into {value}",
    from_into="from {source} into {target}",
    from_language=words("source from original origin src"),
    into_language=words("target into to destination dest tgt dst"),
    some_languages=re.compile(r"\b(?:(?:for|of|in) (?:an?|the|one) (?:(?:pair|combination) of languages|language (?:pair|combination))|between (?:the )?(?:two )?languages|from (?:one|an?) language (?:in)?to (?:another|an? other)(?: language)?)\b"),
    denial=re.compile(r"(?:not|no|never|none|nothing|nobody|without)\b", re.IGNORECASE),
    tells="{task}, and tell me {what}",
    of_thing="{what} of the {thing}",
    ordinals=("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"),
    nth="{n}th",
    yes="yes",
    no="no",
    joined=" and ",
    label="{label}: {value}",
    answer="{facts}.",
    answer_nothing="That is done.",
    step="I use {values} from the result for the next step.",
    closings=("Thank you, that is all I needed.", "Great, thanks for your help.", "Perfect, that answers it. Goodbye."),
    summary_one="The agent is asked to {task}, {calls} times in one conversation.",
    summary_many="The agent is asked to {tasks}, in one conversation with {calls} calls.",
    situation="The user wants an assistant to {tasks}.",
    entities="The request is about {values}.",
    no_entities="The request names nothing in particular.",
    goal="You want the assistant to {tasks}.",
    goal_entities="This is about {values}.",
    manners=(
        "You are polite and bring one request after the other.",
        "You are brief and come straight to the point.",
        "You are friendly, and you thank the agent when it helped.",
        "You are in a bit of a hurry, yet you answer every question.",
        "You are careful and make sure that each request is done before the next.",
    ),
    known_name="Your name is {name}.",
    known_value="Your {label} is {value}.",
    forgotten="You do not remember the {label}.",
    abbreviations={
        "q": "search text", "lat": "latitude", "lon": "longitude", "lng": "longitude", "qty": "quantity", "num": "number",
        "nb": "number", "dept": "department", "tz": "time zone", "addr": "address", "desc": "description",
        "msg": "message", "repo": "repository", "dir": "folder", "lang": "language", "src": "source", "dst": "destination",
        "min": "minimum", "max": "maximum", "img": "picture", "pwd": "password", "org": "organization", "no": "number",
        "amt": "amount", "cnt": "count", "dob": "date of birth", "acct": "account", "temp": "temperature", "url": "link",
    },
    vague=words("date iso format number text value string id identifier yyyy mm dd integer optional the a an of"),
    hedges=re.compile(_HEDGES, re.IGNORECASE),
    first_names=(
        "Ada", "Ben", "Clara", "Daniel", "Emma", "Frank", "Grace", "Henry", "Iris", "James", "Karen", "Liam", "Maria",
        "Nora", "Oscar", "Paula", "Quentin", "Rosa", "Samuel", "Tessa", "Victor", "Wendy",
    ),
    last_names=(
        "Adams", "Baker", "Clark", "Dixon", "Ellis", "Foster", "Grant", "Hughes", "Irving", "Jensen", "Keller", "Lawson",
        "Morris", "Newman", "Osborne", "Parker", "Reed", "Spencer", "Turner", "Walsh",
    ),
)  # fmt: skip
