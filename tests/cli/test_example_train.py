# SPDX-License-Identifier: Apache-2.0
"""The example in examples/c really trains, and its switches do what they say."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

EPOCH = re.compile(
    r"^epoch +\d+ +loss (?P<loss>[\d.]+) +accuracy +(?P<accuracy>[\d.]+) %"
    r" +(?P<speed>\d+) samples/s +data wait +(?P<wait>[\d.]+) %$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Epoch:
    loss: float
    accuracy: float  # percent
    wait: float  # percent of the epoch


def run(train: Path, *args: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [train, *args], capture_output=True, text=True, timeout=120, env=os.environ | env
    )


def epochs(train: Path, *args: str) -> list[Epoch]:
    done = run(train, *args)
    assert done.returncode == 0, done.stderr
    return [
        Epoch(float(m["loss"]), float(m["accuracy"]), float(m["wait"]))
        for m in EPOCH.finditer(done.stdout)
    ]


def test_loss_falls_and_accuracy_rises(train: Path) -> None:
    seen = epochs(train, "--epochs", "8")
    assert len(seen) == 8
    assert seen[-1].loss < seen[0].loss / 5
    assert seen[-1].accuracy > 95


def test_slow_input_raises_the_share_of_waiting(train: Path) -> None:
    # With a network this wide the loader is far ahead; on a busy machine the steps take longer too.
    size = ("--seconds", "2", "--hidden", "256")
    fast, slow = epochs(train, *size), epochs(train, *size, "--slow-input")
    assert slow[0].wait > 20
    assert fast[0].wait < slow[0].wait / 2


def test_a_seed_gives_the_same_losses_with_any_number_of_workers(train: Path) -> None:
    def results(*args: str) -> list[tuple[float, float]]:
        return [(e.loss, e.accuracy) for e in epochs(train, "--epochs", "2", *args)]

    once = results("--seed", "7", "--workers", "1")
    assert once == results("--seed", "7", "--workers", "1")
    assert once == results("--seed", "7", "--workers", "3")
    assert once != results("--seed", "8", "--workers", "1")


def test_seconds_end_the_run(train: Path) -> None:
    began = time.monotonic()
    assert epochs(train, "--seconds", "1")
    assert 0.9 < time.monotonic() - began < 5


def test_the_checkpoint_is_kept_only_where_asked_for(train: Path, tmp_path: Path) -> None:
    out, scratch = tmp_path / "out", tmp_path / "scratch"
    scratch.mkdir()
    done = run(train, "--seconds", "0.3", "--out", out, TMPDIR=str(scratch))
    assert done.returncode == 0, done.stderr
    assert [p.name for p in out.iterdir()] == ["model.ckpt"]
    assert run(train, "--seconds", "0.3", TMPDIR=str(scratch)).returncode == 0
    assert list(scratch.iterdir()) == []


def test_sigterm_ends_the_run_tidily_and_is_seen_by_the_parent(train: Path, tmp_path: Path) -> None:
    job = subprocess.Popen(
        [train, "--seconds", "60"],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    assert job.stdout and job.stdout.readline().startswith("epoch")
    job.terminate()
    rest, _ = job.communicate(timeout=20)
    assert "done:" in rest
    assert job.returncode == -signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--epochs", "many"], "--epochs needs a whole number from 1 to 1000000, not 'many'"),
        (["--epochs", "1.5"], "--epochs needs a whole number"),
        (["--workers", "0"], "--workers needs a whole number from 1 to 64, not '0'"),
        (["--seconds", "-1"], "--seconds needs a number"),
        (["--batch"], "--batch needs a value"),
        (["--quick"], "unknown option '--quick'"),
        (["now"], "unknown option 'now'"),
    ],
)
def test_bad_arguments_give_a_sentence(train: Path, args: list[str], sentence: str) -> None:
    done = run(train, *args)
    assert done.returncode == 2
    assert done.stderr.startswith("train: ")
    assert sentence in done.stderr
    assert done.stdout == ""


def test_a_folder_that_cannot_be_made_gives_a_sentence(train: Path, tmp_path: Path) -> None:
    done = run(train, "--epochs", "1", "--out", tmp_path / "not" / "there")
    assert done.returncode == 1
    assert "cannot make the folder" in done.stderr


def test_help_names_every_switch(train: Path) -> None:
    done = run(train, "--help")
    assert done.returncode == 0
    for name in ("epochs", "batch", "hidden", "workers", "slow-input", "seconds", "seed", "out"):
        assert f"--{name}" in done.stdout
