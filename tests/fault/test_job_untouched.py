# SPDX-License-Identifier: Apache-2.0
"""The job under the recorder is the job without it: status, streams, arguments, surroundings."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable

import pytest
from faultkit import NS, PYTHON, Lab, assert_sentence


def direct_and_recorded(lab: Lab, words: list[str], **options: object) -> tuple[str, str]:
    """What a command prints on its own, and under the recorder."""
    settings = {"env": lab.env, "cwd": lab.folder, "text": True, "timeout": 30} | options
    settings |= {"stdout": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    recorder = [str(lab.footplate), "run", "-q", "--"]
    direct = subprocess.run(words, **settings)  # type: ignore[call-overload]
    recorded = subprocess.run(recorder + words, **settings)  # type: ignore[call-overload]
    assert direct.returncode == recorded.returncode == 0
    return direct.stdout, recorded.stdout


# -- exit status --


@pytest.mark.parametrize("status", [0, 1, 3, 126, 127, 255])
def test_the_exit_status_is_the_jobs(lab: Lab, status: int):
    done = lab.record("--", "sh", "-c", f"exit {status}")
    assert done.returncode == status
    shown = lab.show()
    assert shown["exit_status"] == status
    assert shown["status"] == ("finished" if status == 0 else "failed")


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGTERM", "SIGABRT"])
def test_a_job_ended_by_a_signal_gives_128_plus_its_number(lab: Lab, name: str):
    number = getattr(signal, name)
    done = lab.record("--", "sh", "-c", f"ulimit -c 0; kill -{int(number)} $$")
    assert done.returncode == 128 + number
    (node,) = lab.show()["nodes"]
    assert node["why"] == name
    ends_from_outside = name in ("SIGKILL", "SIGTERM")
    assert node["status"] == ("interrupted" if ends_from_outside else "failed")
    (mark,) = lab.marks("job-exit")
    assert (mark["number"], mark["text"]) == (128 + number, name)


def test_a_command_that_does_not_exist_gives_127_and_leaves_no_run(lab: Lab):
    done = lab.record("--", "no-such-program-at-all")
    assert_sentence(done, 127, "cannot run 'no-such-program-at-all'", "No such file")
    assert lab.run_folders() == []
    assert not lab.runs.exists(), "the folder for runs was made for nothing"


def test_a_command_that_may_not_be_run_gives_126_and_leaves_no_run(lab: Lab):
    script = lab.folder / "plain.txt"
    script.write_text("not a program\n")
    assert_sentence(lab.record("--", script), 126, "cannot run", "Permission denied")
    assert_sentence(lab.record("--", lab.folder), 126, "cannot run", "Permission denied")
    assert lab.run_folders() == []


def test_a_run_that_never_began_takes_nothing_from_a_run_that_others_share(lab: Lab):
    assert lab.record("--run", "shared", "--node", "a", "--", "true").returncode == 0
    for node in ("a", "b"):
        done = lab.record("--run", "shared", "--node", node, "--", "no-such-program-at-all")
        assert done.returncode == 127
    shown = lab.show("shared")
    assert [(n["id"], n["status"], n["sessions"]) for n in shown["nodes"]] == [("a", "finished", 1)]


# -- streams and arguments --


def test_binary_input_and_output_pass_unchanged(lab: Lab):
    data = bytes(range(256)) * 4096 + os.urandom(100_000)
    done = subprocess.run(
        [lab.footplate, "run", "--", "cat"],
        input=data,
        capture_output=True,
        env=lab.env,
        cwd=lab.folder,
        timeout=60,
    )
    assert done.returncode == 0
    assert done.stdout == data


def test_the_jobs_stderr_is_its_own_and_quiet_adds_nothing(lab: Lab):
    done = lab.record("-q", "--", "sh", "-c", "echo out; echo err >&2")
    assert (done.stdout, done.stderr) == ("out\n", "err\n")


def test_the_recorder_writes_nothing_to_stdout(lab: Lab):
    done = lab.record("--", "sh", "-c", "echo out")
    assert done.stdout == "out\n"


def test_closed_standard_streams_stay_out_of_the_run(lab: Lab):
    def close_all() -> None:
        for fd in (0, 1, 2):
            os.close(fd)

    done = subprocess.run(
        [lab.footplate, "run", "--", "sh", "-c", "echo lost; echo lost >&2; exit 5"],
        env=lab.env,
        cwd=lab.folder,
        preexec_fn=close_all,
        timeout=30,
    )
    assert done.returncode == 5
    for file in lab.runs.rglob("*"):
        assert not file.is_file() or b"lost\n" not in file.read_bytes()


def test_a_reader_that_closes_the_pipe_early_ends_the_job_as_ever(lab: Lab):
    line = f"'{lab.footplate}' run -q -- yes | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", line],
        env=lab.env,
        cwd=lab.folder,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.stdout == f"y\n{128 + signal.SIGPIPE}\n"
    assert done.stderr == ""


ODD = [
    "",
    " ",
    "a b",
    "'",
    '"',
    "$HOME",
    "*",
    "\\",
    "\n",
    "\t",
    "ünïcödé",
    "--",
    "-x",
    "a=b",
    "\x1b[31m",
]


def test_arguments_with_odd_characters_arrive_unchanged_and_are_recorded(lab: Lab):
    script = "import sys; sys.stdout.buffer.write(repr(sys.argv[1:]).encode())"
    done = lab.record("-q", "--", PYTHON, "-c", script, *ODD)
    assert done.stdout == repr(ODD)
    assert lab.show()["command"] == [PYTHON, "-c", script, *ODD]
    text = lab.fp("show", "last").stdout
    assert "\x1b" not in text, "a command line must not steer the terminal"


def test_an_argument_that_is_no_text_arrives_unchanged(lab: Lab):
    done = subprocess.run(
        [lab.footplate, "run", "-q", "--", "printf", "%s", b"\xff\xfe\x80"],
        env=lab.env,
        cwd=lab.folder,
        capture_output=True,
        timeout=30,
    )
    assert done.stdout == b"\xff\xfe\x80"
    assert lab.show()["command"][:2] == ["printf", "%s"]


# -- surroundings --


def test_the_jobs_environment_gains_only_the_place_to_say_what_it_does(lab: Lab):
    direct, recorded = direct_and_recorded(lab, ["env", "-0"])
    more = set(recorded.split("\0")) - set(direct.split("\0"))
    assert [entry.partition("=")[0] for entry in more] == ["FOOTPLATE_RING"]
    assert set(direct.split("\0")) <= set(recorded.split("\0"))


def test_no_descriptor_of_the_recorder_reaches_the_job(lab: Lab):
    listing = ["sh", "-c", "ls /proc/$$/fd"]
    direct, recorded = direct_and_recorded(lab, listing)
    assert recorded.split() == direct.split()


def test_a_descriptor_of_the_user_does_reach_the_job(lab: Lab):
    with (lab.folder / "mine").open("w") as mine:
        fd = mine.fileno()
        done = lab.record("-q", "--", "bash", "-c", f"echo hello >&{fd}", pass_fds=[fd])
    assert done.returncode == 0
    assert (lab.folder / "mine").read_text() == "hello\n"


def ignore_some_and_block_one() -> None:
    for number in (signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD, signal.SIGTTOU):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2, signal.SIGTERM])


SAME = "Umask|Sig(Blk|Ign|Cgt)|Cap...|NoNewPrivs|Seccomp|Cpus_allowed|Mems_allowed|THP_enabled"


@pytest.mark.parametrize("before", [None, ignore_some_and_block_one], ids=["plain", "odd"])
def test_the_job_sees_the_signals_and_rights_that_the_recorder_was_given(
    lab: Lab, before: Callable[[], None] | None
):
    look = ["grep", "-E", f"^({SAME}):", "/proc/self/status"]
    direct, recorded = direct_and_recorded(lab, look, preexec_fn=before)
    assert "SigIgn" in direct
    assert recorded == direct


def test_the_job_has_the_limits_and_the_folder_of_the_recorder(lab: Lab):
    look = ["sh", "-c", "pwd; ulimit -a; nice; cat /proc/self/oom_score_adj"]
    direct, recorded = direct_and_recorded(lab, look)
    assert recorded == direct


def test_the_job_leads_a_process_group_of_its_own(lab: Lab):
    recording = lab.start("--", "sleep", "30")
    job = recording.job_pid()
    assert os.getpgid(job) == job
    assert os.getpgid(recording.pid) != job
    assert os.getsid(job) == os.getsid(recording.pid)
    recording.signal(signal.SIGTERM)
    assert recording.end() == 128 + signal.SIGTERM


def test_the_recorder_ends_within_a_second_of_its_job_whatever_the_interval(lab: Lab):
    done = lab.record("--interval", "60s", "--", "sh", "-c", "sleep 0.3; date +%s%N > end")
    behind_s = (time.time_ns() - int((lab.folder / "end").read_text())) / NS
    assert done.returncode == 0
    assert behind_s < 1
    assert lab.show()["status"] == "finished"
