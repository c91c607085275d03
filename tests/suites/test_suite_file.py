"""Suite files: what they become, and what is said about those that are wrong."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_agentbench.core.errors import Problem, SuiteError
from pytest_agentbench.core.suite import Suite, ToolsSpec, UserSpec
from pytest_agentbench.suites.suite_file import load_suite
from tests.suites.forms import lay_out
from tests.tables import each

Write = Callable[..., Path]

SHORTEST = 'agent: my_agent:build\nscenarios:\n  - id: refund-late\n    says: ["Refund W1, please", "yes"]\n'


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a suite file with the files around it, and give its path."""

    def write(text: str, **files: str) -> Path:
        lay_out(tmp_path)
        for name, content in files.items():
            (tmp_path / name.replace("__", ".")).write_text(content)
        path = tmp_path / "agentbench.yaml"
        path.write_text(text)
        return path

    return write


def load(path: Path, **environ: str) -> Suite:
    """Load a suite in an environment of these variables."""
    return load_suite(path, environ=environ)


def problems(path: Path, **environ: str) -> list[Problem]:
    """Give the problems of a suite that does not load."""
    with pytest.raises(SuiteError) as caught:
        load(path, **environ)
    return caught.value.problems


def test_four_lines_are_a_suite(write: Write) -> None:
    """The short form needs an agent and a scenario; all else has a default."""
    suite = load(write(SHORTEST))
    assert (suite.agent.kind, suite.agent.target, suite.agent.serial) == ("factory", "my_agent:build", False)
    assert suite.scenarios[0].lines == ("Refund W1, please", "yes")
    assert (suite.trials, suite.variants, suite.limits.turns, suite.user) == (None, {}, 40, UserSpec())
    assert suite.root == suite.path.parent
    assert suite.name == suite.root.name
    assert (suite.scenarios[0].file, suite.scenarios[0].line) == (str(suite.path), 3)


@pytest.mark.parametrize(
    ("form", "kind", "target", "serial"),
    [
        ("a.b:c", "factory", "a.b:c", False),
        ("{factory: a:b, serial: true}", "factory", "a:b", True),
        ("{callable: a:b}", "callable", "a:b", False),
    ],
)
def test_agents_have_short_and_full_forms(write: Write, form: str, kind: str, target: str, serial: bool) -> None:
    """A bare import path is a factory; mappings say what else it is."""
    agent = load(write(SHORTEST.replace("my_agent:build", form))).agent
    assert (agent.kind, agent.target, agent.serial) == (kind, target, serial)


def test_recordings_may_be_several_files_and_patterns(write: Write) -> None:
    """`transcripts` names a file, a list of files, or patterns."""
    path = write(SHORTEST.replace("my_agent:build", "{transcripts: ['*.jsonl']}"), a__jsonl="", b__jsonl="")
    assert [file.name for file in load(path).agent.files] == ["a.jsonl", "b.jsonl"]


def test_tools_and_state_take_every_form(write: Write) -> None:
    """Python modules and schema files are told apart; files are given as paths from anywhere."""
    path = write(
        SHORTEST
        + """
environment:
  tools: my.tools
  user_tools: tools.json
  state: {sqlite: {schema: schema.sql, rows: rows.yaml}, ignore: [a.*]}
  reads: [look]
"""
    )
    environment = load(path).environment
    assert environment.tools == (ToolsSpec(kind="python", target="my.tools"),)
    assert environment.user_tools == (ToolsSpec(kind="schema", target=str(path.parent / "tools.json")),)
    assert environment.state is not None
    assert environment.state.options["schema"] == str(path.parent / "schema.sql")
    assert environment.state.ignore == ("a.*",)
    assert environment.reads == ("look",)


def test_state_of_ones_own_keeps_its_options(write: Write) -> None:
    """Options beside `own` go to the provider."""
    state = load(write(SHORTEST + "environment: {state: {own: a:B, url: x, ignore: [y]}}\n")).environment.state
    assert state is not None
    assert (state.kind, state.options, state.ignore) == ("own", {"own": "a:B", "url": "x"}, ("y",))


def test_policies_may_stand_in_a_file(write: Write) -> None:
    """A policies file is a list of policies; ids that are numbers become text."""
    path = write(SHORTEST + "policies: p.yaml\ngates: ['policy.7 >= 0.5']\n", p__yaml="- {id: 7, text: Be kind.}\n")
    (policy,) = load(path).policies
    assert (policy.id, policy.text, policy.challenge) == ("7", "Be kind.", None)


