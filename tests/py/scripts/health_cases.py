# SPDX-License-Identifier: Apache-2.0
"""health_cases.py CASE: trains a little; what was captured of it is compared here with what torch
itself computes, or printed as JSON."""

from __future__ import annotations

import collections
import contextlib
import copy
import gc
import io
import json
import math
import os
import pickle
import sys
from typing import Any

import torch
from footplate.hooks import torch_health
from health_kit import Told
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(3)
X, Y = torch.randn(64, 8), torch.randint(4, (64,))


def net() -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 4)
    )


def near(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=2e-5, abs_tol=1e-9)


def say(**what: Any) -> None:
    print(json.dumps(what))


def numbers() -> None:
    told = Told.listen()
    model = net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(3):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(X), Y)
        loss.backward()
        before = {n: p.detach().clone() for n, p in model.named_parameters()}
        gradients = {n: p.grad.clone() for n, p in model.named_parameters()}
        optimizer.step()
    at = 2
    assert told.scalar("loss")[at] == loss.item()
    for name, p in model.named_parameters():
        g = gradients[name]
        for stat, want in {
            "gradient.l2": g.norm().item(),
            "gradient.l1": g.abs().sum().item(),
            "gradient.min": g.min().item(),
            "gradient.max": g.max().item(),
            "gradient.zeros": (g == 0).float().mean().item(),
            "weight.l2": p.norm().item(),
        }.items():
            assert near(told.tensor(stat)[name][at], want), (name, stat)
        words = p.detach().view(torch.int32).long().bitwise_and(0xFFFFFFFF).sum().item()
        assert told.tensor("weight.sum")[name][at] == words
        if p.dim() == 2:
            change = (p.detach() - before[name]).norm() / before[name].norm()
            assert near(told.tensor("update.ratio")[name][at], change.item())
        else:
            assert name not in told.tensor("update.ratio")
    total = math.sqrt(sum(g.double().square().sum().item() for g in gradients.values()))
    assert near(told.scalar("grad.norm")[at], total)
    say(modules=sorted(told.tensor("output.std")), nonfinite=told.tensor("gradient.nonfinite"))


def activations() -> None:
    told = Told.listen()
    model = net()
    with torch.no_grad():
        model[0].bias[:4] = -100.0  # a quarter of the units is dead
        model[2].weight.mul_(20)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    optimizer.zero_grad()
    functional.cross_entropy(model(X), Y).backward()
    optimizer.step()
    with torch.no_grad():
        x = X
        for i, layer in enumerate(model):
            given, x = x, layer(x)
            for stat, want in {
                "output.mean": x.mean().item(),
                "output.std": x.std(correction=0).item(),
                "output.min": x.min().item(),
                "output.max": x.max().item(),
                "output.zeros": (x == 0).float().mean().item(),
            }.items():
                assert near(told.tensor(stat)[str(i)][0], want), (i, stat)
            if i in (1, 3):
                assert near(told.tensor("input.std")[str(i)][0], given.std(correction=0).item())
            if i == 3:
                share = (given.abs() > 2.65).float().mean().item()
                assert near(told.tensor("output.saturated")["3"][0], share)
    say(dead=told.tensor("output.dead"), inputs=sorted(told.tensor("input.std")))


def inplace() -> None:
    """An in-place ReLU overwrites its input; a conv's units are channels."""
    told = Told.listen()
    model = nn.Sequential(nn.Conv1d(2, 4, 3), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(24, 4))
    with torch.no_grad():
        model[0].bias[0] = -100.0
    x = torch.randn(16, 2, 8)
    given = model[0](x).detach().std(correction=0).item()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    functional.cross_entropy(model(x), Y[:16]).backward()
    optimizer.step()
    assert near(told.tensor("input.std")["1"][0], given)
    say(dead=told.tensor("output.dead"))


def accumulation() -> None:
    told = Told.listen()
    model = net()
    groups = [{"params": model[0].parameters(), "lr": 0.5}, {"params": model[2].parameters()}]
    optimizer = torch.optim.SGD(groups, lr=0.25)
    want = []
    for _ in range(4):
        optimizer.zero_grad()
        losses = [
            functional.cross_entropy(model(x), y)
            for x, y in zip(X.split(32), Y.split(32), strict=False)
        ]
        for loss in losses:
            loss.backward()
        want.append(sum(loss.item() for loss in losses) / 2)
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        optimizer.step()
    losses = told.scalar("loss")
    assert all(near(losses[i], want[i]) for i in range(4))
    assert near(told.scalar("grad.norm")[3], norm.item())
    say(
        steps=sorted(losses),
        calls=told.scalar("backward.calls"),
        rates=[told.scalar("lr")[3], told.scalar("lr.1")[3]],
        clipped=round(told.scalar("grad.norm.clipped")[3], 5),
        limit=told.scalar("clip.max")[3],
    )


