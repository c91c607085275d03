"""Does the notes agent take apart Markdown nobody here wrote: every file, with the headings that CommonMark has?

    python benchmarks/notes_markdown.py [FOLDER …]

Thousands of files come with `npm install --ignore-scripts gatsby nx fastify react-scripts @babel/preset-env jest hexo
ember-cli @angular/cli serverless pouchdb mathjs` and, apart, `aws-cdk-lib constructs stylelint eslint-plugin-unicorn`.

Also attacks a vault with paths that want to leave it. Exit status 1 where a file raises or a path escapes.
"""

import random
import re
import sys
import tempfile
import time
from pathlib import Path

from markdown_it import MarkdownIt  # noqa: TID253 - a script loads what it needs
from notes_corpus import arguments, copied, files

# isort: split
from notes import tools
from notes.markdown import BOLD, Note
from notes.vault import MAX_BYTES, Vault

ATTACKS = 5_000
"""Paths that are tried."""

PIECES = (
    "..", ".", "", "in.md", "out.md", "OUT.MD", "Folder", "link", "/", "\\", "~", "%2e%2e", "%2f", "．．", "‥",
    "C:", "\0", "\n", "*", " ",
)  # fmt: skip


def main() -> int:
    """Print the figures and give the exit status."""
    options = arguments("Structure of third-party Markdown, and path attacks.")
    found = files(options.roots, options.most)
    wrong = _structure(found)
    wrong += _tools(found)
    wrong += _attacks(random.Random(options.seed))
    return 1 if wrong else 0


def _structure(found: list[Path]) -> int:
    """Compare headings with those of a CommonMark parser; time each file. Give how many files raise."""
    raised = different = lines = headings = 0
    times: list[tuple[float, Path]] = []
    for file in found:
        text = file.read_bytes().decode("utf-8", "replace")
        begun = time.process_time()
        try:
            shape = [(one.first, one.level) for one in Note(text).sections if one.level != BOLD]
        except Exception as error:  # noqa: BLE001 - counted and printed
            raised += 1
            print(f"raised {type(error).__name__}: {error}: {file}")
            continue
        times.append((time.process_time() - begun, file))
        lines += len(text.splitlines())
        headings += len(shape)
        different += shape != _by_tokens(text)
    times.sort()
    slowest, where = times[-1]
    print(f"files {len(found)} · lines {lines:,} · headings {headings:,} · raised {raised}")
    print(f"files whose headings differ from those of a CommonMark parser: {different} ({different / len(found):.1%})")
    size, median = where.stat().st_size, times[len(times) // 2][0]
    print(f"seconds a file: median {median:.4f} · slowest {slowest:.2f} ({size:,} bytes)")
    return raised


def _by_tokens(text: str) -> list[tuple[int, int]]:
    front = re.match(r"---[ \t]*\n.*?\n---[ \t]*\n", text, re.DOTALL)
    kept = "\n" * front[0].count("\n") + text[front.end() :] if front else text
    tokens = MarkdownIt("commonmark").enable("table").parse(kept)
    return [(t.map[0] + 1, int(t.tag[1:])) for t in tokens if t.type == "heading_open" and t.level == 0 and t.map]


def _tools(found: list[Path]) -> int:
    """Ask every tool about every file through a vault: each answers, with text or with an error that says why."""
    refused: dict[str, int] = {}
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        vault = Vault(copied(found, Path(folder)))
        for path in vault.notes():
            text = tools.get_headers_with_preview(path, state=vault)
            if text.startswith("Error: "):
                reason = "too large" if "too large" in text else "not UTF-8" if "not UTF" in text else "binary"
                refused[reason] = refused.get(reason, 0) + 1
                bad += reason == "too large" and (vault.root / path).stat().st_size <= MAX_BYTES
                continue
            for line in text.split("\n")[1:3]:
                title = line.partition(": ")[2].lstrip("#* ")
                if title and not line.startswith(" "):
                    bad += tools.read_section(path, title, state=vault).startswith("Error: ")
    print(f"refused with a reason {refused or 'none'} · first sections that could not be read by their title {bad}")
    return 0


def _attacks(rng: random.Random) -> int:
    secret = "what stands outside"
    escapes = 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "out.md").write_text(f"# {secret}\n", encoding="utf-8")
        (root / "vault" / "Folder").mkdir(parents=True)
        (root / "vault" / "in.md").write_text("# inside\n", encoding="utf-8")
        (root / "vault" / "link").symlink_to(root)
        (root / "vault" / "note.md").symlink_to(root / "out.md")
        vault = Vault(root / "vault")
        for _ in range(ATTACKS):
            path = rng.choice("/\\").join(rng.choices(PIECES, k=rng.randint(1, 6)))
            path = rng.choice((path, f"/{path}", f"{root}/{path}", f"{vault.root}/../{path}", f"{path}/../../out.md"))
            for text in (tools.read_note(path, state=vault), tools.grep_content("outside", path, state=vault)):
                escapes += secret in text
    print(f"path attacks {ATTACKS:,} · escapes {escapes}")
    return escapes


if __name__ == "__main__":
    sys.exit(main())
