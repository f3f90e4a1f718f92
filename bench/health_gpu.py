# SPDX-License-Identifier: Apache-2.0
"""health_gpu.py [OUT]: the capture of training health on a GPU. Needs CUDA and the recorder:

    footplate run --health on -- python bench/health_gpu.py

1. Statistics that came from the device are those that torch computes.
2. torch.profiler traces the same steps without and with a sample at every step: no call that waits
   for the device (cudaStreamSynchronize, cudaDeviceSynchronize, cudaEventSynchronize, a blocking
   cudaMemcpy) is added. The first samples, which allocate, are before the trace.
   The same for steps whose tensors are saved (--save-tensors). torch.cuda.set_sync_debug_mode
   ("error") raises in a call of torch that waits; none does.
3. What the default capture costs per step, on steps of about 1 ms and 50 ms, and the memory that it
   takes on the device: allocated, and at the peak.
4. Under AMP with a fused optimizer, and in a captured CUDA graph, the training goes on.

About 90 s on an H200. Prints one JSON object; exits with 1 when something does not hold."""

from __future__ import annotations

import collections
import json
import math
import pathlib
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from footplate.detail import boundary
from footplate.hooks import _scalars, torch_health, torch_saver
from health_step import Capture
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/py/scripts"))
from health_kit import Told  # noqa: E402

WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "cudaMemcpy")
failures: list[str] = []


def check(holds: bool, what: str) -> None:
    if not holds:
        failures.append(what)


def model(width: int, layers: int, dtype: torch.dtype = torch.float32) -> nn.Sequential:
    parts: list[nn.Module] = []
    for _ in range(layers):
        parts += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*parts, nn.Linear(width, 10)).cuda().to(dtype)


def make(width: int, layers: int, batch: int) -> tuple[nn.Module, Callable[[], Any]]:
    torch.manual_seed(0)
    net = model(width, layers)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    x = torch.randn(batch, width, device="cuda")
    y = torch.randint(10, (batch,), device="cuda")

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return net, step


def numbers(told: Told) -> dict[str, Any]:
    """What came from the device, against torch."""
    net, step = make(256, 3, 64)
    wanted: dict[str, float] = {}
    sums: dict[str, int] = {}
    losses = []
    for _ in range(6):
        loss = step()
        losses.append(loss.item())
        wanted = {n: p.grad.norm().item() for n, p in net.named_parameters()}
        sums = {
            n: p.detach().view(torch.int32).long().bitwise_and(0xFFFFFFFF).sum().item()
            for n, p in net.named_parameters()
        }
    capture = torch_health._State.capture
    assert capture is not None, "nothing is captured: run it below `footplate run --health on`"
    torch.cuda.synchronize()
    capture.finish()
    last = max(told.steps())
    for name, want in wanted.items():
        found = told.tensor("gradient.l2").get(name, {}).get(last, math.nan)
        near = math.isclose(found, want, rel_tol=1e-4)
        check(near, f"gradient.l2 of {name}: {found}, not {want}")
        total = told.tensor("weight.sum").get(name, {}).get(last)
        check(total == sums[name], f"weight.sum of {name}: {total}, not {sums[name]}")
    found = list(told.scalar("loss").values())
    check(
        len(found) == 6
        and all(math.isclose(a, b, rel_tol=1e-5) for a, b in zip(found, losses, strict=False)),
        f"losses {found}, not {losses}",
    )
    check(len(told.tensor("output.std")) == 7, f"outputs: {sorted(told.tensor('output.std'))}")
    return {"statistics": sorted({v[0] for v in told.values}), "samples": told.steps()}


def waits(step: Callable[[], Any], steps: int) -> collections.Counter[str]:
    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=kinds) as profiler:
        for _ in range(steps):
            step()
    torch.cuda.synchronize()
    found: collections.Counter[str] = collections.Counter()
    for event in profiler.events():
        if event.name in WAITS:
            found[event.name] += 1
    return found


def synchronization(capture: Capture) -> dict[str, Any]:
    _, step = make(512, 4, 64)
    for _ in range(20):
        step()
    state = torch_health._State.capture
    assert state is not None
    state.settings.forced, state.settings.every = True, 1
    capture.off()
    for _ in range(5):
        step()
    plain = waits(step, 20)
    capture.on()
    for _ in range(20):
        step()
    sampled = waits(step, 20)
    strict(step, "sampled")
    save_from(boundary.loop.ended + 1, 60)
    for _ in range(20):
        step()
    saving = waits(step, 20)
    strict(step, "saved")
    for name in WAITS:
        for what, found in {"sampled": sampled, "saved": saving}.items():
            added = found[name] - plain[name]
            check(added <= 0, f"{added} x {name} added in 20 {what} steps")
    saver = state.saver
    check(saver is not None and saver.left < saver.request.limit, "nothing was saved")
    state.saver = None
    state.settings.forced, state.settings.every = False, _scalars.EVERY
    return {"plain": dict(plain), "sampled": dict(sampled), "saved": dict(saving)}


