# SPDX-License-Identifier: Apache-2.0
"""footplate note and footplate rm: names, tags and texts of runs, and their removal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import time
from pathlib import Path

import pytest

SCENE = Path(__file__).resolve().parent.parent / "rules" / "batch_size" / "fires.scene"


@pytest.fixture
def runs(footplate: Path, tmp_path: Path) -> Path:
    """A folder with two runs."""
    folder = tmp_path / "runs"
    folder.mkdir()
    for name in ("one", "two"):
        subprocess.run([footplate, "import", SCENE, "-o", folder / name], check=True)
    return folder


def call(footplate: Path, runs: Path, *words: str, status: int = 0) -> str:
    done = subprocess.run(
        [footplate, *words, "--dir", runs],
        capture_output=True,
        text=True,
        timeout=30,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def test_a_run_is_renamed_tagged_and_described(footplate: Path, runs: Path) -> None:
    call(footplate, runs, "note", "one", "--name", "base", "-t", "a", "-t", "b", "--text", "lr 1")
    shown = json.loads(call(footplate, runs, "show", "base", "--json"))
    assert (shown["name"], shown["tags"], shown["note"]) == ("base", ["a", "b"], "lr 1")
    assert shown["recorded_name"] != "base"
    text = call(footplate, runs, "show", "one")
    assert "base" in text and "recorded as" in text and "lr 1" in text


def test_what_is_not_given_stays(footplate: Path, runs: Path) -> None:
    call(footplate, runs, "note", "one", "--name", "base", "--tag", "a", "--tag", "b")
    said = call(footplate, runs, "note", "one", "--untag", "a", "--tag", "b", "--text", "x")
    assert said.splitlines() == ["name  base", "tag   b", "text  x"]
    assert call(footplate, runs, "note", "one") == said  # without options nothing changes
    assert "no tag 'a'" in call(footplate, runs, "note", "one", "--untag", "a", status=1)
    call(footplate, runs, "note", "one", "--clear")
    assert json.loads((runs / "one" / "notes.json").read_text()) == {
        "name": "",
        "tags": [],
        "text": "",
    }


def test_notes_with_control_characters_are_refused(footplate: Path, runs: Path) -> None:
    assert "one line" in call(footplate, runs, "note", "one", "--name", "a\x1b[31m", status=2)
    assert "valid tag" in call(footplate, runs, "note", "one", "--tag", "a,b", status=2)
    assert not (runs / "one" / "notes.json").exists()


def test_run_json_is_not_touched(footplate: Path, runs: Path) -> None:
    before = (runs / "one" / "run.json").read_bytes()
    call(footplate, runs, "note", "one", "--name", "base")
    assert (runs / "one" / "run.json").read_bytes() == before


def test_rm_without_a_terminal_needs_yes(footplate: Path, runs: Path) -> None:
    assert "--yes" in call(footplate, runs, "rm", "one", status=2)
    assert (runs / "one").exists()
    call(footplate, runs, "rm", "one", "--yes")
    assert not (runs / "one").exists() and (runs / "two").exists()


def test_rm_takes_no_start_of_several_names(footplate: Path, runs: Path) -> None:
    for name in ("one", "two"):
        call(footplate, runs, "note", name, "--name", "same")
    assert "fits 2 runs" in call(footplate, runs, "rm", "same", "--yes", status=2)
    assert (runs / "one").exists() and (runs / "two").exists()


def test_rm_deletes_all_or_none(footplate: Path, runs: Path) -> None:
    call(footplate, runs, "rm", "one", "nosuch", "--yes", status=1)
    assert (runs / "one").exists()
    call(footplate, runs, "rm", "one", "two", "one", "--yes")
    assert not list(runs.iterdir())


def test_rm_leaves_a_run_that_is_being_recorded(footplate: Path, runs: Path) -> None:
    child = subprocess.Popen(
        [footplate, "run", "--name", "live", "--quiet", "--dir", runs, "--", "sleep", "60"]
    )
    try:
        until = time.monotonic() + 20
        while not list(runs.glob("live-*/node-*/metrics.tail")):
            assert time.monotonic() < until
            time.sleep(0.05)
        assert "being recorded" in call(footplate, runs, "rm", "one", "live", "--yes", status=1)
        assert (runs / "one").exists() and list(runs.glob("live-*/run.json"))
    finally:
        child.terminate()
        child.wait(20)


@pytest.mark.parametrize(("answer", "left"), [(b"y\n", False), (b"n\n", True), (b"\n", True)])
def test_rm_asks_at_a_terminal(footplate: Path, runs: Path, answer: bytes, left: bool) -> None:
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [footplate, "rm", "one", "--dir", runs], stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    said = b""
    while b"[y/N]" not in said:
        said += os.read(ours, 1000)
    os.write(ours, answer)
    assert child.wait(20) == (1 if left else 0)
    os.close(ours)
    assert (runs / "one").exists() == left


def test_a_merged_run_has_the_tags_and_texts_of_all(footplate: Path, runs: Path) -> None:
    call(footplate, runs, "note", "one", "--name", "base", "-t", "a", "-t", "b", "--text", "lr 1")
    call(footplate, runs, "note", "two", "--name", "next", "-t", "b", "-t", "c", "--text", "lr 2")
    call(footplate, runs, "merge", "one", "two", "-o", str(runs / "both"))
    shown = json.loads(call(footplate, runs, "show", "both", "--json"))
    assert shown["name"] == "merged"
    assert shown["tags"] == ["a", "b", "c"] and shown["note"] == "base: lr 1\n\nnext: lr 2"


def test_a_text_that_does_not_fit_is_left_out_of_a_merged_run(footplate: Path, runs: Path) -> None:
    call(footplate, runs, "note", "one", "--text", "x" * 8000)
    call(footplate, runs, "note", "two", "--text", "y" * 8000)
    call(footplate, runs, "merge", "one", "two", "-o", str(runs / "both"))
    note = json.loads(call(footplate, runs, "show", "both", "--json"))["note"]
    assert note.endswith(": " + "x" * 8000)


@pytest.mark.parametrize("form", ["jsonl", "chrome"])
def test_notes_are_exported_and_imported_again(footplate: Path, runs: Path, form: str) -> None:
    words = ("--name", "b\u00e4se", "-t", "a", "--text", "lr 1\nbatch 64")
    call(footplate, runs, "note", "one", *words)
    path = str(runs.parent / f"one.{form}")
    call(footplate, runs, "export", "one", "--format", form, "-o", path)
    subprocess.run([footplate, "import", path, "-o", runs / "again"], check=True)
    first, second = (
        json.loads((runs / name / "notes.json").read_text()) for name in ("one", "again")
    )
    assert first == second
    call(footplate, runs, "export", "two", "--format", form, "-o", path + "2")
    subprocess.run([footplate, "import", path + "2", "-o", runs / "bare"], check=True)
    assert not (runs / "bare" / "notes.json").exists()
