# SPDX-License-Identifier: Apache-2.0
"""`footplate top` on a terminal: frames, keys, resizes, the ways out, and a job that goes on."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ENTER, LEAVE = "\033[?1049h", "\033[?1049l"
SEQUENCE = re.compile(r"\033\[(\?)?([0-9;]*)([A-Za-z])")
UNFINISHED = re.compile(r"(?:\033[^A-Za-z]*)?\Z")


class Screen:
    """A terminal that understands what `top` sends, and nothing else."""

    def __init__(self, columns: int, rows: int):
        self.columns, self.rows = columns, rows
        self.problems: list[str] = []
        self.styles = 0
        self.rest = ""
        self.clear()

    def clear(self) -> None:
        self.row = self.column = 0
        self.cells = [[" "] * self.columns for _ in range(self.rows)]

    def resize(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.clear()

    def sequence(self, private: str | None, numbers: str, letter: str) -> None:
        if private:
            return
        if letter == "H":
            row, _, column = numbers.partition(";")
            self.row, self.column = int(row or 1) - 1, int(column or 1) - 1
        elif letter == "J" and numbers == "2":
            self.cells = [[" "] * self.columns for _ in range(self.rows)]
        elif letter == "J":
            self.cells[self.row :] = [[" "] * self.columns for _ in range(self.rows - self.row)]
        elif letter == "K":
            self.cells[self.row][self.column :] = [" "] * (self.columns - self.column)
        elif letter == "m":
            self.styles += numbers not in ("", "0")
        else:
            self.problems.append(f"unknown sequence {numbers}{letter}")

    def put(self, character: str) -> None:
        if character < " ":
            self.problems.append(f"control character {character!r}")
        elif self.row >= self.rows or self.column >= self.columns:
            self.problems.append(f"line {self.row} does not fit")
        else:
            self.cells[self.row][self.column] = character
        self.column += 1

    def feed(self, text: str) -> None:
        text, at = self.rest + text, 0
        self.rest = UNFINISHED.search(text)[0]
        text = text[: len(text) - len(self.rest)]
        while at < len(text):
            found = SEQUENCE.match(text, at)
            if found:
                self.sequence(found[1], found[2], found[3])
            else:
                self.put(text[at])
            at = found.end() if found else at + 1

    def text(self) -> str:
        return "\n".join("".join(row).rstrip() for row in self.cells)


class Top:
    """`footplate top` on a terminal of its own."""

    def __init__(self, words: list[str], env: dict[str, str], columns: int = 80, rows: int = 24):
        self.master, self.slave = pty.openpty()
        self.size(columns, rows)
        self.screen = Screen(columns, rows)
        self.before = termios.tcgetattr(self.slave)
        self.seen = ""
        self.decoder = codecs.getincrementaldecoder("utf-8")()
        self.process = subprocess.Popen(
            words,
            env=env,
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )

    def size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, columns: int, rows: int) -> None:
        self.read(0)
        self.size(columns, rows)
        self.screen.resize(columns, rows)
        os.kill(self.process.pid, signal.SIGWINCH)

    def read(self, wait_s: float = 0.1) -> None:
        while select.select([self.master], [], [], wait_s)[0]:
            text = self.decoder.decode(os.read(self.master, 1 << 16))
            self.seen += text
            if ENTER in self.seen and LEAVE not in self.seen:
                self.screen.feed(text)
            wait_s = 0

    def until(self, fits: Callable[[str], object], timeout_s: float = 30) -> str:
        """Reads until the screen is as wanted; returns it."""
        until = time.monotonic() + timeout_s
        while not fits(self.screen.text()):
            assert time.monotonic() < until, f"it shows\n{self.screen.text()}"
            assert self.process.poll() is None, f"it has ended: {self.seen!r}"
            self.read()
        return self.screen.text()

    def type(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def end(self) -> int:
        until = time.monotonic() + 20
        while self.process.poll() is None:
            self.read(0.05)
            assert time.monotonic() < until, "it does not end"
        self.read(0.05)
        return self.process.returncode

    def is_restored(self) -> bool:
        """The main screen, the cursor, line wrap and the modes of the keyboard are back."""
        last = {mode: self.seen.rfind(f"\033[?{mode}") for mode in ("1049", "25", "7")}
        on = {mode: self.seen[at + 3 + len(mode)] for mode, at in last.items()}
        return (
            on == {"1049": "l", "25": "h", "7": "h"}
            and termios.tcgetattr(self.slave) == self.before
        )

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("watched")


@pytest.fixture(scope="module")
def job(footplate, train, folder) -> Iterator[subprocess.Popen[str]]:
    """A training program that is recorded until the last test of this file."""
    log = folder / "job.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [footplate, "run", "--name", "watched", "--interval", "200ms", "--", train]
            + ["--seconds", "120", "--quiet"],
            env=environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            text=True,
        )
    until = time.monotonic() + 20
    while not list(folder.glob("watched-*/node-*/events.tail")):
        assert time.monotonic() < until, log.read_text()
        time.sleep(0.05)
    yield process
    process.send_signal(signal.SIGINT)
    process.wait(timeout=30)


def environment(folder: Path, **more: str) -> dict[str, str]:
    return os.environ | {
        "FOOTPLATE_DIR": str(folder),
        "FOOTPLATE_NVML": "/nonexistent.so",
        "TERM": "xterm-256color",
        "NO_COLOR": "",
        **more,
    }


@pytest.fixture
def top(footplate, folder, job) -> Iterator[Callable[..., Top]]:
    made: list[Top] = []

    def make(*words: str, columns: int = 80, rows: int = 24, **env: str) -> Top:
        t = Top([str(footplate), "top", *words], environment(folder, **env), columns, rows)
        made.append(t)
        return t

    yield make
    for t in made:
        t.close()


def has_steps(text: str) -> bool:
    return re.search(r"steps +step [\d ]+, \S+ steps/s", text) is not None


def test_the_running_run_is_shown_with_cores_memory_steps_and_shares(top, job):
    t = top()
    text = t.until(has_steps)
    assert re.match(r"watched  running for \S+ .* every 1 s\n", text)
    assert re.search(r"^CPU +\[\|* *\S+ %\] \d+ cores?", text, re.MULTILINE)
    assert re.search(r"^memory +\[\|* *\S+ %\] \S+ \SiB of", text, re.MULTILINE)
    assert re.search(r"^GPU +no GPU found", text, re.MULTILINE)
    text = t.until(lambda x: "host time" in x and "forward" in x and "findings" in x)
    assert text.splitlines()[-1].startswith("q quit  h help")
    assert t.screen.styles > 0 and t.screen.problems == []
    t.type("q")
    assert t.end() == 0 and t.is_restored()
    assert job.poll() is None


def test_keys_select_pause_help_and_change_the_interval(top):
    t = top()
    t.until(has_steps)
    t.type("h")
    t.until(lambda x: "footplate top: keys" in x)
    t.type("?")
    t.until(has_steps)
    t.type("5")
    t.until(lambda x: "every 5 s" in x)
    t.type("+")
    t.until(lambda x: "every 10 s" in x)
    t.type("--")
    t.until(lambda x: "every 2.5 s" in x)
    t.type(" ")
    t.until(lambda x: "PAUSED" in x)
    t.type(" ")
    t.until(lambda x: "PAUSED" not in x)
    t.type("jk\033[A\033[B\033[5~\033[6~gGr")  # none of them ends it
    t.until(has_steps)
    t.type("q")
    assert t.end() == 0 and t.is_restored()


def test_a_resize_makes_a_new_frame_of_that_size(top):
    t = top()
    t.until(has_steps)
    for columns, rows in ((120, 40), (250, 70), (60, 15), (80, 24)):
        t.resize(columns, rows)
        text = t.until(lambda x, rows=rows: "q quit" in x.splitlines()[-1] and has_steps(x))
        assert len(text.splitlines()) == rows
        assert len(text.splitlines()[0]) == columns  # the interval is at the right edge
    t.type("q")
    assert t.end() == 0


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 0), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGHUP, -signal.SIGHUP)]
    + [(signal.SIGSEGV, None), (signal.SIGABRT, None)],
)
def test_every_signal_that_ends_it_leaves_the_terminal_as_it_was(top, job, number, status):
    t = top()
    t.until(has_steps)
    os.kill(t.process.pid, number)
    code = t.end()
    assert code == status if status is not None else code != 0
    assert t.is_restored()
    assert job.poll() is None


# A shell with job control, as small as it gets: says when its job has stopped, continues it.
SHELL = """
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
pid = os.fork()
if pid == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
_, status = os.waitpid(pid, os.WUNTRACED)
os.tcsetpgrp(0, os.getpgrp())
print("stopped" if os.WIFSTOPPED(status) else "ended", flush=True)
sys.stdin.readline()
os.tcsetpgrp(0, pid)
os.kill(pid, signal.SIGCONT)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


