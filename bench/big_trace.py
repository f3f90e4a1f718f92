# SPDX-License-Identifier: Apache-2.0
"""big_trace.py SOURCE OUT.json.gz BYTES: a long trace made of a short one.

The events of the source are repeated until there are BYTES of JSON. Each time they come later, by
the time that the source covers, and with other ids, so that nothing is there twice.
"""

from __future__ import annotations

import gzip
import pathlib
import re
import sys
import zlib

NUMBERS = re.compile(
    rb'("ts": |"correlation": |"[Ee]xternal id": |"Ev Idx": |"Sequence number": |"id": )'
    rb"(\d+)(\.\d+)?"
)
TIME = b'"ts": '


def read(path: pathlib.Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def split(data: bytes) -> tuple[bytes, bytes, bytes]:
    """What stands before the events, the events without the brackets, what stands behind them."""
    begin = data.index(b"[", data.index(b'"traceEvents"')) + 1
    close = data.find(b"\n  ]", begin)  # as PyTorch writes it, now and of old
    if close < 0:
        close = data.rindex(b"]")
    end = data.rindex(b"}", 0, close) + 1
    return data[:begin], data[begin:end], data[end:]


def pieces(events: bytes) -> tuple[list[bytes], list[tuple[int, int, bool]]]:
    """The events as literal pieces, and the numbers between them: (index, value, is a time)."""
    literal: list[bytes] = []
    numbers: list[tuple[int, int, bool]] = []
    at = 0
    for found in NUMBERS.finditer(events):
        literal.append(events[at : found.start(2)])
        numbers.append((len(literal), int(found[2]), found[1] == TIME))
        literal.append(b"")
        at = found.end(2)
    literal.append(events[at:])
    return literal, numbers


def write(source: pathlib.Path, out: pathlib.Path, size: int) -> int:
    """The number of bytes of JSON."""
    head, events, tail = split(read(source))
    literal, numbers = pieces(events)
    times = sorted(value for _, value, time in numbers if time)
    # The profiler's own last marker may lie far behind.
    period = times[int(len(times) * 0.999)] - times[0] + 1000
    others = max((value for _, value, time in numbers if not time), default=0) + 1
    others = min(others, 10_000_000)
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    written, turn = len(head) + len(tail), 0
    with open(out, "wb") as to:
        to.write(packer.compress(head))
        while written < size:
            for index, value, time in numbers:
                literal[index] = b"%d" % (value + turn * (period if time else others))
            text = (b"," if turn else b"") + b"".join(literal)
            to.write(packer.compress(text))
            written += len(text)
            turn += 1
        to.write(packer.compress(tail))
        to.write(packer.flush())
    return written


if __name__ == "__main__":
    print(write(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])))
