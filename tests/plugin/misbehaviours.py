"""Kinds of agents that misbehave, each as the few lines that do it.

A line stands in the body of a sync reply function, of an async one, of a factory, or of a tool; `message` is what the
user said. What a line returns is what the agent says.
"""

SYNC: dict[str, str] = {
    # what may be raised
    "exception": "raise ValueError('no')",
    "exception-group": "raise ExceptionGroup('several', [ValueError('a'), KeyError('b')])",
    "base-exception-group": "raise BaseExceptionGroup('several', [KeyboardInterrupt(), SystemExit(1)])",
    "base-exception": "raise BaseException('bare')",
    "system-exit": "sys.exit(0)",
    "system-exit-text": "raise SystemExit('bye')",
    "keyboard-interrupt": "raise KeyboardInterrupt",
    "generator-exit": "raise GeneratorExit",
    "stop-iteration": "raise StopIteration(3)",
    "stop-async-iteration": "raise StopAsyncIteration",
    "cancelled": "raise asyncio.CancelledError",
    "timeout-error": "raise TimeoutError",
    "memory-error": "raise MemoryError",
    "recursion": "return reply(message)",
    "os-error": "raise OSError(28, 'No space left on device')",
    "broken-pipe": "raise BrokenPipeError",
    "unicode-error": "return b'\\xff'.decode()",
    "assertion": "assert message == 'never'",
    "warning": "raise DeprecationWarning('old')",
    "pytest-exit": "__import__('pytest').exit('bye')",
    "pytest-skip": "__import__('pytest').skip('bye')",
    "pytest-fail": "__import__('pytest').fail('bye')",
    "unprintable": "raise Unprintable",
    "unpicklable": "raise type('Local', (Exception,), {'__reduce__': None})('local')",
    "endless-cause": "a, b = ValueError('a'), ValueError('b'); a.__cause__ = b; b.__cause__ = a; raise a",
    "huge-message": "raise ValueError('x' * 5_000_000)",
    "raised-class-without-init": "raise type('Odd', (Exception,), {'__init__': lambda self, a, b: None})",
    # what may be returned
    "none": "return None",
    "number": "return 42",
    "nan": "return {'content': float('nan')}",
    "bytes": "return b'\\xff\\xfe'",
    "surrogate": "return 'lone \\ud800 here'",
    "zero-bytes": "return 'a\\x00b\\x1b[2J\\x07'",
    "huge": "return 'x' * 5_000_000",
    "many-messages": "return [{'role': 'assistant', 'content': 'a'}] * 5_000",
    "endless-generator": "return (part for part in __import__('itertools').repeat('a'))",
    "generator": "return (part for part in 'abc')",
    "itself": "loop = {}; loop['content'] = loop; return loop",
    "deep": "deep = []\nfor _ in range(5_000): deep = [deep]\nreturn {'content': deep}",
    "lying-str": "return type('Liar', (str,), {'__str__': lambda self: 1 / 0, '__len__': lambda self: -1})('hi')",
    "exploding-repr": "return Exploding()",
    "a-class": "return dict",
    "a-coroutine-function": "return asyncio.sleep",
    "unknown-tool": "return {'tool_calls': [{'id': '1', 'function': {'name': 'nope', 'arguments': '{}'}}]}",
    "bad-arguments": "return {'tool_calls': [{'id': '1', 'function': {'name': 'refund', 'arguments': '{{{'}}]}",
    "nan-arguments": (
        "return {'tool_calls': [{'id': '1', 'function': {'name': 'refund', 'arguments': '{\"a\": NaN}'}}]}"
    ),
    # what never ends
    "sleep": "time.sleep(3_600)",
    "sleep-loop": "while True: time.sleep(0.01)",
    "swallowing-sleep-loop": ("while True:\n    try: time.sleep(0.01)\n    except BaseException: pass"),
    "busy": "while True: pass",
    "lock": "lock = threading.Lock(); lock.acquire(); lock.acquire()",
    "join-itself": "threading.Event().wait()",
    "read-stdin": "return sys.stdin.readline() or input()",
    # threads, processes, signals
    "non-daemon-thread": "threading.Thread(target=time.sleep, args=(3_600,), daemon=False).start(); return 'left one'",
    "thread-that-raises": "threading.Thread(target=lambda: 1 / 0).start(); return 'raised'",
    "thread-that-exits": "threading.Thread(target=lambda: sys.exit(3)).start(); return 'left'",
    "thread-that-interrupts": (
        "threading.Thread(target=__import__('_thread').interrupt_main, args=(28,)).start(); return 'sent'"
    ),
    "many-threads": (
        "for _ in range(200): threading.Thread(target=time.sleep, args=(2,), daemon=True).start()\nreturn 'many'"
    ),
    "thread-pool": (
        "__import__('concurrent.futures').futures.ThreadPoolExecutor(1).submit(time.sleep, 3_600); return 'pool'"
    ),
    "timer": "threading.Timer(3_600, print).start(); return 'later'",
    "child": "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(30)']); return 'left a child'",
    "zombie": "subprocess.Popen([sys.executable, '-c', 'pass']); return 'left a zombie'",
    "multiprocessing": (
        "multiprocessing.get_context('spawn').Process(target=time.sleep, args=(30,)).start(); return 'left a process'"
    ),
    "fork-and-exit": "pid = os.fork()\nif pid == 0: os._exit(0)\nreturn str(os.waitpid(pid, 0)[1])",
    "fork-and-go-on": "os.fork(); return 'both of us'",
    "handler": "signal.signal(signal.SIGINT, lambda *_: sys.exit(3)); return 'set'",
    "sigchld": "os.kill(os.getpid(), signal.SIGCHLD); return 'sent'",
    "sigpipe": "os.kill(os.getpid(), signal.SIGPIPE); return 'sent'",
    "atexit-raises": "atexit.register(lambda: 1 / 0); return 'registered'",
    "atexit-exits": "atexit.register(lambda: sys.exit(0)); return 'registered'",
    "del-raises": "Grumpy(); return 'collected'",
    "del-exits": "Leaver(); return 'collected'",
    "weakref-callback": "thing = Exploding(); ref = weakref.ref(thing, lambda _: 1 / 0); del thing; return 'gone'",
    # the process that all share
    "chdir": "os.chdir('/'); return 'moved'",
    "rmdir-cwd": "gone = tempfile.mkdtemp(); os.chdir(gone); os.rmdir(gone); return 'nowhere'",
    "environ-cleared": "os.environ.clear(); return 'cleared'",
    "environ-pytest": "os.environ['PYTEST_CURRENT_TEST'] = 'mine'; os.environ['COLUMNS'] = '1'; return 'set'",
    "excepthook": "sys.excepthook = lambda *_: os._exit(3); return 'hooked'",
    "unraisablehook": "sys.unraisablehook = lambda *_: 1 / 0; return 'hooked'",
    "thread-excepthook": "threading.excepthook = lambda *_: 1 / 0; return 'hooked'",
    "settrace": "sys.settrace(lambda *_: None); return 'traced'",
    "close-stdout": "sys.stdout.close(); return 'closed'",
    "close-stderr": "sys.stderr.close(); return 'closed'",
    "no-stdout": "sys.stdout = sys.stderr = None; return 'none'",
    "other-stdout": "sys.stdout = io.StringIO(); print('lost'); return 'other'",
    "fd-1-to-null": "os.dup2(os.open(os.devnull, os.O_WRONLY), 1); return 'null'",
    "much-output": "print('x' * 2_000_000); return 'printed'",
    "odd-output": "sys.stdout.buffer.write(b'\\x1b[2J\\x00'); print('\\ud800'); return 'printed'",
    "gc-off": "gc.disable(); gc.set_threshold(0); return 'off'",
    "recursion-limit": "sys.setrecursionlimit(80); return 'low'",
    "recursion-limit-high": "sys.setrecursionlimit(10**6); return 'high'",
    "switch-interval": "sys.setswitchinterval(2); return 'slow'",
    "sleep-patched": "time.sleep = lambda _: None; return 'patched'",
    "random-seeded": "__import__('random').seed(0); return 'seeded'",
    "uuid-patched": "__import__('uuid').uuid4 = lambda: 1 / 0; return 'patched'",
    "warnings-as-errors": "warnings.simplefilter('error'); warnings.warn('now'); return 'raised'",
    "logging-disabled": "logging.disable(); logging.shutdown(); return 'quiet'",
    "logging-to-closed": (
        "stream = io.StringIO(); logging.basicConfig(stream=stream, force=True); stream.close(); "
        "logging.error('lost'); return 'logged'"
    ),
    "logging-raises": "logging.getLogger().addFilter(lambda _: 1 / 0); return 'filtered'",
    "faulthandler": "faulthandler.disable(); faulthandler.dump_traceback_later(3_600); return 'later'",
    "faulthandler-exit": ("faulthandler.dump_traceback_later(0.2, exit=False); time.sleep(0.3); return 'dumped'"),
    "many-files": "KEPT.extend(open(os.devnull) for _ in range(400)); return 'many'",
    "umask": "os.umask(0o777); return 'masked'",
    "nice": "os.nice(5); return 'nice'",
    "cpu-limit": "resource.setrlimit(resource.RLIMIT_CPU, (3_600, 3_600)); return 'limited'",
    "locale": "locale.setlocale(locale.LC_ALL, 'C'); return 'C'",
    "int-digits": "sys.set_int_max_str_digits(640); return 'few'",
    "results-deleted": "shutil.rmtree('.agentbench', ignore_errors=True); return 'deleted'",
    "global-state": "KEPT.append('x' * 10_000_000); return 'kept'",
    "contextvar": "VARIABLE.set('mine'); return VARIABLE.get()",
    "new-loop": "asyncio.run(asyncio.sleep(0)); return 'ran'",
    "own-loop-kept": "asyncio.set_event_loop(asyncio.new_event_loop()); return 'set'",
    "nested-loop": "asyncio.get_event_loop().run_until_complete(asyncio.sleep(0)); return 'ran'",
    "profile": "threading.setprofile(lambda *_: None); sys.setprofile(lambda *_: None); return 'profiled'",
}

