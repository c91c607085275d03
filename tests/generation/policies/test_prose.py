"""Rules in running text, English and French: what is cut, what stays whole, what is left out, what is said with it."""

import pytest

from pytest_agentbench.generation.policies.extraction.extraction import PolicyDocument, extract


def texts(text):
    """Give the texts of the policies of a document."""
    return [policy.text for policy in extract(PolicyDocument(text=text)).policies]


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        (
            "Be brief with callers, and ask one thing at a time.",
            ["Be brief with callers.", "Ask one thing at a time."],
        ),
        (
            "Check the size first; the small boat must never be let to groups.",
            ["Check the size first.", "The small boat must never be let to groups."],
        ),
        (
            "Seats are held for an hour, so remind callers of the time.",
            ["Remind callers of the time."],
        ),
        (
            "Vous demanderez toujours le nom, et vous attendrez que le client dise oui.",
            ["Vous demanderez toujours le nom.", "Vous attendrez que le client dise oui."],
        ),
        (
            "On ne cite aucun prix de mémoire et l'on ne promet pas de date.",
            ["On ne cite aucun prix de mémoire.", "L'on ne promet pas de date."],
        ),
    ],
)
def test_a_sentence_of_two_rules_is_cut(text, rules):
    """A coordination whose sides stand on their own makes two rules, each a sentence with its own place."""
    found = extract(PolicyDocument(text=text)).policies

    assert [policy.text for policy in found] == rules
    for policy in found:
        span = policy.spans[0]
        assert text[span.start : span.end].strip(".").lower() == policy.text.strip(".").lower()


@pytest.mark.parametrize(
    "text",
    [
        "If a caller is lost, tell them the way and never hang up first.",
        "Notice has to be in writing; do not accept it by phone.",
        "Claims over 500 euros need a receipt, and go to the claims team.",
        "The fee is paid by card, and never exceeds the price of the boat.",
        "Boats may go out until dusk, unless a storm is announced, and only with a vest.",
        "Pour annuler, exigez un écrit ; ne l'acceptez pas par téléphone.",
    ],
)
def test_what_hangs_together_stays_whole(text):
    """What one condition governs, what points back, and what goes on about the same subject is one rule."""
    assert texts(text) == [text]


def test_a_list_is_cut_as_its_author_cut_it():
    """An entry with two sentences' worth of orders is one policy."""
    text = "- Be brief with callers, and ask one thing at a time.\n- Never shout.\n"

    assert texts(text) == ["Be brief with callers, and ask one thing at a time.", "Never shout."]


@pytest.mark.parametrize(
    "text",
    [
        "We do not post parcels.",
        "The desk does not post parcels.",
        "You are not to value parcels.",
        "Anyone who asks for a parcel shows a card.",
        "You first ask for the number of the parcel.",
        "Nobody gets a parcel without a card.",
        "Should a parcel be lost, apologise.",
        "Parcels count as lost after ten days.",
        "On ne rend un colis que sur présentation d'une carte.",
        "Un colis n'est rendu qu'une fois.",
        "Les adresses ne se donnent à personne.",
        "Il n'est pas question de rendre un colis sans carte.",
        "Dites-le au client.",
        "On demande le numéro du colis.",
        "Seul le chef peut rendre un colis ouvert.",
        "Rien n'est rendu sans carte.",
    ],
)
def test_rules_without_an_order(text):
    """What is done, what nobody gets, whom a rule is for and `ne … que` state rules."""
    assert texts(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "Thank you for looking after our parcels.",
        "Sometimes a system will not answer.",
        "Parcels can be collected at the hut.",
        "You look after the parcels that reach us.",
        "The hut was never painted.",
        "The hut is always open.",
        "Il n'y a pas de parking.",
        "La cabane n'a pas de porte.",
        "Il arrive que la cabane ferme.",
    ],
)
def test_what_only_describes_is_left_out(text):
    """Thanks, what happens at times, what is possible without a limit and what there is not are no rules."""
    found = extract(PolicyDocument(text=text))

    assert found.policies == ()
    assert len(found.left_out) == 1


def test_a_rule_that_points_back_says_what_to():
    """A suite is given the sentence that `They` stands for; words, id and place are the rule's own."""
    text = "Fires have been a sore point. They are allowed from May to June only, and never on a Sunday."

    (policy,) = extract(PolicyDocument(text=text)).policies

    assert policy.text == "They are allowed from May to June only, and never on a Sunday."
    assert policy.policy().text == f"{policy.text} (Fires have been a sore point.)"
    assert "fires" not in policy.id


def test_a_clause_without_a_subject_says_whose_it_is():
    """What goes on about the subject of the clause before is told with that clause."""
    text = "L'inscription coûte 90 euros, et n'est enregistrée qu'après réception de la pièce d'identité."

    found = extract(PolicyDocument(text=text)).policies

    assert found[-1].text == "N'est enregistrée qu'après réception de la pièce d'identité."
    assert found[-1].policy().text.endswith("(L'inscription coûte 90 euros.)")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Crews set off at six, but we do not promise a time.", "We do not promise a time."),
        ("Before speaking of a file, the assistant asks for the number.", None),
        ("Avant de parler d'un dossier, l'assistant demande le numéro.", None),
        ("No address may have a second bin.", None),
        ("After that a visit can be neither moved nor cancelled.", None),
    ],
)
def test_more_rules_without_an_order(text, rule):
    """What leads to a `but` is left out; what the assistant does, and what nothing can, are rules."""
    assert texts(text) == [rule or text]
