# SPDX-License-Identifier: Apache-2.0
"""The job always starts and keeps its exit status, whatever the recorder lacks or suffers."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from faultkit import PYTHON, Lab, Recording, compile_library, fill, text_of, wait_for

JOB = ["sh", "-c", "echo JOB RAN; exit 7"]


def limit(which: int, soft: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(which, (soft, soft))


def assert_ran_unrecorded(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """The job ran as it would have alone, and one line says that and why it is not recorded."""
    assert (done.returncode, done.stdout) == (7, "JOB RAN\n"), done.stderr
    lines = [x for x in done.stderr.splitlines() if "this run is not recorded" in x]
    assert len(lines) == 1, done.stderr
    for word in ("The job runs without recording", "To record it", *words):
        assert word in lines[0], lines[0]


def assert_refused(done: subprocess.CompletedProcess[str]) -> None:
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert "this run is not recorded" in done.stderr
    assert "The job is not started (--require-recording)" in done.stderr


def no_core() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def skip_if_sanitized(recording: Recording) -> None:
    program = Path(str(recording.process.args[0])).read_bytes()
    if b"__asan_init" in program and recording.process.returncode == 1:
        pytest.skip("a sanitizer ends this program before it can keep anything")


# -- it cannot be recorded from the start --


def test_a_full_disk_does_not_keep_the_job_from_running(lab: Lab):
    disk = lab.small_disk("1m")
    with fill(disk):
        done = lab.record("--dir", disk / "runs", "--", *JOB)
        assert_ran_unrecorded(done, "No space left on device", "free some space")
        assert_refused(lab.record("--dir", disk / "runs", "--require-recording", "--", *JOB))
        assert [x.name for x in disk.iterdir()] == ["hog"], "nothing is left behind"


def test_a_read_only_folder_does_not_keep_the_job_from_running(lab: Lab):
    disk = lab.small_disk("1m")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    done = lab.record("--dir", disk, "--", *JOB)
    assert_ran_unrecorded(done, "Read-only file system", str(disk), "--dir")


def test_a_folder_that_cannot_hold_runs_does_not_keep_the_job_from_running(lab: Lab):
    env = {k: v for k, v in lab.env.items() if k != "FOOTPLATE_DIR"}
    assert_ran_unrecorded(lab.record("--", *JOB, cwd="/proc", env=env), "footplate-runs", "--dir")


def test_a_folder_that_was_deleted_does_not_keep_the_job_from_running(lab: Lab):
    gone = lab.folder / "gone"
    line = (
        f"mkdir gone && cd gone && rmdir '{gone}' && exec '{lab.footplate}' run --dir r -- \"$@\""
    )
    done = subprocess.run(
        ["sh", "-c", line, "sh", *JOB],
        cwd=lab.folder,
        env=lab.env,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert_ran_unrecorded(done, "No such file or directory")


@pytest.mark.parametrize("most", [4, 5, 6, 8, 10, 12, 14, 16, 18, 20, 24])
def test_few_open_files_do_not_keep_the_job_from_running(lab: Lab, most: int):
    done = lab.record("--", *JOB, preexec_fn=limit(resource.RLIMIT_NOFILE, most))
    assert (done.returncode, done.stdout) == (7, "JOB RAN\n"), done.stderr
    if most <= 10:
        assert_ran_unrecorded(done, "Too many open files", "ulimit -n")
        assert done.stderr.count("\n") == 1, "one message, not one for each part"


@pytest.mark.parametrize("most", [1, 2, 3, 4, 5])
def test_few_processes_do_not_keep_the_job_from_running(lab: Lab, most: int):
    other = lab.as_nobody()
    lab.runs.mkdir()
    os.chown(lab.runs, 65534, 65534)
    # A separate user, so that processes of other users do not count.
    uid = 61000 + os.getpid() % 4000
    env = other["env"] | {"XDG_RUNTIME_DIR": str(lab.folder / "none")}
    os.chown(lab.runs, uid, uid)
    options = other | {"user": uid, "group": uid, "env": env}
    done = lab.record("--", *JOB, preexec_fn=limit(resource.RLIMIT_NPROC, most), **options)
    assert (done.returncode, done.stdout) == (7, "JOB RAN\n"), done.stderr
    if most <= 2:
        assert_ran_unrecorded(done, "ulimit -u")


@pytest.mark.parametrize("mib", [24, 28, 32, 40, 48, 64])
def test_little_memory_does_not_keep_the_job_from_running(lab: Lab, mib: int):
    done = lab.record("--", *JOB, preexec_fn=limit(resource.RLIMIT_AS, mib << 20))
    if "error while loading shared libraries" in done.stderr or "Sanitizer" in done.stderr:
        pytest.skip("the system could not load the program into that")
    assert (done.returncode, done.stdout) == (7, "JOB RAN\n"), done.stderr


@pytest.mark.parametrize("most", [0, 100, 1000, 4096])
def test_a_limit_for_files_from_the_start_does_not_keep_the_job_from_running(lab: Lab, most: int):
    done = lab.record("--", *JOB, preexec_fn=limit(resource.RLIMIT_FSIZE, most))
    assert (done.returncode, done.stdout) == (7, "JOB RAN\n"), done.stderr
    if most == 0:
        assert_ran_unrecorded(done, "File too large", "ulimit -f")


def test_a_run_that_another_recorder_holds_does_not_keep_the_job_from_running(lab: Lab):
    first = lab.start("--run", "one", "--node", "a", "--", "sleep", "30")
    done = lab.record("--run", "one", "--node", "a", "--", *JOB)
    assert_ran_unrecorded(done, "--node")
    first.signal(signal.SIGTERM)
    first.end()


def test_names_from_the_environment_that_cannot_be_used_do_not_keep_the_job(lab: Lab):
    for name in ("FOOTPLATE_RUN", "FOOTPLATE_NODE"):
        done = lab.record("--", *JOB, env=lab.env | {name: "a/b"})
        assert (done.returncode, done.stdout) == (7, "JOB RAN\n"), done.stderr
    assert lab.record("--run", "a/b", "--", *JOB).returncode == 2, "an option is wrong use"


@pytest.mark.parametrize("lacks", ["HOME", "TMPDIR", "XDG_RUNTIME_DIR", "config", "all"])
def test_what_is_missing_around_it_does_not_keep_the_job_from_running(lab: Lab, lacks: str):
    env = dict(lab.env)
    if lacks in ("HOME", "all"):
        del env["HOME"]
    if lacks in ("TMPDIR", "all"):
        env["TMPDIR"] = "/nonexistent"
    if lacks in ("XDG_RUNTIME_DIR", "all"):
        env["XDG_RUNTIME_DIR"] = "/nonexistent"
    if lacks in ("config", "all"):
        (lab.folder / "footplate.yaml").write_bytes(b"\xff{: [\n\t- }\n")
    done = lab.record("--", *JOB, env=env)
    assert (done.returncode, done.stdout) == (7, "JOB RAN\n"), done.stderr
    assert len(lab.run_folders()) == 1, "that is no reason not to record"


def test_without_proc_the_job_runs(lab: Lab):
    line = f"umount -l /proc; mount -t tmpfs none /proc && '{lab.footplate}' run -- \"$@\""
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", line, "sh", *JOB],
        cwd=lab.folder,
        env=lab.env,
        capture_output=True,
        text=True,
        timeout=30,
    )
    if "unshare:" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"/proc cannot be hidden here: {done.stderr.strip()}")
    if "LeakSanitizer has encountered" in done.stderr:
        pytest.skip("a sanitizer needs /proc")
    assert (done.returncode, done.stdout) == (7, "JOB RAN\n"), done.stderr


def test_a_job_that_is_not_recorded_is_the_process_itself_and_gets_its_signals(lab: Lab):
    lab.runs.write_text("")
    look = "grep -E '^(Sig|Pid|PPid)' /proc/self/status; exec sleep 30"
    process = subprocess.Popen(
        [lab.footplate, "run", "--", "sh", "-c", look],
        env=lab.env,
        cwd=lab.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    out = {}
    for _ in range(7):
        key, _, value = process.stdout.readline().partition(":")
        out[key] = value.strip()
    direct = subprocess.run(
        ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"], capture_output=True, text=True
    )
    assert f"SigBlk:\t{out['SigBlk']}" in direct.stdout
    assert f"SigIgn:\t{out['SigIgn']}" in direct.stdout
    wait_for(lambda: "sleep" in text_of(Path(f"/proc/{process.pid}/comm")), "the same process")
    process.send_signal(signal.SIGUSR1)
    assert process.wait(10) == -signal.SIGUSR1


def test_a_job_that_is_not_recorded_and_does_not_exist_gives_127(lab: Lab):
    lab.runs.write_text("")
    done = lab.record("--", "no-such-program-at-all")
    assert done.returncode == 127
    assert "cannot run 'no-such-program-at-all': No such file" in done.stderr


def test_recording_can_be_required_by_the_environment_and_by_the_file(lab: Lab):
    lab.runs.write_text("")
    assert_refused(lab.record("--", *JOB, env=lab.env | {"FOOTPLATE_REQUIRE_RECORDING": "1"}))
    (lab.folder / "footplate.yaml").write_text("require-recording: yes\n")
    assert_refused(lab.record("--", *JOB))


def test_recording_that_is_required_and_works_changes_nothing(lab: Lab):
    done = lab.record("--require-recording", "--", *JOB)
    assert (done.returncode, done.stdout) == (7, "JOB RAN\n")
    assert len(lab.run_folders()) == 1


# -- while it runs --


def test_a_limit_for_files_does_not_end_the_recorder(lab: Lab):
    done = lab.record(
        *("--interval", "20ms", "--", "sh", "-c", "sleep 3; echo JOB END; exit 9"),
        preexec_fn=limit(resource.RLIMIT_FSIZE, 8 * 1024),
    )
    assert (done.returncode, done.stdout) == (9, "JOB END\n"), done.stderr
    assert lab.show()["status"] == "failed", "not died"


def test_the_job_still_ends_at_its_own_limit_for_files(lab: Lab):
    job = "import signal; signal.signal(25, 0); open('big', 'wb').write(b'x' * 100000)"
    done = lab.record("--", PYTHON, "-c", job, preexec_fn=limit(resource.RLIMIT_FSIZE, 16384))
    assert done.returncode == 128 + signal.SIGXFSZ


def test_the_last_file_descriptor_taken_while_it_runs_changes_nothing(lab: Lab):
    recording = lab.start("--interval", "50ms", "--", "sh", "-c", "sleep 2; exit 9")
    resource.prlimit(recording.pid, resource.RLIMIT_NOFILE, (3, 3))
    status = recording.end()
    skip_if_sanitized(recording)
    assert status == 9


def test_no_more_memory_while_it_runs_changes_nothing_for_the_job(lab: Lab):
    job = "sleep 1.5; echo fine > result; exit 9"
    recording = lab.start("--interval", "20ms", "--", "sh", "-c", job)
    pages = int(Path(f"/proc/{recording.pid}/statm").read_text().split()[0])
    most = pages * resource.getpagesize()
    resource.prlimit(recording.pid, resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
    resource.prlimit(recording.pid, resource.RLIMIT_DATA, (1, resource.RLIM_INFINITY))
    status = recording.end()
    skip_if_sanitized(recording)
    assert status == 9
    assert text_of(lab.folder / "result") == "fine\n"


def test_everything_of_the_recorder_deleted_while_it_runs_changes_nothing(lab: Lab):
    job = "sleep 2; echo fine > result; exit 9"
    recording = lab.start("--interval", "50ms", "--", "sh", "-c", job)
    time.sleep(0.3)
    shutil.rmtree(lab.runs)
    shutil.rmtree(lab.runtime)
    assert recording.end() == 9
    assert text_of(lab.folder / "result") == "fine\n"


# A library that the recorder loads while the job runs, and that crashes.
CRASHING = """
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void crash(void) { usleep(300000); %s; }
"""


@pytest.mark.parametrize("crash", ["*(volatile int *)8 = 1", "abort()", "__builtin_trap()"])
def test_a_recorder_that_crashes_while_the_job_runs_keeps_its_exit_status(lab: Lab, crash: str):
    library = compile_library(CRASHING % crash, lab.folder / "crash.so")
    env = lab.env | {"FOOTPLATE_NVML": str(library)}
    recording = lab.start(
        *("--", "sh", "-c", "sleep 1.5; echo fine > result; exit 9"), env=env, preexec_fn=no_core
    )
    status = recording.end()
    skip_if_sanitized(recording)
    assert status == 9
    assert "the recorder failed; the job continues" in recording.stderr
    assert text_of(lab.folder / "result") == "fine\n"


def test_a_recorder_that_crashes_before_the_job_starts_it_without_recording(lab: Lab):
    """The helper process for actions is connected by a pair of sockets, made before the job."""
    library = compile_library(
        "#include <stdlib.h>\nint socketpair(void) { abort(); }\n", lab.folder / "crash.so"
    )
    env = lab.env | {"LD_PRELOAD": str(library)}
    words = ["--action", "do: exec, command: 'true'", "--", *JOB]
    done = lab.record(*words, env=env, preexec_fn=no_core)
    assert (done.returncode, done.stdout) == (7, "JOB RAN\n"), done.stderr
    assert "this run is not recorded: the recorder failed" in done.stderr
    done = lab.record("--require-recording", *words, env=env, preexec_fn=no_core)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr


def test_a_libcurl_that_crashes_costs_its_action_alone(lab: Lab):
    library = compile_library(CRASHING % "abort()", lab.folder / "crash.so")
    env = lab.env | {"FOOTPLATE_CURL": str(library)}
    words = ["--action", "do: webhook, url: 'https://127.0.0.1'", "--", *JOB]
    done = lab.record(*words, env=env, preexec_fn=no_core)
    assert (done.returncode, done.stdout) == (7, "JOB RAN\n"), done.stderr
    assert "action 1: this requires libcurl" in done.stderr
    assert len(lab.run_folders()) == 1


def test_a_part_of_the_recorder_that_crashes_starts_no_second_job(lab: Lab):
    """Rules of the user's own run in a process that was forked before the job."""
    rules = lab.folder / "crash.py"
    rules.write_text("import os\nos.abort()\n")
    job = "echo ran >> result; sleep 1; exit 7"
    words = ["--scan-interval", "1s", "--rule-file", rules, "--", "sh", "-c", job]
    done = lab.record(*words, preexec_fn=no_core)
    assert done.returncode == 7
    assert text_of(lab.folder / "result") == "ran\n"


