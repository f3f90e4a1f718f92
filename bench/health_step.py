# SPDX-License-Identifier: Apache-2.0
"""health_step.py MODEL ROUNDS OUT: what the capture of training health adds to training steps.

Runs below `footplate run`. Blocks of steps follow each other: hooks without health (plain), with it
(health), and as peers do it: autograd's anomaly mode, `wandb.watch` and smdebug's hook. Writes for
every kind the mean step of each block in us of CPU time to OUT as JSON, and the time that was spent
in the capture itself, which noise does not hide.

MODEL: short, with steps of about 1 ms; long, of about 50 ms; large, 10 M parameters, sampled at
every step."""

from __future__ import annotations

import contextlib
import json
import pathlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from footplate.detail import boundary
from footplate.hooks import torch_health, torch_loader, torch_optimizer
from footplate.hooks import torch_marks as marks
from torch import nn
from torch.utils.data import DataLoader, Dataset

# batch, features, hidden, layers, steps of a block
SIZES = {
    "short": (128, 64, 192, 3, 400),
    "long": (512, 256, 896, 3, 40),
    "large": (32, 256, 1776, 3, 10),
}


class Ready(Dataset):
    """Batches that are there already."""

    def __init__(self, batch: int, features: int) -> None:
        self.batches = [
            (torch.randn(batch, features), torch.randint(10, (batch,))) for _ in range(8)
        ]

    def __len__(self) -> int:
        return 1 << 30

    def __getitem__(self, i: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.batches[i % 8]


class Capture:
    """Puts the capture into the gates and takes it out; measures what it takes itself."""

    def __init__(self) -> None:
        self.spent_ns = 0

    def _timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any) -> Any:
            begin = time.perf_counter_ns()
            try:
                return call(*args)
            finally:
                self.spent_ns += time.perf_counter_ns() - begin

        return timed

    def on(self) -> None:
        before, after = torch_optimizer._before_measured, torch_optimizer._after_measured
        marks.use("optimizer", self._timed(before), self._timed(after))
        marks.use("data", boundary.loop.before_fetch, self._timed(torch_loader._after_measured))
        marks.use("backward", self._timed(torch_health.before_backward), None)
        capture = torch_health._State.capture
        if capture is not None:
            capture.forwards = False
            capture.schedule.last_ns = 0
            capture.follow_forward(True)

    def off(self) -> None:
        marks.use("optimizer", boundary.loop.before_step, None)
        marks.use("data", boundary.loop.before_fetch, boundary.loop.after_fetch)
        marks.use("backward", None, None)
        marks.use("forward", None, None)


def make(size: str) -> tuple[nn.Module, Callable[[], None]]:
    batch, features, hidden, layers, _ = SIZES[size]
    parts: list[nn.Module] = [nn.Linear(features, hidden), nn.ReLU()]
    for _ in range(layers):
        parts += [nn.Linear(hidden, hidden), nn.ReLU()]
    net = nn.Sequential(*parts, nn.Linear(hidden, 10))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001)
    batches = iter(DataLoader(Ready(batch, features), batch_size=None))

    def step() -> None:
        x, y = next(batches)
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()

    return net, step


@contextlib.contextmanager
def watched(net: nn.Module, every: int) -> Iterator[None]:
    import wandb

    run = wandb.init(mode="offline", project="bench")
    wandb.watch(net, log="all", log_freq=every)
    yield
    wandb.unwatch(net)
    run.finish()


@contextlib.contextmanager
def debugged(net: nn.Module, every: int) -> Iterator[None]:
    import smdebug.pytorch as smd

    out = f"smdebug-{time.monotonic_ns()}"  # it must be a new one
    hook = smd.Hook(
        out_dir=out,
        include_collections=["weights", "gradients", "losses"],
        save_config=smd.SaveConfig(save_interval=every),
    )
    hook.register_module(net)
    yield
    hook.close()


# How often wandb and smdebug take a sample: as often as we do in "large", else one in 50.
EVERY = {"short": 50, "long": 50, "large": 1}


def peers(every: int) -> dict[str, Callable[[nn.Module], Any]]:
    return {
        "anomaly": lambda net: torch.autograd.detect_anomaly(check_nan=True),
        "wandb": lambda net: watched(net, every),
        "smdebug": lambda net: debugged(net, every),
    }


def main() -> None:
    size, rounds, out = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3])
    torch.manual_seed(1)
    torch.set_num_threads(1)
    net, step = make(size)
    capture, count = Capture(), SIZES[size][4]
    capture.on()
    for _ in range(max(count, 120) if size == "short" else count):
        step()
    taken: dict[str, list[float]] = {"spent": []}

    def block(kind: str) -> None:
        begin = time.process_time()
        for _ in range(count):
            step()
        taken.setdefault(kind, []).append((time.process_time() - begin) / count * 1e6)

    for _ in range(rounds):
        capture.off()
        block("plain")
        capture.on()
        capture.spent_ns = 0
        block("health")
        taken["spent"].append(capture.spent_ns / count / 1e3)
        capture.off()
        for name, peer in peers(EVERY[size]).items():
            with peer(net):
                block(name)
    state = torch_health._State.capture
    if state is not None:
        taken["sample_us"] = [state.schedule.cost_ns / max(state.schedule.samples, 1) / 1e3]
        taken["interval"] = [state.schedule.interval(1000)]
    out.write_text(json.dumps(taken))


if __name__ == "__main__":
    main()
