# SPDX-License-Identifier: Apache-2.0
"""Tensors that hooks saved on request: .npz files of a node (see hooks/torch_saver.py)."""

from __future__ import annotations

import ast
import io
import re
import struct
import zipfile
from array import array
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .frames import numpy
from .source import RunError

if TYPE_CHECKING:
    from .source import Source

_NAME: Final = re.compile(r"tensors-(\d+)-(\d+)-(\d+)-(\d+)(?:-(\d+))?\.npz")
_FORMATS: Final = {
    "<f8": "d",
    "<f4": "f",
    "<i8": "q",
    "<i4": "i",
    "<i2": "h",
    "|i1": "b",
    "|u1": "B",
    "<u2": "H",
    "<u4": "I",
    "<u8": "Q",
    "|b1": "?",
}


class File(NamedTuple):
    rank: int
    step: int


def parse(name: str) -> File | None:
    """None: it is not a file of saved tensors."""
    found = _NAME.fullmatch(name)
    return File(int(found[1]), int(found[2])) if found else None


def read(source: Source, name: str, step: int, rank: int | None) -> Any:
    """Of several files, as of a node that was recorded again, the last one counts."""
    files: dict[int, list[tuple[str, str]]] = {}
    for node, file in source.saved():
        about = parse(file)
        if about is not None and about.step == step and rank in (None, about.rank):
            files.setdefault(about.rank, []).append((node, file))
    member = name + ".npy"
    for one in sorted(files):
        for node, file in reversed(files[one]):
            with zipfile.ZipFile(io.BytesIO(source.saved_read(node, file))) as archive:
                if member in archive.namelist():
                    return values(archive.read(member))
    raise _missing(source, name, step, rank)


def _missing(source: Source, name: str, step: int, rank: int | None) -> RunError:
    there = source.health().get("saved", [])
    of = "" if rank is None else f" of rank {rank}"
    if any(s["name"] == name and s["step"] == step and rank in (None, s["rank"]) for s in there):
        return RunError(f"'{name}'{of} was saved in step {step}, but its file is not in this run")
    if not there:
        return RunError("no tensors were saved in this run: see footplate run --save-tensors")
    steps = sorted({s["step"] for s in there if s["name"] == name})
    if not steps:
        return RunError(f"'{name}' was not saved; saved_tensors() lists what was")
    listed = ", ".join(map(str, steps[:10]))
    return RunError(f"'{name}'{of} was not saved in step {step}, but in {listed}")


def values(data: bytes) -> Any:
    """Those of an .npy file."""
    np = numpy()
    if np is not None:
        return np.load(io.BytesIO(data), allow_pickle=False)
    (size,) = struct.unpack_from("<H", data, 8)
    about = ast.literal_eval(data[10 : 10 + size].decode("latin-1"))
    view = memoryview(data)[10 + size :]
    shape = list(about["shape"])
    descr = about["descr"]
    if descr == "<f2":
        view = memoryview(array("f", [v for (v,) in struct.iter_unpack("<e", view)])).cast("B")
        descr = "<f4"
    if descr not in _FORMATS:
        raise RunError(f"values of the type {descr} need numpy")
    if 0 in shape:
        return memoryview(array(_FORMATS[descr].replace("?", "b")))
    return view.cast(_FORMATS[descr], shape)  # type: ignore[call-overload]
