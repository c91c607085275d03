"""Has a language model judge conversations of two other authors by what SPUR and SCOPE learned from `trace/`.

    python -m tests.calibration.record_elsewhere [SPUR_URL SCOPE_URL EVIDENCE_URL]

`independent` and `held_out` hold 120 conversations about six services that nothing here was made for; as many as
`COUNT` are drawn from them, of each service and bucket its share. Rubrics come from the recording of `record.py`.
Without addresses it prints what is recorded.
"""

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from random import Random

from pytest_agentbench.calibration.calibrate import Contender, seeded_splits
from pytest_agentbench.calibration.dataset import Labelled, read_all
from pytest_agentbench.calibration.rubric_learning import Parts, Scope, Spur
from pytest_agentbench.cli.model_options import recording
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.rubric import Label
from pytest_agentbench.llm.cassette.file import read_cassette, write_cassette
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.cassette.record_replay import CassetteRecorder
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller, Chat
from pytest_agentbench.llm.structured import AskedOnce
from pytest_agentbench.results.calibration import Agreement, agreement, spread
from pytest_agentbench.results.intervals import wilson
from tests.calibration.record import CASSETTE as LEARNED
from tests.calibration.record import FOLDERS, HERE

CASSETTE = HERE / "cassettes" / "elsewhere.jsonl"
ELSEWHERE = [HERE / "independent" / name for name in ("electricity", "ferry", "garage", "library")]
ELSEWHERE += [HERE / "held_out" / name for name in ("car", "lib")]
NOWHERE = "http://127.0.0.1:9/v1"
COUNT, SEED, DRAWS, SHARE = 40, 1, 5, 0.6
FIGURES = ("accuracy", "precision", "recall", "f1", "kappa")

MADE = (
    "answers of a language model to what the judges of SPUR, SCOPE and SCOPE with evidence are asked about 40 "
    "conversations of tests/calibration/independent and held_out, given over a loopback endpoint that put twenty "
    "questions of one judge to it at a time (of SPUR forty), blind to the labels; by "
    "tests/calibration/record_elsewhere.py; token counts are estimates"
)

Said = dict[str, Label | None]


def drawn() -> list[Labelled]:
    """Give the sample: in the order of service and bucket every so manyth, from a drawn start."""
    listed = [(place, case) for place, folder in enumerate(ELSEWHERE) for case in read_all([folder])]
    random = Random(SEED)
    random.shuffle(listed)
    listed.sort(key=lambda entry: (entry[1].bucket, entry[1].label, entry[0]))
    step = len(listed) / COUNT
    start = random.random() * step
    return [listed[int(start + number * step)][1] for number in range(COUNT)]


async def play(chat_of: Callable[[str], Chat]) -> tuple[list[Labelled], dict[str, Said]]:
    """Give the sample, and what each way of judging said of it; ways that share scores are asked once."""
    training = seeded_splits(read_all(FOLDERS), seed=SEED, count=1)[0].training
    cases = drawn()
    teacher = AskedOnce(chat_of("teacher"))
    judges = {role: AskedOnce(chat_of(role)) for role in ("spur", "scope", "evidence")}
    contenders: list[Contender] = [Spur(judges["spur"], seed=SEED, teacher=teacher)]
    for veto in (False, True):
        contenders.append(Scope(judges["scope"], parts=Parts(veto=veto), seed=SEED, teacher=teacher))
        parts = Parts(evidence=True, veto=veto)
        contenders.append(Scope(judges["evidence"], parts=parts, seed=SEED, teacher=teacher))

    async def of(contender: Contender) -> Said:
        estimate = await contender.fit(training)
        labels = await asyncio.gather(*(estimate(case) for case in cases))
        return {case.id: label for case, label in zip(cases, labels, strict=True)}

    said = await asyncio.gather(*map(of, contenders))
    return cases, {one.name: labels for one, labels in zip(contenders, said, strict=True)}


def figures(cases: Sequence[Labelled], said: Said) -> dict[str, str]:
    """Give each figure with its deviation over draws of 60 %, and the right ones of each part with an interval."""
    whole = _agreement(cases, said)
    random = Random(SEED)
    draws = [_agreement(random.sample(list(cases), round(SHARE * len(cases))), said) for _ in range(DRAWS)]
    rows = {one: f"{getattr(whole, one):.2f}±{spread([getattr(d, one) for d in draws]).sd:.2f}" for one in FIGURES}
    for name, members in (
        ("POS", [case for case in cases if case.label == "POS"]),
        ("easy NEG", [case for case in cases if case.label == "NEG" and case.bucket == "easy"]),
        ("hard", [case for case in cases if case.bucket == "hard"]),
        ("appropriate", [case for case in cases if case.bucket == "dissatisfied-yet-appropriate"]),
    ):
        right = sum(said[case.id] == case.label for case in members)
        low, high = wilson(right, len(members)) or (0.0, 1.0)
        rows[name] = f"{right} of {len(members)}, {low:.2f}–{high:.2f}"
    return rows


def _agreement(cases: Sequence[Labelled], said: Said) -> Agreement:
    return agreement([(case.label, said[case.id]) for case in cases])


async def asked(urls: Mapping[str, str]) -> tuple[list[Labelled], dict[str, Said]]:
    """Play with what is recorded, and ask for the rest; `urls` gives the server of each way of judging."""
    learned = CassetteRecorder(Mode.REPLAY, LEARNED, shard=None, redact=lambda value: value)
    with recording(CASSETTE, None if urls else Mode.REPLAY, command="record") as recorder:
        models = Models(environ={}, recorder_of=lambda caller: learned if caller.role == "teacher" else recorder)

        def chat(role: str) -> Chat:
            url = urls.get(role, NOWHERE)
            spec = ModelSpec(model="judge", base_url=url, seconds=2900, in_flight=200, structured="json_schema")
            return models.chat(spec, Caller(role=role))

        try:
            return await play(chat)
        finally:
            await models.close()


def record(urls: Mapping[str, str]) -> None:
    """Ask what was not recorded yet, and print the table."""
    cases, said = asyncio.run(asked(urls))
    for name, labels in said.items():
        print(" | ".join([name, *figures(cases, labels).values()]))
    kept = read_cassette(CASSETTE)
    kept.made = MADE
    write_cassette(CASSETTE, kept)


if __name__ == "__main__":
    record(dict(zip(("spur", "scope", "evidence"), sys.argv[1:], strict=False)))
