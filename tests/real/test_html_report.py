"""The HTML report in a real browser: nothing hostile runs, nothing is asked for, and a reader gets where they want."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from benchmarks.browser import Browser, Page, find
from benchmarks.html_report import HOSTILE, measure, session
from pytest_agentbench.report.html.page import Reading, html_report

CONTRAST = Path(__file__).with_name("contrast.js")

pytestmark = [pytest.mark.real, pytest.mark.skipif(find() is None, reason="no Chromium here")]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of 420 runs, hostile ones among them."""
    held, transcripts = session(420)
    path = tmp_path_factory.mktemp("page") / "report.html"
    text = html_report(held, Reading(transcript=lambda run: transcripts[run.key]))
    path.write_text(text, encoding="ascii")
    return path


def visit(file: Path, act: Callable[[Page], Awaitable[None]], **options: object) -> None:
    """Open the page, act, and hold that nothing was complained of, asked for or broken."""

    async def visiting() -> None:
        async with Browser() as browser:
            page = await browser.page(**options)
            await page.open(file.as_uri())
            await act(page)
            assert page.problems == []
            assert page.requests == [file.as_uri()]
            assert await page.run("window.broken") is None

    asyncio.run(visiting())


async def current(page: Page) -> str:
    """The name of the opened run."""
    return await page.run("document.querySelector('#run-title .name').firstChild.textContent")


async def focused(page: Page) -> str:
    """What has the keyboard's focus."""
    return await page.run(
        "document.activeElement.id || document.activeElement.className || document.activeElement.tagName"
    )


def test_every_hostile_run_is_inert(file: Path) -> None:
    """Each is opened with its conversation; what was said is there as text and adds no element."""

    async def act(page: Page) -> None:
        await page.go("#runs")
        places = await page.run(
            "JSON.parse(document.getElementById('data').textContent).rows.map((row, at) => row.tags.length ? at : -1)"
            ".filter((at) => at >= 0)"
        )
        assert len(places) >= 2 * len(HOSTILE)
        for place in places:
            await page.go(f"#runs/{place}")
            assert await page.run("document.querySelectorAll('.conversation .turn').length") >= 4
        await page.run("location.hash = '#tools'")
        await page.drawn()
        strange = "main img, main iframe, main a[href^=javascript], main a[href^=http], main script, main [onclick]"
        assert await page.run(f"document.querySelectorAll({strange!r}).length") == 0
        assert await page.run("document.querySelectorAll('script').length") == 422

    visit(file, act)


def test_over_http_nothing_else_is_asked_for(file: Path) -> None:
    """Where a CI server shows the page, its browser asks for no icon and no other file."""
    asked: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
            asked.append(self.path)

    async def visiting(address: str) -> list[str]:
        async with Browser() as browser:
            page = await browser.page()
            await page.open(address)
            await page.go("#runs/0")
            return page.problems

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(file.parent))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        problems = asyncio.run(visiting(f"http://127.0.0.1:{server.server_port}/{file.name}"))
        server.shutdown()

    assert (asked, problems) == ([f"/{file.name}"], [])


def test_a_hostile_address_is_no_way_in(file: Path) -> None:
    """What follows # is taken for a view, a filter or nothing."""

    async def act(page: Page) -> None:
        for fragment in (
            "#runs?q=<img src=x onerror=window.broken=1>",
            "#runs/99999?constructor=1",
            "#__proto__",
            "#runs/x",
        ):
            await page.go(fragment)
        assert await page.run("document.querySelectorAll('main img').length") == 0

    visit(file, act)


def test_the_keyboard_does_it_all(file: Path) -> None:
    """Search, walk, open, jump to the divergent turn, copy, close, go to the other views."""

    async def act(page: Page) -> None:
        await page.press("2")
        first = await current(page)
        await page.press("j")
        second = await current(page)
        await page.press("k")
        assert (await current(page), second != first) == (first, True)
        await page.press("d")
        assert await page.run("document.activeElement.matches('.turn.divergent')")
        await page.press("/")
        assert await focused(page) == "search"
        await page.type("case-0042")
        assert await page.run("document.querySelectorAll('.list li').length") == 2
        await page.press("Enter")
        assert await current(page) == "case-0042"
        assert await page.run("document.activeElement.matches('.list a')")
        await page.press("c")
        assert await page.run("document.querySelector('#copy span').textContent") == "Copied"
        await page.press("/")
        await page.press("Escape")
        assert await page.run("document.querySelector('.count').textContent") == "420 runs"
        await page.press("Escape")
        await page.press("?")
        assert await page.run("document.querySelector('dialog').open")
        await page.press("Escape")
        await page.press("3")
        assert await page.run("document.querySelectorAll('svg.graph .node').length") > 5
        await page.press("1")
        assert await page.run("document.querySelector('.big').textContent") != ""

    visit(file, act)


