# SPDX-License-Identifier: Apache-2.0
"""Every way of training that the hooks for PyTorch are tested with, one scene after the other.

torch_loops.py [SCENE...]. The last line is JSON: for each scene when it began and ended
(CLOCK_MONOTONIC, ns) and what the test has to know of it.
"""

from __future__ import annotations

import io
import json
import operator
import os
import sys
import threading
import time
import warnings

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

SAMPLES, BATCH, BATCHES = 70, 32, 3  # the last batch has 6
SCENES = {}
WARNINGS = ".*(torch.cpu.amp.autocast|weights_only=False)"  # versions warn of their own calls
NEEDS = {"in_backward": "Tensor.register_post_accumulate_grad_hook"}  # what older torch lacks


def scene(function):
    SCENES[function.__name__] = function
    return function


def data() -> TensorDataset:
    return TensorDataset(torch.randn(SAMPLES, 8), torch.randint(2, (SAMPLES,)))


def net() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))


def loss_of(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return nn.functional.cross_entropy(model(x), y)


def epoch(loader: DataLoader, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    for x, y in loader:
        optimizer.zero_grad()
        loss_of(model, x, y).backward()
        optimizer.step()


def train(epochs: int = 1, **options: object) -> None:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(data(), batch_size=BATCH, **options)
    for _ in range(epochs):
        epoch(loader, model, optimizer)


@scene
def no_workers():
    train()


@scene
def two_workers():
    train(num_workers=2)


@scene
def persistent_workers():
    train(epochs=2, num_workers=2, persistent_workers=True)


@scene
def spawned_workers():
    train(num_workers=2, multiprocessing_context="spawn")


class Slow(Dataset):
    """Takes 50 ms for a sample."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, i: int) -> tuple[torch.Tensor, torch.Tensor]:
        time.sleep(0.05)
        return torch.full((8,), float(i)), torch.tensor(i % 2)


@scene
def slow_loader():
    model = net()
    epoch(DataLoader(Slow(), batch_size=4), model, torch.optim.SGD(model.parameters(), lr=0.1))


@scene
def slow_step():
    """Workers are far ahead of the loop."""
    for _ in DataLoader(data(), batch_size=2, num_workers=1, prefetch_factor=4):
        time.sleep(0.01)


class Numbers(IterableDataset):
    def __iter__(self):
        return iter(torch.arange(10.0))


@scene
def iterable():
    return {"batches": [list(map(float, b)) for b in DataLoader(Numbers(), batch_size=4)]}


class Transformed(Dataset):
    """Its transform is a module, as those of torchvision are."""

    transform = nn.Sequential(nn.Identity(), nn.Identity())

    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int) -> torch.Tensor:
        return self.transform(torch.full((8,), float(i)))


@scene
def transforms():
    for _ in DataLoader(Transformed(), batch_size=2):
        pass


@scene
def transforms_in_a_worker():
    for _ in DataLoader(Transformed(), batch_size=2, num_workers=1):
        pass


@scene
def containers():
    """Batches that are not a plain tensor. The generator must come out unused."""
    samples = [
        {"text": "a", "more": {"x": torch.zeros(3)}},
        {"text": "b", "more": {"x": torch.ones(3)}},
    ]
    for _ in DataLoader(samples, batch_size=2):
        pass
    left = []
    for batch in DataLoader([1, 2], batch_size=2, collate_fn=lambda items: (i for i in items)):
        left += list(batch)
    for _ in DataLoader(["a", "b"], batch_size=2):
        pass
    return {"left": left}


@scene
def accumulation():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for i, (x, y) in enumerate(DataLoader(data(), batch_size=10)):
        loss_of(model, x, y).backward()
        if i % 3 == 2:
            optimizer.step()
            optimizer.zero_grad()


@scene
def gan():
    generator, judge = nn.Linear(4, 8), nn.Linear(8, 1)
    of_generator = torch.optim.Adam(generator.parameters())
    of_judge = torch.optim.Adam(judge.parameters())
    for _ in range(2):
        of_judge.zero_grad()
        (
            judge(torch.ones(2, 8)).mean() - judge(generator(torch.ones(2, 4)).detach()).mean()
        ).backward()
        of_judge.step()
        of_generator.zero_grad()
        (-judge(generator(torch.ones(2, 4))).mean()).backward()
        of_generator.step()


@scene
def several_forwards():
    first, second = nn.Linear(8, 8), nn.Linear(8, 2)
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    for x, y in DataLoader(data(), batch_size=BATCH):
        optimizer.zero_grad()
        nn.functional.cross_entropy(second(first(x)), y).backward()
        optimizer.step()


@scene
def recurrent():
    cell, head = nn.LSTMCell(8, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
    for x, _ in DataLoader(data(), batch_size=BATCH):
        state = None
        for _ in range(3):
            state = cell(x, state)
        head(state[0]).sum().backward()
        optimizer.step()


@scene
def evaluation():
    model = net()
    with torch.no_grad():
        for x, _ in DataLoader(data(), batch_size=BATCH):
            model(x)
    with torch.inference_mode():
        model(torch.ones(1, 8))


@scene
def closure():
    """LBFGS calls it several times."""
    model = net()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
    x, y = torch.randn(8, 8), torch.randint(2, (8,))
    calls = []

    def again() -> torch.Tensor:
        calls.append(time.monotonic_ns())
        optimizer.zero_grad()
        loss = loss_of(model, x, y)
        loss.backward()
        return loss

    optimizer.step(again)
    optimizer.step(closure=again)
    return {"calls": len(calls)}


@scene
def scaler():
    """The second step is skipped: its gradients are not finite. Older torch scales on GPUs only:
    there the scaler is off, and both steps are taken."""
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if hasattr(torch.amp, "GradScaler"):
        grad_scaler = torch.amp.GradScaler("cpu")
    else:
        grad_scaler = torch.cuda.amp.GradScaler(enabled=False)
    for factor in (1.0, float("inf")):
        optimizer.zero_grad()
        grad_scaler.scale(model(torch.ones(2, 8)).sum() * factor).backward()
        grad_scaler.step(optimizer)
        grad_scaler.update()


@scene
def in_backward():
    """An optimizer for each parameter, which steps as soon as its gradient is there."""
    model = nn.Linear(8, 2)
    for parameter in model.parameters():
        optimizer = torch.optim.SGD([parameter], lr=0.1)
        parameter.register_post_accumulate_grad_hook(lambda p, o=optimizer: o.step())
    model(torch.ones(2, 8)).sum().backward()


@scene
def recompute():
    model = net()
    checkpoint(model, torch.ones(2, 8, requires_grad=True), use_reentrant=False).sum().backward()


@scene
def gradients():
    x = torch.ones(2, 8, requires_grad=True)
    torch.autograd.grad(net()(x).sum(), x)


@scene
def model_zero_grad():
    net().zero_grad()


@scene
def checkpoints():
    model = net()
    torch.save(model.state_dict(), "model.pt")
    torch.save(model.state_dict(), io.BytesIO())
    torch.save([1, 2], io.BytesIO())
    torch.load("model.pt")


class Own(nn.Linear):
    """Has a __call__ of its own."""

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return super().__call__(x) * 2


@scene
def own_call():
    Own(8, 2)(torch.ones(1, 8))


@scene
def scripted():
    torch.jit.script(net())(torch.ones(1, 8))


@scene
def after_fx():
    """torch.fx puts something else into Module.__call__ for a while."""
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.fx.symbolic_trace(model)
    for _ in range(2):
        model(torch.ones(1, 8)).sum().backward()
        optimizer.step()


@scene
def raising():
    """What the model and the dataset raise reaches the program, and nothing stays open."""
    caught = []
    for go in (
        lambda: net()(torch.ones(1, 3)),
        lambda: next(iter(DataLoader([1, "a"], batch_size=2))),
        lambda: torch.ones(1).backward(),
        lambda: torch.save({}, "/nonexistent/x"),
    ):
        try:
            go()
        except Exception as error:
            caught.append(type(error).__name__)
    net()(torch.ones(1, 8))
    return {"caught": caught}


@scene
def threads():
    """A forward pass in each of two threads."""
    models = [net(), net()]
    together = [threading.Thread(target=m, args=(torch.ones(1, 8),)) for m in models]
    for thread in together:
        thread.start()
    for thread in together:
        thread.join()


def play(name: str) -> dict:
    """What the scene has to tell, or what this torch lacks for it."""
    try:
        operator.attrgetter(NEEDS.get(name, "nn"))(torch)
    except AttributeError:
        return {"lacks": f"torch {torch.__version__} has no torch.{NEEDS[name]}"}
    return SCENES[name]() or {}


def main() -> None:
    warnings.filterwarnings("ignore", message=WARNINGS)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    told = {}
    for name in sys.argv[1:] or SCENES:
        begin = time.monotonic_ns()
        facts = play(name)
        told[name] = {"begin": begin, "end": time.monotonic_ns(), **facts}
    print(json.dumps({"pid": os.getpid(), **told}))


if __name__ == "__main__":
    main()
