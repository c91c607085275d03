"""Agents of the ferry office. Each manner is a talk: it waits for a message and gives an answer."""

import re

JA = re.compile(r"\b(ja|jo|passt|gern)\b", re.I)


def build(tools, art="ruhig"):
    call = {tool.__name__: tool for tool in tools}

    def tu(name, **arguments):
        try:
            return call[name](**arguments)
        except Exception as fehler:
            return fehler

    talk = ARTEN[art](tu)
    next(talk)

    def reply(message):
        try:
            return talk.send(message)
        except StopIteration as end:
            return end.value or "Gern geschehen. Auf Wiedersehen!"

    return reply


def nummer(message):
    found = re.search(r"B-\d+", message)
    return found and found[0]


def euro(amount):
    return f"{amount:.2f}".replace(".", ",") + " Euro"


def ruhig(tu):
    message = wunsch = yield
    while nummer(message) is None:
        message = yield "Das sehe ich mir gern an. Wie lautet denn Ihre Buchungsnummer?"
    buchung = tu("zeige_buchung", buchung=nummer(message))
    key = buchung["buchung"]
    if "Nachmittag" in wunsch:
        fahrt = tu("suche_abfahrten", tag="2026-07-04", nach="Sandroog")[-1]
        message = yield (
            f"Danke, Frau Janssen. Morgen um {fahrt['zeit']} Uhr fährt laut Plan noch ein Schiff, {fahrt['abfahrt']}, mit"
            f" {fahrt['frei']} freien Plätzen. Die Umbuchung von {key} kostet 5,00 Euro. Soll ich Sie beide umbuchen?"
        )
        if JA.search(message):
            tu("umbuchen", buchung=key, abfahrt=fahrt["abfahrt"])
            return f"Erledigt. {key} gilt jetzt für {fahrt['zeit']} Uhr, die Gebühr beträgt 5,00 Euro, zusammen sind es 53,00 Euro."
        return "Gut, dann bleibt es bei 08:15 Uhr."
    if "Auto" in wunsch:
        message = yield (
            "Guten Tag, Frau Janssen, sehr gern. Ich habe Ihre Buchung vor mir: B-4410, zwei Personen, morgen um 08:15 Uhr"
            " nach Sandroog, bisher 48,00 Euro. Ein Fahrzeug bis 4,50 Meter kostet 31,50 Euro; Ihres misst 4,20 Meter und"
            " fällt also noch darunter. Mit dem Auto AUR-WJ 12 kämen Sie damit auf insgesamt 79,50 Euro. An der Abfahrt"
            " selbst ändert sich dadurch nichts. Soll ich das Fahrzeug so zu B-4410 anmelden?"
        )
        if JA.search(message):
            tu("fahrzeug_anmelden", buchung=key, kennzeichen="AUR-WJ 12", meter=4.2)
            return "Das Auto AUR-WJ 12 ist angemeldet. Zusammen kostet die Buchung nun 79,50 Euro."
    if "absagen" in wunsch:
        message = yield (
            f"Das tut mir leid, gute Besserung! Ob sich {key} so kurz vorher noch stornieren lässt, sehe ich erst beim Versuch."
            f" Wenn ja, werden 80 Prozent erstattet, also {euro(buchung['preis'] * 0.8)}. Soll ich es versuchen?"
        )
        answer = tu("stornieren", buchung=key)
        if isinstance(answer, Exception):
            return (
                "Leider nimmt das System die Stornierung nicht mehr an: Bis zur Abfahrt sind es weniger als 24 Stunden. Ihre"
                " Buchung besteht also weiter und es wird nichts erstattet. Wenn Sie möchten, kann ich sie gegen 5,00 Euro"
                " auf einen anderen Tag umbuchen."
            )
    if "Hund" in wunsch:
        message = yield f"Gern, Herr Aydin. Ein Hund kostet 7,50 Euro, {key} käme damit auf 103,50 Euro. Soll ich ihn eintragen?"
        if JA.search(message):
            tu("hund_anmelden", buchung=key)
            return "Der Hund steht in Ihrer Buchung B-4411: 7,50 Euro mehr, zusammen 103,50 Euro."


def eilig(tu):
    message = yield
    key = nummer(message)
    tu("zeige_buchung", buchung=key)
    fahrt, voll = tu("suche_abfahrten", tag="2026-07-05", nach="Sandroog")
    yield (
        f"Am Sonntag um {voll['zeit']} Uhr ist leider alles voll. Frei ist nur {fahrt['abfahrt']} um {fahrt['zeit']} Uhr,"
        " die Umbuchung kostet 5,00 Euro. Wollen Sie das nehmen?"
    )
    tu("umbuchen", buchung=key, abfahrt=fahrt["abfahrt"])
    return f"Prima, {key} ist auf Sonntag, {fahrt['zeit']} Uhr, umgebucht. Gute Überfahrt!"


def genau(tu):
    message = yield
    key = nummer(message)
    tu("zeige_buchung", buchung=key)
    message = yield f"Das Auto AUR-WJ 12 mit 4,20 m kostet 31,50 Euro, {key} kommt damit auf 79,50 Euro. Anmelden?"
    if JA.search(message):
        tu("fahrzeug_anmelden", buchung=key, kennzeichen="AUR-WJ 12", meter=4.2)
        return "Angemeldet, zusammen 79,50 Euro. Abfahrt ist um 08:15 Uhr, die Schranke zur Verladung schließt um 07:35 Uhr."


def nett(tu):
    message = yield
    key = nummer(message)
    tu("zeige_buchung", buchung=key)
    yield f"Oh je, gute Besserung! Ich storniere {key} und Sie bekommen 80 Prozent zurück, das sind 38,40 Euro. Einverstanden?"
    return f"So, {key} ist storniert, die 38,40 Euro sind an Sie unterwegs."


ARTEN = {"ruhig": ruhig, "eilig": eilig, "genau": genau, "nett": nett}
