# SPDX-License-Identifier: Apache-2.0
"""What the fault tests share: real recordings in a folder of their own, and a clean end.

A Lab is one test's world: a folder for runs, a runtime folder for control sockets, an environment.
Every process started through it carries a token in its environment, so that at the end of the test
whatever is left of it is found and ended by its id, and nobody else's.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

LONG = os.environ.get("FOOTPLATE_LONG") == "1"
NOBODY = 65534
NS = 1_000_000_000
PYTHON = sys.executable
CRASH_WORDS = ("Segmentation", "Sanitizer", "runtime error", "Assertion", "core dumped")


def wait_for(condition: Callable[[], object], what: str, timeout_s: float = 20) -> object:
    """Polls until the condition holds and hands back what it returned."""
    until = time.monotonic() + timeout_s
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > until:
            raise AssertionError(f"waited {timeout_s} s in vain for: {what}")
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Whether the process runs: a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children_of(pid: int) -> list[int]:
    """The processes that a process has started and not reaped."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(word) for t in tasks for word in (t / "children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def text_of(path: Path) -> str:
    """The file's text, empty while it is not there."""
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""


def assert_sentence(done: subprocess.CompletedProcess[str], status: int, *words: str) -> None:
    """It failed the way a user can bear: the status, one line, and what is wrong in it."""
    assert done.returncode == status, (done.returncode, done.stderr)
    assert done.stderr.startswith("footplate: ") and done.stderr.count("\n") == 1, done.stderr
    for word in words:
        assert word in done.stderr, done.stderr


def assert_no_crash(done: subprocess.CompletedProcess[str]) -> None:
    """Whatever it thought of its input, it ended of its own will."""
    assert done.returncode in (0, 1, 2), (done.returncode, done.stderr)
    for word in CRASH_WORDS:
        assert word not in done.stderr + done.stdout, done.stderr


class Recording:
    """A recorder that was started in the background."""

    def __init__(self, process: subprocess.Popen, log: Path):
        self.process = process
        self.log = log
        self.pid = process.pid

    @property
    def stderr(self) -> str:
        """What recorder and job have said on stderr so far."""
        return text_of(self.log)

    def job_pid(self) -> int:
        """The job's first process, once it is more than a copy of the recorder."""

        def exec_done() -> int:
            own = os.readlink(f"/proc/{self.pid}/exe")
            for pid in children_of(self.pid):
                with suppress(FileNotFoundError):
                    if os.readlink(f"/proc/{pid}/exe") != own:
                        return pid
            return 0

        return int(wait_for(exec_done, "the job's start"))

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def end(self, timeout_s: float = 30) -> int:
        """Waits for the recorder; its exit status."""
        return self.process.wait(timeout_s)