def test_every_problem_is_told_at_once_with_its_place(write: Write) -> None:
    """One load tells of unknown keys, wrong types, dangling names, gates and variables, in the order of the file."""
    path = write(
        """agent: my_agent:build
enviroment: {}
limits: {turns: 0, second: 3}
variants: {t1: {}}
trials: two
policies:
  - {id: late, text: No., challenge: 6}
gates: ["succes >= 0.8", "policy.lte > 1", "success >= 80", "success"]
scenarios:
  - id: a
    says: "Hi ${WHO}"
  - id: b
    expct: []
    match: {order: in-order}
  - {says: [x]}
  - none/*.yaml
"""
    )
    found = [(one.line, one.column, one.key) for one in problems(path)]
    assert found == [
        (2, 1, "enviroment"),
        (3, 17, "limits.turns"),
        (3, 20, "limits.second"),
        (4, 12, "variants.t1"),
        (5, 9, "trials"),
        (7, 38, "policies[0].challenge"),
        (8, 9, "gates[0]"),
        (8, 44, "gates[2]"),
        (8, 61, "gates[3]"),
        (11, 11, "scenarios[0].says"),
        (11, 11, "scenarios[0].says"),
        (13, 5, "scenarios[1].expct"),
        (14, 20, "scenarios[1].match.order"),
        (15, 5, "scenarios[2]"),
        (16, 5, "scenarios[3]"),
    ]


@each(
    ("text", "message"),
    [
        ("enviroment: {}", "unknown key 'enviroment' (did you mean 'environment'?), allowed: agent"),
        ("variant: {}", "unknown key 'variant' (did you mean 'variants'?), allowed: agent, scenarios, extends,"),
        ("trials: two", "found 'two', expected a whole number, 1 or more"),
        ("trials: true", "found True, expected a whole number"),
        ("user: scriptd", "found 'scriptd', allowed: 'scripted', 'llm' (did you mean 'scripted'?)"),
        ("user: you", "found 'you', expected the simulated user: scripted, llm, or {llm: {model: …}}"),
        ("user: {llm: {}}", "user.llm: the key 'model' is missing (name a model here or in the suite's `llm`)"),
        ("user: {llm: {modl: x}}", "unknown key 'modl' (did you mean 'model'?), allowed: model, base_url"),
        ("llm: {temperature: 3}", "llm.temperature: found 3, expected a number from 0 to 2"),
        ("cassette: {fil: x}", "unknown key 'fil' (did you mean 'file'?), allowed: file, ignore, unrecorded"),
        ("limits: {cost_usd: -1}", "limits.cost_usd: found -1, expected US dollars, from 0 to a billion"),
        ("variants: {t12: {}}", "found the name 't12', expected letters, digits, _ . and -, not t and a number"),
        ("variants: {A: {}, a: {}}", "the variants 'A' and 'a' differ in case alone"),
        ("limits: {seconds: 0}", "found 0, expected seconds, more than 0"),
        ("environment: {tools: none.json}", "there is no file 'none.json'"),
        ("environment: {state: {json: none}}", "there is no file 'none'"),
        ("environment: {state: {sqlite: {rows: rows.yaml}}}", "the key 'schema' is missing"),
        ("environment: {reads: [a], writes: [a]}", "'a' is both in reads and in writes"),
        ("gates: ['errors < x']", "the gate 'errors < x' compares with 'x', expected a share from 0 to 1"),
        ("gates: ['errors > 0.1']", "compares with '>', allowed: <= and <, since fewer is better"),
        ("gates: ['crashed <= 0.5']", "compares with '0.5', expected a number of runs"),
        ("gates: ['polic.x < 1']", "the gate 'polic.x < 1' names the metric 'polic.x'"),
        ("gates: ['policy.x > 0.1']", "the gate 'policy.x > 0.1' names the policy 'x', which is not listed"),
        ("gates: ['complexity.many < 1']", "names the complexity 'many', expected a whole number"),
        ("policies: none.yaml", "there is no file 'none.yaml'"),
        ("policies: [{id: a, text: x}, {id: a, text: y}]", "the policy 'a' is listed twice"),
        ("policies: [{id: a, text: x, rule: {befor: {}}}]", "unknown key 'befor' (did you mean 'before'?)"),
        ("policies: [{id: a, text: x, rule: {}}]", "found an empty mapping, expected exactly one of before, never"),
        ("policies: [{id: a, text: x, rule: {never: {calls: [b], where: {c: {$ny: 1}}}}}]", "unknown matcher '$ny'"),
        ("policies: [{id: a, text: x, rule: {at_most: {calls: [b]}}}]", "the key 'times' is missing"),
        ("policies: [{id: 1.0, text: x}]", "found 1.0, expected the name of the policy, unique in the suite (put it"),
        ("policies: [{id: a, text: x, rule: before}]", "expected a rule: a mapping with exactly one of before, never,"),
        ("faults: [3]", "or a list of faults that strike together; kinds: timeout, error, rate_limit,"),
        ("user: {llm: {model: m}, modifiers: [rude]}", "{modifier: {option: value}}; modifiers: forgets_identifier,"),
        ("environment: {state: {ignore: []}}", "the state has no sqlite, json, own or plugin"),
        ("environment: {state: {foo: 1, ignore: []}}", "one of the keys 'sqlite', 'json', 'tools', 'own', 'plugin' is"),
        ('limits: {"a\\0b": 1}', "limits.a\\x00b: unknown key 'a\\x00b', allowed: turns"),
        ("now: \"2026-11-24\\n\"", "found '2026-11-24\\n', expected a date and time with its zone"),
        ("context: []", "found an empty list, expected a mapping"),
        ("name: ''", "found '', expected the name of the suite"),
    ],
)  # fmt: skip
def test_wrong_parts_are_told_in_words(write: Write, text: str, message: str) -> None:
    """Each message says what was found, what is allowed, and what was probably meant."""
    (found,) = problems(write(f"{SHORTEST}{text}\n"))
    assert message in str(found)


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        ("5", "found 5, expected an import path such as package.module:name, {factory: …}"),
        ("my_agent", "found 'my_agent', expected an import path such as package.module:name"),
        ("{factry: a:b}", "unknown key 'factry' (did you mean 'factory'?), allowed: factory, serial, upstream, price"),
        ("{openai: {model: m, system: a, system_file: b}}", "'system' and 'system_file' are both given"),
        ("{openai: {model: m, system_file: none.md}}", "there is no file 'none.md'"),
        ("{openai: {system: x}}", "the key 'model' is missing (name a model here or in the suite's `llm`)"),
        ("{http: {reply: answer}}", "agent.http: one of the keys 'url', 'app' is missing"),
        ("{http: {reply: answer, foo: 1}}", "agent.http.foo: unknown key 'foo', allowed: url, "),
        ("{http: {url: localhost}}", "found 'localhost', expected an address such as https://host/v1"),
        ("{transcripts: none.jsonl}", "there is no file 'none.jsonl'"),
        ("{transcripts: []}", "found an empty list, expected a list of files"),
    ],
)
def test_wrong_agents_are_told_in_words(write: Write, agent: str, message: str) -> None:
    """The branch that was probably meant is the one explained."""
    assert message in str(SuiteError(problems(write(SHORTEST.replace("my_agent:build", agent)))))


