"""The desk of a clinic: appointments, free slots, patients."""

from pytest_agentbench import tool


def _appointment(state, appointment_id):
    try:
        return state["appointments"][appointment_id]
    except KeyError:
        raise LookupError(f"no appointment {appointment_id}") from None


@tool(kind="read")
def find_appointments(state: dict, patient_id: str) -> list:
    """List the appointments of a patient."""
    return [{"appointment_id": key, **row} for key, row in state["appointments"].items() if row["patient"] == patient_id]


@tool(kind="read")
def free_slots(state: dict, doctor: str) -> list:
    """List the free slots of a doctor."""
    return [{"slot_id": key, **row} for key, row in state["slots"].items() if row["doctor"] == doctor and row["free"]]


@tool(kind="write")
def book(state: dict, patient_id: str, slot_id: str) -> dict:
    """Book a free slot for a patient."""
    slot = state["slots"][slot_id]
    if not slot["free"]:
        raise ValueError(f"slot {slot_id} is taken")
    slot["free"] = False
    key = f"A{len(state['appointments']) + 1}"
    state["appointments"][key] = {"patient": patient_id, "doctor": slot["doctor"], "time": slot["time"], "status": "booked"}
    return {"appointment_id": key, **state["appointments"][key]}


@tool(kind="write")
def cancel(state: dict, appointment_id: str) -> dict:
    """Cancel an appointment."""
    row = _appointment(state, appointment_id)
    if row["status"] == "past":
        raise ValueError(f"appointment {appointment_id} is over")
    row["status"] = "cancelled"
    return {"appointment_id": appointment_id, **row}


@tool(kind="write")
def move(state: dict, appointment_id: str, slot_id: str) -> dict:
    """Move an appointment to a free slot."""
    row, slot = _appointment(state, appointment_id), state["slots"][slot_id]
    if not slot["free"]:
        raise ValueError(f"slot {slot_id} is taken")
    slot["free"] = False
    row.update(doctor=slot["doctor"], time=slot["time"])
    return {"appointment_id": appointment_id, **row}


@tool(kind="write")
def set_phone(state: dict, patient_id: str, phone: str) -> str:
    """Change the phone number of a patient."""
    state["patients"][patient_id]["phone"] = phone
    return "changed"


@tool(kind="read")
def insurance(state: dict, patient_id: str) -> dict:
    """Ask the insurer what is covered."""
    raise ConnectionError("the insurer's server does not answer")
