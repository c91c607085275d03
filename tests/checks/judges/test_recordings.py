"""The recorded τ² conversations as evidence: all can be shown, quoted and delimited."""

from random import Random

from pytest_agentbench.checks.judges.evidence import new_nonce, of_run
from tests.checks.tau2 import DOMAINS, recordings
from tests.shared_data import needs_shared
from tests.tables import each

pytestmark = needs_shared


@each("domain", DOMAINS)
def test_every_message_of_a_recording_is_quotable_where_it_stands(domain: str) -> None:
    """What was said is found in its turn, and the notes of the recorded user are not shown."""
    for recording in recordings(domain):
        run = recording.run
        evidence = of_run(run)
        record = evidence.record(new_nonce(evidence.record(""), Random(1)))
        for index, message in enumerate(run.transcript.messages):
            words = " ".join(message.text.split()[:12])
            if message.role in ("user", "assistant") and any(char.isalnum() for char in words):
                assert run.transcript.turns[index] in evidence.turns_with(words), words
        story = run.scenario.task.user_scenario
        told = getattr(story.instructions, "task_instructions", "") if story else ""
        assert len(told or "") < 30 or told not in record
