"""Whom things belong to: over several keys, through nested records and lists, by a state or by answers alone."""

import pytest

from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.generation.draft import Owner
from pytest_agentbench.generation.owned_rows import CallRecord
from pytest_agentbench.generation.ownership import (
    Ownership,
    conflicts,
    mixed_owners,
    ownership_of,
    people_of,
)
from tests.tables import each

WORKSHOP: dict[str, JsonValue] = {
    "clients": [
        {"client_id": "CL-01", "nom": "Ada", "telephone": "01"},
        {"client_id": "CL-02", "nom": "Ben", "telephone": "02"},
        {"client_id": "CL-03", "nom": "Cleo", "telephone": "03"},
    ],
    "instruments": [
        {"instrument_id": "I-101", "client_id": "CL-01", "year": 1902},
        {"instrument_id": "I-102", "client_id": "CL-02", "year": 1961},
    ],
    "quotes": [{"quote_id": "Q-501", "instrument_id": "I-101"}, {"quote_id": "Q-502", "instrument_id": "I-102"}],
    "repairs": [
        {"repair_id": "R-901", "quote_id": "Q-501", "maker_id": "LU-1"},
        {"repair_id": "R-902", "quote_id": "Q-502", "maker_id": "LU-1"},
    ],
    "makers": [{"maker_id": "LU-1", "speciality": "violin"}],
}
HIRES = [
    CallRecord("list_hires", {}, [
        {"hire_id": 41, "set_id": "S-7", "ensemble_id": 61}, {"hire_id": 42, "set_id": "S-8", "ensemble_id": 62},
    ]),
    CallRecord("list_hires", {"ensemble_id": 61}, [
        {"hire_id": 41, "set_id": "S-7", "ensemble_id": 61}, {"hire_id": 43, "set_id": "S-9", "ensemble_id": 61},
    ]),
    CallRecord("get_set", {"set_id": "S-7"}, {"set_id": "S-7", "condition": "good"}),
    CallRecord("get_set", {"set_id": "S-8"}, {"set_id": "S-8", "condition": "worn"}),
]  # fmt: skip
"""Answers of a service whose state nobody can read, and in which nothing is called as people are."""
BIRDS = [
    CallRecord("member_record", {"member_no": "30112"}, {
        "member_no": "30112", "name": "Isolde", "telephone": "1", "birds": ["UK-4471", "UK-4472"],
    }),
    CallRecord("member_record", {"member_no": "30118"}, {
        "member_no": "30118", "name": "Tomos", "telephone": "2", "birds": ["UK-3908"],
    }),
    CallRecord("weight_history", {"band": "UK-4471"}, [{"entry": 7001, "grams": 980}, {"entry": 7002, "grams": 992}]),
    CallRecord("weight_history", {"band": "UK-3908"}, [{"entry": 7005, "grams": 940}, {"entry": 7006, "grams": 944}]),
    CallRecord("bird_card", {"band": "UK-4471"}, {"band": "UK-4471", "species": "HHA", "handler": "30112"}),
    CallRecord("bird_card", {"band": "UK-4472"}, {"band": "UK-4472", "species": "HHA"}),
    CallRecord("bird_card", {"band": "UK-3908"}, {"band": "UK-3908", "species": "PER", "handler": "30118"}),
]  # fmt: skip
"""Answers in which a bird stands in a list of its owner's, and a weight in an answer about its bird."""


@pytest.fixture
def workshop() -> Ownership:
    """The workshop, by its state."""
    return ownership_of([WORKSHOP], [])


def test_an_owner_is_found_over_several_keys_and_a_maker_is_nobodys(workshop: Ownership) -> None:
    assert workshop.people == {"client"}
    assert workshop.owners(("repair", "R-902")) == {"client": {"CL-02"}}
    assert workshop.owners(("maker", "LU-1")) == {}


def test_an_owner_is_found_through_lists_and_through_what_was_asked_for() -> None:
    known = ownership_of([None], BIRDS)

    assert known.people == {"member"}
    assert known.about(CallRecord("strike_weight", {"entry": 7005})).people == {"member": {"30118"}}
    assert known.about(CallRecord("log_weight", {"band": "UK-4472", "grams": 980})).people == {"member": {"30112"}}


