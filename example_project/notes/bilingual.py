"""Common words in both languages, for a question in one and notes in the other; names need no translation."""

from collections import defaultdict

from notes.text import stem

_PAIRS = """
valeur value; defaut default; taille size; nombre number; nom name; fichier file; dossier folder directory; chemin
path; erreur error; avertissement warning; etape step; requete request query; reponse response reply answer; serveur
server; reseau network; paquet package; bibliotheque library; mise update; sortie release output; publication release;
version version; delai timeout delay; limite limit; seuil threshold; longueur length; largeur width; hauteur height;
poids weight; vitesse speed; debut start beginning; fin end; duree duration; jour day; semaine week; mois month; annee
year; heure hour; prix price; cout cost; gratuit free; cle key; jeton token; utilisateur user; compte account; mot
word; passe password; droit right permission; role role; journal log; trace trace; tache task; file queue; tampon
buffer; memoire memory; stockage storage; base database; table table; ligne line row; colonne column; champ field;
objet object; classe class; fonction function; methode method; parametre parameter; argument argument; variable
variable; chaine string; tableau array; liste list; ensemble set; boucle loop; evenement event; ecouteur listener;
greffon plugin; extension extension plugin; module module; composant component; modele model template; donnee data;
jeu set; entrainement training; essai trial test; couche layer; tete head; apprentissage learning; perte loss;
precision accuracy; reglage setting; configuration configuration; option option; commande command; drapeau flag;
raccourci shortcut; bouton button; fenetre window; page page; lien link; image image; couleur color colour; police
font; langue language; traduction translation; auteur author; livre book; chapitre chapter; article article; recette
recipe; four oven; cuisson cooking baking; sucre sugar; beurre butter; farine flour; sel salt; oeuf egg; viande meat;
vin wine; pain bread; hopital hospital; patient patient; scanner scan; tumeur tumour tumor; medecin doctor; projet
project; equipe team; chef lead leader head; reunion meeting; decision decision; accord agreement; licence license
licence; navigateur browser; requis required; obligatoire required mandatory; pris supported; charge support; supporte
support supported; deprecie deprecated; obsolete deprecated; installer install; desinstaller uninstall; lancer run
start; demarrer start; arreter stop; activer enable; desactiver disable; ajouter add; supprimer remove delete; envoyer
send; recevoir receive; lire read; ecrire write; charger load; chiffrer encrypt; renvoyer return; exiger require;
exige require; recommander recommend; changer change; modifier change modify; eviter avoid; empecher prevent;
permettre allow; configurer configure; tester test; deployer deploy; sauvegarde backup; moyen mean average; maximum
maximum; minimum minimum; difference difference; avantage advantage; raison reason; exemple example
"""


def _both_ways() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for pair in _PAIRS.replace("\n", " ").split(";"):
        french, *english = pair.split()
        for word in english:
            if stem(word) != stem(french):
                found[stem(french)].add(word)
                found[stem(word)].add(french)
    return {one: frozenset(others) for one, others in found.items()}


TRANSLATED: dict[str, frozenset[str]] = _both_ways()
"""{stem: words of the other language}."""
