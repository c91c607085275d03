"""The static audit: what a declaration leaves open, as hypotheses that probing then answers (§4.1)."""

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.generation.tools.graph.names import words
from pytest_agentbench.generation.tools.probing.candidates import described, described_span
from pytest_agentbench.generation.tools.probing.schemas import Slot, slots_of


class Hypothesis(Model):
    """One thing that a declaration leaves open: about which argument ("" for the tool), and what may be the case."""

    parameter: str = ""
    question: str


def audit(spec: ToolSpec) -> tuple[Hypothesis, ...]:
    """Give what the declaration of a tool leaves open, argument by argument."""
    found: list[Hypothesis] = []
    slots = slots_of(spec)
    for slot in slots:
        found += [Hypothesis(parameter=slot.path, question=question) for question in _questions(slot)]
    if not spec.description.strip():
        found.append(Hypothesis(question="nothing says what it is for"))
    if spec.parameters.get("additionalProperties") is None:
        found.append(Hypothesis(question="may refuse arguments that it does not name"))
    if not spec.returns:
        found.append(Hypothesis(question="nothing says what its results hold"))
    heads = {slot.path.partition(".")[0] for slot in slots}
    if len(heads) == 1 and any("." in slot.path for slot in slots):
        found.append(Hypothesis(question=f"all arguments lie within {next(iter(heads))!r}"))
    return tuple(found)


def _questions(slot: Slot) -> list[str]:
    found: list[str] = []
    if not slot.required:
        found.append("may be needed all the same" + (" despite its default" if "default" in slot.schema else ""))
        found.append("may make no difference")
    if slot.type == "any":
        found.append("its type is not declared")
    if slot.type == "string" and not ({"enum", "pattern", "format"} & slot.schema.keys()):
        found.append("may take known values only; blank, padded and unknown ones may fail")
    if slot.type in ("integer", "number") and not ({"minimum", "maximum"} & slot.schema.keys()):
        stated = " in the schema, though in words" if described_span(slot) else ""
        found.append(f"no bounds are declared{stated}")
    if not slot.schema.get("enum") and len(described(slot)) > 1:
        found.append("values named in its description may not all be accepted")
    if {"latitude", "longitude"} & set(words(slot.name)):
        found.append("may cover one region only")
    return found