@pytest.mark.parametrize("owner", ["CL-02", {"id": "CL-02", "name": "Ben"}])
def test_a_column_of_another_name_and_a_nested_record_name_the_same_owner(
    workshop: Ownership, owner: JsonValue
) -> None:
    call = CallRecord("instrument_card", {}, {"instrument_id": "I-300", "year": 1990, "client": owner})

    assert workshop.plus([call]).about(CallRecord("tune", {"instrument_id": "I-300"})).people == {"client": {"CL-02"}}


def test_what_a_conversation_makes_belongs_to_whom_it_was_made_for(workshop: Ownership) -> None:
    made = CallRecord("create_quote", {"instrument_id": "I-102"}, {"quote_id": "Q-600", "total": 60}, writes=True)

    assert workshop.plus([made]).owners(("quote", "Q-600")) == {"client": {"CL-02"}}
    assert workshop.owners(("quote", "Q-600")) == {}


def test_a_second_persons_thing_is_told_with_whose_it_is(workshop: Ownership) -> None:
    calls = [
        CallRecord("list_quotes", {"client_id": "CL-01"}),
        CallRecord("assign", {"repair_id": "R-902", "maker_id": "LU-1"}),
        CallRecord("list_quotes", {"client_id": "CL-03"}),
    ]

    assert list(mixed_owners(workshop, calls)) == [
        (1, "repair_id R-902 belongs to 'CL-02', not to 'CL-01'"),
        (2, "client_id 'CL-03' is not 'CL-01'"),
    ]
    about = [workshop.about(call) for call in calls]
    assert conflicts(about[1], about[:1]) == (1, 0)
    assert people_of(workshop, calls[:1]) == {"client": {"CL-01"}}


def test_without_people_things_belong_to_what_they_are_listed_by() -> None:
    known = ownership_of([None], HIRES)

    assert known.people == {"ensemble"}
    assert known.about(CallRecord("extend_hire", {"hire_id": 43})).people == {"ensemble": {"61"}}


def test_a_change_of_what_only_one_person_has_is_about_that_person() -> None:
    known = ownership_of([None], HIRES)

    report = CallRecord("report_missing", {"set_id": "S-8"}, {"report_id": 9, "set_id": "S-8"}, writes=True)

    assert known.about(report).people == known.plus([report]).about(report).people == {"ensemble": {"62"}}
    assert known.about(CallRecord("get_set", {"set_id": "S-8"})).people == {}


@each(("hire", "sources", "why"), [
    (41, {0}, ""),
    (41, set(), "list_hires lists things of several, and none of '61' is taken from it"),
    (42, {0}, "hire_id 42 belongs to '62', not to '61'"),
])  # fmt: skip
def test_a_list_of_several_peoples_things_is_there_to_pick_from(hire: int, sources: set[int], why: str) -> None:
    calls = [
        HIRES[0],
        CallRecord("list_hires", {"ensemble_id": 61}),
        CallRecord("extend_hire", {"hire_id": hire}, sources=frozenset(sources)),
    ]

    assert next((why for _, why in mixed_owners(ownership_of([None], HIRES), calls)), "") == why


def test_an_owner_that_is_named_is_a_person_whatever_its_row_is_like() -> None:
    rows: dict[str, JsonValue] = {"makers": WORKSHOP["makers"], "repairs": WORKSHOP["repairs"]}

    known = ownership_of([rows], [], Owner(table="makers", key="LU-1"))

    assert known.kinds_of(Owner(table="makers", key="LU-1")) == {"maker": {"LU-1"}}
    assert known.kinds_of(Owner(table="makers", key="LU-9")) == {}
    assert known.owners(("repair", "R-901")) == {"maker": {"LU-1"}}


def test_a_person_is_told_by_table_key_and_name(workshop: Ownership) -> None:
    owner = workshop.owner_of({"client": frozenset({"CL-02"})})

    assert (owner.table, owner.key, owner.name) == ("clients", "CL-02", "Ben")
    assert {"CL-02", "Ben"} <= set(owner.facts.values())  # what it says when asked who it is
    assert list(workshop.names({"client": frozenset({"CL-02"})})) == ["CL-02", "Ben"]


