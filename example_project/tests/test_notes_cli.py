"""The command answers, talks, draws and shows what it remembers."""

import csv
import io
import re
import shlex
from pathlib import Path

import pytest
from notes.cli import main
from notes_kit import VAULT


def test_asks_one_question_and_logs_its_cost(capsys, tmp_path):
    """With no model, tokens are counted."""
    costs = tmp_path / "costs.csv"

    assert main(["ask", str(VAULT), "How long does a cold heap take?", "--costs", str(costs)]) == 0

    assert capsys.readouterr().out == "A cold heap takes 12 months. [Garden/Composting.md:35]\n"
    rows = list(csv.DictReader(costs.open(encoding="utf-8")))
    assert {row["model"] for row in rows} == {"rules"}
    assert all(int(row["total_tokens"]) > 0 for row in rows)


def test_chats_until_an_empty_line(capsys, monkeypatch):
    """What was said before is known."""
    monkeypatch.setattr("sys.stdin", io.StringIO("How long does a cold heap take?\nAnd a hot heap?\n\nWho?\n"))

    assert main(["chat", str(VAULT)]) == 0

    assert [line.split(".")[0] for line in capsys.readouterr().out.splitlines()] == [
        "A cold heap takes 12 months",
        "A hot heap is ready in 10 weeks",
    ]


def test_draws_the_concepts_of_a_conversation(tmp_path):
    """One file."""
    questions = tmp_path / "asked.txt"
    questions.write_text("How long does a cold heap take?\n\nAnd a hot heap?\n", encoding="utf-8")

    assert main(["graph", str(VAULT), "--questions", str(questions), "-o", str(tmp_path / "graph.html")]) == 0

    assert "<title>heap: 4</title>" in (tmp_path / "graph.html").read_text(encoding="utf-8")


def test_shows_and_erases_the_profile(capsys, tmp_path):
    """Everything that is remembered, and then nothing."""
    file = str(tmp_path / "profile.json")
    main(["ask", str(VAULT), "How long does a cold heap take?", "--profile", file])
    capsys.readouterr()

    main(["profile", "show", "--profile", file])
    main(["profile", "erase", "--profile", file])

    assert '"Garden": 1' in capsys.readouterr().out
    assert not (tmp_path / "profile.json").exists()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["ask", "/nowhere", "x"], "the vault '/nowhere' is not a folder"),
        (["ask", str(VAULT), "x", "--config", "/nowhere.yaml"], "/nowhere.yaml: cannot be read"),
        (["ask", str(VAULT), "x", "--base-url", "http://localhost:1"], "no model is named"),
    ],
)
def test_says_what_cannot_be_done(capsys, arguments, reason):
    """Exit status 2, no traceback."""
    assert main(arguments) == 2

    assert reason in capsys.readouterr().err


def test_no_note_moves_the_cursor(capsys, tmp_path):
    """Control characters of a note are replaced."""
    (tmp_path / "a.md").write_text("# Kettle\n\nThe kettle is \x1b[31mred\x1b[0m and large.\n", encoding="utf-8")

    main(["ask", str(tmp_path), "What colour is the kettle?"])
    main(["ask", str(tmp_path), "Is the kettle large?"])

    out = capsys.readouterr().out
    assert "red" in out
    assert "\x1b" not in out


README = Path(__file__).parents[1] / "notes" / "README.md"
COMMANDS = re.findall(r"^\$ notes-agent (.+?)(?:\s+#.*)?$", README.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_the_readme_work(command, monkeypatch, tmp_path, capsys):
    """As they stand there, with a vault, a file of questions and a profile in place of the names in capitals."""
    (tmp_path / "asked.txt").write_text("How long does a cold heap take?\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO("How long does a cold heap take?\n\n"))
    named = {"VAULT": str(VAULT), "FILE": str(tmp_path / "profile.json"), "show|erase": "show"}

    assert main([named.get(word, word) for word in shlex.split(command)]) == 0

    assert capsys.readouterr().out


def test_the_readme_shows_commands():
    """One of each."""
    assert {command.split()[0] for command in COMMANDS} == {"ask", "chat", "graph", "profile"}
