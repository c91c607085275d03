"""English words whose forms no ending tells: each form with the word that notes and questions share."""

_FORMS = """
 be been being; begin began begun; break broke broken; bring brought; build built; buy bought; catch caught; choose
chose chosen; come came; cut cutting; do did done; draw drew drawn; drink drank drunk; drive drove driven; eat ate
eaten; fall fell fallen; feed fed; feel felt; fight fought; find found; fly flew flown; forget forgot forgotten;
freeze froze frozen; get got gotten; give gave given; go went gone; grow grew grown; hang hung; hear heard; hide hid
hidden; hold held; keep kept; know knew known; lay laid; lead led; leave left; lend lent; lie lay lain; light lit;
lose lost; make made; mean meant; meet met; pay paid; put putting; read reading; ride rode ridden; ring rang rung;
rise rose risen; run ran running; say said; see saw seen; seek sought; sell sold; send sent; set setting; shake
shook shaken; shine shone; show shown; shut shutting; sing sang sung; sink sank sunk; sit sat; sleep slept; speak
spoke spoken; spend spent; spread spreading; stand stood; steal stole stolen; stick stuck; strike struck; swim swam
swum; take took taken; teach taught; tell told; think thought; throw threw thrown; understand understood; wake woke
woken; wear wore worn; win won; write wrote written; man men; woman women; child children; foot feet; tooth teeth;
mouse mice; leaf leaves; life lives; knife knives; half halves; index indices; matrix matrices; vertex vertices;
analysis analyses; good better best; bad worse worst; warmth warm; depth deep; height high tall; length long; width
wide; weight weigh weighs; strength strong; speed fast; heat hot;
decide decision decisions; choose choice choices; lose loss losses; sell sale sales; grow growth; fly flight flights;
die death deaths; prove proof proofs; believe belief beliefs
"""

IRREGULAR: dict[str, str] = {
    form: forms.split()[0] for forms in _FORMS.replace("\n", " ").split(";") for form in forms.split()[1:]
}
"""{form: the word it belongs to}."""
