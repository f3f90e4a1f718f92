# SPDX-License-Identifier: Apache-2.0
"""Operators of chosen steps through PyTorch's own profiler, as a Chrome trace.

CPU operators always, CUDA's calls and kernels when the program uses CUDA. Each step is a range
"ProfilerStep#N" in the trace. Shapes are left out: they quadruple the time that the profiler takes
to stop, in which the program waits. A profiler of the program's own always has the right of way:
when one runs the window is left out, and when one starts the window ends.
"""

import contextlib
import json
import os
import sys

from .. import _safe
from ..hooks import torch_marks as marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from .config import Ask


class _State:
    running: "TorchWindow | None" = None


def _cuda_in_use(torch: "Any") -> bool:
    cuda = getattr(torch, "cuda", None)
    return cuda is not None and bool(cuda.is_initialized())


def _profiler_runs(torch: "Any") -> bool:
    if getattr(torch.autograd.profiler, "_is_profiler_enabled", False):
        return True
    enabled = getattr(torch._C._autograd, "_profiler_enabled", None)
    return bool(enabled is not None and enabled())


@contextlib.contextmanager
def _silence() -> "Iterator[None]":
    """Kineto tells stderr that it starts and stops, unless this is set when it is first used."""
    name = "KINETO_LOG_LEVEL"
    if name in os.environ:
        yield
        return
    os.environ[name] = "99"
    try:
        yield
    finally:
        os.environ.pop(name, None)


def _options(torch: "Any") -> "dict[str, Any]":
    options: dict[str, Any] = {"use_kineto": True, "use_cpu": True}
    if _cuda_in_use(torch):  # told in another way before 2.1
        known = torch.autograd.profiler.profile.__init__.__code__.co_varnames
        options |= {"use_device": "cuda"} if "use_device" in known else {"use_cuda": True}
    try:  # only the trace is wanted, not the tables
        config = torch._C._profiler._ExperimentalConfig(trace_only=True)
        options["experimental_config"] = config
    except (AttributeError, TypeError):
        pass
    return options


def _make_way(args: "tuple[Any, ...]", kwargs: "dict[str, Any] | None") -> bool:
    """The program starts a profiler of its own."""
    ours = _State.running
    if ours is not None and args[0] is not ours.profile:
        _safe.tell_loss("detail window", "the program started its own profiler")
        ours.drop()
    return False


class TorchWindow:
    """See windows.py for the order of calls."""

    def __init__(self) -> None:
        self.torch: Any = sys.modules["torch"]
        self.profile: Any = None
        self.range: Any = None
        self.started = False
        self.dropped = False

    def prepare(self) -> None:
        profiler = self.torch.autograd.profiler
        if _State.running is not None or _profiler_runs(self.torch):
            raise _safe.Refusal("another profiler is active")
        marks.put(profiler.profile, "_prepare_trace", before=_make_way)
        with _silence():
            self.profile = profiler.profile(**_options(self.torch))
            _State.running = self
            self.profile._prepare_trace()

    def _check(self) -> None:
        if self.dropped:
            raise _safe.Refusal("the program uses its own profiler")

    def start(self, step: int) -> None:
        self._check()
        if _profiler_runs(self.torch):
            raise _safe.Refusal("another profiler is active")
        self.profile._start_trace()
        self.started = True
        self._open_range(step)

    def _open_range(self, step: int) -> None:
        self.range = self.torch.autograd.profiler.record_function(f"ProfilerStep#{step}")
        self.range.__enter__()

    def _close_range(self) -> None:
        if self.range is not None:
            self.range.__exit__(None, None, None)
            self.range = None

    def step(self, number: "int | None") -> None:
        """`number` begins; None: a step is over."""
        self._check()
        self._close_range()
        if number is not None:
            self._open_range(number)

    def stop(self, about: "dict[str, Any]") -> "Callable[[str], None]":
        self._check()
        self._close_range()
        add = getattr(self.torch._C._autograd, "_add_metadata_json", None)
        if add is not None:
            add("footplate", json.dumps(about))
        self._end()
        results = self.profile.kineto_results
        return lambda path: results.save(path)

    def _end(self) -> None:
        self.started = False
        _State.running = None
        self.profile.__exit__(None, None, None)

    def drop(self) -> None:
        if not self.dropped:
            self.dropped = True
            if self.started:
                self._close_range()
                self._end()
            if _State.running is self:
                _State.running = None


def make(ask: "Ask") -> TorchWindow:
    return TorchWindow()
