"""Plans are validated data, carried out in order; results flow from one sub-task into the next."""

import threading

import pytest
from notes.cli import bound_tools
from notes.library import Library
from notes.planning.executor import Executor
from notes.planning.plan import Plan, PlanError, read_plan
from notes.planning.planner import Situation, make_plan
from notes.planning.references import ReferenceMissError, resolve
from notes.question import Kind, understand
from notes.vault import Vault
from notes_kit import VAULT, failing, tool

TOOLS = {one.__name__: one for one in bound_tools(Vault(VAULT))}


def task(number, tool_name=None, parameters=None, needs=()):
    """Write a sub-task as a model would."""
    return {
        "id": number,
        "description": f"step {number}",
        "tool": tool_name,
        "parameters": parameters or {},
        "dependencies": list(needs),
    }


def think(_, needed, __):
    """Do a step of thought: say what it was given."""
    return "given " + " + ".join(result.text.split("\n")[0] for result in needed.values()), None


def carried_out(subtasks, *, tools=None, **options):
    """Read a plan and carry it out."""
    plan = read_plan({"goal": "g", "subtasks": subtasks}, TOOLS)
    library = Library.of(tools or list(TOOLS.values()), remember=False)
    return Executor(library=library, reason=think, **options).carry_out(plan), library


@pytest.mark.parametrize(
    ("subtasks", "reason"),
    [
        ([task(1, needs=[2]), task(2, needs=[1])], "wait for each other: "),
        ([task(1, "grep_content", {"keyword": "from_task_1"})], "wait for each other: "),
        ([task(1, "delete_note", {"file_path": "a.md"})], "there is no tool 'delete_note'"),
        ([task(1, "read_note", {"file_path": "a.md", "lines": 3})], "read_note takes no 'lines'"),
        ([task(1, "read_section", {"file_path": "a.md"})], "read_section needs 'section_title'"),
        ([task(1, needs=[7])], "depends on 7, which is not in the plan"),
        ([task(1), task(1)], "sub-task 1 is there 2 times"),
        ([], "subtasks"),
        ([{"id": "x"}], "subtasks.0.id"),
    ],
)
def test_a_plan_that_cannot_work_is_refused_with_the_reason(subtasks, reason):
    """Cycles, unknown tools and parameters, missing ones, dangling dependencies."""
    with pytest.raises(PlanError, match=reason):
        read_plan({"goal": "g", "subtasks": subtasks}, TOOLS)


def test_rounds_follow_from_dependencies_and_references():
    """Sub-tasks of one round do not need each other, wherever they stand in the list."""
    data = [task(3, needs=[1, 2]), task(1), task(2), task(4, "read_note", {"file_path": "from_task_3"})]

    plan = Plan.model_validate({"goal": "g", "subtasks": data})

    assert [[one.id for one in ready] for ready in plan.order()] == [[1, 2], [3], [4]]


def test_each_parameter_takes_what_it_can_use_of_a_result():
    """A path, a title, a number or a folder out of the same kind of text."""
    found = tool("grep_content")(keyword="cold heap")
    results = {1: found, 2: tool("list_folder")(), 3: tool("get_document_structure")(file_path="pain")}

    assert resolve({"file_path": "from_task_1", "section_title": "from_task_1"}, results) == {
        "file_path": "Garden/Composting.md",
        "section_title": "Duration",
    }
    assert resolve({"folder": "from_task_2"}, results) == {"folder": "Cuisine"}
    assert resolve({"file_path": "from_task_3", "section_title": "from_task_3"}, results) == {
        "file_path": "Cuisine/Pain.md",
        "section_title": "Pain au levain",
    }
    assert resolve({"keyword": "about from_task_2"}, results) == {"keyword": "about Cuisine/"}
    with pytest.raises(ReferenceMissError, match="holds no file path"):
        resolve({"file_path": "from_task_2"}, results)
    with pytest.raises(ReferenceMissError, match="sub-task 9 gave nothing"):
        resolve({"file_path": "from_task_9"}, results)


