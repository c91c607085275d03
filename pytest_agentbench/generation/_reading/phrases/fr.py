"""French, as the scripted user understands and speaks it."""

# ruff: noqa: E501, ISC004 - a pattern cut to fit a line is harder to check than a long one

from pytest_agentbench.generation._reading.phrases.language import Language, words

FRENCH = Language(
    code="fr",
    stopwords=words(
        "le la les un une des du de d l et ou en dans sur pour avec est sont été être ce cet cette ces vous votre vos je "
        "j mon ma mes me nous notre nos pouvez pourriez peux puis ne pas non oui merci aide si que qu qui quoi quel "
        "quelle quels quelles comment quand où pourquoi veux voulez souhaitez souhaite besoin savoir il elle on au aux "
        "à plus aussi bien bonjour monsieur madame avez avoir a ai c s y tout tous par plaît svp parce"
    ),
    kinds={
        "email": r"(?:adresses? )?(?:e[- ]?mails?|m[ée]ls?|courriels?|[ée]lectroniques?)|adresse de messagerie",
        "phone": r"num[ée]ros? de (?:t[ée]l[ée]phone|portable|mobile|ligne)|t[ée]l[ée]phone",
        "zip": r"codes? posta(?:l|ux)",
        "date_of_birth": r"dates? de naissance|né(?:e|\(e\))? le",
        "first_name": r"pr[ée]noms?",
        "last_name": r"noms? de famille",
        "payment_method": r"(?:moyens?|modes?|m[ée]thodes?) de (?:paiement|r[èe]glement)|comment (?:souhaitez|voulez)-vous (?:payer|r[ée]gler)",
        "address": r"adresses?(?: de livraison| postale| de facturation)?",
        "name": r"noms?(?: complets?| et pr[ée]noms?)?",
        "user_id": r"identifiants?(?: d['’]utilisateur| utilisateur| de connexion)?|nom d['’]utilisateur",
        "amount": r"montants?|combien",
        "city": r"ville",
        "country": r"pays",
        "reason": r"raisons?|motifs?|pourquoi",
    },
    identifier=(
        r"(?:num[ée]ros?|n°|identifiants?|r[ée]f[ée]rences?|codes?)(?: de| du| d['’]| d['’]une?| client)? ?(?:la |l['’]|votre |cette |une? )?"
        r"(?P<noun>[a-zéèêç]+)",
    ),
    nouns={
        "commande": "order", "achat": "order", "réservation": "reservation", "reservation": "reservation",
        "confirmation": "reservation", "dossier": "case", "client": "customer", "membre": "customer",
        "adhérent": "customer", "compte": "account", "utilisateur": "user", "facture": "invoice", "suivi": "tracking",
        "contrat": "contract", "produit": "product", "article": "item", "série": "serial", "carte": "card",
        "ticket": "ticket", "ligne": "phone", "téléphone": "phone",
    },
    which=r"(?:quelle?s?|laquelle de vos|lequel de vos) (?P<noun>[a-zéèêç]+?)s?",
    starts_open=(
        r"(?:et |alors |mais )?(?:pourquoi|quel(?:le)?s?|lequel|laquelle|quand|où|qui|qu['’]est-ce qu|que |comment|combien)"
    ),
    which_one=r"quel(?:le)?s?|lequel|laquelle|choisi\w*|pr[ée]f[ée]rez",
    own_name=r"votre|vos|ton|tes|le|un|et|ou|avec|au|son|quel|quels|est",
    requests=(
        r"(?:pouvez|pourriez|voulez|voudriez)[- ]vous (?:bien )?(?:me |nous |m['’])?"
        r"(?:donner|fournir|indiquer|communiquer|pr[ée]ciser|transmettre|envoyer|dire|rappeler|partager|confirmer|v[ée]rifier|saisir)",
        r"(?:peux|pourrais)[- ]tu", r"veuillez (?!noter|patienter)\w+",
        r"merci de (?:me |nous |m['’])?(?:donner|fournir|indiquer|communiquer|pr[ée]ciser|transmettre|envoyer|dire|confirmer|rappeler)",
        r"(?:indiquez|donnez|dites|pr[ée]cisez|communiquez|fournissez|envoyez|transmettez|saisissez|rappelez)(?:-moi|-nous)?",
        r"il (?:me|nous) (?:faut|faudrait|faudra|manque)", r"j['’](?:ai|aurai|aurais) (?:[ée]galement |aussi )?besoin",
        r"nous (?:avons|aurons|aurions) besoin", r"puis-je (?:avoir|connaître|vous demander|savoir)",
        r"pourrais-je (?:avoir|connaître|savoir)", r"(?:avez|auriez|connaissez)[- ]vous", r"j['’]aimerais (?:avoir|connaître|savoir)",
        r"je (?:dois|voudrais) (?:connaître|savoir|avoir)",
    ),
    wh_requests=(r"quel(?:le)?s?", r"lequel|laquelle|lesquels|lesquelles", r"où", r"pourquoi", r"quand", r"combien", r"comment (?!puis-je)",
                 r"à quel(?:le)?s?", r"qui", r"votre [\w -]+", r"qu['’]est-ce que|que (?!puis-je)"),
    alternatives=(
        r"vous pouvez (?:aussi |[ée]galement |sinon )*(?:me |nous )?(?:donner|fournir|indiquer|utiliser|envoyer)",
        r"je peux (?:aussi |[ée]galement )*(?:vous )?(?:retrouver|v[ée]rifier|chercher|identifier|rechercher)[^.?!]*?(?:avec|par|grâce à) ",
        r"sinon|à d[ée]faut",
    ),
    dropped=(
        r"(?:une fois que|dès que|lorsque) (?:j|je|vous|nous)[^,.;?!]*[,.;]?",
        r"si vous (?:ne|n['’]|avez (?:besoin|d['’]autres)|souhaitez|voulez)[^,.;?!)]*[,)]?",
        r"afin (?:que|de)[^,.?!]*", r"merci (?:beaucoup )?(?:pour|d['’]avoir)[^.?!]*",
    ),
    back_reference=r"ces|cela|ça|ceux-ci|les d[ée]tails|ces informations|l['’]une?",
    forward_reference=r"suivant(?:e?s)?|ci-dessous|:",
    confirmations=(
        r"(?:souhaitez|voulez|confirmez|acceptez|d[ée]sirez|pr[ée]f[ée]rez)[- ]vous", r"vous confirmez|confirme[rz]?\s*\?", r"(?:dois|puis)-je (?!avoir|conna|vous demander|savoir|vous aider)",
        r"(?:voulez|souhaitez)-vous (?:que je|bien)", r"est-ce (?:que c['’]est )?(?:bien|correct|exact|bon|ok|d['’]accord|cela|ça)",
        r"(?:veuillez|merci de|pouvez-vous|pourriez-vous)(?: me| bien)? confirmer(?! votre)", r"c['’]est (?:bien ça|correct|exact|bon)\s*\?",
        r"d['’]accord\s*\?", r"[êe]tes-vous (?:sûre?|d['’]accord|pr[êe]te?|certaine?)", r"\(?oui ?(?:/|ou) ?non\)?",
        r"cela vous (?:convient|va)", r"ça vous (?:convient|va)", r"r[ée]pond(?:ez|re) (?:par )?[«\"]?\s?oui",
    ),
    questions=(r"(?:est|sont|avez|[êe]tes|a|ont|faut|peut)-(?:ce|vous|il|elle|ils|elles|on|t-il|t-elle)", r"est-ce que?"),
    rhetorical=(r"n['’]est-ce pas (?:génial|super|formidable)", r"pourquoi\s*\?\s*parce", r"quoi de (?:mieux|plus)"),
    completed=r"a été|ont été|avez|est maintenant|j['’]ai|nous avons|avec succès|recevrez",
    anything=r"(?:plus|davantage|d['’]autres) (?:de |d['’])?(?:d[ée]tails|informations|renseignements|pr[ée]cisions)",
    addressed=r"vous|votre|vos|tu|ton|ta|tes|je|nous|ce|ça|cela|quel(?:le)?s?",
    conditional=r"si|sauf|souhaitez-vous|voulez-vous|au cas où",
    extras=r"aussi|[ée]galement|en plus|suppl[ée]mentaire|ajouter|plutôt|autre",
    closers=(
        r"(?:y a-t-il|avez-vous(?: besoin)?|souhaitez-vous|voulez-vous|puis-je)[^.?!]*(?:autre chose|quelque chose d['’]autre|d['’]autres? "
        r"(?:questions?|demandes?|besoins?))[^.?!]*",
        r"autre chose[^.?!]*", r"n['’]h[ée]sitez pas[^.?!]*", r"(?:si|s['’]il) (?:vous|y)[^.?!]*(?:dites-moi|faites-le-moi savoir|n['’]h[ée]sitez)[^.?!]*",
        r"si vous avez (?:besoin|d['’]autres)[^.?!]*",
    ),
    offers_help=(
        r"(?:comment|en quoi) (?:puis-je|pouvons-nous|je peux|peut-on)[^.?!]*(?:aider|assister|être utile|renseigner)[^.?!]*",
        r"que puis-je (?:faire )?pour vous[^.?!]*", r"quelle est votre (?:demande|question)[^.?!]*",
    ),
    handovers=(
        r"je vous (?:transf[èe]re|mets en (?:relation|contact)|passe|redirige|oriente)",
        r"vous (?:allez être|serez|êtes|avez [ée]t[ée]) (?:maintenant )?(?:transf[ée]r[ée]e?|mise? en (?:relation|contact)|redirig[ée]e?)",
        r"(?:un|une) (?:conseiller|conseillère|collègue|agent)(?: humain)? (?:va|prendra|vous)",
        r"(?:je vais|j['’]ai) (?:vous )?transf[ée]r(?:er|[ée])",
    ),
    waits=(r"un (?:instant|moment)", r"(?:veuillez|merci de) patienter", r"une (?:seconde|minute)", r"je (?:v[ée]rifie|regarde|consulte|cherche)",
           r"je vais (?:v[ée]rifier|regarder|consulter|chercher)", r"laissez-moi"),
    instructions=(r"veuillez", r"merci de (?!(?:nous |m['’]|vous )?avoir)", r"vous (?:devez|devriez)", r"dites-moi", r"s['’]il vous plaît"),
    answers=r"(?:oui|non|si|ouais|d['’]accord|bien sûr|ok|okay|certainement|absolument|exact|exactement|c['’]est (?:ça|bon|exact|correct)"
    r"|tout à fait|je confirme|confirmé|allez-y|vas-y|parfait|volontiers|pas vraiment|ça me va|s['’]il vous plaît oui)",
    agreements=r"(?:oui|si|ouais|d['’]accord|bien sûr|ok|okay|certainement|absolument|exact|exactement|c['’]est (?:ça|bon|exact|correct)"
    r"|tout à fait|je confirme|confirmé|allez-y|vas-y|parfait|volontiers|ça me va)",
    fillers=r"encore|(?:à|de) nouveau|désolée?|pardon|vraiment|simplement|maintenant|donc|alors|répète|compris",
    negation=r"ne|pas|sans|jamais|non|plutôt que|au lieu d['’e]|sauf",
    unknown=r"ne|n['’]\w*|pas|jamais|oubli[ée]e?|perdue?|ignore[sz]?|aucune? id[ée]e",
    bounds=r"moins de|plus de|jusqu['’]à|au plus|au moins|maximum|minimum|budget|sous|dans la limite",
    methods={
        "credit card": r"cartes? (?:de cr[ée]dit|bancaires?|bleues?)", "debit card": r"cartes? de d[ée]bit",
        "gift card": r"cartes?[- ]cadeaux?", "bank transfer": r"virements?(?: bancaires?)?", "cash": r"espèces|liquide",
        "cheque": r"chèques?", "store credit": r"avoir en magasin|un avoir", "voucher": r"bons? d['’]achat",
        "original payment method": r"(?:moyen|mode) de paiement (?:d['’]origine|initial|utilisé)",
    },
    months=("janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre",
            "décembre"),
    street=r"(?P<number>\d+[a-z]?),? (?:rue|avenue|boulevard|place|chemin|allée|impasse|quai|route|cours)",
    option_split=r",?\s+ou\s+(?:bien )?(?:par |avec |sur |un |une |le |la |votre |en )*|,\s*",
    option_lead=r"(?:.*(?:\b(?:pr[ée]f[ée]rez-vous|souhaitez-vous|voulez-vous|utiliser|par|avec|entre|soit|sur|un|une|le|la|votre|en|payer)\b|\bl['’]))",
    first_person=(
        (r"\bvous êtes\b|\btu es\b", "je suis"), (r"\bvous avez\b|\btu as\b", "j'ai"), (r"\bvous voulez\b|\btu veux\b", "je veux"),
        (r"\bvous souhaitez\b|\btu souhaites\b", "je souhaite"), (r"\bvous ne connaissez pas\b", "je ne connais pas"),
        (r"\bvous ne savez pas\b", "je ne sais pas"), (r"\bvous ne vous souvenez pas\b", "je ne me souviens pas"),
        (r"\bvous n['’]avez pas\b", "je n'ai pas"), (r"\bvous (\w+)ez\b", r"je \1e"), (r"\bvotre\b", "mon"),
        (r"\bvos\b", "mes"), (r"\bvous\b", "je"), (r"\bton\b", "mon"), (r"\bta\b", "ma"), (r"\btes\b", "mes"), (r"\btu\b", "je"),
    ),
    labels={
        "email": "Mon adresse e-mail", "phone": "Mon numéro de téléphone", "zip": "Mon code postal",
        "date_of_birth": "Ma date de naissance", "first_name": "Mon prénom", "last_name": "Mon nom de famille",
        "payment_method": "Mon moyen de paiement", "address": "Mon adresse", "name": "Mon nom",
        "user_id": "Mon identifiant", "amount": "Le montant", "order_id": "Mon numéro de commande",
        "reservation_id": "Mon numéro de réservation", "customer_id": "Mon numéro de client",
        "account_id": "Mon numéro de compte", "invoice_id": "Mon numéro de facture", "city": "Ma ville",
        "country": "Mon pays", "reason": "La raison",
    },
    say_value="{label} est {value}",
    say_free_value="{label} : {value}",
    say_unknown="Je ne sais pas ({label}).",
    say_yes="Oui, s'il vous plaît.",
    say_yes_value="Oui, {label} est {value}",
    say_no="Non, je veux {wanted}, pas {found}.",
    say_no_extra="Non, merci.",
    say_choice="{value}, s'il vous plaît.",
    say_wait="D'accord, merci.",
    say_closing="Non, c'est tout. Merci.",
    join_or=" ou ",
)  # fmt: skip
"""French, as data."""
