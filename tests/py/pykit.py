# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python package use: processes with and without hooks, and what was said."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPTS = Path(__file__).resolve().parent / "scripts"
TIMEOUT_S = 300

Event = dict[str, Any]
Done = subprocess.CompletedProcess[str]

PROGRAM = Path(os.environ.get("FOOTPLATE_BIN", "build/footplate")).resolve()

# What the tests run under, and what must not leak into the processes that they start.
OURS = ("FOOTPLATE_", "PYTHONPATH", "PYTHONHOME", "TF_CONFIG", "KERAS_BACKEND")


def plain_env(more: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """The environment without us; None takes a variable away."""
    env: dict[str, str | None] = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
    env |= more or {}
    return {k: v for k, v in env.items() if v is not None}


def ask(*args: object) -> str:
    """What the program prints when it is called with these words; it must succeed."""
    done = subprocess.run(
        [PROGRAM, *map(str, args)], capture_output=True, text=True, timeout=120, env=plain_env()
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def losses_of(events: list[Event]) -> list[str]:
    """What hooks could not record: "what: why"."""
    return [f"{e['name']}: {e['reason']}" for e in events if e["kind"] == "loss"]


class Ring:
    """A folder as the recorder makes it for a job."""

    def __init__(self, folder: Path, package: Path, dump: Path) -> None:
        self.folder = folder
        self.bootstrap = package / "footplate" / "_bootstrap"
        self._dump = dump
        self._events: list[Event] = []

    def env(self, more: Mapping[str, str | None] | None = None) -> dict[str, str]:
        """What `footplate run` gives to a job whose environment is plain_env(more)."""
        env = plain_env(more)
        env["FOOTPLATE_RING"] = str(self.folder)
        old = env.get("PYTHONPATH")
        env["PYTHONPATH"] = f"{self.bootstrap}:{old}" if old else str(self.bootstrap)
        return env

    def ask(self, **what: Any) -> None:
        """Writes the configuration as the recorder does."""
        config = {"version": 1, "job_start_ns": time.monotonic_ns(), "generation": 1} | what
        hidden = self.folder / ".config.json"
        hidden.write_text(json.dumps(config))
        hidden.rename(self.folder / "config.json")

    def files(self, kind: str) -> list[Path]:
        """What detail windows have left, "detail" or "python"."""
        return sorted(self.folder.glob(f"{kind}-*.json"))

    def events(self, lossy: bool = False) -> list[Event]:
        """All that was said so far, each process and thread in its order; nothing may be lost."""
        done = subprocess.run(
            [self._dump, self.folder], capture_output=True, text=True, timeout=TIMEOUT_S
        )
        assert done.returncode == 0, done.stderr
        assert lossy or done.stderr == "", done.stderr
        self._events += [json.loads(line) for line in done.stdout.splitlines()]
        return self._events

    def names(self, kind: str | None = None) -> list[str]:
        return [e["name"] for e in self.events() if kind in (None, e["kind"])]

    def losses(self) -> list[str]:
        return losses_of(self.events())


@contextlib.contextmanager
def new_ring(package: Path, dump: Path) -> Iterator[Ring]:
    """In memory where that can be."""
    where = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="fp-test-", dir=where))
    try:
        yield Ring(folder, package, dump)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_python(
    *args: str | Path, whole_env: dict[str, str], python: str = sys.executable, **more: Any
) -> Done:
    options: dict[str, Any] = {
        "capture_output": True,
        "text": True,
        "timeout": TIMEOUT_S,
        "stdin": subprocess.DEVNULL,
    }
    return subprocess.run([python, *map(str, args)], env=whole_env, **(options | more))


class Nursery:
    """Runs scripts in forks of a process that has imported the modules: see scripts/nursery.py."""

    def __init__(self, folder: Path, *modules: str) -> None:
        self._out = {name: folder / name for name in ("stdout", "stderr")}
        self._server = subprocess.Popen(
            [sys.executable, SCRIPTS / "nursery.py", *modules],
            env=plain_env({"OMP_NUM_THREADS": "1"}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, *args: str | Path, whole_env: dict[str, str], cwd: str | Path = "/") -> Done:
        """As run_python; the first argument is a script or "-c"."""
        ask = {"args": [*map(str, args)], "env": whole_env, "cwd": str(cwd)}
        assert self._server.stdin and self._server.stdout
        self._server.stdin.write(json.dumps(ask | {k: str(v) for k, v in self._out.items()}) + "\n")
        self._server.stdin.flush()
        status = self._server.stdout.readline()
        assert status, "the nursery is gone"
        said = {name: path.read_text() for name, path in self._out.items()}
        return subprocess.CompletedProcess([*args], int(status), **said)

    def close(self) -> None:
        self._server.communicate(timeout=TIMEOUT_S)
