# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python package use: processes with and without hooks, and what was said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
TIMEOUT_S = 120

Event = dict[str, Any]

# What the tests run under, and what must not leak into the processes that they start.
OURS = ("FOOTPLATE_RING", "FOOTPLATE_DISABLE", "FOOTPLATE_HOOKS", "PYTHONPATH", "PYTHONHOME")


def plain_env(more: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """The environment without us; None takes a variable away."""
    env: dict[str, str | None] = {k: v for k, v in os.environ.items() if k not in OURS}
    env |= more or {}
    return {k: v for k, v in env.items() if v is not None}


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
        return [name for name in self.names("mark") if name.startswith("loss:")]


def run_python(
    *args: str | Path, whole_env: dict[str, str], python: str = sys.executable, **more: Any
) -> subprocess.CompletedProcess[str]:
    options: dict[str, Any] = {
        "capture_output": True,
        "text": True,
        "timeout": TIMEOUT_S,
        "stdin": subprocess.DEVNULL,
    }
    return subprocess.run([python, *map(str, args)], env=whole_env, **(options | more))
