# SPDX-License-Identifier: Apache-2.0
"""Replaces _core where it was not built for this Python: nothing is recorded."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TRAIN, EVAL, PREDICT = 0, 1, 2
STATISTICS: "dict[str, int]" = {}
DTYPES: "dict[str, int]" = {}


def enabled() -> bool:
    """Never."""
    return False


def open_ring(folder: str) -> bool:
    """Never."""
    return False


def _zero(*args: object) -> int:
    return 0


def _none(*args: object) -> None:
    return None


def health_stats(*args: object) -> "tuple[float, float, float, float, float, int, int]":
    """Of nothing."""
    nan = float("nan")
    return 0.0, 0.0, 0.0, nan, nan, 0, 0


def health_exponents(*args: object) -> "list[int]":
    """Of nothing."""
    return [0] * 256


def health_gather(*args: object) -> bytes:
    """Nothing."""
    return b""


def health_update(*args: object) -> "tuple[float, float, int]":
    """Of nothing."""
    return 0.0, 0.0, 0


asked = now_ns = intern = _zero
health_name = health_flush = health_drain = health_word_sum = _zero
health_begin = health_value = health_count = health_values = health_values_at = _none
health_log = health_lost = _none
keep_forever = _none
begin = begin_value = end = mark = loss = count = fact = real = _none
step_begin = step_end = past = pulse = each_second = nothing = tick = close_ring = _none


class Loop:
    """A loop whose steps are not counted."""


class Span:
    """A span that is not recorded."""

    __slots__ = ()

    def __init__(self, *args: object) -> None:
        pass

    def __enter__(self) -> "Span":
        return self

    def __exit__(self, *args: object) -> bool:
        return False

    def __call__(self, function: "Any") -> "Any":
        return function


def Around(original: "Any", *args: object) -> "Any":  # noqa: N802 - named as in _core
    """The original as it is."""
    return original
