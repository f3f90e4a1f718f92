# SPDX-License-Identifier: Apache-2.0
"""Operators of chosen steps through PyTorch's own profiler, as a Chrome trace.

CPU operators always, CUDA's calls and kernels when the program uses CUDA. Each step is a range
"ProfilerStep#N" in the trace. Shapes are left out: they quadruple the time that the profiler takes
to stop, in which the program waits. A profiler of the program's own always has the right of way:
when one runs the window is left out, and when one starts the window ends.

Calls of modules are ranges named "nn.Module: " and the module's path from its root. They are opened
by the gate that marks forward passes (torch_forward.py) while the window runs: torch's global
hooks would make compiled modules warn and compile again, its profiler's with_modules traces Python.
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


TEARDOWN = "TEARDOWN_CUPTI"
# With which it was tried, with CUDA graphs too: torch from, CUDA from and below.
TEARDOWN_TRIED = (((2, 11), (13, 0), (14, 0)),)


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


def _release_cupti(torch: "Any") -> None:
    """Kineto leaves CUPTI on after its first trace, which goes on costing 20 to 36 % of a step that
    launches many kernels. TEARDOWN_CUPTI=1 makes it let go (8 to 12 % are left). It was off by
    default because of CUDA graphs on older versions of CUDA, so it is set where it was tried."""
    if TEARDOWN not in os.environ and _cuda_in_use(torch):
        cuda = getattr(getattr(torch, "version", None), "cuda", "")
        have = (_version(getattr(torch, "__version__", "")), _version(cuda))
        if any(have[0] >= a and b <= have[1] < c for a, b, c in TEARDOWN_TRIED):
            os.environ[TEARDOWN] = "1"


def _version(text: "Any") -> "tuple[int, ...]":
    numbers = str(text or "").partition("+")[0].split(".")[:2]
    return tuple(int(n) for n in numbers if n.isdigit())


class _Modules:
    """Names of modules, found when a root module is first called in the window."""

    def __init__(self, torch: "Any") -> None:
        fast = getattr(getattr(torch._C, "_profiler", None), "_RecordFunctionFast", None)
        self.range: Any = fast or torch.autograd.profiler.record_function
        self.names: dict[int, str] = {}
        self.roots: list[Any] = []  # kept, so that their ids stay theirs

    def _learn(self, root: "Any") -> None:
        self.roots.append(root)
        top = type(root).__name__
        for path, module in root.named_modules():
            self.names.setdefault(
                id(module), f"nn.Module: {top}.{path}" if path else f"nn.Module: {top}"
            )

    def __call__(self, args: "tuple[Any, ...]", outermost: bool) -> "Any":
        """For a gate: the range around this call; None: not known, so none."""
        if not args:
            return None
        name = self.names.get(id(args[0]))
        if name is None and outermost and hasattr(args[0], "named_modules"):
            self._learn(args[0])
            name = self.names.get(id(args[0]))
        return None if name is None else self.range(name)


def _set_ranges(ranges: "_Modules | None") -> None:
    for gate in marks.gates("forward"):
        gate._footplate_range = ranges


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
        _safe.report_loss("detail window", "the program started its own profiler")
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
        _release_cupti(self.torch)
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
        with _safe.guard("module ranges"):
            _set_ranges(_Modules(self.torch))
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
        _set_ranges(None)
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