def clipping() -> None:
    """The limit as a keyword, in the second of two calls."""
    told = Told.listen()
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.zero_grad()
    functional.cross_entropy(model(X), Y).backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.01)
    optimizer.step()
    assert near(told.scalar("grad.norm")[0], norm.item())
    say(clipped=round(told.scalar("grad.norm.clipped")[0], 5), limit=told.scalar("clip.max")[0])


def shards() -> None:
    """FSDP2 on one rank: norms of gradients are those of a shard; that of clipping is not read."""
    import torch.distributed as dist
    import torch.distributed.fsdp as fsdp

    dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    told = Told.listen()
    model = net()
    fsdp.fully_shard(model, mesh=dist.device_mesh.init_device_mesh("cpu", (1,)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        optimizer.zero_grad()
        functional.cross_entropy(model(X), Y).backward()
        if step == 1:
            nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        optimizer.step()
    one = fsdp.FullyShardedDataParallel
    say(
        whole=told.scalar("grad.norm"),
        shard=sorted(told.scalar("grad.norm.shard")),
        gate=type(vars(one)["clip_grad_norm_"]).__name__,
    )


def nowhere() -> None:
    """Losses that cannot be read."""
    told = Told.listen()
    model = net().to("meta")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(X.to("meta")).mean().backward()
        optimizer.step()
    say(losses=told.scalar("loss"), rates=sorted(told.scalar("lr")))


def layouts() -> None:
    """Weights whose elements are not in the order of their dimensions."""
    told = Told.listen()
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten(), nn.Linear(8 * 36, 4))
    model[0].to(memory_format=torch.channels_last)
    model[2].weight = nn.Parameter(torch.randn(8 * 36, 4).t())
    gaps = nn.Parameter(torch.randn(4, 8)[:, ::2])
    optimizer = torch.optim.SGD([*model.parameters(), gaps], lr=0.1)
    before = [p.detach().clone() for p in model.parameters()]
    x = torch.randn(16, 3, 8, 8)
    (functional.cross_entropy(model(x), Y[:16]) + gaps.sum()).backward()
    optimizer.step()
    ratios, sums = told.tensor("update.ratio"), told.tensor("weight.sum")
    for (name, p), old in zip(model.named_parameters(), before, strict=True):
        words = p.detach().contiguous().view(torch.int32).long().bitwise_and(0xFFFFFFFF).sum()
        assert sums[name][0] == words.item(), name
        if p.dim() > 1:
            change = (p.detach() - old).norm() / old.norm()
            assert near(ratios[name][0], change.item()), name
    say(ratios=sorted(ratios), sums=sorted(sums))


def amp() -> None:
    told = Told.listen()
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)
    want, norms = [], []
    for step in range(6):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(X), Y)
        total = loss * (math.inf if step == 4 else 1)
        want.append(loss.item())
        scaler.scale(total).backward()
        if step == 1:
            scaler.unscale_(optimizer)
            norms.append(model[0].weight.grad.norm().item())
        if step == 2:
            norms.append(model[0].weight.grad.norm().item() / scaler.get_scale())
        scaler.step(optimizer)
        scaler.update()
    seen = told.tensor("gradient.l2")["0.weight"]
    assert near(seen[1], norms[0]) and near(seen[2], norms[1]), (seen, norms)
    assert all(near(told.scalar("loss")[i], want[i]) for i in (0, 1, 2, 3, 5))
    say(
        scale=told.scalar("amp.scale"),
        skipped=told.scalar("step.skipped"),
        ratio=sorted(told.tensor("update.ratio")["0.weight"]),
        origin=told.origin(),
    )


