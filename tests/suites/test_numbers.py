"""Numbers in suite files that Python cannot write down are errors with a position, in whatever base."""

from pathlib import Path

import pytest

from pytest_agentbench.core.errors import SuiteError
from pytest_agentbench.suites.suite_file import load_suite


@pytest.mark.parametrize(
    ("number", "why"),
    [
        ("9" * 5_000, "this number has too many digits"),
        ("0x" + "f" * 5_000, "this number has too many digits"),
        ("0x" + "f" * 3_600, "this number has too many digits"),
        ("0o" + "7" * 4_800, "this number has too many digits"),
        ("!!float " + "9" * 400, "this number is too large for !!float"),
    ],
)
@pytest.mark.parametrize("key", ["knows: {n: NUMBER}", "expect: [{refund: {n: NUMBER}}]", "limits: {turns: NUMBER}"])
def test_a_number_of_thousands_of_digits_is_an_error_where_it_stands(
    tmp_path: Path, number: str, why: str, key: str
) -> None:
    """Hexadecimal and octal ones as well."""
    file = tmp_path / "agentbench.yaml"
    file.write_text(f"agent: a:b\nscenarios:\n  - id: a\n    {key}\n".replace("NUMBER", number))

    with pytest.raises(SuiteError) as caught:
        load_suite(file, environ={})

    assert f"agentbench.yaml:4:{key.index('NUMBER') + 5}" in str(caught.value)
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("scenarios: [{id: 'a-${TOKEN}', says: [hi]}]", "2:18"),
        ("scenarios: [{id: a}]\nname: ${TOKEN}", "3:7"),
        ("scenarios: [{id: a}]\npolicies: [{id: '${TOKEN}', text: x}]", "3:17"),
    ],
)
def test_a_variable_in_a_name_is_refused(tmp_path: Path, line: str, place: str) -> None:
    """Ids are written to every result, and the message shows no value."""
    file = tmp_path / "agentbench.yaml"
    file.write_text(f"agent: a:b\n{line}\n")

    with pytest.raises(SuiteError) as caught:
        load_suite(file, environ={"TOKEN": "s3cret"})

    assert f"agentbench.yaml:{place}" in str(caught.value)
    assert "${TOKEN} in a name" in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_a_variable_may_stand_under_an_id_that_is_a_value(tmp_path: Path) -> None:
    """An argument named `id` is no name of anything in the suite."""
    file = tmp_path / "agentbench.yaml"
    file.write_text("agent: a:b\nscenarios: [{id: a, says: [hi], expect: [{refund: {id: '${USER_ID}'}}]}]\n")

    suite = load_suite(file, environ={"USER_ID": "u-1234"})

    assert suite.scenarios[0].expected_calls[0].arguments == {"id": "u-1234"}
