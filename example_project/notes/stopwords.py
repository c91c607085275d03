"""Words that say nothing about the subject of a question or of a line, in English and French, folded."""

_ENGLISH = """
a about above after again all also am an and any are aren as at be because been before being below between both but by
can cannot could did didn do does doesn doing don down during each either else ever every few for from further get give
got had has hasn have having he her here hers him his how i if in into is isn it its itself just let like may me
might mine more most much must my near no nor not now of off often on once one only onto or other our out over own
please quite rather really s same shall she should so some still such t tell than that the their theirs them then there
these they this those through to too under until up us use used uses using very want was wasn we were what when where
whether which while who whom whose why will with within without would you your yours ll re ve d m
say says said know note notes mention mentions mentioned according explain describe show find exactly actually many
many's something anything kind sort okay ok thanks thank hi hello
"""

_FRENCH = """
ai aie ait alors apres as au aucun aussi autre autres aux avais avait avant avec avez avoir avons c ca car ce ceci cela
deja celle celles celui ces cet cette ceux chaque chez ci comme comment contre d dans de depuis des deux-ci dire dis dit
donc dont du elle elles en encore entre es est et etaient etait etais ete etre eu eux faire fait fais faut font ici il
ils j je jusque l la le les leur leurs lors lorsque lui m ma mais me meme memes mes moi moins mon n ne ni nos notre
nous on ont ou par parle parlent parler pas pendant peu peut peux plus pour pourquoi pres puis qu quand que quel quelle
quelles quels qui quoi s sa sais sans se selon sera ses si soit son sont sous sur t ta te tes toi ton toujours tous tout
toute toutes tres trop tu un une va veux voici voila vos votre vous y
explique expliquer donne donner montre trouve combien etre vraiment exactement merci bonjour salut
"""

STOPWORDS = frozenset((_ENGLISH + _FRENCH).split())
"""All of them: questions and notes mix the languages."""
