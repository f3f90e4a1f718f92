# SPDX-License-Identifier: Apache-2.0
"""health_scenes.py SCENE [SEED]: trains a small model that is sick (p01 to p15) or healthy (h1 to
h9), with a fixed seed, on one thread, in seconds. SCENES says what is to be found.

Common parts: `blobs` are 4096 points with 32 features around 10 centres, an `mlp` of a depth has
that many hidden layers, `fit` trains with batches of 64 from a DataLoader. p14 needs a kind of
damage, too: bit, noise or scale; it starts its two ranks itself."""

from __future__ import annotations

import copy
import math
import os
import sys
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

Loss = Callable[[Tensor, Tensor], Tensor]
Data = tuple[Tensor, Tensor]

# What has to be found, first named first; () is a healthy run.
SCENES: dict[str, tuple[str, ...]] = {
    "p01": ("VanishingGradient", "UpdateTooSmall", "LossNotDecreasing"),
    "p02": ("NonFinite",),
    "p03": ("DeadRelu", "ZeroGradient", "LossNotDecreasing"),
    "p04": ("SaturatedActivation",),
    "p05": ("PoorWeightInitialization",),
    "p06": ("UpdateTooSmall", "LossNotDecreasing"),
    "p07": ("NoGradient",),
    "p08": ("NonFinite",),
    "p08b": ("NonFinite",),
    "p09": ("LossSpike", "GradientSpike"),
    "p10": ("Overfit",),
    "p11": ("LossNotDecreasing",),
    "p12": ("DuplicatedData",),
    "p13": ("LossScale",),
    "p14": ("RankDivergence",),
    "p15": ("LowPrecisionUpdate",),
    "h1": (),
    "h2": (),
    "h3": (),
    "h4": (),
    "h5": (),
    "h6": (),
    "h7": (),
    "h8": (),
    "h9": (),
    "p13h": (),
}


def blobs(seed: int, noise: float = 1.0) -> Data:
    made = torch.Generator().manual_seed(seed)
    centres = torch.randn(10, 32, generator=made) * 1.41
    labels = torch.randint(10, (4096,), generator=made)
    return centres[labels] + torch.randn(4096, 32, generator=made) * noise, labels


def mlp(depth: int, width: int = 128, act: type[nn.Module] = nn.ReLU) -> nn.Sequential:
    layers: list[nn.Module] = []
    size = 32
    for _ in range(depth):
        layers += [nn.Linear(size, width), act()]
        size = width
    return nn.Sequential(*layers, nn.Linear(size, 10))


def batches(data: tuple[Tensor, ...], steps: int, size: int = 64) -> Iterator[list[Tensor]]:
    """So many shuffled batches, epoch by epoch."""
    loader = DataLoader(TensorDataset(*data), batch_size=size, shuffle=True, drop_last=True)
    done = 0
    while True:
        for batch in loader:
            if done == steps:
                return
            done += 1
            yield batch


def evaluate(model: nn.Module, data: Data, loss: Loss) -> None:
    model.eval()
    with torch.no_grad():
        for x, y in DataLoader(TensorDataset(*data), batch_size=256):
            loss(model(x), y)
    model.train()


def fit(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    data: Data,
    steps: int,
    *,
    loss: Loss = functional.cross_entropy,
    clip: float = 0,
    schedule: Callable[[int], float] | None = None,
    change: Callable[[int, Tensor, Tensor], Data] | None = None,
    held_out: Data | None = None,
    size: int = 64,
) -> float:
    """Trains; gives the last loss. `change` replaces a batch."""
    rate = optimizer.param_groups[0]["lr"]
    last = math.nan
    for step, (x, y) in enumerate(batches(data, steps, size)):
        if change is not None:
            x, y = change(step, x, y)
        if schedule is not None:
            for group in optimizer.param_groups:
                group["lr"] = rate * schedule(step)
        optimizer.zero_grad()
        found = loss(model(x), y)
        found.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        last = found.item()
        if held_out is not None and step % 50 == 49:
            evaluate(model, held_out, loss)
    return last


def sgd(model: nn.Module, rate: float, **more: float) -> torch.optim.SGD:
    return torch.optim.SGD(model.parameters(), lr=rate, **more)


