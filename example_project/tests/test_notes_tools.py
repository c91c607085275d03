"""The eight tools read a vault, say what went wrong, and never leave it."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from notes import tools
from notes.vault import MAX_BYTES, Vault, VaultState
from notes_kit import VAULT, tool

from pytest_agentbench.environment.python_tools import tools_of


def body(text: str) -> list[str]:
    """Give the items below the header line."""
    return text.split("\n")[1:]


def test_there_are_eight_tools_with_schemas_from_their_signatures():
    """A suite gets them as they are, without the state in their parameters."""
    found = {one.name: one.spec.parameters for one in tools_of(tools)}

    assert list(found) == [
        "list_folder",
        "search_notes",
        "read_note",
        "get_document_structure",
        "read_section",
        "get_headers_with_preview",
        "search_in_headers",
        "grep_content",
    ]
    assert found["read_note"]["required"] == ["file_path"]
    assert found["read_note"]["properties"]["mode"]["enum"] == ["full", "structure", "summary"]
    assert "description" in found["read_section"]["properties"]["section_title"]


def test_lists_folders_and_notes_but_nothing_hidden():
    """Subfolders come first and end in a slash."""
    assert body(tool("list_folder")()) == ["Cuisine/", "Energie/", "Garden/", "Travel/"]
    assert body(tool("list_folder")(folder="garden")) == [
        "Garden/Composting.md",
        "Garden/Tomatoes.md",
        "Garden/worm-bin.md",
    ]


def test_finds_notes_by_words_of_their_path_only():
    """Accents and case do not matter, contents do not count."""
    assert body(tool("search_notes")(keyword="A CHALEUR")) == ["Energie/Pompes à chaleur.md"]
    assert tool("search_notes")(keyword="blight").startswith("no notes with 'blight'")


def test_outlines_cover_atx_and_setext_headings_but_no_fences_and_no_front_matter():
    """Each heading has the lines that it covers."""
    assert body(tool("get_document_structure")(file_path="composting")) == [
        "6-35: # Composting",
        "11-23: ## Materials",
        "17-23: ### What to keep out",
        "24-32: ## Temperature",
        "33-35: ## Duration",
    ]
    assert "6-10: ## Feeding" in body(tool("get_document_structure")(file_path="worm-bin.md"))


def test_bold_lines_and_blocks_serve_as_sections_where_there_are_no_headings():
    """So do lines that lack the blank after the hash."""
    assert body(tool("get_document_structure")(file_path="Panneaux"))[1] == "5-8: ** Durée de vie"
    assert body(tool("get_document_structure")(file_path="packing"))[0] == "1-4: ** Packing list for trips"
    assert body(tool("get_document_structure")(file_path="lisbon"))[1].startswith("3-4: ¶ We stayed in the Alfama")
    assert "30 ans" in tool("read_section")(file_path="Panneaux", section_title="durée")
    assert "Casa Balthazar" in tool("read_section")(file_path="lisbon", section_title="We stayed")


def test_a_mark_at_the_start_and_foreign_line_ends_change_nothing():
    """Neither is part of a title, and lines are counted as in the file."""
    assert body(tool("get_document_structure")(file_path="coffee")) == ["1-5: # Coffee", "3-5: ## Ratio"]
    assert body(tool("get_document_structure")(file_path="office"))[1:] == ["5-8: ## Printer", "9-11: ## Printer"]


def test_sections_are_found_by_a_part_of_their_title_and_namesakes_are_named():
    """The first of several is given, a number gives another, and the header line tells of them."""
    first = tool("read_section")(file_path="office", section_title="PRINT")
    second = tool("read_section")(file_path="office", section_title="Printer#2")

    assert first.startswith("Travel/Office.md, lines 5-7, section 'Printer' (also at line 9):")
    assert "room 12" in first
    assert "room 14" in second
    assert "meat" in tool("read_section")(file_path="composting", section_title="Materials > keep out")


def test_a_cut_section_says_so():
    """The header line has the lines given and those there are."""
    text = tool("read_section")(file_path="composting", section_title="Materials", max_lines=3)

    assert text.startswith("Garden/Composting.md, lines 11-13 of 11-22, section 'Materials':")
    assert len(body(text)) == 3


def test_modes_of_reading_give_less_and_less():
    """The whole note, its outline with two lines each, its outline."""
    read = tool("read_note")
    full, summary, structure = (read(file_path="composting", mode=mode) for mode in ("full", "summary", "structure"))

    assert len(full) > len(summary) > len(structure)
    assert body(full) == (VAULT / "Garden/Composting.md").read_text(encoding="utf-8").splitlines()
    assert read(file_path="composting", mode="half").startswith("Error: there is no mode 'half'")


def test_heading_search_ignores_contents_and_inflection():
    """A heading means that a section is about it."""
    assert body(tool("search_in_headers")(keyword="durations")) == [
        "Garden/Composting.md:33: ## Duration",
        "Garden/worm-bin.md:16: ## Duration",
    ]
    assert tool("search_in_headers")(keyword="scraps").startswith("no headings")


def test_content_search_ranks_the_section_that_holds_the_words():
    """Words of the path and of titles count, and what no note holds is said."""
    found = tool("grep_content")(keyword="coût d'une pompe lunaire")

    assert body(found)[0].startswith("Energie/Pompes à chaleur.md:11: [Coût]")
    assert "no note holds 'lunaire'" in found.split("\n")[0]
    assert "2 notes could not be read" in found.split("\n")[0]
    assert all(line.startswith("Garden/Tomatoes.md") for line in body(tool("grep_content")(keyword="-->")))
    assert body(tool("grep_content")(keyword="duration", folder="worm-bin.md")) == [
        "Garden/worm-bin.md:16: [Duration] Duration"
    ]


def test_irregular_forms_and_names_written_together_are_found(tmp_path):
    """`forgot` finds `forget`, and `max lines` finds `maxLines`."""
    (tmp_path / "a.md").write_text("# Options\n\nSet `maxLines`, or you will forget the rest.\n", encoding="utf-8")

    for words in ("forgotten", "max lines", "maxlines", "MAXLINES"):
        assert "a.md:3:" in tool("grep_content", tmp_path)(keyword=words), words


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("read_note", {"file_path": "disk"}, "Travel/disk.md is a binary file"),
        ("read_note", {"file_path": "old.md"}, "Travel/old.md is not UTF-8 text (offset 3, line 1)"),
        ("read_note", {"file_path": "Composing"}, "did you mean 'Garden/Composting.md'?"),
        ("read_note", {"file_path": "Garden"}, "is a folder"),
        ("read_note", {"file_path": ""}, "there is no note ''"),
        ("list_folder", {"folder": "Gardn"}, "did you mean 'Garden'?"),
        ("read_section", {"file_path": "pain", "section_title": "Conservations du pain"}, "its sections: 'Pain"),
        ("read_section", {"file_path": "office", "section_title": "Printer#3"}, "there is no number 3"),
        ("read_section", {"file_path": "pain", "section_title": " "}, "section_title is empty"),
        ("search_notes", {"keyword": " "}, "keyword is empty"),
        ("grep_content", {"keyword": ""}, "keyword is empty"),
        ("search_in_headers", {"keyword": "x", "folder": "../Garden"}, "there is no folder"),
    ],
)
def test_errors_are_text_that_says_what_to_do(name, arguments, error):
    """One line that begins with Error, never an exception."""
    text = tool(name)(**arguments)

    assert text.startswith("Error: ")
    assert error in text
    assert "\n" not in text


def test_a_note_that_is_too_large_is_refused_and_left_out_of_searches(tmp_path):
    """The error says how large it is."""
    (tmp_path / "big.md").write_bytes(b"word " * (MAX_BYTES // 5 + 1))

    assert "is too large: 1,000,005 bytes" in tool("read_note", tmp_path)(file_path="big")
    assert "1 note could not be read" in tool("grep_content", tmp_path)(keyword="word")


def test_links_and_special_files_are_no_notes(tmp_path):
    """A link to a file, to a folder, and a pipe are not listed and not opened."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key.md").write_text("# key", encoding="utf-8")
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "file.md").symlink_to(secret / "key.md")
    (vault / "folder").symlink_to(secret, target_is_directory=True)
    os.mkfifo(vault / "pipe.md")

    assert tool("list_folder", vault)() == "vault: no folders, no notes:"
    for path in ("file.md", "folder/key.md", "pipe.md"):
        assert tool("read_note", vault)(file_path=path).startswith("Error: ")


