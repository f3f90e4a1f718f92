# SPDX-License-Identifier: Apache-2.0
"""Pools of processes: a task is a span "worker.task" of the process that performs it, and waiting
for the next result of imap() is "data", as waiting for a loader is.

It works for multiprocessing.Pool and concurrent.futures.ProcessPoolExecutor. Their workers take a
task out of one queue and put its result into another: what is between the two is the task.
"""

from .. import _core, _safe
from . import torch_marks as marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    Args = tuple[Any, ...]
    Kwargs = dict[str, Any] | None

_TASK = _core.intern("worker.task")


class _Queue:
    """A queue of the worker, with its tasks."""

    def __init__(self, queue: "Any", worker: "_Worker") -> None:
        self._queue = queue
        self._worker = worker

    def __getattr__(self, name: str) -> "Any":
        return getattr(self._queue, name)

    def get(self, *args: "Any", **kwargs: "Any") -> "Any":
        task = self._queue.get(*args, **kwargs)
        if task is not None:
            self._worker.begin()
        return task

    def put(self, *args: "Any", **kwargs: "Any") -> "Any":
        self._worker.end()
        return self._queue.put(*args, **kwargs)


class _Worker:
    __slots__ = ("busy",)

    def __init__(self) -> None:
        self.busy = False

    def begin(self) -> None:
        self.busy = True
        _core.begin(_TASK)

    def end(self) -> None:
        if self.busy:  # else it is not the result of a task
            self.busy = False
            _core.end(_TASK)


def _before_worker(args: "Args", kwargs: "Kwargs") -> "Any":
    if len(args) < 2:
        return False
    worker = _Worker()
    changed = (_Queue(args[0], worker), _Queue(args[1], worker), *args[2:])
    return changed, kwargs, lambda after_args, result: worker.end()


def install(module: "ModuleType") -> None:
    if module.__name__ == "concurrent.futures.process":
        _safe.need_any(module, ("_process_worker",))
        marks.put(module, "_process_worker", before=_before_worker)
        return
    _safe.need_any(module, ("worker",))
    marks.put(module, "worker", before=_before_worker)
    for attr in ("next", "__next__"):
        marks.put(module.IMapIterator, attr, "data", own=marks.DATA, closed_by=marks.DATA)
