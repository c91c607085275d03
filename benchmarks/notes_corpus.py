"""Markdown that came with installed packages: what the benchmarks of the notes agent read."""

import argparse
import hashlib
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEFAULT = (sysconfig.get_path("purelib"), "/usr/lib/node_modules", "/usr/share/doc")
"""Where Python, npm and Debian packages put their documentation."""

sys.path.insert(0, str(ROOT / "example_project"))


def arguments(description: str) -> argparse.Namespace:
    """Read the command line: folders to look in, and how many files at most."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("roots", nargs="*", default=list(DEFAULT), help="folders with Markdown below them")
    parser.add_argument("--most", type=int, default=100_000, help="files that are taken")
    parser.add_argument("--seed", type=int, default=7)
    return parser.parse_args()


def files(roots: list[str], most: int) -> list[Path]:
    """Give the Markdown files below the roots in order, those with equal contents once; our own are left out."""
    return list(_distinct(roots))[:most]


def copied(found: list[Path], into: Path) -> Path:
    """Copy files into a vault, each in a folder of its own."""
    for number, file in enumerate(found):
        target = into / f"{number // 100:03d}" / f"{number:05d}-{file.name}"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    return into


def _distinct(roots: list[str]) -> Iterator[Path]:
    seen: set[bytes] = set()
    for root in roots:
        for file in sorted(Path(root).rglob("*.md")):
            if not file.is_file() or ROOT in file.resolve().parents:
                continue
            digest = hashlib.sha256(file.read_bytes()).digest()
            if digest not in seen:
                seen.add(digest)
                yield file
