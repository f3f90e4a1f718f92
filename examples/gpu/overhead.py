#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Footplate adds to a launch-bound loop, in one process, in alternating blocks of steps.

    overhead.py --out DIR                  every part below, each in a process of its own
    overhead.py --out DIR --only hooks,sync

hooks   microseconds that the hooks add to a step. The pace of a machine drifts by far more than
        that within a second, so groups of four steps with hooks and with silent hooks (Gate.quiet)
        follow each other in random order, with no pause between them. What a silent hook still
        costs is measured apart: its calls in a step times what one call takes. Two layers
sync    blocks with the hooks and with the functions that they replaced, with 200 `.item()` in a
        step: nanoseconds that they add to a call
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
SYNC_BLOCK, SYNC_DROPPED = 12, 2  # short, since the machine's pace drifts
GROUP = 4  # steps between two changes
WINDOW_AT, WINDOW_STEPS = 240, 5
WINDOW_BLOCK, BLOCKS_BEFORE, BLOCKS_AFTER = 40, 5, 8
PAUSE_S = 0.6  # until a changed interval counts

Place = tuple[Any, str, Any, Any]  # of a hook: owner, name, the hook, the function that was there

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
        """Microseconds that a step takes."""
        for _ in range(drop):
            self.step()
        self.wait()
        began = time.perf_counter()
        for _ in range(steps - drop):
            self.step()
        self.wait()
        return 1e6 * (time.perf_counter() - began) / (steps - drop)


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


def replaced() -> list[Place]:
    """Where the hooks are."""
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


def switch(places: list[Place], hooked: bool) -> None:
    """Puts the hooks into their places, or the functions that were there."""
    for owner, name, hook, original in places:
        setattr(owner, name, hook if hooked else original)


def count_calls(
    places: list[tuple[Any, str, Any, Any]], step: Callable[[], None]
) -> dict[str, int]:
    """How often each kind of hook is called in a step."""
    calls: dict[str, int] = {}

    def counted(hook: Any, kind: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            calls[kind] = calls.get(kind, 0) + 1
            return hook(*args, **kwargs)

        return call

    for owner, name, hook, _ in places:
        setattr(owner, name, counted(hook, type(hook).__qualname__))
    step()
    switch(places, hooked=True)
    return calls


def silent_ns(core: Any) -> dict[str, float]:
    """What a silent hook of each kind adds to a call."""
    import timeit

    def best(function: Any) -> float:
        times = timeit.repeat("f(x)", globals={"f": function, "x": None}, number=2000, repeat=50)
        return 1e9 * min(times) / 2000

    plain = best(id)
    core.Gate.quiet(True)
    added = {
        "Gate": best(core.Gate(id)) - plain,
        "SyncGate": best(core.SyncGate(id, "item")) - plain,
    }
    core.Gate.quiet(False)
    return added


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


def measure_hooks(args: argparse.Namespace) -> dict[str, Any]:
    from footplate import _core  # type: ignore[attr-defined,unused-ignore]
    from footplate.hooks import torch_cuda

    loop = Loop(args.device, "least")
    loop.block(300, drop=30)
    timer: Any = torch_cuda._State.timer
    if timer is not None:  # it would take silent steps for long ones
        timer.sampler.learn = lambda *ignored: None
    order = random.Random(1)
    times: dict[str, list[float]] = {"on": [], "silent": []}
    until = time.perf_counter() + args.seconds
    while time.perf_counter() < until:
        for name in order.sample(list(times), len(times)):
            _core.Gate.quiet(name == "silent")
            began = time.perf_counter()
            for _ in range(GROUP):
                loop.step()
            times[name].append(1e6 * (time.perf_counter() - began) / GROUP)
    _core.Gate.quiet(False)
    loop.wait()
    calls, each = count_calls(replaced(), loop.step), silent_ns(_core)
    silent_us = sum(calls.get(kind, 0) * ns / 1e3 for kind, ns in each.items())
    sampler = timer.sampler if timer is not None else None
    result = difference(times, "on", "silent")
    return {
        "on-silent": result,
        "total_us": result["us"] + silent_us,
        "silent_us": silent_us,
        "calls": calls,
        "silent_ns": each,
        "timed_one_of": 1 + sampler.mean_skip() if sampler is not None else None,
        "timed_cost_us": sampler.cost_ns / sampler.timed / 1e3 if sampler is not None else None,
    }


def measure_sync(args: argparse.Namespace, items: int = 200) -> dict[str, Any]:
    loop = Loop(args.device, "least", items)
    loop.block(drop=30)
    places = replaced()
    times = alternate(
        ["on", "out"],
        lambda how: switch(places, how == "on"),
        lambda: loop.block(SYNC_BLOCK, SYNC_DROPPED),
        args.seconds,
    )
    switch(places, hooked=True)
    result = difference(times, "on", "out")
    return {"on-out": result, "ns_per_call": 1e3 * result["us"] / items, "blocks_us": times}


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
    measures = {"hooks": measure_hooks, "sync": measure_sync, "agent": measure_agent}
    result = measures.get(args.part, measure_window)(args)
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
    if "total_us" in found:
        text += f"; silent {found['silent_us']:.1f} us ({found['calls']})"
        text += f"; total {found['total_us']:.1f} us"
    if found.get("timed_one_of"):
        text += (
            f"; one of {found['timed_one_of']:.0f} steps is timed, {found['timed_cost_us']:.0f} us"
        )
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
