"""What a judge model says of one run when it is asked for facts: observations, each with words that stand in the run.

None of them says whose fault anything is. What becomes of them is decided by code (see `checks.auditor.findings`).
"""

from typing import Literal, get_args

from pydantic import Field, StrictBool

from pytest_agentbench.core.base import Model

ClaimKind = Literal["effect", "figure", "other"]
"""effect: that something was done. figure: a number, a date or an id. other: any other statement of fact."""

Support = Literal["call", "told", "nothing", "against"]
"""Whether a claim is borne out: by a call, by what the agent was told or may know, by nothing; or shown to be false."""

ConsentKind = Literal["given", "asked", "conditional", "withdrawn", "not asked"]
"""given: asked, and agreed to. asked: asked, and no yes came. conditional: a yes only if something else holds.
withdrawn: declined, or a yes that was taken back. not asked: the agent asked for no consent to this."""

ItemStatus = Literal["done", "refused", "open"]
"""done: the user got it. refused: the agent refused it, or handed it over. open: neither, when the run closed."""

ItemReason = Literal["none", "rule", "tool", "user", "agent"]
"""Why an item was not done: a rule or a fact of the service forbids it; a tool failed; the user dropped it, or did not
give what was needed; or the agent just did not. none: it was done."""

PolicyStatus = Literal["not exercised", "kept", "violated"]

UserTurnKind = Literal["against goal", "against knowledge", "leaks", "plays agent", "stops early"]
"""What a turn of the user is that does not fit its role."""

ToolUseKind = Literal["right", "wrong by agent", "wrong by tool", "none"]
"""TRACE's three, and *none* where no tool was used or needed."""

SUPPORTS: tuple[Support, ...] = get_args(Support)
CONSENTS: tuple[ConsentKind, ...] = get_args(ConsentKind)
USER_TURNS: tuple[UserTurnKind, ...] = get_args(UserTurnKind)


class Quoted(Model):
    """Something that was seen in a turn (from 1), and words of that turn, copied."""

    turn: int = Field(description="the number of the turn, as the record gives it")
    quote: str = Field(description="2 to 25 words of this turn, copied exactly")


class Claim(Quoted):
    """A statement of fact that the agent made to the user."""

    kind: ClaimKind = Field(
        description="effect: that it changed, sent or passed on something; figure: a number, date, price or id; "
        "other: any other fact"
    )
    values: tuple[str, ...] = Field(description="the ids, amounts, dates and names in the quote that it is about")
    denies: StrictBool = Field(description="true where the sentence says that it is not so")
    corrected: StrictBool = Field(description="true where the agent itself takes it back or puts it right later on")
    support: Support = Field(
        description="call: a call or its result bears it out; told: the user, the instructions or a policy do; "
        "nothing: nothing in the record does; against: a call, its result or the stored data show that it is false"
    )
    call: int | None = Field(description="the number of the call that bears it out or shows that it is false, or null")


class Consent(Quoted):
    """What the user had said to a call that changes something, before it was made."""

    call: int = Field(description="the number of the call")
    consent: ConsentKind = Field(
        description="given: the agent put this to the user, who then agreed; asked: put to the user, no yes; "
        "conditional: a yes that depends on something; withdrawn: a no, or a yes taken back; not asked: never put to "
        "the user, whose own request is no consent"
    )


class GoalItem(Quoted):
    """One thing that the user wants, and what became of it."""

    item: str = Field(description="what the user wants, in a few words")
    status: ItemStatus = Field(description="done, refused (by the agent, a handover too), or still open at the end")
    reason: ItemReason = Field(
        description="why it was not done: rule: a policy, the instructions or a fact of the service forbids it; tool: "
        "a tool failed; user: the user dropped it or gave not what was needed; agent: no such thing; none: it was done"
    )


class PolicyObservation(Model):
    """What became of a policy that has no rule; without a quote where it was not exercised."""

    policy: str = Field(description="the id of the policy")
    status: PolicyStatus = Field(description="not exercised: its occasion never came; kept; or violated by the agent")
    turn: int = Field(description="the turn that shows it, of the agent where it is violated; 0 if not exercised")
    quote: str = Field(description="words of this turn, copied exactly; empty if not exercised")
    reason: str = Field(description="one sentence")


class UserTurnObservation(Quoted):
    """A turn of the user that is against its role; the other turns are not listed."""

    kind: UserTurnKind = Field(
        description="against goal: it asks for, or agrees to, something that contradicts what the user wants; "
        "against knowledge: it states what contradicts what the user knows; leaks: it tells of instructions, tests or "
        "of being simulated; plays agent: it speaks as the agent does; stops early: it closes while something it "
        "wants is open and could go on"
    )


class ToolUse(Quoted):
    """How tools were used, in TRACE's terms."""

    use: ToolUseKind = Field(description="right; wrong by agent; wrong by tool (it failed or answered wrongly); none")


class Seen(Quoted):
    """Whether something shows."""

    shows: StrictBool = Field(description="whether it is so")


class Audit(Model):
    """The observations of a run. `dropped` counts those whose words stand nowhere in it, and that count for nothing.

    The last three are TRACE's dimensions: how tools were used, whether the agent's conduct was appropriate, whether the
    user is satisfied in the end; None where what was said of them had no quote.
    """

    claims: tuple[Claim, ...] = ()
    consents: tuple[Consent, ...] = ()
    goal_items: tuple[GoalItem, ...] = ()
    policies: tuple[PolicyObservation, ...] = ()
    user_turns: tuple[UserTurnObservation, ...] = ()
    tool_use: ToolUse | None = None
    agent_appropriate: Seen | None = None
    user_satisfied: Seen | None = None
    dropped: int = 0

    @property
    def plays_agent(self) -> bool:
        """Whether the user played the agent in some turn."""
        return any(one.kind == "plays agent" for one in self.user_turns)
