"""What is built installs into a fresh environment of every supported Python that is here, and plays."""

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.real


def interpreters() -> list[str]:
    """Give an interpreter of each version from 3.11 to 3.14 that is on the path or with pyenv."""
    found = {}
    for version in ("3.11", "3.12", "3.13", "3.14"):
        homes = sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions").glob(f"{version}.*"))
        here = shutil.which(f"python{version}") if not homes else str(homes[-1] / "bin" / "python")
        if here:
            found[version] = here
    return list(found.values()) or [sys.executable]


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build wheel and sdist."""
    folder = tmp_path_factory.mktemp("dist")
    pytest.importorskip("build")
    subprocess.run([sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)], check=True, capture_output=True)
    return folder


def test_the_metadata_is_valid_and_no_test_is_in_the_package(dist: Path) -> None:
    """twine reads it as the index would; neither archive holds tests, examples or benchmarks."""
    pytest.importorskip("twine")
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *map(str, dist.iterdir())], check=True)
    (sdist,), (wheel,) = dist.glob("*.tar.gz"), dist.glob("*.whl")
    with tarfile.open(sdist) as archive:
        named = {name.split("/")[1] for name in archive.getnames()}
    assert named == {
        ".gitignore",
        "CHANGELOG.md",
        "LICENSE",
        "PKG-INFO",
        "README.md",
        "pyproject.toml",
        "pytest_agentbench",
    }
    with zipfile.ZipFile(wheel) as archive:
        assert {name.split("/")[0].partition("-")[0] for name in archive.namelist()} == {"pytest_agentbench"}


def test_every_link_of_the_description_is_absolute(dist: Path) -> None:
    """An index shows the README without the files beside it: what was relative leads into the repository."""
    markdown = pytest.importorskip("markdown_it").MarkdownIt("commonmark", {"html": True}).enable("table")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        _, _, shown = archive.read(name).decode().partition("\n\n")

    def links(text: str) -> list[str]:
        tokens = [one for token in markdown.parse(text) for one in (token, *(token.children or ()))]
        return [str(one.attrs[key]) for one in tokens for key in ("href", "src") if key in one.attrs]

    written = links((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(written) > 100
    for before, after in zip(written, links(shown), strict=True):
        kind = "raw" if before.endswith(".png") else "blob"
        inside = f"{project['urls']['Repository']}/{kind}/HEAD/{before}"
        assert after == (before if before.startswith("https://") else inside)


@pytest.mark.parametrize("python", interpreters())
def test_it_plays_in_a_fresh_environment(dist: Path, python: str) -> None:
    """The README's suite, a first suite by `init` and the main job run from wheel and sdist, within 130 MB."""
    script = Path(__file__).with_name("try_package.py")

    done = subprocess.run([sys.executable, str(script), str(dist), python], capture_output=True, text=True, check=False)

    print(done.stdout)
    assert done.returncode == 0, done.stderr
