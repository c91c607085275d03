"""Install what was built into fresh environments, and play with each the README's suite, a first suite and the example.

    python tests/packaging/try_package.py DIST [PYTHON ...]

DIST holds a wheel and an sdist; PYTHON are the interpreters to try (this one). Needs nothing but the standard library.
Prints how large the environment is, and ends with 1 where something does not hold.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MEGABYTE = 1_000_000
MOST = 130
"""Megabytes that the package and all it requires may take, as files without bytecode."""

AGENT = "def build():\n    return lambda message: 'From 9 am.'\n"


def try_package(built: Path, python: str, folder: Path) -> None:
    """Install one file for one interpreter below `folder`, and play; raise `RuntimeError` for what does not hold."""
    told = run([python, "--version"], folder).strip()
    run([python, "-m", "venv", "env"], folder)
    bin_folder = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
    before = size(folder / "env")
    run([str(bin_folder / "python"), "-m", "pip", "install", "-q", str(built)], folder)
    plain = (size(folder / "env") - before) / MEGABYTE
    print(f"{told}, {built.name}: {plain:.0f} MB without bytecode", flush=True)
    if plain > MOST:
        raise RuntimeError(f"more than {MOST} MB are installed")

    write_readme_suite(folder / "readme")
    expect(run([str(bin_folder / "pytest"), "--agentbench", "bench"], folder / "readme"), "2 passed")

    first = folder / "first"
    first.mkdir()
    (first / "my_agent.py").write_text(AGENT, encoding="utf-8")
    expect(run([str(bin_folder / "agentbench"), "init", "--say", "When are you open?"], first), "wrote agentbench.yaml")
    job = (first / ".github" / "workflows" / "agentbench.yml").read_text(encoding="utf-8")
    expect(job, str(built))
    expect(run([str(bin_folder / "pytest"), "--agentbench"], first), "1 passed")

    shutil.copytree(ROOT / "example_project", folder / "example_project", ignore=shutil.ignore_patterns(".agentbench"))
    main_job = [str(bin_folder / "pytest"), "--agentbench", "example_project/support.agentbench.yaml", "-q"]
    expect(run(main_job, folder), "43 passed")


def write_readme_suite(folder: Path) -> None:
    """Write the files of the README's first suite: the first block of each name."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(?:python|yaml)\n# (bench/\S+)\n(.*?)```", text, re.DOTALL)
    blocks += re.findall(r"```json file=(\S+)\n(.*?)```", text, re.DOTALL)
    for name, content in blocks:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_text(content, encoding="utf-8")


def size(folder: Path) -> int:
    """Give the bytes of all files, bytecode left out: how much of that is written depends on how one installs."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")


def run(command: list[str], folder: Path) -> str:
    """Give what a command prints; raise `RuntimeError` where it fails."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "AGENTBENCH_"))}
    done = subprocess.run(command, cwd=folder, env=plain, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(text: str, part: str) -> None:
    """Raise `RuntimeError` where a text lacks a part."""
    if part not in text:
        raise RuntimeError(f"{part!r} is not in\n{text}")


def main() -> None:
    """Try every file with every interpreter."""
    files = sorted(path.resolve() for path in Path(sys.argv[1]).glob("pytest_agentbench-*"))
    if {path.suffix for path in files} != {".whl", ".gz"}:
        sys.exit(f"a wheel and an sdist are wanted in {sys.argv[1]}, found {[path.name for path in files]}")
    for python in sys.argv[2:] or [sys.executable]:
        for built in files:
            with tempfile.TemporaryDirectory() as name:
                try:
                    try_package(built, python, Path(name).resolve())
                except RuntimeError as error:
                    sys.exit(str(error))


if __name__ == "__main__":
    main()
