"""Import paths: where they resolve from, what is said when they lead nowhere, and fresh modules."""

import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_agentbench.core.errors import ImportPathError
from pytest_agentbench.environment.import_path import forget_module, load_fresh_module, load_module, load_object


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


AT_ONCE = """
import gc, sys, threading, time
from pathlib import Path
from pytest_agentbench.environment.import_path import load_fresh_module

class Slow:
    def __init__(self):
        self.me = self

    def __del__(self):
        time.sleep(0)

def load(number, depth):
    if depth:
        return load(number, depth - 1)
    for place in range(20):
        Slow()
        load_fresh_module(f"part_{number}_{place}", Path(sys.argv[1]), f"{number}-{place}")

gc.set_threshold(50)
threads = [threading.Thread(target=load, args=(number, 3 * number)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_a_module_that_puts_an_object_in_its_own_place_is_that_object_each_time(tmp_path: Path) -> None:
    """It may have neither a name nor room for a weak reference."""
    text = "import sys\n\nclass Shop:\n    __slots__ = ()\n\n    def build(self):\n        return 7\n\n"
    root = folder(tmp_path, {"ip_shop.py": f"{text}sys.modules[__name__] = Shop()\n"})

    assert [load_object("ip_shop:build", root)() for _ in range(2)] == [7, 7]


def test_modules_that_several_runs_load_at_once_are_parsed_one_after_the_other(tmp_path: Path) -> None:
    """Some versions of Python fail where a thread parses while another one is interrupted in the middle of it."""
    code = "\n".join(f"a{line} = [{line}, {line}]" for line in range(300))
    root = folder(tmp_path, {f"part_{number}_{place}.py": code for number in range(4) for place in range(20)})

    ended = subprocess.run([sys.executable, "-c", AT_ONCE, str(root)], capture_output=True, text=True, check=False)

    assert ended.stderr == ""


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
    with pytest.raises(ImportPathError, match=r"\(write the module without \.py: 'ip_support'\)"):
        load_object("ip_support.py:build", root)
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


def test_two_suites_may_have_modules_of_equal_names(tmp_path: Path) -> None:
    """Each gets its own, again and again; the first keeps the ordinary name."""
    one = folder(tmp_path / "one", {"ip_twice.py": "value = 1\n"})
    two = folder(tmp_path / "two", {"ip_twice.py": "value = 2\n"})

    found = [load_object("ip_twice:value", root) for root in (one, two, one, two)]

    assert found == [1, 2, 1, 2]
    assert load_object("ip_twice:__name__", one) == "ip_twice"


def test_a_suite_does_not_find_modules_in_another_suites_folder(tmp_path: Path) -> None:
    """A folder put on the path for one suite is not searched for the next."""
    one = folder(tmp_path / "one", {"ip_only_one.py": "value = 1\n"})
    two = folder(tmp_path / "two", {"ip_other.py": "value = 2\n"})
    load_object("ip_only_one:value", one)

    with pytest.raises(ImportPathError, match="no module 'ip_only_one'"):
        load_object("ip_only_one:value", two)


HELPED = {
    "ip_{n}.py": """
        import ip_kit.deep.base
        import ip_kit.deep.base as same, json
        from ip_helpers import *
        def late():
            import ip_late
            return ip_late.value
        values = [ip_kit.deep.base.value, same.value, value, json.dumps(1)]
        """,
    "ip_helpers.py": "value = 'helpers of {n}'\n",
    "ip_late.py": "value = 'late of {n}'\n",
    "ip_kit/__init__.py": "",
    "ip_kit/deep/base.py": """
        from ip_helpers import value as near
        from .leaf import leaf
        value = f'base, {{near}}, {{leaf}}'
        """,
    "ip_kit/deep/leaf.py": "leaf = 'leaf of {n}'\n",
}


def test_neighbours_of_equal_names_are_the_suites_own(tmp_path: Path) -> None:
    """Every form of import leads to the suite's own file, in packages, of many names, and inside functions."""
    suites = {
        n: folder(tmp_path / n, {name.format(n=n): text.format(n=n) for name, text in HELPED.items()}) for n in "abc"
    }

    loaded = {n: load_module(f"ip_{n}", root) for n, root in suites.items()}

    for n, module in loaded.items():
        base = f"base, helpers of {n}, leaf of {n}"
        assert module.values == [base, base, f"helpers of {n}", "1"]
        assert module.late() == f"late of {n}"
    assert load_object("ip_kit.deep.base:value", suites["c"]) == "base, helpers of c, leaf of c"


def test_a_neighbour_of_equal_name_is_seen_through_packages(tmp_path: Path) -> None:
    """What a submodule imports counts, by an absolute and by a relative import of the submodule."""
    load_object("ip_base:value", folder(tmp_path / "one", {"ip_base.py": "value = 1\n"}))
    two = folder(
        tmp_path / "two",
        {
            "ip_app.py": "from ip_lib import outer\nvalue = outer.value\n",
            "ip_lib/__init__.py": "",
            "ip_lib/outer.py": "from .inner import value\n",
            "ip_lib/inner.py": "from ip_base import value\n",
            "ip_base.py": "value = 2\n",
        },
    )

    assert load_object("ip_app:value", two) == 2


def test_fresh_modules_find_neighbours_of_their_own(tmp_path: Path) -> None:
    """Tools that are executed anew import what lies in their suite's folder, also by way of a package."""
    files = {"ip_tools.py": "import ip_rows\nrows = ip_rows.rows\n", "ip_pack/__init__.py": "import ip_rows\n"}
    inner = {"ip_pack/tools.py": "from . import ip_rows\nrows = ip_rows.rows\n"}
    one, two = (folder(tmp_path / n, {**files, **inner, "ip_rows.py": f"rows = ['{n}']\n"}) for n in ("one", "two"))

    for name in ("ip_tools", "ip_pack.tools"):
        found = [load_fresh_module(name, root, "run") for root in (one, two, one)]

        assert [module.rows for module in found] == [["one"], ["two"], ["one"]]
        for module in found:
            forget_module(module)


def test_what_a_private_module_raises_is_told_with_its_own_line(tmp_path: Path) -> None:
    """The name is the one that the suite wrote, and the place is in its own file."""
    load_object("ip_bad:x", folder(tmp_path / "one", {"ip_bad.py": "x = 1\n"}))
    two = folder(tmp_path / "two", {"ip_bad.py": "\nimport ip_nowhere\n"})

    with pytest.raises(ImportPathError, match=r"importing 'ip_bad' raised ModuleNotFoundError: .*two/ip_bad\.py:2\)"):
        load_object("ip_bad:x", two)


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
