"""A real headless Chromium, driven over its own debugging protocol: what a page shows, says, asks for and how fast.

Needs only Chromium and aiohttp, which the package needs anyway.
"""

import asyncio
import base64
import itertools
import json
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import aiohttp  # noqa: TID253 - nothing of the package loads this

NAMES = ("chromium", "chromium-browser", "google-chrome")

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-port=0",
)  # fmt: skip


def find() -> str | None:
    """Give the path of a Chromium, or None where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """A browser with a profile of its own, gone with all its files at the end."""

    async def __aenter__(self) -> Self:
        """Start it."""
        path = find()
        if path is None:
            raise RuntimeError(f"no browser found; install one of {', '.join(NAMES)}")
        self._profile = tempfile.mkdtemp(prefix="agentbench-browser-")
        self._process = await asyncio.create_subprocess_exec(
            path, *FLAGS, f"--user-data-dir={self._profile}", "about:blank",
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        address = await asyncio.wait_for(self._address(), 60)
        self._drain = asyncio.create_task(self._rest())
        self._http = aiohttp.ClientSession()
        self._socket = await self._http.ws_connect(address, max_msg_size=0)
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._pages: dict[str, Page] = {}
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop it and delete its files."""
        with suppress(Exception):
            await asyncio.wait_for(self.call("Browser.close"), 5)
        for task in (self._reader, self._drain):
            task.cancel()
        await asyncio.gather(self._reader, self._drain, return_exceptions=True)
        await self._socket.close()
        await self._http.close()
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        await asyncio.sleep(0.05)  # transports of the process close on the loop
        shutil.rmtree(self._profile, ignore_errors=True)

    async def page(self, *, width: int = 1280, height: int = 860, dark: bool = False, phone: bool = False) -> "Page":
        """Open an empty page of this size."""
        target = await self.call("Target.createTarget", url="about:blank")
        session = await self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        page = Page(self, session["sessionId"])
        self._pages[session["sessionId"]] = page
        for domain in ("Page", "Runtime", "Log", "Network", "Performance"):
            await page.call(f"{domain}.enable")
        await page.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone
        )
        await page.look(dark=dark)
        return page

    async def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Call the protocol; raise `RuntimeError` where the browser refuses."""
        number = next(self._ids)
        self._waiting[number] = answer = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        await self._socket.send_json(message)
        return await asyncio.wait_for(answer, 60)

    async def _address(self) -> str:
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            if b"listening on ws://" in line:
                return line.decode().split("listening on ")[1].strip()
        raise RuntimeError("the browser ended at its start")

    async def _rest(self) -> None:
        assert self._process.stderr is not None
        while await self._process.stderr.read(65536):
            pass

    async def _read(self) -> None:
        async for message in self._socket:
            data = json.loads(message.data)
            if "id" in data:
                answer = self._waiting.pop(data["id"])
                if answer.done():
                    continue
                if "error" in data:
                    answer.set_exception(RuntimeError(data["error"]["message"]))
                else:
                    answer.set_result(data["result"])
            elif (page := self._pages.get(data.get("sessionId", ""))) is not None:
                page.take(data["method"], data["params"])


class Page:
    """A tab. `problems` holds console errors, warnings and exceptions, `requests` every address that was asked for."""

    def __init__(self, browser: Browser, session: str) -> None:
        """Make a page of an attached session; `Browser.page` does."""
        self._browser = browser
        self._session = session
        self._loaded = asyncio.Event()
        self.problems: list[str] = []
        self.requests: list[str] = []

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call the protocol for this page."""
        return await self._browser.call(method, self._session, **parameters)

    def take(self, method: str, told: dict[str, Any]) -> None:
        """Note what the browser tells of its own accord."""
        if method == "Page.loadEventFired":
            self._loaded.set()
        elif method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = told["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.problems.append(told["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.problems.append(json.dumps([one.get("value") for one in told["args"]]))

    async def look(self, *, dark: bool) -> None:
        """Prefer dark or light."""
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        await self.call("Emulation.setEmulatedMedia", features=features)

    async def open(self, address: str) -> None:
        """Load an address, and wait until it is loaded."""
        self._loaded.clear()
        await self.call("Page.navigate", url=address)
        await asyncio.wait_for(self._loaded.wait(), 60)

    async def go(self, fragment: str) -> None:
        """Follow a link within the page, and let it be drawn."""
        await self.run(f"location.hash = {json.dumps(fragment)}")
        await self.drawn()

    async def drawn(self) -> None:
        """Wait until what was changed is on the screen."""
        await self.run("new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))")

    async def run(self, script: str) -> Any:
        """Evaluate an expression in the page, promises awaited; raise `RuntimeError` where it throws."""
        done = await self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in done:
            details = done["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return done["result"].get("value")

    async def press(self, key: str) -> None:
        """Press and release a key."""
        named = {"Enter": ("\r", 13), "Escape": ("", 27), "Tab": ("\t", 9), "ArrowDown": ("", 40)}
        text, code = named.get(key, (key, ord(key[0].upper())))
        what = {"key": key, "windowsVirtualKeyCode": code, **({"text": text} if text else {})}
        await self.call("Input.dispatchKeyEvent", type="keyDown", **what)
        await self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)
        await self.drawn()

    async def type(self, text: str) -> None:
        """Type a text, key by key."""
        for char in text:
            await self.press(char)

    async def picture(self, path: Path, *, whole: bool = False) -> None:
        """Write a PNG of what is seen, or of the whole page."""
        data = await self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(data["data"]))
