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
from collections.abc import Callable
from pathlib import Path

from notes_corpus import arguments, copied, files

# isort: split
from notes import tools, vault
from notes.searching import Hit, in_content, in_headers
from notes.text import count_tokens, key_words, stem, words
from notes.vault import Vault

SHORTEST, LONGEST = 300, 1_000
ASKED, COLD = 40, 5
"""Words that are searched for, and of these how many with nothing read before."""

SHOWN = 20
"""Hits that the tools show at most."""


def main() -> int:
    """Print the figures."""
    options = arguments("Tokens by reading mode; heading search against content search.")
    found = files(options.roots, options.most)
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        opened = Vault(copied(found, Path(folder)))
        read = [(path, document) for path, document in opened.readable(opened.notes()) if document is not None]
        long = [path for path, document in read if SHORTEST <= len(document.lines) <= LONGEST]
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
        leaves = [one for one in opened.read(path).outline if one.level > 1] or list(opened.read(path).outline)
        sizes = [count_tokens(opened.read(path).body(one.line, one.end)) for one in leaves]
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


def _words(opened: Vault, rng: random.Random) -> list[str]:
    """Choose words that headings hold, so that both searches find something."""
    titles = [one.title for _, document in opened.readable(opened.notes()) if document for one in document.outline]
    known = sorted({word for title in titles for word in key_words(title) if word.isalpha() and len(word) > 3})
    return rng.sample(known, min(ASKED, len(known)))


def _times(opened: Vault, asked: list[str], count: int) -> None:
    """Print the time of both searches: with nothing read before, and with everything read."""
    print(f"CPU seconds, {count} files            headings   contents   ratio   paper 10–24")
    for name, cold in (("nothing read before", True), ("everything read before", False)):
        tried = asked[:COLD] if cold else asked
        for word in () if cold else asked:
            in_content(opened, word)
        headings = statistics.median(_timed(lambda word: in_headers(opened, word), word, cold) for word in tried)
        contents = statistics.median(_timed(lambda word: in_content(opened, word), word, cold) for word in tried)
        print(f"  {name:28} {headings:10.4f} {contents:10.4f}   {contents / headings:5.1f}")
    print()


def _timed(search: Callable[[str], object], word: str, cold: bool) -> float:
    if cold:
        vault._load.cache_clear()
    begun = time.process_time()
    search(word)
    return time.process_time() - begun


def _aboutness(opened: Vault, asked: list[str]) -> None:
    """Print how many hits are false, by two measures, since the paper does not say what it counted.

    By the harder one a section is about a word if two of its lines hold it, its heading included; but “## Install” over
    one line of code is about installing. By the other it is false if its heading or line only shares letters with the
    word: another word whose stem is the same.
    """
    print(f"false positives among the {SHOWN} hits that are shown")
    print("              hits   in fewer than two lines   another word of the same stem   paper")
    for name, search, paper in (("headings", in_headers, "5–10 %"), ("contents", in_content, "30–40 %")):
        passing, other, total = [], [], 0
        for word in asked:
            hits = search(opened, word).hits[:SHOWN]
            total += len(hits)
            if hits:
                passing.append(sum(not _is_about(opened, hit, word) for hit in hits) / len(hits))
                other.append(sum(_is_other_word(hit, word) for hit in hits) / len(hits))
        means = f"{statistics.mean(passing):25.0%}   {statistics.mean(other):29.0%}"
        print(f"  {name:10} {total:6} {means}   {paper}")


def _is_about(opened: Vault, hit: Hit, word: str) -> bool:
    lines = opened.read(hit.path).lines[hit.section.line - 1 : hit.section.end]
    return sum(stem(word) in {stem(one) for one in words(line)} for line in lines) > 1


def _is_other_word(hit: Hit, word: str) -> bool:
    """Whether none of the words with this stem begins as the word does, but for an ending of three letters."""
    alike = [one for one in words(f"{hit.section.title} {hit.text}") if stem(one) == stem(word)]
    return not any(one.startswith(word[: max(len(word) - 3, 4)]) for one in alike)


if __name__ == "__main__":
    sys.exit(main())
