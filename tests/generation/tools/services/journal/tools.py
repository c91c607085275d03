"""A journal kept in text, as command-line programs behind MCP servers are: codes and hashes in prose."""

import hashlib


def write_entry(text: str, tag: str = "", *, state: dict) -> dict:
    """Write an entry."""
    state["count"] += 1
    number = f"E{state['count']}"
    state["entries"][number] = {"text": text, "tag": tag, "done": False}
    return {"result": f"Entry saved.\nCreated entry {number}"}


def list_entries(tag: str | None = None, *, state: dict) -> dict:
    """List the entries that are not done."""
    rows = [
        f"- entry {key}: {one['text']}"
        for key, one in state["entries"].items()
        if not one["done"] and tag in (None, one["tag"])
    ]
    return {"result": "\n".join(rows) or "No entries found."}


def read_entry(entry_id: str, *, state: dict) -> dict:
    """Read an entry."""
    one = state["entries"].get(entry_id)
    return {"result": f"text: {one['text']}\ndone: {one['done']}" if one else f"Error: Entry '{entry_id}' not found"}


def finish_entry(entry_id: str, *, state: dict) -> dict:
    """Mark an entry as done."""
    one = state["entries"].get(entry_id)
    if one is None:
        return {"result": f"Error: Entry '{entry_id}' not found"}
    one["done"] = True
    return {"result": "Done."}


def make_snapshot(message: str, *, state: dict) -> str:
    """Keep the journal as it is now."""
    if not state["entries"]:
        raise ValueError("nothing to keep: write an entry first")
    digest = hashlib.sha1(f"{message}{len(state['snapshots'])}".encode()).hexdigest()
    state["snapshots"][digest] = message
    return f"Kept as {digest}"


def show_snapshot(revision: str, *, state: dict) -> str:
    """Show a snapshot."""
    found = [key for key in state["snapshots"] if key.startswith(revision) and len(revision) >= 4]
    if not found:
        raise ValueError(f"unknown revision {revision!r}")
    return f"snapshot, message of {len(state['snapshots'][found[0]])} characters"


def create_label(name: str, *, state: dict) -> str:
    """Make a label to file entries under."""
    if name in state["labels"]:
        raise ValueError("there is such a label already")
    state["labels"].append(name)
    return name


def apply_label(entry_id: str, label: str, *, state: dict) -> str:
    """File an entry under a label."""
    if entry_id not in state["entries"]:
        raise ValueError("no such entry")
    if label not in state["labels"]:
        raise ValueError(f"label {label!r} does not exist")
    return "filed"
