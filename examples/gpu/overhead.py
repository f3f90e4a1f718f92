#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Footplate adds to a launch-bound loop, in one process, in alternating blocks of steps.

    overhead.py --out DIR                  every part below, each in a process of its own
    overhead.py --out DIR --only hooks,sync

hooks   blocks with the hooks, and with the functions that they replaced put back: microseconds that
        they add to a step; also without the timer of GPU phases, and without the hooks of waits.
        Two layers, so that a step is short against its noise
sync    the same with 200 `.item()` in a step: nanoseconds that they add to a call
agent   blocks with sampling off, every 500 ms and every 100 ms
window  blocks before and after a detail window, and without one; with TEARDOWN_CUPTI unset, 0 and 1

Differences are paired: blocks that are next to each other are compared. "+- " is twice the standard
error of their mean.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
BLOCK = 40  # steps
DROPPED = 5  # of them, at the beginning of a block
HOOKS_BLOCK, HOOKS_DROPPED = 12, 2  # short, since the machine's pace drifts
WINDOW_AT, WINDOW_STEPS = 240, 5
WINDOW_BLOCK, BLOCKS_BEFORE, BLOCKS_AFTER = 40, 5, 8
PAUSE_S = 0.6  # until a changed interval counts

# part: what the recorder is asked for, and more of the environment
PARTS: dict[str, tuple[list[str], dict[str, str]]] = {
    "hooks": ([], {}),
    "sync": ([], {}),
    "agent": ([], {}),
    "window-none": ([], {}),
    "window-default": (["--detail-steps", f"{WINDOW_AT}:{WINDOW_STEPS}"], {}),
    "window-teardown-0": (
        ["--detail-steps", f"{WINDOW_AT}:{WINDOW_STEPS}"],
        {"TEARDOWN_CUPTI": "0"},
    ),
    "window-teardown-1": (
        ["--detail-steps", f"{WINDOW_AT}:{WINDOW_STEPS}"],
        {"TEARDOWN_CUPTI": "1"},
    ),
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--work", type=Path, help="folder for the runs (default: OUT/work)")
    parser.add_argument("--only", help="parts, with commas between them; window means all of it")
    parser.add_argument("--seconds", type=float, default=30.0, help="for each of the first parts")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--footplate", type=Path, default=HERE.parent.parent / "build/footplate")
    parser.add_argument("--budget-s", type=float, default=560.0, help="seconds for everything")
    parser.add_argument("--part", choices=PARTS, help="measure; below footplate run")
    return parser.parse_args()


# ---- in the measured process ----


class Loop:
    """The launch-bound loop of tiny.py, with batches that are ready."""

    def __init__(self, device: str, size: str = "small", items: int = 0) -> None:
        sys.path.insert(0, str(HERE))
        import common
        import torch

        self.torch = torch
        args = common.parser("", size=size, batch=2).parse_args([f"--device={device}"])
        self.job = common.prepare(args)
        self.optimizer = self.job.adamw()
        tokens = common.Tokens(self.job.size)
        self.data = [tokens[i] for i in range(64)]
        self.items = items
        self.steps = 0
        self.cpu_us = 0.0  # of a step of the last block
        self.batches: Any = iter(())

    def loader(self) -> Any:
        return self.torch.utils.data.DataLoader(self.data, batch_size=self.job.size.batch)

    def step(self) -> None:
        batch = next(self.batches, None)
        if batch is None:
            self.batches = iter(self.loader())
            batch = next(self.batches)
        tokens, targets = self.job.move(batch)
        with self.job.autocast():
            loss = self.job.model(tokens, targets)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        loss = loss.detach()
        for _ in range(self.items):
            loss.item()
        self.steps += 1

    def wait(self) -> None:
        if self.job.cuda is not None:
            self.torch.cuda.synchronize()

    def block(self, steps: int = BLOCK, drop: int = DROPPED) -> float:
        """Microseconds that a step takes. The CPU time of the process goes to cpu_us."""
        for _ in range(drop):
            self.step()
        self.wait()
        began, used = time.perf_counter(), time.process_time()
        for _ in range(steps - drop):
            self.step()
        self.wait()
        took, used = time.perf_counter() - began, time.process_time() - used
        self.cpu_us = 1e6 * used / (steps - drop)
        return 1e6 * took / (steps - drop)


def owners() -> list[Any]:
    """PyTorch's modules and classes."""
    modules = [m for name, m in list(sys.modules.items()) if name.split(".")[0] == "torch" and m]
    found: dict[int, Any] = {}
    for module in modules:
        found[id(module)] = module
        for value in list(vars(module).values()):
            if isinstance(value, type):
                found[id(value)] = value
    return list(found.values())


def replaced() -> list[tuple[Any, str, Any, Any]]:
    """Where hooks stand: owner, name, the hook, and the function that was there."""
    places = []
    for owner in owners():
        try:
            names = list(vars(owner).items())
        except TypeError:
            continue
        for name, value in names:
            if type(value).__module__ == "footplate._core":
                original = getattr(value, "_footplate_original", None)
                if original is not None:
                    places.append((owner, name, value, original))
    return places


class Hooks:
    """Takes the hooks out and puts them in again, between two steps. The waits are those that the
    first use of CUDA adds: without CUDA there are none, and no timer."""

    def __init__(self, before_cuda: set[tuple[int, str]]) -> None:
        from footplate.hooks import torch_cuda

        self.state: Any = torch_cuda._State
        self.timer = self.state.timer
        self.places = replaced()
        self.waits = {(id(o), n) for o, n, _, _ in self.places} - before_cuda

    def put(self, how: str) -> None:
        if self.timer is not None:
            self.timer.disturbed = True  # a step that lasts until the hooks are back is no step
        self.state.timer = None if how == "no timer" else self.timer
        for owner, name, hook, original in self.places:
            out = how == "out" or (how == "no waits" and (id(owner), name) in self.waits)
            setattr(owner, name, original if out else hook)


def alternate(
    conditions: list[str], change: Callable[[str], None], block: Callable[[], float], seconds: float
) -> dict[str, list[float]]:
    """Rounds of one block for each condition, in random order."""
    order = random.Random(1)
    times: dict[str, list[float]] = {name: [] for name in conditions}
    until = time.perf_counter() + seconds
    while time.perf_counter() < until or len(times[conditions[0]]) < 4:
        for name in order.sample(conditions, len(conditions)):
            change(name)
            times[name].append(block())
    return times


def difference(times: dict[str, list[float]], of: str, to: str) -> dict[str, float]:
    """How much more a block of one condition takes than its neighbour; outliers left out."""
    pairs = sorted(a - b for a, b in zip(times[of], times[to], strict=True))
    cut = len(pairs) // 10
    kept = pairs[cut : len(pairs) - cut]
    error = statistics.stdev(kept) / len(kept) ** 0.5 if len(kept) > 1 else float("nan")
    base = statistics.median(times[to])
    mean = statistics.fmean(kept)
    return {
        "us": mean,
        "plus_minus_us": 2 * error,
        "pct": 100 * mean / base,
        "base_us": base,
        "median_us": statistics.median(pairs),
        "rounds": len(pairs),
    }


def measure_hooks(args: argparse.Namespace, items: int) -> dict[str, Any]:
    import torch  # noqa: F401

    before_cuda = {(id(owner), name) for owner, name, _, _ in replaced()}
    loop = Loop(args.device, "least", items)
    loop.block(drop=30)
    hooks = Hooks(before_cuda)
    cpu: list[float] = []

    def block() -> float:
        took = loop.block(HOOKS_BLOCK, HOOKS_DROPPED)
        cpu.append(loop.cpu_us)
        return took

    order: list[str] = []

    def change(how: str) -> None:
        order.append(how)
        hooks.put(how)

    parts = [] if items or hooks.timer is None else ["no timer", "no waits"]
    times = alternate(["on", "out", *parts], change, block, args.seconds)
    hooks.put("on")
    cpu_times = {
        how: [us for us, which in zip(cpu, order, strict=True) if which == how] for how in times
    }
    result: dict[str, Any] = {
        "functions": len(hooks.places),
        "on-out": difference(times, "on", "out"),
        "CPU on-out": difference(cpu_times, "on", "out"),
        **{f"on-{part}": difference(times, "on", part) for part in parts},
        "blocks_us": times,
    }
    if items:
        result["ns_per_call"] = 1e3 * result["on-out"]["us"] / items
    return result


def measure_agent(args: argparse.Namespace) -> dict[str, Any]:
    loop = Loop(args.device)
    loop.block(drop=30)
    runs = os.environ["OVERHEAD_RUNS"]

    def change(name: str) -> None:
        settings = ["monitoring=off"] if name == "off" else ["monitoring=on", f"interval={name}"]
        for setting in settings:
            words = [str(args.footplate), "set", "--dir", runs, "last", setting]
            subprocess.run(words, check=True, capture_output=True)
        time.sleep(PAUSE_S)

    steps = max(BLOCK, int(1.5e6 / loop.block()))
    times = alternate(
        ["off", "500ms", "100ms"], change, lambda: loop.block(steps), max(args.seconds, 20)
    )
    change("500ms")
    return {
        "500ms-off": difference(times, "500ms", "off"),
        "100ms-off": difference(times, "100ms", "off"),
        "blocks_us": times,
    }


def measure_window(args: argparse.Namespace) -> dict[str, Any]:
    """The window is the recorder's; here is only the clock."""
    loop = Loop(args.device)
    loop.block(WINDOW_AT - WINDOW_BLOCK * BLOCKS_BEFORE - 2, drop=1)
    before = [loop.block(WINDOW_BLOCK, drop=0) for _ in range(BLOCKS_BEFORE)]
    began = time.perf_counter()
    while loop.steps < WINDOW_AT + WINDOW_STEPS + 2:
        loop.step()
    loop.wait()
    window_s = time.perf_counter() - began
    loop.block(WINDOW_BLOCK)  # the file is written meanwhile
    after = [loop.block(WINDOW_BLOCK, drop=0) for _ in range(BLOCKS_AFTER)]
    usual = statistics.median(before)
    return {
        "before_us": usual,
        "after_us": statistics.median(after),
        "ratio": statistics.median(after) / usual,
        "window_s": window_s,
        "window_usual_s": (WINDOW_STEPS + 4) * usual / 1e6,
        "teardown": os.environ.get("TEARDOWN_CUPTI"),
        "blocks_us": {"before": before, "after": after},
    }


def measure(args: argparse.Namespace) -> None:
    gc.freeze()
    if args.part == "agent":
        result = measure_agent(args)
    elif args.part in ("hooks", "sync"):
        result = measure_hooks(args, items=200 if args.part == "sync" else 0)
    else:
        result = measure_window(args)
    (args.out / f"overhead-{args.part}.json").write_text(json.dumps(result))


# ---- the driver ----


def text_of(part: str, found: dict[str, Any]) -> str:
    def words(name: str) -> str:
        d = found[name]
        return (
            f"{name} {d['us']:+.1f} us +- {d['plus_minus_us']:.1f} ({d['pct']:+.2f} % of "
            f"{d['base_us'] / 1e3:.2f} ms, {d['rounds']} rounds, median {d['median_us']:+.1f})"
        )

    if part.startswith("window"):
        return (
            f"{found['before_us'] / 1e3:.2f} -> {found['after_us'] / 1e3:.2f} ms, "
            f"ratio {found['ratio']:.3f}; the window's steps {found['window_s']:.2f} s instead of "
            f"{found['window_usual_s']:.2f} s; TEARDOWN_CUPTI={found['teardown']}"
        )
    text = "; ".join(words(name) for name in found if name.count("-") == 1)
    if "ns_per_call" in found:
        text += f"; {found['ns_per_call']:.0f} ns a call"
    if "functions" in found:
        text += f"; {found['functions']} functions hooked"
    return text


def run_part(part: str, args: argparse.Namespace, work: Path, left_s: float) -> str:
    asked, env = PARTS[part]
    runs = work / part
    done = subprocess.run(
        [str(args.footplate), "run", "-q", "--no-report", "--name", "overhead", "--dir", str(runs)]
        + [*asked, "--", sys.executable, str(HERE / "overhead.py"), "--part", part]
        + ["--out", str(args.out), "--device", args.device, "--seconds", str(args.seconds)]
        + ["--footplate", str(args.footplate)],
        env=os.environ | env | {"OVERHEAD_RUNS": str(runs)},
        capture_output=True,
        text=True,
        timeout=left_s,
        check=False,
    )
    result = args.out / f"overhead-{part}.json"
    if done.returncode != 0 or not result.exists():
        return f"failed with status {done.returncode}\n" + done.stderr[-1500:]
    return text_of(part, json.loads(result.read_text()))


def main() -> None:
    args = arguments()
    args.out.mkdir(parents=True, exist_ok=True)
    if args.part:
        measure(args)
        return
    only = args.only.split(",") if args.only else None
    began = time.monotonic()
    lines = []
    for part in PARTS:
        if only is not None and part not in only and part.partition("-")[0] not in only:
            continue
        left_s = args.budget_s - (time.monotonic() - began)
        if left_s < args.seconds + 30:
            text = f"skipped: {left_s:.0f} s of the budget are left"
        else:
            try:
                text = run_part(part, args, args.work or args.out / "work", left_s)
            except subprocess.TimeoutExpired:
                text = "did not end in time"
        lines.append(f"{part}: {text}")
        print(lines[-1], flush=True)
    results = {
        part: json.loads((args.out / f"overhead-{part}.json").read_text())
        for part in PARTS
        if (args.out / f"overhead-{part}.json").exists()
    }
    for part in results:  # one file to carry home
        (args.out / f"overhead-{part}.json").unlink()
    (args.out / "overhead.json").write_text(json.dumps(results))
    (args.out / "overhead.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
