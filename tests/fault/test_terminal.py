# SPDX-License-Identifier: Apache-2.0
"""The job has the terminal as it would without the recorder, wherever its streams lead."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from faultkit import PYTHON, Lab, children_of, text_of, wait_for
from terminals import Terminal

ASK = 'read -p "pass? " x </dev/tty; echo "got $x"; exit 5'


def state_of(pid: int) -> str:
    return text_of(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()[0]


def run_line(words: str, before: str = "", after: str = "") -> str:
    return f"{before} $fp run -q -- {words} {after}; echo status=${{PIPESTATUS[*]}}\n"


def test_a_job_with_a_piped_stdin_reads_a_password_from_the_terminal(shell: Terminal):
    shell.type(run_line(f"bash -c '{ASK}'", before="echo data |"))
    shell.expect("pass? ")
    shell.type("secret\n")
    shell.expect("got secret")
    shell.expect("status=0 5")


def test_a_job_with_all_streams_elsewhere_reads_from_the_terminal(lab: Lab, shell: Terminal):
    line = f"$fp run -q -- bash -c '{ASK}' </dev/null >out 2>err; echo status=$?\n"
    shell.type(line)
    wait_for(lambda: "pass?" in text_of(lab.folder / "err"), "the question")
    shell.type("secret\n")
    shell.expect("status=5")
    assert text_of(lab.folder / "out") == "got secret\n"


def test_a_job_writes_to_a_terminal_that_stops_background_writers(shell: Terminal):
    shell.type("stty tostop\n")
    shell.type(run_line("sh -c 'echo one; sleep 0.3; echo two; exit 6'", before="echo data |"))
    shell.expect("two")
    shell.expect("status=0 6")


def test_the_neighbour_in_a_pipe_keeps_its_terminal(shell: Terminal):
    """As `footplate run ... | less` needs it."""
    reader = 'read line; read -p "more? " x </dev/tty; echo "$line $x"; cat'
    shell.type(run_line("sh -c 'echo line; sleep 1.5; exit 4'", after=f"| bash -c '{reader}'"))
    shell.expect("more? ")
    shell.type("q\n")
    shell.expect("line q")
    shell.expect("status=4 0")


def test_ctrl_c_in_a_pipe_reaches_the_job_once(lab: Lab, shell: Terminal):
    count = (
        "import signal, sys, time\n"
        "got = []\n"
        "signal.signal(signal.SIGINT, lambda *a: got.append(1))\n"
        'open("ready", "w").close()\n'
        "until = time.monotonic() + 20\n"
        "while not got and time.monotonic() < until: time.sleep(0.02)\n"
        "time.sleep(0.5)\n"
        'open("got", "w").write(str(len(got)))\n'
        "sys.exit(7)\n"
    )
    (lab.folder / "count.py").write_text(count)
    shell.type(run_line(f"{PYTHON} count.py", before="echo data |"))
    wait_for((lab.folder / "ready").exists, "the job's handler")
    shell.type("\x03")
    wait_for((lab.folder / "got").exists, "the job's end")
    assert text_of(lab.folder / "got") == "1"
    shell.expect("status=0 7")


def test_ctrl_z_and_fg_in_a_pipe_stop_and_continue_job_and_recorder(lab: Lab, shell: Terminal):
    job = "i=0; while [ $i -lt 40 ]; do i=$((i+1)); echo $i > tick; sleep 0.05; done; exit 6"
    shell.type(f"echo data | $fp run -q -- sh -c '{job}'; echo status=$?\n")
    wait_for(lambda: int(text_of(lab.folder / "tick") or 0) >= 5, "some ticks")
    shell.type("\x1a")
    shell.expect("Stopped")
    recorder = next(p for p in children_of(shell.pid) if state_of(p) == "T")
    wait_for(lambda: all(state_of(p) == "T" for p in children_of(recorder)[:1]), "a stopped job")
    before = text_of(lab.folder / "tick")
    time.sleep(0.7)
    assert text_of(lab.folder / "tick") == before
    shell.type("fg; echo after=$?\n")
    shell.expect("after=6")
    assert text_of(lab.folder / "tick") == "40\n"


def test_a_background_job_that_wants_the_terminal_stops_and_goes_on_in_the_foreground(
    shell: Terminal,
):
    shell.type(f"$fp run -q -- bash -c '{ASK}' </dev/null &\n")
    shell.expect("pass? ")
    time.sleep(0.3)
    shell.type("jobs\n")
    shell.expect("Stopped")
    shell.type("fg; echo after=$?\n")
    time.sleep(0.3)
    shell.type("late\n")
    shell.expect("got late")
    shell.expect("after=5")


def test_ctrl_c_ends_a_script_and_the_job_in_it(lab: Lab, shell: Terminal):
    """The script receives the signal too, as it would without the recorder."""
    script = lab.folder / "script.sh"
    script.write_text(
        f"'{lab.footplate}' run -q -- sh -c 'touch ready; exec sleep 30'\ntouch next\n"
    )
    shell.type("bash script.sh\n")
    wait_for((lab.folder / "ready").exists, "the job")
    time.sleep(0.3)
    shell.type("\x03")
    time.sleep(0.3)
    shell.type("echo status=$?\n")
    shell.expect("status=130")
    assert not (lab.folder / "next").exists()


@pytest.mark.parametrize("stream", ["0", "1", "2"])
def test_the_terminal_is_found_on_any_stream(lab: Lab, stream: str):
    """A recorder that leads its session gives the terminal to the job's group."""
    others = {"0": ">out 2>err", "1": "<&- 2>err", "2": "<&- >out"}[stream]
    look = "import os; os._exit(os.tcgetpgrp(os.open('/dev/tty', os.O_RDWR)) != os.getpgrp())"
    line = f'exec "{lab.footplate}" run -q -- {PYTHON} -c "{look}" {others}'
    terminal = Terminal(["bash", "-c", line], lab.env, lab.folder)
    assert terminal.end() == 0
    os.close(terminal.fd)
