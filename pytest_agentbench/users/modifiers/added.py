"""`adds_intent`: a wish that is brought up only in reply to the agent's message number N."""

from random import Random

from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.modifier import ModifierSpec
from pytest_agentbench.users.first_person import first_person
from pytest_agentbench.users.modifiers.behaviour import Behaviour
from pytest_agentbench.users.modifiers.scene import Scene
from pytest_agentbench.users.modifiers.templates import instruction
from pytest_agentbench.users.modifiers.wording import wording
from pytest_agentbench.users.phrases import is_answer
from pytest_agentbench.users.segments import segments

AT = 3
"""The agent's message that is answered with the intent where the suite does not say (tool-to-scenario, Annex A)."""


def adds_intent(spec: ModifierSpec, scene: Scene, rng: Random) -> Behaviour | str:  # noqa: ARG001 - all fits take one
    """Take the intent of the options, else hold back the last of several, or say why there is none."""
    intent, held_back = str(spec.options.get("intent", "")).strip(), ""
    if not intent:
        held_back = last_intent(scene.view)
        if not held_back:
            return "the scenario has one intent, and the modifier states no other"
        intent = first_person(held_back)
    at = int(spec.options.get("at", AT))
    return Behaviour(
        name="adds_intent",
        instruction=instruction("adds_intent", intent=intent),
        language=scene.language.code,
        intent=intent,
        held_back=held_back,
        from_message=at,
    )


def last_intent(view: View) -> str:
    """Give the last of several intents as the view spells it (a line, list item or sentence), "" where there is one."""
    lines = [line for line in view.says if not is_answer(line)]
    if len(lines) > 1:
        return lines[-1]
    return next((found for text in (view.goal, view.task_instructions) if (found := _last_part(text))), "")


def _last_part(text: str) -> str:
    parts = [part for part in segments(text) if part.text.strip()]
    if len(parts) < 2 or not text.rstrip().endswith(parts[-1].text):
        return ""
    last = parts[-1]
    listed = last.item and parts[-2].item
    further = not last.item and wording("further").search(last.text) and wording("wishes").search(last.text)
    conditional = wording("conditional").match(last.text)
    return last.text if (listed or further) and not conditional else ""
