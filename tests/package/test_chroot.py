# SPDX-License-Identifier: Apache-2.0
"""A Debian with Python and nothing else: a user without rights sees the page of the wheel.

The chroot is made once, in build/chroot, by mmdebstrap with this machine's apt sources.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from packagekit import FETCH, ROOT

pytestmark = pytest.mark.slow

SUITE = "bookworm"
MAKE_S = 300
UID = 1000
JOB = """
import os, time
import footplate
print("hooked", footplate.enabled(), flush=True)
while not os.path.exists("stop"):
    with footplate.step():
        time.sleep(0.02)
"""
INSTALL_AND_RUN = """
cd ~ && python3 -m venv v && v/bin/pip install -q --no-index footplate-*.whl &&
exec v/bin/footplate run --serve -- python3 train.py
"""


@pytest.fixture(scope="module")
def chroot() -> Path:
    if os.getuid() != 0 or not shutil.which("mmdebstrap"):
        pytest.skip("needs root and mmdebstrap")
    folder = ROOT / "build/chroot" / SUITE
    if not (folder / "usr/bin/python3").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        command = [
            "mmdebstrap",
            "--variant=essential",
            "--include=python3,python3-venv",
            SUITE,
            folder,
        ]
        try:
            made = subprocess.run(command, capture_output=True, text=True, timeout=MAKE_S)
        except subprocess.TimeoutExpired:
            pytest.skip(f"mmdebstrap took longer than {MAKE_S} s")
        if made.returncode:
            shutil.rmtree(folder, ignore_errors=True)
            pytest.skip(f"mmdebstrap cannot make {SUITE}: {made.stderr.strip()[-300:]}")
    return folder


@pytest.fixture
def home(chroot: Path) -> Path:
    folder = chroot / "home/user"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.chown(folder, UID, UID)
    return folder


def inside(chroot: Path, script: str, *args: str) -> subprocess.Popen[str]:
    """Starts a shell script as the user, with a /proc of its own and this machine's network.

    There is no /dev/shm that the user could write to, as in some containers.
    """
    user = ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", "--no-new-privs"]
    enter = f"mount -t proc proc '{chroot}/proc' && exec /usr/sbin/chroot '{chroot}' \"$@\""
    return subprocess.Popen(
        ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", enter, "sh", *user]
        + ["sh", "-c", script, "sh", *args],
        env={"HOME": "/home/user", "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_in_a_bare_debian_an_ordinary_user_installs_the_wheel_and_sees_the_page(
    chroot: Path, home: Path, wheel: Path
) -> None:
    shutil.copy(wheel, home)
    (home / "train.py").write_text(JOB)
    run = inside(chroot, INSTALL_AND_RUN)
    assert run.stderr and run.stdout
    try:
        lines, address = "", None
        while not address and (line := run.stderr.readline()):
            lines += line
            address = re.search(r"dashboard at (http://127\.0\.0\.1:\d+/)", line)
        assert address, lines
        said = run.stdout.readline()
        assert said == "hooked True\n", lines + run.communicate(timeout=60)[1]
        fetch = inside(chroot, 'exec python3 -c "$1" "$2"', FETCH, address[1])
        page, failure = fetch.communicate(timeout=60)
        assert page == "True True\n", failure
        (home / "stop").touch()
        run.communicate(timeout=60)
        assert run.returncode == 0
    finally:
        run.kill()
        run.wait()