def test_after_a_crash_signals_still_reach_the_job(lab: Lab):
    library = compile_library(CRASHING % "abort()", lab.folder / "crash.so")
    env = lab.env | {"FOOTPLATE_NVML": str(library)}
    job = "trap 'echo got >> result; exit 4' USR1; while :; do sleep 0.05; done"
    recording = lab.start("--", "sh", "-c", job, env=env, preexec_fn=no_core)
    wait_for(lambda: "the recorder failed" in recording.stderr, "the crash")
    time.sleep(0.3)
    recording.signal(signal.SIGUSR1)
    assert recording.end() == 4
    assert text_of(lab.folder / "result") == "got\n"


# -- after it --


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGRTMIN, signal.SIGIO])
def test_a_signal_after_the_jobs_end_leaves_its_exit_status(lab: Lab, number: int):
    """Rules of the user's own keep the recorder busy at its end."""
    slow = lab.folder / "slow.py"
    slow.write_text("import time\nopen('judging', 'w').close()\ntime.sleep(5)\n")
    recording = lab.start("--rule-file", slow, "--", "sh", "-c", "exit 9")
    wait_for(lambda: "recorded" in recording.stderr, "the end of the recording")
    recording.signal(number)
    assert recording.end() == 9


# -- what it finds around it --


