"""Verbs of French, Italian, Portuguese and Spanish, by which names and descriptions of tools tell reads from writes.

Names have the infinitive anywhere (`compte_crediter`), or begin with the form that descriptions begin with
(`annule_repas`, *Annule un repas*). Letters are compared without accents, as most names are written; what ends in `é`
is a participle and tells nothing. Left out are verbs that mean either (*rendre*, *volver*).
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise

from pytest_agentbench.core.tool import ToolKind

_REGULAR_WRITES = """
    abonner accepter activer actualiser ajouter annuler approuver archiver assigner attribuer bloquer cloturer confirmer
    crediter creer debiter debloquer decaler declarer demarrer deplacer desactiver deposer desabonner dupliquer echanger
    effacer emprunter enregistrer envoyer expedier facturer fermer fixer generer importer informer modifier noter
    notifier payer planifier preter programmer prolonger publier rattacher recrediter refuser regler rejeter relancer
    remplacer rembourser renommer renouveler reporter reprogrammer reserver resilier restaurer retirer retourner
    revoquer signaler souscrire supprimer suspendre transferer valider verser verrouiller
"""
_FRENCH_READS = """
    afficher calculer chercher compter consulter decrire donner enumerer examiner explorer fournir indiquer lire lister
    montrer obtenir presenter rechercher recuperer renvoyer repertorier retrouver trouver verifier visualiser voir
"""
_WRITES = f"""
    {_REGULAR_WRITES} commander deposer inscrire desinscrire ouvrir remettre reprendre mettre ecrire vendre acheter
    abrir acrescentar activar actualizar adicionar agendar agregar alterar alugar anadir anular apagar aplazar aprobar
    aprovar archivar arquivar asignar atribuir atualizar bloquear borrar cadastrar cambiar cancelar cerrar comprar
    concluir confirmar contratar crear criar desactivar desativar devolver editar eliminar encomendar enviar escribir
    escrever excluir fechar guardar ingresar inserir insertar inscribir marcar modificar mover pagar pausar posponer
    reagendar reactivar rechazar reembolsar registar registrar rejeitar remarcar remover renombrar renovar reponer
    reprogramar reservar salvar solicitar subir suspender transferir vender
    acquistare aggiornare aggiungere annullare aprire approvare archiviare assegnare attivare bloccare cambiare
    cancellare caricare chiudere confermare creare depositare disattivare disdire eliminare iscrivere inserire inviare
    modificare noleggiare ordinare pagare posticipare prenotare registrare respingere restituire rimborsare rimuovere
    rinnovare rinominare salvare scrivere segnalare sospendere spedire spostare trasferire vendere versare
"""
_READS = f"""
    {_FRENCH_READS} buscar comprobar consultar contar encontrar enumerar leer ler listar localizar mostrar obtener obter
    procurar recuperar ver verificar visualizar
    calcolare cercare consultare contare controllare elencare leggere mostrare ottenere recuperare trovare verificare
    visualizzare
"""
_FINITE_WRITES = """
    inscrit desinscrit rejette ouvre remet reprend met ecrit vend achete commande suspend cree envoie renouvelle
    paie reserve
    abre acrescenta activa actualiza adiciona agenda agrega altera aluga anade anula apaga aplaza aprueba aprova
    arquiva asigna atribui atualiza bloquea bloqueia borra cadastra cambia cancela cierra compra conclui confirma
    contrata crea cria desactiva desativa edita elimina encomenda envia escribe escreve exclui fecha guarda inserta
    inscribe marca modifica mueve move paga pausa pospone reagenda rechaza reembolsa registra rejeita remarca
    renombra renova renueva reprograma reserva salva solicita sube suspende transfiere transfere vende
    acquista aggiorna aggiunge annulla apre approva archivia assegna attiva blocca cancella carica chiude conferma
    deposita disattiva disdice iscrive inserisce invia noleggia ordina posticipa prenota respinge rimborsa rimuove
    rinnova rinomina scrive segnala sospende spedisce sposta trasferisce versa
"""
_FINITE_READS = """
    decrit lit obtient renvoie fournit voit retourne rend
    busca comprueba consulta cuenta devuelve encuentra indica lee lista localiza muestra mostra obtem obtiene procura
    recupera retorna devolve verifica visualiza
    cerca controlla elenca legge mostra ottiene restituisce trova visualizza
"""
_DESTROYS = """
    supprimer supprime effacer efface purger purge vider vide detruire detruit retirer retire enlever enleve revoquer
    revoque restaurer restaure reinitialiser reinitialise
    eliminar elimina borrar borra excluir exclui apagar apaga quitar quita remover
    eliminare cancellare cancella rimuovere rimuove
