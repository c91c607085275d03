"""What a model answered, read from a `chat.completion` object."""

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.values import JsonValue


class RequestedCall(Model):
    """A tool call as the model wrote it: `arguments` is its text, which need not be JSON.

    `more` is what its server added to it (a signature), to be sent back with it.
    """

    id: str
    name: str
    arguments: str
    more: dict[str, JsonValue] = {}


class TokenCount(Model):
    """Tokens of one call.

    `cached` of the `input` tokens came from the server's cache, `written` went into it; `reasoning` of the `output`
    tokens were thoughts.
    """

    input: int
    output: int
    cached: int = 0
    reasoning: int = 0
    written: int = 0


class ChatReply(Model):
    """One answer: text, calls or a refusal, and apart what the model thought. `truncated`: cut off at the token limit.

    `first_logprobs` are the log-probabilities of the likeliest first tokens, where they were asked for and given.
    `more` is what its server added to the message (its thoughts, signatures), to be sent back with it.
    `written_call` names the offered tool that the text is a call of: one that nobody makes, since it is text.
    `tokens` is None where the server did not say, `cost_usd` where the model has no known price; 0 when replayed.
    """

    content: str | None = None
    thoughts: str | None = None
    calls: tuple[RequestedCall, ...] = ()
    refusal: str | None = None
    finish_reason: str = ""
    written_call: str = ""
    model: str = ""
    tokens: TokenCount | None = None
    cost_usd: float | None = None
    replayed: bool = False
    first_logprobs: dict[str, float] = {}
    more: dict[str, JsonValue] = {}

    @property
    def text(self) -> str:
        """The content, or the empty string."""
        return self.content or ""

    @property
    def truncated(self) -> bool:
        """Whether the answer was cut off at the token limit."""
        return self.finish_reason == "length"
