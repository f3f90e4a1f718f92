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
from pykit import Done, Ring, new_ring, plain_env
from talk import QUIET, SCRIPTS, Runner, need, need_torch, torch_version

ENDS = SCRIPTS / "torch_ends.py"
TIMEOUT_S = 200
ENDED = {"well": (0, 4), "os_exit": (7, 2), "exit": (3, 2), "sigkill": (-signal.SIGKILL, 2)}
RANKS = QUIET | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}


@pytest.fixture(autouse=True)
def torch() -> None:
    need("torch")


def counts(events: list[dict], pid: int | None = None) -> Counter:
    mine = [e for e in events if e["kind"] == "span_begin" and pid in (None, e["pid"])]
    return Counter(e["name"] for e in mine)


def check_end(done: Done, ring: Ring, how: str) -> None:
    status, steps = ENDED[how]
    assert done.returncode == status
    told = counts(ring.events())
    assert told["optimizer"] == told["backward"] == steps
    assert told["forward"] == min(steps + 1, 4)  # it ended in the third
    assert told["data"] == (5 if how == "well" else 3)


@pytest.mark.parametrize("how", ["well", "sigkill"])
def test_all_events_up_to_the_end_are_there(hooked, ring, how):
    check_end(hooked(ENDS, how), ring, how)


@pytest.mark.parametrize("how", ["os_exit", "exit"])
def test_all_events_are_there_where_torch_was_before_the_hooks(torch_hooked, ring, how):
    check_end(torch_hooked(ENDS, how), ring, how)


def test_a_forked_child_trains_under_its_own_process_id(torch_hooked, ring):
    done = torch_hooked(ENDS, "fork")
    assert done.returncode == 0, done.stderr
    events = ring.events()
    pids = {e["pid"] for e in events}
    assert len(pids) == 2
    for pid in pids:
        assert counts(events, pid)["optimizer"] == 4


def assert_same(ours: Done, theirs: Done) -> None:
    assert ours.returncode == theirs.returncode
    assert ours.stdout == theirs.stdout
    assert ours.stderr == theirs.stderr


@pytest.mark.parametrize("how", ["raise", "worker"])
def test_output_and_status_are_byte_for_byte_the_same(hooked, plain, how):
    assert_same(hooked(ENDS, how), plain(ENDS, how))


@pytest.mark.parametrize("how", ["well", "warn", "exit", "shape", "dataset", "backward"])
def test_the_same_where_torch_was_there_before_the_hooks(torch_hooked, torch_plain, how):
    assert_same(torch_hooked(ENDS, how), torch_plain(ENDS, how))


# Each breaks what a hook does itself, before the program begins.
BROKEN = {
    "loader": "import footplate.hooks.torch_loader as h; h.boundary = None",
    "optimizer": "import footplate.hooks.torch_optimizer as h; h.index_of = None",
    "forward": "import footplate.hooks.torch_forward as h; h.windows = None",
    "install": "import footplate.hooks.torch_backward as h; h.install = None",
    "import": "import sys; sys.modules['footplate.hooks.torch_forward'] = None",
    "gate": "import footplate._core as c; c.Gate = None",
}


GO = f"import runpy, sys; sys.argv = ['x', 'well']; runpy.run_path({str(ENDS)!r}, None, '__main__')"


def check_broken(ours: Done, theirs: Done, ring: Ring) -> None:
    assert (ours.returncode, ours.stderr) == (0, "")
    assert ours.stdout == theirs.stdout != ""
    assert ring.losses(), "nobody was told"


@pytest.mark.parametrize("which", BROKEN)
def test_a_hook_that_fails_costs_its_marks_and_nothing_else(torch_plain, ring, package, which):
    """The hooks come by init(), so that they can be broken before."""
    env = {"PYTHONPATH": str(package), "FOOTPLATE_RING": str(ring.folder)}
    init = "import footplate; assert footplate.init()"
    ours = torch_plain("-c", f"{BROKEN[which]}\n{init}\n{GO}", env=env)
    check_broken(ours, torch_plain("-c", GO), ring)


def test_the_same_of_a_hook_that_fails_while_torch_is_imported(hooked, torch_plain, ring):
    check_broken(hooked("-c", f"{BROKEN['forward']}\n{GO}"), torch_plain("-c", GO), ring)


def launch(env: dict[str, str], folder: Path, *script: str) -> subprocess.CompletedProcess[str]:
    """Two ranks of a script, all on this machine. Ranks that hang are ended by their launcher: one
    that is killed leaves them behind."""
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2"]
    command += ["--rdzv_backend", "c10d", "--rdzv_endpoint", "127.0.0.1:0"]
    if torch_version() >= (2, 0):
        command += ["--local_addr", "127.0.0.1"]
    command += [SCRIPTS / script[0], *script[1:]]
    folder.mkdir(exist_ok=True)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=env, cwd=folder, text=True, **pipes) as launcher:
        try:
            told = launcher.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            launcher.terminate()
            raise
        return subprocess.CompletedProcess(command, launcher.returncode, *told)