def test_what_has_the_focus_is_seen(file: Path) -> None:
    """Tab goes through links, search and filters, and each stop is outlined."""

    async def act(page: Page) -> None:
        await page.go("#runs")
        await page.run("document.getElementById('skip').focus()")  # a browser may begin at the link's target
        stops = set()
        for _ in range(14):
            await page.press("Tab")
            seen = await page.run(
                "(() => { const style = getComputedStyle(document.activeElement); "
                "return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1; })()"
            )
            assert seen, await focused(page)
            stops.add(await page.run("document.activeElement.tagName"))
        assert {"A", "INPUT", "SELECT", "BUTTON"} <= stops

    visit(file, act)


def test_a_view_can_be_linked_to(file: Path) -> None:
    """A cell of the heat map leads to its runs, and the address alone shows them again."""

    async def act(page: Page) -> None:
        await page.run("document.querySelector('.heat a[href*=policy]').click()")
        await page.drawn()
        address, count = await page.run("[location.href, document.querySelector('.count').textContent]")
        await page.open("about:blank")
        page.requests.clear()
        await page.open(address)
        assert " of 420 runs" in count
        assert await page.run("document.querySelector('.count').textContent") == count
        page.requests[:] = [file.as_uri()]

    visit(file, act)


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_shows_one_thing_at_a_time(file: Path, *, dark: bool) -> None:
    """Nothing is wider than the screen; a run covers the list, and closing it leads back."""

    async def act(page: Page) -> None:
        for view in ("#overview", "#runs", "#runs/0", "#policies", "#tools"):
            await page.go(view)
            assert await page.run("document.documentElement.scrollWidth") == 390, view
        await page.go("#runs/3")
        shown = "[...document.querySelectorAll('.side, .pane')].map((one) => one.offsetParent !== null)"
        assert await page.run(shown) == [False, True]
        await page.run("document.querySelector('.back').click()")
        assert await page.run(shown) == [True, False]
        assert await page.run("document.activeElement.dataset.place") == "3"

    visit(file, act, width=390, height=844, phone=True, dark=dark)


@pytest.mark.parametrize("width", [480, 600, 768, 900, 1024, 1280])
def test_nothing_is_wider_than_the_window(file: Path, width: int) -> None:
    """Between a phone and a desk, too, no view has to be pushed sideways."""

    async def act(page: Page) -> None:
        for view in ("#overview", "#runs", "#runs/0", "#policies", "#tools"):
            await page.go(view)
            assert await page.run("document.documentElement.scrollWidth") == width, view

    visit(file, act, width=width)


@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out_from_its_ground(file: Path, *, dark: bool) -> None:
    """Ordinary and muted text, links and badges have a contrast of 4.5 and more (WCAG 2.2, 1.4.3)."""

    async def act(page: Page) -> None:
        for view in ("#overview", "#runs/0", "#policies", "#tools"):
            await page.go(view)
            poor = await page.run(CONTRAST.read_text(encoding="ascii"))
            assert poor == [], view

    visit(file, act, dark=dark)


def test_a_thousand_runs_are_no_strain(tmp_path: Path) -> None:
    """First paint, filter and search take well under a second each; the figures are printed."""
    held, transcripts = session(1_000)
    path = tmp_path / "many.html"
    path.write_text(html_report(held, Reading(transcript=lambda run: transcripts[run.key])), encoding="ascii")

    figures = asyncio.run(measure(path))

    print({name: round(value) for name, value in figures.items()})
    assert figures["first-contentful-paint"] < 5_000
    assert max(figures["filter"], figures["search"], figures["open a run"]) < 1_000
