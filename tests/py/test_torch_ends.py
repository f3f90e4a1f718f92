# SPDX-License-Identifier: Apache-2.0
"""PyTorch programs that end in many ways: all is told up to the end, and they behave as ever."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from pykit import plain_env
from talk import QUIET, SCRIPTS, Runner, need

ENDS = SCRIPTS / "torch_ends.py"
TIMEOUT_S = 200
RANKS = QUIET | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}


@pytest.fixture(autouse=True)
def torch() -> None:
    need("torch")


def counts(events: list[dict], pid: int | None = None) -> Counter:
    mine = [e for e in events if e["kind"] == "span_begin" and pid in (None, e["pid"])]
    return Counter(e["name"] for e in mine)


@pytest.mark.parametrize(
    ("how", "status", "steps"),
    [("well", 0, 4), ("os_exit", 7, 2), ("exit", 3, 2), ("sigkill", -signal.SIGKILL, 2)],
)
def test_all_events_up_to_the_end_are_there(hooked, ring, how, status, steps):
    done = hooked(ENDS, how)
    assert done.returncode == status
    told = counts(ring.events())
    assert told["optimizer"] == told["backward"] == steps
    assert told["forward"] == min(steps + 1, 4)  # it ended in the third
    assert told["data"] == (5 if how == "well" else 3)


def test_a_forked_child_trains_under_its_own_process_id(hooked, ring):
    done = hooked(ENDS, "fork")
    assert done.returncode == 0, done.stderr
    events = ring.events()
    pids = {e["pid"] for e in events}
    assert len(pids) == 2
    for pid in pids:
        assert counts(events, pid)["optimizer"] == 4


@pytest.mark.parametrize(
    "how", ["well", "raise", "warn", "exit", "shape", "dataset", "worker", "backward"]
)
def test_output_and_status_are_byte_for_byte_the_same(hooked, plain, how):
    ours, theirs = hooked(ENDS, how), plain(ENDS, how)
    assert ours.returncode == theirs.returncode
    assert ours.stdout == theirs.stdout
    assert ours.stderr == theirs.stderr


# Each breaks what a hook does itself, before the program begins.
BROKEN = {
    "loader": "import footplate.hooks.torch_loader as h; h.boundary = None",
    "optimizer": "import footplate.hooks.torch_optimizer as h; h.index_of = None",
    "forward": "import footplate.hooks.torch_forward as h; h.windows = None",
    "install": "import footplate.hooks.torch_backward as h; h.install = None",
    "import": "import sys; sys.modules['footplate.hooks.torch_forward'] = None",
    "gate": "import footplate._core as c; c.Gate = None",
}


@pytest.mark.parametrize("which", BROKEN)
def test_a_hook_that_fails_costs_its_marks_and_nothing_else(hooked, plain, ring, which):
    go = "import runpy, sys; sys.argv = ['x', 'well']; "
    go += f"runpy.run_path({str(ENDS)!r}, None, '__main__')"
    ours = hooked("-c", f"{BROKEN[which]}\n{go}")
    assert (ours.returncode, ours.stderr) == (0, "")
    assert ours.stdout == plain("-c", go).stdout != ""
    assert ring.losses(), "nobody was told"


def torchrun(env: dict[str, str], folder: Path) -> None:
    """Two ranks of torch_ddp.py, all on this machine."""
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    command += ["--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0"]
    command += ["--local-addr", "127.0.0.1", SCRIPTS / "torch_ddp.py"]
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        command, env=env, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S
    )
    assert done.returncode == 0, done.stderr


def test_two_ranks_of_torchrun_tell_their_steps_and_collectives(ring, tmp_path):
    torchrun(ring.env(RANKS), tmp_path)
    events = ring.events()
    assert ring.losses() == []
    for rank in (0, 1):
        said = json.loads((tmp_path / f"rank-{rank}.json").read_text())
        assert said["gathered"] == [0, 1]
        mine = [e for e in events if e["pid"] == said["pid"]]
        facts = {e["name"]: e["value"] for e in mine if e["name"].startswith("process.")}
        assert facts == {
            "process.rank": rank,
            "process.world_size": 2,
            "process.local_rank": rank,
        }
        told = counts(mine)
        assert {k: told[k] for k in ("data", "forward", "backward", "optimizer")} == {
            "data": 5,
            "forward": 4,  # of the wrapper, once
            "backward": 4,
            "optimizer": 4,
        }
        assert told["comm.all_reduce"] == 4
        assert told["comm.all_gather_object"] == told["comm.barrier"] == 1
        assert told["comm.all_gather"] == 0  # a part of all_gather_object


def test_the_ranks_compute_the_same_without_hooks(ring, tmp_path):
    losses = []
    for name, env in (("plain", plain_env(RANKS)), ("hooked", ring.env(RANKS))):
        torchrun(env, tmp_path / name)
        losses.append(json.loads((tmp_path / name / "rank-0.json").read_text())["losses"])
    assert losses[0] == losses[1]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_the_compiler_sees_nothing_of_us(package, ring_dump, tmp_path, backend):
    runner = Runner(package, ring_dump, tmp_path)
    plain = runner.plain("torch_compiles.py", backend)
    hooked = runner.hooked("torch_compiles.py", backend)
    assert plain.status == hooked.status == 0, hooked.stderr
    assert hooked.stdout == plain.stdout
    assert "'unique_graphs': 1" in plain.stdout
    when = re.compile(r"^([A-Z])\d+ [\d:.]+ \d+ ", re.MULTILINE)  # of a line of torch's log
    assert when.sub(r"\1 ", hooked.stderr) == when.sub(r"\1 ", plain.stderr)
    assert hooked.losses() == []
    told = Counter(e["name"] for e in hooked.events if e["kind"] == "span_begin")
    assert told["compile"] > 8  # one in each scene at least
    assert told["forward"] == 19  # every call from outside, compiled or not
