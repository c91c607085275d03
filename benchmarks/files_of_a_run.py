"""How many files of the package a session of the README's scenario needs: those it loads, and those it runs.

    python -m benchmarks.files_of_a_run [--list]

A file is run when a function of it is called, in any thread; what only stands at its top is loaded. `--list` names the
files that are loaded and never run.
"""

import argparse
import contextlib
import io
import os
import re
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType

import pytest

import pytest_agentbench

PACKAGE = Path(pytest_agentbench.__file__).parent
README = PACKAGE.parent / "README.md"
_FUNCTION = 1
"""The flag of code that has locals of its own: a function's, not a module's or a class's."""


def write_project(folder: Path) -> None:
    """Write the first suite of the README."""
    for name, text in re.findall(r"^```\w+\n# (bench/\S+)\n(.*?)^```", README.read_text(encoding="utf-8"), re.M | re.S):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        if not path.exists():
            path.write_text(text, encoding="utf-8")
    state = folder / "bench" / "orders.json"
    if not state.exists():
        state.write_text('{"orders": {"W1": "paid"}}', encoding="utf-8")


def files_run() -> set[str]:
    """Play the suite of the current folder and give the files whose functions were called."""
    found: set[str] = set()

    def called(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_flags & _FUNCTION and not frame.f_code.co_name.startswith("<"):
            found.add(frame.f_code.co_filename)

    threading.setprofile(called)
    sys.setprofile(called)
    told = io.StringIO()
    try:
        with contextlib.redirect_stdout(told):
            status = pytest.main(["--agentbench", "-q", "-p", "no:cacheprovider", "bench/agentbench.yaml::refund-late"])
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]  # the stubs forbid to end it
    if status:
        raise SystemExit(told.getvalue())
    return {name.removeprefix(f"{PACKAGE}/") for name in found if name.startswith(f"{PACKAGE}/")}


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        write_project(Path(name))
        os.chdir(name)
        run = files_run()
        os.chdir(PACKAGE)
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    loaded = {file.removeprefix(f"{PACKAGE}/") for file in files if file and file.startswith(f"{PACKAGE}/")}
    print(f"one scenario: {len(loaded)} files of the package loaded, functions of {len(run)} run")
    if asked.list:
        print(*sorted(loaded - run), sep="\n")


if __name__ == "__main__":
    main()
