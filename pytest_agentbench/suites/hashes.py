"""Content hashes: what must be equal for two results to be of the same scenario and suite."""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.json_values import JsonValue, with_texts
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.suite import Suite

Mask = Callable[[JsonValue], JsonValue]
"""Takes secrets out, so that a rotated credential changes no hash and no hash tells a credential."""


_HOW_REACHED = dict.fromkeys(("api_key", "api_key_env", "price", "seconds", "retries", "in_flight"), True)
"""What changes how a model is asked, and never what it answers."""


def scenario_hash(scenario: Scenario, secrets: tuple[str, ...] = ()) -> str:
    """Give 16 hex digits over all that a scenario says.

    Where it stands, what reviewers said of it, whether it is in quarantine, and `secrets` in its texts do not count.
    """
    ours = scenario.model_dump(exclude={"file", "line", "task", "review", "quarantine"}, exclude_defaults=True)
    content: JsonValue = {**ours, "task": scenario.task.model_dump(exclude_unset=True)}

    def without_secrets(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, "${}")
        return text

    return digest(with_texts(content, without_secrets) if secrets else content)


def suite_hash(suite: Suite, parts: dict[str, JsonValue], files: Mapping[str, Path], mask: Mask) -> str:
    """Give 16 hex digits over what all runs of a suite share: its `parts`, policies, limits and the bytes of `files`.

    Gates, trials and scenarios do not count: they change no run, or have a hash of their own.
    """
    chat = suite.agent.openai
    content = {
        "parts": mask(parts),
        "user": mask(suite.user.model_dump(exclude={"model": _HOW_REACHED})),
        "judge": mask(suite.judge.model_dump(exclude={"model": _HOW_REACHED}) if suite.judge else None),
        **({"auditor": suite.auditor} if suite.auditor else {}),
        "rubric": suite.rubric.model_dump() if suite.rubric else None,
        "chat": mask(chat.model_dump(exclude={"model": _HOW_REACHED}) if chat else None),
        "language": suite.language,
        "limits": suite.limits.model_dump(),
        "policies": mask([policy.model_dump() for policy in suite.policies]),
        "files": {name: _file_hash(file) for name, file in sorted(files.items())},
    }
    return digest(content)


def _file_hash(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