OUTSIDE = "the text of a file outside"

parts = st.sampled_from(
    [
        "..",
        ".",
        "",
        "Garden",
        "garden",
        "out.md",
        "OUT.MD",
        "/",
        "\\",
        "~",
        "%2e%2e",
        "..%2f",
        "\u2025",
        "．．",
        "C:",
        "\0",
        "a",
    ]
)
attacks = st.one_of(
    st.lists(parts, max_size=8).map("/".join),
    st.lists(parts, max_size=8).map("\\".join),
    st.lists(parts, max_size=8).map("/".join).map(lambda path: f"/{path}"),
    st.text(max_size=30),
)


@pytest.fixture(scope="module")
def trap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault with one note, and a note of the same name beside the vault."""
    root = tmp_path_factory.mktemp("trap")
    (root / "out.md").write_text(f"# {OUTSIDE}\n", encoding="utf-8")
    inside = root / "vault" / "Garden"
    inside.mkdir(parents=True)
    (inside / "in.md").write_text("# inside\n", encoding="utf-8")
    (inside / "loop").symlink_to(root, target_is_directory=True)
    return root / "vault"


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=attacks)
@example(path="../out.md")
@example(path="Garden/../../out.md")
@example(path="Garden/loop/out.md")
@example(path="..\\out.md")
def test_no_path_leaves_the_vault(trap, path):
    """Whatever is asked for, nothing of what lies outside is shown."""
    absolute = str(trap.parent / "out.md")
    for asked in (path, absolute, f"{trap}/../{path}", f"{path}/../../out.md"):
        for text in (
            tool("read_note", trap)(file_path=asked),
            tool("read_section", trap)(file_path=asked, section_title="the"),
            tool("get_headers_with_preview", trap)(file_path=asked),
            tool("list_folder", trap)(folder=asked),
            tool("grep_content", trap)(keyword="outside", folder=asked),
            tool("search_in_headers", trap)(keyword="outside", folder=asked),
        ):
            assert OUTSIDE not in text
            assert "out.md" not in text.split("\n", 1)[-1] or text.startswith("Error: ")


def test_the_state_of_a_suite_is_read_only():
    """Its snapshot has a digest for each note; a scenario's own state is refused."""
    provider = VaultState("tests/notes_vault")
    handle = provider.open({}, "run")

    snapshot = provider.snapshot(handle)

    assert snapshot == provider.snapshot(handle)
    assert "Garden/Composting.md" in snapshot["notes"]
    assert isinstance(handle, Vault)
    with pytest.raises(ValueError, match="read-only"):
        provider.open({"Garden/new.md": "text"}, "run")
