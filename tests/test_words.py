"""No code reads what people say: every regular expression where talk passes is listed, with its reason.

A value is found by its shape (digits, signs between them, capitals), a text is parted at delimiters; a word of a
language is in neither. A new expression goes into `shapes.yaml` with what it finds; one that spells words out is about
something else than talk, and `WORDED` says what. Patterns that a suite's author writes are the author's.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import pytest_agentbench

PACKAGE = Path(pytest_agentbench.__file__).parent
FOLDERS = ("users", "simulation", "checks", "validation", "calibration", "messages")
"""Where talk passes."""

FUNCTIONS = {"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"}

SHAPES = yaml.safe_load((Path(__file__).parent / "shapes.yaml").read_text(encoding="utf-8"))
"""By file: what its expressions find, and the expressions."""

WORDED = {
    "checks/identifiers.py": "names of arguments, in tools' schemas and in results",
    "users/llm/turn.py": "the delimiters of our own prompts, and the roles and tokens of chat templates",
    "validation/reachable.py": "names of arguments",
}
"""Files with expressions that spell words out, and what these are, which is no talk."""

LISTS: dict[str, str] = {}
"""Collections with everyday words in them (`file NAME`), and what they are for."""

EVERYDAY = frozenset(
    word
    for words in (
        "the and you your not yes please thanks thank sorry hello bye unfortunately cannot oui non merci vous les pas",
        "votre désolé bonjour ja nein bitte danke und nicht leider sí gracias usted pero はい いいえ 不 نعم لا да нет",
    )
    for word in words.split()
)
"""Words that only a list for reading or writing prose holds."""

_ESCAPED = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\(\?(?:P<\w+>|P=\w+|<[=!]|[=!:]|[aiLmsux-]+:?)|\{[^{}]*\}")
_WORD = re.compile(r"[^\W\d_]{3,}")


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    """Each file where talk passes, with its syntax tree."""
    return {
        path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for folder in FOLDERS
        for path in sorted((PACKAGE / folder).rglob("*.py"))
    }


def expressions(tree: ast.Module) -> dict[str, str]:
    """Give the regular expressions of a file as they are written: a text, or the code that makes one.

    Each stands with the part of it that is spelled out.
    """
    modules = {
        name.asname or name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for name in node.names
        if name.name in ("re", "regex")
    }
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ("re", "regex"):
            raise AssertionError("import the module `re`, so that its uses can be found")
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        module = node.func.value
        if isinstance(module, ast.Name) and module.id in modules and node.func.attr in FUNCTIONS:
            pattern = node.args[0]
            if isinstance(pattern, ast.Constant):
                found[str(pattern.value)] = str(pattern.value)
            else:
                parts = pattern.values if isinstance(pattern, ast.JoinedStr) else []
                found[ast.unparse(pattern)] = " ".join(str(one.value) for one in parts if _is_text(one))
    return found


def word_lists(tree: ast.Module) -> Iterator[str]:
    """Give the names of collections that hold two everyday words or more, one by one or in a text that is split."""
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        texts: list[str] = []
        for part in ast.walk(node.value):
            if isinstance(part, ast.List | ast.Tuple | ast.Set | ast.Dict):
                texts += [one.value for one in ast.iter_child_nodes(part) if _is_text(one)]
            elif isinstance(part, ast.Call):
                split = part.func.value if isinstance(part.func, ast.Attribute) and part.func.attr == "split" else None
                named = isinstance(part.func, ast.Name) and part.func.id == "words"
                for one in [*([split] if split else []), *(part.args if named else [])]:
                    texts += one.value.split() if _is_text(one) else []
        if len(EVERYDAY.intersection(texts)) > 1:
            yield ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def words_of(expression: str) -> list[str]:
    """Give the runs of three letters and more that an expression looks for as they stand."""
    return _WORD.findall(_ESCAPED.sub(" ", expression))


@pytest.fixture(scope="module")
def written(trees: dict[str, ast.Module]) -> dict[str, dict[str, str]]:
    """The expressions of each file."""
    return {file: expressions(tree) for file, tree in trees.items()}


def test_every_expression_is_listed_with_its_reason(written: dict[str, dict[str, str]]) -> None:
    """An unlisted one fails, and so does a listed one that is gone."""
    found = {file: set(several) for file, several in written.items() if several}
    listed = {file: set(one["expressions"]) for file, one in SHAPES.items()}

    assert found == listed


def test_no_expression_holds_words(written: dict[str, dict[str, str]]) -> None:
    """But for those that are applied to something else than talk."""
    worded = {
        file: several
        for file, found in written.items()
        if (several := [one for one, spelled in found.items() if words_of(spelled)])
    }

    assert worded.keys() == WORDED.keys(), worded


def test_no_list_holds_everyday_words(trees: dict[str, ast.Module]) -> None:
    """What a party says is neither looked up in a list nor taken from one; plain phrases stand in data files."""
    found = {f"{file} {name}" for file, tree in trees.items() for name in word_lists(tree)}

    assert found == LISTS.keys()


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (r"import re; re.compile(r'\b(?:thanks|merci)\b')", ["thanks", "merci"]),
        (r"import re as r; r.search(r'(?<=\d)[a-z]{3}\w+', x)", []),
        (r"import re; re.sub(r'(?P<year>\d{4})-\d\d', '', x)", []),
        (r"import re; re.findall(r'[Üü]ber', x)", ["ber"]),
        (r"import re; re.findall(rf'{value}|bitte', x)", ["bitte"]),
        (r"import re; re.findall('|'.join(values), x)", []),
    ],
)
def test_words_in_expressions_are_found(code: str, words: list[str]) -> None:
    """And escapes, classes and names of groups are none."""
    (spelled,) = expressions(ast.parse(code)).values()

    assert words_of(spelled) == words
