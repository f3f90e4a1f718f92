# SPDX-License-Identifier: Apache-2.0
"""What a training loop did, measured by the program itself and not by Footplate.

    meter = Meter("loader", args, cause="Dataloader", samples=16, cuda=torch.cuda)
    for batch in meter.steps(loader):
        with meter.phase("forward"):
            loss = model(batch)
        ...
        with meter.outside("checkpoint"):
            save(model)
    meter.write()

The meter must not change what it measures. It reads the clock once an iteration and records CUDA
events around the phases of a random part of the steps. It never waits for the GPU inside the loop:
the events are read in write(). Nothing here imports a framework.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import statistics
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

MOST_TIMED = 2000  # steps with CUDA events; each event is some 100 bytes until write()
USUAL = 1.25  # times the median: an iteration up to this long has the loop's usual pace
IN_A_ROW = 5  # iterations of the usual pace that end the warm-up

NOTHING = contextlib.nullcontext()


def options(about: str) -> argparse.ArgumentParser:
    """The options that every program has."""
    parser = argparse.ArgumentParser(description=about.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=20.0, help="length of the loop")
    parser.add_argument("--steps", type=int, default=0, help="end after so many steps; 0: by time")
    parser.add_argument("--device", default="cuda", help="cuda or cpu")
    parser.add_argument("--truth", type=Path, help="file for what the program measured")
    parser.add_argument("--timed-share", type=float, default=0.1, help="steps with CUDA events")
    parser.add_argument("--seed", type=int, default=1)
    return parser


class _Phase:
    """Two CUDA events around a block."""

    def __init__(self, cuda: Any, step: int, name: str) -> None:
        self.step = step
        self.name = name
        self.begin = cuda.Event(enable_timing=True)
        self.end = cuda.Event(enable_timing=True)

    def __enter__(self) -> None:
        self.begin.record()

    def __exit__(self, *error: object) -> None:
        self.end.record()


class Meter:
    """The clock of one training loop."""

    def __init__(
        self,
        program: str,
        args: argparse.Namespace,
        *,
        cause: str | None = None,
        samples: int = 0,
        flops: float = 0.0,
        cuda: Any = None,
    ) -> None:
        """`cause`: the rule that should find this program's problem; None: it is healthy.
        `flops`: of the tensor cores in a step, 0 when they are not used. `cuda`: torch.cuda, None
        on a CPU."""
        self.program = program
        self.args = args
        self.cause = cause
        self.samples_per_step = samples
        self.flops = flops
        self.cuda = cuda
        self.begins: list[float] = []  # of iterations, by perf_counter
        self.outsides: list[tuple[str, float, float]] = []
        self.phases: list[_Phase] = []
        self.eval_steps = 0
        self.eval_flops = 0.0
        self.end = 0.0
        self.deadline = 0.0
        self.timed = False
        self.timed_steps = 0
        self.random = random.Random(args.seed + 1)
        self.notes: dict[str, Any] = {}  # more about this program

    # ---- in the loop ----

    def steps(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The batches, until the time is over. An iteration begins before its batch is fetched."""
        following = iter(batches)
        self.start()
        while self.goes_on():
            self.begin_step()
            batch = next(following, None)
            if batch is None:
                self.begins.pop()
                break
            yield batch
        self.stop()
        del following  # ends the loader's workers

    def start(self, seconds: float | None = None) -> None:
        """The loop begins; called again, its time starts anew."""
        self.deadline = time.perf_counter() + (self.args.seconds if seconds is None else seconds)

    def goes_on(self) -> bool:
        if self.args.steps and len(self.begins) >= self.args.steps:
            return False
        return len(self.begins) < 2 or time.perf_counter() < self.deadline

    def begin_step(self) -> None:
        self.begins.append(time.perf_counter())
        self.timed = (
            self.cuda is not None
            and self.timed_steps < MOST_TIMED
            and self.random.random() < self.args.timed_share
        )
        self.timed_steps += self.timed

    def phase(self, name: str) -> Any:
        """`with meter.phase("forward"):` takes the GPU's time of the block in some of the steps."""
        if not self.timed:
            return NOTHING
        phase = _Phase(self.cuda, len(self.begins) - 1, name)
        self.phases.append(phase)
        return phase

    @contextlib.contextmanager
    def outside(self, what: str) -> Iterator[None]:
        """Evaluation or a checkpoint: in the loop's time, in no step."""
        self.timed = False
        began = time.perf_counter()
        yield
        self.was_outside(what, began)

    def was_outside(self, what: str, began: float) -> None:
        """The same for callbacks: from `began` (perf_counter) until now."""
        self.outsides.append((what, began, time.perf_counter()))

    def stop(self) -> None:
        """The last step is over."""
        self.end = time.perf_counter()

    # ---- after it ----

    def iterations_ms(self) -> list[float]:
        """Begin to begin, without what was outside."""
        ends = [*self.begins[1:], self.end]
        lost = [0.0] * len(ends)
        at = 0
        for _, began, ended in self.outsides:
            while at + 1 < len(ends) and ends[at] <= began:
                at += 1
            lost[at] += ended - began
        return [
            1e3 * (end - begin - less)
            for begin, end, less in zip(self.begins, ends, lost, strict=True)
        ]

    def write(self) -> dict[str, Any]:
        """Waits for the GPU, and writes the file that --truth names."""
        gpu_ms, gpu_spans = self._gpu_times()
        found = self._times() | {
            "program": self.program,
            "cause": self.cause,
            "healthy": self.cause is None,
            "gpu_ms": gpu_ms,
            "peak_bytes": int(self.cuda.max_memory_allocated()) if self.cuda else None,
            "gpu": self.cuda.get_device_name() if self.cuda else None,
            "gpu_spans": gpu_spans,
        }
        found |= self.notes
        if self.args.truth:
            hidden = self.args.truth.with_name(f".{self.args.truth.name}")
            hidden.write_text(json.dumps(found))
            os.replace(hidden, self.args.truth)
        print(
            f"{self.program}: {found['steps']} steps in {found['loop_wall_s']:.1f} s, "
            f"{found['iteration_ms_p50']:.2f} ms each (median)"
        )
        return found

    def _times(self) -> dict[str, Any]:
        iterations = self.iterations_ms()
        warm = warm_up(iterations)
        # The last iteration ends with the loop, not with another begin.
        steady = iterations[warm:-1] or iterations[-1:]
        steady_s = sum(steady) / 1e3
        loop_s = self.end - self.begins[0]
        outside_s: dict[str, float] = {}
        for what, began, ended in self.outsides:
            outside_s[what] = outside_s.get(what, 0.0) + ended - began
        to_unix_ns = time.time_ns() - int(time.perf_counter() * 1e9)
        warm_flops = self.flops * (len(iterations) - warm) + self.eval_flops
        return {
            "steps": len(iterations),
            "eval_steps": self.eval_steps,
            "samples": self.samples_per_step * len(iterations),
            "samples_per_step": self.samples_per_step,
            "loop_wall_s": loop_s,
            "outside_s": outside_s,
            "steady_first_step": warm,
            "steady_steps": len(steady),
            "steady_wall_s": steady_s,
            "throughput_steady": self.samples_per_step * len(steady) / steady_s,
            "throughput_overall": self.samples_per_step * len(iterations) / loop_s,
            "iteration_ms_p50": statistics.median(steady),
            "iteration_ms_mean_steady": statistics.fmean(steady),
            "tflops": self.flops * len(steady) / steady_s / 1e12 or None,
            # From the end of the warm-up on, evaluation and checkpoints included.
            "tflops_loop": warm_flops / (self.end - self.begins[warm]) / 1e12 or None,
            "begins_ns": [to_unix_ns + int(1e9 * begin) for begin in self.begins],
            "outsides_ns": [
                (what, to_unix_ns + int(1e9 * began), to_unix_ns + int(1e9 * ended))
                for what, began, ended in self.outsides
            ],
        }

    def _gpu_times(self) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
        if self.cuda is None:
            return None, []
        self.cuda.synchronize()
        if not self.phases:
            return None, []
        tie, host_ns = self._tie()
        spans = [
            {
                "step": phase.step,
                "phase": phase.name,
                "begin_ns": host_ns - int(1e6 * phase.begin.elapsed_time(tie)),
                "ms": phase.begin.elapsed_time(phase.end),
            }
            for phase in self.phases
        ]
        first = warm_up(self.iterations_ms())
        summary: dict[str, Any] = {}
        for name in dict.fromkeys(phase.name for phase in self.phases):
            steady = [s for s in spans if s["phase"] == name and s["step"] >= first]
            if steady:
                summary[name] = {
                    "median": statistics.median(s["ms"] for s in steady),
                    "mean": statistics.fmean(s["ms"] for s in steady),
                    "steps": [s["step"] for s in steady],
                }
        return summary, spans

    def _tie(self) -> tuple[Any, int]:
        """An event, and when it was by the host's clock; the GPU has nothing else to do."""
        tries = []
        for _ in range(10):
            event = self.cuda.Event(enable_timing=True)
            before = time.time_ns()
            event.record()
            event.synchronize()
            after = time.time_ns()
            tries.append((after - before, (before + after) // 2, event))
        _, host_ns, event = min(tries, key=lambda one: one[0])
        return event, host_ns


def warm_up(iterations_ms: list[float]) -> int:
    """How many iterations pass before the loop has its usual pace; the first always does."""
    later = iterations_ms[len(iterations_ms) // 2 :]
    limit = USUAL * statistics.median(later)
    row = 0
    for i, took in enumerate(iterations_ms[1:], 1):
        row = row + 1 if took <= limit else 0
        if row == IN_A_ROW:
            return i - IN_A_ROW + 1
    return min(1, len(iterations_ms) - 1)
