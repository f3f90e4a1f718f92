# SPDX-License-Identifier: Apache-2.0
"""health_origins.py CASE: a number is not finite in the backward pass of one step;
where it was found to arise is printed as JSON."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from typing import Any

import torch
from footplate.hooks import torch_health
from health_kit import Told
from torch import nn
from torch.nn import functional

torch.set_num_threads(1)
torch.manual_seed(3)
X, Y = torch.randn(64, 8), torch.randint(4, (64,))


def net() -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 4)
    )


def say(**what: Any) -> None:
    print(json.dumps(what))


class Root(nn.Module):
    """Its gradient at 0 is not finite, at one call; its result always is."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.left = at

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.left -= 1
        return torch.sqrt(x**2) if self.left == -1 else x


class Cut(nn.Module):
    """What comes after it has no part in the gradients of what is before it."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.detach()


def clipped() -> None:
    """A NaN of the backward pass of step AT, before clipping: AT KIND. KIND: plain; disabled, with
    a GradScaler that is; hidden, behind gradients that are finite; one, whose clipping leaves the
    last layer out."""
    at, kind = int(sys.argv[2]), sys.argv[3]
    told = Told.listen()
    parts = [nn.Linear(8, 16), nn.Dropout(0.5), Root(at), nn.Linear(16, 16), nn.Linear(16, 4)]
    if kind == "hidden":
        parts[:0] = [nn.Linear(8, 8), nn.Linear(8, 8), Cut()]
    model = nn.Sequential(*parts)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", enabled=False) if kind == "disabled" else None
    parameters = list(model.parameters())
    for _ in range(at + 3):
        optimizer.zero_grad()
        output = model(X)
        loss = functional.cross_entropy(output, Y)
        if kind == "hidden":
            loss = loss + model[1](model[0](X)).square().mean()
        loss = scaler.scale(loss) if scaler else loss
        loss.backward()
        nn.utils.clip_grad_norm_(parameters[:-2] if kind == "one" else parameters, 1.0)
        if scaler:
            scaler.step(optimizer)
        else:
            optimizer.step()
    say(origin=told.origin(), samples=told.steps())


def wide() -> None:
    """The same without clipping, where the first layers have no small tensor."""
    told = Told.listen()
    first = [nn.Linear(320, 320, bias=False) for _ in range(4)]
    last = [nn.Dropout(0.5), Root(45), nn.Linear(320, 320, bias=False), nn.LayerNorm(320)]
    model = nn.Sequential(*first, *last, nn.Linear(320, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(48):
        optimizer.zero_grad()
        functional.cross_entropy(model(torch.randn(16, 320)), Y[:16]).backward()
        optimizer.step()
    say(origin=told.origin(), samples=told.steps())


def frozen() -> None:
    """The same, where the first layers are not trained."""
    told = Told.listen()
    model = nn.Sequential(
        *(nn.Linear(8, 8) for _ in range(3)),
        nn.Linear(8, 8),
        nn.Dropout(0.5),
        Root(45),
        *(nn.Linear(8, 8) for _ in range(3)),
    )
    for parameter in model[:3].parameters():
        parameter.requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(48):
        optimizer.zero_grad()
        functional.cross_entropy(model(X), Y).backward()
        optimizer.step()
    say(origin=told.origin(), samples=told.steps())


def trainer() -> None:
    """The same in the Trainer of transformers, which clips by default."""
    import tempfile

    from transformers import Trainer, TrainingArguments

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.drop, self.root = nn.Linear(8, 16), nn.Dropout(0.5), Root(21)
            self.second, self.last = nn.Linear(16, 16), nn.Linear(16, 4)

        def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
            output = self.last(self.second(self.root(self.drop(self.first(x)))))
            return {"loss": functional.cross_entropy(output, labels), "logits": output}

    told = Told.listen()
    rows = [{"x": x, "labels": y} for x, y in zip(X, Y, strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(
            folder,
            max_steps=25,
            report_to=[],
            use_cpu=True,
            save_strategy="no",
            disable_tqdm=True,
            per_device_train_batch_size=16,
        )
        with contextlib.redirect_stdout(io.StringIO()):
            Trainer(Model(), settings, train_dataset=rows).train()
    say(origin=told.origin(), samples=told.steps())


def resolved() -> None:
    """Numbers that came from a device, by what was done before they were taken."""
    from footplate.hooks.torch_tensors import Sample

    told = Told.listen()
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    functional.cross_entropy(model(X), Y).backward()
    optimizer.step()
    capture = torch_health._State.capture
    entries = capture.optimizers[1].table.entries
    found = {}
    for clips in (False, True):
        for bad in (entries, entries[:2]):
            sample = Sample(torch, told, capture.settings, capture.lane)
            sample.step, sample.clipped = 1, clips
            for entry in entries:
                sample.put("gradient.l2", entry.number, 1.0)
            for entry in bad:
                sample.count("gradient.nonfinite", entry.number, 1)
            capture.origin.recorded, capture.origin.over = 0, False
            capture.origin.resolved(sample, list(capture.optimizers.values()))
            found[f"{clips} {len(bad)}"] = told.origin()[-1][1]
    say(**found)


globals()[sys.argv[1]]()
