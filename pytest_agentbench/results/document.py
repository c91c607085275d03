"""The results file, one versioned JSON document per session, and the history that keeps a line of each."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

from pydantic import Field, ValidationError, model_validator

from pytest_agentbench.checks.rule_words import rule_words
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import dumps, loads
from pytest_agentbench.core.errors import ResultsError
from pytest_agentbench.core.files import LineLog, read_lines, writing_atomic
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.run import Result
from pytest_agentbench.results.calibration import AuditorStanding
from pytest_agentbench.results.gates import GateVerdict, decided_by_own
from pytest_agentbench.results.numbers import COST, value_of
from pytest_agentbench.results.table import Facts
from pytest_agentbench.results.trials import grouped

SCHEMA = "agentbench-results/1"

_PLACES_AND_TIMES = ("created", "seconds", "run", "root", "command", "versions", "cassette")


class PolicyRecord(Model):
    """What the results say about a policy of a suite: its text, its rule in words, and what to group it by."""

    id: str
    text: str = ""
    rule: str = ""
    challenge: int | None = None
    category: str = ""


def policy_record(policy: Policy) -> PolicyRecord:
    """Give what results say of a policy."""
    return PolicyRecord(
        id=policy.id,
        text=policy.text,
        rule=rule_words(policy.rule),
        challenge=policy.challenge,
        category=policy.category,
    )


def policy_words(policy: PolicyRecord) -> list[str]:
    """Give the lines that say what a policy asks for: its own text, and its rule."""
    told = [f"policy: {' '.join(policy.text.split())}"] if policy.text else []
    return [*told, f"rule: {policy.rule}"] if policy.rule else told


class ReviewRecord(Model):
    """What people said of a suite's generated scenarios, as far as its runs do not tell.

    `rejected` counts those that are not collected, `lapsed` names those that changed since they were accepted,
    `unreviewed` counts those that count though nobody accepted them.
    """

    rejected: int = 0
    lapsed: tuple[str, ...] = ()
    unreviewed: int = 0


class SuiteRecord(Model):
    """What the results say about a suite; `path` is relative to the root and is the `suite` of its runs' keys.

    `variants` are those declared, in order. `total` counts the runs that the suite has under the variants asked for,
    `selected` those of them that the session took on (skipped and expected failures of the user's own left out),
    `stopped` those of the selected that early stop found not to be needed. `policies` are those that the suite states,
    exercised or not. `auditor` is how its auditor did on labelled runs, None where it has none.
    """

    path: str
    name: str
    owner: str = ""
    content_hash: str = ""
    gates: tuple[str, ...] = ()
    trials: int | None = None
    variants: tuple[str, ...] = ()
    scenarios: int = 0
    total: int = 0
    selected: int = 0
    stopped: int = 0
    policies: tuple[PolicyRecord, ...] = ()
    auditor: AuditorStanding | None = None
    review: ReviewRecord = ReviewRecord()

    def redacted(self, redact: Callable[[str], str]) -> Self:
        """Give it as it may be written: the words of its policies may hold secrets, ids are left as they are."""
        policies = tuple(
            one.model_copy(update={"text": redact(one.text), "rule": redact(one.rule)}) for one in self.policies
        )
        return self.model_copy(update={"policies": policies})


class Document(Model):
    """A session's results. `created` is ISO 8601, `seconds` wall time, `players` maps a role to all who played it.

    `results` holds the deciding attempt of each run in collection order, `retried` those before it. `cassette` is
    the mode in which model calls were recorded or replayed. `gates` is empty where gates were not evaluated. `complete`
    False means that the session was cut short.
    """

    created: str = ""
    run: str = ""
    root: str = ""
    command: tuple[str, ...] = ()
    versions: dict[str, str] = {}
    seed: int | None = None
    seconds: float = 0.0
    complete: bool = False
    cassette: str = "off"
    players: dict[str, tuple[str, ...]] = {}
    suites: tuple[SuiteRecord, ...] = ()
    gates: tuple[GateVerdict, ...] = ()
    results: tuple[Result, ...] = ()
    retried: tuple[Result, ...] = ()

    @property
    def facts(self) -> Facts:
        """What the suites say of their runs."""
        return facts_of(self.suites)

    @property
    def suite_names(self) -> dict[str, str]:
        """What each suite is called, by its path: its name, and the path itself where two have the same name."""
        names = [suite.name for suite in self.suites]
        return {suite.path: suite.name if names.count(suite.name) == 1 else suite.path for suite in self.suites}

    @property
    def decided(self) -> frozenset[str]:
        """The suites that gates of their own decided; of the others the failing runs decide."""
        return frozenset(one.path for one in self.suites if decided_by_own(one.path, one.gates, self.gates))

    @property
    def counted(self) -> "Document":
        """The document without the runs that are set aside."""
        if not any(run.set_aside for run in self.results):
            return self
        kept = {key: tuple(run for run in getattr(self, key) if not run.set_aside) for key in ("results", "retried")}
        return self.model_copy(update=kept)

    @property
    def pending(self) -> "Document":
        """The document with only the runs of scenarios that nobody reviewed, as if they counted."""
        return self._apart(run for run in self.results if run.pending)

    @property
    def quarantined(self) -> "Document":
        """The document with only the runs of scenarios in quarantine, as if they counted."""
        return self._apart(run for run in self.results if run.quarantine and not run.pending)

    def _apart(self, runs: Iterable[Result]) -> "Document":
        return self.model_copy(update={"results": tuple(run.as_counted for run in runs), "retried": (), "gates": ()})


def facts_of(suites: Iterable[SuiteRecord]) -> Facts:
    """Give the facts by which runs are grouped that their suites alone say."""
    found = tuple(suites)
    return Facts(
        categories={(suite.path, policy.id): policy.category for suite in found for policy in suite.policies},
        owners={suite.path: suite.owner for suite in found},
    )


def write(document: Document, path: Path) -> None:
    """Write the results file at once: ASCII JSON, a result per line, the same bytes for the same document."""
    with writing_atomic(path) as file:
        file.writelines(entries_of(document))


def text_of(document: Document) -> str:
    """Give the document as the results file holds it."""
    return "".join(entries_of(document))


def entries_of(document: Document, results: Iterable[str] | None = None) -> Iterator[str]:
    """Give the text entry by entry: thousands of results as plain values, or as one text, take more than a session.

    An entry stands in one line, since the encoder that indents takes ten times as long. `results` are the lines of the
    results where the document's own are not whole.
    """
    before = "{\n"
    for name, value in {"schema": SCHEMA, **dict(document)}.items():
        yield f"{before} {dumps(name)}: "
        before = ",\n"
        if not isinstance(value, list | tuple) or not value:
            yield dumps(value)
            continue
        begin = "[\n"
        lines = (dumps(entry.model_dump() if isinstance(entry, Model) else entry) for entry in value)
        for line in lines if results is None or name != "results" else results:
            yield f"{begin}  {line}"
            begin = ",\n"
        yield "\n ]"
    yield "\n}\n"


def read(path: Path) -> Document:
    """Read a results file; raise `ResultsError` saying why when it is not one, cut off, or of another version."""
    try:
        data = loads(path.read_text(encoding="ascii"))
    except OSError as error:
        raise ResultsError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ResultsError(f"{path} is not a results file: it holds other than ASCII characters") from error
    except json.JSONDecodeError as error:
        raise ResultsError(
            f"{path}:{error.lineno}:{error.colno}: not JSON, or cut off ({error.msg}); write it again"
        ) from error
    _check_version(path, data)
    data.pop("schema")
    try:
        return Document.model_validate(data)
    except ValidationError as error:
        raise ResultsError(f"{path} does not fit {SCHEMA}: {_problems(error)}") from error


def comparable(document: Document) -> JsonValue:
    """Give the document as JSON without what differs between equal sessions: times, places and names.

    Runs, hosts and sessions have new names every time. A model call counts the same whether it was answered live or
    from a recording.
    """
    data = json.loads(dumps(document.model_dump()))
    for name in _PLACES_AND_TIMES:
        del data[name]
    for result in (*data["results"], *data["retried"]):
        del result["seconds"], result["session_id"], result["turn_seconds"]
        result["usage"] = {role: usage["calls"] + usage["replayed"] for role, usage in result["usage"].items()}
    return data


def players_of(results: Iterable[Result]) -> dict[str, tuple[str, ...]]:
    """Collect who played each role."""
    players: dict[str, set[str]] = {}
    for result in results:
        for role, player in result.players.items():
            players.setdefault(role, set()).add(player)
    return {role: tuple(sorted(players[role])) for role in sorted(players)}


def _check_version(path: Path, data: JsonValue) -> None:
    version = data.get("schema") if isinstance(data, dict) else None
    if version == SCHEMA:
        return
    family = SCHEMA.partition("/")[0]
    if isinstance(version, str) and version.startswith(f"{family}/"):
        raise ResultsError(f"{path} is {version!r}, this version reads {SCHEMA!r}; use the version that wrote it")
    raise ResultsError(f"{path} is not a results file: its `schema` is {version!r}, not {SCHEMA!r}")


def _problems(error: ValidationError) -> str:
    problems = [f"{'.'.join(map(str, item['loc'])) or 'document'}: {item['msg']}" for item in error.errors()]
    rest = f" … and {len(problems) - 3} more" if len(problems) > 3 else ""
    return "; ".join(problems[:3]) + rest


FILE = "history.jsonl"
"""The name of the file, in the folder where sessions are kept."""


class Standing(Model):
    """What the counted runs of a suite came to under one variant.

    `is_whole` tells that all runs of the suite were selected and took place. `cost_usd` is what the agent's models
    took, None where some run does not tell. `failed_gates` are their texts.
    """

    suite: str
    variant: str = ""
    passed: int = Field(default=0, ge=0)
    n: int = Field(default=0, ge=0)
    unscored: int = Field(default=0, ge=0)
    is_whole: bool = False
    cost_usd: float | None = None
    failed_gates: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        """Refuse a count that would make a rate above one."""
        if self.passed > self.n:
            raise ValueError("more runs passed than were counted")
        return self


class Session(Model):
    """A session: its run, when it began (ISO 8601), and how each suite stood."""

    run: str
    created: str
    standings: tuple[Standing, ...] = ()


def session_of(document: Document) -> Session:
    """Give the line of a session."""
    standings = []
    for suite in document.suites:
        runs = [run for run in document.counted.results if run.key.suite == suite.path]
        is_whole = document.complete and suite.selected == suite.total
        for variant, mine in sorted(grouped(runs, lambda run: [run.key.variant]).items()):
            failed = (one for one in document.gates if one.failed and one.suite == suite.path)
            scored = [run for run in mine if run.scored]
            standings.append(
                Standing(
                    suite=suite.path,
                    variant=variant,
                    passed=sum(run.passed for run in scored),
                    n=len(scored),
                    unscored=len(mine) - len(scored),
                    is_whole=is_whole,
                    cost_usd=cost_of(scored),
                    failed_gates=tuple(one.gate for one in failed if one.variant == variant),
                )
            )
    return Session(run=document.run, created=document.created, standings=tuple(standings))


def cost_of(runs: Iterable[Result]) -> float | None:
    """Give what the agent's models took in US dollars, None where some run does not tell, or there is none."""
    values = [value_of(run, COST) for run in runs]
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def remember(folder: Path, document: Document) -> None:
    """Add a session to the history kept in `folder`; raise `OSError` where it cannot be written."""
    log = LineLog(folder / FILE)
    try:
        log.append(session_of(document).model_dump())
    finally:
        log.close()


def history(files: Sequence[Path]) -> list[Session]:
    """Join histories, oldest session first, each once; lines that are none of this version's are passed over."""
    found: dict[str, Session] = {}
    for file in files:
        for record in read_lines(file):
            try:
                session = Session.model_validate(record)
            except (ValidationError, RecursionError):
                continue
            found[session.run] = session  # a session that was continued stands there twice: the last line counts
    return sorted(found.values(), key=lambda session: (session.created, session.run))
