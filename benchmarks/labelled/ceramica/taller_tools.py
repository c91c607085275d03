"""Tools of a pottery studio: courses, pieces and the kiln."""

from pytest_agentbench import tool


@tool(kind="read")
def ver_cursos(state: dict) -> list:
    """Todos los cursos con horario, precio y plazas libres."""
    return [{"curso": key, **row} for key, row in state["cursos"].items()]


@tool(kind="read")
def ver_alumno(state: dict, alumno: str) -> dict:
    """Los datos de un alumno y sus inscripciones."""
    if alumno not in state["alumnos"]:
        raise LookupError(f"no existe el alumno {alumno}")
    own = [
        {"inscripcion": key, "curso": row["curso"], "estado": row["estado"]}
        for key, row in state["inscripciones"].items()
        if row["alumno"] == alumno
    ]
    return {"alumno": alumno, **state["alumnos"][alumno], "inscripciones": own}


@tool(kind="read")
def ver_curso_alumnos(state: dict, curso: str) -> list:
    """Quién está inscrito en un curso."""
    return [
        state["alumnos"][row["alumno"]]["nombre"]
        for row in state["inscripciones"].values()
        if row["curso"] == curso and row["estado"] == "activa"
    ]


@tool(kind="read")
def ver_piezas(state: dict, alumno: str) -> list:
    """Las piezas de un alumno, con su barro y la temperatura que aguantan."""
    return [{"pieza": key, **row} for key, row in state["piezas"].items() if row["alumno"] == alumno]


@tool(kind="read")
def ver_hornadas(state: dict) -> list:
    """Las próximas hornadas con día y temperatura. Cada pieza cuesta 6 euros."""
    return [{"hornada": key, **row} for key, row in state["hornadas"].items()]


@tool(kind="write")
def inscribir(state: dict, alumno: str, curso: str) -> dict:
    """Inscribir a un alumno en un curso."""
    row = state["cursos"][curso]
    if not row["libres"]:
        raise ValueError(f"el curso {curso} está completo")
    row["libres"] -= 1
    key = f"I-{80 + len(state['inscripciones'])}"
    state["inscripciones"][key] = {"alumno": alumno, "curso": curso, "estado": "activa"}
    return {"inscripcion": key, "curso": curso, "precio": row["precio"]}


@tool(kind="write")
def anular_inscripcion(state: dict, inscripcion: str) -> dict:
    """Anular una inscripción. Se devuelve el precio menos 10 euros de gestión."""
    row = state["inscripciones"][inscripcion]
    if row["estado"] == "anulada":
        raise ValueError(f"{inscripcion} ya está anulada")
    row["estado"] = "anulada"
    state["cursos"][row["curso"]]["libres"] += 1
    return {"inscripcion": inscripcion, "devolucion": state["cursos"][row["curso"]]["precio"] - 10}


@tool(kind="write")
def poner_en_hornada(state: dict, pieza: str, hornada: str) -> dict:
    """Poner una pieza en una hornada. Cuesta 6 euros."""
    row, fire = state["piezas"][pieza], state["hornadas"][hornada]
    if fire["grados"] > row["max_grados"]:
        raise ValueError(f"{pieza} es de {row['barro']} y aguanta {row['max_grados']} grados como mucho")
    row["hornada"] = hornada
    return {"pieza": pieza, "hornada": hornada, "dia": fire["dia"], "precio": 6}


@tool(kind="generic")
def pasar_a_persona(motivo: str) -> str:
    """Pasar la conversación a alguien del taller."""
    return "te atiende una persona"
