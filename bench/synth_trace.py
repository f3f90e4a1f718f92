# SPDX-License-Identifier: Apache-2.0
"""A trace as PyTorch's profiler writes it, made up: for machines that have no real one at hand.

The shape of its text, the mix of its events and how often names repeat are those of real traces of
a training program on one GPU.
"""

from __future__ import annotations

import gzip
import pathlib
import random

OPS = [f"aten::{n}" for n in ("add", "mul", "t", "transpose", "mm", "addmm", "view", "copy_")]
KERNELS = [
    f"void at::native::vectorized_elementwise_kernel<4, at::native::Functor{i}<float>, "
    f"at::detail::Array<char*, {i % 4 + 1}> >(int, at::native::Functor{i}<float>)"
    for i in range(60)
]
HEAD = """{
  "schemaVersion": 1,
  "deviceProperties": [
    {"id": 0, "name": "made up", "totalGlobalMem": 42505273344, "warpSize": 32}
  ],
  "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8},
  "traceEvents": [
"""
OP = """  {
    "ph": "X", "cat": "cpu_op", "name": "%s", "pid": 3113936, "tid": %d,
    "ts": %d.%03d, "dur": %d.%03d,
    "args": {
      "External id": %d,"Record function id": 0, "Input Dims": %s, "Input type": %s, "Ev Idx": %d
    }
  },
"""
LAUNCH = """  {
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 3113936, "tid": %d,
    "ts": %d.%03d, "dur": 4.%03d,
    "args": {
      "External id": %d,
      "cbid": 211, "correlation": %d
    }
  },
"""
KERNEL = """  {
    "ph": "X", "cat": "kernel", "name": "%s", "pid": 0, "tid": 7,
    "ts": %d.%03d, "dur": %d.%03d,
    "args": {
      "External id": %d,
      "queued": 0, "device": 0, "context": 1,
      "stream": 7, "correlation": %d,
      "registers per thread": %d,
      "shared memory": 0,
      "blocks per SM": %f,
      "warps per SM": %f,
      "grid": [%d, 1, 1],
      "block": [128, 1, 1],
      "est. achieved occupancy %%": %d
    }
  },
"""
FLOW = """  {
    "ph": "%s", "id": %d, "pid": %d, "tid": %d, "ts": %d.%03d,
    "cat": "ac2g", "name": "ac2g"%s
  },
"""
STEP = """  {
    "ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d", "pid": 3113936, "tid": 3113936,
    "ts": %d.%03d, "dur": %d.000
  },
"""
TAIL = """  {
    "name": "Record Window End", "ph": "i", "s": "g",
    "pid": "", "tid": "", "ts": %d.000
  }
  ],
  "traceName": "made up"
}
"""
FIRST_US = 1661203462000000


def _operator(rng: random.Random, number: int, at: int) -> str:
    thread = 3113936 if rng.random() < 0.6 else 3126441
    sizes = [1, 64, 256, 1024]
    shapes = [[rng.choice(sizes), rng.choice(sizes)] for _ in range(number % 4)]
    types = '["float", "Scalar"]' if number % 3 else "[]"
    op = rng.choice(OPS)
    text = OP % (op, thread, at, number % 1000, 9, number % 1000, number, shapes, types, number)
    if number % 3:
        return text
    correlation = 100000 + number
    begin = at + 12
    blocks = rng.choice([0.5, 1.185185, 2.37037, 8.0])
    return (
        text
        + LAUNCH % (thread, at + 2, number % 1000, number % 1000, number, correlation)
        + FLOW % ("s", correlation, 3113936, thread, at + 2, number % 1000, "")
        + FLOW % ("f", correlation, 0, 7, begin, number % 1000, ', "bp": "e"')
        + KERNEL
        % (
            rng.choice(KERNELS),
            begin,
            number % 1000,
            rng.choice([3, 8, 21]),
            number % 1000,
            number,
            correlation,
            rng.choice([16, 32, 40]),
            blocks,
            blocks * 4,
            number % 2048,
            rng.choice([12, 50, 100]),
        )
    )


def write(path: pathlib.Path, operators: int = 60000, steps: int = 5) -> None:
    """About 450 bytes of JSON an operator."""
    rng = random.Random(1)
    with gzip.open(path, "wt", compresslevel=6) as to:
        to.write(HEAD)
        each = operators // steps
        for number in range(operators):
            at = FIRST_US + number * 30
            if number % each == 0:
                to.write(STEP % (number // each, at, 0, each * 30 - 40))
            to.write(_operator(rng, number, at))
        to.write(TAIL % (FIRST_US + operators * 30))
