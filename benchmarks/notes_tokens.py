"""What the notes agent's ways of reading cost, beside the figures of the paper that proposes them.

    python benchmarks/notes_tokens.py [FOLDER …]

Tokens are counted as the agent counts them without a model: one for every four characters begun. Notes are Markdown
that came with installed packages, of 300 to 1,000 lines as in the paper (§1.2.2); times are over all files; take 500.
"""

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from notes_corpus import arguments, copied, files

# isort: split
from notes import tools, vault
from notes.markdown import Note
from notes.model import tokens as count_tokens
from notes.search import Hit, in_content, in_headers
from notes.vault import Vault, VaultError

SHORTEST, LONGEST = 300, 1_000
ASKED, COLD = 40, 5
"""Words that are searched for, and of these how many with nothing read before."""

SHOWN = 10
"""Hits that the tools show at most."""


def main() -> int:
    """Print the figures."""
    options = arguments("Tokens by reading mode; heading search against content search.")
    found = files(options.roots, options.most)
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        opened = Vault(copied(found, Path(folder)))
        read = list(_readable(opened))
        long = [path for path, note in read if SHORTEST <= len(note.lines) <= LONGEST]
        print(f"{len(found)} files, {len(long)} of {SHORTEST} to {LONGEST} lines\n")
        _modes(opened, long)
        asked = _words(opened, rng)
        _times(opened, asked, len(found))
        _aboutness(opened, asked)
    return 0


def _modes(opened: Vault, paths: list[str]) -> None:
    """Print tokens by mode, and of each note's sections beside the whole."""
    full, structure, summary, section = [], [], [], []
    for path in paths:
        full.append(count_tokens(tools.read_note(path, state=opened)))
        structure.append(count_tokens(tools.read_note(path, mode="structure", state=opened)))
        summary.append(count_tokens(tools.read_note(path, mode="summary", state=opened)))
        note = opened.read(path)
        leaves = [one for one in note.outline if one.level > 1] or note.outline
        sizes = [count_tokens("\n".join(note.lines[one.first - 1 : one.last])) for one in leaves]
        section.append(statistics.median(sizes) if sizes else full[-1])
    print("tokens a note            mean   saved by the mean   median of savings   paper")
    for name, sizes, paper in (
        ("full", full, "2500"),
        ("structure", structure, "300, 88 %"),
        ("summary", summary, "650, 74 %"),
        ("read_section (median)", section, "350 of 3200, 89 %"),
    ):
        saved = 1 - sum(sizes) / sum(full)
        each = statistics.median(1 - one / whole for one, whole in zip(sizes, full, strict=True))
        print(f"{name:22} {statistics.mean(sizes):6.0f}   {saved:17.0%}   {each:17.0%}   {paper}")
    print()


def _readable(opened: Vault) -> Iterator[tuple[str, Note]]:
    for path in opened.notes():
        with suppress(VaultError):
            yield path, opened.read(path)


def _words(opened: Vault, rng: random.Random) -> list[str]:
    """Choose words that headings hold, so that both searches find something."""
    titles = [one.title for _, note in _readable(opened) for one in note.outline]
    known = sorted({word for title in titles for word in title.lower().split() if word.isalpha() and len(word) > 4})
    return rng.sample(known, min(ASKED, len(known)))


def _times(opened: Vault, asked: list[str], count: int) -> None:
    """Print the time of both searches: with nothing read before, and with everything read."""
    print(f"CPU seconds, {count} files            headings   contents   ratio   paper 10–24")
    for name, cold in (("nothing read before", True), ("everything read before", False)):
        tried = asked[:COLD] if cold else asked
        for word in () if cold else asked:
            in_content(opened, word, "")
        headings = statistics.median(_timed(lambda word: in_headers(opened, word, ""), word, cold) for word in tried)
        contents = statistics.median(_timed(lambda word: in_content(opened, word, ""), word, cold) for word in tried)
        print(f"  {name:28} {headings:10.4f} {contents:10.4f}   {contents / headings:5.1f}")
    print()


def _timed(search: Callable[[str], object], word: str, cold: bool) -> float:
    if cold:
        vault._load.cache_clear()
    begun = time.process_time()
    search(word)
    return time.process_time() - begun


def _aboutness(opened: Vault, asked: list[str]) -> None:
    """Print how many hits are in sections of which a single line holds the word; the paper does not say what it counts.

    It is a hard measure: “## Install” over one line of code is about installing.
    """
    print(f"hits among the best {SHOWN} whose section holds the word in a single line")
    for name, search, paper in (("headings", in_headers, "5–10 %"), ("contents", in_content, "30–40 %")):
        found = [(hit, word) for word in asked for hit in search(opened, word, "")[:SHOWN]]
        passing = sum(_lines_with(opened, hit, word) < 2 for hit, word in found) / len(found)
        print(f"  {name:10} {len(found):6} {passing:10.0%}   {paper}")


def _lines_with(opened: Vault, hit: Hit, word: str) -> int:
    note = opened.read(hit.path)
    section = note.section_at(hit.line)
    lines = note.lines[section.first - 1 : section.last] if section else note.lines
    return sum(word in line.lower() for line in lines)


if __name__ == "__main__":
    sys.exit(main())