def warm_up(steps: int, total: int) -> Callable[[int], float]:
    """Linear, then a cosine to 0."""

    def rate(step: int) -> float:
        if step < steps:
            return (step + 1) / steps
        return 0.5 * (1 + math.cos(math.pi * (step - steps) / (total - steps)))

    return rate


# ---- sick ----


def p01(seed: int) -> float:
    """Vanishing: 12 layers of sigmoids."""
    model = mlp(12, 64, nn.Sigmoid)
    return fit(model, sgd(model, 0.1), blobs(seed), 300)


def p02(seed: int) -> float:
    """Exploding: a learning rate of 50."""
    model = mlp(3)
    return fit(model, sgd(model, 50), blobs(seed), 100)


def p03(seed: int) -> float:
    """Dead ReLUs: hidden biases of -8."""
    model = mlp(3)
    for layer in list(model)[:-1]:
        if isinstance(layer, nn.Linear):
            nn.init.constant_(layer.bias, -8)
    return fit(model, sgd(model, 0.01), blobs(seed), 300)


def p04(seed: int) -> float:
    """Saturated: weights x 20 before tanh."""
    model = mlp(3, act=nn.Tanh)
    with torch.no_grad():
        for layer in model:
            if isinstance(layer, nn.Linear):
                layer.weight.mul_(20)
    return fit(model, sgd(model, 0.01), blobs(seed), 300)


def p05(seed: int) -> float:
    """Poor initialization: weights with a deviation of 0.01."""
    model = mlp(8)
    for layer in model:
        if isinstance(layer, nn.Linear):
            nn.init.normal_(layer.weight, 0, 0.01)
            nn.init.zeros_(layer.bias)
    return fit(model, sgd(model, 0.01), blobs(seed), 200)


def p06(seed: int) -> float:
    """A learning rate that changes nothing."""
    model = mlp(3)
    return fit(model, sgd(model, 1e-9), blobs(seed), 300)


def p07(seed: int) -> float:
    """The optimizer has the parameters of a copy of the model."""
    model = mlp(3)
    return fit(model, sgd(copy.deepcopy(model), 0.1), blobs(seed), 300)