def save_from(step: int, count: int) -> None:
    """A matrix, its gradient and all outputs, in these steps."""
    state = torch_health._State.capture
    assert state is not None
    asked = {
        "tensors": [r"^(gradient/)?0\.", "_output_0$"],
        "steps": [{"start": step, "count": count}],
        "limit": 1 << 34,
    }
    state.saver = torch_saver.make(torch, state.core, state.names, asked)
    state.follow_forward(True)


def strict(step: Callable[[], Any], what: str) -> None:
    """Ten steps in which torch refuses to wait."""
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    before = torch_health._State.capture
    try:
        for _ in range(10):
            step()
    except RuntimeError as error:
        failures.append(f"a {what} step waits: {error}")
    finally:
        torch.cuda.set_sync_debug_mode("default")
    check(torch_health._State.capture is before, f"the capture has ended in a {what} step")


def peak(capture: Capture) -> dict[str, int]:
    """Most bytes that were allocated on the device in 20 steps, without and with samples."""
    _, step = make(1024, 6, 512)
    state = torch_health._State.capture
    assert state is not None
    found: dict[str, int] = {}
    for name in ("plain", "default", "sampled"):
        state.settings.forced = name == "sampled"
        state.settings.every = 1 if name == "sampled" else _scalars.EVERY
        capture.off() if name == "plain" else capture.on()
        for _ in range(5):
            step()
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        for _ in range(20):
            step()
        torch.cuda.synchronize()
        found[name] = torch.cuda.max_memory_allocated()
    state.settings.forced, state.settings.every = False, _scalars.EVERY
    capture.on()
    added = found["sampled"] - found["plain"]
    check(added <= 64 << 20, f"{added} bytes more at the peak")
    return found


def timed(step: Callable[[], Any], steps: int) -> float:
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / steps * 1e6


def cost(capture: Capture, width: int, layers: int, batch: int, steps: int) -> dict[str, Any]:
    _, step = make(width, layers, batch)
    capture.on()
    for _ in range(120):
        step()
    plain, health, spent = [], [], []
    for _ in range(7):
        capture.off()
        plain.append(timed(step, steps))
        capture.on()
        capture.spent_ns = 0
        health.append(timed(step, steps))
        spent.append(capture.spent_ns / steps / 1e3)
    base = statistics.median(plain)
    added = statistics.median(b - a for a, b in zip(plain, health, strict=False))
    return {
        "step_us": base,
        "added_percent": 100 * added / base,
        "host_percent": 100 * statistics.median(spent) / base,
    }


def amp() -> dict[str, Any]:
    torch.manual_seed(0)
    net = model(256, 2)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, fused=True)
    scaler = torch.amp.GradScaler("cuda", init_scale=1024.0)
    x, y = torch.randn(64, 256, device="cuda"), torch.randint(10, (64,), device="cuda")
    first = last = math.nan
    for i in range(30):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(net(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        first, last = (loss.item(), last) if i == 0 else (first, loss.item())
    check(last < first, "training with AMP does not learn")
    return {"first": first, "last": last}


def graph() -> dict[str, Any]:
    """A whole step captured in a CUDA graph and replayed."""
    net = model(128, 2)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, capturable=True)
    x, y = torch.randn(32, 128, device="cuda"), torch.randint(10, (32,), device="cuda")

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=False)
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        loss = step()
    captured.replay()  # capturing computes nothing
    first = loss.item()
    for _ in range(50):
        captured.replay()
    check(loss.item() < first, "a captured step does not learn")
    return {"first": first, "last": loss.item()}


def main() -> None:
    if not torch.cuda.is_available():
        raise SystemExit("there is no CUDA device here")
    capture = Capture()
    found: dict[str, Any] = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    settings = _scalars.settings()
    settings.forced, settings.every = True, 1
    real = _scalars.core
    told = Told.listen()
    found["numbers"] = numbers(told)
    _scalars.core = real
    torch_health._end()
    settings.forced, settings.every = False, _scalars.EVERY
    found["amp"] = amp()
    found["graph"] = graph()
    base = torch.cuda.memory_allocated()
    found["waits"] = synchronization(capture)
    state = torch_health._State.capture
    assert state is not None
    found["device_bytes"] = state.lane.bytes + state.lane.made * 256 * 8
    check(found["device_bytes"] <= 64 << 20, "more than 64 MiB on the device")
    found["allocated"] = torch.cuda.memory_allocated() - base
    found["peak"] = peak(capture)
    found["cost"] = {
        "1 ms": cost(capture, 512, 4, 256, 400),
        "50 ms": cost(capture, 4096, 8, 8192, 20),
    }
    found["failures"] = failures
    text = json.dumps(found, indent=1)
    print(text)
    if len(sys.argv) > 1:
        pathlib.Path(sys.argv[1]).write_text(text)
    sys.exit(bool(failures))


main()