def adversaries() -> None:
    """Two optimizers that take turns, and two root modules."""
    told = Told.listen()
    made, judged = nn.Linear(2, 8), nn.Sequential(nn.Linear(8, 1))
    first = torch.optim.SGD(judged.parameters(), lr=0.1)
    second = torch.optim.SGD(made.parameters(), lr=0.2)
    for _ in range(4):
        for optimizer, sign in ((first, 1.0), (second, -1.0)):
            optimizer.zero_grad()
            (judged(made(torch.ones(4, 2))).mean() * sign).backward()
            optimizer.step()
    say(
        losses=[sorted(told.scalar("loss")), sorted(told.scalar("loss.1"))],
        rates=[told.scalar("lr")[3], told.scalar("lr.1")[3]],
        names=sorted(told.tensor("gradient.l2")),
    )


def loops() -> None:
    """Epochs, batches and evaluations of a loop with a loader."""
    told = Told.listen()
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = TensorDataset(X, Y)
    want = []
    for _ in range(2):
        for x, y in DataLoader(data, batch_size=16):
            optimizer.zero_grad()
            functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        with torch.no_grad():
            want.append(functional.cross_entropy(model(X), Y).item())
            for x, y in DataLoader(data, batch_size=48):
                functional.cross_entropy(model(x), y)
    from footplate.hooks import torch_health

    torch_health._State.capture.finish()
    hashes = told.scalar("batch.hash")
    assert all(isinstance(one, int) for one in hashes.values())
    found = told.scalar("loss", 1)
    assert near(found[3], want[0]) and near(found[7], want[1])
    assert [hashes[i] for i in range(4)] == [hashes[i] for i in range(4, 8)]
    say(evaluations=sorted(found), epochs=told.scalar("epoch"), hashes=len(set(hashes.values())))


def measured() -> None:
    """A loss without gradients in every step of the training, and then of evaluations."""
    told = Told.listen()
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(12):
        model.train()
        optimizer.zero_grad()
        found = model(X)
        functional.cross_entropy(found, Y).backward()
        if step < 6:
            with torch.no_grad():
                functional.mse_loss(found, functional.one_hot(Y, 4).float())
        optimizer.step()
        if step >= 8:
            model.eval()
            with torch.no_grad():
                functional.cross_entropy(model(X), Y)
    from footplate.hooks import torch_health

    torch_health._State.capture.finish()
    say(evaluations=sorted(told.scalar("loss", 1)))


def missing() -> None:
    told = Told.listen()
    model = net()
    optimizer = torch.optim.SGD(copy.deepcopy(model).parameters(), lr=0.1)
    for _ in range(3):
        functional.cross_entropy(model(X), Y).backward()
        optimizer.step()
    say(missing=told.scalar("grad.missing"), zero=told.tensor("gradient.zeros"))


def closure() -> None:
    """LBFGS calls its closure several times in one step."""
    told = Told.listen()
    model = nn.Linear(8, 4)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=3)

    def run() -> torch.Tensor:
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(X), Y)
        loss.backward()
        return loss

    for _ in range(2):
        optimizer.step(run)
    say(losses=sorted(told.scalar("loss")), ratio=sorted(told.tensor("update.ratio")["weight"]))


def sixteen_bits() -> None:
    told = Told.listen()
    model = nn.Linear(64, 4).to(torch.bfloat16)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    x = torch.randn(16, 64, dtype=torch.bfloat16)
    x[:, 32:] = 0  # half of the weights has no gradient
    before = model.weight.detach().clone()
    functional.cross_entropy(model(x), Y[:16]).backward()
    model.weight.grad[:, :16] = 1e-30  # and a half of the others is not moved by it
    model.weight.grad[:, 16:32] = 1.0
    optimizer.step()
    same = (model.weight == before).float().mean().item()
    say(unchanged=told.tensor("update.unchanged"), same=same)


