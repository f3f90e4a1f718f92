# SPDX-License-Identifier: Apache-2.0
"""Writes operators of a window as a Chrome trace in the form of PyTorch's, for which there is an
importer. Times in it are microseconds since `base_ns`, of the wall clock."""

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

MOST_EVENTS = 1_000_000
STEPS = "steps"  # the line of the steps themselves


class Steps:
    """When the steps of a window began and ended, ns of the wall clock."""

    def __init__(self) -> None:
        self.done: list[tuple[int, int, int]] = []  # number, begin, end
        self.open: tuple[int, int] | None = None

    def begin(self, number: int, now_ns: int) -> None:
        self.end(now_ns)
        self.open = number, now_ns

    def end(self, now_ns: int) -> None:
        if self.open is not None:
            self.done.append((*self.open, now_ns))
            self.open = None

    def rows(self, base_ns: int) -> "Iterable[dict[str, Any]]":
        for number, begin, end in self.done:
            yield span(
                f"ProfilerStep#{number}",
                "user_annotation",
                STEPS,
                (begin - base_ns) / 1e3,
                (end - begin) / 1e3,
            )


def span(name: str, category: str, line: str, at_us: float, took_us: float) -> "dict[str, Any]":
    """On a thread of this process."""
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "pid": os.getpid(),
        "tid": line,
        "ts": round(at_us, 3),
        "dur": round(took_us, 3),
    }


def device_span(
    name: str, device: int, stream: int, at_us: float, took_us: float
) -> "dict[str, Any]":
    """On a stream of a device."""
    low = name.lower()
    copy = "gpu_memset" if "memset" in low else "gpu_memcpy"
    return span(name, copy if low.startswith("mem") else "kernel", str(stream), at_us, took_us) | {
        "pid": device,
        "tid": stream,
        "args": {"device": device, "stream": stream},
    }


def write(
    path: str, about: "dict[str, Any]", base_ns: int, rows: "Iterable[dict[str, Any]]"
) -> None:
    """Event by event: a window may have many."""
    with open(path, "w", encoding="utf-8") as file:
        head = {"schemaVersion": 1, "baseTimeNanoseconds": base_ns, "footplate": about}
        file.write(json.dumps(head)[:-1] + ', "traceEvents": [')
        for count, row in enumerate(rows):
            if count >= MOST_EVENTS:
                break
            file.write(("," if count else "") + "\n" + json.dumps(row))
        file.write("\n]}\n")
