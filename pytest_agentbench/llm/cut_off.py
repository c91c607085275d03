"""An answer that ended at a limit of tokens before it could be used: which limit it was, and what to raise."""

from pytest_agentbench.llm.reply import ChatReply


def cut_off(reply: ChatReply, bound: int | None) -> str:
    """Say where a truncated answer was cut off; `bound` is the limit that suite or role set.

    One that is shorter than that ended with the context of its server, which no key of ours makes longer.
    """
    written = reply.tokens.output if reply.tokens is not None else None
    if bound is not None and (written is None or written >= bound):
        return f"cut off at its limit of {bound} tokens: raise `max_tokens`"
    if bound is not None and reply.tokens is not None:
        told = f"{written} of {bound} tokens, with {reply.tokens.input} before them"
        return f"cut off after {told}: its server has no longer context"
    after = "" if written is None else f" after {written} tokens"
    return f"cut off{after}: raise `max_tokens`, or the context of its server"