class Explodes:
    """An output that cannot be looked at."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor

    @property
    def __class__(self) -> type:
        raise RuntimeError("hands off")


class Odd(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.empty = nn.Parameter(torch.zeros(0, 3))
        self.complex = nn.Parameter(torch.ones(2, dtype=torch.complex64))
        self.table = nn.Embedding(32, 8, sparse=True)
        self.wraps = Wraps()
        self.last = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.table(x) * self.complex.abs().sum() + self.empty.sum()
        found: torch.Tensor = self.last(self.wraps(x).tensor)
        return found


class Wraps(nn.Module):
    def forward(self, x: torch.Tensor) -> Explodes:
        return Explodes(x)


def odd() -> None:
    told = Told.listen()
    model = Odd()
    loose = torch.ones(3, requires_grad=True)
    quantized = torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.qint8)
    meta = torch.ones(3, device="meta", requires_grad=True)
    sparse = torch.eye(3).to_sparse()
    optimizer = torch.optim.SGD([*model.parameters(), loose, meta], lr=0.1)
    optimizer.param_groups[0]["params"] += [quantized, sparse]
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        tokens = torch.arange(64) % 7
        loss = functional.cross_entropy(model(tokens) * loose.sum(), Y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    say(
        losses=losses[-1] < losses[0],
        names=sorted(told.tensor("gradient.l2")),
        steps=sorted(told.scalar("loss")),
        lost=sorted({reason for _, reason in told.lost}),
    )


def many() -> None:
    """More parameters than are followed."""
    count = int(sys.argv[2])
    told = Told.listen()
    model = nn.Module()
    model.parts = nn.ParameterList([torch.ones(1) for _ in range(count)])
    model.forward = lambda: sum(p.sum() for p in list(model.parts)[:100])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
    for _ in range(3):
        optimizer.zero_grad()
        model().backward()
        optimizer.step()
    from footplate.hooks import torch_health

    capture = torch_health._State.capture
    say(
        followed=len(told.tensor("weight.l2")),
        steps=sorted(told.scalar("loss")),
        on=capture is not None,
    )


def copies() -> None:
    """Models that are copied and pickled while they are sampled have no hooks of ours."""
    told = Told.listen()
    inside: list[int] = []

    class Copies(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(8, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            inside.append(len(self.layer._forward_hooks))
            found: torch.Tensor = self.layer(x)
            return found

    model = Copies()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    hooks = []
    for _ in range(3):
        optimizer.zero_grad()
        functional.cross_entropy(model(X), Y).backward()
        optimizer.step()
        hooks.append(len(model.layer._forward_hooks))
        copied = copy.deepcopy(model.layer)
        again = pickle.loads(pickle.dumps(model.layer))
        saved = io.BytesIO()
        torch.save(model.layer, saved)
        assert torch.equal(copied.weight, again.weight)
        pickle.loads(pickle.dumps(optimizer))
        copy.deepcopy(optimizer)
    say(inside=inside, hooks=hooks, sampled=told.steps("output.mean"))


def compiled() -> None:
    told = Told.listen()
    graphs: list[int] = []

    def backend(graph: Any, inputs: Any) -> Any:
        graphs.append(len(graph.graph.nodes))
        return graph.forward

    model = net()
    fast = torch.compile(model, backend=backend)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        functional.cross_entropy(fast(X), Y).backward()
        optimizer.step()
    say(graphs=graphs, names=sorted(told.tensor("gradient.l2")), losses=sorted(told.scalar("loss")))


def forked() -> None:
    told = Told.listen()
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def train(steps: int) -> None:
        for _ in range(steps):
            optimizer.zero_grad()
            functional.cross_entropy(model(X), Y).backward()
            optimizer.step()

    train(2)
    sys.stdout.flush()
    pid = os.fork()
    train(3 if pid == 0 else 2)
    if pid == 0:
        mine = [v for v in told.values if v[1] == "loss"][2:]
        os.write(1, json.dumps({"child": [v[2] for v in mine]}).encode() + b"\n")
        os._exit(0)
    os.waitpid(pid, 0)
    say(parent=sorted(told.scalar("loss")))


class Freed:
    """As what is on a GPU: the child of a fork may not free it."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.read, self.write = os.pipe()

    def __del__(self) -> None:
        if os.getpid() != self.pid:
            os.write(self.write, b"x")


def forked_buffers() -> None:
    Told.listen()
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    functional.cross_entropy(model(X), Y).backward()
    optimizer.step()
    freed = Freed()
    os.set_blocking(freed.read, False)
    capture = torch_health._State.capture
    assert capture is not None
    capture.lane.free.append(freed)  # type: ignore[arg-type]
    read = freed.read
    pid = os.fork()
    if pid == 0:
        del capture, freed
        gc.collect()
        sys.exit(0)
    _, status = os.waitpid(pid, 0)
    with contextlib.suppress(BlockingIOError):
        status = status or len(os.read(read, 1))
    say(status=status)


def filters() -> None:
    told = Told.listen()
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    functional.cross_entropy(model(X), Y).backward()
    optimizer.step()
    stats = sorted({stat for stat, *_ in told.values} - {"scalar"})
    names = sorted({name for stat, name, *_ in told.values if stat != "scalar"})
    say(stats=stats, names=names, by={stat: sorted(told.tensor(stat)) for stat in stats})