"""
_NOUNS = frozenset({
    "disponibilite", "disponibilites", "fiche", "historique", "horaire", "horaires", "menu", "solde", "statut", "tarif",
    "tarifs", "disponibilidad", "disponibilidade", "estado", "historial", "historico", "horario", "horarios", "saldo",
    "disponibilita", "orari", "orario", "scheda", "stato",
})  # fmt: skip
"""What names begin with that say only what is told, as `status` does."""
_AMBIGUOUS = frozenset({
    "active", "agenda", "archive", "carica", "cerca", "commande", "compra", "compte", "cree", "declare", "facture",
    "importer", "informer", "lit", "marca", "met", "move", "note", "payer", "programme", "programmer", "purge",
    "refuse", "remover", "rend", "reporte", "reporter", "reserva", "reserve", "retire", "retourne", "salva", "verse",
    "vide",
})  # fmt: skip
"""Forms that stand in names as nouns, or are words of English."""
_WORD = re.compile(r"[^\W\d_]+")
_ARTICLES = frozenset({
    "a", "as", "cette", "chaque", "d", "de", "della", "del", "des", "di", "du", "el", "gli", "i", "il", "l", "la", "le",
    "les", "lo", "o", "os", "sa", "ses", "son", "su", "un", "una", "une", "uma",
})  # fmt: skip
_DEFINITE = frozenset(["el", "il", "l", "la", "las", "le", "les", "lo", "los", "os", "um", "uma", "un", "una", "une"])
_OF_NOUNS = frozenset(["d", "da", "de", "del", "della", "des", "di", "do", "du"])
_OF = frozenset(["a", "da", "de", "per", "por", "pour"])
"""What stands before an infinitive that says what is to be done with a thing, and not what the tool does."""


def _er(verbs: str) -> frozenset[str]:
    return frozenset(verb[:-1] for verb in verbs.split() if verb.endswith("er"))


_DESTROYING = frozenset(_DESTROYS.split())
_INFINITIVES: dict[str, ToolKind] = {
    **dict.fromkeys(_READS.split(), "read"),
    **dict.fromkeys(_WRITES.split(), "write"),
}
_FINITE: dict[str, ToolKind] = {
    **dict.fromkeys(_er(_REGULAR_WRITES) - {"retourne"}, "write"),
    **dict.fromkeys(_FINITE_WRITES.split(), "write"),
    **dict.fromkeys(_er(_FRENCH_READS), "read"),
    **dict.fromkeys(_FINITE_READS.split(), "read"),
}


def kind_in_name(words: Sequence[str]) -> ToolKind:
    """Give what the words of a name say, lower case and without accents; `unknown` where they say nothing."""
    for place, word in enumerate(words):
        if word in _INFINITIVES and word not in _AMBIGUOUS and not (place and words[place - 1] in _OF):
            return _INFINITIVES[word]
    first = words[0] if words else ""
    return "unknown" if first in _AMBIGUOUS else _FINITE.get(first, "unknown")


def kind_in_description(description: str) -> ToolKind:
    """Give what a description begins by saying that the tool does; `unknown` where it also changes something."""
    words = list(_plain(description))
    opening = _opening(words)
    if opening == "write" and words[1:2] and words[1] in _OF_NOUNS:
        return "unknown"  # a noun: *Réserve de livres*
    return "unknown" if opening == "read" and _changes(words) else opening


def changes_besides(description: str) -> bool:
    """Whether a description begins by saying what is told, and goes on by saying what is changed."""
    words = list(_plain(description))
    return _opening(words) == "read" and _changes(words)


def is_told(words: Sequence[str]) -> bool:
    """Whether a name begins with what is told: `solde_compte`."""
    return bool(words) and words[0] in _NOUNS


def destroying(words: Sequence[str]) -> str:
    """Give the verb of a name by which a tool takes away what is there, "" where there is none."""
    return next((word for place, word in enumerate(words) if word in _DESTROYING and _says(word, place)), "")


def without_accents(text: str) -> str:
    """Give a text without accents: what names of tools are written in."""
    return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))


def _says(word: str, place: int) -> bool:
    return word in _INFINITIVES or word.endswith(("er", "ar", "are", "ere")) or (place == 0 and word not in _AMBIGUOUS)


def _opening(words: list[str]) -> ToolKind:
    """Give what the first word says; one that is English as well counts before an article alone (*Note le score*)."""
    if not words or (words[0] in _AMBIGUOUS and not set(words[1:2]) & _DEFINITE):
        return "unknown"
    return _FINITE.get(words[0]) or _INFINITIVES.get(words[0]) or "unknown"


def _changes(words: list[str]) -> bool:
    """Whether a word after the first is a verb that changes: none that has an article before it, and no participle."""
    return any(
        word not in _AMBIGUOUS and before not in _ARTICLES and "write" in (_FINITE.get(word), _INFINITIVES.get(word))
        for before, word in pairwise(words)
    )


def _plain(text: str) -> Iterator[str]:
    for place, word in enumerate(_WORD.findall(text.lower())):
        if not place or not word.endswith(("é", "ée", "és", "ées")):
            yield without_accents(word)