def torchrun(env: dict[str, str], folder: Path, *script: str) -> None:
    """On a busy machine torch aborts now and then when a rank ends, without hooks as with them,
    because a thread of its own still runs. Such a run is tried again."""
    for _ in range(4):
        done = launch(env, folder, *script)
        if "terminate called without an active exception" not in done.stderr:
            break
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def ranks(package, ring_dump, tmp_path_factory):
    """What two ranks with hooks told, and what each said itself."""
    need("torch")
    folder = tmp_path_factory.mktemp("ranks")
    with new_ring(package, ring_dump) as ring:
        torchrun(ring.env(RANKS), folder, "torch_ddp.py")
        assert ring.losses() == []
        said = [json.loads((folder / f"rank-{rank}.json").read_text()) for rank in (0, 1)]
        return ring.events(), said


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_of_torchrun_tells_its_steps_and_collectives(ranks, rank):
    events, said = ranks[0], ranks[1][rank]
    assert said["gathered"] == [0, 1]
    mine = [e for e in events if e["pid"] == said["pid"]]
    facts = {e["name"]: e["value"] for e in mine if e["name"].startswith("process.")}
    assert facts == {"process.rank": rank, "process.world_size": 2, "process.local_rank": rank}
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


def test_the_ranks_compute_the_same_without_hooks(ranks, tmp_path):
    torchrun(plain_env(RANKS), tmp_path, "torch_ddp.py")
    plain = json.loads((tmp_path / "rank-0.json").read_text())
    assert plain["losses"] == ranks[1][0]["losses"]


SHARDS = {
    "wrapper": {"_flat_param": 4},
    "function": {"0.weight": 4, "0.bias": 4, "2.weight": 4, "2.bias": 4},
}


@pytest.mark.parametrize(("how", "since"), [("wrapper", (2, 4)), ("function", (2, 6))])
def test_ranks_that_share_the_model_tell_its_gathering_and_scattering(
    package, ring_dump, tmp_path, how, since
):
    """And statistics of their shards, which are no copies: no sums of words are compared."""
    need_torch(*since, what=f"FSDP on a CPU by the {how}")
    with new_ring(package, ring_dump) as ring:
        ring.ask(health={"mode": "on", "every": 1})
        env = ring.env(RANKS | {"PYTHONPATH": str(package)})
        torchrun(env, tmp_path / "hooked", "torch_fsdp.py", how)
        events = ring.events()
        assert ring.losses() == []
    torchrun(plain_env(RANKS), tmp_path / "plain", "torch_fsdp.py", how)
    for rank in (0, 1):
        said, plain = (
            json.loads((tmp_path / which / f"rank-{rank}.json").read_text())
            for which in ("hooked", "plain")
        )
        assert said["losses"] == plain["losses"]
        told = counts([e for e in events if e["pid"] == said["pid"]])
        assert [told[k] for k in ("forward", "backward", "optimizer")] == [4, 4, 4]
        gathers = sum(n for name, n in told.items() if name.startswith("comm.all_gather"))
        scatters = sum(n for name, n in told.items() if name.startswith("comm.reduce_scatter"))
        assert gathers >= 4 and scatters >= 4, told
        assert said["gradients"] == SHARDS[how]
        assert said["sharded"] == 4
        assert said["sums"] == []


# Compilers before 2.2 know functions by their exact type only. They break where they would without
# us, but give another reason.
GRAD_BREAKS = re.compile(r"inlining disallowed: <function grad at \w+>|call_\w+ .*?\(Gate\)[^']*")


def graphs(stdout: str) -> str:
    return GRAD_BREAKS.sub("grad", stdout) if torch_version() < (2, 2) else stdout


def test_the_compiler_sees_nothing_of_us(package, ring_dump, tmp_path):
    need_torch(2, 0, what="torch.compile")
    runner = Runner(package, ring_dump, tmp_path)
    plain = runner.plain("torch_compiles.py", "eager", "aot_eager")
    if "not yet supported for torch.compile" in plain.stdout:
        pytest.skip("this torch does not compile with this Python")
    hooked = runner.hooked("torch_compiles.py", "eager", "aot_eager")
    assert plain.status == hooked.status == 0, hooked.stderr
    assert graphs(hooked.stdout) == graphs(plain.stdout)
    assert "'unique_graphs': 1" in plain.stdout
    # Of a line of torch's log, newer and older.
    when = re.compile(r"^([A-Z])\d+ [\d:.]+ \d+ |^()\[[\d-]+ [\d:,]+\]", re.MULTILINE)
    assert when.sub(r"\1 ", hooked.stderr) == when.sub(r"\1 ", plain.stderr)
    assert hooked.losses() == []
    told = Counter(e["name"] for e in hooked.events if e["kind"] == "span_begin")
    assert told["compile"] > 16  # one in each scene at least, for each backend
    assert told["optimizer"] == 36  # also of those that were made before the compiler was there
    if torch_version() >= (2, 8):  # others call modules of a graph one by one, and while they trace
        assert told["forward"] == 38  # every call from outside, compiled or not
