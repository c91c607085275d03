"""Probing small services with habits of real ones, against truth that was written by hand.

They are development material: what they score says that the rules do what they are for, not how well they carry over.
"""

from pytest_agentbench.generation.tools.probing.outputs import output_leaves
from pytest_agentbench.generation.tools.world import world_of
from pytest_agentbench.suites.suite_file import load_suite
from tests.generation.tools.probed import NAMES, SERVICES, Pair, card, cards_of, edges_of, probed, truth
from tests.tables import each


@each("service", NAMES)
def test_every_divergence_is_found_and_none_is_made_up(service: str) -> None:
    """What a service does other than it declares is found, argument by argument."""
    wanted = {(row["tool"], row["parameter"]) for row in truth(service, "divergences")}

    found = {(one.tool, part.parameter) for one in cards_of(service).cards for part in one.divergences}

    assert found == wanted


@each("service", NAMES)
def test_edges_are_those_of_values_that_flow(service: str) -> None:
    """Edges follow values that one tool gave and another accepted, better than equal names do."""
    wanted: set[Pair] = {(source, target) for source, target in truth(service, "edges")["edges"]}
    cards = cards_of(service)

    found = edges_of(cards)
    named = same_names(service)
    print(f"{service}: {len(found & wanted)} of {len(wanted)} edges, {len(found - wanted)} others; "
          f"by equal names {len(named & wanted)}, {len(named - wanted)} others")  # fmt: skip

    assert len(found & wanted) >= 0.95 * len(wanted)
    assert len(found & wanted) >= 0.95 * len(found)
    assert len(named & wanted) < len(found & wanted)


def same_names(service: str) -> set[Pair]:
    """Give the edges of a static match: a field of a result is called like an argument of another tool."""
    cards = cards_of(service).cards
    gives = {one.tool: {path.split(".")[-1] for path, _ in output_leaves(one.output)} - {"*", ""} for one in cards}
    takes = {one.tool: {part.path.split(".")[-1] for part in one.parameters} for one in cards}
    return {(a, b) for a in gives for b in takes if a != b and gives[a] & takes[b]}


def test_a_card_says_what_is_needed_and_what_is_accepted() -> None:
    """Effective requiredness, domains, failure modes with examples, latency, output and probes stand on the card."""
    report = card(cards_of("sensors"), "district_report")

    district = report.parameters[0]
    assert (district.declared_required, district.required) == (False, True)
    assert "2 digits" in district.domain
    assert "not padded with blanks" in district.domain
    assert any("not found" in mode.answer for mode in report.failure_modes)
    assert report.output["required"] == ["report", "issued"]
    assert report.latency is not None
    assert report.writes is False
    assert report.partial == ""
    assert all(report.probes[index].verdict != "ok" for index in report.divergences[0].evidence)


def test_numbers_have_a_domain_and_pairs_of_coordinates_one_together() -> None:
    """A region is found where the declaration names none."""
    rain = card(cards_of("sensors"), "rain_here")

    latitude = next(one for one in rain.parameters if one.path == "lat")
    assert "refused" in latitude.domain
    assert {one.parameter for one in rain.divergences} == {"lat", "lon"}


def test_arguments_inside_objects_are_probed_where_they_lie() -> None:
    """What is wrapped into one object is known by its path, and the tool is called as it wants to be."""
    book = card(cards_of("library"), "create_book")

    assert {one.path for one in book.parameters} == {"params.shelf_id", "params.title", "params.pages"}
    assert book.partial == ""
    shelf = next(one for one in book.parameters if one.path == "params.shelf_id")
    assert shelf.required is True


def test_values_in_prose_flow_with_the_pattern_that_finds_them() -> None:
    """A code that a sentence names is found again by the pattern of the flow."""
    flows = [one for one in cards_of("journal").flows if (one.source, one.target) == ("write_entry", "read_entry")]

    assert flows
    assert flows[0].pattern
    assert flows[0].target_path == "entry_id"


def test_probing_twice_gives_the_same(tmp_path: object) -> None:
    """Same seed, same probes and findings; only times differ."""
    suite = load_suite(SERVICES / "sensors" / "agentbench.yaml", environ={}, generating=True)

    again = probed(world_of(suite))

    first = cards_of("sensors")
    assert again.flows == first.flows
    assert [one.divergences for one in again.cards] == [one.divergences for one in first.cards]
    assert [[probe.arguments for probe in one.probes] for one in again.cards] == [
        [probe.arguments for probe in one.probes] for one in first.cards
    ]
