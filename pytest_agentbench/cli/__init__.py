"""The command `agentbench`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; give its exit status: 0, 1 when gates do not hold, 2 when the input is wrong."""
    try:
        options = _parser().parse_args(argv)
    except SystemExit as stop:  # argparse has printed usage or help
        return stop.code if isinstance(stop.code, int) else 2

    from pytest_agentbench.core.errors import AgentBenchError  # noqa: PLC0415 - help and usage load nothing else
    from pytest_agentbench.core.text import printable  # noqa: PLC0415 - same

    try:
        text, status = _run(options)
        if options.output is None:
            print(text)
        else:
            options.output.write_text(text + "\n", encoding="utf-8")
    except AgentBenchError as error:
        print(printable(str(error), newlines=True), file=sys.stderr)
        return 2
    except OSError as error:
        print(f"agentbench: {printable(str(error))}", file=sys.stderr)
        return 2
    return status


def _run(options: argparse.Namespace) -> tuple[str, int]:
    match options.command:
        case "export":
            from pytest_agentbench.cli.export import export  # noqa: PLC0415 - each command loads what it needs

            return export(options.source), 0
        case "convert":
            from pytest_agentbench.cli.convert import convert  # noqa: PLC0415 - same

            return convert(options.source), 0
        case "parity":
            from pytest_agentbench.cli.parity import parity  # noqa: PLC0415 - same

            return parity(options.recordings, domains=options.domains, world=options.world, as_json=options.json)
        case "proxy":
            return _proxy(options)
        case "report":
            from pytest_agentbench.cli.report import report  # noqa: PLC0415 - same

            unicode = (sys.stdout.encoding or "").lower().startswith("utf")
            return report(options.results, gate=options.gate, verbose=options.verbose, unicode=unicode)
        case "validate":
            return _validate(options)
        case _:
            from pytest_agentbench.cli.schema import schema  # noqa: PLC0415 - same

            return schema(options.kind), 0


def _validate(options: argparse.Namespace) -> tuple[str, int]:
    from pytest_agentbench.cli.validate import ValidateOptions, validate  # noqa: PLC0415 - each command loads its own

    asked = ValidateOptions(
        suite=options.suite,
        only=tuple(options.only or ()),
        json=options.json,
        min_mutation=options.min_mutation,
        seed=options.seed,
        mutate=not options.no_mutants,
        unicode=(sys.stdout.encoding or "").lower().startswith("utf"),
    )
    if not sys.stderr.isatty():
        return validate(asked)

    def told(done: int, total: int) -> None:
        end = "\r" if done < total else "\r\x1b[K"
        print(f"{done} of {total} scenarios", end=end, file=sys.stderr, flush=True)

    return validate(asked, told)