def traced() -> None:
    """A tracer that runs the model before the training sees nothing of us."""
    Told.listen()
    model = net()
    traced = torch.jit.trace(model, X)
    graph = str(traced.graph)
    say(ops=graph.count("aten::"), kinds=sorted({p.kind() for p in traced.inlined_graph.nodes()}))


def bins(values: Any) -> dict[int, int]:
    """How many elements have each exponent of float32, of a tensor or as they were told."""
    if isinstance(values, list):
        return {v >> 48: v & 0xFFFFFFFFFFFF for v in values}
    found = (values.detach().float().contiguous().view(torch.int32) >> 23) & 255
    return dict(collections.Counter(found.flatten().tolist()))


def deep() -> None:
    """Histograms, the optimizer's state and the batch, in one of ten samples."""
    told = Told.listen()
    model = net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x = X.clone()
    x[0] = 0
    wanted = {}
    for step in range(12):
        optimizer.zero_grad()
        functional.cross_entropy(model(x), Y).backward()
        gradient = model[0].weight.grad.clone()
        optimizer.step()
        wanted[step] = (
            bins(gradient),
            bins(model[0].weight),
            optimizer.state[model[0].weight]["exp_avg_sq"].norm().item(),
        )
    found: dict[str, dict[int, list[int]]] = {}
    for what, name, step, _, value in told.values:
        if what.endswith(".exponents") and name == "0.weight":
            found.setdefault(what, {}).setdefault(step, []).append(value)
    norms = told.tensor("optimizer.l2")
    for step in (0, 10):
        assert bins(found["gradient.exponents"][step]) == wanted[step][0]
        assert bins(found["weight.exponents"][step]) == wanted[step][1]
        assert near(norms["0.weight:exp_avg_sq"][step], wanted[step][2])
    means = told.tensor("input.mean")["0"]
    assert near(means[0], x.mean().item())
    assert near(told.tensor("input.zeros")["0"][0], 1 / 64)
    say(
        steps=[sorted(v) for v in found.values()],
        states=sorted(norms),
        inputs=sorted(told.tensor("input.std")),
    )


class NoEvent:
    def record(self, stream: Any = None) -> None:
        pass

    def query(self) -> bool:
        return True