@each("name", ["", "$", "…"])
def test_a_field_without_a_word_in_its_name_is_read_like_others(name: str) -> None:
    answer: JsonValue = {"order_id": "W-11", name: [{"item_id": "I-5"}, {"item_id": "I-6"}]}
    known = ownership_of([], [CallRecord("get_order", {"order_id": "W-11"}, answer)])
    assert not known.people


@each("depth", [50, 700, 5_000])
def test_rows_within_rows_without_end_are_read_as_far_as_people_nest_them(depth: int) -> None:
    answer = '{"a":' * depth + "1" + "}" * depth
    known = ownership_of([], [CallRecord("get_order", {"order_id": "W-11"}, answer)])
    assert not known.people


def test_named_rows_by_which_things_are_listed_own_before_words_in_a_column() -> None:
    """A guest is a word in a visit; whoever the visits are listed by has a row with a name of its own."""
    rows: dict[str, JsonValue] = {
        "people": {"P11": {"name": "Ada Roy"}, "P12": {"name": "Ben Low"}},
        "visits": {f"V{n}": {"person": f"P1{n % 2 + 1}", "guest": f"Guest {n}"} for n in range(300, 306)},
    }
    visits = [{"visit": key, **row} for key, row in rows["visits"].items()]
    listed = [
        CallRecord("list_visits", {"person": who}, [one for one in visits if one["person"] == who])
        for who in ("P11", "P12")
    ]

    known = ownership_of([rows], listed)

    assert known.people == {"people"}
    assert known.owners(("visit", "V301")) == {"people": frozenset({"P12"})}


def test_rows_of_an_answer_belong_to_what_lists_them_though_it_does_not_repeat_that() -> None:
    """The table says whose a proposal is; the list of one observer's proposals need not."""
    tables: dict[str, JsonValue] = {
        "observers": [{"observer_id": "OB-21", "name": "Ada Roy"}, {"observer_id": "OB-22", "name": "Ben Low"}],
        "proposals": [
            {"proposal_id": f"PR-31{at}", "observer_id": f"OB-{21 + at // 2}", "title": f"Star {at}"} for at in range(4)
        ],
        "runs": [{"run_id": f"RN-70{at}", "proposal_id": f"PR-31{at}"} for at in range(4)],
    }
    answer = [{"proposal_id": f"PR-31{at}", "title": f"Star {at}"} for at in range(2)]
    listed = [CallRecord("list_proposals", {"observer_id": "OB-21"}, answer)]
    known = ownership_of([tables], listed)
    cancelled = [CallRecord("cancel_run", {"run_id": run}, {"run_id": run}) for run in ("RN-700", "RN-703")]

    assert known.people == {"observer"}
    assert known.owners(("run", "RN-703")) == {"observer": frozenset({"OB-22"})}
    assert [place for place, _ in mixed_owners(known, cancelled)] == [1]


def test_without_tables_people_are_the_named_ones_that_share_out_what_tools_list() -> None:
    """No answer repeats whose an offer is; both lists are of one setter each, and papers share nothing out."""
    signed_in = [
        CallRecord("find_setter", {"email": f"{name}@mail.example"}, {"setter": {"id": key, "pen_name": name}})
        for key, name in ((3001, "ada"), (3002, "ben"))
    ]
    listed = [
        CallRecord(
            f"list_{what}s", {"setter_id": key}, {"items": [{what: {"ref": f"{what}-{key}{at}"}} for at in (1, 2)]}
        )
        for what in ("offer", "statement")
        for key in (3001, 3002)
    ]
    papers = [CallRecord("list_papers", {}, {"papers": [{"code": "HOR", "title": "The Horn"}]})]
    known = ownership_of([], [*signed_in, *listed, *papers])
    withdrawn = CallRecord("withdraw_offer", {"offer_ref": "offer-30021"}, {"status": "withdrawn"}, writes=True)

    assert known.people == {"setter"}
    assert [place for place, _ in mixed_owners(known, [signed_in[1], withdrawn])] == []
    assert [place for place, _ in mixed_owners(known, [signed_in[0], withdrawn])] == [1]


