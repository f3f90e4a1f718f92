# SPDX-License-Identifier: Apache-2.0
"""A lab for each test that breaks something."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from faultkit import Lab
from terminals import Terminal


@pytest.fixture(scope="session")
def program_for_all(footplate: Path) -> Iterator[Path]:
    """The program at a place where other users may run it too."""
    folder = Path(tempfile.mkdtemp(prefix="fp-bin-"))
    folder.chmod(0o755)
    yield Path(shutil.copy(footplate, folder))
    shutil.rmtree(folder)


@pytest.fixture
def lab(program_for_all: Path) -> Iterator[Lab]:
    """A folder for runs, an environment, and an end to every process started here."""
    one = Lab(program_for_all)
    yield one
    one.close()


@pytest.fixture
def shell(lab: Lab) -> Iterator[Terminal]:
    """An interactive shell with job control; `fp` is the program."""
    env = lab.env | {"PS1": "ready> ", "TERM": "dumb", "fp": str(lab.footplate)}
    terminal = Terminal(["bash", "--norc", "--noprofile", "-i"], env, lab.folder)
    terminal.expect("ready> ")
    terminal.type("stty -echo; PS1=; unset HISTFILE\n")
    time.sleep(0.2)
    terminal.read()
    terminal.seen = ""
    yield terminal
    for pid in lab.left_processes():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(terminal.pid, 0)
    os.close(terminal.fd)
