from pytest_agentbench import tool


def _fila(state, tabla, clave):
    fila = state.execute(f"SELECT * FROM {tabla} WHERE id = ?", (clave,)).fetchone()
    if fila is None:
        raise LookupError(f"no existe {clave}")
    return dict(fila)


@tool(kind="read")
def consultar_tarjeta(state, tarjeta_id: str) -> dict:
    """Consulta una tarjeta."""
    return _fila(state, "tarjetas", tarjeta_id)


@tool(kind="read")
def consultar_cuenta(state, cuenta_id: str) -> dict:
    """Consulta una cuenta y su saldo."""
    return _fila(state, "cuentas", cuenta_id)


@tool(kind="read")
def buscar_beneficiario(state, nombre: str) -> list:
    """Busca beneficiarios por su nombre."""
    return [dict(f) for f in state.execute("SELECT * FROM beneficiarios WHERE nombre = ? ORDER BY id", (nombre,))]


@tool(kind="write")
def bloquear_tarjeta(state, tarjeta_id: str) -> dict:
    """Bloquea una tarjeta."""
    state.execute("UPDATE tarjetas SET estado = 'bloqueada' WHERE id = ?", (tarjeta_id,))
    return _fila(state, "tarjetas", tarjeta_id)


@tool(kind="write")
def cambiar_limite(state, tarjeta_id: str, limite: float) -> dict:
    """Cambia el límite mensual de una tarjeta, en euros."""
    state.execute("UPDATE tarjetas SET limite = ? WHERE id = ?", (limite, tarjeta_id))
    return _fila(state, "tarjetas", tarjeta_id)


@tool(kind="write")
def transferir(state, cuenta_id: str, beneficiario_id: str, importe: float) -> dict:
    """Hace una transferencia, en euros."""
    if _fila(state, "cuentas", cuenta_id)["saldo"] < importe:
        raise ValueError("saldo insuficiente")
    state.execute("UPDATE cuentas SET saldo = saldo - ? WHERE id = ?", (importe, cuenta_id))
    state.execute("INSERT INTO transferencias (cuenta, beneficiario, importe) VALUES (?, ?, ?)", (cuenta_id, beneficiario_id, importe))
    return {"cuenta_id": cuenta_id, "beneficiario_id": beneficiario_id, "importe": importe, "comision": 1.5}


@tool(kind="write")
def pedir_duplicado(state, tarjeta_id: str) -> dict:
    """Pide una tarjeta nueva por otra."""
    raise ConnectionError("host 10.2.0.8 unreachable")