def old_python() -> str:
    """A Python that is too old for the hooks."""
    homes = [Path(p) for p in os.get_exec_path()]
    homes += sorted(Path.home().glob(".pyenv/versions/*/bin"))
    for name in ("python3.9", "python3.8", "python3.7", "python3.6", "python2.7"):
        for home in homes:
            done = home / name
            if os.access(done, os.X_OK) and not subprocess.run([done, "-c", ""]).returncode:
                return str(done)
    pytest.skip("there is no Python before 3.10 here")


@pytest.mark.parametrize("how", ["directly", "below a shell"])
def test_a_job_on_an_old_python_is_told_that_the_hooks_need_a_newer_one(lab: Lab, how: str):
    python = old_python()
    hooks = Path(os.environ.get("FOOTPLATE_PYTHON", "build/release/python")).resolve()
    env = lab.env | {"FOOTPLATE_HOOKS": str(hooks / "footplate/_bootstrap")}
    job = [python, "-c", "import sys; sys.exit(7)"]
    if how == "below a shell":
        job = ["sh", "-c", f"'{python}' -c 'import sys; sys.exit(7)'"]
    done = lab.record("--", *job, env=env)
    version = Path(python).name.replace("python", "Python ")
    assert done.returncode == 7
    assert f"no steps: the job ran on {version}; the hooks need CPython 3.10" in done.stderr
    assert version in lab.losses("no-hooks")[0]["why"]


def test_the_default_folder_of_runs_hides_itself_from_git(lab: Lab):
    env = {k: v for k, v in lab.env.items() if k != "FOOTPLATE_DIR"}
    assert lab.record("--", "true", env=env).returncode == 0
    ignore = lab.folder / "footplate-runs" / ".gitignore"
    assert ignore.read_text() == "*\n"
    if shutil.which("git"):
        subprocess.run(["git", "init", "-q", lab.folder], check=True)
        words = ["git", "-C", lab.folder, "status", "--porcelain", "--ignored=no"]
        assert "footplate-runs" not in subprocess.run(words, capture_output=True, text=True).stdout
    ignore.unlink()
    assert lab.record("--", "true", env=env).returncode == 0
    assert not ignore.exists(), "who removed it does not want it"
    assert lab.record("--dir", lab.folder / "other", "--", "true").returncode == 0
    assert not (lab.folder / "other" / ".gitignore").exists()


def test_a_command_that_cannot_be_run_leaves_no_folder_and_no_gitignore(lab: Lab):
    env = {k: v for k, v in lab.env.items() if k != "FOOTPLATE_DIR"}
    assert lab.record("--", "no-such-program-at-all", env=env).returncode == 127
    assert not (lab.folder / "footplate-runs").exists()
