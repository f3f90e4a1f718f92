# SPDX-License-Identifier: Apache-2.0
"""Starts the hooks of a process: emits that they are loaded and which rank this is, and watches for
the frameworks. Called by _bootstrap/sitecustomize.py, by init() where that did not run, and by
footplate.start(), which may come again after footplate.stop()."""

import os
import sys

from . import _core, _safe

# launcher: its variables for rank, number of ranks, rank on the node. The first whose rank is a
# number is believed: torchrun under srun comes before Slurm.
LAUNCHERS: "dict[str, tuple[str, str, str]]" = {
    "torchrun": ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
    "slurm": ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
    "openmpi": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    "mvapich": ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK"),
    "pmi": ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
    "pals": ("PALS_RANKID", "PALS_SIZE", "PALS_LOCAL_RANKID"),
    "flux": ("FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID"),
    "jsm": ("JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK"),
    "horovod": ("HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK"),
    "kubernetes": ("JOB_COMPLETION_INDEX", "", ""),
    "tpu": ("TPU_WORKER_ID", "", ""),
    "cloud tpu": ("CLOUD_TPU_TASK_ID", "", ""),
}

FACTS = ("process.rank", "process.world_size", "process.local_rank")

_started: "list[bool]" = []
_finished: "list[bool]" = []  # since the last start
_kept: "list[object]" = []


def _number(name: str) -> "int | None":
    text = os.environ.get(name, "") if name else ""
    return int(text) if text.isascii() and text.isdigit() else None


def _hosts() -> "tuple[int | None, int | None, None]":
    """SageMaker names the hosts in a JSON list of plain names and starts one process on each."""
    hosts = os.environ.get("SM_HOSTS", "").split('"')[1::2]
    here = os.environ.get("SM_CURRENT_HOST", "")
    return (hosts.index(here), len(hosts), None) if here in hosts else (None, None, None)


def ranks() -> "tuple[int | None, int | None, int | None]":
    """Rank, number of ranks and rank on the node, as far as the environment has them."""
    for rank, size, local in LAUNCHERS.values():
        number = _number(rank)
        if number is not None:
            return number, _number(size), _number(local)
    return _hosts()


@_safe.guard("exception")
def _at_exit() -> None:
    """Python keeps the exception that ended the program here; Ctrl-C and sys.exit() do not
    count."""
    error = getattr(sys, "last_value", None)
    if isinstance(error, Exception):
        from .hooks import _exception

        _exception.emit(error)


def _watch_exit() -> None:
    """The program finds the modules that it would find without us: atexit is built in, and what is
    registered belongs to the interpreter, not to the module."""
    known = "atexit" in sys.modules
    import atexit

    atexit.register(_at_exit)
    _kept.append(atexit)
    if not known:
        del sys.modules["atexit"]


def start() -> None:
    """May be called again; does nothing when the process is not recorded."""
    if not _core.enabled() or (_started and not _finished):
        return
    again = bool(_started)
    _finished.clear()
    _started.append(True)
    with _safe.guard("process facts"):
        _core.mark(_core.intern("hooks.loaded"))
        for name, value in zip(FACTS, ranks(), strict=True):
            if value is not None and not again:  # the ring repeats them
                _core.fact(_core.intern(name), value)
    if again:
        _safe.begin_again()
    else:
        with _safe.guard("exit"):
            _watch_exit()
    with _safe.guard("finder"):
        from . import _finder

        _finder.install()


def finish() -> None:
    """The recording ends and the process continues: what is under way is emitted."""
    _finished.append(True)
    for call in _safe.on_finish:
        with _safe.guard("finish"):
            call()
    _core.pulse()
