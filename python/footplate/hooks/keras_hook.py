# SPDX-License-Identifier: Apache-2.0
"""Keras 3 on every backend, and tf.keras 2: steps, epochs, data, optimizer, checkpoints.

Steps come from the list of callbacks that fit(), evaluate() and predict() make and call: its own
methods are wrapped, so the user's callbacks stay what and where they are, their time is a part of
the step, and it is seen in the thread that trains even where Keras calls callbacks in another one.
"""

import sys
import weakref

from .. import _core, _safe
from . import _loop, _scalars, _spans

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    Args = tuple[Any, ...]
    Kwargs = dict[str, Any] | None

_MODES = {"train": _loop.TRAIN, "test": _loop.EVAL, "predict": _loop.PREDICT}
_BATCH_SIZE = _core.intern("batch.size")
_OPTIMIZER = _core.intern("optimizer")
_FRAMEWORK = _core.intern("loader.framework")
# What fit() gets its batches from, as src/record/events.def numbers them.
_ADAPTERS = {
    "ArrayDataAdapter": 2,
    "PyDatasetAdapter": 3,
    "GeneratorDataAdapter": 4,
    "TFDatasetAdapter": 5,
}


class _Inputs:
    """Where the batches come from that TensorFlow fetches in a compiled function, unseen."""

    def __init__(self) -> None:
        self.latest: Any = None  # adapter of the epoch that was begun last, until its first step
        # adapter of each callback list
        self.of: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self.counted = 0  # batches whose size was reported before the step began
        self.hidden = False  # Keras 2: they always do
        self.unseen = False  # that was reported


_inputs = _Inputs()


# ---- steps and epochs ----


def _begin_batch(mode: int) -> "Callable[[Args, Kwargs], None]":
    def before(args: "Args", kwargs: "Kwargs") -> None:
        owner = args[0]
        if _inputs.latest is not None:
            _inputs.of[owner] = _inputs.latest
            _inputs.latest = None
        _inputs.counted = _spans.counted.batches
        index = args[1] if len(args) > 1 else (kwargs or {}).get("batch")
        _loop.begin_step(owner, mode, index)

    return before


class _Means:
    """The numbers of a batch out of running means since the start of the epoch. Those of a batch
    are read when the next one is over: nothing waits for them."""

    def __init__(self) -> None:
        self.seen = 0  # batches of the epoch
        self.totals: dict[str, float] = {}
        self.waiting: tuple[int, int, Any] | None = None  # step, batches, logs

    def add(self, step: int, count: int, logs: "Any") -> None:
        self.settle()
        if count <= self.seen:
            self.seen, self.totals = 0, {}
        if isinstance(logs, dict):
            self.waiting = step, count, dict(logs)

    def settle(self) -> None:
        if self.waiting is None:
            return
        (step, count, logs), self.waiting = self.waiting, None
        values: dict[str, float] = {}
        for name, value in logs.items():
            mean = _scalars.host_number(value if isinstance(value, int | float) else _Number(value))
            if mean is not None and isinstance(name, str):
                total = mean * count
                values[name] = (total - self.totals.get(name, 0.0)) / (count - self.seen)
                self.totals[name] = total
        self.seen = count
        _scalars.put_all(values, step, _core.TRAIN)


class _Number:
    """A tensor of any backend, as a number."""

    def __init__(self, value: "Any") -> None:
        self.value = value

    def item(self) -> float:
        return float(self.value)


_means: "weakref.WeakKeyDictionary[Any, _Means]" = weakref.WeakKeyDictionary()


def _put_means(args: "Args", kwargs: "Kwargs") -> None:
    """Of on_train_batch_end(batch, logs): the step is still open."""
    batch = args[1] if len(args) > 1 else (kwargs or {}).get("batch")
    logs = args[2] if len(args) > 2 else (kwargs or {}).get("logs")
    if isinstance(batch, int) and _scalars.settings().on:
        means = _means.get(args[0])
        if means is None:
            means = _means[args[0]] = _Means()
        means.add(_scalars.current_step(), batch + 1, logs)


def _put_epoch(args: "Args", kwargs: "Kwargs") -> None:
    """Of on_epoch_end(epoch, logs): the last batch, and the numbers of the evaluation."""
    _loop.settle(args[0])
    logs = args[2] if len(args) > 2 else (kwargs or {}).get("logs")
    if not _scalars.settings().on:
        return
    with _safe.guard("keras logs"):
        means = _means.get(args[0])
        if means is not None:
            means.settle()
        if isinstance(logs, dict):
            kept = {k: _Number(v) for k, v in logs.items() if str(k).startswith("val_")}
            _scalars.put_all(kept, _scalars.latest_step(), _core.EVAL)


def _end_batch(token: "Any", args: "Args", result: "Any", ok: bool) -> None:
    owner = args[0]
    params = getattr(owner, "params", None)
    most = params.get("steps") if params else None
    batches = _loop.batches(owner, args[1] if len(args) > 1 else None, most)
    if batches is None:
        _loop.end_step(owner)
        return
    adapter = _inputs.of.get(owner)
    if (adapter is not None or _inputs.hidden) and _inputs.counted == _spans.counted.batches:
        if not _inputs.unseen:
            _inputs.unseen = True
            _safe.report_loss("keras data", "fetched inside a compiled function")
        _count_samples(adapter, *batches)
    _loop.end_step(owner, batches[1])


def _count_samples(adapter: "Any", first: int, count: int) -> None:
    """Arrays say how they are cut into batches; other inputs do not."""
    size = getattr(adapter, "batch_size", None)
    if not isinstance(size, int):
        return
    samples = size * count
    short = getattr(adapter, "partial_batch_size", None)
    if short and getattr(adapter, "num_batches", None) == first + count:
        samples += short - size
    _core.count(_BATCH_SIZE, samples)


