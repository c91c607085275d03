"""An answer that ended at a limit of tokens before it could be used: which limit it was, and what to change."""

from pytest_agentbench.llm.reply import ChatReply
from pytest_agentbench.llm.request import OUTPUT_BOUND


def cut_off(reply: ChatReply, bound: int | None) -> str:
    """Say where a truncated answer was cut off; `bound` is the limit that suite or role set, None for the default.

    One that is shorter than its bound ended with the context of its server, which no key of ours makes longer. Without
    a word, its length tells nothing: not every server counts thoughts.
    """
    now = f"it is {OUTPUT_BOUND} where nobody sets it" if bound is None else f"it is {bound}"
    if not reply.text.strip() and not reply.calls:
        said = f"cut off at its token limit before it said anything{_thinking(reply)}"
        return f"{said}: raise `max_tokens` ({now}), or lower `effort`"
    written = reply.tokens.output if reply.tokens is not None else None
    if written is None or written >= (OUTPUT_BOUND if bound is None else bound):
        return f"cut off at its token limit: raise `max_tokens` ({now})"
    if bound is None or reply.tokens is None:  # it may have a bound of its own
        return f"cut off after {written} tokens: raise `max_tokens` ({now}), or the context of its server"
    told = f"{written} of {bound} tokens, with {reply.tokens.input} before them"
    return f"cut off after {told}: its server has no longer context"


def _thinking(reply: ChatReply) -> str:
    if reply.tokens is not None and reply.tokens.reasoning:
        return f" ({reply.tokens.reasoning} of {reply.tokens.output} tokens were thoughts)"
    return ", while it was thinking" if reply.thoughts else ""
