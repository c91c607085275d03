"""The writer of conversations without a model: a situation played in a scene, with real calls and real failures."""

from random import Random

from pytest_agentbench.calibration import recipes_agent, recipes_tools
from pytest_agentbench.calibration.acting import Actor
from pytest_agentbench.calibration.labelled import Case
from pytest_agentbench.calibration.recipe import RECIPES
from pytest_agentbench.calibration.scene import Scene
from pytest_agentbench.calibration.wording import Words
from pytest_agentbench.calibration.written.commission import Commission, Work
from pytest_agentbench.checks.judges.evidence import Goal

_ = (recipes_agent, recipes_tools)  # importing them registers their recipes


class Player:
    """Plays what is commissioned in one scene; words and values are drawn from `random`."""

    def __init__(self, scene: Scene, random: Random) -> None:
        self._scene = scene
        self._random = random

    async def __call__(self, given: Commission, /) -> Work:
        """Play it; raise `InexpressibleError` where the scene cannot be played so."""
        words = Words(given.language, self._random)
        play = await RECIPES[given.situation](Actor(self._scene, words, self._random))
        toolset = given.toolset or play.world.tools
        goal = self._scene.goal
        return Work(
            case=Case(
                transcript=play.transcript,
                toolset=toolset,
                initial=play.initial,
                final=play.final,
                # what was asked for instead has no expected effects that anybody wrote down
                goal=Goal(policies=goal.policies) if play.asks_otherwise else goal,
            ),
            faults=tuple(hit.fault.name for hit in play.schedule.met),
        )