ASYNC: dict[str, str] = {
    "system-exit": "sys.exit(0)",
    "keyboard-interrupt": "raise KeyboardInterrupt",
    "cancelled": "raise asyncio.CancelledError",
    "generator-exit": "raise GeneratorExit",
    "stop-iteration": "raise StopIteration",
    "cancels-itself": "asyncio.current_task().cancel(); await asyncio.sleep(1)",
    "uncancels-itself": (
        "while True:\n    try: await asyncio.sleep(3_600)\n    except asyncio.CancelledError: "
        "asyncio.current_task().uncancel()"
    ),
    "cancels-all": "[task.cancel() for task in asyncio.all_tasks() if 'reply' in repr(task)]; return 'cancelled'",
    "swallows-cancellation": (
        "while True:\n    try: await asyncio.sleep(3_600)\n    except asyncio.CancelledError: pass"
    ),
    "swallows-everything": "while True:\n    try: await asyncio.sleep(0.01)\n    except BaseException: pass",
    "swallows-in-a-task": "await asyncio.create_task(stubborn())",
    "leaves-a-stubborn-task": "KEPT.append(asyncio.create_task(stubborn())); await asyncio.sleep(0); return 'left'",
    "leaves-a-task-to-nobody": "asyncio.create_task(stubborn()); await asyncio.sleep(0); return 'left'",
    "endless-finally": "try: await asyncio.sleep(3_600)\nfinally: await stubborn()",
    "shield": "await asyncio.shield(asyncio.sleep(3_600))",
    "never": "await asyncio.get_running_loop().create_future()",
    "yields-for-ever": "while True: await asyncio.sleep(0)",
    "blocks-a-while": "time.sleep(0.4); return 'blocked'",
    "stops-the-loop": "asyncio.get_running_loop().stop(); return 'stopped'",
    "closes-the-loop": "asyncio.get_running_loop().close(); return 'closed'",
    "stops-and-closes": (
        "loop = asyncio.get_running_loop(); loop.stop(); loop.call_soon(loop.close); await asyncio.sleep(0.1)"
    ),
    "task-exits": "asyncio.create_task(leaves()); await asyncio.sleep(0.05); return 'went on'",
    "task-interrupts": "asyncio.create_task(interrupts()); await asyncio.sleep(0.05); return 'went on'",
    "callback-exits": "asyncio.get_running_loop().call_soon(sys.exit, 3); await asyncio.sleep(0.05); return 'went on'",
    "callback-raises": (
        "asyncio.get_running_loop().call_soon(lambda: 1 / 0); await asyncio.sleep(0.05); return 'went on'"
    ),
    "awaits-a-number": "await 3",
    "never-awaited": "asyncio.sleep(1); return 'forgot'",
    "nested-run": "asyncio.run(asyncio.sleep(0)); return 'nested'",
    "to-thread-for-ever": "await asyncio.to_thread(time.sleep, 3_600)",
    "executor-shut-down": (
        "await asyncio.to_thread(int); asyncio.get_running_loop()._default_executor.shutdown(False); return 'x'"
    ),
    "exception-handler": "asyncio.get_running_loop().set_exception_handler(lambda *_: 1 / 0); return 'set'",
    "debug-loop": "asyncio.get_running_loop().set_debug(True); return 'debug'",
    "slow-timers": "asyncio.get_running_loop().time = lambda: 0.0; await asyncio.sleep(0.01); return 'frozen'",
    "fork-and-go-on": "os.fork(); return 'both of us'",
    "async-generator": "await anext(endless()); return 'began'",
    "deep-await": "await deeply(5_000); return 'deep'",
    "task-storm": "KEPT.extend(asyncio.create_task(asyncio.sleep(3_600)) for _ in range(5_000)); return 'many'",
}

