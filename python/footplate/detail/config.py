# SPDX-License-Identifier: Apache-2.0
"""What the recorder asks of the processes of its job: config.json in the ring folder.

{"version": 1, "job_start_ns": ..., "generation": ..., "detail_ranks": [0, 1],
 "detail": [{"start_step": 5, "steps": 2}, {"start_s": 60.0, "seconds": 10.0},
            {"now": true, "steps": 3}],
 "python": [{"start_step": 9, "steps": 3, "profiler": "cprofile", "timer": "total_time"}]}

What is not understood is left out and told as a loss; the rest holds.
"""

import dataclasses
import json
import math

from .. import _safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERSION = 1
PROFILERS = {"cprofile": "cprofile", "sampling": "sampling", "pyinstrument": "sampling"}
TIMERS = ("total_time", "cpu_time", "off_cpu_time", "default")


@dataclasses.dataclass(frozen=True)
class Ask:
    """One window: from a step, from a time, or as soon as possible; for steps or for seconds."""

    kind: str  # "detail" or "python"
    start_step: "int | None" = None
    start_s: "float | None" = None  # since the job's start
    now: bool = False
    steps: "int | None" = None
    seconds: "float | None" = None
    profiler: str = "cprofile"
    timer: str = "default"
    at: int = 0  # its place in the file: a second `now` is another window


@dataclasses.dataclass(frozen=True)
class Config:
    job_start_ns: int = 0
    generation: int = 0
    ranks: "frozenset[int] | None" = None  # None: all
    asks: "tuple[Ask, ...]" = ()


def folder() -> str:
    """Of the recorder; raises OSError when it is gone, or not the user's."""
    path = _safe.ring_folder()
    if not path:
        raise OSError("the recorder's folder is gone")
    return path


def read() -> Config:
    """An empty one when there is none, or none that can be read."""
    try:
        text = _safe.read_settings()
        return Config() if text is None else parse(json.loads(text))
    except (OSError, ValueError) as error:
        _safe.report_loss("config", error)
        return Config()


def parse(text: "Any") -> Config:
    """ValueError when it is of another kind altogether."""
    if not isinstance(text, dict) or text.get("version") != VERSION:
        raise ValueError("not a configuration of this version")
    ranks = text.get("detail_ranks")
    generation = _whole(text.get("generation")) or 0
    asks = [
        ask
        for kind in ("detail", "python")
        for at, one in enumerate(_list(text.get(kind)))
        if (ask := _ask(kind, one, generation * 1000 + at)) is not None
    ]
    return Config(
        job_start_ns=_whole(text.get("job_start_ns")) or 0,
        generation=generation,
        ranks=None if ranks is None else frozenset(r for r in _list(ranks) if isinstance(r, int)),
        asks=tuple(asks),
    )


def _list(value: "Any") -> "list[Any]":
    return value if isinstance(value, list) else []


def _whole(value: "Any") -> "int | None":
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _seconds(value: "Any") -> "float | None":
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and value >= 0 else None


def _ask(kind: str, one: "Any", at: int) -> "Ask | None":
    if not isinstance(one, dict):
        _safe.report_loss(kind, "a window is not an object")
        return None
    ask = Ask(
        kind=kind,
        start_step=_whole(one.get("start_step")),
        start_s=_seconds(one.get("start_s")),
        now=one.get("now") is True,
        steps=_whole(one.get("steps")),
        seconds=_seconds(one.get("seconds")),
        profiler=PROFILERS.get(str(one.get("profiler", "cprofile")).lower(), ""),
        timer=str(one.get("timer", "default")).lower(),
        at=at if one.get("now") is True else 0,
    )
    why = _what_is_wrong(ask)
    if why:
        _safe.report_loss(kind, why)
        return None
    return ask


def _what_is_wrong(ask: Ask) -> str:
    if ask.start_step is None and ask.start_s is None and not ask.now:
        return "a window without a start"
    if not ask.steps and not ask.seconds:
        return "a window without a length"
    if not ask.profiler:
        return "an unknown profiler"
    if ask.timer not in TIMERS:
        return "an unknown timer"
    return ""
