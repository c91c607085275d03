"""A test in Python: what the suite's scenarios cannot say as well."""

import pytest


@pytest.mark.agentbench("agentbench.yaml", scenario="book", variant="careful")
def test_a_booking_costs_one_credit(agentbench):
    run = agentbench.simulate()
    assert run.called("book_class", class_id="C2")
    assert run.state["members"]["M1"]["credits"] == 2
    assert run.said("C2")