FACTORY: dict[str, str] = {
    "exception": "raise ValueError('no')",
    "system-exit": "sys.exit(0)",
    "keyboard-interrupt": "raise KeyboardInterrupt",
    "none": "return None",
    "sleep": "time.sleep(3_600)",
    "cancelled": "raise asyncio.CancelledError",
    "generator-exit": "raise GeneratorExit",
}

TOOL: dict[str, str] = {
    "exception": "raise ValueError('no')",
    "system-exit": "sys.exit(0)",
    "keyboard-interrupt": "raise KeyboardInterrupt",
    "cancelled": "raise asyncio.CancelledError",
    "sleep": "time.sleep(3_600)",
    "state-cleared": "state.clear(); return 'cleared'",
    "state-of-odd-things": "state[float('nan')] = object(); return 'odd'",
    "itself": "state['self'] = state; return state",
    "surrogate": "return 'lone \\ud800'",
}

CHANGING: dict[str, str] = {
    "builtins-open": "builtins.open = lambda *_, **__: 1 / 0; return 'patched'",
    "builtins-print": "builtins.print = lambda *_, **__: 1 / 0; return 'patched'",
    "builtins-import": "builtins.__import__ = lambda *_, **__: 1 / 0; return 'patched'",
    "json-patched": "json.dumps = lambda *_, **__: 1 / 0; json.loads = json.dumps; return 'patched'",
    "asyncio-patched": "asyncio.sleep = asyncio.create_task = asyncio.timeout = None; return 'patched'",
    "pathlib-patched": "pathlib.Path.write_text = pathlib.Path.open = None; return 'patched'",
    "os-patched": "os.replace = os.open = None; return 'patched'",
    "path-cleared": "sys.path.clear(); return 'cleared'",
    "meta-path-cleared": "sys.meta_path.clear(); return 'cleared'",
    "time-patched": "time.time = time.monotonic = lambda: 0.0; return 'patched'",
    "time-backwards": "time.monotonic = lambda: -1e9; return 'patched'",
    "file-size-limit": (
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1])); return 'none'"
    ),
    "open-files": (
        "resource.setrlimit(resource.RLIMIT_NOFILE, (24, resource.getrlimit(resource.RLIMIT_NOFILE)[1])); return 'few'"
    ),
}
"""What takes something away that the whole process works with, so that runs beside it may fail."""

