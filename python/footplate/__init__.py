# SPDX-License-Identifier: Apache-2.0
"""Report steps, spans, marks and counters of a program to Footplate.

    import footplate

    for batch in loader:
        with footplate.step():
            with footplate.span("augment"):
                ...
        footplate.log("loss", loss)

Under `footplate run` each call writes one event to memory shared with the recorder; otherwise it
does almost nothing. No call raises, prints or blocks: what cannot be recorded is reported to the
recorder as a loss. `init()` is optional. `start()` and `stop()` record a process that was started
without Footplate.

`footplate.open("last")` opens a recorded run; see footplate.analysis.
"""

import sys
from _thread import _local

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike
    from types import TracebackType
    from typing import Any, TypeVar

    from ._recording import Recording
    from .analysis import Comparison, Run, RunError, compare, open, runs  # noqa: F401

    F = TypeVar("F", bound=Callable[..., Any])

try:
    from . import _core
except ImportError:  # not built for this Python: everything is a no-op
    from . import _nocore as _core  # type: ignore[no-redef]

    sys.modules[__name__ + "._core"] = _core

from . import _safe, _steps  # noqa: E402
from ._version import VERSION as __version__  # noqa: E402

__all__ = [
    "__version__",
    "counter",
    "enabled",
    "epoch",
    "eval",
    "init",
    "log",
    "mark",
    "predict",
    "span",
    "start",
    "step",
    "stop",
    "train",
]

# Names of footplate.analysis, which is imported when one is used and not inside jobs.
_ANALYSIS = ("Comparison", "Run", "RunError", "compare", "open", "runs")


def __getattr__(name: str) -> "Any":
    if name != "analysis" and name not in _ANALYSIS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    analysis = import_module(__name__ + ".analysis")
    return analysis if name == "analysis" else getattr(analysis, name)


_MODES = {"train": _core.TRAIN, "eval": _core.EVAL, "predict": _core.PREDICT}
_NO_NAME = _core.Span(0)

# Bounded by the number of names that there can be: a name that gets no id is not kept.
_ids: "dict[str, int]" = {}
_spans: "dict[str, _core.Span]" = {}
_here = _local()  # .mode: that of the block this thread is in
_next_epoch = [0]
_expects: "list[bool]" = []  # that a recording may begin later


def _expect_recordings() -> None:
    """From now on decorators and spans work in recordings that begin after them, too."""
    _expects.append(True)


def init() -> bool:
    """Install hooks in the frameworks that this process uses. `footplate run` does this
    automatically, unless the program was started with `python -I`. Returns True while the process
    is being recorded. May be called again."""
    with _safe.guard("init"):
        from . import _start

        _start.start()
    return _core.enabled()


def start(
    name: "str | None" = None,
    dir: "str | PathLike[str] | None" = None,
    interval: "str | float | None" = None,
    *,
    labels: "Mapping[str, object] | None" = None,
    options: "Sequence[str]" = (),
) -> "Recording":
    """Record this process from now on: a recorder runs beside it until stop(), or until the process
    ends. Frameworks that are loaded already are hooked, too.

    name and dir: of the run. interval: between readings, in seconds or as "100ms". options: more of
    `footplate attach`. If the recorder cannot be started there is one warning, and the result is
    False."""
    from . import _recording

    return _recording.start(_recording.options_of(name, dir, interval, labels, options))


def stop() -> "Recording | None":
    """End the recording that start() began and wait until its run is written. The result has the
    run's `path`, and footplate.open() takes it. None: nothing was being recorded."""
    from . import _recording

    return _recording.stop()


def load_ipython_extension(shell: "Any") -> None:
    """`%load_ext footplate`: the cell magic `%%footplate`."""
    from . import _notebook

    _notebook.load(shell)


def enabled() -> bool:
    """Whether this process is being recorded. Use it to skip work that only serves recording."""
    return _core.enabled()


def _id(name: str) -> int:
    found = _ids.get(name)
    if found is None:
        found = _core.intern(name if isinstance(name, str) else str(name))
        if found:
            _ids[name] = found
    return found


def span(name: str) -> "_core.Span":
    """`with span("augment"):` or `@span("augment")`: a named span of time. The same name returns
    the same object, which can be kept, nested and shared by threads. Not for generators and
    coroutines."""
    found = _spans.get(name) if type(name) is str else None
    if found is not None:
        return found
    with _safe.guard("span"):
        number = _id(name)
        if number:
            found = _spans.setdefault(name, _core.Span(number))
    if found is None and _expects:
        return _LateSpan(name)  # type: ignore[return-value]
    return found or _NO_NAME


def mark(name: str) -> None:
    """Record an instant event."""
    if _core.enabled():
        with _safe.guard("mark"):
            _core.mark(_id(name))


def counter(name: str, value: "int | float") -> None:
    """Record a number over time: queue depth, loss, learning rate. Integers stay integers. Reading
    a value from a GPU, e.g. with `loss.item()`, waits for the GPU."""
    if _core.enabled():
        with _safe.guard("counter"):
            if isinstance(value, int):
                _core.count(_id(name), value)
            else:
                _core.real(_id(name), float(value))


