# SPDX-License-Identifier: Apache-2.0
"""CUDA graphs: each replay is a "graph.replay" span with a number that identifies the graph, and
work that ends a step like an optimizer. What runs inside of a graph is not seen: a replay is one
launch.

Not marked: replays inside of another phase. torch.compile(mode="reduce-overhead") and
make_graphed_callables replay their graphs inside of forward and backward passes.
"""

import itertools
import weakref

from .. import _safe
from ..detail import boundary
from . import torch_marks as marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_CLOSED = (
    marks.GRAPH
    | marks.FORWARD
    | marks.BACKWARD
    | marks.OPTIMIZER
    | marks.DATA
    | marks.COMPILE
    | marks.CHECKPOINT
)

# By id of the graph: its number and a reference that ends with it.
_numbers: "dict[int, tuple[int, Any]]" = {}
_count = itertools.count(1)


def _number_of(graph: "Any") -> int:
    key = id(graph)
    known = _numbers.get(key)
    if known is None:
        reference = weakref.ref(graph, lambda gone: _numbers.pop(key, None))
        known = _numbers[key] = next(_count), reference
    return known[0]


def _before_replay(args: "tuple[Any, ...]", kwargs: "dict[str, Any] | None") -> int:
    number = _number_of(args[0])
    boundary.replay(number)
    return number


def install(module: "ModuleType") -> None:
    _safe.need_any(module, ("CUDAGraph",))
    marks.put(
        module.CUDAGraph,
        "replay",
        "graph.replay",
        _before_replay,
        own=marks.GRAPH,
        closed_by=_CLOSED,
        pulse=True,
    )
