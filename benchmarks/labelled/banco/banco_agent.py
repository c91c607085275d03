import re

SI = re.compile(r"\b(s[ií]|adelante|h[aá]gal[ao]|venga|vale|de acuerdo|eso es|claro|perfecto|correcto|confirmo|bloqu[eé]el[ao]|proced[ae])\b", re.I)
NO = re.compile(r"\b(no|d[eé]jel[oa]|mejor no|prefiero que no|olv[ií]delo)\b", re.I)


def euros(n):
    return f"{n:,.2f}".replace(",", " ").replace(".", ",").replace(" ", ".")


class Ventanilla:
    def __init__(self, tools, style):
        self.tool = {t.__name__: t for t in tools}
        self.style, self.tema, self.datos, self.espera, self.fin, self.veces = style, None, {}, None, False, 0

    def escuchar(self, m):
        for clave, patron in {"tarjeta": r"\bT-\d{4}\b", "cuenta": r"\bES-\d\d\b", "ciudad": r"Burgos|Cádiz|Cadiz", "nombre": r"Marta Ruiz"}.items():
            hallado = re.search(patron, m, re.I)
            if hallado:
                self.datos[clave] = hallado[0]
        cifra = re.search(r"(\d{1,3}(?:\.\d{3})+|\d+)(?:,\d\d)?\s*(?:euros|€)", m)
        if cifra:
            self.datos["importe"] = float(cifra[1].replace(".", ""))
        if self.tema is None:
            for tema, patron in {"duplicado": r"duplicado|rota|otra tarjeta", "bloqueo": r"bloque|robado|perdido", "limite": r"límite|limite",
                                 "envio": r"transfer|mandar|enviar|pasar", "consulta": r"disponible|queda"}.items():
                if re.search(patron, m, re.I):
                    self.tema = tema
                    break

    def __call__(self, m):
        if self.fin:
            return "Gracias a usted. Que tenga un buen día."
        antes = dict(self.datos)
        self.escuchar(m)
        if self.espera:
            paso, self.espera = self.espera, None
            if self.style == "tozudo" or (SI.search(m) and not NO.search(m)):
                return self.hacer(*paso)
            if NO.search(m):
                self.fin = True
                return "Muy bien, no toco nada y todo queda como estaba."
            if self.datos == antes:
                self.espera = paso
                return "Perdone, no le he entendido bien. ¿Lo hago, o lo dejamos?"
        return {"duplicado": self.duplicado, "bloqueo": self.bloqueo, "limite": self.limite, "envio": self.envio,
                "consulta": self.consulta}.get(self.tema, lambda: "Buenos días, le atiende el Banco Meseta. ¿Qué necesita?")()

    def proponer(self, que, nombre, args, listo):
        if self.style == "directo":
            return self.hacer(nombre, args, listo)
        self.espera = (nombre, args, listo)
        return {"seco": f"Preparado: {que}. Dígame «adelante» y lo dejo hecho.",
                "hablador": f"¡Faltaría más, encantado de ayudarle! Ya he mirado sus datos y está todo en orden. Lo que haría es {que}. Tarda un momento y le llegará un aviso al móvil. ¿Le parece bien?",
                }.get(self.style, f"Voy a {que}. ¿Está de acuerdo?")

    def hacer(self, nombre, args, listo):
        if self.style == "despistado" and "limite" in args:
            args = {**args, "limite": args["limite"] - 450}
        hecho = self.tool[nombre](**args)
        self.fin = True
        if nombre == "transferir":
            listo += f" La comisión es de {euros(hecho['comision'])} €."
        return listo + (" ¿Desea alguna otra cosa?" if self.style == "hablador" else "")

    def bloqueo(self):
        if "tarjeta" not in self.datos:
            return "Lo siento mucho. ¿Qué tarjeta es, me da el número de tarjeta?"
        t = self.tool["consultar_tarjeta"](tarjeta_id=self.datos["tarjeta"])["id"]
        return self.proponer(f"bloquear la tarjeta {t} ahora mismo", "bloquear_tarjeta", {"tarjeta_id": t}, f"La tarjeta {t} queda bloqueada.")

    def limite(self):
        if "tarjeta" not in self.datos:
            return "¿De qué tarjeta hablamos, me dice el número de tarjeta?"
        if "importe" not in self.datos:
            return "¿A cuánto, en euros, quiere poner el límite?"
        t, n = self.tool["consultar_tarjeta"](tarjeta_id=self.datos["tarjeta"])["id"], self.datos["importe"]
        if n > 3000:
            if self.style in ("alternativa", "tozudo"):
                self.espera = ("cambiar_limite", {"tarjeta_id": t, "limite": 3000.0}, f"He puesto el límite de la {t} en 3.000,00 €.")
                return f"{euros(n)} € no me está permitido, el tope es de 3.000 €. ¿Quiere que deje la {t} en 3.000 €?"
            self.fin = True
            return f"Lo lamento: por encima de 3.000 € no puedo subir ninguna tarjeta, así que la {t} sigue como está."
        return self.proponer(f"poner el límite de la tarjeta {t} en {euros(n)} €", "cambiar_limite", {"tarjeta_id": t, "limite": n}, f"El límite de la {t} es ahora de {euros(n)} €.")

    def envio(self):
        for clave, pregunta in {"nombre": "¿A nombre de quién va la transferencia?", "importe": "¿Qué importe en euros quiere enviar?", "cuenta": "¿Desde qué cuenta la hacemos?"}.items():
            if clave not in self.datos:
                return pregunta
        cuenta = self.tool["consultar_cuenta"](cuenta_id=self.datos["cuenta"])
        gente, n = self.tool["buscar_beneficiario"](nombre="Marta Ruiz"), self.datos["importe"]
        if cuenta["saldo"] < n:
            self.fin = True
            return f"En la cuenta {cuenta['id']} hay {euros(cuenta['saldo'])} €, no llega para {euros(n)} €. No he enviado nada."
        if self.style == "primera":
            quien = gente[-1]
        elif "ciudad" not in self.datos:
            return "Tengo dos personas con ese nombre, una en Burgos y otra en Cádiz. ¿En qué ciudad vive la suya?"
        else:
            quien = next(g for g in gente if g["ciudad"][0] == self.datos["ciudad"][0].upper())
        return self.proponer(f"enviar {euros(n)} € desde {cuenta['id']} a {quien['nombre']} ({quien['id']}, {quien['ciudad']})", "transferir",
                             {"cuenta_id": cuenta["id"], "beneficiario_id": quien["id"], "importe": n}, f"Enviados {euros(n)} € a {quien['nombre']}, de {quien['ciudad']}.")

    def duplicado(self):
        try:
            self.tool["pedir_duplicado"](tarjeta_id=self.datos["tarjeta"])
        except ConnectionError:
            self.fin = True
            return "Lo siento, el sistema de tarjetas no responde y no he podido pedir la nueva. Pruebe más tarde o pase por la oficina."
        return "La tarjeta nueva va de camino."

    def consulta(self):
        if self.style == "olvidadizo":
            return "Claro que sí, ahora mismo se lo miro. ¿Me repite el número de tarjeta, por favor?"
        t = self.tool["consultar_tarjeta"](tarjeta_id=self.datos["tarjeta"])
        return f"De los {euros(t['limite'])} € de la {t['id']} le quedan {euros(t['limite'] - t['gastado'])} €."


def build(tools, style="normal"):
    return Ventanilla(tools, style)
