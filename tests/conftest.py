# SPDX-License-Identifier: Apache-2.0
"""What all Python tests share: the program, the example, and a place for runs."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TIMEOUT_S = 120

# A test run in the background begins with these ignored, and so would every job of a test.
for _ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(_ignored) == signal.SIG_IGN:
        signal.signal(
            _ignored,
            signal.default_int_handler if _ignored == signal.SIGINT else signal.SIG_DFL,
        )

HEAVY = Path(__file__).with_name("heavy.txt")


def heavy_tests() -> dict[str, str]:
    """FILE or FILE::TEST of heavy.txt, each with its reason."""
    rows = [line for line in HEAVY.read_text().splitlines() if line and not line.startswith("#")]
    return {test.strip(): why.strip() for test, _, why in (row.partition("|") for row in rows)}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--weight",
        choices=("all", "light", "heavy"),
        default="all",
        help="run all tests, those of `make test` (light), or only those of tests/heavy.txt",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what was not asked for: deselected tests are counted, not skipped."""
    weight = config.getoption("--weight")
    if weight == "all":
        return
    table = heavy_tests()
    taken: dict[bool, list[pytest.Item]] = {True: [], False: []}
    for item in items:
        file = item.path.relative_to(ROOT).as_posix()
        test = f"{file}::{item.originalname if isinstance(item, pytest.Function) else item.name}"
        taken[(file in table or test in table) == (weight == "heavy")].append(item)
    config.hook.pytest_deselected(items=taken[False])
    items[:] = taken[True]


RunFp = Callable[..., "subprocess.CompletedProcess[str]"]


def program(variable: str, default: str) -> Path:
    """The program a variable names, or the one `make build` leaves; without it, no test can run."""
    path = Path(os.environ.get(variable) or ROOT / default).absolute()
    if not os.access(path, os.X_OK):
        pytest.exit(f"{path} is missing: run `make build` first, or set {variable}", returncode=1)
    return path


@pytest.fixture(scope="session")
def footplate() -> Path:
    """The program under test."""
    return program("FOOTPLATE_BIN", "build/footplate")


@pytest.fixture(scope="session")
def train() -> Path:
    """The training program of examples/c."""
    return program("FOOTPLATE_TRAIN", "build/release/examples/c/train")


@pytest.fixture
def tmp_runs(tmp_path: Path) -> Path:
    """An empty folder for runs, this test's own."""
    runs = tmp_path / "runs"
    runs.mkdir()
    return runs


@pytest.fixture
def run_fp(footplate: Path) -> RunFp:
    """run_fp("show", "last", cwd=...): runs the program to its end and hands back status and text.

    Other keywords go to subprocess.run.
    """

    def run(*args: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
        command = [str(footplate), *map(str, args)]
        settings: dict[str, object] = {
            "capture_output": True,
            "text": True,
            "timeout": TIMEOUT_S,
            "stdin": subprocess.DEVNULL,
        }
        return subprocess.run(command, **(settings | options))  # type: ignore[call-overload]

    return run


@pytest.fixture
def foreign() -> Callable[[str], Path]:
    """foreign("sagemaker/test_traces"): what others wrote, which is no part of the project: in the
    folder that FOOTPLATE_TRACES names, or beside the checkout. Without it, the test is skipped."""
    folder = Path(os.environ.get("FOOTPLATE_TRACES") or ROOT.parent / "shared" / "data")

    def path(name: str) -> Path:
        if not (folder / name).exists():
            pytest.skip(f"no {folder / name}: FOOTPLATE_TRACES names no folder that has it")
        return folder / name

    return path


MEMORY_GROUPS = [Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")]  # version 1, 2


@pytest.fixture
def memory_group() -> Iterator[Callable[[int], Callable[[], None]]]:
    """memory_group(LIMIT): what a child calls to enter a control group with that much memory."""
    made: list[Path] = []

    def make(limit: int) -> Callable[[], None]:
        for root in MEMORY_GROUPS:
            path = root / f"footplate-test-{os.getpid()}"
            bound = path / ("memory.limit_in_bytes" if root.name == "memory" else "memory.max")
            try:
                path.mkdir()
                bound.write_text(str(limit))
            except OSError:
                if path.is_dir():
                    path.rmdir()
                continue
            made.append(path)

            def enter(group: Path = path) -> None:
                (group / "cgroup.procs").write_text("0")

            return enter
        pytest.skip("SKIPPED: this user may not make a control group with a memory limit")

    yield make
    for path in made:
        path.rmdir()
