"""The departments of France: their numbers by name, and the one that a commune lies in."""

import csv
import unicodedata
from functools import cache
from importlib.resources import files


def fold(text: str) -> str:
    """Lower-case `text`, and write accents, hyphens and apostrophes the plain way; lengths stay the same."""
    return "".join(map(_fold_character, text))


def department(text: str) -> str | None:
    """Give the number that a department's name or number stands for, None where there is no such department."""
    wanted = fold(text).strip()
    return _numbers().get(wanted.zfill(2) if wanted.isdigit() else wanted)


def department_of(insee_code: str) -> str:
    """Give the department of a commune: the first two characters of its INSEE code, three overseas."""
    return insee_code[:3] if insee_code.startswith(("97", "98")) else insee_code[:2]


@cache
def _numbers() -> dict[str, str]:
    with (files("weather") / "departments.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {fold(row[key]): row["number"] for row in rows for key in ("number", "name")}


def _fold_character(character: str) -> str:
    if character in "’‘`´":
        return "'"
    if character == "-":
        return " "
    return unicodedata.normalize("NFKD", character)[0].lower()[:1] or character
