"""The pictures of the documentation: the HTML report of the example's support desk when its agent forgets to ask.

    python -m benchmarks.screenshots [--output docs/images]

Run it again after a change to the page. Needs Chromium; with Pillow the files are small.
"""

import argparse
import asyncio
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from benchmarks.browser import Browser, Page

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "example_project"
RUN = "exchange-two-items-at-once"
"""The run that is shown opened: several calls, and one made without a yes."""

PICTURES = (
    ("overview", 1200, 900, "overview"),
    ("run", 1200, 1000, "run"),
    ("tools", 1200, 1190, "tools"),
    ("phone", 390, 844, "run"),
)
"""Name, width, height and what is shown; the phone's is dark."""


def write_page(folder: Path) -> Path:
    """Run the example and give its page; raise `RuntimeError` where none was written."""
    project = folder / "project"
    shutil.copytree(EXAMPLE, project, ignore=shutil.ignore_patterns(".agentbench", "__pycache__", ".pytest_cache"))
    page = folder / "report.html"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--agentbench", "--agentbench-variant", "hasty", "-p", "no:cacheprovider",
         "--agentbench-html", str(page), "support.agentbench.yaml"],
        cwd=project, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if not page.exists():
        raise RuntimeError(f"no page was written:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return page


async def take(page: Path, output: Path) -> list[Path]:
    """Take the pictures of `page`; give their files."""
    files = []
    async with Browser() as browser:
        for name, width, height, view in PICTURES:
            tab = await browser.page(width=width, height=height, phone=name == "phone", dark=name == "phone")
            await tab.open(page.as_uri())
            if view == "tools":
                await tab.go("#tools")
            elif view == "run":
                await tab.go(f"#runs/{await _place(tab)}")
                if name == "phone":
                    await tab.run("document.querySelector('.to-divergence').click()")
            await tab.drawn()
            await tab.picture(output / f"html-{name}.png")
            shrink(output / f"html-{name}.png")
            files.append(output / f"html-{name}.png")
    return files


def shrink(file: Path) -> None:
    """Bring a picture down to 256 colours, where Pillow is installed."""
    with suppress(ImportError):
        from PIL import Image  # noqa: PLC0415 - the pictures are right without it, only larger

        with Image.open(file) as picture:
            small = picture.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        small.save(file, optimize=True)


async def _place(tab: Page) -> int:
    script = "JSON.parse(document.getElementById('data').textContent).rows.findIndex((row) => row.name === %r)"
    return int(await tab.run(script % RUN))


def main() -> None:
    """Write the pictures and say how large they are."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "images")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for file in asyncio.run(take(write_page(Path(folder)), options.output)):
            print(f"{file}: {file.stat().st_size // 1024} kB")


if __name__ == "__main__":
    main()
