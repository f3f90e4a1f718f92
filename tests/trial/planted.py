# SPDX-License-Identifier: Apache-2.0
"""PyTorch programs with one problem each, such as users have. The knobs are set to the problem;
trial.py says which rule must find it, and bench/advice.py turns them as the advice says."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import torch
from kit import Job, Knobs, Program, main, network, ready_loader, tensors, train
from torch import nn
from torch.utils.data import DataLoader, Dataset

# ---- data ----


class Decoded(Dataset[Any]):
    """Samples that cost CPU time, as JPEG files and augmentation in Python do."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds

    def __len__(self) -> int:
        return 4096

    def __getitem__(self, at: int) -> Any:
        total = 0.0
        for i in range(self.rounds):
            total += math.sin(at + i)
        return torch.full((256,), total), at % 10


class Remote(Dataset[Any]):
    """Samples that come from elsewhere: the worker waits."""

    def __init__(self, wait_s: float) -> None:
        self.wait_s = wait_s

    def __len__(self) -> int:
        return 4096

    def __getitem__(self, at: int) -> Any:
        time.sleep(self.wait_s)
        return torch.full((256,), float(at)), at % 10


def decode(job: Job) -> None:
    workers = job.knob("workers")
    loader = DataLoader(
        Decoded(8000), batch_size=64, num_workers=workers, persistent_workers=workers > 0
    )
    train(job, loader)


def remote(job: Job) -> None:
    workers = job.knob("workers")
    loader = DataLoader(
        Remote(0.005), batch_size=32, num_workers=workers, persistent_workers=workers > 0
    )
    train(job, loader)


def in_memory(job: Job) -> None:
    """Small samples of a list in memory, collated one by one."""
    batch = job.knob("batch")
    x, y = tensors(1 << 14).tensors
    if job.knob("sliced"):
        slices = [(x[i : i + batch], y[i : i + batch]) for i in range(0, len(x), batch)]
        loader: Any = DataLoader(slices, batch_size=None)
    else:
        pairs = list(zip(x, y, strict=True))
        loader = DataLoader(pairs, batch_size=batch, num_workers=job.knob("workers"))
    train(job, loader, network(width=32))


def restarted(job: Job) -> None:
    """Short epochs, and the workers of each are new."""
    workers = job.knob("workers")
    loader = DataLoader(
        tensors(1024),
        batch_size=64,
        num_workers=workers,
        persistent_workers=bool(job.knob("persistent")),
    )
    train(job, loader)


class Cached(Dataset[Any]):
    """Samples that are written to a cache on disk, each one synced as a small data base does."""

    def __init__(self, file: int, synced: bool) -> None:
        self.file, self.synced = file, synced

    def __len__(self) -> int:
        return 4096

    def __getitem__(self, at: int) -> Any:
        if self.synced:
            os.pwrite(self.file, os.urandom(4096), at * 4096)
            os.fsync(self.file)
        return torch.full((256,), float(at)), at % 10


def storage(job: Job) -> None:
    with tempfile.TemporaryFile(dir=os.environ.get("TRIAL_DISK", "/var/tmp")) as file:
        data = Cached(file.fileno(), synced=not job.knob("in_memory"))
        train(job, DataLoader(data, batch_size=128), network(width=64))


# ---- what a loop does besides ----


class Keeps(nn.Module):
    """Keeps something of each batch: 256 KiB."""

    def __init__(self, keeps: bool) -> None:
        super().__init__()
        self.inner, self.keeps = network(), keeps
        self.kept: list[Any] = []

    def forward(self, x: Any) -> Any:
        if self.keeps:
            self.kept.append(torch.ones(1 << 16))
        return self.inner(x)


def leak(job: Job) -> None:
    train(job, ready_loader(), Keeps(bool(job.knob("keep"))))


def checkpoint(job: Job) -> None:
    model = network(width=2048)
    with tempfile.TemporaryDirectory(dir=os.environ.get("TRIAL_DISK", "/var/tmp")) as folder:

        def save(model: Any) -> None:
            if job.steps % job.knob("every") == 0:
                with open(Path(folder) / "last.pt", "wb") as file:
                    torch.save(model.state_dict(), file)
                    file.flush()
                    os.fsync(file.fileno())

        train(job, ready_loader(batch=32), model, after=save)


def evaluate(job: Job) -> None:
    held_out = ready_loader(count=40, batch=1024)

    def check(model: Any) -> None:
        if job.steps % job.knob("every"):
            return
        model.eval()
        with torch.no_grad():
            for inputs, _ in held_out:
                model(inputs)
        model.train()

    train(job, ready_loader(), after=check)


def between(job: Job) -> None:
    """A figure, a metric or a sleep behind each step."""

    def wait(_: Any) -> None:
        if job.steps % job.knob("every") == 0:
            time.sleep(0.1)

    train(job, ready_loader(), after=wait)


