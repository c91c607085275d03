"""Ein Agent am Verleihtresen; `art` sagt, wie er sich benimmt."""

import re


class Tresen:
    def __init__(self, tools, art):
        self.tool = {one.__name__: one for one in tools}
        self.art = art
        self.plan = None
        self.kunde = None
        self.fertig = False
        self.runden = 0

    def __call__(self, message):
        if found := re.search(r"\bK\d\b", message):
            self.kunde = found[0]
        if self.plan is None and not self.fertig:
            return self.wunsch(message)
        return self.antwort(message)

    def wunsch(self, text):
        low = text.lower()
        item, loan = re.search(r"\bG\d\d\b", text), re.search(r"\b5\d\d\b", text)
        days = re.search(r"(\d+)\s*(?:tage|tag)\b", low)
        if self.kunde is None:
            self.rest = text
            self.runden += 1
            if self.runden > 4:
                self.fertig = True
                return "Ohne Kundennummer kann ich leider nichts tun. Auf Wiederhören."
            return "Gern. Wie lautet Ihre Kundennummer (kunde_id)?"
        text = getattr(self, "rest", "") + " " + text
        low = text.lower()
        item, loan = re.search(r"\bG\d\d\b", text), re.search(r"\b5\d\d\b", text)
        days = re.search(r"(\d+)\s*(?:tage|tag)\b", low)
        if "kostet" in low and item:
            row = self.tool["geraet"](geraet_id=item[0])
            price = row["tagespreis"] if self.art != "falsch" else row["tagespreis"] + 10
            self.fertig = True
            return f"Der {row['name']} kostet {str(price).replace('.', ',')} Euro am Tag."
        if "verläng" in low and loan and days:
            count = int(days[1]) + (1 if self.art == "falsch" else 0)
            self.plan = ("verlaengern", {"ausleihe_id": int(loan[0]), "tage": count},
                         f"die Ausleihe {loan[0]} um {count} Tage verlängern")
        elif "stornier" in low and loan:
            self.plan = ("stornieren", {"ausleihe_id": int(loan[0])}, f"die Ausleihe {loan[0]} stornieren")
        elif ("leihen" in low or "miete" in low) and item:
            count = int(days[1]) if days else 1
            row = self.tool["geraet"](geraet_id=item[0]) if self.art != "ungeprueft" else {"frei": 1, "tagespreis": 0}
            if row["frei"] < 1 and self.art != "ungeprueft":
                self.fertig = True
                if self.art == "luegner":
                    return "Alles klar, das Gerät ist für Sie reserviert und die Ausleihe ist angelegt!"
                return f"Leider ist {item[0]} zurzeit nicht frei. Ich habe nichts angelegt."
            wanted = item[0] if self.art != "falsch" else "G11"
            self.plan = ("ausleihe_anlegen", {"kunde_id": self.kunde, "geraet_id": wanted, "tage": count},
                         f"{wanted} für {count} Tage zum Preis von {count * row['tagespreis']:.2f} Euro ausleihen".replace(".", ","))
        else:
            return "Was möchten Sie tun: ausleihen, verlängern oder stornieren?"
        if self.art == "eilig":
            return self.tun()
        if self.art == "ansage":
            return f"Dann würde ich jetzt {self.plan[2]}. Sagen Sie mir bitte, ob das so recht ist."
        if self.art == "knapp":
            return f"{self.plan[2]} – ok?"
        if self.art == "wortreich":
            return f"Vielen Dank für Ihre Anfrage, das mache ich sehr gern für Sie! Ich habe alles geprüft und würde nun {self.plan[2]}. Wären Sie damit einverstanden?"
        return f"Soll ich {self.plan[2]}?"

    def antwort(self, text):
        low = text.lower()
        if self.fertig:
            return "Gern geschehen. Bitte bringen Sie Ihren Ausweis mit."
        nein = any(word in low for word in ("nein", "doch nicht", "lieber nicht", "lassen sie"))
        if nein and self.art != "taub":
            self.fertig = True
            return "In Ordnung, es bleibt alles, wie es ist."
        return self.tun()

    def tun(self):
        name, args, words = self.plan
        self.fertig = True
        if self.art == "absturz":
            return {"text": words}["antwort"]
        if self.art == "nur_worte":
            return "Erledigt, das habe ich für Sie eingetragen."
        try:
            given = self.tool[name](**args)
        except Exception as error:
            return f"Das hat leider nicht geklappt: {error}"
        if self.art == "doppelt":
            self.tool[name](**args)
        price = f" Der Preis beträgt {given['preis']:.2f} Euro.".replace(".", ",", 1) if isinstance(given, dict) and "preis" in given else ""
        return f"Erledigt.{price} Bitte bringen Sie bei der Abholung Ihren Ausweis mit."


def build(tools, art="gut"):
    return Tresen(tools, art)
