"""English, as the scripted user understands and speaks it."""

# ruff: noqa: E501, ISC004 - a pattern cut to fit a line is harder to check than a long one

from pytest_agentbench.generation._reading.phrases.language import Language, words

ENGLISH = Language(
    code="en",
    stopwords=words(
        "the a an and or of to in on for with is are was were be been it its this that these those you your i my me we "
        "our can could would will shall should do does did have has had not no yes please thank thanks help if at by "
        "from as so but any there here what which who how when where why want like need know get let us up about also "
        "just am an he she they them his her their than then into out all some more one sure don doesn didn isn"
    ),
    kinds={
        "email": r"e[- ]?mails?(?: address(?:es)?)?",
        "phone": r"(?:tele)?phone numbers?|(?:mobile|cell(?:ular)?|contact|call-?back) (?:phone )?numbers?|telephone",
        "zip": r"zip[ -]?codes?|zip|postal[ -]?codes?|post ?codes?",
        "date_of_birth": r"dates? of birth|birth ?dates?|d\.?o\.?b\.?|birthday",
        "first_name": r"first(?: and last)? names?|given names?",
        "last_name": r"last names?|family names?|surnames?|first and last",
        "payment_method": r"payment (?:methods?|options?|means|details?)|methods? of payment"
        r"|how (?:would|do) you (?:like|want|wish) to pay",
        "address": r"(?:[a-z]+ )?address(?:es)?",
        "name": r"(?:full )?names?",
        "user_id": r"user ?(?:ids?|names?|numbers?)|login",
        "amount": r"amounts?|how much",
        "city": r"city|town|where (?:do you|you) live",
        "country": r"country",
        "reason": r"reasons?(?: why| for)?|why",
    },
    identifier=(
        r"(?:the|your|any|an|what) (?:ids?|numbers?|codes?|references?|identifiers?) (?:of|for|to) (?:your|the|this|that) (?P<noun>[a-z]+)",
        r"(?P<noun>[a-z]+)(?:['’]s)?[ _-](?:ids?|numbers?|nos?\.|codes?|references?|identifiers?|#|locators?)",
    ),
    nouns={
        "order": "order", "purchase": "order",
        "reservation": "reservation", "booking": "reservation", "confirmation": "reservation", "record": "reservation",
        "user": "user", "username": "user", "customer": "customer", "client": "customer", "member": "customer",
        "membership": "customer", "account": "account", "case": "case", "ticket": "ticket", "invoice": "invoice",
        "tracking": "tracking", "contract": "contract", "product": "product", "item": "item", "serial": "serial",
        "card": "card", "passport": "passport", "policy": "policy", "line": "phone", "phone": "phone",
    },
    which=r"which (?:of your )?(?P<noun>[a-z]+?)s?",
    starts_open=r"(?:and |so |but |then |also,? )?(?:why|what|which|when|where|who|whom|how)",
    which_one=r"which|what|choose|prefer|select|pick",
    own_name=r"your|you|full|legal|complete|the|a|an|own|account|and|or|by|with|under|using|us|me|both|whose"
    r"|account holder['’]s|customer(?:['’]s)?",
    requests=(
        r"(?:could|can|would|will) you (?!like|prefer|rather|want)",
        r"please (?!note|be aware|feel|wait|hold|see|allow|find|keep|don|do not|rest|let me know if|reach)[a-z]+",
        r"(?:provide|share|send|give|tell|supply|enter) (?:me|us|your|the|both|either)",
        r"(?:you )?provide (?:me|us)",
        r"(?:i|we)(?:['’]ll| will| would|['’]d)?(?: also| just| still| first| only)* (?:need|require)(?! to (?!know|have|ask))",
        r"(?:need|like) to (?:know|have|ask for)",
        r"(?:may|can|could|might) (?:i|we) (?:please )?(?:have|get|ask|take|know)",
        r"tell (?:me|us)", r"give (?:me|us)", r"let (?:me|us) know (?!if|once|when|how|should)",
        r"i(?:['’]m| am) going to need", r"you(?:['’]ll| will) need to (?:provide|share|give)",
        r"we(?:['’]re| are) missing|i(?:['’]m| am) missing", r"double[- ]check", r"(?:verify|confirm) your (?!identity)",
        r"(?:do|would) you (?:happen to )?(?:have|know|remember|recall)", r"mind (?:sharing|giving|telling|providing)",
    ),
    wh_requests=(
        r"what(?:['’]s| is| are| was| were)?(?! else)", r"which", r"why", r"where", r"when", r"who", r"how (?!can i|may i)",
        r"for (?:what|which)", r"at (?:what|which)", r"under (?:what|which)", r"whose", r"your [\w -]+",
    ),
    alternatives=(
        r"(?:you can|you may|you could|feel free to)(?: also| instead| alternatively)* (?:provide|share|give|send|tell|use)",
        r"(?:i|we) (?:can|could)(?: also| instead)* (?:look|find|verify|locate|search|authenticate|identify)[^.?!]*?"
        r"(?:by|using|with|via|through|from) (?:your|the|a)",
        r"alternatively|otherwise|or else",
    ),
    dropped=(
        r"(?:once|after|as soon as) (?:i|you|we)\b[^,.;?!]*[,.;]?",
        r"if (?:you )?(?:don['’]?t|do not|can['’]?t|cannot|aren['’]?t|are not|['’]re not|are unsure|didn['’]?t|have trouble)"
        r"[^,.;?!)]*[,)]?",
        r"if you(?:['’]re| are) (?:not |un)[^,.;?!)]*[,)]?",
        r"if you (?:need|have any|would like|['’]d like|want|have other|have further)[^,.;?!)]*[,)]?",
        r"so (?:that )?(?:i|we) (?:can|could|may)[^.?!]*",
        r"thank(?:s| you)(?: so much| very much)? for [^.?!]*",
        r"(?:associated|on file|linked|registered) with[^,.;?!]*(?=,)",
    ),
    back_reference=r"these|those|them|this|that|the details|the information|it",
    forward_reference=r"following|below|:",
    confirmations=(
        r"do you confirm|confirm(?:ed)?\s*\?",
        r"(?:do|would|can|could|will) you(?: also| still| now| instead| then)* (?:like|want|wish|agree|prefer|approve|accept)(?! me to know)",
        r"(?:shall|should) (?:i|we)", r"(?:may|can|could) (?:i|we) (?:proceed|go ahead|continue|do|process|make|place|submit)",
        r"is (?:this|that|it|everything|all of this|all this)(?: all| information)? "
        r"(?:ok|okay|correct|right|fine|acceptable|accurate|alright|good)",
        r"are (?:these|those|the details|you) (?:\w+ )?(?:sure|ok|okay|happy|correct|right|ready|fine|good|certain)",
        r"(?:please|kindly|just|can you|could you)(?: \w+)? confirm"
        r"(?! (?:your|the) (?!details|above|information|following|summary|choice|decision|changes?|request"
        r"|(?:order|booking|reservation|cancellation|refund|return|exchange|purchase|payment|address)(?! number| id| code|s)))",
        r"confirm (?:that|if|whether|this|these|you|to|by|with)", r"(?:reply|answer|respond|say)(?: with)? [\"“']?yes",
        r"\(?yes ?(?:/|or) ?no\)?", r"go ahead\s*\?", r"proceed\s*\?", r"sound(?:s)? good", r"(?:correct|right|okay|ok)\s*\?",
        r"does (?:this|that|everything) (?:look|sound|work|seem)", r"do i have your (?:permission|consent|approval|okay)",
    ),
    questions=(
        r"(?:is|are|was|were|do|does|did|have|has|can|could|will|would|may|shall|should) "
        r"(?:you|your|i|we|this|that|it|there|these|those|any)",
    ),
    rhetorical=(r"isn['’]t (?:that|it) \w+", r"how (?:great|nice|lovely|about that|cool)", r"why\?\s*because", r"who doesn['’]t"),
    completed=r"(?:has|have) been|was|were|successfully|i['’]ve|we['’]ve|i have|you have|you will receive|is now|are now",
    anything=r"(?:any|more|other|additional|further|some)(?: other| more| additional)?(?: relevant| identifying)?"
    r" (?:details?|information|info|identifiers?)",
    addressed=r"you|your|yours|i|we|me|us|this|that|it|these|those|any|which",
    conditional=r"if|unless|would you|can also|in case|should you|only when",
    extras=r"also|as well|in addition|additionally|extra|add|upgrade|instead|too|another",
    closers=(
        r"(?:is|are) there (?:anything|something|any other|other)[^.?!]*",
        r"(?:do|would) you (?:need|want|like|have)(?: to know| me to do| help with| assistance with)?"
        r" (?:anything|something|any other|any further|further|any more)[^.?!]*",
        r"(?:anything|something) (?:else|more)[^.?!]*", r"(?:what|how) else (?:can|may|could) i[^.?!]*",
        r"(?:please |just |feel free to )*(?:let me know|tell me|ask|reach out|contact us|reply)[^.?!]* if (?:you|there)[^.?!]*",
        r"if (?:you|there)[^.?!]*(?:let me know|feel free|just ask|tell me|reach out|here to help|glad to help)[^.?!]*",
        r"if (?:you|there)[^.?!]*(?:anything|something) else[^.?!]*", r"can i (?:help|assist) (?:you )?with anything[^.?!]*",
    ),
    offers_help=(
        r"how (?:can|may|could|might) (?:i|we) (?:help|assist|be of)[^.?!]*", r"what can (?:i|we) do for you[^.?!]*",
        r"how (?:can|may) i be of (?:help|assistance|service)[^.?!]*", r"what brings you (?:here|in)[^.?!]*",
        r"what (?:would you like|do you need) (?:help|assistance) with[^.?!]*",
    ),
    handovers=(
        r"(?:you are|you['’]re|you have been|you['’]ve been) (?:being |now being )?(?:transferred|handed over|connected|escalated)",
        r"(?:i am|i['’]m|we are|we['’]re)(?: now)? (?:transferring|connecting|handing|escalating|passing) you",
        r"(?:i will|i['’]ll)(?: now)? (?:transfer|connect|hand|escalate|pass) (?:you|your \w+|this)",
        r"(?:i have|i['’]ve|we have|we['’]ve) (?:transferred|handed|escalated|connected|passed) (?:you|your|this|the)",
        r"human (?:agent|colleague|representative) (?:will|is going to) (?:take over|assist|help|contact|reach)",
    ),
    waits=(
        r"(?:one|a|just a) (?:moment|second|minute|sec)", r"please (?:hold|wait|bear with)", r"hold on", r"bear with me",
        r"let me (?:check|look|see|pull|find|verify|review|search)", r"i(?:['’]ll| will) (?:check|look|pull|search|verify) ",
        r"(?:still )?(?:checking|looking into|working on) (?:it|that|this|your)",
    ),
    instructions=(r"please", r"you (?:should|need to|must|have to|can now)", r"let me know"),
    answers=r"(?:yes|yeah|yep|yup|no|nope|nah|sure|ok|okay|of course|certainly|absolutely|definitely|correct|exactly|right"
    r"|go ahead|please do|please go|please proceed|proceed|i confirm|confirmed|i agree|agreed|that['’]s (?:right|correct|fine)"
    r"|that is (?:right|correct|fine)|sounds good|perfect|do it|not really|never mind)",
    agreements=r"(?:yes|yeah|yep|yup|sure|ok|okay|of course|certainly|absolutely|definitely|correct|exactly|right|go ahead"
    r"|please do|please go|please proceed|proceed|i confirm|confirmed|i agree|agreed|that['’]s (?:right|correct|fine)"
    r"|that is (?:right|correct|fine)|sounds good|perfect|do it)",
    fillers=r"again|still|once more|sorry|apolog(?:y|ies|i[sz]e)|really|just|simply|now|then|okay|repeat(?:ing)?|understand",
    negation=r"not|\w*n['’]t|no|never|without|instead of|rather than|except|other than|avoid",
    unknown=r"not|\w*n['’]t|cannot|never|unknown|unsure|forgot(?:ten)?|lost|no (?:idea|longer)",
    bounds=r"less than|under|below|more than|over|above|up to|at most|at least|maximum|minimum|max|min|no more than|budget|cheaper than|within",
    methods={
        "credit card": r"credit[ _-]cards?", "debit card": r"debit[ _-]cards?", "gift card": r"gift[ _-]cards?",
        "PayPal": r"pay ?pal\w*", "bank transfer": r"bank[ _-]transfer|wire transfer", "cash": r"cash",
        "cheque": r"cheque|(?<!double )check by mail", "store credit": r"store credit", "voucher": r"vouchers?|certificates?",
        "original payment method": r"original (?:payment )?(?:method|form|means)(?: of payment)?",
        "Apple Pay": r"apple pay", "Google Pay": r"google pay",
    },
    months=("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
            "november", "december"),
    street=r"(?P<number>\d+[a-z]?),? (?:[A-Z][\w'’.-]* ){1,3}(?:street|st|avenue|ave|road|rd|drive|dr|lane|ln|boulevard|blvd|court|way|place|square)",
    option_split=r",?\s+or\s+(?:with |by |to |a |an |the |your |via |on |in )*|,\s*",
    option_lead=r"(?:.*\b(?:prefer|like|want|use|with|by|via|choose|between|either|to|your|the|a|an|for|on|in|is it)\b)",
    first_person=(
        (r"\byou['’]re\b|\byou are\b", "I am"), (r"\byou['’]ve\b", "I've"), (r"\byou['’]d\b", "I'd"),
        (r"\byou['’]ll\b", "I'll"), (r"\byou were\b", "I was"), (r"\byourself\b", "myself"), (r"\byours\b", "mine"),
        (r"\byour\b", "my"), (r"(?<=\bto )you\b|(?<=\bfor )you\b|(?<=\bwith )you\b|(?<=\btold )you\b"
         r"|(?<=\bgive )you\b|(?<=\bhelp )you\b|(?<=\btell )you\b|(?<=\bcharged )you\b|(?<=\bsent )you\b", "me"),
        (r"\byou\b", "I"),
    ),
    labels={
        "email": "email", "phone": "phone number", "zip": "zip code", "date_of_birth": "date of birth",
        "first_name": "first name", "last_name": "last name", "payment_method": "payment method",
        "address": "address", "name": "name", "user_id": "user id", "amount": "amount",
    },
    say_value="My {label} is {value}",
    say_free_value="My {label} is {value}",
    say_unknown="I do not know my {label}.",
    say_yes="Yes, please.",
    say_yes_value="Yes, my {label} is {value}",
    say_no="No, I want {wanted}, not {found}.",
    say_no_extra="No, thank you.",
    say_choice="{value}, please.",
    say_wait="OK, thank you.",
    say_closing="No, that is all. Thank you.",
    join_or=" or ",
)  # fmt: skip
"""English, as data."""