def stalls(job: Job) -> None:
    """Every 15th step takes much longer than the others, inside the step."""

    class Stalls(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = network()

        def forward(self, x: Any) -> Any:
            if job.knob("every") and job.steps % job.knob("every") == 0:
                time.sleep(0.25)
            return self.inner(x)

    train(job, ready_loader(), Stalls())


def ending(job: Job) -> None:
    train(job, ready_loader())
    time.sleep(job.knob("final_s"))  # an upload, a last evaluation in another program


def recompiles(job: Job) -> None:
    """torch.compile with a new shape now and then."""
    model = torch.compile(network(), dynamic=bool(job.knob("dynamic")))
    torch._dynamo.config.cache_size_limit = 64
    sizes = [32 + 8 * i for i in range(job.knob("shapes"))]

    class Shapes:
        def __len__(self) -> int:
            return 4000

        def __getitem__(self, at: int) -> Any:
            size = sizes[at // 40 % len(sizes)]
            return torch.randn(size, 256), torch.randint(10, (size,))

    train(job, DataLoader(Shapes(), batch_size=None), model)


# ---- the CPU ----


def threads(job: Job) -> None:
    torch.set_num_threads(job.knob("threads"))
    train(job, ready_loader(batch=128), network(width=256))


def gil(job: Job) -> None:
    """A thread of the same process computes in Python: metrics, logging, a progress server."""
    stop = threading.Event()

    def compute() -> None:
        total = 0
        while not stop.is_set():
            for i in range(100_000):
                total += i * i

    helpers = [threading.Thread(target=compute, daemon=True) for _ in range(job.knob("helpers"))]
    for helper in helpers:
        helper.start()
    train(job, ready_loader(batch=64), network(width=256))
    stop.set()


def neighbours(job: Job) -> None:
    """Nothing is wrong with it: trial.py starts other programs beside it."""
    train(job, ready_loader())


def limited(job: Job) -> None:
    """Nothing is wrong with it: trial.py gives it half a core, as a container may."""
    train(job, ready_loader())


def slow_rank(job: Job) -> None:
    """Two ranks; one has a slow disk or a full core: it sleeps in each of its steps."""
    context = multiprocessing.get_context("spawn")
    ranks = [context.Process(target=one_rank, args=(i, job.knobs, job.seconds)) for i in range(2)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()


def one_rank(rank: int, knobs: Knobs, seconds: float) -> None:
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    class Slow(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = network(width=256)

        def forward(self, x: Any) -> Any:
            if rank == 1 and knobs["sleep_ms"]:
                time.sleep(knobs["sleep_ms"] / 1000)
            return self.inner(x)

    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(int(knobs["port"]))}
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank)}
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    model = DistributedDataParallel(Slow())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    job = Job(knobs, seconds)
    job.begin()
    over = torch.zeros(1)
    while not over.item():
        for inputs, labels in ready_loader(batch=128):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()
            job.steps += 1
        over[0] = float(job.is_over)
        dist.broadcast(over, 0)
    if rank == 0:
        job.report()
    dist.destroy_process_group()


# ---- jobs that fail ----


def fails(job: Job) -> None:
    """An exception after some seconds, as for a file that is missing."""

    def fail(_: Any) -> None:
        if time.monotonic() - job.start > job.seconds / 2:
            raise FileNotFoundError("shard-00017.tar is missing")

    train(job, ready_loader(), after=fail)


def killed(job: Job) -> None:
    """Ended by the kernel or an operator."""

    def die(_: Any) -> None:
        if time.monotonic() - job.start > job.seconds / 2:
            os.kill(os.getpid(), signal.SIGKILL)

    train(job, ready_loader(), after=die)


PROGRAMS: dict[str, tuple[Program, Knobs]] = {
    "decode": (decode, {"workers": 0}),
    "remote": (remote, {"workers": 2}),
    "in_memory": (in_memory, {"workers": 0, "batch": 512, "sliced": 0}),
    "restarted": (restarted, {"workers": 2, "persistent": 0}),
    "storage": (storage, {"in_memory": 0}),
    "leak": (leak, {"keep": 1}),
    "checkpoint": (checkpoint, {"every": 2}),
    "evaluate": (evaluate, {"every": 20}),
    "between": (between, {"every": 1}),
    "stalls": (stalls, {"every": 15}),
    "ending": (ending, {"final_s": 14}),
    "recompiles": (recompiles, {"shapes": 40, "dynamic": 0}),
    "threads": (threads, {"threads": 32}),
    "gil": (gil, {"helpers": 1}),
    "neighbours": (neighbours, {}),
    "limited": (limited, {}),
    "slow_rank": (slow_rank, {"sleep_ms": 30, "port": 29517}),
    "fails": (fails, {}),
    "killed": (killed, {}),
}

# Those that use all cores; the others leave one to their workers and to the system.
ALL_CORES = ("threads", "neighbours", "limited")

if __name__ == "__main__":
    if sys.argv[1] not in ALL_CORES:
        torch.set_num_threads(1)
    main(PROGRAMS)