def test_a_lookup_vouches_for_people_by_a_value_of_another_name() -> None:
    """`losung` is the `spruch` of a *zwerg*, who wears a dress; no name of theirs is called as people or ids are."""
    tables: dict[str, JsonValue] = {
        "zwerge": [
            {"zeichen": "K-301", "name": "Ada", "spruch": "Enzian"},
            {"zeichen": "K-302", "name": "Ben", "spruch": "Kiebitz"},
        ],
        "kleider": [{"kleidmarke": f"H-0{at}", "traeger": f"K-30{1 + at % 2}"} for at in range(4)],
    }
    checked = [
        CallRecord("zwerg_pruefen", {"zwergmarke": key, "losung": word}, {"name": name})
        for key, word, name in (("K-301", "Enzian", "Ada"), ("K-302", "Kiebitz", "Ben"))
    ]
    known = ownership_of([tables], checked)
    repair = CallRecord("flicken", {"kleidmarke": "H-01"}, {"stand": "bestellt"}, writes=True)

    assert [place for place, _ in mixed_owners(known, [checked[1], repair])] == []
    assert [place for place, _ in mixed_owners(known, [checked[0], repair])] == [1]


def test_a_bare_code_that_stands_in_rows_of_others_is_the_key_of_whom_it_tells_apart() -> None:
    """A stay's `code` tells no stays apart; all its values are codes of skippers, and so is that of `list_stays`.

    The tables are what one tool reads.
    """
    tables: dict[str, JsonValue] = {
        "skippers": [{"code": f"SK-{at}", "pin": f"44{at}", "name": f"Skipper {at}"} for at in (17, 23, 31)],
        "stays": [
            {"stay": stay, "code": code, "berth": berth}
            for stay, code, berth in [("ST-501", "SK-17", "A2"), ("ST-502", "SK-23", "B2"), ("ST-503", "SK-17", "B1")]
        ],
    }
    of_17 = [row for row in tables["stays"] if row["code"] == "SK-17"]  # type: ignore[union-attr, index, call-overload]
    known = ownership_of([{"read_book": tables}], [CallRecord("list_stays", {"code": "SK-17"}, of_17)])
    identified = CallRecord(
        "identify_skipper", {"code": "SK-31", "pin": "4431"}, {"code": "SK-31", "name": "Skipper 31"}
    )
    cancelled = CallRecord("cancel_stay", {"stay": "ST-501"}, {"stay": "ST-501", "status": "cancelled"}, writes=True)
    booked = CallRecord("book_stay", {"code": "SK-17"}, {"stay": "ST-9f", "code": "SK-17"}, writes=True)

    assert known.people == {"skipper"}
    assert known.owners(("stay", "ST-503")) == {"skipper": {"SK-17"}}
    assert known.owner_of(people_of(known, [booked])).name == "Skipper 17"
    assert [place for place, _ in mixed_owners(known, [identified, cancelled])] == [1]
    assert [place for place, _ in mixed_owners(known, [identified, booked])] == [1]
    assert not list(mixed_owners(known, [booked, cancelled]))


def test_a_count_of_guests_is_nobody_and_an_owner_is_known_by_the_key_of_its_table() -> None:
    """`guests: 2` holds no key, though guests are people; `badge` is the key of observers, which says so nowhere."""
    tables: dict[str, JsonValue] = {
        "observers": [{"badge": "OB-41", "name": "Ada Roy"}, {"badge": "OB-52", "name": "Ben Low"}],
        "bookings": [
            {"booking_id": "B501", "badge": "OB-41", "guests": 1},
            {"booking_id": "B502", "badge": "OB-52", "guests": 0},
            {"booking_id": "B503", "badge": "OB-52", "guests": 2},
        ],
    }
    changed = [CallRecord("set_guests", {"booking_id": "B501", "guests": many}, writes=True) for many in (2, 4)]
    known = ownership_of([tables], changed, Owner(table="observers", key="OB-41"))

    assert known.kinds_of(Owner(table="observers", key="OB-41")) == {"badge": {"OB-41"}}
    assert "guest" not in known.people
    assert not list(mixed_owners(known, changed))