def _proxy(options: argparse.Namespace) -> tuple[str, int]:
    from pytest_agentbench.cli.proxy import ProxyOptions, proxy  # noqa: PLC0415 - each command loads what it needs
    from pytest_agentbench.core.model import Price  # noqa: PLC0415 - same
    from pytest_agentbench.llm.cassette.modes import Mode  # noqa: PLC0415 - same

    asked = ProxyOptions(
        port=options.port,
        upstream=options.upstream,
        cassette=options.cassette,
        mode=Mode(options.mode) if options.mode else None,
        max_cost=options.max_cost,
        max_calls=options.max_calls,
        price=Price(input=options.price[0], output=options.price[1]) if options.price else None,
        unicode=(sys.stdout.encoding or "").lower().startswith("utf"),
    )
    return proxy(asked, lambda line: print(line, flush=True))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="agentbench", description="Work with agentbench suites and results.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    export = commands.add_parser(
        "export", help="write a suite's scenarios as τ²-bench tasks (JSON)", description="Variables stay ${VAR}."
    )
    export.add_argument("source", type=Path, metavar="SUITE_OR_FILE", help="a suite, or a file of scenarios")
    convert = commands.add_parser(
        "convert", help="turn a τ-bench v1 task list into scenarios", description="Python lists are never executed."
    )
    convert.add_argument("source", type=Path, metavar="FILE", help="a τ-bench module (.py) or list (.json)")
    schema = commands.add_parser("schema", help="print the JSON Schema of suite or scenario files")
    schema.add_argument("kind", nargs="?", choices=("suite", "scenario"), default="suite")
    report = commands.add_parser(
        "report",
        help="show results files, the shards of one session as one",
        description="With --gate the exit status is 1 unless every gate holds over all runs together.",
    )
    report.add_argument("results", type=Path, nargs="+", metavar="RESULTS", help="results files (--agentbench-json)")
    report.add_argument("--gate", action="store_true", help="evaluate the suites' gates")
    report.add_argument("-v", "--verbose", action="store_true", help="show every row and every failure")
    parity = commands.add_parser(
        "parity",
        help="hold our τ²-bench verdicts against recorded ones",
        description="The exit status is 1 where a sub-check differs; what was not measured is said, and is no failure.",
    )
    parity.add_argument(
        "recordings", type=Path, nargs="+", metavar="RECORDINGS", help="τ² results files, or one simulation a line"
    )
    parity.add_argument("--domains", type=Path, metavar="DIR", help="where DOMAIN/tasks.json and DOMAIN/tools.json lie")
    parity.add_argument(
        "--world",
        default="auto",
        metavar="auto|none|CHECKOUT",
        help="where to replay: what is installed (auto), nowhere, or a checkout of τ²-bench",
    )
    parity.add_argument("--json", action="store_true", help="print the table and all that differs as JSON")
    proxy = _proxy_parser(commands)
    validate = _validate_parser(commands)
    for command in (export, convert, schema, report, parity, proxy, validate):
        command.add_argument("-o", "--output", type=Path, metavar="FILE", help="write there instead of printing")
    return parser


def _validate_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> argparse.ArgumentParser:
    validate = commands.add_parser(
        "validate",
        help="check a suite's scenarios without a model and without its agent",
        description="A right run must pass, weak agents must fail, values must be knowable, and wrong runs be caught. "
        "The exit status is 1 where one of them is not so, or fewer wrong runs are caught than asked for.",
    )
    validate.add_argument("suite", type=Path, metavar="SUITE", help="a suite file")
    validate.add_argument("--only", action="append", metavar="ID", help="validate this scenario alone; may be repeated")
    validate.add_argument("--json", type=Path, metavar="FILE", help="write all that was found there")
    validate.add_argument(
        "--min-mutation", type=float, default=0.95, metavar="SHARE", help="share of wrong runs to be caught (0.95)"
    )
    validate.add_argument("--seed", type=int, default=0, metavar="N", help="chooses the values of wrong runs (0)")
    validate.add_argument("--no-mutants", action="store_true", help="leave wrong runs out, which take longest")
    return validate


def _proxy_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> argparse.ArgumentParser:
    proxy = commands.add_parser(
        "proxy",
        help="record, replay, meter and bound the model calls of a program in any language",
        description="Serves on loopback until interrupted, then prints what each run took. The exit status is 1 where "
        "a request was refused: not recorded, or over a budget.",
    )
    proxy.add_argument("--port", type=int, default=0, metavar="N", help="where to listen (a free port)")
    proxy.add_argument("--upstream", default="", metavar="URL", help="the model server (else OPENAI_BASE_URL, OpenAI)")
    proxy.add_argument("--cassette", type=Path, metavar="FILE", help="where answers are recorded")
    proxy.add_argument(
        "--mode",
        choices=("record", "replay", "refresh"),
        help="replay what is recorded and record the rest (record), never ask live (replay), record anew (refresh)",
    )
    proxy.add_argument("--max-cost", type=float, metavar="USD", help="let no call pass that could cost more in sum")
    proxy.add_argument("--max-calls", type=int, metavar="N", help="let no more calls pass")
    proxy.add_argument(
        "--price", type=float, nargs=2, metavar=("INPUT", "OUTPUT"), help="USD per million tokens, where not known"
    )
    return proxy
