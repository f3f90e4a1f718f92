# SPDX-License-Identifier: Apache-2.0
"""Event files of TensorBoard and trial folders of smdebug, byte by byte as their formats say."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from pathlib import Path

DTYPES = {"f": 1, "d": 2, "i": 3, "q": 9}
FIXED_FOOTER = bytes.fromhex("b3c02d06")
MODES = {"TRAIN": 1, "EVAL": 2, "PREDICT": 3, "GLOBAL": 4}


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def record(payload: bytes, footer: bytes | None = None) -> bytes:
    length = struct.pack("<Q", len(payload))
    return length + masked(length) + payload + (footer or masked(payload))


def varint(v: int) -> bytes:
    out = b""
    while v >= 0x80:
        out += bytes([v & 0x7F | 0x80])
        v >>= 7
    return out + bytes([v])


def field(number: int, v: bytes | str | int | float) -> bytes:
    if isinstance(v, int):
        return varint(number << 3) + varint(v)
    if isinstance(v, float):
        return varint(number << 3 | 1) + struct.pack("<d", v)
    data = v.encode() if isinstance(v, str) else v
    return varint(number << 3 | 2) + varint(len(data)) + data


def event(wall: float, step: int, *values: bytes) -> bytes:
    summary = b"".join(field(1, v) for v in values)
    return field(1, wall) + (field(2, step) if step else b"") + field(5, summary)


def tensor(kind: str, numbers: Iterable[float], shape: tuple[int, ...]) -> bytes:
    listed = list(numbers)
    dims = b"".join(field(2, field(1, n)) for n in shape)
    data = struct.pack(f"<{len(listed)}{kind}", *listed)
    return field(1, DTYPES[kind]) + field(2, dims) + field(4, data)


def plugins(**content: str) -> bytes:
    return field(9, b"".join(field(1, field(1, k) + field(2, v)) for k, v in content.items()))


def version(wall: float) -> bytes:
    return record(field(1, wall) + field(3, "brain.Event:2"))


def simple(tag: str, v: float) -> bytes:
    return field(1, tag) + b"\x15" + struct.pack("<f", v)


def smdebug_value(tag: str, data: bytes, mode: str, mode_step: int) -> bytes:
    return field(1, tag) + field(8, data) + plugins(mode_step=str(mode_step), mode=str(MODES[mode]))


def smdebug_step(
    trial: Path,
    worker: str,
    step: int,
    mode: str,
    mode_step: int,
    tensors: dict[str, bytes],
    wall: float,
) -> Path:
    """One saved step of a worker: its event file, and its index."""
    name = f"{step:012d}_{worker}"
    path = trial / "events" / f"{step:012d}" / f"{name}.tfevents"
    path.parent.mkdir(parents=True, exist_ok=True)
    data, payload = b"", []
    for i, (tag, content) in enumerate(tensors.items()):
        value = smdebug_value(tag, content, mode, mode_step)
        one = record(event(wall + i * 1e-3, step, value), FIXED_FOOTER)
        payload.append({"tensorname": tag, "start_idx": len(data), "length": len(one)})
        data += one
    path.write_bytes(data)
    index = trial / "index" / f"{step // 1000:09d}" / f"{name}.json"
    index.parent.mkdir(parents=True, exist_ok=True)
    meta = {"mode": mode, "mode_step": mode_step, "event_file_name": str(path.relative_to(trial))}
    index.write_text(json.dumps({"meta": meta, "tensor_payload": payload}))
    return path


def smdebug_collections(trial: Path, worker: str, **names: list[str]) -> None:
    path = trial / "collections" / "000000000" / f"{worker}_collections.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    collections = {
        name: {"name": name, "include_regex": [], "tensor_names": listed}
        for name, listed in names.items()
    }
    path.write_text(json.dumps({"collections": collections, "_meta": {"num_workers": 1}}))
