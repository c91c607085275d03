"""Checks of the notes suite: that each answer says what its own question asked for.

`communicate` finds a fact in any message. In a conversation that is too little: a fact told in the first answer must
still be told when the third question asks for it, and what the user doubts must be said to the user who doubts it.
"""

import re
import unicodedata
from collections.abc import Iterator

from pytest_agentbench import Finding
from pytest_agentbench.core.run import Run

_ADMITS = re.compile(
    r"\b(nothing|not (in|mentioned|found|there|say)|no (note|mention|answer|information)|none of|"
    r"(do|does|did|could|can) ?n[o']t|cannot|unable)\b"
    r"|\b(rien|aucune?|introuvable|absente?s?)\b|\bn(e |')[^.]*\b(pas|ni)\b"
)
_SENTENCE_END = re.compile(r"\n+|(?<=[.!?])\s+(?=[^\s\[(])")
_MAY_STAND_BESIDE = re.compile(r"\.md\b|\?\s*$")
_COURTESY = 4
"""Words of a sentence that can hardly claim anything: “Sorry about that.”"""
_READING = ("read_note", "read_section")
_LONG = 300
"""Lines from which a note is long: the shortest of the vault's long notes has more."""
_THANKS = ("Thank you.", "Merci.")


def one_fact_an_answer(run: Run) -> Iterator[Finding]:
    """Find whether the first fact of `communicate` is told after the first line of `says`, the second after the second…

    What an earlier answer told counts for nothing; a later answer may make good what this one left out.
    """
    answers = _answers(run)
    facts = [str(fact) for fact in run.scenario.communicate_info][: len(answers)]
    for number, fact in enumerate(facts):
        told = "\n".join(answers[number:])
        yield Finding(
            check="one_fact_an_answer",
            kind="check",
            passed=_plain(fact) in _plain(told),
            message=f"from question {number + 1} on the agent said {told!r}",
            expected=fact,
        )


def last_answer_says_it(run: Run) -> Iterator[Finding]:
    """Find whether the last answer holds the last fact of `communicate`, whatever the user had said about it."""
    fact = str(run.scenario.communicate_info[-1])
    answer = _answers(run)[-1]
    yield Finding(
        check="last_answer_says_it",
        kind="check",
        passed=_plain(fact) in _plain(answer),
        message=f"in the end the agent said {answer!r}",
        expected=fact,
    )


def last_answer_admits_it(run: Run) -> Iterator[Finding]:
    """Find whether the last answer says that the notes do not hold what was asked, and claims nothing beside it.

    Beside it may stand questions, what names a note, and a few words of courtesy.
    """
    answer = _answers(run)[-1]
    sentences = [one for one in _SENTENCE_END.split(answer) if one.strip()]
    others = [one for one in sentences if not _ADMITS.search(_plain(one))]
    claims = [one for one in others if not _MAY_STAND_BESIDE.search(one) and len(one.split()) > _COURTESY]
    yield Finding(
        check="last_answer_admits_it",
        kind="policy",
        policy="no-invention",
        passed=len(others) < len(sentences) and not claims,
        message=f"asked for what no note holds the agent said {answer!r}",
    )


def long_notes_by_section(run: Run) -> Iterator[Finding]:
    """Find each reading of a note, and whether it gave 300 lines at once; this is measured and never decides.

    An answer out of a whole note may be right. If this failed it, success would say how notes are read.
    """
    for record in run.calls:
        if record.call.name in _READING and record.result is not None:
            lines = record.result.content.count("\n")
            yield Finding(
                check="long_notes_by_section",
                kind="policy",
                policy="section-not-whole",
                passed=lines < _LONG,
                required=False,
                message=f"{record.call.name} gave {lines} lines",
                turn=record.turn,
                tool=record.call.name,
            )


def _answers(run: Run) -> list[str]:
    """What the agent said after each line of the scenario until the next one; thanks at the end are no line."""
    asked = [index for index, text in run.transcript.texts("user") if text in run.scenario.lines]
    spoken = run.transcript.texts("assistant")
    while len(asked) > 1 and _said_at(run, asked[-1]) in _THANKS:
        asked.pop()
    ends = [*asked[1:], float("inf")]
    return [
        "\n".join(text for index, text in spoken if start < index < end) for start, end in zip(asked, ends, strict=True)
    ] or [""]


def _said_at(run: Run, index: int) -> str:
    return dict(run.transcript.texts("user"))[index]


def _plain(text: str) -> str:
    """Without case, accents, fine spaces and typographic apostrophes; a comma between digits is a point."""
    bare = "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
    joined = re.sub(r"(?<=\d),(?=\d)", ".", bare.replace("’", "'"))
    return " ".join(joined.lower().split())
