"""What plugins have a judge answer about a closed run, and their metrics with the answers."""

from collections.abc import Callable
from random import Random

from pytest_agentbench.checks.judges.evidence import of_run
from pytest_agentbench.checks.judges.judge import judge_criteria
from pytest_agentbench.core.errors import AgentBenchError, NotRunError
from pytest_agentbench.core.rubric import Criterion
from pytest_agentbench.core.run import Judgement, Run
from pytest_agentbench.llm.seams import Chat
from pytest_agentbench.runs.judging import not_measured, own_states, with_metrics
from pytest_agentbench.runs.plan import RunPlan


async def with_answers(
    run: Run, plan: RunPlan, judgement: Judgement, *, chat_for: Callable[[], Chat], random: Random, system: str
) -> tuple[Run, Judgement]:
    """Have a model say of each sentence that plugins ask about whether it is true; without a usable answer none is.

    Raise `NotRunError` where the model may not be asked.
    """
    sentences = plan.extensions.questions(run)
    if not sentences:
        return run, judgement
    asked = [Criterion(id=f"nl-{number}", text=text, max_score=1) for number, text in enumerate(sentences, start=1)]
    try:
        scores = await judge_criteria(chat_for(), asked, of_run(run, system=system), random=random)
    except NotRunError:
        raise
    except AgentBenchError as error:
        note = not_measured("questions", str(error))
        return run, judgement.model_copy(update={"findings": (*judgement.findings, note)})
    met = {score.criterion.text: score.value == 1 for score in scores}
    run = run.model_copy(update={"answers": met})
    return run, with_metrics(judgement, plan.extensions.metrics(own_states(run)))
