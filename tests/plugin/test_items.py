"""Runs are ordinary pytest items: ids, selection, fixtures, outcomes."""

from tests.plugin.project import Project


def test_each_run_is_an_item_with_a_readable_id(anywhere: Project) -> None:
    """A scenario becomes an item below its suite file."""
    anywhere.suite("late", "early")

    result = anywhere.run("-v")

    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines_random(["*bench/agentbench.yaml::late*", "*bench/agentbench.yaml::early*"])
    assert result.ret == 0


def test_a_wrong_argument_fails_and_is_shown_beside_the_expected_one(anywhere: Project) -> None:
    """A failure reads like an assertion: expected, called, the differing argument, the turn, the rerun command."""
    anywhere.suite("late", variants={"careful": {}, "hasty": {"wrong": True}})

    result = anywhere.run("--agentbench-variant", "hasty")

    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            '*expected  refund(order_id="W1")*',
            '*called    refund(order_id="W0")*turn 2*',
            "*rerun: pytest --agentbench --agentbench-variant hasty 'bench/agentbench.yaml::late?hasty?' -vv*",
        ]
    )


def test_declared_variants_show_in_ids_and_the_first_one_runs(project: Project) -> None:
    """Ids depend on the suite file, never on options; only the first variant runs unless told otherwise."""
    project.suite("late", variants={"careful": {}, "hasty": {"wrong": True}})

    project.run()
    first = project.verdicts()
    project.run("--agentbench-variant", "all")

    assert first == {"late[careful]": "passed"}
    assert project.verdicts() == {"late[careful]": "passed", "late[hasty]": "failed"}


def test_declared_trials_show_in_ids(project: Project) -> None:
    """A suite that declares several trials runs each scenario that often."""
    project.suite("late", trials=3)

    project.run()

    assert project.verdicts() == {"late[t1]": "passed", "late[t2]": "passed", "late[t3]": "passed"}


def test_an_unknown_variant_is_a_usage_error_that_names_the_declared_ones(anywhere: Project) -> None:
    """A mistyped variant never runs nothing silently."""
    anywhere.suite("late", variants={"careful": {}, "hasty": {}})

    result = anywhere.run("--agentbench-variant", "carefull", process="forked")

    assert result.ret == 4
    meant = "no suite declares 'carefull'; declared: careful, hasty (did you mean 'careful'?)"
    assert [line for line in result.errlines if meant in line]
    assert "no agentbench.yaml" not in result.stdout.str()


def test_marks_select_by_policy_and_complexity(project: Project) -> None:
    """`-m` selects by the keywords of the mark, one mark per policy."""
    policies = [{"id": "a", "text": "A.", "challenge": 2}, {"id": "b", "text": "B.", "challenge": 3}]
    both = {"id": "both", "says": ["Refund W1"], "policies": ["a", "b"], "expect": [{"refund": {"order_id": "W1"}}]}
    one = {"id": "one", "says": ["Refund W2"], "policies": ["a"], "expect": [{"refund": {"order_id": "W2"}}]}
    project.suite(both, one, policies=policies)

    by_policy = project.run("--co", "-q", "-m", "agentbench(policy='b')")
    by_complexity = project.run("--co", "-q", "-m", "agentbench(policy='a', complexity=2)")

    assert [line for line in by_policy.outlines if "::" in line] == ["bench/agentbench.yaml::both"]
    assert [line for line in by_complexity.outlines if "::" in line] == ["bench/agentbench.yaml::one"]


def test_keywords_hold_the_zero_padded_complexity(project: Project) -> None:
    """`-k c01` selects complexity 1 and not 10."""
    project.suite("late", {"id": "many", "says": ["Refund W2"], "complexity": 10})

    result = project.run("--co", "-q", "-k", "c01")

    assert [line for line in result.outlines if "::" in line] == ["bench/agentbench.yaml::late"]


def test_collecting_calls_neither_agent_nor_tool(project: Project) -> None:
    """`--collect-only` and a selection of nothing make no agent, no tool call, and say what a run may cost."""
    agent = "def build(tools):\n    open('built', 'a').write('x\\n')\n"
    tools = "def refund(order_id: str) -> str:\n    open('called', 'a').write('x\\n')\n    return 'ok'\n"
    project.suite("late", agent=agent, tools=tools, environment={"tools": "shop_tools"})

    listed = project.run("--collect-only")
    nothing = project.run("-k", "nothing_matches")

    listed.stdout.fnmatch_lines(["*: 1 run; at most 40 agent turns, no model calls beside those of the agent*"])
    assert (listed.ret, nothing.ret) == (0, 5)
    assert (project.line_count("built"), project.line_count("called")) == (0, 0)
    assert not (project.pytester.path / ".agentbench").exists()


