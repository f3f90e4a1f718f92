# SPDX-License-Identifier: Apache-2.0
"""TensorFlow without Keras' loops: batches that Python takes from a tf.data dataset, functions
being traced, checkpoints, and the place of the process in its cluster (TF_CONFIG).

A batch that a compiled function takes by itself is not seen: no Python runs there.
"""

import json
import os
import sys

from .. import _core, _safe
from ..detail import trace_window, windows  # noqa: F401 - windows listens to steps
from . import _spans
from . import torch_marks as marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    Args = tuple[Any, ...]
    Kwargs = dict[str, Any] | None


# ---- data ----


def _eager() -> "Callable[[], bool]":
    context = sys.modules["tensorflow.python.eager.context"]
    return context.executing_eagerly  # type: ignore[no-any-return]


def _when_eager() -> "Callable[[Args, Kwargs], Any]":
    """While a function is traced there is no batch to wait for."""
    eager = _eager()
    return lambda args, kwargs: None if eager() else False


def _iterator(cls: "Any") -> None:
    """__next__ and get_next both end in _next_internal."""
    if not _spans.fetch(cls, "_next_internal", _when_eager()):
        _spans.fetch(cls, "__next__", _when_eager())
    marks.put(cls, "_create_iterator", "loader.start", _when_eager())


def _distributed_iterator(cls: "Any") -> None:
    _spans.fetch(cls, "get_next", _when_eager())


# ---- functions and checkpoints ----


def _tracing(module: "ModuleType") -> None:
    _safe.need_any(module, ("func_graph_from_py_func",))
    _spans.compiling(module, "func_graph_from_py_func")


def _checkpoint(cls: "Any") -> None:
    _spans.checkpoint(cls, "save", "write")


# ---- detail windows ----


def _make_way(args: "Args", kwargs: "Kwargs") -> bool:
    trace_window.make_way()
    return False


def _profiler(module: "ModuleType") -> None:
    _safe.need_any(module, ("start",))
    marks.put(module, "start", before=_make_way)


# ---- the process ----


def cluster_place(text: str) -> "tuple[int, int] | None":
    """Rank and number of ranks that a TF_CONFIG gives. Those that train are ranks, the chief
    first; parameter servers and evaluators are none."""
    config = json.loads(text)
    cluster = config.get("cluster") or {}
    task = config.get("task") or {}
    chiefs = sum(len(cluster.get(kind) or ()) for kind in ("chief", "master"))
    size = chiefs + len(cluster.get("worker") or ())
    if task.get("type") not in ("chief", "master", "worker") or size == 0:
        return None
    rank = int(task.get("index", 0)) + (chiefs if task["type"] == "worker" else 0)
    return (rank, size) if rank < size else None


def _record_place(module: "ModuleType") -> None:
    text = os.environ.get("TF_CONFIG")
    place = cluster_place(text) if text and "RANK" not in os.environ else None
    if place is not None:
        _core.fact(_core.intern("process.rank"), place[0])
        _core.fact(_core.intern("process.world_size"), place[1])


# What is looked for in each module of hooks.HOOKS.
_CLASSES: "dict[str, Callable[[Any], None]]" = {
    "OwnedIterator": _iterator,
    "DistributedIteratorBase": _distributed_iterator,
    "Checkpoint": _checkpoint,
    "CheckpointV1": _checkpoint,
    "CheckpointManager": _checkpoint,
}
_MODULES: "dict[str, Callable[[ModuleType], None]]" = {
    "tensorflow": _record_place,
    "tensorflow.python.framework.func_graph": _tracing,
    "tensorflow.python.profiler.profiler_v2": _profiler,
}


def install(module: "ModuleType") -> None:
    if module.__name__ in _MODULES:
        _MODULES[module.__name__](module)
        return
    _safe.need_any(module, _CLASSES)
    for name, part in _CLASSES.items():
        found = vars(module).get(name)
        if isinstance(found, type):
            with _safe.guard(f"tensorflow {name}"):
                part(found)
