# SPDX-License-Identifier: Apache-2.0
"""torch.distributed: collectives that Python calls, the rank, and DDP's own measurements.

An asynchronous collective is marked for as long as the call takes. DDP reduces gradients from C++
while backward runs; what it measures of that itself is recorded as ddp.* counters every few
seconds.
"""

import os
import sys
import weakref

from .. import _core, _safe
from . import torch_marks as marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

COLLECTIVES = (
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_gather_single",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "gather",
    "gather_object",
    "irecv",
    "isend",
    "monitored_barrier",
    "recv",
    "recv_object_list",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
)
OLD_NAMES = {
    "_all_gather_base": "all_gather_into_tensor",
    "_reduce_scatter_base": "reduce_scatter_tensor",
}
_MASKS: "dict[str, Any]" = {"own": marks.COMM, "closed_by": marks.COMM | marks.COMPILE}

# In ns, averages over the iterations that DDP samples.
DDP_TIMES = {
    name: _core.intern(f"ddp.{name}")
    for name in (
        "avg_forward_compute_time",
        "avg_backward_compute_time",
        "avg_backward_comm_time",
        "avg_backward_compute_comm_overlap_time",
    )
}
DDP_EVERY_NS = 5_000_000_000

_models: "weakref.WeakSet[Any]" = weakref.WeakSet()


class _State:
    listens = False
    recorded_ns = 0


def _after_init(args: "tuple[Any, ...]", result: "Any") -> None:
    distributed = sys.modules["torch.distributed"]
    if not distributed.is_initialized():
        return
    _core.fact(_core.intern("process.rank"), distributed.get_rank())
    _core.fact(_core.intern("process.world_size"), distributed.get_world_size())
    local = os.environ.get("LOCAL_RANK", "")
    if local.isdigit():
        _core.fact(_core.intern("process.local_rank"), int(local))


def _after_ddp(args: "tuple[Any, ...]", result: "Any") -> None:
    _models.add(args[0])
    if not _State.listens:
        _State.listens = True
        marks.listen("optimizer", end=record_ddp)


@_safe.guard("ddp")
def record_ddp() -> None:
    """Called after optimizer steps."""
    now = _core.now_ns()
    if now - _State.recorded_ns < DDP_EVERY_NS:
        return
    _State.recorded_ns = now
    for model in list(_models):
        data = model._get_ddp_logging_data()
        for name, number in DDP_TIMES.items():
            value = data.get(name)
            if value:
                _core.count(number, int(value))


def install(module: "ModuleType") -> None:
    if module.__name__ == "torch.nn.parallel.distributed":
        marks.put(module.DistributedDataParallel, "__init__", after=_after_ddp)
        return
    for name in COLLECTIVES:
        marks.put(module, name, f"comm.{name}", **_MASKS)
    for old, name in OLD_NAMES.items():
        marks.put(module, old, f"comm.{name}", **_MASKS)
    marks.put(module, "init_process_group", after=_after_init)
