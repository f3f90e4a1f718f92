# SPDX-License-Identifier: Apache-2.0
"""DataLoader: waiting for a batch, how many were ready, how large it is; and its workers.

The wait is a "data" span around the iterator's __next__, which every loop goes through (Lightning,
Accelerate and HF Trainer too). A worker is a separate process: there each batch that it makes is
a "worker.fetch" span, and nothing else is marked.
"""

import sys
from collections.abc import Mapping

from .. import _core
from ..detail import boundary
from . import _threads, torch_health
from . import torch_marks as marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    Args = tuple[Any, ...]
    Kwargs = dict[str, Any] | None

_QUEUE = _core.intern("loader.queue")
_BATCH = _core.intern("batch.size")
_WORKER = _core.intern("process.worker")
_FACTS = {
    name: _core.intern(f"loader.{name}")
    for name in ("num_workers", "prefetch_factor", "pin_memory", "persistent_workers")
}
_BATCH_SIZE = _core.intern("loader.batch_size")
_IN_MEMORY = _core.intern("loader.in_memory")

MOST_WRAPPED = 8  # data sets in data sets
MOST_LOOKED_AT = 8  # things in a batch, on each of two levels

_NEXT: "dict[str, Any]" = {"own": marks.DATA, "closed_by": marks.DATA}


# ---- the loop's side ----


def ready(iterator: "Any") -> "int | None":
    """Batches that workers have finished and the loop has not taken. None: there are no workers."""
    queue = getattr(iterator, "_data_queue", None)
    if queue is None:
        return None
    count = queue.qsize()
    results = getattr(iterator, "_worker_result_queue", None)
    if results is not None and results is not queue:  # a thread pins them in between
        count += results.qsize()
    for task in iterator._task_info.values():  # came before its turn
        if len(task) == 2:
            count += 1
    return int(count)


def _count_ready(iterator: "Any") -> None:
    count = ready(iterator)
    if count is not None:
        _core.count(_QUEUE, count)


def _before_next(args: "Args", kwargs: "Kwargs") -> None:
    """What boundary.loop.before_fetch leaves to Python: a window, and new settings."""
    iterator = args[0]
    boundary.fetch(id(iterator._dataset))
    if iterator._num_workers:
        _count_ready(iterator)


def samples_in(batch: "Any", levels: int = 2) -> "int | None":
    """The first dimension of the first tensor; containers are looked into, nothing is iterated that
    could be used up by it."""
    if isinstance(batch, _State.tensor):
        return batch.size(0) if batch.dim() else None
    if levels == 0:
        return None
    if isinstance(batch, tuple | list):
        parts = batch[:MOST_LOOKED_AT]
    elif isinstance(batch, Mapping):
        parts = [value for value, _ in zip(batch.values(), range(MOST_LOOKED_AT), strict=False)]
    else:
        return None
    for part in parts:
        found = samples_in(part, levels - 1)
        if found is not None:
            return found
    return None


def _after_next(args: "Args", batch: "Any") -> None:
    """What boundary.loop.after_fetch leaves to Python: an unusual batch, or none."""
    if batch is None:  # it raised: there are no more
        boundary.nothing_fetched()
        return
    count = samples_in(batch)
    if count is not None:
        _core.count(_BATCH, count)


def is_in_memory(dataset: "Any") -> bool:
    """Whether samples are taken out of a list or out of tensors, also by a subset."""
    for _ in range(MOST_WRAPPED):
        if isinstance(dataset, list | tuple):
            return True
        if type(dataset).__name__ == "TensorDataset":
            return all(isinstance(tensor, _State.tensor) for tensor in dataset.tensors)
        if type(dataset).__name__ != "Subset":
            break
        dataset = dataset.dataset
    return False


def _after_measured(args: "Args", batch: "Any") -> None:
    """After a batch that training health has a hash of."""
    boundary.loop.after_fetch(args, batch)
    torch_health.fetched(args[0], batch)


def _after_iter(args: "Args", iterator: "Any") -> None:
    loader = args[0]
    torch_health.iterates(iterator)
    if sys.modules["torch"].is_grad_enabled():  # not of an evaluation
        _threads.iterates()
    for name, number in _FACTS.items():
        value = getattr(loader, name, None)
        if name == "prefetch_factor" and not loader.num_workers:
            value = None  # 1.13 has one that means nothing
        if value is not None:
            _core.count(number, int(value))
    size = loader.batch_size
    if size is None:
        size = getattr(loader.batch_sampler, "batch_size", None)
    _core.count(_BATCH_SIZE, size if isinstance(size, int) else -1)
    _core.count(_IN_MEMORY, int(is_in_memory(loader.dataset)))


# ---- the workers' side ----


def _before_worker(position: int) -> "Any":
    def before(args: "Args", kwargs: "Kwargs") -> bool:
        from torch.utils.data._utils import fetch  # type: ignore[import-not-found,unused-ignore]

        _core.Gate.quiet(True)
        _core.count(_WORKER, int(args[position]))
        for fetcher in (fetch._MapDatasetFetcher, fetch._IterableDatasetFetcher):
            marks.put(fetcher, "fetch", span=_core.intern("worker.fetch"), always=True)
        return False

    return before


def _hook_workers(module: "ModuleType") -> None:
    code = module._worker_loop.__code__
    position = code.co_varnames[: code.co_argcount].index("worker_id")
    marks.put(module, "_worker_loop", before=_before_worker(position))


# ---- both ----


class _State:
    tensor: "Any" = type(None)


def _hook_loaders(module: "ModuleType") -> None:
    """The classes that the module defines itself: torch's, or those of torchdata."""
    loop = boundary.loop
    after = _after_measured if torch_health.on() else loop.after_fetch
    for owner in list(vars(module).values()):
        if not isinstance(owner, type) or owner.__module__ != module.__name__:
            continue
        if hasattr(owner, "_next_data"):
            marks.put(owner, "__next__", "data", loop.before_fetch, after, **_NEXT)
        elif hasattr(owner, "_get_iterator"):
            marks.put(owner, "__iter__", span=_core.intern("loader.start"), after=_after_iter)


def install(module: "ModuleType") -> None:
    _State.tensor = sys.modules["torch"].Tensor
    loop = boundary.loop
    loop.slow_before_fetch, loop.slow_after_fetch = _before_next, _after_next
    loop.queue = _count_ready
    loop.set_tensor(_State.tensor)
    if module.__name__.endswith("worker"):
        _hook_workers(module)
    else:
        _hook_loaders(module)