def test_ctrl_z_gives_the_terminal_back_until_it_continues(footplate, folder, job):
    t = Top([sys.executable, "-c", SHELL, str(footplate), "top"], environment(folder))
    try:
        t.until(has_steps)
        t.type("\x1a")
        until = time.monotonic() + 20
        while "stopped" not in t.seen:
            assert time.monotonic() < until, f"it does not stop: {t.seen!r}"
            t.read(0.05)
        assert t.is_restored()
        t.seen = ""
        t.screen.clear()
        t.type("\n")
        t.until(has_steps)
        t.type("\x03")
        assert t.end() == 0 and t.is_restored()
    finally:
        t.close()


def test_ctrl_z_is_ignored_where_nobody_could_continue_it(top):
    t = top()
    t.until(has_steps)
    t.seen = ""
    t.type("\x1a")
    t.until(lambda x: ENTER in t.seen and has_steps(x))
    t.type("\x03")
    assert t.end() == 0 and t.is_restored()


def test_no_color_means_no_style_at_all(top):
    t = top(NO_COLOR="1")
    t.until(has_steps)
    t.type("q")
    assert t.end() == 0
    assert t.screen.styles == 0


def test_without_a_terminal_or_on_a_dumb_one_it_prints_one_frame(top, footplate, folder, job):
    top().until(has_steps)
    done = subprocess.run(
        [footplate, "top"], env=environment(folder), capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0 and done.stderr == ""
    assert "\033" not in done.stdout and has_steps(done.stdout)
    assert "q quit" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    for words, env in ((["--once"], {"NO_COLOR": "1"}), ([], {"TERM": "dumb"})):
        t = top(*words, columns=100, **env)
        assert t.end() == 0
        assert "\033" not in t.seen and has_steps(t.seen)


def test_it_agrees_with_show(footplate, folder):
    """On a run that has ended, so that both see the same."""
    h200 = Path(__file__).resolve().parents[1] / "data" / "runs" / "h200-1-worker"
    frame, show = (
        subprocess.run(
            [footplate, *words], env=environment(folder), capture_output=True, text=True, timeout=30
        ).stdout
        for words in (("top", h200), ("show", h200))
    )
    p50, p95 = re.search(r"iteration +p50 (.*?), p95 (.*?),", show).groups()
    assert f"iteration  p50 {p50}, p95 {p95}, " in frame
    rate = re.search(r"throughput +(\S+ samples/s)", show)[1]
    assert rate in frame
    for clock in ("GPU time, ", "host time"):
        parts = re.search(rf"{clock}[^:\n]*: (.*)", show)[1]
        for part in parts.split(", "):
            name, took = re.fullmatch(r"(.+?) ([\d.]+ \S+)", part).groups()
            assert re.search(rf"^  {name} +\[.*\] +{took}$", frame, re.MULTILINE), part
    assert "NVIDIA H200" in frame and re.search(r"^gpu0 +\[", frame, re.MULTILINE)
    assert re.search(r"^This run ended .* ago", frame, re.MULTILINE)
    assert "> critical Data loading" in frame and "fix  Set num_workers to 15." in frame


def test_a_run_that_is_not_there_is_refused(run_fp, tmp_runs):
    for words in (["nothing"], []):
        done = run_fp("top", *words, env=environment(tmp_runs))
        assert done.returncode == 1 and done.stdout == ""
        assert done.stderr.startswith("footplate: no runs in ")


def test_the_job_goes_on_and_nothing_is_written_to_its_run_or_terminal(top, job, folder):
    """Runs last: the recorder alone wrote the files of the run."""
    run = next(folder.glob("watched-*"))
    files = {p.relative_to(run) for p in run.rglob("*")}
    t = top(str(run))
    t.until(has_steps)
    t.type("q")
    assert t.end() == 0
    assert {p.relative_to(run) for p in run.rglob("*")} - files <= {Path("findings.json")}
    assert job.poll() is None
    assert "\033" not in (folder / "job.log").read_text()
