"""Import paths: where they resolve from, what is said when they lead nowhere, and fresh modules."""

import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_agentbench.core.errors import ImportPathError
from pytest_agentbench.environment.import_path import forget_module, load_fresh_module, load_object


@pytest.fixture(autouse=True)
def clean_imports() -> Iterator[None]:
    """Take back what a test put into `sys.path` and `sys.modules`."""
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def folder(root: Path, files: dict[str, str]) -> Path:
    """Write files below `root`."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(textwrap.dedent(text))
    return root


def test_objects_come_from_the_suites_folder_first(tmp_path: Path) -> None:
    """A module, a package's module, a namespace's module and a dotted name resolve."""
    root = folder(
        tmp_path,
        {
            "ip_agent.py": "import ip_help\nclass Agent:\n    def build(self): ...\nvalue = ip_help.value\n",
            "ip_help.py": "value = 7\n",
            "ip_pkg/__init__.py": "",
            "ip_pkg/sub.py": "value = 8\n",
            "ip_space/mod.py": "value = 9\n",
            "ip_pkg/space/mod.py": "value = 10\n",
            "ip_space/inner/mod.py": "value = 11\n",
        },
    )

    assert load_object("ip_pkg.space.mod:value", root) == 10
    assert load_object("ip_space.inner.mod:value", root) == 11
    assert load_object("ip_agent:value", root) == 7
    assert load_object("ip_agent:Agent.build.__name__", root) == "build"
    assert load_object("ip_pkg.sub:value", root) == 8
    assert load_object("ip_space.mod:value", root) == 9
    assert load_object("json:dumps", root) is __import__("json").dumps


@pytest.mark.parametrize("target", ["", "ip_agent", "ip agent:x", "ip_agent:", ":x", "ip_agent.py:x y", "a/b:c"])
def test_a_malformed_path_says_how_to_write_it(tmp_path: Path, target: str) -> None:
    """The form is named."""
    with pytest.raises(ImportPathError, match=r"write it as 'package\.module:name'"):
        load_object(target, tmp_path)


def test_what_is_missing_is_named_with_a_suggestion(tmp_path: Path) -> None:
    """A misspelt module or attribute suggests the near one."""
    root = folder(tmp_path, {"ip_support.py": "def build(): ...\n"})

    with pytest.raises(ImportPathError, match=r"no module 'ip_suport' in .* \(did you mean 'ip_support'\?\)"):
        load_object("ip_suport:build", root)
    with pytest.raises(ImportPathError, match=r"'ip_support' has no 'biuld' \(did you mean 'build'\?\)"):
        load_object("ip_support:biuld", root)
    with pytest.raises(ImportPathError, match=r"no module 'ip_support\.inner'"):
        load_object("ip_support.inner:build", root)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("\n\nraise ValueError('bad key')\n", r"raised ValueError: bad key \(.*ip_bad\.py:3\)"),
        ("import ip_nowhere\n", r"raised ModuleNotFoundError: No module named 'ip_nowhere' \(.*ip_bad\.py:1\)"),
        ("def f(:\n", r"raised SyntaxError: .* \(.*ip_bad\.py:1\)"),
        ("import json\njson.loads('{')\n", r"raised JSONDecodeError: .* \(.*ip_bad\.py:2\)"),
        ("import sys\nsys.exit(4)\n", r"raised SystemExit: 4 \(.*ip_bad\.py:2\)"),
        (
            "class MuteError(Exception):\n    def __str__(self):\n        return 1 / 0\nraise MuteError\n",
            r"raised MuteError: <its text cannot be shown> \(.*ip_bad\.py:4\)",
        ),
    ],
)
def test_what_a_module_raises_is_told_with_the_users_own_line(tmp_path: Path, source: str, message: str) -> None:
    """Exception type, message and place are given, for ordinary and for fresh loading; no frame of ours."""
    root = folder(tmp_path, {"ip_bad.py": source})

    with pytest.raises(ImportPathError, match=message):
        load_object("ip_bad:x", root)
    with pytest.raises(ImportPathError, match=message):
        load_fresh_module("ip_bad", root, "run")

    assert not [name for name in sys.modules if "ip_bad" in name]


def test_equal_module_names_in_two_suites_are_an_error_naming_both(tmp_path: Path) -> None:
    """The second suite never silently gets the first one's agent."""
    one = folder(tmp_path / "one", {"ip_twice.py": "value = 1\n"})
    two = folder(tmp_path / "two", {"ip_twice.py": "value = 2\n"})
    load_object("ip_twice:value", one)

    with pytest.raises(ImportPathError) as caught:
        load_object("ip_twice:value", two)

    assert str(one / "ip_twice.py") in str(caught.value)
    assert str(two / "ip_twice.py") in str(caught.value)


