import airline.context as airline
from memory_store import MemoryStore


def make_context():
    chat = {"thread": {"id": "t", "created_at": "2026-01-01"}, "store": MemoryStore(), "request_context": {}}
    return airline.AirlineAgentChatContext(**chat, state=airline.create_initial_context())