ENDING: dict[str, str] = {
    "exits": "os._exit(0)",
    "exits-with-3": "os._exit(3)",
    "aborts": "os.abort()",
    "is-killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "is-terminated": "os.kill(os.getpid(), signal.SIGTERM); time.sleep(3_600)",
    "alarm": "signal.setitimer(signal.ITIMER_REAL, 0.05); time.sleep(3_600)",
    "segfault": "import ctypes; ctypes.string_at(0)",
    "user-signal": "os.kill(os.getpid(), signal.SIGUSR1); time.sleep(3_600)",
    "quit": "os.kill(os.getpid(), signal.SIGQUIT); time.sleep(3_600)",
    "cpu-used-up": "resource.setrlimit(resource.RLIMIT_CPU, (1, 1))\nwhile True: pass",
    "exits-in-a-thread": "threading.Thread(target=os._exit, args=(0,)).start(); time.sleep(3_600)",
    "exits-in-a-signal": ("os.kill(os.getpid(), signal.SIGUSR2); time.sleep(3_600)"),
    "exec": "os.execv('/bin/true', ['true'])",
    "libc-exit": "import ctypes; ctypes.CDLL(None)._exit(0)",
    "exits-in-del": "Gone(); time.sleep(3_600)",
}
"""What ends the process: with workers, one of them."""

