"""A whole conversation with a chat agent, on a scripted model server and the real tools of an environment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_agentbench.agents.chat_model import OpenAIChatAgent
from pytest_agentbench.core.conversation import Stop
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.run import RunKey
from pytest_agentbench.core.scenario import Scenario, Task
from pytest_agentbench.core.suite import OpenAIAgentSpec
from pytest_agentbench.core.termination import Limits
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.llm.chat import Ways
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller
from pytest_agentbench.simulation.clock import Stopwatch
from pytest_agentbench.simulation.conversation import Conversation
from pytest_agentbench.simulation.transcript_builder import Recording
from pytest_agentbench.users.scripted import ScriptedUser
from tests.environment.support import environment, python_only

TOOLS = '''
def find(id: str) -> str:
    """Look an order up."""
    return f"{id} is shipped"
'''


@dataclass
class Clock:
    """A clock that only sleeping moves, so that no test waits for a retry."""

    time: float = 0.0

    def now(self) -> float:
        """Give the seconds slept so far."""
        return self.time

    async def sleep(self, seconds: float) -> None:
        """Move on."""
        self.time += seconds


@dataclass(frozen=True)
class Chatted:
    """What became of a conversation."""

    closed: Stop
    transcript: Transcript
    log: list[str]


@dataclass
class Chatting:
    """Holds conversations with chat agents over one access to models."""

    root: Path
    base_url: str
    environ: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        clock = Clock()
        ways = Ways(sleep=clock.sleep, now=clock.now, random=lambda: 0.5, patience=30.0)
        self.models = Models(environ=self.environ, ways=ways)
        self._suite = python_only(self.root, TOOLS)

    def agent(self, name: str = "a", *, system: str = "", rounds: int = 5, **model: Any) -> OpenAIChatAgent:
        """Give the chat agent of the run `name`; other keywords are of its model."""
        spec = ModelSpec(**{"model": "m", "base_url": self.base_url, "retries": 1, **model})
        chat = self.models.chat(spec, Caller(role="agent", run=RunKey(suite="s", scenario=name)))
        return OpenAIChatAgent(chat, OpenAIAgentSpec(model=spec, system=system, rounds=rounds))

    async def hold(self, agent: OpenAIChatAgent, *says: str, name: str = "a") -> Chatted:
        """Converse with a scripted user and tools until the conversation closes."""
        recording = Recording()
        clock = Clock()
        async with environment(self._suite, name) as tools:
            conversation = Conversation(
                scenario=Scenario(id=name, title=name, task=Task(id=name), says=says),
                agent=agent,
                user=ScriptedUser(),
                environment=tools,
                recording=recording,
                stopwatch=Stopwatch(clock.now),
                limits=Limits(seconds=20.0),
                session_id=name,
            )
            closed = await conversation.run()
        return Chatted(closed, recording.close(), agent.log)
