# SPDX-License-Identifier: Apache-2.0
"""host_troubles.py TROUBLE SECONDS [FILE]: marked steps in plain Python that have one trouble.

none: the steps compute. memory: they read a file again and again that does not fit into the memory
that the program may use. storage: each sample is written to the file and synced before its step.
"""

from __future__ import annotations

import mmap
import os
import sys
import time

import footplate

TROUBLE, SECONDS = sys.argv[1], float(sys.argv[2])
FILE = sys.argv[3] if len(sys.argv) > 3 else ""
PAGE = 4096
SIZE = 96 << 20


def compute(seconds: float) -> int:
    until, n = time.thread_time() + seconds, 0
    while time.thread_time() < until:
        n += sum(range(1000))
    return n


class Scan:
    """Touches every page of the file, some at a time."""

    def __init__(self) -> None:
        with open(FILE, "wb") as file:
            for _ in range(SIZE >> 20):
                file.write(os.urandom(1 << 20))
        with open(FILE, "rb") as file:
            self.map = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        self.at = 0

    def step(self) -> int:
        n = 0
        for _ in range(1024):
            self.at = (self.at + PAGE) % SIZE
            n += self.map[self.at]
        return n


def sync(file: int, count: int) -> None:
    for _ in range(count):
        os.pwrite(file, os.urandom(PAGE), 0)
        os.fsync(file)


def main() -> None:
    scan = Scan() if TROUBLE == "memory" else None
    file = os.open(FILE, os.O_RDWR | os.O_CREAT) if TROUBLE == "storage" else -1
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        if TROUBLE == "storage":
            with footplate.span("data"):
                sync(file, 16)
        with footplate.step():
            if scan:
                scan.step()
            else:
                compute(0.002)


main()