PREAMBLE = """
import asyncio, atexit, builtins, contextvars, faulthandler, gc, io, json, locale, logging, multiprocessing, os, pathlib
import re, resource, shutil, signal, subprocess, sys, tempfile, threading, time, warnings, weakref

KEPT = []
VARIABLE = contextvars.ContextVar("variable", default="")

class Unprintable(Exception):
    def __str__(self): raise ValueError("no text")
    __repr__ = __str__

class Exploding:
    def __getattr__(self, name): raise RuntimeError(name)
    def __repr__(self): raise RuntimeError("no repr")

class Grumpy:
    def __del__(self): raise ValueError("in __del__")

class Gone:
    def __del__(self): os._exit(0)

class Leaver:
    def __del__(self): sys.exit(3)

async def stubborn():
    while True:
        try: await asyncio.sleep(0.01)
        except BaseException: pass

async def leaves():
    sys.exit(3)

async def interrupts():
    raise KeyboardInterrupt

async def endless():
    while True:
        try: yield 1
        finally: await asyncio.sleep(0)

async def deeply(depth):
    await (deeply(depth - 1) if depth else asyncio.sleep(0))
"""


def kinds() -> list[str]:
    """Name every kind that one process survives, `where-name`."""
    return [
        f"{where}-{name}"
        for where, lines in (("sync", SYNC), ("async", ASYNC), ("factory", FACTORY), ("tool", TOOL))
        for name in lines
    ]


def agent_source() -> str:
    """Write the module of an agent that does what the scenario's context names, and otherwise what is asked."""
    parts = [PREAMBLE]
    assert ENDING.keys().isdisjoint([*SYNC, *CHANGING])  # else one kind would do what another does
    for where, lines in (("sync", {**SYNC, **CHANGING, **ENDING}), ("async", ASYNC), ("factory", FACTORY)):
        for name, body in lines.items():
            function = f"{where}_{name}".replace("-", "_")
            head = f"{'async ' if where == 'async' else ''}def {function}(message, reply=None):"
            parts.append(f"{head}\n{_indented(body)}\n")
    parts.append(
        """
def build(tools, context):
    kind = context.get("kind", "").replace("-", "_")
    call = {tool.__name__: tool for tool in tools}
    if kind.startswith("factory_"):
        return globals()[kind]("")

    def innocent(message):
        order = re.search(r"W[0-9]+", message)
        if order is None:
            return "You are welcome."
        call["refund"](order_id=order[0])
        return "It is refunded."

    async def innocent_async(message):
        await asyncio.sleep(0.01)
        return innocent(message)

    if kind.startswith("tool_"):
        return lambda message: str(call[kind]())
    if kind.startswith("async_"):
        async def reply(message):
            return await globals()[kind](message, reply)
        return reply
    if kind.startswith("sync_"):
        def reply(message):
            return globals()[kind](message, reply)
        return reply
    return innocent_async if context.get("async") else innocent
"""
    )
    return "\n".join(parts)


def tools_source() -> str:
    """Write the module of the tools: those that misbehave, and one that does what it should."""
    parts = ["import asyncio, sys, time\n"]
    for name, body in TOOL.items():
        parts.append(f"def tool_{name.replace('-', '_')}(state: dict) -> str:\n{_indented(body)}\n")
    parts.append(
        "def refund(state: dict, order_id: str) -> dict:\n"
        "    state['orders'][order_id]['status'] = 'refunded'\n    return state['orders'][order_id]\n"
    )
    return "\n".join(parts)


def _indented(body: str) -> str:
    return "\n".join(f"    {line}" for line in body.split("\n"))
