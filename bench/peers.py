# SPDX-License-Identifier: Apache-2.0
"""The programs and packages that Footplate is measured against, installed when they are missing.

apt packages are installed for the whole machine but never started as services; Python packages go
into a virtual environment of their own.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

from harness import Skipped

# name: (apt packages, program)
PROGRAMS = {
    "node-exporter": ("prometheus-node-exporter", "prometheus-node-exporter"),
    "victoria-metrics": ("victoria-metrics", "victoria-metrics"),
    "wrk": ("wrk", "wrk"),
    "nginx": ("nginx-light", "/usr/sbin/nginx"),
    "lttng": ("lttng-tools liblttng-ust-dev", "lttng-sessiond"),
}

# name: (apt packages, header)
LIBRARIES = {
    "simdjson": ("libsimdjson-dev", "/usr/include/simdjson.h"),
}

# name: (requirement, module)
PACKAGES = {
    "psutil": ("psutil==7.2.2", "psutil"),
    "numpy": ("numpy==2.4.6", "numpy"),
    "pandas": ("pandas==3.0.3", "pandas"),
    # Where PyPI has a CPU build of this version that is what comes; it is only measured on the CPU.
    "torch": ("torch==2.13.0", "torch"),
    "tensorboard": ("tensorboard==2.21.0", "tensorboard"),
    "hta": ("HolisticTraceAnalysis==0.5.0", "HolisticTraceAnalysis"),
}

# What watches tensors during training, in an environment of their own: smdebug is of 2022 and needs
# NumPy, pandas and protobuf of then.
WATCHERS = [
    "torch==2.13.0",
    "numpy==2.2.6",
    "wandb==0.25.0",
    "smdebug==1.0.34",
    "protobuf==3.20.3",
    "pandas==2.2.3",
    "requests==2.34.2",
    "psutil==7.2.2",
]


def _run(command: list[str], env: dict[str, str] | None = None) -> bool:
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    if done.returncode:
        print(f"  {' '.join(command)}: {done.stderr.strip()[-300:]}", file=sys.stderr)
    return done.returncode == 0


def _as_root(command: list[str]) -> list[str]:
    return command if os.geteuid() == 0 else ["sudo", "-n", *command]


def _install_program(package: str, program: str) -> None:
    if shutil.which(program) or os.path.exists(program):
        return
    if not shutil.which("apt-get"):
        raise Skipped(f"{program} is not installed, and there is no apt-get")
    print(f"installing {package} with apt-get", file=sys.stderr)
    # A policy of 101 keeps the package from starting its service.
    policy = pathlib.Path("/usr/sbin/policy-rc.d")
    mine = not policy.exists() and os.geteuid() == 0
    if mine:
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
    try:
        env = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        _run(_as_root(["apt-get", "update", "-qq"]), env)
        command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *package.split()]
        if not _run(_as_root(command), env):
            raise Skipped(f"apt-get could not install {package}")
    finally:
        if mine:
            policy.unlink()


def _make_venv(venv: pathlib.Path) -> None:
    if (venv / "bin" / "pip").exists():
        return
    for python in (sys.executable, "/usr/bin/python3"):
        if _run([python, "-m", "venv", "--clear", str(venv)]):
            return
    raise Skipped(f"no Python here could make {venv}; is python3-venv installed?")


def _install_package(venv: pathlib.Path, requirement: str, module: str) -> None:
    _make_venv(venv)
    python = str(venv / "bin" / "python")
    wanted = requirement.partition("==")[2]
    check = (
        "from importlib.metadata import version; "
        f"assert version('{module}').partition('+')[0] == '{wanted}'"
    )
    if subprocess.run([python, "-c", check], capture_output=True).returncode == 0:
        return
    print(f"installing {requirement} into {venv}", file=sys.stderr)
    install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", requirement]
    if _run(install):
        return
    raise Skipped(f"pip could not install {requirement}")


def ensure_watchers(venv: pathlib.Path) -> None:
    _make_venv(venv)
    python = str(venv / "bin" / "python")
    if not _run([python, "-c", "import smdebug.pytorch, torch, wandb"]):
        print(f"installing {' '.join(WATCHERS)} into {venv}", file=sys.stderr)
        if not _run([python, "-m", "pip", "install", "-q", *WATCHERS]):
            raise Skipped("pip could not install torch, wandb and smdebug")


def ensure(name: str, venv: pathlib.Path) -> None:
    """Raises Skipped when the peer is not to be had."""
    if name in PROGRAMS or name in LIBRARIES:
        _install_program(*(PROGRAMS | LIBRARIES)[name])
    else:
        _install_package(venv, *PACKAGES[name])