class Lab:
    """See the head of the file."""

    def __init__(self, footplate: Path):
        self.footplate = footplate
        self.folder = Path(tempfile.mkdtemp(prefix="fp-"))  # short: a socket's name has 107 bytes
        self.runs = self.folder / "runs"
        self.runtime = self.folder / "rt"
        self.runtime.mkdir(mode=0o700)
        self.token = uuid.uuid4().hex
        self.started = 0
        self.mounts: list[Path] = []
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "LC_ALL": "C.UTF-8",
            "FOOTPLATE_DIR": str(self.runs),
            "FOOTPLATE_NVML": "/nonexistent.so",
            "XDG_RUNTIME_DIR": str(self.runtime),
            "FAULT_LAB": self.token,
        }

    # -- commands --

    def fp(self, *words: object, **options: object) -> subprocess.CompletedProcess[str]:
        """Runs a command of the program to its end."""
        settings: dict[str, object] = {
            "env": self.env,
            "cwd": self.folder,
            "capture_output": True,
            "text": True,
            "stdin": subprocess.DEVNULL,
            "timeout": 60,
        }
        command = [str(self.footplate), *map(str, words)]
        return subprocess.run(command, **(settings | options))  # type: ignore[call-overload]

    def record(self, *words: object, **options: object) -> subprocess.CompletedProcess[str]:
        """footplate run, to its end."""
        return self.fp("run", *words, **options)

    def start(self, *words: object, command: str = "run", **options: object) -> Recording:
        """footplate run in the background; it has created its run when this returns."""
        self.started += 1
        log = self.folder / f"stderr-{self.started}"
        settings: dict[str, object] = {
            "env": self.env,
            "cwd": self.folder,
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.DEVNULL,
        }
        with log.open("w") as out:
            process = subprocess.Popen(
                [str(self.footplate), command, *map(str, words)],
                stderr=out,
                **(settings | options),  # type: ignore[call-overload]
            )
        recording = Recording(process, log)
        if "-q" not in words:
            wait_for(
                lambda: "recording to" in recording.stderr or process.poll() is not None,
                "the recording's start",
            )
        return recording

    # -- what was recorded --

    def show(self, run: object = "last") -> dict:
        done = self.fp("show", run, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def node(self, node: str, run: object = "last") -> dict:
        return next(n for n in self.show(run)["nodes"] if n["id"] == node)

    def stats(self, run: object = "last") -> list[dict]:
        done = self.fp("stats", run, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def query(self, metric: str, *words: object, run: object = "last") -> list[dict]:
        done = self.fp("query", run, "--metric", metric, "--json", *words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def series(self, metric: str, run: object = "last", entity: str = "total") -> dict:
        """The one series of that name."""
        (one,) = self.query(metric, "--entity", entity, run=run)
        return one

    def wait_readings(self, count: int, run: object = "last") -> None:
        """Waits until that many readings of the living job are on disk."""

        def are_there() -> bool:
            done = self.fp("query", run, "--metric", "job.cpu", "--json")
            found = json.loads(done.stdout) if done.returncode == 0 else []
            return bool(found) and len(found[0]["t_ns"]) >= count

        wait_for(are_there, f"{count} readings")

    def marks(self, name: str, run: object = "last") -> list[dict]:
        return [m for m in self.show(run)["marks"] if m["mark"] == name]

    def losses(self, kind: str, run: object = "last") -> list[dict]:
        return [x for x in self.show(run)["losses"] if x["kind"] == kind]

    def run_folders(self) -> list[Path]:
        return sorted(self.runs.iterdir()) if self.runs.exists() else []

    # -- the end --

    def left_processes(self) -> list[int]:
        """Everything that was started here and still runs."""
        mine = f"FAULT_LAB={self.token}".encode()
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mine in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
        return found

    def close(self) -> None:
        for pid in self.left_processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for mount in self.mounts:
            subprocess.run(["umount", "--lazy", str(mount)], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def small_disk(self, size: str) -> Path:
        """A disk of a given size that this test alone uses; skips where it may not be mounted."""
        place = self.folder / f"disk-{len(self.mounts)}"
        place.mkdir()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size},mode=1777", "fault", str(place)],
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip()}")
        self.mounts.append(place)
        return place

    def as_nobody(self) -> dict[str, object]:
        """Options that make a process somebody else's."""
        if os.geteuid() != 0:
            pytest.skip("only root can start processes of another user")
        other = self.folder / "nobody-rt"
        other.mkdir(mode=0o700, exist_ok=True)
        os.chown(other, NOBODY, NOBODY)
        self.folder.chmod(0o755)
        return {
            "user": NOBODY,
            "group": NOBODY,
            "extra_groups": [],
            "env": self.env | {"XDG_RUNTIME_DIR": str(other)},
            "cwd": "/",
        }


@contextmanager
def fill(disk: Path) -> Iterator[None]:
    """Takes every free byte of a disk until the block ends."""
    hog = disk / "hog"
    with hog.open("wb", buffering=0) as f, suppress(OSError):
        while True:
            f.write(b"\0" * 4096)
    try:
        yield
    finally:
        hog.unlink()


def compile_library(source: Path | str, out: Path, *flags: str) -> Path:
    """A shared library from C text or a file; skips where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        pytest.skip("there is no C compiler")
    if isinstance(source, str):
        path = out.with_suffix(".c")
        path.write_text(source)
        source = path
    command = [compiler, "-shared", "-fPIC", "-O1", "-D_GNU_SOURCE", "-o", str(out)]
    done = subprocess.run([*command, str(source), *flags], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out