class Bad(nn.Module):
    """Passes its input on; at one call it computes something else."""

    def __init__(self, instead: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.instead = instead
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return self.instead(x) if self.calls == 151 else x


def p08(seed: int) -> float:
    """A NaN of a forward pass, in module 2 at step 150."""
    model = nn.Sequential(
        nn.Linear(32, 64),
        nn.ReLU(),
        Bad(torch.log),
        nn.Linear(64, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )
    return fit(model, torch.optim.Adam(model.parameters(), lr=1e-3), blobs(seed), 160)


def p08b(seed: int) -> float:
    """A NaN of a backward pass, between layers 0 and 3 at step 150; the loss is finite."""
    model = nn.Sequential(
        nn.Linear(32, 64),
        nn.Dropout(0.5),
        Bad(lambda x: torch.sqrt(x**2)),
        nn.Linear(64, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )
    return fit(model, torch.optim.Adam(model.parameters(), lr=1e-3), blobs(seed), 160)


def p09(seed: int) -> float:
    """Step 300 gets a batch x 8 with wrong labels."""

    def change(step: int, x: Tensor, y: Tensor) -> Data:
        return (x * 8, (y + 1) % 10) if step == 300 else (x, y)

    model = mlp(3)
    optimizer = sgd(model, 0.02, momentum=0.9)
    return fit(model, optimizer, blobs(seed, 3), 500, clip=1, change=change)


def p10(seed: int) -> float:
    """Overfit: 512 points with noisy labels."""
    made = torch.Generator().manual_seed(seed)
    x, w = torch.randn(1024, 32, generator=made), torch.randn(32, 10, generator=made)
    y = (x @ w + 4 * torch.randn(1024, 10, generator=made)).argmax(1)
    model = mlp(3, 256)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    return fit(model, optimizer, (x[:512], y[:512]), 600, held_out=(x[512:], y[512:]))


def p11(seed: int) -> float:
    """Nothing to learn: random labels."""
    x, y = blobs(seed)
    y = torch.randint(10, y.shape, generator=torch.Generator().manual_seed(seed + 1))
    model = mlp(3)
    return fit(model, sgd(model, 0.05), (x, y), 300)


def p12(seed: int) -> float:
    """Two batches in turn."""
    x, y = blobs(seed)
    pairs = [(x[:64], y[:64]), (x[64:128], y[64:128])]
    model = mlp(3)
    optimizer = sgd(model, 0.05)
    for step in range(200):
        optimizer.zero_grad()
        functional.cross_entropy(model(pairs[step % 2][0]), pairs[step % 2][1]).backward()
        optimizer.step()
    return 0.0


def p13(seed: int, sick: bool = True) -> float:
    """From step 100 on the loss has an infinite term: the loss scale falls to 0."""
    model = mlp(3)
    optimizer = sgd(model, 0.05)
    scaler = torch.amp.GradScaler("cpu", init_scale=65536.0, growth_interval=100)
    for step, (x, y) in enumerate(batches(blobs(seed), 300)):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = functional.cross_entropy(model(x), y)
        if sick and step >= 100:
            loss = loss + model[0].weight.sum() * math.inf
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return float(scaler.get_scale())


def p13h(seed: int) -> float:
    """Its healthy twin."""
    return p13(seed, sick=False)


def rank_of_p14(seed: int, damage: str) -> None:
    import torch.distributed as dist

    dist.init_process_group("gloo")
    torch.manual_seed(seed)
    net = mlp(3)
    model = nn.parallel.DistributedDataParallel(net)
    optimizer = sgd(net, 0.05)
    x, y = blobs(seed)
    x, y = x[dist.get_rank() :: 2], y[dist.get_rank() :: 2]
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True, drop_last=True)
    step = 0
    while step < 120:
        for a, b in loader:
            if step == 120:
                break
            if step == 50 and dist.get_rank() == 1:
                hurt(net, damage)
            optimizer.zero_grad()
            functional.cross_entropy(model(a), b).backward()
            if damage == "scale" and step >= 50 and dist.get_rank() == 1:
                net[6].bias.grad.mul_(1.001)
            optimizer.step()
            step += 1
    dist.destroy_process_group()


def hurt(net: nn.Sequential, damage: str) -> None:
    with torch.no_grad():
        if damage == "bit":
            net[2].weight.view(torch.int32)[0, 0] ^= 1
        elif damage == "noise":
            net[2].weight.add_(torch.randn_like(net[2].weight) * 1e-3)


def p14(seed: int) -> float:
    """Two ranks that drift apart from step 50 on."""
    damage = sys.argv[3] if len(sys.argv) > 3 else "bit"
    if "RANK" in os.environ:
        rank_of_p14(seed, damage)
        return 0.0
    import socket
    import subprocess

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
    ranks = [
        subprocess.Popen(
            [sys.executable, __file__, "p14", str(seed), damage],
            env=env | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
        )
        for rank in range(2)
    ]
    codes = [rank.wait() for rank in ranks]
    if any(codes):
        raise SystemExit(f"ranks ended with {codes}")
    return 0.0


def p15(seed: int) -> float:
    """Updates that bfloat16 rounds away."""
    model = mlp(3, 256).to(torch.bfloat16)
    x, y = blobs(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    return fit(model, optimizer, (x.to(torch.bfloat16), y), 200)


# ---- healthy ----


def h1(seed: int) -> float:
    """An MLP, to a loss near 0."""
    x, y = blobs(seed)
    model = mlp(3)
    optimizer = sgd(model, 0.05, momentum=0.9)
    return fit(model, optimizer, (x[:3072], y[:3072]), 500, held_out=(x[3072:], y[3072:]))


def h2(seed: int) -> float:
    """GELU and LayerNorm, warm-up, cosine, clipping."""
    x, y = blobs(seed, 2)
    layers: list[nn.Module] = []
    size = 32
    for _ in range(4):
        layers += [nn.Linear(size, 128), nn.LayerNorm(128), nn.GELU()]
        size = 128
    model = nn.Sequential(*layers, nn.Linear(128, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    return fit(
        model,
        optimizer,
        (x[:3072], y[:3072]),
        500,
        clip=1,
        schedule=warm_up(50, 500),
        held_out=(x[3072:], y[3072:]),
    )


def h3(seed: int) -> float:
    """A small CNN."""
    made = torch.Generator().manual_seed(seed)
    centres = torch.randn(10, 3, 16, 16, generator=made)
    y = torch.randint(10, (2048,), generator=made)
    x = centres[y] + torch.randn(2048, 3, 16, 16, generator=made) * 2
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(512, 10),
    )
    return fit(model, sgd(model, 0.05, weight_decay=5e-4), (x, y), 300, size=32)


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(64, 64)
        self.place = nn.Parameter(torch.randn(32, 64) * 0.02)
        layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
        self.head = nn.Linear(64, 64)

    def forward(self, tokens: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        x = self.layers(self.embed(tokens) + self.place, mask=mask, is_causal=True)
        found: Tensor = self.head(x)
        return found


def h4(seed: int) -> float:
    """A transformer on a Markov text."""
    made = torch.Generator().manual_seed(seed)
    table = torch.softmax(torch.randn(64, 64, generator=made) * 2, 1)
    tokens = [torch.randint(64, (512,), generator=made)]
    for _ in range(32):
        tokens.append(torch.multinomial(table[tokens[-1]], 1, generator=made)[:, 0])
    text = torch.stack(tokens, 1)

    def loss(logits: Tensor, wanted: Tensor) -> Tensor:
        return functional.cross_entropy(logits.flatten(0, 1), wanted.flatten())

    model = Transformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    schedule = warm_up(20, 300)
    data = text[:, :-1], text[:, 1:]
    return fit(model, optimizer, data, 300, loss=loss, clip=1, schedule=schedule, size=16)


def h5(seed: int) -> float:
    """Fine-tuning: the two lowest layers are frozen."""
    model = mlp(3)
    fit(model, sgd(model, 0.05, momentum=0.9), blobs(seed), 200)
    for layer in (model[0], model[2]):
        layer.requires_grad_(False)
    trained = [p for p in model.parameters() if p.requires_grad]
    x, y = blobs(seed)
    return fit(model, torch.optim.SGD(trained, lr=0.01, momentum=0.9), (x, (y + 3) % 10), 300)


def h6(seed: int) -> float:
    """Regression with heavy-tailed noise."""
    made = torch.Generator().manual_seed(seed)
    x, w = torch.randn(4096, 32, generator=made), torch.randn(32, 1, generator=made)
    y = torch.sin(x @ w / 4) + 0.1 * torch.exp(torch.randn(4096, 1, generator=made))
    model = nn.Sequential(
        nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return fit(model, optimizer, (x, y), 600, loss=functional.mse_loss)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(8, 48, batch_first=True)
        self.head = nn.Linear(48, 10)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.head(self.lstm(x)[0][:, -1])
        return found


def h7(seed: int) -> float:
    """An LSTM."""
    x, y = blobs(seed)
    model = Recurrent()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return fit(model, optimizer, (x.view(-1, 4, 8), y), 300, clip=1)


def h8(seed: int) -> float:
    """Adversaries: a generator and a discriminator, each with its optimizer."""
    x, _ = blobs(seed)
    maker = nn.Sequential(
        nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32)
    )
    judge = nn.Sequential(
        nn.Linear(32, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)
    )
    ours = torch.optim.Adam(maker.parameters(), lr=1e-3, betas=(0.5, 0.999))
    theirs = torch.optim.Adam(judge.parameters(), lr=1e-3, betas=(0.5, 0.999))
    wanted = functional.binary_cross_entropy_with_logits
    real, fake = torch.ones(64, 1), torch.zeros(64, 1)
    last = math.nan
    for (batch,) in batches((x,), 500):
        made = maker(torch.randn(64, 8))
        theirs.zero_grad()
        wanted(judge(batch), real).backward()
        wanted(judge(made.detach()), fake).backward()
        theirs.step()
        ours.zero_grad()
        found = wanted(judge(made), real)
        found.backward()
        ours.step()
        last = found.item()
    return last


def h9(seed: int) -> float:
    """Policy gradient: the label of a point has to be guessed, and pays one."""
    model = mlp(2, 64)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    paid = 0.0
    for x, y in batches(blobs(seed), 500):
        policy = functional.log_softmax(model(x), 1)
        move = torch.multinomial(policy.detach().exp(), 1)
        reward = (move[:, 0] == y).float()
        gain = (reward - reward.mean()) / (reward.std() + 1e-6)
        optimizer.zero_grad()
        (-policy.gather(1, move)[:, 0] * gain).mean().backward()
        optimizer.step()
        paid = reward.mean().item()
    return paid


def main() -> None:
    scene, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    print(f"{scene} {globals()[scene](seed):.6g}")


if __name__ == "__main__":
    main()