def _begin_epoch(args: "Args", kwargs: "Kwargs") -> None:
    epoch = args[1] if len(args) > 1 else (kwargs or {}).get("epoch")
    params = getattr(args[0], "params", None) or {}
    epochs, steps = params.get("epochs"), params.get("steps")
    if isinstance(epochs, int) and isinstance(steps, int) and isinstance(epoch, int):
        _loop.plan((epochs - epoch) * steps)
    _loop.begin_epoch(args[0], epoch)


def _end_epoch(token: "Any", args: "Args", result: "Any", ok: bool) -> None:
    _loop.end_epoch(args[0])


def _settle(args: "Args", kwargs: "Kwargs") -> None:
    _loop.settle(args[0])


def _callback_list(cls: "Any") -> None:
    wraps: dict[str, tuple[Any, Any]] = {
        "on_epoch_begin": (_begin_epoch, None),
        "on_epoch_end": (_put_epoch, _end_epoch),
    }
    for name, mode in _MODES.items():
        wraps[f"on_{name}_begin"] = (_settle, None)
        wraps[f"on_{name}_batch_begin"] = (_begin_batch(mode), None)
        wraps[f"on_{name}_batch_end"] = (_put_means if name == "train" else None, _end_batch)
        wraps[f"on_{name}_end"] = (_settle, None)
    for name, (before, after) in wraps.items():
        _patch(cls, name, before, after)


def _patch(owner: "Any", attr: str, before: "Any", after: "Any", what: str = "keras step") -> None:
    _safe.patch(owner, attr, lambda original: _safe.around(original, before, after, what))


# ---- loops ----


def _trainer(cls: "Any") -> None:
    """Outside of fit(), each train_on_batch() is a step."""
    for name in ("fit", "evaluate", "predict"):
        _safe.patch(cls, name, _loop.is_loop)
    for name, mode in _MODES.items():
        _safe.patch(cls, f"{name}_on_batch", _loop.is_step(mode))


# ---- inputs ----


def _remember(args: "Args", kwargs: "Kwargs") -> None:
    _inputs.latest = args[0].data_adapter


def _note_adapter(token: "Any", args: "Args", result: "Any", ok: bool) -> None:
    kind = _ADAPTERS.get(type(getattr(args[0], "data_adapter", None)).__name__)
    if kind is not None:
        _core.count(_FRAMEWORK, kind)


def _epoch_iterator(cls: "Any") -> None:
    _patch(cls, "__init__", None, _note_adapter, "keras input")


def _tf_epoch_iterator(cls: "Any") -> None:
    _epoch_iterator(cls)
    _patch(cls, "__iter__", _remember, None, "keras input")


def _jax_epoch_iterator(cls: "Any") -> None:
    """JAX takes batches one by one from what this returns."""
    _epoch_iterator(cls)

    def make(original: "Callable[..., Any]") -> "Callable[..., Any]":
        def _get_iterator(self: "Any") -> "Any":
            batches = original(self)
            with _safe.guard("keras data"):
                return _spans.timed(batches)
            return batches

        return _get_iterator

    _safe.patch(cls, "_get_iterator", make)


# ---- optimizer and checkpoints ----

_optimizers: "dict[int, int]" = {}  # what distinguishes them, by identity


def _base_optimizer(cls: "Any") -> None:
    """Where Python runs at every step: TensorFlow out of tf.function, torch out of torch.compile.
    A function of Python, because torch.compile cannot look into any other."""
    making_graph = _making_graph()
    if making_graph is None:
        return

    def make(original: "Callable[..., Any]") -> "Callable[..., Any]":
        def apply(self: "Any", *args: "Any", **kwargs: "Any") -> "Any":
            if making_graph():
                return original(self, *args, **kwargs)
            _core.begin_value(_OPTIMIZER, _optimizers.setdefault(id(self), len(_optimizers)))
            try:
                return original(self, *args, **kwargs)
            finally:
                _core.end(_OPTIMIZER)

        return apply

    _safe.patch(cls, "apply", make)


def _making_graph() -> "Callable[[], bool] | None":
    """Says whether a graph is being made now. None: the backend always makes one."""
    config = sys.modules.get("keras.src.backend.config")
    name = config.backend() if config is not None else "tensorflow"
    if name == "tensorflow" and "tensorflow" in sys.modules:
        eager = sys.modules["tensorflow"].executing_eagerly
        return lambda: not eager()
    if name == "torch" and "torch" in sys.modules:
        return getattr(sys.modules["torch"].compiler, "is_compiling", None)
    return None


def _model(cls: "Any") -> None:
    if "fit" in vars(cls):  # Keras 2: the model is its own trainer
        _trainer(cls)
        _inputs.hidden = True
    _spans.checkpoint(cls, "save", "save_weights", "export")


# What is looked for in each module of hooks.HOOKS.
_PARTS: "dict[str, Callable[[Any], None]]" = {
    "CallbackList": _callback_list,
    "TFEpochIterator": _tf_epoch_iterator,
    "JAXEpochIterator": _jax_epoch_iterator,
    "TorchEpochIterator": _epoch_iterator,
    "TensorFlowTrainer": _trainer,
    "JAXTrainer": _trainer,
    "TorchTrainer": _trainer,
    "BaseOptimizer": _base_optimizer,
    "Model": _model,
}


def install(module: "ModuleType") -> None:
    _safe.need_any(module, _PARTS)
    for name, part in _PARTS.items():
        found = vars(module).get(name)
        if isinstance(found, type):
            with _safe.guard(f"keras {name}"):
                part(found)