def test_tools_that_know_nothing_of_each_other_are_chained():
    """The path that a search found is read."""
    results, library = carried_out(
        [
            task(1, "search_notes", {"keyword": "worm"}),
            task(2, "read_section", {"file_path": "from_task_1", "section_title": "feeding"}, [1]),
            task(3, needs=[2]),
        ]
    )

    assert results[3].text == "given Garden/worm-bin.md, lines 6-9, section 'Feeding':"
    assert [name for name, _ in library.calls] == ["search_notes", "read_section"]


def test_a_tool_that_raises_is_tried_again_and_one_that_says_no_is_not():
    """Two more attempts; an error text will be the same another time."""
    again, _ = carried_out([task(1, "list_folder")], tools=failing("list_folder", 2))
    never, _ = carried_out([task(1, "list_folder")], tools=failing("list_folder", 3))
    refused, library = carried_out([task(1, "read_note", {"file_path": "no.md"})])

    assert (again[1].attempts, again[1].failed) == (3, False)
    assert (never[1].attempts, never[1].failed) == (3, True)
    assert "the disk is away" in never[1].text
    assert refused[1].attempts == len(library.calls) == 1


def test_flexible_goes_on_without_what_failed_and_strict_stops():
    """What needs only failed sub-tasks is not attempted."""
    steps = [
        task(1, "read_note", {"file_path": "no.md"}),
        task(2, "read_note", {"file_path": "pain"}),
        task(3, "read_note", {"file_path": "from_task_1"}, [1]),
        task(4, needs=[1, 2]),
    ]

    flexible, _ = carried_out(steps)
    strict, _ = carried_out(steps, mode="strict")

    assert {number: result.failed for number, result in flexible.items()} == {1: True, 2: False, 3: True, 4: False}
    assert flexible[3].attempts == 0
    assert list(strict) == [1]


def test_independent_steps_run_side_by_side():
    """Each waits for the other: one after the other they would never end."""
    both = threading.Barrier(2, timeout=5)

    def wait(*_):
        both.wait()
        return "met", None

    plan = read_plan({"goal": "g", "subtasks": [task(1), task(2)]}, TOOLS)
    library = Library.of(list(TOOLS.values()), remember=False)

    results = Executor(library=library, reason=wait, workers=2).carry_out(plan)

    assert [result.text for result in results.values()] == ["met", "met"]


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("How long does a cold heap take?", Kind.FACT),
        ("Combien coûte une pompe ?", Kind.FACT),
        ("What is the difference between a hot and a cold heap?", Kind.COMPARE),
        ("Which is taller, Roma or Sungold?", Kind.COMPARE),
        ("Quelle est la différence entre le pain et la baguette ?", Kind.COMPARE),
        ("Est-ce que le pain est plus salé que la baguette ?", Kind.COMPARE),
        ("Who described blight, and when does it spread?", Kind.SEVERAL),
        ("Quel est le coût et la durée de vie des panneaux ?", Kind.SEVERAL),
        ("What does the note that Composting links to say about feeding?", Kind.FOLLOW),
        ("Que dit la note liée depuis Panneaux sur le rendement ?", Kind.FOLLOW),
        ("Summarise my notes on compost", Kind.OVERVIEW),
        ("Résume mes notes sur le pain", Kind.OVERVIEW),
        ("Which notes mention compost?", Kind.WHERE),
        ("Quelles notes parlent de chaleur ?", Kind.WHERE),
        ("What is in the folder Garden?", Kind.FOLDER),
        ("Que contient le dossier Cuisine ?", Kind.FOLDER),
    ],
)
def test_every_kind_of_question_has_a_valid_plan(message, kind):
    """With sections and with whole notes."""
    question = understand(message)

    assert question.kind is kind
    for sections in (True, False):
        plan = make_plan(question, Situation(sections=sections))
        assert read_plan(plan.model_dump(), TOOLS) == plan
