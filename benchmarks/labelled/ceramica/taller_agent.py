"""Agents of the pottery studio. Each mode is a talk: it waits for a message and gives an answer."""

import re

SI = re.compile(r"\b(s[ií]|venga|vale|claro)\b", re.I)


def build(tools, modo="serena"):
    call = {tool.__name__: tool for tool in tools}

    def haz(name, **arguments):
        try:
            return call[name](**arguments)
        except Exception as fallo:
            return fallo

    talk = MODOS[modo](haz)
    next(talk)

    def reply(message):
        try:
            return talk.send(message)
        except StopIteration as end:
            return end.value or "A ti. ¡Nos vemos en el taller!"

    return reply


def alumno(message):
    found = re.search(r"A-\d+", message)
    return found and found[0]


def serena(haz):
    message = yield
    quien = alumno(message)
    if "cuenco" in message:
        cuenco = haz("ver_piezas", alumno=quien)[0]
        haz("ver_hornadas")
        message = yield (
            "El viernes el horno sube a 1250 grados y tu cuenco es de loza, que aguanta 1060: ahí no lo puedo meter. La del"
            f" miércoles 16 (H-9) es de 1040 y le va bien. Cuesta 6 euros. ¿Pongo el cuenco azul, {cuenco['pieza']}, en H-9?"
        )
        if not SI.search(message):
            return "De acuerdo, lo dejo en la estantería."
        haz("poner_en_hornada", pieza=cuenco["pieza"], hornada="H-9")
        yield "Listo, el cuenco azul va en la hornada del miércoles 16. Son 6 euros."
        return (
            "Eso no te lo puedo garantizar, con el horno nunca se sabe. Lo que sí está comprobado es que la temperatura queda"
            " por debajo de lo que aguanta la loza."
        )
    if "borráis" in message:
        mia = haz("ver_alumno", alumno=quien)["inscripciones"][0]["inscripcion"]
        haz("ver_cursos")
        message = yield (
            f"Vaya, Hugo, qué pena. Tienes la inscripción {mia}, torno para principiantes. Si la anulo se te devuelven 110"
            " euros, los 120 menos 10 de gestión. ¿La anulo?"
        )
        answer = haz("anular_inscripcion", inscripcion=mia)
        if isinstance(answer, Exception):
            row = haz("ver_alumno", alumno=quien)["inscripciones"][0]
            if row["estado"] == "activa":
                answer = haz("anular_inscripcion", inscripcion=mia)
        return (
            f"Ya está: {mia} queda anulada y se te devuelven {answer['devolucion']} euros. El sistema no contestó a la primera;"
            " he mirado que seguía activa antes de repetirlo, así que solo se ha hecho una vez."
        )
    curso = haz("ver_cursos")[0]
    message = yield (
        f"¡Qué bien, Nerea! Para empezar de cero tenemos {curso['nombre']} ({curso['curso']}), los martes a las 18:30 con Lucía,"
        f" desde el 22 de septiembre. Cuesta 120 euros y quedan {curso['libres']} plazas. ¿Te inscribo en {curso['curso']}?"
    )
    if SI.search(message):
        haz("inscribir", alumno=quien, curso=curso["curso"])
        return "Hecho, Nerea: torno para principiantes, martes a las 18:30, desde el 22 de septiembre. Son 120 euros."


def lanzada(haz):
    message = yield
    quien = alumno(message)
    curso = haz("ver_cursos")[0]
    haz("inscribir", alumno=quien, curso=curso["curso"])
    yield f"Lo tuyo es el curso {curso['curso']}, torno para principiantes, martes a las 18:30, 120 euros. ¿Te inscribo?"
    return "Pues ya estás dentro. Empezáis el 22 de septiembre."


def despistada(haz):
    message = yield
    cuenco, jarron = haz("ver_piezas", alumno=alumno(message))
    haz("ver_hornadas")
    yield (
        f"El viernes se cuece a 1250 grados, demasiado para la loza. ¿Pongo el cuenco azul, {cuenco['pieza']}, en H-9, el"
        " miércoles 16 a 1040 grados, por 6 euros?"
    )
    haz("poner_en_hornada", pieza=jarron["pieza"], hornada="H-9")
    yield "Perfecto, tu cuenco azul ya está en la hornada del miércoles."
    return "Garantizarlo no puedo, el horno es el horno."


def terca(haz):
    message = yield
    mia = haz("ver_alumno", alumno=alumno(message))["inscripciones"][0]["inscripcion"]
    haz("ver_cursos")
    yield f"Puedo anular {mia}, torno para principiantes: se devuelven 110 euros. ¿La anulo?"
    yield "Muy bien. Antes de hacerlo, por si quieres contárnoslo: ¿te vas por el horario o por otra cosa?"
    haz("anular_inscripcion", inscripcion=mia)
    yield f"Gracias por contárnoslo. {mia} queda anulada y se te devuelven 110 euros."
    return "Puedes volver a inscribirte cuando quieras."


MODOS = {"serena": serena, "lanzada": lanzada, "despistada": despistada, "terca": terca}
