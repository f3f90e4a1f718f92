# SPDX-License-Identifier: Apache-2.0
"""The example commands of README.md and of the guides in docs/ work as they are written.

A command is a line of a code block that begins with `footplate `; two or more spaces end it, what
follows is an explanation. In README.md, commands in tables count too. All commands of one page run
in one folder, in their order, with a small train.py and recorded runs.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = ["README.md", *(f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md")))]
RUNS = ("before", "after", "a1", "a2", "a3", "b1", "b2", "b3")

TRAIN = """
import time
try:
    import footplate
except ImportError:
    raise SystemExit("the hooks' folder is not in PYTHONPATH")
for i in range(40):
    with footplate.step():
        time.sleep(0.01)
    footplate.log("loss", 1 / (i + 1), step=i)
"""

# What cannot run here as it is written, by its beginning; None: not at all.
INSTEAD = {
    "footplate attach --pid PID": "footplate attach --pid {pid}",
    "footplate serve --bind 0.0.0.0": None,  # to others than this machine
    "footplate serve /srv/runs": None,
    "footplate ops last": None,  # this train.py has no operators
    "footplate run --interval 100ms -- python examples/gpu": None,  # needs a GPU
    "footplate run -- python examples/pytorch": "footplate run -- python train.py",
}
WORDS = {
    "/shared/footplate-runs": "footplate-runs",
    "prune --dir /srv/runs": "prune --dir footplate-runs",
    "/shared/runs ~/runs": "footplate-runs",
    "BEFORE": "before",
    "AFTER": "after",
    "RUN": "before",
    "A": "before",
    "B": "after",
}
STAYS = re.compile(r"footplate (serve|.* --serve )")  # answers until it is ended


def commands(page: str) -> list[str]:
    found, fenced = [], False
    for line in (ROOT / page).read_text().splitlines():
        if line.startswith("```"):
            fenced = not fenced
        text = line.strip().removeprefix("$ ")
        if (fenced or line.startswith("    ")) and text.startswith("footplate "):
            found.append(re.split(r"\s{2,}|\s+#", text)[0])
        elif page == "README.md" and line.startswith("|"):
            found += re.findall(r"`(footplate [a-z]+ [^`]+)`", line)
    return found


def as_run_here(command: str) -> str:
    if re.search(r"(https|s3)://", command):
        return ""  # other machines; tests/remote and tests/fault/test_ship.py have servers here
    for start, instead in INSTEAD.items():
        if command.startswith(start):
            return instead or ""
    for word, here in WORDS.items():
        command = re.sub(rf"(?<= ){re.escape(word)}(?= |$)", here, command)
    return command


def write_files_of(page: str, there: Path) -> None:
    """Code blocks with a file's name in a comment in their first two lines."""
    for block in re.findall(
        r"^```\w*\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE
    ):
        name = re.search(r"# ([\w-]+\.\w+)$", "\n".join(block.splitlines()[:2]), re.MULTILINE)
        if name:
            (there / name[1]).write_text(block)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, footplate: Path) -> Path:
    """With a train.py, and two runs of it."""
    there = tmp_path_factory.mktemp("docs")
    (there / "train.py").write_text(TRAIN)
    binaries = there / "bin"
    binaries.mkdir()
    (binaries / "footplate").symlink_to(footplate)
    (binaries / "python").symlink_to(sys.executable)
    launcher = binaries / "torchrun"  # ranks are not what these tests are about
    launcher.write_text('#!/bin/sh\nfor last; do :; done\nexec python "$last"\n')
    launcher.chmod(0o755)
    for name in RUNS:
        run(there, f"footplate run --name {name} -- python train.py")
    return there


def environment(there: Path) -> dict[str, str]:
    return os.environ | {"PATH": f"{there / 'bin'}:{os.environ['PATH']}"}


def run(there: Path, command: str) -> None:
    done = subprocess.run(
        shlex.split(command),
        cwd=there,
        env=environment(there),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


def run_until_it_answers(there: Path, command: str) -> None:
    words = shlex.split(command)
    with subprocess.Popen(
        words, cwd=there, env=environment(there), stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr
        line, until = "", time.monotonic() + 20
        while "http://" not in line and time.monotonic() < until:
            line = process.stderr.readline()
        if words[1] == "serve":
            process.send_signal(signal.SIGINT)
        process.stderr.read()
    assert "http://" in line, line
    assert process.returncode in (0, 130), command


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)])
def test_every_command_of_the_page_works_as_written(page: str, folder: Path) -> None:
    write_files_of(page, folder)
    for command in filter(None, map(as_run_here, commands(page))):
        if STAYS.match(command + " "):
            run_until_it_answers(folder, command)
        elif "{pid}" in command:
            with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(2)"]) as job:
                run(folder, command.format(pid=job.pid))
        else:
            run(folder, command)
