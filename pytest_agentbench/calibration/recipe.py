"""Recipes of situations by name."""

from collections.abc import Awaitable, Callable

from pytest_agentbench.calibration.acting import Actor
from pytest_agentbench.calibration.scene import Play

Recipe = Callable[[Actor], Awaitable[Play]]

RECIPES: dict[str, Recipe] = {}
"""A recipe by situation; each raises `InexpressibleError` where a scene does not lend itself to it."""


def recipe(name: str) -> Callable[[Recipe], Recipe]:
    """Register the recipe of a situation."""

    def add(made: Recipe) -> Recipe:
        RECIPES[name] = made
        return made

    return add
