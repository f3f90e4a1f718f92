# SPDX-License-Identifier: Apache-2.0
"""The C part: one event per call, into memory shared with the recorder.

No call blocks, prints or fails for want of a recorder: without one it does nothing. Wrong types
raise TypeError as everywhere, which is why hooks call it under _safe.guard.
"""

from collections.abc import Callable
from types import TracebackType
from typing import Any, final

TRAIN: int
EVAL: int
PREDICT: int
STATISTICS: dict[str, int]
"""The numbers of the statistics of training health, by name; 0 is "scalar"."""
DTYPES: dict[str, int]
"""The element types that health_stats and its family read."""

def enabled() -> bool:
    """Whether the process is recorded."""

def asked() -> int:
    """The generation of config.json in the ring folder; grows when the recorder replaces it."""

def now_ns() -> int:
    """CLOCK_MONOTONIC."""

def intern(text: str, /) -> int:
    """The number of a name; 0 when nothing is recorded, except after close_ring. At most 1023
    names, 62 bytes of each."""

def begin(name: int, /) -> None: ...
def begin_value(name: int, value: int, /) -> None: ...
def end(name: int, /) -> None: ...
def mark(name: int, /) -> None: ...
def loss(what: int, why: int, /) -> None: ...
def count(name: int, value: int, /) -> None: ...
def real(name: int, value: float, /) -> None: ...
def fact(name: int, value: int, /) -> None:
    """A count that describes this process, such as its rank: children of fork emit it again."""

def step_begin(step: int, mode: int, /) -> None: ...
def step_end(step: int, mode: int, /) -> None: ...
def past(name: int, lane: int, begin_ago_ns: int, end_ago_ns: int, /) -> None:
    """A whole span, emitted afterwards; lane 0 is the thread's own track, 1 + d is device d."""

def each_second(call: Callable[[], None]) -> None:
    """Is called about once a second at the end of a step."""

def pulse() -> None:
    """CPU times and the places of waits, which otherwise come about once a second at a step's end,
    now."""

def open_ring(folder: str, /) -> bool:
    """Events go into this folder of a recorder from now on. False: they do not, or the process is
    recorded already. One thread at a time, as close_ring."""

def close_ring() -> None:
    """The recording is over. Numbers of names stay valid."""

def health_name(text: str, /) -> int:
    """The number of a scalar's, parameter's or module's name; 0: there are too many, which is
    counted. At most 65535, 240 bytes of each: of longer ones the begin and the end."""

def health_begin(step: int, mode: int = 0, ago_ns: int = 0, /) -> None:
    """Values that follow are of this step (negative: of none), and were taken so long ago."""

def health_value(stat: int, name: int, value: float, /) -> None: ...
def health_count(stat: int, name: int, value: int, /) -> None: ...
def health_log(name: int, value: float, step: int, mode: int, /) -> None:
    """A scalar of this step, whatever health_begin of another thread said; values that follow are
    of the same step as before."""

def health_values(
    stat: int, names: list[int] | tuple[int, ...], values: list[float] | tuple[float, ...], /
) -> None: ...
def health_values_at(stat: int, names: bytes, address: int, dtype: int, /) -> None:
    """Values from memory; `names` has their numbers as uint32."""

def keep_forever(x: object, /) -> None:
    """Never frees it, not at the end either: for what the child of a fork may not touch."""

def health_flush() -> int:
    """Sends values that found the ring full, a bounded number of them; how many slots still wait.
    Once a step."""

def health_drain(ms: int, /) -> int:
    """The same at exit until all is sent, for so many milliseconds; how many values were lost."""

def health_lost(count: int, reason: int = 0, /) -> None:
    """So many values were left out: 0 no room, 1 too many names, 2 the hooks' budget, 3 a kind of
    tensor that has no statistics."""

def health_stats(
    address: int, count: int, dtype: int, stride: int = 1, /
) -> tuple[float, float, float, float, float, int, int]:
    """Sum, L1 norm, L2 norm, minimum and maximum of the finite elements; zeros; elements that are
    not finite."""

def health_word_sum(address: int, count: int, itemsize: int, /) -> int:
    """The sum of the words modulo 2^64, as a signed number."""

def health_exponents(address: int, count: int, dtype: int, stride: int = 1, /) -> list[int]:
    """How many elements have each of the 256 exponents of float32."""

def health_gather(address: int, count: int, dtype: int, stride: int, /) -> bytes:
    """A copy of strided elements, for health_update."""

def health_update(
    address: int, count: int, dtype: int, stride: int, before: bytes, /
) -> tuple[float, float, int]:
    """Norm of the change since health_gather, norm before, elements that are equal."""

def nothing(name: object, /) -> None:
    """Does nothing: what a call costs before it does something."""

def tick(name: object, /) -> None:
    """Reads the CPU's counter and nothing else: what an event cannot cost less than."""
