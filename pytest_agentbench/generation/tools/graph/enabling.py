"""What makes other calls possible without handing on a value: refused before, accepted after."""

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.generation.tools.graph.names import nouns, words
from pytest_agentbench.generation.tools.probing.laboratory import Laboratory, Trial
from pytest_agentbench.generation.tools.values import Enabling


def enablings_of(lab: Laboratory) -> tuple[Enabling, ...]:
    """Give calls that were refused, then accepted with equal arguments, after one other tool alone had written.

    Where several had, the one whose name the refusal speaks of is taken; where that says nothing, none.
    """
    found: dict[tuple[str, str], Enabling] = {}
    failed: dict[str, tuple[int, Trial]] = {}
    for position, trial in enumerate(lab.trials):
        key = dumps([trial.world, trial.tool, trial.arguments])
        if trial.verdict in ("refused", "broken"):
            failed.setdefault(key, (position, trial))
        elif trial.ok and key in failed:
            since, before = failed[key]
            between = [one for one in lab.trials[since + 1 : position] if one.ok and one.tool != trial.tool]
            wrote = sorted({one.tool for one in between if not lab.subjects[one.tool].is_read})
            spoken = set(words(before.answer.content))
            named = [tool for tool in wrote if nouns(tool) & spoken or set(words(tool)) & spoken]
            chosen = wrote if len(wrote) == 1 else (named if len(named) == 1 else [])
            for tool in chosen:
                reason = f"refused before ({before.judged.reason[:120]}), accepted after"
                found.setdefault((tool, trial.tool), Enabling(source=tool, target=trial.tool, reason=reason))
    return tuple(found[pair] for pair in sorted(found))