def device_histograms() -> None:
    """What is counted on a device, and its way to the host, on the CPU."""
    from footplate.hooks import torch_deferred, torch_tensors

    for size in (1, 7, 300_000):
        values = torch.randn(size) * 10 ** torch.linspace(-30, 30, size)
        values[::3] = 0
        flat = values[:: -(-size // torch_tensors.MOST_COUNTED)]
        counts = torch_tensors.device_exponents(torch, values.reshape(1, -1))
        assert {i: n for i, n in enumerate(counts.tolist()) if n} == bins(flat), size

    class Buffer(torch_deferred.Buffer):
        def __init__(self, torch: Any, device: Any, size: int) -> None:
            self.size = size
            self.there = torch.zeros(size, dtype=torch.float64)
            self.here = torch.zeros(size, dtype=torch.float64)
            self.event = NoEvent()
            self.stream = lambda device: None
            self.scalars = []
            self.sample = None

    torch_deferred.Buffer = Buffer
    told = Told.listen()
    settings = torch_tensors._scalars.Settings({"mode": "on"})
    lane = torch_deferred.Lane(torch, told)
    sample = torch_tensors.Sample(torch, told, settings, lane)
    sample.deep, sample.step, sample.scale = True, 5, torch.tensor([4.0])
    weight = nn.Parameter(torch.randn(20, 30))
    entry = torch_tensors.Entry(weight, "w", told.health_name("w"), torch_tensors._codes(torch))
    sample._device_gradients([(entry, torch.randn(20, 30) * 4)])
    with torch.no_grad():
        sample._device_exponents("weight.exponents", [(entry, weight.detach())])
    gradient = sample.vectors[0][2].clone()
    sample.emit(0)
    lane.device = weight.device
    lane.poll()
    counts = [
        bins([v for what, _, _, _, v in told.values if what == f"{of}.exponents"])
        for of in ("gradient", "weight")
    ]
    assert counts[1] == bins(weight)
    assert counts[0] == {i - 2: n for i, n in enumerate(gradient.tolist()) if n}  # unscaled
    say(told=sorted({v[0] for v in told.values}))


def device_limits() -> None:
    """What the sample of a very large model would hold on a device, on the CPU."""
    from footplate.hooks import torch_deferred, torch_tensors

    told = Told.listen()
    settings = torch_tensors._scalars.Settings({"mode": "on"})
    weights = [nn.Parameter(torch.zeros(128, 64)) for _ in range(2500)]
    optimizer = torch.optim.SGD(weights, lr=0.1)
    table = torch_tensors.Table(torch, optimizer, torch_tensors.Names(settings), settings)
    table.report_left_out()
    for entry in table.entries:
        entry.host = False
        entry.tensor.grad = torch.zeros(1, 1).expand(128, 64)
    table.bound_copies()
    lane = torch_deferred.Lane(torch, told)
    sample = torch_tensors.Sample(torch, told, settings, lane)
    sample.deep = True
    sample.keep(table)
    there = [(entry, torch.zeros(1, 1)) for entry in table.entries]
    sample._device_exponents("gradient.exponents", there)
    sample._device_exponents("weight.exponents", there)
    for i in range(40_000):
        sample.defer("weight.l2", i, there[0][1])
    copies = sum(e.before.numel() * e.before.element_size() for e in table.entries)
    histograms = len(sample.vectors) * torch_tensors.EXPONENTS * 8
    values = len(sample.deferred) * torch_tensors.BLOCK
    rest = 4 * torch_tensors.CHUNK + torch_deferred.MOST_PARCELS
    size = 1
    while lane.bytes + 8 * size <= torch_deferred.MOST_PARCELS:
        size *= 2
    say(
        left_out=sum(n for n, why in told.lost if why == torch_tensors.LEFT_OUT),
        fits=2 * copies + histograms + values + rest <= 64 << 20,
        copied=min(entry.taken for entry in table.entries),
        parcel=lane._parcel(torch.device("cpu"), size) is None,
    )


def digest() -> None:
    """Losses and parameters of a training with dropout, by kind: plain, amp, accumulation."""
    kind = sys.argv[2]
    if os.environ.get("FOOTPLATE_RING"):
        Told.listen()
    model = nn.Sequential(nn.Linear(8, 32), nn.Dropout(0.3), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler(
        "cpu", init_scale=1024.0, growth_interval=5, enabled=kind == "amp"
    )
    loader = DataLoader(TensorDataset(X, Y), batch_size=8, shuffle=True)
    done, losses = 0, []
    for _ in range(4):
        for x, y in loader:
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=kind == "amp"):
                loss = functional.cross_entropy(model(x), y)
            losses.append(loss.item())
            scaler.scale(loss).backward()
            done += 1
            if kind == "accumulation" and done % 2:
                continue
            if kind != "plain":
                scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
    bits = [p.detach().view(torch.int32).tolist() for p in model.parameters()]
    say(losses=[loss.hex() for loss in losses], bits=bits, random=torch.rand(1).item())


def scene() -> None:
    """A scene of tests/trial/health_scenes.py: what was captured, in short."""
    import health_scenes

    told = Told.listen()
    torch.manual_seed(0)
    getattr(health_scenes, sys.argv[2])(0)
    losses = list(told.scalar("loss").values())
    ratios = [v for by in told.tensor("update.ratio").values() for v in by.values()]
    say(
        origin=told.origin(),
        losses=[losses[0], losses[-1]],
        samples=told.steps(),
        dead=[max(v.values()) for v in told.tensor("output.dead").values()],
        saturated=[min(v.values()) for v in told.tensor("output.saturated").values()],
        inputs=[v[0] for v in told.tensor("input.std").values()],
        l1=[v[0] for k, v in told.tensor("gradient.l1").items() if k.endswith("weight")],
        zeros=[min(v.values()) for v in told.tensor("gradient.zeros").values()],
        ratio=sorted(ratios)[len(ratios) // 2] if ratios else None,
        hashes=len(set(told.scalar("batch.hash").values())),
        unchanged=[min(v.values()) for v in told.tensor("update.unchanged").values()],
        norm=told.scalar("grad.norm").get(300),
        loss300=told.scalar("loss").get(300),
        scale=told.scalar("amp.scale"),
        skipped=len(told.scalar("step.skipped")),
        missing=len(told.scalar("grad.missing")),
        evals=told.scalar("loss", 1),
        armed=sorted(told.scalar("health.armed")),
    )


globals()[sys.argv[1]]()