def test_what_somebody_else_holds_is_not_taken_over_by_whom_a_call_names(workshop: Ownership) -> None:
    taken = [
        CallRecord("get_client", {"client_id": "CL-01"}),
        CallRecord(
            "claim",
            {"instrument_id": "I-102", "client_id": "CL-01"},
            {"instrument_id": "I-102", "client_id": "CL-01"},
            writes=True,
        ),
    ]

    assert list(mixed_owners(workshop, taken)) == [(1, "instrument_id I-102 belongs to 'CL-02', not to 'CL-01'")]


def test_a_key_that_rows_repeat_in_a_column_is_of_one_kind_by_whatever_it_is_called() -> None:
    """Tables stand under their keys in a snapshot, and as lists in a draft; whoever owns a sample has a badge there."""
    snapshot: dict[str, JsonValue] = {
        "people": {key: {"badge": key, "name": name} for key, name in [("B-11", "Ada Roy"), ("B-12", "Ben Low")]},
        "samples": {key: {"id": key, "owner": owner} for key, owner in [("S-101", "B-11"), ("S-102", "B-12")]},
    }
    fresh: dict[str, JsonValue] = {
        "people": [{"badge": "B-36", "name": "Cleo Orr"}],
        "samples": [{"id": "S-300", "owner": "B-36"}],
    }
    owner = Owner(table="people", key="B-36")
    known = ownership_of([snapshot, fresh], [], owner)
    calls = [CallRecord("verify_badge", {"badge": "B-36"}), CallRecord("destroy", {"sample_id": "S-101"})]

    assert known.kinds_of(owner) == people_of(known, calls[:1]) == {"people": {"B-36"}}
    assert known.owner_of({"people": frozenset({"B-11"})}).facts == {"badge": "B-11", "name": "Ada Roy"}
    assert [place for place, _ in mixed_owners(known, calls)] == [1]


def test_who_has_no_name_is_known_by_what_a_lookup_wants_to_hear_beside_the_key() -> None:
    """A card is checked by its pin, which the answer does not tell; the zone of a stop is nobody's secret."""
    tables: dict[str, JsonValue] = {
        "cards": [{"ref": f"P-80{at}", "pin": f"44{at}0", "weeks": at} for at in (1, 2, 3)],
        "stops": [{"stop": f"ST-{at}", "zone": f"Z-{at}"} for at in (1, 2)],
        "trips": [{"trip": f"T-1{at}", "card": f"P-80{at}", "stop": f"ST-{at}"} for at in (1, 2)],
    }
    checked = [
        CallRecord("check_card", {"ref": "P-801", "pin": "4410"}, {"ref": "P-801", "weeks": 1}),
        CallRecord("get_stop", {"stop": "ST-1", "zone": "Z-1"}, {"stop": "ST-1", "zone": "Z-1"}),
    ]
    disputed = CallRecord("dispute_trip", {"trip": "T-12"}, {"trip": "T-12"}, writes=True)
    known = ownership_of([tables], checked)

    assert known.people == {"card"}
    assert [place for place, _ in mixed_owners(known, [*checked, disputed])] == [2]


def test_what_a_read_of_the_state_was_asked_for_says_whose_its_rows_are() -> None:
    """Leave that is listed for one crew code names nobody itself, and nobody else may withdraw it."""
    leave = [{"ref": "LV-0309", "status": "granted"}, {"ref": "LV-0318", "status": "pending"}]
    state = {
        "list_leave(crew_code='MTR-114')": leave,
        "list_leave(crew_code='CND-207')": [{"ref": "LV-0312", "status": "pending"}],
    }
    proof = CallRecord("verify_crew", {"crew_code": "MTR-114", "joined": "2017-04-02"}, {"crew": {"code": "MTR-114"}})
    changes = [
        CallRecord("withdraw_leave", {"leave_ref": ref}, {"ref": ref}, writes=True) for ref in ("LV-0318", "LV-0312")
    ]
    known = ownership_of([state], [proof])

    found = [[why for _, why in mixed_owners(known, [proof, change])] for change in changes]

    assert found == [[], ["leave_ref LV-0312 belongs to 'CND-207', not to 'MTR-114'"]]