@final
class Span:
    """A span as a context manager, which can be stored and reused, by many threads at once."""

    def __init__(self, name: int, value: int | None = None, /) -> None: ...
    def __enter__(self) -> Span: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
        /,
    ) -> bool: ...

@final
class Around:
    """A callable that calls `before`, the original and `after`; made by _safe.around."""

    def __init__(
        self,
        original: Callable[..., Any],
        before: Callable[[tuple[Any, ...], dict[str, Any] | None], Any] | None,
        after: Callable[[Any, tuple[Any, ...], Any, bool], Any] | None,
        failed: Callable[[BaseException], Any],
        /,
    ) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

@final
class Gate:
    """Replaces a function of a framework and marks its outermost calls; see core_gate.c.

    `own`, `closed_by` and `opens` are masks of what a thread is inside of. before(args, kwargs) may
    answer False (do not mark this call), a number (the span's value) or (args, kwargs, done) to
    call with, without a span, and then done(args, result). after(args, result) follows in each
    case but the first. What they raise goes to `failed`.

    begin(declined) and end() are called around a marked call; `declined`: the chooser said no. Both
    stay silent while the thread's listeners rest.

    _footplate_within(args) is called before each call within a marked one, and answers None or what
    is called after it: after(args, result).
    """

    _footplate_original: Callable[..., Any]
    _footplate_before: Callable[[tuple[Any, ...], dict[str, Any] | None], Any] | None
    _footplate_after: Callable[[tuple[Any, ...], Any], Any] | None
    _footplate_begin: Callable[[bool], Any] | None
    _footplate_end: Callable[[], Any] | None
    _footplate_range: Callable[[tuple[Any, ...], bool], Any] | None
    _footplate_within: Callable[[tuple[Any, ...]], Any] | None

    def __init__(
        self,
        original: Callable[..., Any],
        *,
        span: int = 0,
        other: int = 0,
        chooser: Callable[[], bool] | None = None,
        own: int = 0,
        closed_by: int = 0,
        opens: int = 0,
        before: Callable[[tuple[Any, ...], dict[str, Any] | None], Any] | None = None,
        after: Callable[[tuple[Any, ...], Any], Any] | None = None,
        failed: Callable[[BaseException], Any] | None = None,
        hidden: bool = False,
        always: bool = False,
        pulse: bool = False,
    ) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def quiet(on: bool, /) -> None:
        """From now on only gates made with `always` mark anything in this process."""
    @staticmethod
    def rest(steps: int, /) -> int:
        """Listeners of this thread are silent until so many steps are over; once a second an end is
        reported all the same. A step is over with a call of a gate made with `pulse`, or is a
        declined call. Returns how many were declined since the last call."""

@final
class SyncGate:
    """Replaces a call in which the program waits for the GPU, and measures the wait.

    `op` names the operation in the counters of its places. `kind` says when a call waits: 0 the
    first argument is a CUDA tensor, 1 and it is indexed by a mask, 2 Tensor.to, 3 Tensor.cuda,
    4 always. A hidden one gives the original when it is read from its class.
    """

    _footplate_original: Callable[..., Any]

    def __init__(
        self, original: Callable[..., Any], op: str, kind: int = 0, hidden: bool = False
    ) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def setup(describe: Callable[[str], str], /) -> None:
        """`describe` returns a file's name in messages, or "" for a file of a library."""
    @staticmethod
    def setup_tensors(
        types: tuple[type, type | None, type, type],
        masks: tuple[object, object],
        functions: tuple[Any, Any],
        own: int,
        closed_by: int,
        /,
    ) -> None:
        """(Tensor, its base in C, Parameter, device), (bool, uint8), (DisableTorchFunction, whether
        a TorchFunctionMode is active), and the masks of the span `h2d`."""
    @staticmethod
    def reset() -> None:
        """In the child of a fork."""

class Loop:
    """What is known of a training loop, and the hooks of its steps; see core_loop.c."""

    main: int
    ended: int
    fetches: int
    asked: int
    begun: bool
    explicit: bool
    loader: bool
    watched: bool
    trained: bool
    stepped: set[int]
    usual: set[int]
    numbers: dict[int, tuple[int, Any]]
    slow_before_fetch: Callable[[tuple[Any, ...], dict[str, Any] | None], None]
    slow_after_fetch: Callable[[tuple[Any, ...], Any], None]
    slow_before_step: Callable[[tuple[Any, ...], dict[str, Any] | None], Any]
    queue: Callable[[Any], None]

    def before_fetch(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None, /) -> None:
        """Before a loader's __next__."""
    def after_fetch(self, args: tuple[Any, ...], batch: Any, /) -> None:
        """After a loader's __next__."""
    def before_step(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None, /) -> Any:
        """Before an optimizer's step: its number, or what slow_before_step answers."""
    def set_tensor(self, tensor: type, /) -> None:
        """The type of tensors in batches."""
