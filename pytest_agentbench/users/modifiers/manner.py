"""`impatient` and `out_of_scope`: how the user talks, and a question beside the matter; the facts stay as they are."""

from random import Random

from pytest_agentbench.core.modifier import ModifierSpec
from pytest_agentbench.users.confirmation import content_words
from pytest_agentbench.users.kinds import humanize
from pytest_agentbench.users.modifiers.behaviour import Behaviour
from pytest_agentbench.users.modifiers.scene import Scene
from pytest_agentbench.users.modifiers.templates import instruction, questions


def impatient(spec: ModifierSpec, scene: Scene, rng: Random) -> Behaviour | str:  # noqa: ARG001 - all fits take them
    """Press for speed; fits every scenario."""
    return Behaviour(name="impatient", instruction=instruction("impatient"), language=scene.language.code)


def out_of_scope(spec: ModifierSpec, scene: Scene, rng: Random) -> Behaviour | str:
    """Choose a question that shares no word with the scenario and the agent's tools, or say that there is none."""
    ask = str(spec.options.get("ask", "")).strip()
    if not ask:
        tools = [f"{humanize(tool.name)} {tool.description}" for tool in scene.tools or ()]
        near = content_words("\n".join([scene.texts, *tools]))
        far = [question for question in questions(scene.language.code) if not content_words(question) & near]
        if not far:
            return "every question it could ask is near to what the scenario is about"
        ask = rng.choice(far)
    return Behaviour(
        name="out_of_scope", instruction=instruction("out_of_scope", ask=ask), language=scene.language.code, ask=ask
    )