@pytest.mark.parametrize("text", ["5", "[]", "agent", "~"])
def test_a_suite_is_a_mapping(write: Write, text: str) -> None:
    """Any other document is refused in one line."""
    (found,) = problems(write(text))
    assert "expected a suite: a mapping with at least agent and scenarios" in found.message


def test_ids_are_unique_across_files_ignoring_case(write: Write) -> None:
    """Both places of a double id are named, for ids that differ in case or look the same when shown."""
    path = write(
        SHORTEST + "  - {id: REFUND-late, says: [x]}\n  - {id: refund late, says: [x]}\n  - more.yaml\n",
        more__yaml="id: Refund-Late\nsays: [x]\n",
    )
    texts = [str(one) for one in problems(path)]
    assert f"{path}:5:10: scenarios[1].id: the id 'REFUND-late' is taken, first at {path}:3" in texts[0]
    assert "the id 'refund late' is the same as 'refund-late' when shown" in texts[1]
    assert texts[2].startswith(f"{path.parent / 'more.yaml'}:1:5: id: the id 'Refund-Late' is taken, first at {path}:3")


def test_variables_are_replaced_and_remembered(write: Write) -> None:
    """`${VAR}` is the environment's value, `$${` a literal; values are secrets, keys and JSON files are left alone."""
    text = SHORTEST + 'context: {token: "Bearer ${TOKEN}", literal: "$${TOKEN}", "${TOKEN}": 1}\n'
    suite = load(write(text), TOKEN="hush-hush")
    assert suite.context == {"token": "Bearer hush-hush", "literal": "${TOKEN}", "${TOKEN}": 1}
    assert suite.secrets == ("hush-hush",)


