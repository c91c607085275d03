"""The results file: round trip, schema, readable errors, comparison, merging."""

import json
from pathlib import Path

import jsonschema
import pytest

import pytest_agentbench.results as folder
from pytest_agentbench.cli.report import merge
from pytest_agentbench.cli.schema import json_schema
from pytest_agentbench.core.errors import ResultsError
from pytest_agentbench.core.verdict import CallExplanation
from pytest_agentbench.results.document import comparable, players_of, read, write
from tests.results.make import document, result, support_runs, wrong_refund

GATES = ["success >= 0.8", "policy.confirm-writes >= 0.9"]
SHIPPED = Path(str(folder.__file__)).parent / "schema" / "results.schema.json"


def awkward():
    """Make a result with a lone surrogate, a NaN and an infinity."""
    call = CallExplanation(
        status="wrong_arguments", tool="f", actual={"x": float("nan")}, differing={"x": (1, float("inf"))}
    )
    return result("odd", "failed", error="\ud83d", calls=(call,), metrics={"calls_ratio": float("inf")})


def test_a_document_comes_back_equal(tmp_path):
    """Writing and reading loses nothing, surrogates and infinities included."""
    path = tmp_path / "deep" / "results.json"
    given_document = document([*support_runs(), awkward()], GATES, retried=[result("case-03", "error", "user")])
    write(given_document, path)
    assert repr(read(path)) == repr(given_document)


def test_the_file_is_ascii_indented_and_stable(tmp_path):
    """The same document gives the same bytes: ASCII, a line per field, the version first, no draft left behind."""
    path = tmp_path / "results.json"
    write(document(support_runs(), GATES), path)
    first = path.read_bytes()
    write(document(support_runs(), GATES), path)
    assert path.read_bytes() == first
    assert first.isascii()
    assert first.startswith(b'{\n "schema": "agentbench-results/1",\n')
    assert [file.name for file in tmp_path.iterdir()] == ["results.json"]


def test_the_file_fits_the_shipped_schema(tmp_path):
    """The shipped JSON Schema is valid, is the one of the code, and accepts what is written."""
    path = tmp_path / "results.json"
    write(document([*support_runs(), awkward()], GATES), path)
    schema = json.loads(SHIPPED.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema == json_schema(), "write json_schema() to pytest_agentbench/results/schema/results.schema.json"
    jsonschema.validate(json.loads(path.read_text()), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"schema": "agentbench-results/1", "results": []}, schema)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "cut off"),
        ("[" * 200_000, "nested too deeply"),
        ('{"schema": "agentbench-results/1", "results": [', "cut off"),
        ("[]", "not a results file"),
        ('{"tests": 3}', "not a results file"),
        ('{"schema": "agentbench-results/2"}', "use the version that wrote it"),
        ('{"schema": "agentbench-results/1", "surprise": 1}', "surprise"),
        ('{"schema": "agentbench-results/1", "results": [{"key": 3}]}', "results.0.key"),
        ("caf\u00e9", "ASCII"),
    ],
)
def test_a_wrong_file_says_what_it_is(tmp_path, text, says):
    """Truncated, foreign, of another version or with unknown keys: the path and the reason, no traceback of ours."""
    path = tmp_path / "results.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ResultsError) as error:
        read(path)
    assert says in str(error.value)
    assert str(path) in str(error.value)


def test_a_missing_file_says_so(tmp_path):
    """A path that does not exist is readable too."""
    with pytest.raises(ResultsError, match="cannot be read"):
        read(tmp_path / "none.json")


def test_comparable_ignores_times_and_places_alone():
    """Times, run ids, roots, commands and versions are left out; a changed verdict is not."""
    runs = support_runs()
    one = document(runs, GATES)
    other = document(
        [run.model_copy(update={"seconds": 9.0}) for run in runs], GATES,
        created="later", run="another", root="/elsewhere", command=("pytest",), seconds=1.0, versions={"python": "9"},
    )  # fmt: skip
    assert comparable(one) == comparable(other)
    assert comparable(one) != comparable(document([*runs[1:], wrong_refund("exchange-after-window")], GATES))
    assert json.loads(json.dumps(comparable(document([awkward()])))) == comparable(document([awkward()]))


def test_players_are_collected():
    """Each role lists all who played it, sorted."""
    runs = [result("a", players={"agent": "b", "user": "scripted"}), result("b", players={"agent": "a"})]
    assert players_of(runs) == {"agent": ("a", "b"), "user": ("scripted",)}


def test_shards_merge_into_the_whole():
    """Two shards of one suite give the runs of both; gates are left to be evaluated anew."""
    runs = support_runs()
    shards = [document(runs[:10], GATES), document(runs[10:], GATES)]
    whole = merge(shards)
    assert whole.results == tuple(runs)
    assert (whole.suites[0].selected, whole.seed, whole.complete, whole.gates) == (26, 7, True, ())


def test_shards_that_do_not_fit_are_refused():
    """A run in both, a changed suite, or other players are errors."""
    one = document([result("a", players={"agent": "x"})])
    with pytest.raises(ResultsError, match="two of the results files"):
        merge([one, one])
    changed = one.suites[0].model_copy(update={"content_hash": "other"})
    with pytest.raises(ResultsError, match="changed between"):
        merge([one, document([result("b")], suites=(changed,))])
    with pytest.raises(ResultsError, match="played by"):
        merge([one, document([result("b", players={"agent": "y"})])])