def test_skip_and_xfail_of_a_scenario_keep_it_out_of_every_rate(anywhere: Project) -> None:
    """A scenario's own skip or xfail is pytest's, and neither is counted."""
    skipped = {"id": "skipped", "says": ["Refund W1"], "skip": "not yet"}
    known = {"id": "known", "says": ["Refund W1"], "xfail": "known", "expect": [{"refund": {"order_id": "W2"}}]}
    anywhere.suite("late", skipped, known)

    result = anywhere.run()

    result.assert_outcomes(passed=1, skipped=1, xfailed=1)
    assert result.ret == 0
    assert anywhere.verdicts() == {"late": "passed"}


def test_ordinary_tests_run_too_unless_deselected(project: Project) -> None:
    """With `--agentbench` ordinary tests run; `-m agentbench` leaves them out."""
    project.suite("late")
    project.write("test_plain.py", "def test_plain():\n    pass\n")

    both = project.run()
    ours = project.run("-m", "agentbench")

    both.assert_outcomes(passed=2)
    ours.assert_outcomes(passed=1, deselected=1)


def test_without_suites_the_summary_names_where_it_looked(project: Project) -> None:
    """A session with `--agentbench` and no suite says so."""
    project.write("test_plain.py", "def test_plain():\n    pass\n")

    result = project.run("test_plain.py")

    result.stdout.fnmatch_lines(["*no agentbench.yaml or *.agentbench.yaml and no marked test found in test_plain.py*"])

    missing = project.run("bench/missing.yaml::a")

    missing.stderr.fnmatch_lines(["ERROR: file or directory not found: bench/missing.yaml::a"])
    missing.stdout.no_fnmatch_line("*no agentbench.yaml*")


def test_a_bad_suite_is_a_collection_error_with_positions_and_all_problems(anywhere: Project) -> None:
    """Everything that is wrong is shown at once, with its place, and nothing of our own code."""
    anywhere.write(
        "bench/agentbench.yaml",
        """\
        agent: shop_agent:build
        scenrios: []
        scenarios:
          - id: a
            say: [hello]
          - id: a
        """,
    )

    result = anywhere.run()

    assert result.ret in {1, 2}
    result.stdout.fnmatch_lines(["*bench/agentbench.yaml:2:1: scenrios: *", "*bench/agentbench.yaml:5:*say: *"])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*pytest_agentbench/*")


def test_an_expected_call_that_no_tool_can_answer_is_a_collection_error(project: Project) -> None:
    """A tool, or an argument, that the environment lacks is found before anything runs."""
    wrong = {"id": "typo", "says": ["Refund W1"], "expect": [{"refnd": {"order_id": "W1"}}]}
    argument = {"id": "argument", "says": ["Refund W1"], "expect": [{"refund": {"order": "W1"}}]}
    project.suite(wrong, argument)

    result = project.run()

    assert result.ret == 2
    result.stdout.fnmatch_lines(["*refnd*did you mean 'refund'*", "*order*order_id*"])


def test_editors_find_each_scenario_at_its_line(project: Project) -> None:
    """Path and line are the scenario's, also in another file, as long as that address can be run; else the suite's."""
    project.suite(agent="def build():\n    return lambda message: 'Fine.'\n")
    project.write("shared/more.yaml", "# two\n\n- id: first\n  says: [Hi]\n- {id: second, says: [Hi]}\n")
    project.write("bench/tasks.json", '[\n {"id": "listed",\n  "says": ["Hi"]}]\n')
    listed = "  - ../shared/more.yaml\n  - tasks.json\n  - says: [Hello]\n\n    id: inline\n"
    project.write("bench/agentbench.yaml", f"agent: shop_agent:build\nscenarios:\n{listed}")
    project.write("bench/conftest.py", "def pytest_runtest_setup(item):\n    print('hook of', item.name)\n")
    editor = "def pytest_collection_finish(session):\n    for one in session.items:\n"
    project.write("conftest.py", editor + "        print('\\nat', one.name, one.path, *one.location[:2])\n")

    lines = project.run("--collect-only").outlines
    played = project.run("-s", "bench/tasks.json::listed", "bench/agentbench.yaml::inline")

    root = f"{project.pytester.path}/"
    assert sorted(line.replace(root, "") for line in lines if line.startswith("at ")) == [
        "at first bench/agentbench.yaml shared/more.yaml 2",
        "at inline bench/agentbench.yaml bench/agentbench.yaml 4",
        "at listed bench/tasks.json bench/tasks.json 1",
        "at second bench/agentbench.yaml shared/more.yaml 4",
    ]
    played.assert_outcomes(passed=2)
    assert "hook of listed" in played.stdout.str()
