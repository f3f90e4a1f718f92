# SPDX-License-Identifier: Apache-2.0
"""two_ranks.py - a job of two ranks that says all parts a step can have, and does nothing else. One
step in thirty takes much longer than the others. Goes on until it is ended."""

from __future__ import annotations

import os
import time

import footplate

PARTS = {"data": 4, "forward": 8, "backward": 10, "comm.all_reduce": 3, "optimizer": 2}  # ms
SLOW_STEP_MS = 200


def spend(part: str, ms: float) -> None:
    with footplate.span(part):
        time.sleep(ms / 1000)


def main() -> None:
    os.environ["RANK"] = "1" if os.fork() == 0 else "0"
    os.environ["WORLD_SIZE"] = "2"
    footplate.init()
    step = 0
    while True:
        with footplate.step(step):
            for part, ms in PARTS.items():
                spend(part, ms)
            if step % 30 == 29:
                spend("backward", SLOW_STEP_MS)
        if step % 20 == 19:
            with footplate.step(step // 20, "eval"):
                spend("forward.eval", 10)
            spend("checkpoint", 5)
        step += 1


main()