def test_an_unset_variable_is_an_error(write: Write) -> None:
    """The variable is named, with the closest one that is set."""
    (found,) = problems(write(SHORTEST + "context: {a: '${TOKN} ${no name}'}\n"), TOKEN="x")[:1]
    assert "the environment variable 'TOKN' is not set (did you mean 'TOKEN'?)" in str(found)


@pytest.mark.parametrize("secret", ["s3cr3t value", "s3cr3t " + "long " * 20, "s3cr3t 'quoted' \"twice\" \\"])
def test_errors_never_show_a_secret(write: Write, secret: str) -> None:
    """A value that came from a variable is shown as the variable, also where it is cut off or escaped."""
    text = str(SuiteError(problems(write("agent: ${AGENT}\nscenarios: [x.yaml]\n"), AGENT=secret)))
    assert "s3cr3t" not in text
    assert "${AGENT}" in text


def test_a_key_that_is_wrong_is_told_once(write: Write) -> None:
    """What stands under it belongs to nothing."""
    http = "{http: {url: 'http://x.test', call: {foo: 1}}}"
    (found,) = problems(write(SHORTEST.replace("my_agent:build", http)))
    assert "found 'foo', allowed: 'name', 'arguments', 'result', 'error', 'id'" in str(found)


def test_a_file_matched_twice_is_read_once(write: Write) -> None:
    """Overlapping patterns do not double scenarios; the suite itself is no scenario file."""
    path = write("agent: a:b\nscenarios: [more/*.yaml, '**/one.yaml', more/one.yaml]\n")
    assert [scenario.id for scenario in load(path).scenarios] == ["from-a-file"]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("nothing/*.yaml", "no file matches 'nothing/*.yaml'"),
        ("more", "'more' is a folder"),
        ("schema.sql", "'schema.sql' is none of .json, .jsonl, .yaml, .yml"),
        ("/no/such.yaml", "no file '/no/such.yaml'"),
        ("**x/..[", "no file matches"),
    ],
)
def test_patterns_that_lead_nowhere_are_errors(write: Write, pattern: str, message: str) -> None:
    """Files must exist and be readable as scenarios."""
    (found,) = problems(write(f"agent: a:b\nscenarios: ['{pattern}']\n"))
    assert message in found.message or "is not a path or a pattern" in found.message
    assert (found.line, found.column) == (2, 13)


def test_dangling_policies_are_errors(write: Write) -> None:
    """A scenario's policy must be listed; the position is that of the name, in YAML and in τ² tasks."""
    path = write(
        SHORTEST + "    policies: [lte]\n  - t.json\npolicies: [{id: late, text: x}]\n",
        t__json='[{"id": "t", "agentbench": {"policies": ["none"]}}]',
    )
    texts = [str(one) for one in problems(path)]
    assert texts[0].startswith(f"{path}:5:16: scenarios[0].policies[0]: the policy 'lte' is not listed in the suite")
    assert "did you mean 'late'?" in texts[0]
    assert texts[1].startswith(f"{path.parent / 't.json'}:1:42: [0].agentbench.policies[0]: the policy 'none'")


def test_a_missing_policies_file_is_told_once(write: Write) -> None:
    """No further error follows from policies that could not be read."""
    assert len(problems(write(SHORTEST + "    policies: [a]\npolicies: none.yaml\ngates: ['policy.a > 0.5']\n"))) == 1


def test_variants_do_not_fit_recordings(write: Write) -> None:
    """Keywords cannot vary what is recorded."""
    path = write(SHORTEST.replace("my_agent:build", "{transcripts: a.jsonl}") + "variants: {a: {}}\n", a__jsonl="")
    (found,) = problems(path)
    assert "recorded transcripts have no keywords to vary" in found.message


def test_the_content_hash_tells_what_runs_share(write: Write) -> None:
    """Agent, limits and referenced files count; gates, trials, scenarios and the value of a secret do not."""
    base = SHORTEST + "context: {t: '${T}'}\nenvironment: {state: {json: tools.json}}\n"
    first = load(write(base), T="one-secret").content_hash
    assert load(write(base + "trials: 3\ngates: ['success > 0.5']\n"), T="two-secret").content_hash == first
    assert load(write(base + "limits: {turns: 3}\n"), T="x").content_hash != first
    assert load(write(base, tools__json="[1]"), T="x").content_hash != first
