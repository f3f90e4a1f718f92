# SPDX-License-Identifier: Apache-2.0
"""Export, and what happens to output: files, pipes, full disks, terminals."""

from __future__ import annotations

import csv
import fcntl
import io
import json
import os
import pty
import struct
import subprocess
import termios
import time
from pathlib import Path

import pytest

# -- export --


def test_export_has_every_sample_once_in_both_formats(fp):
    rows = list(csv.DictReader(io.StringIO(fp("export", "last"))))
    words = ["--format", "jsonl", "--what", "metrics"]
    lines = [json.loads(x) for x in fp("export", "last", *words).splitlines()]
    assert list(rows[0]) == ["node", "metric", "entity", "unit", "time_ns", "value"]
    assert len(rows) == len(lines) == json.loads(fp("show", "last", "--json"))["self"]["samples"]
    for row, line in zip(rows, lines, strict=True):
        assert line.pop("type") == "sample" and list(line) == list(row)
        assert int(row["time_ns"]) == line["time_ns"] and float(row["value"]) == line["value"]


@pytest.mark.parametrize(
    "words", [("export", "last"), ("report", "last", "--format", "markdown")], ids=lambda w: w[0]
)
def test_a_pipe_or_a_link_is_written_to_and_stays_what_it_is(fp, tmp_path, words):
    """As /dev/null and /dev/stdout: a file in their place would end them for everybody."""
    pipe, link, file = tmp_path / "pipe", tmp_path / "link", tmp_path / "file"
    os.mkfifo(pipe)
    link.symlink_to(file)
    file.write_text("old")
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        fp(*words, "-o", pipe)
        assert reader.stdout and len(reader.stdout.read()) > 100
    fp(*words, "-o", link)
    assert pipe.is_fifo() and link.is_symlink() and len(file.read_text()) > 100


def test_an_exported_file_appears_complete_and_alone(fp, tmp_path):
    target = tmp_path / "run.csv"
    target.write_text("old")
    assert fp("export", "last", "-o", target) == ""
    assert target.read_text() == fp("export", "last")
    assert [x.name for x in tmp_path.iterdir()] == ["run.csv"]


def test_an_export_that_fails_leaves_nothing_and_the_old_file_alone(refused, tmp_path):
    target = tmp_path / "run.csv"
    target.write_text("old")
    refused("export", "last", "-o", target, "-m", "no.such")
    assert target.read_text() == "old"
    assert [x.name for x in tmp_path.iterdir()] == ["run.csv"]
    assert "/nowhere/x" in refused("export", "last", "-o", "/nowhere/x")


def test_export_can_be_narrowed(fp):
    rows = list(csv.DictReader(io.StringIO(fp("export", "last", "-m", "cpu.util", "-e", "total"))))
    assert {(r["metric"], r["entity"]) for r in rows} == {("cpu.util", "total")}
    later = list(
        csv.DictReader(
            io.StringIO(fp("export", "last", "-m", "cpu.util", "-e", "total", "--from", "+1s"))
        )
    )
    assert 0 < len(later) < len(rows)


# -- pipes and full disks --


@pytest.mark.parametrize("before", ["", "trap '' PIPE; "], ids=["signal", "error"])
def test_a_reader_that_has_seen_enough_ends_it_quietly(footplate, runs, before):
    script = before + 'for i in 1 2 3 4 5 6 7 8; do "$0" export last; done | head -1'
    done = subprocess.run(
        ["bash", "-c", script, footplate],
        env=os.environ | {"FOOTPLATE_DIR": str(runs)},
        capture_output=True,
        text=True,
    )
    assert done.stdout.count("\n") == 1
    assert "footplate:" not in done.stderr


@pytest.mark.parametrize(
    "words", [["show"], ["stats"], ["query", "-m", "cpu.util"], ["export"]], ids=" ".join
)
def test_a_full_disk_under_stdout_is_an_error(footplate, runs, words):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [footplate, *words, "last"], stdout=full, stderr=subprocess.PIPE, text=True,
            env=os.environ | {"FOOTPLATE_DIR": str(runs)},
        )  # fmt: skip
    assert done.returncode == 1
    assert "No space left on device" in done.stderr and done.stderr.count("\n") == 1


def test_a_closed_stdout_is_an_error_but_not_for_what_prints_nothing(footplate, runs, tmp_path):
    env = os.environ | {"FOOTPLATE_DIR": str(runs)}
    shown = subprocess.run(
        ["bash", "-c", '"$0" show last >&-', footplate], env=env, capture_output=True, text=True
    )
    assert shown.returncode == 1 and shown.stderr.startswith("footplate: ")
    quiet = subprocess.run(
        ["bash", "-c", f'"$0" export last -o {tmp_path}/x >&-', footplate], env=env
    )
    assert quiet.returncode == 0 and (tmp_path / "x").stat().st_size > 1000


# -- terminals --


def on_terminal(footplate: Path, runs: Path, columns: int, *words: str, **env: str) -> str:
    """What the program prints on a terminal of that width."""
    pid, fd = pty.fork()
    if pid == 0:
        time.sleep(0.2)
        clean = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
        os.execve(
            footplate,
            [str(footplate), *words],
            clean | {"FOOTPLATE_DIR": str(runs), "TERM": "xterm"} | env,
        )
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    out = b""
    while True:
        try:
            part = os.read(fd, 4096)
        except OSError:
            break
        if not part:
            break
        out += part
    os.close(fd)
    os.waitpid(pid, 0)
    return out.decode().replace("\r\n", "\n")


def test_colour_is_for_terminals_whose_user_did_not_refuse_it(footplate, runs):
    assert "\033[1m" in on_terminal(footplate, runs, 100, "ls")
    assert "\033" not in on_terminal(footplate, runs, 100, "ls", NO_COLOR="1")
    assert "\033" not in on_terminal(footplate, runs, 100, "ls", TERM="dumb")


@pytest.mark.parametrize("columns", [80, 100, 140])
def test_tables_and_charts_fit_the_terminal(footplate, runs, columns):
    for words in (["ls"], ["query", "last", "-m", "cpu.util"], ["metrics"]):
        text = on_terminal(footplate, runs, columns, *words, NO_COLOR="1")
        assert max(map(len, text.splitlines())) <= columns, (words, text)
