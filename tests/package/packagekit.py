# SPDX-License-Identifier: Apache-2.0
"""What the tests of packages share: an ordinary user, a training program, first uses."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
NOBODY = 65534
TIMEOUT_S = 200
GLIBC = (2, 28)

TRAIN = """
import time
import footplate
for _ in range(20):
    with footplate.step():
        time.sleep(0.02)
print("hooked", footplate.enabled())
"""

# The dashboard answers its own user only, so its user asks: the page, and a script that it loads.
FETCH = """
import re, sys, urllib.request
def get(path):
    return urllib.request.urlopen(sys.argv[1] + path, timeout=20).read().decode()
page = get("")
script = re.search(r'src="/?([^"]+[.]js)"', page)[1]
print(page.lower().startswith("<!doctype html>"), len(get(script)) > 1000)
"""


def version() -> str:
    found = re.search(
        r"project\(footplate VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()
    )
    assert found
    return found[1]


def system_python() -> str:
    return "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable


class User:
    """An ordinary user with a home of its own: nobody when the tests run as root."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.env = {"HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
        self.prefix: list[str] = []
        if os.getuid() == 0:
            os.chown(home, NOBODY, NOBODY)
            self.prefix = [
                "/usr/bin/setpriv",
                f"--reuid={NOBODY}",
                f"--regid={NOBODY}",
                "--clear-groups",
            ]

    def start(self, *command: str | Path, **options: object) -> subprocess.Popen[str]:
        settings: dict[str, object] = {
            "env": self.env,
            "cwd": self.home,
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "text": True,
        }
        words = [*self.prefix, *map(str, command)]
        return subprocess.Popen(words, **(settings | options))  # type: ignore[call-overload]

    def run(self, *command: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
        process = self.start(*command, **options)
        try:
            out, err = process.communicate(timeout=TIMEOUT_S)
        finally:
            process.kill()
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def copy(self, file: Path) -> Path:
        """A file where this user can read it: the checkout may be in a folder of root's."""
        return Path(shutil.copy(file, self.home))

    def must(self, *command: str | Path, **options: object) -> str:
        done = self.run(*command, **options)
        assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
        return done.stdout


@contextmanager
def ordinary_user() -> Iterator[User]:
    home = Path(tempfile.mkdtemp(prefix="footplate-package-"))
    try:
        yield User(home)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def records_serves_and_reports(user: User, footplate: Path, python: str | Path) -> None:
    """What everybody does first with what they have installed."""
    (user.home / "train.py").write_text(TRAIN)
    runs = user.home / "runs"
    done = user.run(footplate, "run", "--dir", runs, "--", python, "train.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "hooked True\n"
    shown = json.loads(user.must(footplate, "steps", "last", "--dir", runs, "--json"))
    assert [rank["count"] for rank in shown["ranks"]] == [20]

    server = user.start(footplate, "serve", "--dir", runs, "--port", "0")
    try:
        assert server.stderr
        address = re.search(r"http://127\.0\.0\.1:\d+/", server.stderr.readline())
        assert address
        assert user.must(system_python(), "-c", FETCH, address[0]) == "True True\n"
    finally:
        server.terminate()
        server.communicate(timeout=30)
    user.must(footplate, "report", "last", "--dir", runs, "-o", user.home / "report.html")
    assert "</html>" in (user.home / "report.html").read_text()


def elf_files(folder: Path) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file() and p.read_bytes()[:4] == b"\x7fELF"]


def newest_glibc(file: Path) -> tuple[int, ...]:
    """The newest glibc that the dynamic symbols of a file ask for."""
    shown = subprocess.run(
        ["readelf", "--version-info", "--wide", file], capture_output=True, text=True, check=True
    )
    found = re.findall(r"GLIBC_(\d+(?:\.\d+)+)", shown.stdout)
    return max((tuple(map(int, v.split("."))) for v in found), default=(0,))


def needed_libraries(file: Path) -> set[str]:
    shown = subprocess.run(["readelf", "-d", file], capture_output=True, text=True, check=True)
    return set(re.findall(r"NEEDED.*\[(.*)\]", shown.stdout))
