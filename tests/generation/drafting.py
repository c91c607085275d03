"""Right drafts over the services of this folder, planned by hand and made for real."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_agentbench.core.acts import ActKind
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.generation.draft import (
    Draft,
    Origin,
    Owner,
    PlannedCall,
    PolicyPart,
    Reference,
    Source,
    Stated,
    Turn,
    Wanted,
)
from pytest_agentbench.generation.language.plain import label_of
from pytest_agentbench.generation.tools.world import World, world_of
from pytest_agentbench.suites.suite_file import load_suite

SERVICES = Path(__file__).parent / "services"


def suite_of(folder: Path, service: str, policies: Sequence[Mapping[str, Any]] = (), more: str = "") -> Suite:
    """Write the suite of a service into a folder, and read it."""
    for file in SERVICES.glob(f"{service}_*"):
        shutil.copy(file, folder)
    path = folder / "agentbench.yaml"
    path.write_text(
        f"agent: {service}_agent:build\n"
        f"environment: {{tools: {service}_tools, state: {{json: {service}_state.json}}{more}}}\n"
        "scenarios: [generated/scenarios/*.yaml]\n"
        "generate: {from: tools, count: 5, seed: 7}\n",
        encoding="utf-8",
    )
    suite = load_suite(path, environ={}, generating=True)
    return suite.model_copy(update={"policies": tuple(Policy.model_validate(one) for one in policies)})


@dataclass(frozen=True)
class From:
    """An argument that stands at a path of an earlier answer, pointed at as entry `position` of `count`."""

    call: int
    path: str
    thing: str = ""
    position: int = 0
    count: int = 1
    silent: bool = False


@dataclass(frozen=True)
class Do:
    """A call to plan."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    asked: bool = True
    fails: bool = False


@dataclass(frozen=True)
class Say:
    """A turn to plan: its act, the calls made and refused because of it, and the paths asked for, by call."""

    act: ActKind = "request"
    calls: Sequence[Do] = ()
    refused: Sequence[Do] = ()
    wanted: Sequence[tuple[int, str]] = ()
    about: Sequence[Any] = ()


def at(answer: str, path: str) -> Any:
    """Give what stands at a path of an answer."""
    found: Any = json.loads(answer)
    for part in path.split("."):
        found = found[int(part)] if isinstance(found, list) else found[part]
    return found


async def drafted(suite: Suite, name: str, turns: Sequence[Say], **more: Any) -> Draft:
    """Make the calls of the turns for real, and give the draft; a request states what its answers' calls need."""
    world: World = world_of(suite)
    answers: list[str] = []
    planned: list[tuple[Say, list[PlannedCall], list[PlannedCall]]] = []
    async with world.open(more.get("state") or {}) as opened:
        for say in turns:
            calls = []
            for do in say.calls:
                arguments = {key: _value(one, answers) for key, one in do.arguments.items()}
                answer = await opened.call(do.name, arguments)
                assert answer.error == do.fails, answer.content
                answers.append(answer.content)
                call = _planned(do, arguments)
                calls.append(call.model_copy(update={"answer": answer.content, "writes": bool(answer.wrote)}))
            refused = [
                _planned(do, {key: _value(one, answers) for key, one in do.arguments.items()}) for do in say.refused
            ]
            planned.append((say, calls, refused))
    bare = Draft(
        id=name,
        source="tools",
        turns=tuple(Turn(act=say.act, calls=tuple(calls), refused=tuple(refused)) for say, calls, refused in planned),
        **more,
    )
    dos = {id(call): do for say, calls, refused in planned for call, do in _pairs(say, calls, refused)}
    said: set[int] = set()
    finished = []
    for place, (say, calls, _) in enumerate(planned):
        states: list[Stated] = []
        references: list[Reference] = []
        for number, call in enumerate(bare.requested(place)):
            if id(call) in said:
                continue
            said.add(id(call))
            for key, one in dos[id(call)].arguments.items():
                if not isinstance(one, From):
                    states.append(Stated(label=label_of(key), value=one, argument=key, call=number))
                elif not one.silent:
                    references.append(
                        Reference(
                            label=one.thing or label_of(key),
                            source=one.call,
                            path=one.path,
                            position=one.position,
                            count=one.count,
                            argument=key,
                            call=number,
                        )
                    )
        wanted = tuple(
            Wanted(label=label_of(path), text=str(at(calls[number].answer, path)), call=number, path=path)
            for number, path in say.wanted
        )
        concerned = [one for call in bare.turns[place].refused for one in call.call.arguments.values()]
        finished.append(
            bare.turns[place].model_copy(
                update={
                    "states": tuple(states),
                    "references": tuple(references),
                    "wanted": wanted,
                    "about": tuple(say.about or (concerned if say.act == "request" else ())),
                }
            )
        )
    return bare.model_copy(update={"turns": tuple(finished)})


def _pairs(say: Say, calls: list[PlannedCall], refused: list[PlannedCall]) -> list[tuple[PlannedCall, Do]]:
    return [*zip(calls, say.calls, strict=True), *zip(refused, say.refused, strict=True)]


def _value(one: Any, answers: Sequence[str]) -> Any:
    return at(answers[one.call], one.path) if isinstance(one, From) else one


def _planned(do: Do, arguments: Mapping[str, Any]) -> PlannedCall:
    origins = {
        key: Origin(source="result", call=one.call, path=one.path) if isinstance(one, From) else Origin(source="user")
        for key, one in do.arguments.items()
    }
    return PlannedCall(
        call=ExpectedCall(name=do.name, arguments=dict(arguments)), origins=origins, asked=do.asked, fails=do.fails
    )


@dataclass
class Listed(Source):
    """A source that gives the drafts of a list."""

    planned: Sequence[Draft]
    heard: list[str] = field(default_factory=list)

    async def drafts(self) -> Any:
        """Give them in order."""
        for one in self.planned:
            yield one

    def accepted(self, draft: Draft) -> None:
        """Note it."""
        self.heard.append(f"{draft.id} accepted")

    def lost(self, loss: Any) -> None:
        """Note it."""
        self.heard.append(f"{loss.draft} lost: {loss.reason}")


__all__ = ["Do", "From", "Listed", "Owner", "PolicyPart", "Say", "drafted", "suite_of"]
