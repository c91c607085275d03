"""Annex F of tool-to-scenario: tasks 3 and 34, three models each, with the recalls printed there.

The annex prints excerpts. Calls it leaves out, which its columns *Appels* and *Outils* count, are filled in with
whatever the printed recalls leave room for and marked. `end_simulation` closes the run and is not a call.
"""

import pytest

from pytest_agentbench.checks.verdict import judge
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.tool import Toolset, ToolSpec
from pytest_agentbench.core.transcript import Message
from tests.checks.builders import agent, call, run_of, user, want
from tests.tables import each

TOOLS = Toolset(
    specs=tuple(
        ToolSpec(name=f"meteo_{name}", kind="read")
        for name in ("search_places", "rain_nowcast", "bulletin", "alerts", "forecast", "observation")
    )
)

TASK_3 = [want("meteo_alerts", domain="75"), want("meteo_alerts", domain="44"), want("meteo_bulletin", domain="13")]
TASK_34 = [
    want("meteo_search_places", q="Paris"),
    want("meteo_rain_nowcast", lat=48.86, lon=2.35),
    want("meteo_bulletin", domain="75"),
    want("meteo_alerts", domain="75"),
    want("meteo_bulletin", domain="13"),
    want("meteo_search_places", q="Toulouse"),
    want("meteo_bulletin", domain="13"),
]

ALERTS_75 = call("meteo_alerts", domain="75")
ALERTS_44 = call("meteo_alerts", domain="44")
BULLETIN_13 = call("meteo_bulletin", domain="13")
ONE_BY_ONE = [ALERTS_75, agent("75."), user("Et 44 ?"), ALERTS_44, agent("44."), user("Et 13 ?"), BULLETIN_13]
AT_ONCE = [
    [message for part in (ALERTS_75, ALERTS_44, BULLETIN_13) for message in part],
    agent("Voici les informations."),
]
SIMPLIFIED = [
    ALERTS_75,
    call("meteo_search_places", q="Lyon"),
    call("meteo_observation", lat=45.76, lon=4.84),
    call("meteo_search_places", q="Marseille"),
    call("meteo_observation", lat=43.28, lon=5.41),
    call("meteo_observation", lat=43.28, lon=5.41),  # filled in
]
OUT_OF_SCOPE = [
    call("meteo_search_places", q="Lyon"),
    call("meteo_search_places", q="Marseille"),
    call("meteo_search_places", q="Isère"),
    call("meteo_alerts", domain="38"),
    call("meteo_forecast", lat=4.84, lon=45.76),  # filled in: the arguments
    call("meteo_forecast", lat=5.41, lon=43.28),  # filled in: the arguments
    call("meteo_forecast", lat=5.72, lon=45.18),  # filled in: the arguments
]
HALLUCINATED = [
    call("meteo_search_places", q="Toulouse"),  # filled in: the argument
    call("meteo_search_places", q="Lyon"),  # filled in: the argument
    call("meteo_search_places", q="Marseille"),  # filled in: the argument
    call("meteo_search_places", q="Nice"),  # filled in: the argument
    call("meteo_search_places", q="Cannes"),  # filled in: the argument
    call("meteo_alerts", domain="06"),
    call("get_meteo_alerts", error=True, domain="06"),
    call("get_meteo_alerts", error=True, domain="06"),
    call("meteo_forecast", error=True, lat="43.70", lon="7.27"),  # filled in
    call("meteo_forecast", error=True, lat=7.27, lon=43.7),  # filled in
    call("meteo_forecast", lat=43.7, lon=7.27),  # filled in
]


@each(
    ("expect", "calls", "made", "errors", "name", "strict", "termination"),
    [
        pytest.param(TASK_3, ONE_BY_ONE, 3, 0, "1.00", "1.00", "FINISHED", id="3-gpt-4o"),
        pytest.param(TASK_3, ONE_BY_ONE, 3, 0, "1.00", "1.00", "FINISHED", id="3-qwen3-32b"),
        pytest.param(TASK_3, AT_ONCE, 3, 0, "1.00", "1.00", "FINISHED", id="3-qwen3-8b"),
        pytest.param(TASK_34, SIMPLIFIED, 6, 0, "0.43", "0.14", "FINISHED", id="34-gpt-4o"),
        pytest.param(TASK_34, OUT_OF_SCOPE, 7, 0, "0.43", "0.00", "CRASHED", id="34-qwen3-32b"),
        pytest.param(TASK_34, HALLUCINATED, 11, 4, "0.43", "0.14", "FINISHED", id="34-qwen3-8b"),
    ],
)
def test_recalls_are_as_printed(  # noqa: PLR0917 - one parameter per column
    expect: list[ExpectedCall],
    calls: list[list[Message]],
    made: int,
    errors: int,
    name: str,
    strict: str,
    termination: str,
) -> None:
    """R_n, R_s, number of calls, errors and status are those of the tables."""
    run = run_of(
        user("Bonjour"),
        *calls,
        expect=expect,
        termination=Termination(termination),
        stop_reason="end_simulation",
        toolset=TOOLS,
    )
    judged = judge(run)
    assert f"{judged.metrics['name_recall']:.2f}" == name
    assert f"{judged.metrics['strict_recall']:.2f}" == strict
    assert judged.metrics["complete"] == float(strict == "1.00")
    assert (judged.metrics["tool_calls"], judged.metrics["tool_errors"]) == (made, errors)
    assert judged.verdict == ("passed" if termination == "FINISHED" else "failed")


def test_the_hallucinated_tool_is_named() -> None:
    """The invented tool shows as unknown, once repeated."""
    judged = judge(run_of(user("Bonjour"), *HALLUCINATED, expect=TASK_34, toolset=TOOLS))
    assert [item.status for item in judged.calls if item.tool == "get_meteo_alerts"] == ["unknown_tool"] * 2
