# SPDX-License-Identifier: Apache-2.0
"""Spans that several frameworks share. Each is recorded once, by the outermost function, whichever
framework it belongs to: a checkpoint that ends in torch.save is one checkpoint."""

import itertools

from .. import _core
from . import torch_marks as marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    Before = Callable[[tuple[Any, ...], dict[str, Any] | None], Any]

_DATA = _core.intern("data")
_BATCH_SIZE = _core.intern("batch.size")
_DATA_MASKS: "dict[str, Any]" = {"own": marks.DATA, "closed_by": marks.DATA}


def checkpoint(owner: "Any", *attrs: str) -> None:
    """Marks functions that save a model; missing ones are skipped."""
    for attr in attrs:
        marks.put(owner, attr, "checkpoint", own=marks.CHECKPOINT, closed_by=marks.CHECKPOINT)


def compiling(owner: "Any", attr: str) -> None:
    """A function that makes a graph."""
    marks.put(owner, attr, "compile", own=marks.COMPILE, closed_by=marks.COMPILE)


class _Counted:
    """How many batch sizes were reported here."""

    batches = 0


counted = _Counted()


def _count_samples(args: "tuple[Any, ...]", batch: "Any") -> None:
    samples = samples_in(batch)
    if samples is not None:
        counted.batches += 1
        _core.count(_BATCH_SIZE, samples)


def fetch(owner: "Any", attr: str, before: "Before") -> bool:
    """A method that gives the next batch, when `before` does not say False."""
    return marks.put(owner, attr, "data", before, _count_samples, **_DATA_MASKS)


def timed(batches: "Iterable[Any]") -> "Iterator[Any]":
    """The same batches; waiting for each of them is a "data" span. Made of iterators in C, so that
    an error in making a batch has the same traceback as without us."""
    following = marks.make(
        iter(batches).__next__, "data", after=_count_samples, span=_DATA, **_DATA_MASKS
    )
    return itertools.starmap(following, itertools.repeat(()))


def samples_in(batch: "Any") -> "int | None":
    """The first dimension of the first array in it."""
    for _ in range(4):
        if isinstance(batch, tuple | list) and batch:
            batch = batch[0]
        elif isinstance(batch, dict) and batch:
            batch = next(iter(batch.values()))
        else:
            break
    shape = getattr(batch, "shape", None)
    rank = getattr(shape, "rank", None)  # of a TensorShape, whose len() raises when it has none
    if shape is None or (rank if rank is not None else len(shape)) == 0:
        return None
    return shape[0] if isinstance(shape[0], int) else None