def test_a_suite_does_not_find_modules_in_another_suites_folder(tmp_path: Path) -> None:
    """A folder put on the path for one suite is not searched for the next."""
    one = folder(tmp_path / "one", {"ip_only_one.py": "value = 1\n"})
    two = folder(tmp_path / "two", {"ip_other.py": "value = 2\n"})
    load_object("ip_only_one:value", one)

    with pytest.raises(ImportPathError, match="no module 'ip_only_one'"):
        load_object("ip_only_one:value", two)


def test_a_neighbour_whose_name_is_taken_is_an_error(tmp_path: Path) -> None:
    """An agent that imports its own helpers never gets another suite's helpers."""
    one = folder(tmp_path / "one", {"ip_a.py": "import ip_helpers\n", "ip_helpers.py": "value = 1\n"})
    two = folder(
        tmp_path / "two",
        {
            "ip_b.py": "import ip_middle\n",
            "ip_middle.py": "from ip_helpers import value\n",
            "ip_helpers.py": "value = 2\n",
        },
    )
    load_object("ip_a:ip_helpers", one)

    with pytest.raises(ImportPathError, match=r"'ip_helpers' should come from .*two.* but .*one"):
        load_object("ip_b:ip_middle", two)


def test_fresh_modules_share_nothing_and_leave_nothing(tmp_path: Path) -> None:
    """Each load executes the file anew, in plain files, packages and dotted modules."""
    root = folder(
        tmp_path,
        {
            "ip_tools.py": "seen = []\n",
            "ip_pack/__init__.py": "from .inner import seen\n",
            "ip_pack/inner.py": "seen = []\n",
            "ip_pack/tools.py": "from .inner import seen as shared\nseen = []\n",
        },
    )
    for name in ("ip_tools", "ip_tools.py", "ip_pack", "ip_pack.tools", "ip_pack/tools.py"):
        if name == "ip_pack/tools.py":
            with pytest.raises(ImportPathError, match="relative import"):
                load_fresh_module(name, root, "a")
            continue
        one, two = load_fresh_module(name, root, "a"), load_fresh_module(name, root, "b")
        one.seen.append(1)

        assert two.seen == []
        assert one.__name__ != two.__name__
        forget_module(one)
        forget_module(two)

    assert not [name for name in sys.modules if "_agentbench_" in name]


def test_an_edited_file_is_compiled_again(tmp_path: Path) -> None:
    """The compiled code is kept per file and modification time."""
    root = folder(tmp_path, {"ip_edit.py": "value = 1\n"})
    first = load_fresh_module("ip_edit", root, "a").value
    folder(root, {"ip_edit.py": "value = 22\n"})

    assert (first, load_fresh_module("ip_edit", root, "b").value) == (1, 22)


def test_fresh_modules_may_be_loaded_from_many_threads(tmp_path: Path) -> None:
    """Fifty loads under one name give fifty modules."""
    root = folder(tmp_path, {"ip_many.py": "import ip_base\nseen = []\n", "ip_base.py": "x = 1\n"})
    modules = []
    threads = [
        threading.Thread(target=lambda: modules.append(load_fresh_module("ip_many", root, "same"))) for _ in range(50)
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({module.__name__ for module in modules}) == 50


@pytest.mark.parametrize("name", ["ip_nothing", "ip_nothing.py", "no such", "math"])
def test_a_fresh_module_that_is_no_source_file_is_refused(tmp_path: Path, name: str) -> None:
    """What cannot be executed anew is said."""
    with pytest.raises(ImportPathError, match=r"no module|no file|is not a module|is not Python source"):
        load_fresh_module(name, tmp_path, "run")