def log(
    name: "str | dict[str, Any]",
    value: "Any" = None,
    step: "int | None" = None,
    mode: "str | None" = None,
) -> None:
    """Record a scalar of the training: `log("reward", x)`, or several: `log({"a": x, "b": y})`.
    Unlike counter() it has a step, accepts NaN, and takes tensors without waiting for the GPU. The
    step is the current one unless given. The mode is "train", "eval" or "predict"; by default that
    of the enclosing block."""
    if _core.enabled():
        with _safe.guard("log"):
            from . import _health

            chosen = str(mode or getattr(_here, "mode", ""))
            _health.log(name, value, step, _MODES.get(chosen, -1))


class _Block:
    """A context manager that is also a decorator; each use makes a new block."""

    __slots__ = ()

    def __enter__(self) -> "Any":
        raise NotImplementedError

    def __exit__(
        self,
        kind: "type[BaseException] | None",
        error: "BaseException | None",
        where: "TracebackType | None",
    ) -> bool:
        raise NotImplementedError

    def _copy(self) -> "_Block":
        raise NotImplementedError

    def __call__(self, function: "F") -> "F":
        """As a decorator: each call of the function is one block."""
        if not _core.enabled() and not _expects:
            return function

        def before(args: "tuple[Any, ...]", kwargs: "dict[str, Any] | None") -> "_Block":
            block = self._copy()
            block.__enter__()
            return block

        def after(block: "_Block", args: "tuple[Any, ...]", result: "Any", ok: bool) -> None:
            block.__exit__(None, None, None)

        return _safe.around(function, before, after, "decorator")  # type: ignore[return-value]


class _LateSpan(_Block):
    """A span that was made before the recording."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def _copy(self) -> "_LateSpan":
        return self

    def __enter__(self) -> "_LateSpan":
        if _core.enabled():
            span(self._name).__enter__()
        return self

    def __exit__(
        self,
        kind: "type[BaseException] | None",
        error: "BaseException | None",
        where: "TracebackType | None",
    ) -> bool:
        if _core.enabled():
            span(self._name).__exit__(kind, error, where)
        return False


class step(_Block):  # noqa: N801 - `with footplate.step():`
    """`with step():` or `@step()`: one training step. Returns its number.

    Without `n`, steps are numbered for each mode, continuing from the last number. The mode is
    "train", "eval" or "predict"; by default it is that of the enclosing block, see train().
    """

    __slots__ = ("_n", "_mode", "_number", "_code")

    _next = [0, 0, 0]

    def __init__(self, n: "int | None" = None, mode: "str | None" = None) -> None:
        self._n = n
        self._mode = mode
        self._number = 0
        self._code = 0

    def _copy(self) -> "step":
        return step(self._n, self._mode)

    def __enter__(self) -> int:
        if _core.enabled():
            with _safe.guard("step"):
                self._begin()
        return self._number

    def _begin(self) -> None:
        mode = str(self._mode or getattr(_here, "mode", "train"))
        if mode not in _MODES:
            _safe.report_loss("step", f"unknown mode {mode!r}, recorded as train")
        self._code = code = _MODES.get(mode, _core.TRAIN)
        self._number = number = self._next[code] if self._n is None else int(self._n)
        self._next[code] = number + 1
        _steps.begin(number, code)

    def __exit__(
        self,
        kind: "type[BaseException] | None",
        error: "BaseException | None",
        where: "TracebackType | None",
    ) -> bool:
        if _core.enabled():
            with _safe.guard("step"):
                _steps.end(self._number, self._code)
        return False


class epoch(_Block):  # noqa: N801 - `with footplate.epoch():`
    """`with epoch():` or `@epoch()`: one pass over the data. Returns its number; without `n`,
    epochs are numbered from 0."""

    __slots__ = ("_n", "_span")

    def __init__(self, n: "int | None" = None) -> None:
        self._n = n
        self._span = _NO_NAME

    def _copy(self) -> "epoch":
        return epoch(self._n)

    def __enter__(self) -> int:
        number = 0
        with _safe.guard("epoch"):
            number = _next_epoch[0] if self._n is None else int(self._n)
            _next_epoch[0] = number + 1
            self._span = _core.Span(_id("epoch"), number)
        self._span.__enter__()
        return number

    def __exit__(
        self,
        kind: "type[BaseException] | None",
        error: "BaseException | None",
        where: "TracebackType | None",
    ) -> bool:
        return self._span.__exit__(kind, error, where)


class _ModeBlock(_Block):
    __slots__ = ("_mode", "_outer")

    def __init__(self, mode: str) -> None:
        self._mode = mode
        self._outer = ""

    def _copy(self) -> "_ModeBlock":
        return _ModeBlock(self._mode)

    def __enter__(self) -> None:
        self._outer = getattr(_here, "mode", "")
        _here.mode = self._mode
        span(self._mode).__enter__()

    def __exit__(
        self,
        kind: "type[BaseException] | None",
        error: "BaseException | None",
        where: "TracebackType | None",
    ) -> bool:
        span(self._mode).__exit__(kind, error, where)
        _here.mode = self._outer or "train"
        return False


def train() -> _Block:
    """`with train():` or `@train()`: a span "train", whose steps are training steps."""
    return _ModeBlock("train")


def eval() -> _Block:
    """`with eval():` or `@eval()`: a span "eval", whose steps are evaluation steps."""
    return _ModeBlock("eval")


def predict() -> _Block:
    """`with predict():` or `@predict()`: a span "predict", whose steps are prediction steps."""
    return _ModeBlock("predict")
