"""A toy domain in the layout of a τ²-bench checkout: notes of an agent, a bell of the user, coupled by `sync_tools`."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PACKAGE = 'raise RuntimeError("the package itself must not be run")\n'

DOMAIN = """
import os

from pydantic import BaseModel

os.environ["LEAKED_KEY"] = "from a .env file"


class Note(BaseModel):
    text: str
    stars: float = 0.0


class Notes(BaseModel):
    notes: dict[str, Note]
    written: list[str] = []


class Bell(BaseModel):
    rings: int = 0
    notes_seen: int = 0


class Kit:
    kinds = {}

    def __init__(self, db):
        self.db = db

    @property
    def tools(self):
        return {name: getattr(self, name) for name in self.kinds}

    def tool_mutates_state(self, name):
        return self.kinds[name] == "write"

    def tool_type(self, name):
        return self.kinds[name]

    def get_tools(self):
        properties = {"key": {"type": "string"}, "text": {"type": "string"}, "state": {"type": "string"}}
        schema = {"type": "object", "properties": properties, "required": ["key"]}
        return {name: Tool(name, schema) for name in self.kinds}


class Tool:
    def __init__(self, name, schema):
        self.openai_schema = {"type": "function", "function": {"name": name, "description": name, "parameters": schema}}


class AgentKit(Kit):
    kinds = {"read": "read", "write": "write", "drop": "write"}

    def read(self, key):
        return self.db.notes[key].text

    def write(self, key, text="", state="", stars=0):
        if key == "forbidden":
            raise ValueError("this note is not yours")
        self.db.notes[key] = Note(text=text + state, stars=stars)
        return {"key": key}

    def drop(self, key):
        del self.db.notes[key]

    def has_note(self, key):
        return key in self.db.notes

    def break_down(self):
        raise KeyError("gone")


class UserKit(Kit):
    kinds = {"ring": "write"}

    def ring(self):
        self.db.rings += 1
        return self.db.rings


class Environment:
    def __init__(self, tools, user_tools=None, policy="Together."):
        self.policy = policy
        self.tools = tools
        self.user_tools = user_tools

    def sync_tools(self):
        if self.user_tools is not None:
            self.user_tools.db.notes_seen = len(self.tools.db.notes)

    @staticmethod
    def to_json_str(value):
        return str(value)


def get_environment(solo_mode=False):
    notes = {"a": Note(text="first"), "b": Note(text="second"), "c": Note(text="third")}
    return Environment(AgentKit(Notes(notes=notes)), USER, "Alone." if solo_mode else "Together.")
"""


def write_checkout(root: Path) -> Path:
    """Write a checkout with two domains: `notes`, and `bells`, in which the user has a tool too."""
    package = root / "src" / "tau2"
    for folder in ("environment", "domains/notes", "domains/bells"):
        (package / folder).mkdir(parents=True)
    (root / "data").mkdir()
    (package / "__init__.py").write_text(PACKAGE)
    (package / "environment" / "environment.py").write_text("")
    for domain, user in (("notes", "None"), ("bells", "UserKit(Bell())")):
        (package / "domains" / domain / "environment.py").write_text(DOMAIN.replace(", USER,", f", {user},"))
    return root


@contextmanager
def toy_checkout(root: Path) -> Iterator[Path]:
    """Write a checkout; its modules are gone afterwards, and those of another τ²-bench are there again."""
    kept = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "tau2"}
    for name in kept:
        del sys.modules[name]
    yield write_checkout(root)
    for name in [name for name in sys.modules if name.partition(".")[0] == "tau2"]:
        del sys.modules[name]
    sys.modules.update(kept)
