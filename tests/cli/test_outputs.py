# SPDX-License-Identifier: Apache-2.0
"""Runs of earlier programs open, and all outputs for them are what they were."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

GOLDEN = Path(__file__).parent.parent / "golden"


def test_every_output_for_recorded_runs_is_byte_for_byte_what_it_was(footplate: Path) -> None:
    command = [sys.executable, GOLDEN / "outputs.py", footplate]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_run_that_version_0_1_recorded_has_its_steps_operators_and_losses(
    fp: Callable[..., str],
) -> None:
    """Two ranks below torchrun on two GPUs, with a detail window and a price."""
    run = GOLDEN / "recorded"
    show = json.loads(fp("show", run, "--json"))
    assert (show["status"], show["exit_status"], show["nodes"][0]["gpus"]) == ("finished", 0, 2)
    assert any(loss["what"].startswith("gpu1") for loss in show["losses"])
    ranks = json.loads(fp("steps", run, "--json"))["ranks"]
    assert [(r["rank"], r["mode"], r["count"]) for r in ranks] == [
        (0, "train", 20),
        (0, "eval", 4),
        (1, "train", 20),
        (1, "eval", 4),
    ]
    operators = json.loads(fp("ops", run, "--json"))
    assert {"aten::addmm", "aten::conv2d"} & {op["name"] for op in operators}
